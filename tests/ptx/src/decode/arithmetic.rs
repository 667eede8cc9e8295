//! Decodes integer, bitwise, and floating-point arithmetic.

use super::Decoder;
use super::modifiers::Modifiers;
use crate::error::Error;
use crate::lanes;
use crate::operation::Operation;
use crate::statement::Operand;
use crate::types::Type;

impl Decoder<'_> {
    pub(super) fn arithmetic(&mut self, modifiers: &mut Modifiers<'_>, operands: &[Operand]) -> Result<(), Error> {
        match modifiers.name {
            "add" | "sub" | "mul" | "mad" | "fma" | "div" | "rem" | "min" | "max" | "abs" | "neg" | "sad" | "sqrt"
            | "rcp" | "rsqrt" | "ex2" | "lg2" | "sin" | "cos" | "tanh" | "copysign" => {
                let high = modifiers.take(&["lo", "hi", "wide"]);
                let kind = modifiers.kind()?;
                if kind.is_integer() {
                    return self.integer(modifiers, high, kind, operands);
                }
                match high {
                    None => self.float(modifiers, kind, operands),
                    Some(_) => Err(modifiers.error(".lo, .hi and .wide are for integers")),
                }
            }
            _ => self.bitwise(modifiers, operands),
        }
    }

    fn integer(
        &mut self,
        modifiers: &mut Modifiers<'_>,
        part: Option<&'static str>,
        kind: Type,
        operands: &[Operand],
    ) -> Result<(), Error> {
        let unknown = modifiers.error(&format!("there is no such instruction for {kind:?}"));
        let base = modifiers.name;
        let multiplies = matches!(base, "mul" | "mad");
        if multiplies != part.is_some() {
            return Err(modifiers.error(".lo, .hi or .wide belong to mul and mad of integers, and only to them"));
        }
        let name = match part {
            Some(part) => format!("{base}.{part}"),
            None if modifiers.flag("sat") => format!("{base}.sat"),
            None => base.to_string(),
        };
        let wide = match kind {
            Type::U16 => Type::U32,
            Type::S16 => Type::S32,
            Type::U32 => Type::U64,
            _ => Type::S64,
        };
        let target = if part == Some("wide") { wide } else { kind };
        match operands {
            [d, a] => {
                let function = lanes::integer_unary(&name, kind).ok_or(unknown)?;
                let operation = Operation::Unary { function, d: self.destination(d, kind)?, a: self.source(a, kind)? };
                self.step(operation);
            }
            [d, a, b] => {
                let function =
                    if target == kind { lanes::integer_binary(&name, kind) } else { lanes::wide_binary(kind) };
                let function = function.ok_or(unknown)?;
                let (d, a, b) = (self.destination(d, target)?, self.source(a, kind)?, self.source(b, kind)?);
                self.step(match base {
                    "div" | "rem" => Operation::Divide { function, d, a, b },
                    _ => Operation::Binary { function, d, a, b },
                });
            }
            [d, a, b, c] => {
                let function =
                    if target == kind { lanes::integer_ternary(&name, kind) } else { lanes::wide_ternary(kind) };
                let function = function.ok_or(unknown)?;
                let (d, a, b) = (self.destination(d, target)?, self.source(a, kind)?, self.source(b, kind)?);
                let c = self.source(c, target)?;
                self.step(Operation::Ternary { function, d, a, b, c });
            }
            _ => return Err(unknown),
        }
        Ok(())
    }

    fn float(&mut self, modifiers: &mut Modifiers<'_>, kind: Type, operands: &[Operand]) -> Result<(), Error> {
        let unknown = modifiers.error(&format!("there is no such instruction for {kind:?}"));
        let base = modifiers.name;
        modifiers.ignore(&["rn", "ftz"]);
        if matches!(base, "div" | "rcp" | "sqrt" | "rsqrt" | "ex2" | "lg2" | "sin" | "cos" | "tanh") {
            modifiers.ignore(&["approx", "full"]);
        }
        let saturated = modifiers.flag("sat");
        let name =
            if matches!(base, "min" | "max") && modifiers.flag("NaN") { format!("{base}.NaN") } else { base.into() };
        let d = match operands {
            [d, a] => {
                let function = lanes::float_unary(&name, kind).ok_or(unknown)?;
                let (d, a) = (self.destination(d, kind)?, self.source(a, kind)?);
                self.step(Operation::Unary { function, d, a });
                d
            }
            [d, a, b] => {
                let function = lanes::float_binary(&name, kind).ok_or(unknown)?;
                let (d, a, b) = (self.destination(d, kind)?, self.source(a, kind)?, self.source(b, kind)?);
                self.step(Operation::Binary { function, d, a, b });
                d
            }
            [d, a, b, c] if matches!(base, "fma" | "mad") => {
                let function = lanes::float_ternary(kind).ok_or(unknown)?;
                let (d, a, b) = (self.destination(d, kind)?, self.source(a, kind)?, self.source(b, kind)?);
                let c = self.source(c, kind)?;
                self.step(Operation::Ternary { function, d, a, b, c });
                d
            }
            _ => return Err(unknown),
        };
        if saturated {
            let Some(function) = lanes::saturate(kind) else { return self.error(".sat of this type") };
            self.step(Operation::Unary { function, d, a: d });
        }
        Ok(())
    }

    fn bitwise(&mut self, modifiers: &mut Modifiers<'_>, operands: &[Operand]) -> Result<(), Error> {
        let base = modifiers.name;
        let mut name = base.to_string();
        if base == "shf" {
            let direction = modifiers.take(&["l", "r"]).ok_or_else(|| modifiers.error("needs .l or .r"))?;
            let mode = modifiers.take(&["wrap", "clamp"]).ok_or_else(|| modifiers.error("needs .wrap or .clamp"))?;
            name = format!("shf.{direction}.{mode}");
        }
        let kind = modifiers.kind()?;
        if kind == Type::Predicate {
            return self.predicate_logic(modifiers, operands);
        }
        let unknown = modifiers.error(&format!("this interpreter has no such instruction for {kind:?}"));
        match (base, operands) {
            ("lop3", [d, a, b, c, table]) => {
                let table = self.literal(table)?;
                let (d, a, b) = (self.destination(d, kind)?, self.source(a, kind)?, self.source(b, kind)?);
                let c = self.source(c, kind)?;
                let Ok(table) = u8::try_from(table) else { return self.error("the table of lop3 has 8 bits") };
                self.step(Operation::LogicTable { table, d, a, b, c });
            }
            ("bfi", [d, a, b, start, length]) => {
                let function = lanes::insert_field(kind).ok_or(unknown)?;
                let d = self.destination(d, kind)?;
                let sources = [
                    self.source(a, kind)?,
                    self.source(b, kind)?,
                    self.source(start, Type::B32)?,
                    self.source(length, Type::B32)?,
                ];
                self.step(Operation::Quaternary { function, d, sources });
            }
            (_, [d, a]) => {
                let function = lanes::bitwise_unary(&name, kind).ok_or(unknown)?;
                let count = matches!(base, "popc" | "clz" | "bfind");
                let d = self.destination(d, if count { Type::B32 } else { kind })?;
                let a = self.source(a, kind)?;
                self.step(Operation::Unary { function, d, a });
            }
            (_, [d, a, b]) => {
                let shift = matches!(base, "shl" | "shr");
                let function = lanes::bitwise_binary(&name, kind);
                let function = function.or_else(|| lanes::integer_binary(&name, kind).filter(|_| base == "shr"));
                let function = function.ok_or(unknown)?;
                let (d, a) = (self.destination(d, kind)?, self.source(a, kind)?);
                let b = self.source(b, if shift { Type::B32 } else { kind })?;
                self.step(Operation::Binary { function, d, a, b });
            }
            (_, [d, a, b, c]) => {
                if base == "dp4a" && modifiers.kind()? != kind {
                    return Err(modifiers.error("this interpreter takes two operands of equal type"));
                }
                let function = lanes::bitwise_ternary(&name, kind).ok_or(unknown)?;
                let field = base == "bfe";
                let d = self.destination(d, kind)?;
                let a = self.source(a, if base == "dp4a" { Type::B32 } else { kind })?;
                let b = self.source(b, if field || base == "dp4a" { Type::B32 } else { kind })?;
                let c = self.source(c, if field { Type::B32 } else { kind })?;
                self.step(Operation::Ternary { function, d, a, b, c });
            }
            _ => return Err(unknown),
        }
        Ok(())
    }
}
