//! Dimension expressions as PTX.

use super::assembly::{Assembly, Class, Register};
use super::integer;
use crate::graph::dim::{BinaryOperator, DimEmitter};
use crate::graph::{Dim, SymbolId};

struct Emitter<'a> {
    assembly: &'a mut Assembly,
    symbol: &'a dyn Fn(SymbolId) -> Result<Register, String>,
}

/// Emits the evaluation of a dimension expression to 64 bits; `symbol` gives the value of a symbol.
///
/// # Errors
/// For expressions that shape inference should have replaced, and symbols without a value.
pub fn emit_dim(
    assembly: &mut Assembly,
    dim: &Dim,
    symbol: &dyn Fn(SymbolId) -> Result<Register, String>,
) -> Result<Register, String> {
    dim.emit(&mut Emitter { assembly, symbol })
}

impl DimEmitter for Emitter<'_> {
    type Value = Register;
    type Error = String;

    fn constant(&mut self, value: i64) -> Result<Register, String> {
        Ok(self.assembly.constant(Class::Long, value))
    }

    fn symbol(&mut self, id: SymbolId) -> Result<Register, String> {
        (self.symbol)(id)
    }

    fn add(&mut self, a: Register, b: Register) -> Result<Register, String> {
        Ok(self.assembly.binary(Class::Long, "add.s64", a, b))
    }

    fn multiply(&mut self, a: Register, b: Register) -> Result<Register, String> {
        Ok(self.assembly.binary(Class::Long, "mul.lo.s64", a, b))
    }

    fn binary(&mut self, operator: BinaryOperator, a: Register, b: Register) -> Result<Register, String> {
        let assembly = &mut *self.assembly;
        let comparison = match operator {
            BinaryOperator::FloorDiv => return Ok(integer::floor_div(assembly, "s64", a, b)),
            BinaryOperator::Modulo => return Ok(integer::floor_mod(assembly, "s64", a, b)),
            BinaryOperator::TruncDiv => return Ok(integer::div(assembly, "s64", a, b)),
            BinaryOperator::TruncRem => return Ok(integer::rem(assembly, "s64", a, b)),
            BinaryOperator::Max => return Ok(assembly.binary(Class::Long, "max.s64", a, b)),
            BinaryOperator::Min => return Ok(assembly.binary(Class::Long, "min.s64", a, b)),
            BinaryOperator::Equal => "setp.eq.s64",
            BinaryOperator::Less => "setp.lt.s64",
        };
        let holds = assembly.binary(Class::Predicate, comparison, a, b);
        Ok(assembly.select(Class::Long, holds, 1, 0))
    }

    fn unknown(&mut self) -> Result<Register, String> {
        Err("a dimension is too complex to be computed".into())
    }
}
