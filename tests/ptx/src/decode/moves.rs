//! Decodes moves, selections, and conversions.

use super::Decoder;
use super::modifiers::Modifiers;
use super::names::Binding;
use crate::error::Error;
use crate::lanes::{self, Conversion, Rounding, Ternary, Unary};
use crate::operation::{Constant, Logic, Operation};
use crate::statement::{Operand, Space};
use crate::types::Type;

const COPY: Unary = |d, a| *d = *a;

impl Decoder<'_> {
    pub(super) fn copy(&mut self, d: u32, a: u32) {
        self.step(Operation::Unary { function: COPY, d, a });
    }

    pub(super) fn decode_move(&mut self, modifiers: &mut Modifiers<'_>, operands: &[Operand]) -> Result<(), Error> {
        let kind = modifiers.kind()?;
        let [d, a] = self.exactly(operands)?;
        if kind == Type::Predicate {
            let Operand::Name(name) = d else { return self.error("expected a predicate as the destination") };
            let d = self.predicate(name)?;
            let a = self.predicate_source(a)?;
            self.step(Operation::PredicateLogic { logic: Logic::And, d, a, b: a });
            return Ok(());
        }
        match (d, a) {
            (d, Operand::Vector(list)) => {
                let (part, count) = self.parts(kind, list.len())?;
                let d = self.destination(d, kind)?;
                let mut parts = [0; 4];
                for (slot, operand) in parts.iter_mut().zip(list) {
                    *slot = self.source(operand, part)?;
                }
                self.step(Operation::Pack { d, parts, count, bits: part.bits() });
            }
            (Operand::Vector(list), a) => {
                let (part, count) = self.parts(kind, list.len())?;
                let a = self.source(a, kind)?;
                let mut parts = [crate::operation::SINK; 4];
                for (slot, operand) in parts.iter_mut().zip(list) {
                    if *operand != Operand::Name("_".into()) {
                        *slot = self.destination(operand, part)?;
                    }
                }
                self.step(Operation::Unpack { parts, a, count, bits: part.bits() });
            }
            (d, Operand::Name(name)) if self.is_variable(name) => {
                let (a, space) = self.address_of(name, 0)?;
                let narrow = kind.bytes() == 4 && matches!(space, Space::Shared | Space::Local);
                if kind.is_float() || (kind.bytes() != 8 && !narrow) {
                    return self.error(format!("{kind:?} does not hold the address of {name}"));
                }
                let d = self.destination(d, kind)?;
                self.copy(d, a);
            }
            (d, a) => {
                let d = self.destination(d, kind)?;
                let a = self.source(a, kind)?;
                self.copy(d, a);
            }
        }
        Ok(())
    }

    fn is_variable(&self, name: &str) -> bool {
        !matches!(self.lookup(name), None | Some(Binding::Register(..) | Binding::Predicate(_)))
    }

    fn parts(&self, whole: Type, count: usize) -> Result<(Type, u32), Error> {
        Ok(match (whole.bits(), count) {
            (64, 2) => (Type::B32, 2),
            (64, 4) => (Type::B16, 4),
            (32, 2) => (Type::B16, 2),
            (16, 2) => (Type::B8, 2),
            (32, 4) => (Type::B8, 4),
            _ => return self.error(format!("{whole:?} does not consist of {count} parts")),
        })
    }

    /// `selp` and `slct`.
    pub(super) fn select(&mut self, modifiers: &mut Modifiers<'_>, operands: &[Operand]) -> Result<(), Error> {
        modifiers.ignore(&["ftz"]);
        let kind = modifiers.kind()?;
        let [d, a, b, c] = self.exactly(operands)?;
        let (d, a, b) = (self.destination(d, kind)?, self.source(a, kind)?, self.source(b, kind)?);
        if modifiers.name == "selp" {
            let Operand::Name(name) = c else { return self.error("expected a predicate") };
            let p = self.predicate(name)?;
            self.step(Operation::Select { d, a, b, p });
            return Ok(());
        }
        let function: Ternary = match modifiers.kind()? {
            Type::S32 => lanes::ternary!(u64, i32, |a, b, c| if c >= 0 { a } else { b }),
            Type::F32 => lanes::ternary!(u64, f32, |a, b, c| if c >= 0.0 { a } else { b }),
            _ => return Err(modifiers.error("selects by .s32 or .f32")),
        };
        let c = self.source(c, Type::B32)?;
        self.step(Operation::Ternary { function, d, a, b, c });
        Ok(())
    }

    /// `cvt`.
    pub(super) fn convert(&mut self, modifiers: &mut Modifiers<'_>, operands: &[Operand]) -> Result<(), Error> {
        let whole = modifiers.take(&["rni", "rzi", "rmi", "rpi"]);
        let float = modifiers.take(&["rn", "rz", "rm", "rp"]);
        modifiers.ignore(&["ftz"]);
        let saturate = modifiers.flag("sat");
        let relu = modifiers.flag("relu");
        let (target, source) = (modifiers.kind()?, modifiers.kind()?);
        if let [d, a, b] = operands {
            let unknown = modifiers.error("packs two .f32 into .f16x2 or .bf16x2, with .rn");
            if source != Type::F32 || float != Some("rn") {
                return Err(unknown);
            }
            let function = lanes::pack_pair(target, relu).ok_or(unknown)?;
            let (d, a, b) = (self.destination(d, target)?, self.source(a, source)?, self.source(b, source)?);
            self.step(Operation::Binary { function, d, a, b });
            return Ok(());
        }
        let supported = |kind: Type| kind.is_integer() || kind.is_float();
        if relu || !supported(source) || !supported(target) {
            return Err(modifiers.error("this interpreter does not convert between these types in this way"));
        }
        // Which rounding a conversion must carry, as an assembler demands it.
        let narrows = match (source.is_float(), target.is_float()) {
            (true, true) => target.bytes() < source.bytes() || (target.bytes() == 2 && target != source),
            (false, true) => true,
            _ => false,
        };
        let to_integer = source.is_float() && target.is_integer();
        if narrows != float.is_some() || (to_integer && whole.is_none()) {
            return Err(modifiers.error("narrowing to a float takes .rn, .rz, .rm or .rp; to an integer .rni, .rzi, .rmi or .rpi; other conversions no rounding"));
        }
        let rounding = match whole.or(float) {
            Some("rzi" | "rz") => Rounding::Zero,
            Some("rmi" | "rm") => Rounding::Down,
            Some("rpi" | "rp") => Rounding::Up,
            _ => Rounding::NearestEven,
        };
        if source.is_integer() && source.bytes() == 8 && target.is_float() && rounding != Rounding::NearestEven {
            return Err(modifiers.error("this interpreter rounds 64-bit integers only to the nearest float"));
        }
        let [d, a] = self.exactly(operands)?;
        let (d, register) = self.wide_register(d, target)?;
        let a = match a {
            Operand::Name(_) => match self.wide_register(a, source) {
                Ok((register, _)) => register,
                // Special registers have exactly 32 bits.
                Err(error) => self.source(a, source).map_err(|_| error)?,
            },
            _ => self.source(a, source)?,
        };
        let register_bits = register.bits();
        let whole = whole.is_some();
        let conversion = Conversion { source, target, rounding, whole, saturate, register_bits };
        self.step(Operation::Convert { conversion, d, a });
        Ok(())
    }

    /// `cvta`.
    pub(super) fn convert_address(&mut self, modifiers: &mut Modifiers<'_>, operands: &[Operand]) -> Result<(), Error> {
        let to_generic = !modifiers.flag("to");
        let space = match modifiers.take(&["global", "shared", "shared::cta", "local", "const", "param"]) {
            Some("global") => Space::Global,
            Some("shared" | "shared::cta") => Space::Shared,
            Some("local") => Space::Local,
            Some("const") => Space::Constant,
            Some(_) => return Err(modifiers.error("this interpreter has no generic addresses of parameters")),
            None => return Err(modifiers.error("needs a state space")),
        };
        let kind = modifiers.kind()?;
        if kind.bytes() != 8 {
            return Err(modifiers.error("addresses have 64 bits"));
        }
        let [d, a] = self.exactly(operands)?;
        let d = self.destination(d, kind)?;
        let a = match a {
            Operand::Name(name) if self.is_variable(name) => self.address_of(name, 0)?.0,
            other => self.source(other, kind)?,
        };
        match Self::window(space) {
            0 => self.copy(d, a),
            window => {
                let start = self.constant(Constant::Bits(window));
                let name = if to_generic { "add" } else { "sub" };
                let Some(function) = lanes::integer_binary(name, Type::U64) else { return Ok(()) };
                self.step(Operation::Binary { function, d, a, b: start });
            }
        }
        Ok(())
    }
}
