//! ConstantOfShape: one value at every position of a computed shape.

use super::check_nonnegative;
use crate::graph::{Dim, Node, Tensor, TensorData};
use crate::ops::arguments::Arguments;
use crate::ops::{Infer, Lower, OperatorError, Result};

/// Tensors of at most this many bytes become constants of the model.
const MAX_CONSTANT_BYTES: i64 = 1 << 16;

/// The output's shape is the input's elements.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let shape = ctx.elements(0)?;
    let value = value(ctx.node)?;
    ctx.set(0, value.element, shape.clone());
    let dims: Option<Vec<i64>> = shape.iter().map(Dim::as_const).collect();
    let Some(dims) = dims else { return Ok(()) };
    if let Some(dim) = dims.iter().find(|&&dim| dim < 0) {
        return Err(OperatorError::new(format!("the shape has the negative dimension {dim}")));
    }
    let bits = dims.iter().try_fold(value.element.bits() as i64, |bits, &dim| bits.checked_mul(dim));
    if bits.is_some_and(|bits| bits <= 8 * MAX_CONSTANT_BYTES)
        && value.element.bits() >= 8
        && let Some(bytes) = value.bytes()
    {
        ctx.set_constant(0, Tensor { element: value.element, dims, data: TensorData::Splat(bytes) });
    }
    Ok(())
}

/// A kernel that stores the value everywhere.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let value = value(ctx.node)?;
    let value = ctx.constant_view(value);
    let (_, shape) = ctx.output_type(0)?;
    check_nonnegative(ctx, &shape)?;
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let source = nest.read(&value);
    let target = nest.write(&output);
    let axes = nest.outer_axes(&output.shape);
    let zero = nest.index(0);
    let value = nest.load(source, &[zero]);
    nest.store(target, &axes, value);
    ctx.launch(nest);
    Ok(())
}

/// The attribute, as a tensor of shape [1]; 0 in `f32` where it is left out.
fn value(node: &Node) -> Result<Tensor> {
    match node.tensor("value")? {
        None => Ok(Tensor::from_values(&[1], &[0f32])),
        Some(tensor) if tensor.len() == 1 => Ok(tensor.reshaped(&[1])),
        Some(tensor) => Err(OperatorError::new(format!(
            "attribute `value` must hold one element and has the shape {:?}",
            tensor.dims
        ))),
    }
}
