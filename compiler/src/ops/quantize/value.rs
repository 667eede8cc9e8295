//! The scalar part of quantization.

use crate::graph::ElementType;
use crate::loops::{ExprId, KernelBuilder, Scalar, UnaryOp};

/// `value`, an `f32` already divided by its scale, as an element of a quantized type: rounded to even, moved by the zero
/// point and saturated for integers; rounded to the type for floats, where `saturate` says what happens out of its range.
pub fn quantized(
    nest: &mut KernelBuilder,
    value: ExprId,
    zero_point: Option<ExprId>,
    element: ElementType,
    saturate: bool,
) -> ExprId {
    let zero_point = zero_point.map(|zero| nest.cast(ElementType::F32, zero));
    if element.is_float() {
        let moved = zero_point.map_or(value, |zero| nest.add(value, zero));
        return nest.cast_with(element, saturate, moved);
    }
    let rounded = nest.unary(UnaryOp::Round, value);
    let moved = zero_point.map_or(rounded, |zero| nest.add(rounded, zero));
    let (low, high) = (Scalar::lowest(element).to_f64(), Scalar::highest(element).to_f64());
    let (low, high) = (nest.float(ElementType::F32, low), nest.float(ElementType::F32, high));
    let bounded = nest.max(moved, low);
    let bounded = nest.min(bounded, high);
    nest.cast(element, bounded)
}
