//! The sixteen barriers of a block, and which warps wait at them.

use crate::fault::FaultReason;

/// Whether a warp can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It can.
    Running,
    /// It waits at this barrier.
    Waiting(u32),
    /// All its lanes have ended.
    Done,
}

#[derive(Clone, Copy, Debug, Default)]
struct Barrier {
    /// Warps that arrived, whether they wait or not.
    arrived: u32,
    /// Warps that must arrive; 0 stands for all that have not ended.
    expected: u32,
}

/// The barriers of a block and the states of its warps.
#[derive(Debug)]
pub struct Barriers {
    states: Vec<State>,
    barriers: [Barrier; 16],
}

impl Barriers {
    /// Barriers of a block of `warps`.
    pub fn new(warps: u32) -> Self {
        Self { states: vec![State::Running; warps as usize], barriers: [Barrier::default(); 16] }
    }

    /// All warps run again.
    pub fn reset(&mut self) {
        self.states.fill(State::Running);
        self.barriers = [Barrier::default(); 16];
    }

    /// Whether a warp can run.
    pub fn state(&self, warp: usize) -> State {
        self.states[warp]
    }

    /// Whether every warp has ended.
    pub fn all_done(&self) -> bool {
        self.states.iter().all(|state| *state == State::Done)
    }

    /// A warp arrives at barrier `id`, and waits unless it only arrives. Gives the warps that met when that completes
    /// the barrier.
    pub fn arrive(&mut self, warp: u32, id: u64, threads: Option<u64>, wait: bool) -> Result<Option<u32>, FaultReason> {
        if id >= 16 {
            return Err(FaultReason::BadOperand(format!("barrier {id}: there are sixteen")));
        }
        let expected = match threads {
            None => 0,
            Some(threads) if threads > 0 && threads % 32 == 0 && threads <= 32 * self.states.len() as u64 => {
                (threads / 32) as u32
            }
            Some(threads) => {
                let message = format!("a barrier of {threads} threads, which the block's whole warps cannot make up");
                return Err(FaultReason::BadOperand(message));
            }
        };
        let barrier = &mut self.barriers[id as usize];
        if barrier.arrived != 0 && barrier.expected != expected {
            return Err(FaultReason::BadOperand(format!(
                "barrier {id}: warps arrive with different counts of threads"
            )));
        }
        if barrier.arrived >> warp & 1 == 1 {
            return Err(FaultReason::BadOperand(format!("barrier {id}: the warp arrives twice")));
        }
        barrier.expected = expected;
        barrier.arrived |= 1 << warp;
        if wait {
            self.states[warp as usize] = State::Waiting(id as u32);
        }
        Ok(self.complete(id as usize))
    }

    /// A warp ends, which may complete a barrier that waits for all others. Gives the warps that met.
    pub fn end(&mut self, warp: u32) -> Vec<u32> {
        self.states[warp as usize] = State::Done;
        (0..16).filter_map(|id| self.complete(id)).collect()
    }

    fn complete(&mut self, id: usize) -> Option<u32> {
        let Barrier { arrived, expected } = self.barriers[id];
        let live = self.states.iter().enumerate().filter(|(_, state)| **state != State::Done);
        let met = match expected {
            0 => live.fold(0, |mask, (warp, _)| mask | 1 << warp) & !arrived == 0,
            _ => arrived.count_ones() >= expected,
        };
        if arrived == 0 || !met {
            return None;
        }
        self.barriers[id] = Barrier::default();
        for state in &mut self.states {
            if *state == State::Waiting(id as u32) {
                *state = State::Running;
            }
        }
        Some(arrived)
    }
}
