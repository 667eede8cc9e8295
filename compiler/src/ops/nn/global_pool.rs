//! GlobalMaxPool, GlobalAveragePool and GlobalLpPool: one reduction over all of a channel.

use super::norm_power;
use super::window::spatial;
use crate::graph::Dim;
use crate::loops::{ExprId, ReduceOp, View};
use crate::ops::{Infer, Lower, Nest, Result};

/// The spatial dimensions become 1.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, mut shape) = (ctx.element(0)?, ctx.shape(0)?);
    spatial(&shape)?;
    shape[2..].fill(Dim::ONE);
    ctx.set(0, element, shape);
    Ok(())
}

fn lower(
    ctx: &mut Lower<'_, '_>,
    reduce: impl FnOnce(&mut Nest, &View, &dyn Fn(&[ExprId]) -> Vec<ExprId>) -> ExprId,
) -> Result<()> {
    let input = ctx.input(0)?;
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let axes = nest.outer_axes(&output.shape);
    let value = reduce(&mut nest, &input, &|place| [&axes[..2], place].concat());
    let y = nest.write(&output);
    nest.store(y, &axes, value);
    ctx.launch(nest);
    Ok(())
}

/// GlobalMaxPool: the greatest value; NaN if any is.
pub fn lower_max(ctx: &mut Lower<'_, '_>) -> Result<()> {
    lower(ctx, |nest, input, index| {
        let x = nest.read(input);
        nest.reduce(ReduceOp::Max, &input.shape[2..], |nest, place| nest.load(x, &index(place)))
    })
}

/// GlobalAveragePool: the mean.
pub fn lower_average(ctx: &mut Lower<'_, '_>) -> Result<()> {
    lower(ctx, |nest, input, index| {
        let x = nest.read(input);
        let sum = nest.reduce(ReduceOp::Sum, &input.shape[2..], |nest, place| nest.load(x, &index(place)));
        let count = nest.dim(&Dim::product(&input.shape[2..]));
        let element = nest.type_of(sum);
        let count = nest.cast(element, count);
        nest.div(sum, count)
    })
}

/// GlobalLpPool: the p-norm.
pub fn lower_norm(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let power = norm_power(ctx.node)?;
    lower(ctx, |nest, input, index| {
        let x = nest.read(input);
        let sum = nest.reduce(ReduceOp::Sum, &input.shape[2..], |nest, place| {
            let value = nest.load(x, &index(place));
            power.raise(nest, value)
        });
        power.root(nest, sum)
    })
}
