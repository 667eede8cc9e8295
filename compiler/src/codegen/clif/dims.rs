//! Dimension expressions as CLIF.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_frontend::FunctionBuilder;

use super::operations;
use crate::graph::dim::{BinaryOperator, DimEmitter};
use crate::graph::{Dim, SymbolId};

struct Emitter<'a, 'f> {
    builder: &'a mut FunctionBuilder<'f>,
    symbol: &'a mut dyn FnMut(&mut FunctionBuilder<'_>, SymbolId) -> Value,
}

/// Emits the evaluation of a dimension expression to an `i64`; `symbol` gives the value of a symbol.
/// An unknown dimension, which shape inference replaces by symbols, gives -1.
pub fn emit_dim(
    builder: &mut FunctionBuilder<'_>,
    dim: &Dim,
    symbol: &mut dyn FnMut(&mut FunctionBuilder<'_>, SymbolId) -> Value,
) -> Value {
    let Ok(value) = dim.emit(&mut Emitter { builder, symbol });
    value
}

impl DimEmitter for Emitter<'_, '_> {
    type Value = Value;
    type Error = std::convert::Infallible;

    fn constant(&mut self, value: i64) -> Result<Value, Self::Error> {
        Ok(self.builder.ins().iconst(types::I64, value))
    }

    fn symbol(&mut self, id: SymbolId) -> Result<Value, Self::Error> {
        Ok((self.symbol)(self.builder, id))
    }

    fn add(&mut self, a: Value, b: Value) -> Result<Value, Self::Error> {
        Ok(self.builder.ins().iadd(a, b))
    }

    fn multiply(&mut self, a: Value, b: Value) -> Result<Value, Self::Error> {
        Ok(self.builder.ins().imul(a, b))
    }

    fn binary(&mut self, operator: BinaryOperator, a: Value, b: Value) -> Result<Value, Self::Error> {
        let builder = &mut *self.builder;
        let condition = match operator {
            BinaryOperator::FloorDiv => return Ok(operations::floor_div(builder, a, b, true)),
            BinaryOperator::Modulo => return Ok(operations::floor_mod(builder, a, b, true)),
            BinaryOperator::TruncDiv => return Ok(operations::div(builder, a, b, true)),
            BinaryOperator::TruncRem => return Ok(operations::rem(builder, a, b, true)),
            BinaryOperator::Max => IntCC::SignedGreaterThan,
            BinaryOperator::Equal => IntCC::Equal,
            BinaryOperator::Min | BinaryOperator::Less => IntCC::SignedLessThan,
        };
        let holds = builder.ins().icmp(condition, a, b);
        Ok(match operator {
            BinaryOperator::Max | BinaryOperator::Min => builder.ins().select(holds, a, b),
            _ => builder.ins().uextend(types::I64, holds),
        })
    }

    fn unknown(&mut self) -> Result<Value, Self::Error> {
        self.constant(-1)
    }
}

struct FloatEmitter<'a, 'f> {
    builder: &'a mut FunctionBuilder<'f>,
    symbol: &'a mut dyn FnMut(&mut FunctionBuilder<'_>, SymbolId) -> Value,
}

/// Emits the evaluation of a dimension expression in `f64`: inexact, but without overflow, to detect overflow in
/// [`emit_dim`].
pub fn emit_dim_float(
    builder: &mut FunctionBuilder<'_>,
    dim: &Dim,
    symbol: &mut dyn FnMut(&mut FunctionBuilder<'_>, SymbolId) -> Value,
) -> Value {
    let Ok(value) = dim.emit(&mut FloatEmitter { builder, symbol });
    value
}

impl DimEmitter for FloatEmitter<'_, '_> {
    type Value = Value;
    type Error = std::convert::Infallible;

    fn constant(&mut self, value: i64) -> Result<Value, Self::Error> {
        Ok(self.builder.ins().f64const(value as f64))
    }

    fn symbol(&mut self, id: SymbolId) -> Result<Value, Self::Error> {
        let value = (self.symbol)(self.builder, id);
        Ok(self.builder.ins().fcvt_from_sint(types::F64, value))
    }

    fn add(&mut self, a: Value, b: Value) -> Result<Value, Self::Error> {
        Ok(self.builder.ins().fadd(a, b))
    }

    fn multiply(&mut self, a: Value, b: Value) -> Result<Value, Self::Error> {
        Ok(self.builder.ins().fmul(a, b))
    }

    fn binary(&mut self, operator: BinaryOperator, a: Value, b: Value) -> Result<Value, Self::Error> {
        use cranelift_codegen::ir::condcodes::FloatCC;
        let builder = &mut *self.builder;
        let less = builder.ins().fcmp(FloatCC::LessThan, a, b);
        let one = builder.ins().f64const(1.0);
        let zero = builder.ins().f64const(0.0);
        Ok(match operator {
            BinaryOperator::Max => builder.ins().select(less, b, a),
            BinaryOperator::Min => builder.ins().select(less, a, b),
            BinaryOperator::Less => builder.ins().select(less, one, zero),
            BinaryOperator::Equal => {
                let equal = builder.ins().fcmp(FloatCC::Equal, a, b);
                builder.ins().select(equal, one, zero)
            }
            // An upper bound of the magnitude is enough where quotients only make it smaller.
            BinaryOperator::FloorDiv | BinaryOperator::TruncDiv => {
                let by_zero = builder.ins().fcmp(FloatCC::Equal, b, zero);
                let divisor = builder.ins().select(by_zero, one, b);
                let quotient = builder.ins().fdiv(a, divisor);
                builder.ins().floor(quotient)
            }
            BinaryOperator::Modulo | BinaryOperator::TruncRem => b,
        })
    }

    fn unknown(&mut self) -> Result<Value, Self::Error> {
        self.constant(-1)
    }
}
