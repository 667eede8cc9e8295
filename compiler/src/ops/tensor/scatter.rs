//! ScatterElements, Scatter and ScatterND: a tensor with elements replaced or combined at computed positions. Positions
//! may count from the end, and are checked.

use super::gather::{check_inside, tuple_length};
use super::{check_equal, data};
use crate::graph::Node;
use crate::loops::StoreOp;
use crate::ops::{Infer, Lower, OperatorError, Result, normalize_axis};

/// All: the output is like the data.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, shape) = (ctx.element(0)?, ctx.shape(0)?);
    ctx.set(0, element, shape);
    Ok(())
}

fn reduction(node: &Node) -> Result<StoreOp> {
    Ok(match node.text_or("reduction", "none")? {
        "none" => StoreOp::Set,
        "add" => StoreOp::Add,
        "mul" => StoreOp::Mul,
        "min" => StoreOp::Min,
        "max" => StoreOp::Max,
        other => {
            return Err(OperatorError::new(format!("`reduction` is `{other}`, expected none, add, mul, min or max")));
        }
    })
}

/// ScatterElements: the data is copied, then each update is stored at its position, but for the axis.
pub fn lower_elements(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (input, indices, updates) = (data(ctx, 0)?, ctx.input(1)?, data(ctx, 2)?);
    let axis = normalize_axis(ctx.node.int_or("axis", 0)?, input.shape.len())?;
    if indices.shape.len() != input.shape.len() || updates.shape.len() != input.shape.len() {
        return Err(OperatorError::new("data, indices and updates must have the same rank"));
    }
    check_inside(ctx, &indices.shape, &input.shape, axis)?;
    for (a, b) in indices.shape.iter().zip(&updates.shape) {
        check_equal(ctx, a, b, "the shapes of indices and updates are not equal")?;
    }
    let op = reduction(ctx.node)?;
    let output = ctx.output(0)?;
    ctx.copy(&input, &output);
    let mut nest = ctx.nest();
    let (positions, source) = (nest.read(&indices), nest.read(&updates));
    let target = nest.read_write(&output);
    let axes = nest.outer_axes(&indices.shape);
    let position = nest.load(positions, &axes);
    let mut index = axes.clone();
    index[axis] = nest.wrapped(position, &output.shape[axis]);
    let value = nest.load(source, &axes);
    nest.update(target, &index, value, None, op);
    ctx.launch(nest);
    Ok(())
}

/// ScatterND: the data is copied, then the elements of each update are stored where its index tuple points.
pub fn lower_nd(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (input, indices, updates) = (data(ctx, 0)?, ctx.input(1)?, data(ctx, 2)?);
    let length = tuple_length(&indices.shape, input.shape.len())?;
    let outer = indices.shape.len() - 1;
    let shape = [&indices.shape[..outer], &input.shape[length..]].concat();
    if updates.shape.len() != shape.len() {
        return Err(OperatorError::new(format!("the updates must have the rank {}", shape.len())));
    }
    for (a, b) in shape.iter().zip(&updates.shape) {
        check_equal(ctx, a, b, "the shape of the updates does not fit data and indices")?;
    }
    let op = reduction(ctx.node)?;
    let output = ctx.output(0)?;
    ctx.copy(&input, &output);
    let mut nest = ctx.nest();
    let (positions, source) = (nest.read(&indices), nest.read(&updates));
    let target = nest.read_write(&output);
    let axes = nest.outer_axes(&updates.shape);
    let mut index = Vec::new();
    for coordinate in 0..length {
        let last = nest.index(coordinate as i64);
        let position = nest.load(positions, &[&axes[..outer], &[last]].concat());
        index.push(nest.wrapped(position, &output.shape[coordinate]));
    }
    index.extend(&axes[outer..]);
    let value = nest.load(source, &axes);
    nest.update(target, &index, value, None, op);
    ctx.launch(nest);
    Ok(())
}
