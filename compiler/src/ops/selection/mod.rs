//! Operators that sort and select, done by routines of the stub.

mod non_max_suppression;
mod nonzero;
mod top_k;
mod unique;

use super::{Nest, Operator, OperatorError, Result};
use crate::graph::ElementType;
use crate::loops::{BinaryOp, CompareOp, ExprId};

/// The operators of this family.
pub static OPERATORS: &[Operator] = &[
    Operator::new("NonMaxSuppression", non_max_suppression::infer, non_max_suppression::lower),
    Operator::new("NonZero", nonzero::infer, nonzero::lower),
    Operator::new("TopK", top_k::infer, top_k::lower),
    Operator::new("Unique", unique::infer, unique::lower),
];

/// An `i64` for an element, in the same order: zeros of either sign are equal, NaN comes after all other values.
fn key(nest: &mut Nest, element: ElementType, value: ExprId) -> Result<ExprId> {
    let element = element.compute_type();
    let (bits, magnitude) = match element {
        ElementType::F32 => (ElementType::I32, i64::from(i32::MAX)),
        ElementType::F64 => (ElementType::I64, i64::MAX),
        ElementType::U64 => {
            let (number, lowest) = (nest.bitcast(ElementType::I64, value), nest.index(i64::MIN));
            return Ok(nest.binary(BinaryOp::Xor, number, lowest));
        }
        other if other.is_integer() || other == ElementType::Bool => return Ok(nest.cast(ElementType::I64, value)),
        other => return Err(OperatorError::new(format!("elements of type {other} have no order to sort by"))),
    };
    let zero = nest.float(element, 0.0);
    let is_zero = nest.compare(CompareOp::Eq, value, zero);
    let value = nest.select(is_zero, zero, value);
    let pattern = nest.bitcast(bits, value);
    let number = nest.cast(ElementType::I64, pattern);
    // Magnitudes of negative numbers count downwards.
    let (zero, mask, last) = (nest.index(0), nest.index(magnitude), nest.index(i64::MAX));
    let flipped = nest.binary(BinaryOp::Xor, number, mask);
    let is_negative = nest.compare(CompareOp::Lt, number, zero);
    let ordered = nest.select(is_negative, flipped, number);
    let is_number = nest.compare(CompareOp::Eq, value, value);
    Ok(nest.select(is_number, ordered, last))
}
