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
