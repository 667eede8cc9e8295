//! Scalar expressions.

use super::assembly::{Class, Operand, Register};
use super::kernel::{KernelEmitter, scalar_type};
use crate::graph::ElementType as E;
use crate::loops::{CompareOp, Expr, ExprId, Scalar};

impl KernelEmitter<'_> {
    /// The value of an expression at the current point.
    pub fn value(&mut self, id: ExprId) -> Result<Register, String> {
        if let Some(&value) = self.scopes.iter().rev().find_map(|scope| scope.get(&id)) {
            return Ok(value);
        }
        let value = self.expr(id)?;
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(id, value);
        }
        Ok(value)
    }

    /// A constant as an operand.
    pub fn literal(scalar: Scalar) -> Operand {
        match scalar.element.compute_type() {
            E::F32 => f32::from_bits(scalar.bits as u32).into(),
            E::F64 => f64::from_bits(scalar.bits).into(),
            _ => (scalar.bits as i64).into(),
        }
    }

    /// A constant in a register.
    pub fn constant(&mut self, scalar: Scalar) -> Result<Register, String> {
        let (class, _) = scalar_type(scalar.element.compute_type())?;
        Ok(self.assembly.constant(class, Self::literal(scalar)))
    }

    fn expr(&mut self, id: ExprId) -> Result<Register, String> {
        let kernel = self.kernel;
        let element = kernel.type_of(id);
        match kernel.expr(id) {
            Expr::Const(scalar) => self.constant(*scalar),
            Expr::Axis(axis) => {
                self.positions[axis.0 as usize].ok_or_else(|| "an axis is used outside its loop".into())
            }
            Expr::Dim(dim) => self.dim(dim),
            Expr::Load { parameter, index, guard } => self.load(*parameter, index, *guard),
            Expr::Unary(op, a) => {
                let a_element = kernel.type_of(*a);
                let a = self.value(*a)?;
                self.unary(*op, a_element, a)
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.value(*a)?, self.value(*b)?);
                self.binary(*op, element, a, b)
            }
            Expr::Compare(op, a, b) => {
                let a_element = kernel.type_of(*a);
                let (a, b) = (self.value(*a)?, self.value(*b)?);
                let holds = self.compare(*op, a_element, a, b)?;
                Ok(self.bool(holds))
            }
            Expr::Select(condition, a, b) => {
                let condition = self.value(*condition)?;
                let (a, b) = (self.value(*a)?, self.value(*b)?);
                let holds = self.predicate(condition);
                Ok(self.assembly.select(a.class, holds, a, b))
            }
            Expr::Cast { to, saturate, value } => {
                let from = kernel.type_of(*value);
                let value = self.value(*value)?;
                self.cast(from, *to, *saturate, value)
            }
            Expr::Bitcast(to, value) => {
                let (class, _) = scalar_type(*to)?;
                let value = self.value(*value)?;
                let same = if value.class == class { value } else { self.assembly.bits(class, value) };
                Ok(self.wrap(*to, same))
            }
            Expr::Reduced(id) => {
                self.reduced[id.0 as usize].ok_or_else(|| "a reduction is used before it is done".into())
            }
            Expr::Checked { index, extent } => {
                let (index, extent) = (self.value(*index)?, self.value(*extent)?);
                // One unsigned comparison: a negative index is a large one.
                let outside = self.assembly.binary(Class::Predicate, "setp.ge.u64", index, extent);
                let fail = self.fail.clone();
                self.assembly.line(format_args!("@{outside} bra {fail}"));
                self.fails = true;
                Ok(index)
            }
        }
    }

    /// A predicate as a bool in a register.
    pub fn bool(&mut self, predicate: Register) -> Register {
        let value = self.assembly.select(Class::Word, predicate, 1, 0);
        self.predicates.insert(value, predicate);
        value
    }

    /// Whether a bool holds.
    pub fn predicate(&mut self, value: Register) -> Register {
        match self.predicates.get(&value) {
            Some(&predicate) => predicate,
            None => self.assembly.binary(Class::Predicate, "setp.ne.u32", value, 0),
        }
    }

    /// A comparison as a predicate.
    pub fn compare(
        &mut self,
        op: CompareOp,
        element: E,
        a: Register,
        b: impl Into<Operand>,
    ) -> Result<Register, String> {
        let (_, kind) = scalar_type(element)?;
        let name = match op {
            // The one comparison that holds for NaN.
            CompareOp::Ne if element.is_float() => "neu",
            other => other.name(),
        };
        Ok(self.assembly.binary(Class::Predicate, &format!("setp.{name}.{kind}"), a, b))
    }

    /// A value within 32 bits brought into the range of a narrower integer type.
    pub fn wrap(&mut self, element: E, value: Register) -> Register {
        let bits = element.bits() as u32;
        if value.class != Class::Word || bits >= 32 {
            return value;
        }
        let opcode = if element.is_signed() { "bfe.s32" } else { "bfe.u32" };
        self.assembly.emit(Class::Word, opcode, &[value.into(), 0.into(), bits.into()])
    }
}
