//! Executes the blocks of a launch.

mod atomic;
mod barrier;
mod collective;
mod memory;
mod shared;
mod step;
mod warp;

use crate::fault::{Fault, FaultReason, Stop, WaitingWarp};
use crate::launch::{Options, Shape, Stats, WarpOrder};
use crate::memory::Memory;
use crate::operation::Kernel;
use crate::region::Region;
use barrier::{Barriers, State};
use shared::Shared;
use warp::Warp;

/// Instructions a warp runs before another gets its turn, so that a warp that polls memory lets the others write it.
const TURN: u32 = 100_000;

/// What the warps of a block share.
pub struct Block<'a> {
    memory: &'a mut Memory,
    shared: Shared,
    parameters: &'a Region,
    barriers: Barriers,
    stats: Stats,
    step_limit: u64,
}

/// Runs the blocks of one launch, one after another.
pub struct Runner<'a> {
    kernel: &'a Kernel,
    options: &'a Options,
    block: Block<'a>,
    warps: Vec<Warp<'a>>,
    order: Vec<usize>,
    random: u64,
}

impl<'a> Runner<'a> {
    /// A runner for a launch that was checked.
    pub fn new(
        kernel: &'a Kernel,
        shape: &Shape,
        parameters: &'a Region,
        variables: &[u64],
        memory: &'a mut Memory,
        options: &'a Options,
    ) -> Self {
        let threads: u32 = shape.block.iter().product();
        let count = threads.div_ceil(32);
        let shared_bytes = kernel.shared_bytes + shape.shared_bytes;
        let shared = Shared::new(shared_bytes, kernel.shared_grain, count, options.check_races);
        let barriers = Barriers::new(count);
        let block =
            Block { memory, shared, parameters, barriers, stats: Stats::default(), step_limit: options.step_limit };
        let warps = (0..count).map(|index| Warp::new(kernel, shape, index, variables)).collect();
        let random = match options.warp_order {
            WarpOrder::Seeded(seed) => seed | 1 << 63,
            _ => 0,
        };
        Self { kernel, options, block, warps, order: (0..count as usize).collect(), random }
    }

    /// What was done so far.
    pub fn stats(&self) -> Stats {
        self.block.stats
    }

    /// Runs the block at `index` of the grid.
    pub fn run(&mut self, index: [u32; 3]) -> Result<(), Fault> {
        self.block.shared.reset();
        self.block.barriers.reset();
        for warp in &mut self.warps {
            warp.start(index);
        }
        loop {
            let mut progress = false;
            self.shuffle();
            for position in 0..self.order.len() {
                let number = self.order[position];
                if self.block.barriers.state(number) != State::Running {
                    continue;
                }
                progress = true;
                let warp = &mut self.warps[number];
                warp.run(&mut self.block, TURN).map_err(|stop| self.fault(index, number, stop))?;
            }
            if self.block.barriers.all_done() {
                self.block.stats.blocks += 1;
                return Ok(());
            }
            if !progress {
                return Err(self.deadlock(index));
            }
        }
    }

    fn shuffle(&mut self) {
        match self.options.warp_order {
            WarpOrder::Forward => {}
            WarpOrder::Reverse => self.order.sort_by_key(|&warp| std::cmp::Reverse(warp)),
            WarpOrder::Seeded(_) => {
                for last in (1..self.order.len()).rev() {
                    // xorshift64: small, and the same everywhere.
                    self.random ^= self.random << 13;
                    self.random ^= self.random >> 7;
                    self.random ^= self.random << 17;
                    self.order.swap(last, (self.random % (last as u64 + 1)) as usize);
                }
            }
        }
    }

    fn fault(&self, block: [u32; 3], warp: usize, stop: Stop) -> Fault {
        let line = self.warps[warp].line();
        Fault { kernel: self.kernel.name.clone(), line, block, warp: warp as u32, lane: stop.lane, reason: stop.reason }
    }

    fn deadlock(&self, block: [u32; 3]) -> Fault {
        let mut waiting = Vec::new();
        for (number, warp) in self.warps.iter().enumerate() {
            if let State::Waiting(barrier) = self.block.barriers.state(number) {
                waiting.push(WaitingWarp { warp: number as u32, barrier, line: warp.line() });
            }
        }
        let (line, warp) = waiting.first().map_or((0, 0), |first| (first.line, first.warp));
        Fault { kernel: self.kernel.name.clone(), line, block, warp, lane: 0, reason: FaultReason::Deadlock(waiting) }
    }
}
