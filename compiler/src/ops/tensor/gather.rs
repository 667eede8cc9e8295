//! Gather, GatherElements and GatherND: elements at computed positions. Positions may count from the end, and are
//! checked.

use super::{check_equal, data};
use crate::graph::{CompareOperator, Dim};
use crate::ops::{Infer, Lower, OperatorError, Result, normalize_axis};

/// Gather: the axis is replaced by the dimensions of the indices.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, shape, indices) = (ctx.element(0)?, ctx.shape(0)?, ctx.shape(1)?);
    let axis = normalize_axis(ctx.node.int_or("axis", 0)?, shape.len())?;
    let dims = [&shape[..axis], &indices, &shape[axis + 1..]].concat();
    ctx.set(0, element, dims);
    Ok(())
}

/// Gather: one load at a loaded position.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (input, indices) = (data(ctx, 0)?, ctx.input(1)?);
    let output = ctx.output(0)?;
    let axis = normalize_axis(ctx.node.int_or("axis", 0)?, input.shape.len())?;
    let mut nest = ctx.nest();
    let (source, positions) = (nest.read(&input), nest.read(&indices));
    let target = nest.write(&output);
    let axes = nest.outer_axes(&output.shape);
    let rank = indices.shape.len();
    let position = nest.load(positions, &axes[axis..axis + rank]);
    let position = nest.wrapped(position, &input.shape[axis]);
    let index = [&axes[..axis], &[position], &axes[axis + rank..]].concat();
    let value = nest.load(source, &index);
    nest.store(target, &axes, value);
    ctx.launch(nest);
    Ok(())
}

/// GatherElements: the output has the shape of the indices.
pub fn infer_elements(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, shape, indices) = (ctx.element(0)?, ctx.shape(0)?, ctx.shape(1)?);
    if shape.len() != indices.len() {
        return Err(OperatorError::new(format!(
            "the indices have the rank {}, the data has the rank {}",
            indices.len(),
            shape.len()
        )));
    }
    normalize_axis(ctx.node.int_or("axis", 0)?, shape.len())?;
    ctx.set(0, element, indices);
    Ok(())
}

/// GatherElements: one load at the output's position, but for the axis.
pub fn lower_elements(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (input, indices) = (data(ctx, 0)?, ctx.input(1)?);
    let axis = normalize_axis(ctx.node.int_or("axis", 0)?, input.shape.len())?;
    check_inside(ctx, &indices.shape, &input.shape, axis)?;
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let (source, positions) = (nest.read(&input), nest.read(&indices));
    let target = nest.write(&output);
    let axes = nest.outer_axes(&output.shape);
    let mut index = axes.clone();
    let position = nest.load(positions, &axes);
    index[axis] = nest.wrapped(position, &input.shape[axis]);
    let value = nest.load(source, &index);
    nest.store(target, &axes, value);
    ctx.launch(nest);
    Ok(())
}

/// Checks that indices besides the axis lie inside of the data.
pub(super) fn check_inside(ctx: &mut Lower<'_, '_>, indices: &[Dim], data: &[Dim], axis: usize) -> Result<()> {
    for (position, (inner, outer)) in indices.iter().zip(data).enumerate() {
        if position != axis {
            let fits = inner.compare(CompareOperator::LessEqual, outer);
            ctx.check(fits, format!("dimension {position} of the indices is greater than that of the data"))?;
        }
    }
    Ok(())
}

/// How many leading dimensions of the data one index tuple selects from: the last dimension of the indices.
pub(super) fn tuple_length(indices: &[Dim], available: usize) -> Result<usize> {
    let last = indices.last().ok_or_else(|| OperatorError::new("the indices must have at least one dimension"))?;
    let length = last.as_const().ok_or_else(|| {
        OperatorError::unsupported("the last dimension of the indices decides a rank and must be known at compile time")
    })?;
    match usize::try_from(length) {
        Ok(length) if length <= available => Ok(length),
        _ => Err(OperatorError::new(format!("index tuples of {length} do not fit {available} dimensions"))),
    }
}

fn batch_dims(count: i64, data: usize, indices: usize) -> Result<usize> {
    match usize::try_from(count) {
        Ok(count) if count < data.min(indices) => Ok(count),
        _ => Err(OperatorError::new(format!("`batch_dims` is {count}, for data of rank {data}"))),
    }
}

/// GatherND: the dimensions of the indices but the last, then those of the data that the tuples leave.
pub fn infer_nd(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, shape, indices) = (ctx.element(0)?, ctx.shape(0)?, ctx.shape(1)?);
    let batch = batch_dims(ctx.node.int_or("batch_dims", 0)?, shape.len(), indices.len())?;
    let length = tuple_length(&indices, shape.len() - batch)?;
    let dims = [&indices[..indices.len() - 1], &shape[batch + length..]].concat();
    ctx.set(0, element, dims);
    Ok(())
}

/// GatherND: one load at a position of which some coordinates are loaded.
pub fn lower_nd(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (input, indices) = (data(ctx, 0)?, ctx.input(1)?);
    let batch = batch_dims(ctx.node.int_or("batch_dims", 0)?, input.shape.len(), indices.shape.len())?;
    let length = tuple_length(&indices.shape, input.shape.len() - batch)?;
    for (a, b) in input.shape.iter().zip(&indices.shape).take(batch) {
        check_equal(ctx, a, b, "the batch dimensions of data and indices are not equal")?;
    }
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let (source, positions) = (nest.read(&input), nest.read(&indices));
    let target = nest.write(&output);
    let axes = nest.outer_axes(&output.shape);
    let tuple = &axes[..indices.shape.len() - 1];
    let mut index = axes[..batch].to_vec();
    for coordinate in 0..length {
        let last = nest.index(coordinate as i64);
        let position = nest.load(positions, &[tuple, &[last]].concat());
        index.push(nest.wrapped(position, &input.shape[batch + coordinate]));
    }
    index.extend(&axes[tuple.len()..]);
    let value = nest.load(source, &index);
    nest.store(target, &axes, value);
    ctx.launch(nest);
    Ok(())
}
