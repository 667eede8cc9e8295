//! MaxUnpool: values at the places that MaxPool took them from, zeros elsewhere.

use super::check_equal;
use super::pool::unravel;
use super::window::{decide, explicit_pads, kernel_shape, outputs, spatial, steps};
use crate::graph::{Dim, Node};
use crate::loops::{Scalar, StoreOp};
use crate::ops::arguments::Arguments;
use crate::ops::{Infer, Lower, OperatorError, Result};

/// The shape that was pooled, as far as the attributes tell: what the indices count in.
fn pooled_shape(node: &Node, input: &[Dim]) -> Result<Vec<Dim>> {
    let dims = spatial(input)?;
    let rank = dims.len();
    let (kernel, strides) = (kernel_shape(node, rank)?, steps(node, "strides", rank)?);
    let (before, after) = explicit_pads(node, rank)?;
    let mut shape = input[..2].to_vec();
    for axis in 0..rank {
        shape.push((&dims[axis] - 1) * strides[axis] + &kernel[axis] - &before[axis] - &after[axis]);
    }
    Ok(shape)
}

fn wanted_shape(ctx: &mut impl Arguments, input: &[Dim]) -> Result<Option<Vec<Dim>>> {
    if ctx.argument_node().input(2).is_none() {
        return Ok(None);
    }
    let wanted = ctx.elements(2)?;
    if wanted.len() != input.len() {
        return Err(OperatorError::new(format!(
            "`output_shape` has {} numbers, expected {}",
            wanted.len(),
            input.len()
        )));
    }
    Ok(Some(wanted))
}

/// The shape given, or the one that the attributes tell.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, input) = (ctx.element(0)?, ctx.shape(0)?);
    let shape = match wanted_shape(ctx, &input)? {
        Some(shape) => shape,
        None => {
            let shape = pooled_shape(ctx.node, &input)?;
            outputs(ctx, shape)?
        }
    };
    ctx.set(0, element, shape);
    Ok(())
}

/// Zeros, then one store for each input element, in order. Indices count in the shape that the attributes tell, even
/// where a larger output is asked for.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (input, indices) = (ctx.input(0)?, ctx.input(1)?);
    if indices.shape.len() != input.shape.len() {
        return Err(OperatorError::new("input and indices must have the same shape"));
    }
    for (a, b) in input.shape.iter().zip(&indices.shape) {
        check_equal(ctx, a, b, "input and indices must have the same shape")?;
    }
    let pooled = pooled_shape(ctx.node, &input.shape)?;
    let (_, shape) = ctx.output_type(0)?;
    let dims = if ctx.has_input(2) { shape.clone() } else { pooled.clone() };
    decide(ctx, &shape, &dims)?;
    let output = ctx.output(0)?;
    let mut zeros = ctx.nest();
    let y = zeros.write(&output);
    let axes = zeros.outer_axes(&output.shape);
    let zero = zeros.scalar(Scalar::from_i64(output.element, 0));
    zeros.store(y, &axes, zero);
    ctx.launch(zeros);
    let mut nest = ctx.nest();
    let (x, places) = (nest.read(&input), nest.read(&indices));
    let y = nest.read_write(&output);
    let axes = nest.outer_axes(&input.shape);
    let place = nest.load(places, &axes);
    let index = unravel(&mut nest, place, &pooled);
    let index: Vec<_> = index.into_iter().zip(&output.shape).map(|(at, dim)| nest.checked(at, dim)).collect();
    let value = nest.load(x, &axes);
    nest.update(y, &index, value, None, StoreOp::Set);
    ctx.launch(nest);
    Ok(())
}
