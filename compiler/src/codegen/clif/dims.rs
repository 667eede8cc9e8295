//! Dimension expressions as CLIF.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_frontend::FunctionBuilder;

use super::operations;
use crate::graph::dim::{BinaryOperator, DimNode};
use crate::graph::{Dim, SymbolId};

/// Emits the evaluation of a dimension expression to an `i64`; `symbol` gives the value of a symbol.
pub fn emit_dim(
    builder: &mut FunctionBuilder<'_>,
    dim: &Dim,
    symbol: &mut dyn FnMut(&mut FunctionBuilder<'_>, SymbolId) -> Value,
) -> Value {
    match dim.node() {
        DimNode::Const(value) => builder.ins().iconst(types::I64, value),
        DimNode::Symbol(id) => symbol(builder, id),
        DimNode::Sum { constant, terms } => {
            let mut total = None;
            for (coefficient, term) in terms {
                let mut value = emit_dim(builder, &term, symbol);
                if coefficient != 1 {
                    let factor = builder.ins().iconst(types::I64, coefficient);
                    value = builder.ins().imul(value, factor);
                }
                total = Some(match total {
                    None => value,
                    Some(total) => builder.ins().iadd(total, value),
                });
            }
            let constant_value = builder.ins().iconst(types::I64, constant);
            match total {
                None => constant_value,
                Some(total) if constant == 0 => total,
                Some(total) => builder.ins().iadd(total, constant_value),
            }
        }
        DimNode::Product(factors) => {
            let mut total = None;
            for factor in factors {
                let value = emit_dim(builder, &factor, symbol);
                total = Some(match total {
                    None => value,
                    Some(total) => builder.ins().imul(total, value),
                });
            }
            total.unwrap_or_else(|| builder.ins().iconst(types::I64, 1))
        }
        DimNode::Binary(operator, a, b) => {
            let (a, b) = (emit_dim(builder, a, symbol), emit_dim(builder, b, symbol));
            match operator {
                BinaryOperator::FloorDiv => operations::floor_div(builder, a, b, true),
                BinaryOperator::Modulo => operations::floor_mod(builder, a, b, true),
                BinaryOperator::TruncDiv => operations::div(builder, a, b, true),
                BinaryOperator::TruncRem => operations::rem(builder, a, b, true),
                BinaryOperator::Max => {
                    let greater = builder.ins().icmp(IntCC::SignedGreaterThan, a, b);
                    builder.ins().select(greater, a, b)
                }
                BinaryOperator::Min => {
                    let less = builder.ins().icmp(IntCC::SignedLessThan, a, b);
                    builder.ins().select(less, a, b)
                }
                BinaryOperator::Equal => {
                    let equal = builder.ins().icmp(IntCC::Equal, a, b);
                    builder.ins().uextend(types::I64, equal)
                }
                BinaryOperator::Less => {
                    let less = builder.ins().icmp(IntCC::SignedLessThan, a, b);
                    builder.ins().uextend(types::I64, less)
                }
            }
        }
    }
}
