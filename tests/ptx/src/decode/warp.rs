//! Decodes instructions of a whole warp.

use super::Decoder;
use super::memory::atomic_function;
use super::modifiers::Modifiers;
use crate::error::Error;
use crate::operation::{AtomicFunction, Operation, ShuffleMode, VoteMode};
use crate::statement::Operand;
use crate::types::Type;

impl Decoder<'_> {
    pub(super) fn warp_wide(&mut self, modifiers: &mut Modifiers<'_>, operands: &[Operand]) -> Result<(), Error> {
        let synchronized = modifiers.flag("sync");
        if !synchronized && modifiers.name != "activemask" {
            return Err(modifiers.error("only the .sync form exists on current machines"));
        }
        match modifiers.name {
            "activemask" => {
                let kind = modifiers.kind()?;
                let [d] = self.exactly(operands)?;
                let d = self.destination(d, kind)?;
                self.step(Operation::ActiveMask { d });
            }
            "shfl" => self.shuffle(modifiers, operands)?,
            "vote" => self.vote(modifiers, operands)?,
            _ => {
                let function = atomic_function(modifiers)?;
                let kind = modifiers.kind()?;
                let bits = matches!(function, AtomicFunction::And | AtomicFunction::Or | AtomicFunction::Xor);
                let sums = matches!(function, AtomicFunction::Add | AtomicFunction::Min | AtomicFunction::Max);
                if !(bits && kind == Type::B32 || sums && matches!(kind, Type::U32 | Type::S32)) {
                    return Err(modifiers.error(&format!("there is no {function:?} of {kind:?}")));
                }
                let [d, a, members] = self.exactly(operands)?;
                let (d, a) = (self.destination(d, kind)?, self.source(a, kind)?);
                let members = self.source(members, Type::B32)?;
                self.step(Operation::Reduce { function, kind, d, a, members });
            }
        }
        Ok(())
    }

    fn shuffle(&mut self, modifiers: &mut Modifiers<'_>, operands: &[Operand]) -> Result<(), Error> {
        let mode = match modifiers.take(&["up", "down", "bfly", "idx"]) {
            Some("up") => ShuffleMode::Up,
            Some("down") => ShuffleMode::Down,
            Some("bfly") => ShuffleMode::Butterfly,
            Some(_) => ShuffleMode::Index,
            None => return Err(modifiers.error("needs .up, .down, .bfly or .idx")),
        };
        let kind = modifiers.kind()?;
        if kind != Type::B32 {
            return Err(modifiers.error("moves .b32"));
        }
        let [d, a, b, c, members] = self.exactly(operands)?;
        let (d, p) = match d {
            Operand::Pair(d, p) => (self.destination(&Operand::Name(d.clone()), kind)?, Some(self.predicate(p)?)),
            d => (self.destination(d, kind)?, None),
        };
        let (a, b, c) = (self.source(a, kind)?, self.source(b, Type::B32)?, self.source(c, Type::B32)?);
        let members = self.source(members, Type::B32)?;
        self.step(Operation::Shuffle { mode, d, p, a, b, c, members });
        Ok(())
    }

    fn vote(&mut self, modifiers: &mut Modifiers<'_>, operands: &[Operand]) -> Result<(), Error> {
        let mode = match modifiers.take(&["all", "any", "uni", "ballot"]) {
            Some("all") => VoteMode::All,
            Some("any") => VoteMode::Any,
            Some("uni") => VoteMode::Uniform,
            Some(_) => VoteMode::Ballot,
            None => return Err(modifiers.error("needs .all, .any, .uni or .ballot")),
        };
        let kind = modifiers.kind()?;
        let [d, a, members] = self.exactly(operands)?;
        let d = match (mode, d) {
            (VoteMode::Ballot, d) => self.destination(d, kind)?,
            (_, Operand::Name(name)) if kind == Type::Predicate => self.predicate(name)?,
            _ => return self.error("expected a predicate as the destination"),
        };
        let a = self.predicate_source(a)?;
        let members = self.source(members, Type::B32)?;
        self.step(Operation::Vote { mode, d, a, members });
        Ok(())
    }
}
