//! Unary and binary operations of scalar expressions.

use super::assembly::{Class, Register};
use super::integer;
use super::kernel::{KernelEmitter, scalar_type};
use super::math;
use crate::graph::ElementType as E;
use crate::loops::{BinaryOp, CompareOp, Scalar, UnaryOp};

impl KernelEmitter<'_> {
    /// An operation on one operand of type `element`.
    pub fn unary(&mut self, op: UnaryOp, element: E, a: Register) -> Result<Register, String> {
        if op == UnaryOp::IsNan {
            let holds = self.compare(CompareOp::Ne, element, a, a)?;
            return Ok(self.bool(holds));
        }
        if !element.is_float() {
            return self.integer_unary(op, element, a);
        }
        let (class, kind) = scalar_type(element)?;
        let opcode = match op {
            UnaryOp::Neg => format!("neg.{kind}"),
            UnaryOp::Abs => format!("abs.{kind}"),
            UnaryOp::Floor => format!("cvt.rmi.{kind}.{kind}"),
            UnaryOp::Ceil => format!("cvt.rpi.{kind}.{kind}"),
            UnaryOp::Round => format!("cvt.rni.{kind}.{kind}"),
            UnaryOp::Trunc => format!("cvt.rzi.{kind}.{kind}"),
            UnaryOp::Sqrt => format!("sqrt.rn.{kind}"),
            UnaryOp::Sign => return self.sign(element, a),
            _ => {
                let name = math::function_of(op).ok_or_else(|| format!("{} has no float form", op.name()))?;
                return self.call_math(name, element, &[a]);
            }
        };
        Ok(self.assembly.unary(class, &opcode, a))
    }

    /// -1, 0 or 1; zeros and NaN stay as they are.
    fn sign(&mut self, element: E, a: Register) -> Result<Register, String> {
        let literal = |value| Self::literal(Scalar::from_i64(element, value));
        let positive = self.compare(CompareOp::Gt, element, a, literal(0))?;
        let result = self.assembly.select(a.class, positive, literal(1), a);
        if !element.is_float() && !element.is_signed() {
            return Ok(result);
        }
        let negative = self.compare(CompareOp::Lt, element, a, literal(0))?;
        Ok(self.assembly.select(a.class, negative, literal(-1), result))
    }

    fn integer_unary(&mut self, op: UnaryOp, element: E, a: Register) -> Result<Register, String> {
        let (class, kind) = scalar_type(element)?;
        let bits = class.name();
        let result = match op {
            UnaryOp::Neg => self.assembly.binary(class, &format!("sub.{kind}"), 0, a),
            UnaryOp::Abs if element.is_signed() => {
                let negated = self.assembly.binary(class, &format!("sub.{kind}"), 0, a);
                let negative = self.compare(CompareOp::Lt, element, a, 0)?;
                self.assembly.select(class, negative, negated, a)
            }
            UnaryOp::Not if element == E::Bool => self.assembly.binary(class, "xor.b32", a, 1),
            UnaryOp::Not => self.assembly.unary(class, &format!("not.{bits}"), a),
            UnaryOp::Sign => self.sign(element, a)?,
            UnaryOp::Abs | UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Round | UnaryOp::Trunc => a,
            _ => return Err(format!("{} has no integer form", op.name())),
        };
        Ok(self.wrap(element, result))
    }

    /// Calls a device function, which computes in `f64`.
    fn call_math(&mut self, name: &str, element: E, operands: &[Register]) -> Result<Register, String> {
        let symbol = self.library.function(name).ok_or_else(|| format!("there is no function {name}"))?;
        if element == E::F64 {
            return Ok(self.assembly.call(Class::Double, &symbol, operands));
        }
        let wide: Vec<Register> =
            operands.iter().map(|&operand| self.assembly.unary(Class::Double, "cvt.f64.f32", operand)).collect();
        let result = self.assembly.call(Class::Double, &symbol, &wide);
        Ok(self.assembly.unary(Class::Single, "cvt.rn.f32.f64", result))
    }

    /// An operation on two operands of type `element`.
    pub fn binary(&mut self, op: BinaryOp, element: E, a: Register, b: Register) -> Result<Register, String> {
        if !element.is_float() {
            let result = self.integer_binary(op, element, a, b)?;
            return Ok(self.wrap(element, result));
        }
        let (class, kind) = scalar_type(element)?;
        let opcode = match op {
            BinaryOp::Add => format!("add.rn.{kind}"),
            BinaryOp::Sub => format!("sub.rn.{kind}"),
            BinaryOp::Mul => format!("mul.rn.{kind}"),
            BinaryOp::Div => format!("div.rn.{kind}"),
            BinaryOp::FloorDiv => {
                let quotient = self.assembly.binary(class, &format!("div.rn.{kind}"), a, b);
                return Ok(self.assembly.unary(class, &format!("cvt.rmi.{kind}.{kind}"), quotient));
            }
            BinaryOp::Min => return self.extremum(CompareOp::Lt, element, a, b),
            BinaryOp::Max => return self.extremum(CompareOp::Gt, element, a, b),
            BinaryOp::Pow | BinaryOp::Rem | BinaryOp::Mod | BinaryOp::Atan2 => {
                return self.call_math(op.name(), element, &[a, b]);
            }
            _ => return Err(format!("{} has no float form", op.name())),
        };
        Ok(self.assembly.binary(class, &opcode, a, b))
    }

    /// The lesser or greater float; NaN if either is. The instructions that do this need newer GPUs.
    fn extremum(&mut self, op: CompareOp, element: E, a: Register, b: Register) -> Result<Register, String> {
        let first = self.compare(op, element, a, b)?;
        let chosen = self.assembly.select(a.class, first, a, b);
        // `b` is chosen when either is NaN, so only a NaN in `a` is lost.
        let a_is_nan = self.compare(CompareOp::Ne, element, a, a)?;
        Ok(self.assembly.select(a.class, a_is_nan, a, chosen))
    }

    fn integer_binary(&mut self, op: BinaryOp, element: E, a: Register, b: Register) -> Result<Register, String> {
        let (class, kind) = scalar_type(element)?;
        let bits = class.name();
        let assembly = &mut self.assembly;
        let opcode = match op {
            BinaryOp::Add => format!("add.{kind}"),
            BinaryOp::Sub => format!("sub.{kind}"),
            BinaryOp::Mul => format!("mul.lo.{kind}"),
            BinaryOp::Min => format!("min.{kind}"),
            BinaryOp::Max => format!("max.{kind}"),
            BinaryOp::And => format!("and.{bits}"),
            BinaryOp::Or => format!("or.{bits}"),
            BinaryOp::Xor => format!("xor.{bits}"),
            BinaryOp::Div => return Ok(integer::div(assembly, kind, a, b)),
            BinaryOp::Rem => return Ok(integer::rem(assembly, kind, a, b)),
            BinaryOp::FloorDiv => return Ok(integer::floor_div(assembly, kind, a, b)),
            BinaryOp::Mod => return Ok(integer::floor_mod(assembly, kind, a, b)),
            BinaryOp::ShiftLeft | BinaryOp::ShiftRight => {
                let opcode = if op == BinaryOp::ShiftLeft { format!("shl.{bits}") } else { format!("shr.{kind}") };
                let unsigned = if class == Class::Long { "setp.lt.u64" } else { "setp.lt.u32" };
                let inside = assembly.binary(Class::Predicate, unsigned, b, element.bits() as u32);
                let count = if class == Class::Long { assembly.unary(Class::Word, "cvt.u32.u64", b) } else { b };
                let shifted = assembly.binary(class, &opcode, a, count);
                return Ok(assembly.select(class, inside, shifted, 0));
            }
            BinaryOp::Pow => return self.integer_power(element, a, b),
            BinaryOp::Atan2 => return Err("atan2 has no integer form".into()),
        };
        Ok(assembly.binary(class, &opcode, a, b))
    }

    /// In 64 bits: the low bits of a product depend on low bits alone.
    fn integer_power(&mut self, element: E, a: Register, b: Register) -> Result<Register, String> {
        let name = if element.is_signed() { "pow_s64" } else { "pow_u64" };
        let symbol = self.library.function(name).ok_or_else(|| format!("there is no function {name}"))?;
        let (a, b) = (self.widen(element, a), self.widen(element, b));
        let result = self.assembly.call(Class::Long, &symbol, &[a, b]);
        let (class, _) = scalar_type(element)?;
        Ok(if class == Class::Long { result } else { self.assembly.unary(Class::Word, "cvt.u32.u64", result) })
    }

    /// An integer in 64 bits.
    pub fn widen(&mut self, element: E, value: Register) -> Register {
        match value.class {
            Class::Word if element.is_signed() => self.assembly.unary(Class::Long, "cvt.s64.s32", value),
            Class::Word => self.assembly.unary(Class::Long, "cvt.u64.u32", value),
            _ => value,
        }
    }
}
