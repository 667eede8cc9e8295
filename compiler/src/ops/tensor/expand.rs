//! Expand and Tile: elements repeated.

use super::{alias, check_nonnegative, data};
use crate::graph::Dim;
use crate::loops::BinaryOp;
use crate::ops::arguments::Arguments;
use crate::ops::{Infer, Lower, OperatorError, Result, broadcast_shapes, check_broadcast};

/// Expand: the input and the requested shape broadcast to each other.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let input = ctx.shape(0)?;
    let shape = ctx.elements(1)?;
    let dims = broadcast_shapes(&[&input, &shape])?;
    if dims == input {
        return super::alias_as(ctx, dims);
    }
    let element = ctx.element(0)?;
    ctx.set(0, element, dims);
    Ok(())
}

/// Expand: a copy, or nothing where the shape stays.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let shape = ctx.elements(1)?;
    let (_, dims) = ctx.output_type(0)?;
    check_nonnegative(ctx, &shape)?;
    check_broadcast(ctx, &shape, &dims)?;
    let input = ctx.input(0)?;
    check_broadcast(ctx, &input.shape, &dims)?;
    if input.shape == dims {
        return alias(ctx);
    }
    let input = data(ctx, 0)?;
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let axes = nest.outer_axes(&output.shape);
    let value = nest.load_broadcast(&input, &axes, &output.shape);
    let target = nest.write(&output);
    nest.store(target, &axes, value);
    ctx.launch(nest);
    Ok(())
}

/// How often each dimension is repeated. Operator set 1 gives one number and an axis.
fn repeats(ctx: &mut impl Arguments, rank: usize) -> Result<Vec<Dim>> {
    let repeats = ctx.elements(1)?;
    if ctx.argument_node().version < 6 {
        let axes = crate::ops::arguments::normalize_axes(&ctx.elements(2)?, rank)?;
        return Ok(crate::ops::arguments::spread(&axes, &repeats, &vec![Dim::ONE; rank]));
    }
    if repeats.len() != rank {
        return Err(OperatorError::new(format!("there are {} repeats for {rank} dimensions", repeats.len())));
    }
    Ok(repeats)
}

/// Tile: each dimension is multiplied.
pub fn infer_tile(ctx: &mut Infer<'_>) -> Result<()> {
    let shape = ctx.shape(0)?;
    let repeats = repeats(ctx, shape.len())?;
    let element = ctx.element(0)?;
    ctx.set(0, element, shape.iter().zip(&repeats).map(|(dim, repeat)| dim * repeat).collect());
    Ok(())
}

/// Tile: positions modulo the input's dimensions.
pub fn lower_tile(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let input = data(ctx, 0)?;
    let repeats = repeats(ctx, input.shape.len())?;
    check_nonnegative(ctx, &repeats)?;
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let source = nest.read(&input);
    let target = nest.write(&output);
    let axes = nest.outer_axes(&output.shape);
    let mut index = axes.clone();
    for ((position, dim), repeat) in index.iter_mut().zip(&input.shape).zip(&repeats) {
        if repeat.as_const() != Some(1) {
            let extent = nest.dim(dim);
            *position = nest.binary(BinaryOp::Mod, *position, extent);
        }
    }
    let value = nest.load(source, &index);
    nest.store(target, &axes, value);
    ctx.launch(nest);
    Ok(())
}
