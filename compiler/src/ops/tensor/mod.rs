//! Operators that make, move and select elements without computing on them.

mod bit_cast;
mod cast;
mod center_crop_pad;
mod compress;
mod concat;
mod constant;
mod constant_of_shape;
mod cumulative;
mod depth_to_space;
mod diagonal;
mod expand;
mod gather;
mod identity;
mod one_hot;
mod pad;
mod range;
mod reshape;
mod reverse_sequence;
mod scatter;
mod shape;
mod slice;
mod split;
mod squeeze;
mod tensor_scatter;
#[cfg(test)]
mod tests;
mod transpose;
mod where_select;

use super::{Infer, Lower, Nest, Operator, OperatorError, Result};
use crate::graph::{CompareOperator, Dim, ElementType};
use crate::loops::{ParameterId, Scalar, View};

/// The operators of this family.
pub static OPERATORS: &[Operator] = &[
    Operator::new("BitCast", bit_cast::infer, bit_cast::lower),
    Operator::new("Cast", cast::infer, cast::lower),
    Operator::new("CastLike", cast::infer_like, cast::lower),
    Operator::new("CenterCropPad", center_crop_pad::infer, center_crop_pad::lower),
    Operator::new("Compress", compress::infer, compress::lower),
    Operator::new("Concat", concat::infer, concat::lower),
    Operator::new("Constant", constant::infer, constant::lower),
    Operator::new("ConstantOfShape", constant_of_shape::infer, constant_of_shape::lower),
    Operator::new("CumProd", cumulative::infer, cumulative::lower_product),
    Operator::new("CumSum", cumulative::infer, cumulative::lower_sum),
    Operator::new("DepthToSpace", depth_to_space::infer_depth, depth_to_space::lower_depth),
    Operator::new("Dropout", identity::infer_dropout, identity::lower_dropout),
    Operator::new("Expand", expand::infer, expand::lower),
    Operator::new("EyeLike", diagonal::infer_eye, diagonal::lower_eye),
    Operator::new("Flatten", reshape::infer_flatten, reshape::lower_flatten),
    Operator::new("Gather", gather::infer, gather::lower),
    Operator::new("GatherElements", gather::infer_elements, gather::lower_elements),
    Operator::new("GatherND", gather::infer_nd, gather::lower_nd),
    Operator::new("Identity", identity::infer, identity::lower),
    Operator::new("OneHot", one_hot::infer, one_hot::lower),
    Operator::new("Pad", pad::infer, pad::lower),
    Operator::new("Range", range::infer, range::lower),
    Operator::new("Reshape", reshape::infer, reshape::lower),
    Operator::new("ReverseSequence", reverse_sequence::infer, reverse_sequence::lower),
    Operator::new("Scatter", scatter::infer, scatter::lower_elements),
    Operator::new("ScatterElements", scatter::infer, scatter::lower_elements),
    Operator::new("ScatterND", scatter::infer, scatter::lower_nd),
    Operator::new("Shape", shape::infer, shape::lower),
    Operator::new("Size", shape::infer_size, shape::lower),
    Operator::new("Slice", slice::infer, slice::lower),
    Operator::new("SpaceToDepth", depth_to_space::infer_space, depth_to_space::lower_space),
    Operator::new("Split", split::infer, split::lower),
    Operator::new("Squeeze", squeeze::infer, squeeze::lower),
    Operator::new("TensorScatter", tensor_scatter::infer, tensor_scatter::lower),
    Operator::new("Tile", expand::infer_tile, expand::lower_tile),
    Operator::new("Transpose", transpose::infer, transpose::lower),
    Operator::new("Trilu", diagonal::infer_triangle, diagonal::lower_triangle),
    Operator::new("Unsqueeze", squeeze::infer_unsqueeze, squeeze::lower_unsqueeze),
    Operator::new("Where", where_select::infer, where_select::lower),
];

/// The type of output 0 where it is input 0 under another shape. What is constant stays so.
fn alias_as(ctx: &mut Infer<'_>, shape: Vec<Dim>) -> Result<()> {
    let dims: Option<Vec<i64>> = shape.iter().map(Dim::as_const).collect();
    if let (Some(dims), Some(tensor)) = (dims, ctx.constant(0))
        && dims.iter().product::<i64>() == tensor.len() as i64
    {
        let tensor = tensor.reshaped(&dims);
        ctx.set_constant(0, tensor);
        return Ok(());
    }
    let element = ctx.element(0)?;
    ctx.set(0, element, shape);
    Ok(())
}

/// Makes output 0 the memory of input 0.
fn alias(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let input = ctx.input(0)?;
    ctx.alias_output(0, input)
}

/// The memory of an input whose elements a kernel moves.
fn data(ctx: &mut Lower<'_, '_>, index: usize) -> Result<View> {
    let view = ctx.input(index)?;
    match view.element {
        ElementType::String => Err(OperatorError::new(format!(
            "input {index} is a tensor of strings, which this operator does not support; remove text handling from the model"
        ))),
        _ => Ok(view),
    }
}

/// Adds a buffer of which a kernel writes a part. Elements that share a byte with others are written in order.
pub(super) fn write_part(nest: &mut Nest, view: &View) -> ParameterId {
    if view.element.bits() < 8 { nest.read_write(view) } else { nest.write(view) }
}

/// Fills a tensor with one value.
pub(super) fn splat(ctx: &mut Lower<'_, '_>, target: &View, value: Scalar) {
    let mut nest = ctx.nest();
    let parameter = nest.write(target);
    let axes = nest.outer_axes(&target.shape);
    let value = nest.scalar(value);
    nest.store(parameter, &axes, value);
    ctx.launch(nest);
}

/// Checks at run time the dimensions that come from data.
fn check_nonnegative(ctx: &mut Lower<'_, '_>, dims: &[Dim]) -> Result<()> {
    for dim in dims {
        let holds = dim.compare(CompareOperator::GreaterEqual, &Dim::ZERO);
        ctx.check(holds, "a dimension of the output is negative")?;
    }
    Ok(())
}

/// Checks that two dimensions are equal.
fn check_equal(ctx: &mut Lower<'_, '_>, a: &Dim, b: &Dim, message: &str) -> Result<()> {
    ctx.check(a.compare(CompareOperator::Equal, b), message)
}
