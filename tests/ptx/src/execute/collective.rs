//! Barriers, shuffles, votes, and reductions: what lanes do together.

use super::Block;
use super::atomic::apply;
use super::memory::lanes_of;
use super::warp::{Flow, Warp};
use crate::fault::{FaultReason, Stop};
use crate::lanes::LANES;
use crate::operation::{AtomicFunction, PredicateSource, ShuffleMode, VoteMode};
use crate::types::Type;

impl Warp<'_> {
    /// Checks the mask of an instruction that lanes execute together: it is the same in all of them, names all of them,
    /// and every live lane it names is here.
    pub(super) fn members(&self, register: u32, active: u32) -> Result<u32, Stop> {
        self.need(register, active)?;
        let masks = &self.registers[register as usize];
        let first = masks[active.trailing_zeros() as usize % LANES] as u32;
        for lane in lanes_of(active) {
            let members = masks[lane] as u32;
            if members >> lane & 1 == 0 {
                let message = format!("the member mask {members:#010x} does not name lane {lane}, which executes it");
                return Err(Stop { lane: lane as u32, reason: FaultReason::BadOperand(message) });
            }
            // Groups of lanes may each execute the instruction with a mask of their own, but not at the same time.
            if members != first || active != members & self.live {
                return Err(Stop::lanes(1 << lane, FaultReason::Divergent { active, required: members & self.live }));
            }
        }
        Ok(first)
    }

    pub(super) fn barrier(
        &mut self,
        id: u32,
        threads: Option<u32>,
        arrive: bool,
        active: u32,
        block: &mut Block<'_>,
    ) -> Result<Flow, Stop> {
        if active != self.live {
            return Err(Stop::lanes(active, FaultReason::Divergent { active, required: self.live }));
        }
        let lane = active.trailing_zeros() as usize;
        let uniform = |register: u32| {
            self.need(register, active)?;
            let values = &self.registers[register as usize];
            match lanes_of(active).find(|&other| values[other] != values[lane]) {
                None => Ok(values[lane]),
                Some(other) => {
                    let message = "an operand of the barrier differs between lanes".to_string();
                    Err(Stop { lane: other as u32, reason: FaultReason::BadOperand(message) })
                }
            }
        };
        let id = uniform(id)?;
        let threads = threads.map(uniform).transpose()?;
        let met = block.barriers.arrive(self.index, id, threads, !arrive);
        if let Some(warps) = met.map_err(|reason| Stop::lanes(active, reason))? {
            block.meet(warps);
        }
        Ok(if arrive { Flow::Next } else { Flow::Wait })
    }

    pub(super) fn shuffle(
        &mut self,
        mode: ShuffleMode,
        d: u32,
        p: Option<u32>,
        [a, b, c]: [u32; 3],
        active: u32,
    ) -> Result<(), Stop> {
        for register in [a, b, c] {
            self.need(register, active)?;
        }
        let [values, b, c] = [a, b, c].map(|register| &self.registers[register as usize]);
        let mut out = [0; LANES];
        let (mut inside, mut unspecified) = (0u32, 0u32);
        for lane in lanes_of(active) {
            let here = lane as u64;
            let (step, clamp, segment) = (b[lane] & 31, c[lane] & 31, c[lane] >> 8 & 31);
            let highest = (here & segment) | (clamp & !segment);
            let (source, valid) = match mode {
                ShuffleMode::Up => (here.wrapping_sub(step), here as i64 - step as i64 >= highest as i64),
                ShuffleMode::Down => (here + step, here + step <= highest),
                ShuffleMode::Butterfly => (here ^ step, here ^ step <= highest),
                ShuffleMode::Index => {
                    let source = (here & segment) | (step & !segment);
                    (source, source <= highest)
                }
            };
            let source = if valid { (source & 31) as usize } else { lane };
            inside |= u32::from(valid) << lane;
            unspecified |= u32::from(active >> source & 1 == 0) << lane;
            out[lane] = values[source];
        }
        self.put(d, &out, active);
        // What a lane that is not here would have given is unspecified.
        self.forget(d, unspecified);
        if let Some(p) = p {
            self.put_predicate(p, inside, active);
        }
        Ok(())
    }

    pub(super) fn vote(&mut self, mode: VoteMode, d: u32, a: PredicateSource, active: u32) -> Result<(), Stop> {
        let votes = self.predicate(a, active)? & active;
        let all = |holds: bool| if holds { u32::MAX } else { 0 };
        match mode {
            VoteMode::All => self.put_predicate(d, all(votes == active), active),
            VoteMode::Any => self.put_predicate(d, all(votes != 0), active),
            VoteMode::Uniform => self.put_predicate(d, all(votes == 0 || votes == active), active),
            VoteMode::Ballot => self.put(d, &[u64::from(votes); LANES], active),
        }
        Ok(())
    }

    pub(super) fn reduce(
        &mut self,
        function: AtomicFunction,
        kind: Type,
        d: u32,
        a: u32,
        active: u32,
    ) -> Result<(), Stop> {
        self.need(a, active)?;
        let values = &self.registers[a as usize];
        let total = lanes_of(active).map(|lane| values[lane]).reduce(|x, y| apply(function, kind, x, y, 0));
        self.put(d, &[total.unwrap_or(0); LANES], active);
        Ok(())
    }
}
