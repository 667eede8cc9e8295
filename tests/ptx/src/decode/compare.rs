//! Decodes comparisons and logic on predicates.

use super::Decoder;
use super::modifiers::Modifiers;
use crate::error::Error;
use crate::lanes;
use crate::operation::{Logic, Operation};
use crate::statement::Operand;
use crate::types::Type;

const COMPARISONS: [&str; 18] = [
    "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan",
];
const PROPERTIES: [&str; 6] = ["finite", "infinite", "number", "notanumber", "normal", "subnormal"];

fn logic(name: &str) -> Option<Logic> {
    Some(match name {
        "and" => Logic::And,
        "or" => Logic::Or,
        "xor" => Logic::Xor,
        _ => return None,
    })
}

impl Decoder<'_> {
    fn predicate_destinations(&self, operand: &Operand) -> Result<(Option<u32>, Option<u32>), Error> {
        let one = |name: &str| if name == "_" { Ok(None) } else { self.predicate(name).map(Some) };
        match operand {
            Operand::Name(name) => Ok((one(name)?, None)),
            Operand::Pair(p, q) => Ok((one(p)?, one(q)?)),
            _ => self.error("expected a predicate as the destination"),
        }
    }

    /// `setp`, `set` and `testp`.
    pub(super) fn compare(&mut self, modifiers: &mut Modifiers<'_>, operands: &[Operand]) -> Result<(), Error> {
        if modifiers.name == "testp" {
            let property = modifiers.take(&PROPERTIES).ok_or_else(|| modifiers.error("needs a property"))?;
            let kind = modifiers.kind()?;
            let unknown = modifiers.error(&format!("there is no such instruction for {kind:?}"));
            let test = lanes::test_property(property, kind).ok_or(unknown)?;
            let [p, a] = self.exactly(operands)?;
            let (p, q) = self.predicate_destinations(p)?;
            let a = self.source(a, kind)?;
            self.step(Operation::Compare { test, p, q, a, b: a, join: None });
            return Ok(());
        }
        let comparison = modifiers.take(&COMPARISONS).ok_or_else(|| modifiers.error("needs a comparison"))?;
        let join = modifiers.take(&["and", "or", "xor"]).and_then(logic);
        modifiers.ignore(&["ftz"]);
        let sets = modifiers.name == "set";
        let target = if sets { Some(modifiers.kind()?) } else { None };
        let kind = modifiers.kind()?;
        let unknown = modifiers.error(&format!("there is no comparison .{comparison} of {kind:?}"));
        let test = lanes::compare(comparison, kind).ok_or(unknown)?;
        let (d, a, b, join) = match (join, operands) {
            (None, [d, a, b]) => (d, a, b, None),
            (Some(logic), [d, a, b, c]) => (d, a, b, Some((logic, self.predicate_source(c)?))),
            _ => return self.error(format!("{} operands do not fit this comparison", operands.len())),
        };
        let (a, b) = (self.source(a, kind)?, self.source(b, kind)?);
        let operation = match target {
            None => {
                let (p, q) = self.predicate_destinations(d)?;
                Operation::Compare { test, p, q, a, b, join }
            }
            Some(target @ (Type::U32 | Type::S32 | Type::B32)) => {
                Operation::Set { test, one: 0xFFFF_FFFF, d: self.destination(d, target)?, a, b, join }
            }
            Some(Type::F32) => {
                Operation::Set { test, one: u64::from(1f32.to_bits()), d: self.destination(d, Type::F32)?, a, b, join }
            }
            Some(_) => return Err(modifiers.error("the destination is 32 bits wide")),
        };
        self.step(operation);
        Ok(())
    }

    /// `and`, `or`, `xor` and `not` of predicates.
    pub(super) fn predicate_logic(&mut self, modifiers: &Modifiers<'_>, operands: &[Operand]) -> Result<(), Error> {
        let operation = match (modifiers.name, operands) {
            ("not", [Operand::Name(d), a]) => {
                let (p, negated) = self.predicate_source(a)?;
                let a = (p, !negated);
                Operation::PredicateLogic { logic: Logic::And, d: self.predicate(d)?, a, b: a }
            }
            (name, [Operand::Name(d), a, b]) => {
                let Some(logic) = logic(name) else { return Err(modifiers.error("there is none for predicates")) };
                let (a, b) = (self.predicate_source(a)?, self.predicate_source(b)?);
                Operation::PredicateLogic { logic, d: self.predicate(d)?, a, b }
            }
            _ => return Err(modifiers.error("there is none for predicates")),
        };
        self.step(operation);
        Ok(())
    }
}
