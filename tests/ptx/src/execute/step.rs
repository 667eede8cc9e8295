//! Executes one step of a warp.

use super::Block;
use super::warp::{Flow, Warp};
use crate::fault::{FaultReason, Stop};
use crate::lanes::LANES;
use crate::operation::{Logic, Operation, PredicateSource, SINK};

impl Warp<'_> {
    /// Executes an operation in the lanes `active` of those at this step, `group`.
    pub(super) fn execute(
        &mut self,
        operation: &Operation,
        active: u32,
        group: u32,
        line: u32,
        block: &mut Block<'_>,
    ) -> Result<Flow, Stop> {
        match *operation {
            Operation::Unary { function, d, a } => {
                self.need(a, active)?;
                function(&mut self.out, &self.registers[a as usize]);
                self.keep(d, active);
            }
            Operation::Binary { function, d, a, b } => {
                self.need(a, active)?;
                self.need(b, active)?;
                function(&mut self.out, &self.registers[a as usize], &self.registers[b as usize]);
                self.keep(d, active);
            }
            Operation::Divide { function, d, a, b } => {
                self.need(a, active)?;
                self.need(b, active)?;
                let divisor = &self.registers[b as usize];
                let zeros = (0..LANES).fold(0u32, |mask, lane| mask | u32::from(divisor[lane] == 0) << lane);
                function(&mut self.out, &self.registers[a as usize], divisor);
                self.keep(d, active);
                self.forget(d, zeros & active);
            }
            Operation::Ternary { function, d, a, b, c } => {
                self.need(a, active)?;
                self.need(b, active)?;
                self.need(c, active)?;
                let [a, b, c] = [a, b, c].map(|register| &self.registers[register as usize]);
                function(&mut self.out, a, b, c);
                self.keep(d, active);
            }
            Operation::Quaternary { function, d, sources } => {
                for source in sources {
                    self.need(source, active)?;
                }
                let [a, b, c, e] = sources.map(|register| &self.registers[register as usize]);
                function(&mut self.out, a, b, c, e);
                self.keep(d, active);
            }
            Operation::LogicTable { table, d, a, b, c } => {
                for source in [a, b, c] {
                    self.need(source, active)?;
                }
                let [a, b, c] = [a, b, c].map(|register| &self.registers[register as usize]);
                for lane in 0..LANES {
                    self.out[lane] = logic_table(table, a[lane], b[lane], c[lane]);
                }
                self.keep(d, active);
            }
            Operation::Convert { ref conversion, d, a } => {
                self.need(a, active)?;
                conversion.apply(&mut self.out, &self.registers[a as usize]);
                self.keep(d, active);
            }
            Operation::Pack { d, parts, count, bits } => {
                self.out.fill(0);
                for (index, &part) in parts[..count as usize].iter().enumerate() {
                    self.need(part, active)?;
                    let part = &self.registers[part as usize];
                    self.out.iter_mut().zip(part).for_each(|(out, part)| *out |= part << (index as u32 * bits));
                }
                self.keep(d, active);
            }
            Operation::Unpack { parts, a, count, bits } => {
                self.need(a, active)?;
                let whole = self.registers[a as usize];
                for (index, &part) in parts[..count as usize].iter().enumerate() {
                    if part != SINK {
                        let value = whole.map(|whole| whole >> (index as u32 * bits) & ((1 << bits) - 1));
                        self.put(part, &value, active);
                    }
                }
            }
            Operation::Compare { test, p, q, a, b, join } => {
                self.need(a, active)?;
                self.need(b, active)?;
                let holds = test(&self.registers[a as usize], &self.registers[b as usize]);
                let (value, complement) = self.join_predicate(holds, join, active)?;
                if let Some(p) = p {
                    self.put_predicate(p, value, active);
                }
                if let Some(q) = q {
                    self.put_predicate(q, complement, active);
                }
            }
            Operation::Set { test, one, d, a, b, join } => {
                self.need(a, active)?;
                self.need(b, active)?;
                let holds = test(&self.registers[a as usize], &self.registers[b as usize]);
                let (value, _) = self.join_predicate(holds, join, active)?;
                for (lane, out) in self.out.iter_mut().enumerate() {
                    *out = if value >> lane & 1 == 1 { one } else { 0 };
                }
                self.keep(d, active);
            }
            Operation::Select { d, a, b, p } => {
                let chosen = self.predicate((p, false), active)?;
                // A lane reads only what it selects: the other source may be unspecified.
                self.need(a, active & chosen)?;
                self.need(b, active & !chosen)?;
                let [a, b] = [a, b].map(|register| &self.registers[register as usize]);
                for lane in 0..LANES {
                    self.out[lane] = if chosen >> lane & 1 == 1 { a[lane] } else { b[lane] };
                }
                self.keep(d, active);
            }
            Operation::PredicateLogic { logic, d, a, b } => {
                let value = logic.apply(self.predicate(a, active)?, self.predicate(b, active)?);
                self.put_predicate(d, value, active);
            }
            Operation::Load { ref access, d, sign } => self.load(access, &d, sign, active, line, block)?,
            Operation::Store { ref access, sources } => self.store(access, &sources, active, line, block)?,
            Operation::Atomic { ref access, function, kind, d, b, c } => {
                self.need(b, active)?;
                self.need(c, active)?;
                self.atomic(access, function, kind, d, [b, c], active, line, block)?;
            }
            Operation::Branch { target } => return Ok(Flow::Branch(target)),
            Operation::Exit => return Ok(Flow::Exit),
            Operation::Trap => return Err(Stop::lanes(active, FaultReason::Trap)),
            Operation::Nothing => {}
            Operation::Barrier { id, threads, arrive } => return self.barrier(id, threads, arrive, active, block),
            Operation::WarpBarrier { members } => {
                self.members(members, active)?;
            }
            Operation::Shuffle { mode, d, p, a, b, c, members } => {
                self.members(members, active)?;
                self.shuffle(mode, d, p, [a, b, c], active)?;
            }
            Operation::Vote { mode, d, a, members } => {
                self.members(members, active)?;
                self.vote(mode, d, a, active)?;
            }
            Operation::ActiveMask { d } => self.put(d, &[u64::from(active); LANES], active),
            Operation::Reduce { function, kind, d, a, members } => {
                self.members(members, active)?;
                self.reduce(function, kind, d, a, active)?;
            }
        }
        debug_assert!(active & !group == 0, "only lanes at this step are active");
        Ok(Flow::Next)
    }

    /// A comparison, and its complement, each joined with another predicate.
    fn join_predicate(
        &self,
        holds: u32,
        join: Option<(Logic, PredicateSource)>,
        active: u32,
    ) -> Result<(u32, u32), Stop> {
        let Some((logic, source)) = join else { return Ok((holds, !holds)) };
        let other = self.predicate(source, active)?;
        Ok((logic.apply(holds, other), logic.apply(!holds, other)))
    }
}

/// Bit `4a + 2b + c` of the table, for each bit of the operands.
fn logic_table(table: u8, a: u64, b: u64, c: u64) -> u64 {
    let mut result = 0;
    for row in (0..8).filter(|row| table >> row & 1 == 1) {
        let a = if row & 4 != 0 { a } else { !a };
        let b = if row & 2 != 0 { b } else { !b };
        let c = if row & 1 != 0 { c } else { !c };
        result |= a & b & c;
    }
    result & 0xFFFF_FFFF
}
