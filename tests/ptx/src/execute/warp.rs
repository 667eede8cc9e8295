//! A warp: its registers, and where its lanes are.

use crate::fault::{FaultReason, Stop};
use crate::lanes::{LANES, Lanes};
use crate::launch::Shape;
use crate::operation::{Constant, Kernel, PredicateSource, Special};
use crate::region::Region;

use super::Block;

/// What a step does to the flow of its lanes.
pub enum Flow {
    /// On to the next step.
    Next,
    /// The active lanes go to this step.
    Branch(u32),
    /// The active lanes end.
    Exit,
    /// On to the next step, after a barrier.
    Wait,
}

/// Lanes at the same step.
#[derive(Clone, Copy, Debug)]
struct Group {
    step: u32,
    lanes: u32,
}

/// A warp.
pub struct Warp<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) index: u32,
    pub(super) registers: Vec<Lanes>,
    /// For each register, the lanes that were written.
    written: Vec<u32>,
    predicates: Vec<u32>,
    predicates_written: Vec<u32>,
    /// Registers that no block changes, for restoring `written`.
    block_index: [Vec<u32>; 3],
    /// Groups of lanes by their step, the lowest first; no two at the same.
    groups: Vec<Group>,
    threads: u32,
    /// Lanes that have not ended.
    pub(super) live: u32,
    pub(super) local: Region,
    /// Bytes between the local memories of two lanes; a multiple of 64, so that none shares a word of bits.
    pub(super) local_stride: u64,
    /// What the function of a step computes before the active lanes of it are kept.
    pub(super) out: Lanes,
    /// The values of a load, likewise.
    pub(super) loaded: [Lanes; 4],
    /// Step that runs or ran last.
    current: u32,
}

impl<'a> Warp<'a> {
    /// A warp of a launch, whose constants are filled but for the index of the block.
    pub fn new(kernel: &'a Kernel, shape: &Shape, index: u32, variables: &[u64]) -> Self {
        let [width, height, _] = shape.block;
        let total: u32 = shape.block.iter().product();
        let threads = (total - 32 * index).min(32);
        let local_stride = u64::from(kernel.local_bytes).next_multiple_of(64);
        let mut warp = Self {
            kernel,
            index,
            registers: vec![[0; LANES]; kernel.register_names.len()],
            written: vec![0; kernel.register_names.len()],
            predicates: vec![0; kernel.predicate_names.len()],
            predicates_written: vec![0; kernel.predicate_names.len()],
            block_index: [Vec::new(), Vec::new(), Vec::new()],
            groups: Vec::new(),
            threads: u32::MAX >> (32 - threads),
            live: 0,
            local: Region::poisoned((32 * local_stride) as usize),
            local_stride,
            out: [0; LANES],
            loaded: [[0; LANES]; 4],
            current: 0,
        };
        for &(register, constant) in &kernel.constants {
            let lanes = &mut warp.registers[register as usize];
            let special = match constant {
                Constant::Bits(bits) => {
                    lanes.fill(bits);
                    continue;
                }
                Constant::Global(variable) => {
                    lanes.fill(variables[variable]);
                    continue;
                }
                // Replaced by bits at the end of decoding.
                Constant::DynamicShared { .. } => continue,
                Constant::Special(special) => special,
            };
            if let Special::BlockIndex(axis) = special {
                warp.block_index[axis].push(register);
                continue;
            }
            for (lane, slot) in (0u32..).zip(lanes.iter_mut()) {
                let thread = 32 * index + lane;
                *slot = u64::from(match special {
                    Special::ThreadIndex(0) => thread % width,
                    Special::ThreadIndex(1) => thread / width % height,
                    Special::ThreadIndex(_) => thread / width / height,
                    Special::BlockSize(axis) => shape.block[axis],
                    Special::GridSize(axis) => shape.grid[axis],
                    Special::BlockIndex(_) => 0,
                    Special::Lane => lane,
                    Special::Warp => index,
                    Special::WarpCount => total.div_ceil(32),
                    Special::LanesEqual => 1 << lane,
                    Special::LanesBelow => (1 << lane) - 1,
                    Special::LanesUpTo => u32::MAX >> (31 - lane),
                    Special::LanesAbove => !(u32::MAX >> (31 - lane)),
                    Special::LanesFrom => u32::MAX << lane,
                });
            }
        }
        warp
    }

    /// Starts a block: registers are poison, and all lanes are at the first step.
    pub fn start(&mut self, block: [u32; 3]) {
        self.written.fill(0);
        self.predicates_written.fill(0);
        for &(register, _) in &self.kernel.constants {
            self.written[register as usize] = u32::MAX;
        }
        for (registers, index) in self.block_index.iter().zip(block) {
            for &register in registers {
                self.registers[register as usize].fill(u64::from(index));
            }
        }
        self.local.poison();
        self.live = self.threads;
        self.groups.clear();
        self.groups.push(Group { step: 0, lanes: self.threads });
        self.current = 0;
    }

    /// Line of the step that runs, or that ran last.
    pub fn line(&self) -> u32 {
        self.kernel.steps[self.current as usize].line
    }

    /// Runs until the warp waits, ends, or has run `turn` instructions.
    pub fn run(&mut self, block: &mut Block<'_>, turn: u32) -> Result<(), Stop> {
        for _ in 0..turn {
            let Some(&Group { step, lanes }) = self.groups.first() else {
                let met = block.barriers.end(self.index);
                met.into_iter().for_each(|warps| block.meet(warps));
                return Ok(());
            };
            self.current = step;
            if block.stats.warp_instructions >= block.step_limit {
                return Err(Stop::lanes(lanes, FaultReason::StepLimit(block.step_limit)));
            }
            block.stats.warp_instructions += 1;
            let instruction = &self.kernel.steps[step as usize];
            let active = match instruction.guard {
                None => lanes,
                Some(source) => lanes & self.predicate(source, lanes)?,
            };
            block.stats.lane_instructions += u64::from(active.count_ones());
            if active == 0 {
                self.advance(step);
                continue;
            }
            match self.execute(&instruction.operation, active, lanes, instruction.line, block)? {
                Flow::Next => self.advance(step),
                Flow::Branch(target) => self.branch(step, target, lanes, active),
                Flow::Exit => {
                    self.live &= !active;
                    self.groups[0].lanes &= !active;
                    if self.groups[0].lanes == 0 {
                        self.groups.remove(0);
                    } else {
                        self.advance(step);
                    }
                }
                Flow::Wait => {
                    self.advance(step);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn advance(&mut self, step: u32) {
        self.groups[0].step = step + 1;
        if self.groups.len() > 1 && self.groups[1].step <= step + 1 {
            self.join();
        }
    }

    fn branch(&mut self, step: u32, target: u32, lanes: u32, active: u32) {
        self.groups[0].step = target;
        if active != lanes {
            self.groups[0].lanes = active;
            self.groups.push(Group { step: step + 1, lanes: lanes & !active });
        }
        if self.groups.len() > 1 {
            self.join();
        }
    }

    /// Sorts the groups by their step and unites those at the same.
    fn join(&mut self) {
        self.groups.sort_unstable_by_key(|group| group.step);
        self.groups.dedup_by(|next, kept| {
            let same = next.step == kept.step;
            if same {
                kept.lanes |= next.lanes;
            }
            same
        });
    }

    /// Checks that a register was written in these lanes.
    #[inline]
    pub(super) fn need(&self, register: u32, lanes: u32) -> Result<(), Stop> {
        let missing = lanes & !self.written[register as usize];
        if missing == 0 { Ok(()) } else { Err(self.unwritten(&self.kernel.register_names[register as usize], missing)) }
    }

    #[cold]
    fn unwritten(&self, name: &str, lanes: u32) -> Stop {
        Stop::lanes(lanes, FaultReason::UninitializedRegister(name.to_string()))
    }

    /// Marks lanes of a register as holding no specified value.
    pub(super) fn forget(&mut self, register: u32, lanes: u32) {
        self.written[register as usize] &= !lanes;
    }

    /// Writes what a function computed to a register in these lanes.
    #[inline(always)]
    pub(super) fn keep(&mut self, register: u32, lanes: u32) {
        if lanes == u32::MAX {
            self.registers[register as usize] = self.out;
            self.written[register as usize] = lanes;
        } else {
            let out = self.out;
            self.put(register, &out, lanes);
        }
    }

    /// Writes a register in these lanes.
    #[inline]
    pub(super) fn put(&mut self, register: u32, value: &Lanes, lanes: u32) {
        let target = &mut self.registers[register as usize];
        if lanes == u32::MAX {
            *target = *value;
        } else {
            for lane in 0..LANES {
                if lanes >> lane & 1 == 1 {
                    target[lane] = value[lane];
                }
            }
        }
        self.written[register as usize] |= lanes;
    }

    /// The lanes where a predicate holds.
    #[inline]
    pub(super) fn predicate(&self, (predicate, negated): PredicateSource, lanes: u32) -> Result<u32, Stop> {
        let missing = lanes & !self.predicates_written[predicate as usize];
        if missing != 0 {
            return Err(self.unwritten(&self.kernel.predicate_names[predicate as usize], missing));
        }
        let value = self.predicates[predicate as usize];
        Ok(if negated { !value } else { value })
    }

    /// Writes a predicate in these lanes.
    #[inline]
    pub(super) fn put_predicate(&mut self, predicate: u32, value: u32, lanes: u32) {
        let slot = &mut self.predicates[predicate as usize];
        *slot = (*slot & !lanes) | (value & lanes);
        self.predicates_written[predicate as usize] |= lanes;
    }
}
