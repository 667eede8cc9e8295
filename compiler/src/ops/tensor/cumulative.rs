//! CumSum and CumProd: running sums and products along an axis.

use super::{data, write_part};
use crate::graph::{CompareOperator, Dim};
use crate::loops::{BinaryOp, View};
use crate::ops::arguments::{Arguments, normalize_axes};
use crate::ops::{Infer, Lower, OperatorError, Result};

/// The output is like the input.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, shape) = (ctx.element(0)?, ctx.shape(0)?);
    axis(ctx, shape.len())?;
    ctx.set(0, element, shape);
    Ok(())
}

fn axis(ctx: &mut impl Arguments, rank: usize) -> Result<Dim> {
    let axes = normalize_axes(&ctx.elements(1)?, rank)?;
    axes.into_iter().next().ok_or_else(|| OperatorError::new("the axis must have one element"))
}

/// CumSum.
pub fn lower_sum(ctx: &mut Lower<'_, '_>) -> Result<()> {
    lower(ctx, BinaryOp::Add, 0)
}

/// CumProd.
pub fn lower_product(ctx: &mut Lower<'_, '_>) -> Result<()> {
    lower(ctx, BinaryOp::Mul, 1)
}

/// A kernel for the first elements, and one that runs in order for the others. The tensor is seen as one of rank 3, with
/// the axis in the middle, so that the axis may be known to the run only.
fn lower(ctx: &mut Lower<'_, '_>, op: BinaryOp, neutral: i64) -> Result<()> {
    let input = data(ctx, 0)?;
    let axis = axis(ctx, input.shape.len())?;
    ctx.check_axes(std::slice::from_ref(&axis), input.shape.len())?;
    let exclusive = ctx.node.flag_or("exclusive", false)?;
    let reverse = ctx.node.flag_or("reverse", false)?;
    let mut shape = [Dim::ONE, Dim::ONE, Dim::ONE];
    for (position, dim) in input.shape.iter().enumerate() {
        let position = Dim::constant(position as i64);
        for (factor, operator) in
            [CompareOperator::Less, CompareOperator::Equal, CompareOperator::Greater].into_iter().enumerate()
        {
            let is_part = position.compare(operator, &axis);
            let product = &shape[factor] * Dim::select(&is_part, dim, &Dim::ONE);
            shape[factor] = if is_part.is_const() { product } else { ctx.named(product) };
        }
    }
    let output = ctx.output(0)?;
    let [before, length, after] = shape;
    let shape = vec![before.clone(), length.clone(), after.clone()];
    let (input, output) = (View { shape: shape.clone(), ..input }, View { shape, ..output });
    let last = &length - 1;
    // The first element in the order of the sum.
    let mut nest = ctx.nest();
    let source = nest.read(&input);
    let target = write_part(&mut nest, &output);
    let axes = nest.outer_axes(&[before.clone(), length.min(&Dim::ONE), after.clone()]);
    let position = if reverse { nest.dim(&last) } else { axes[1] };
    let here = [axes[0], position, axes[2]];
    let value = if exclusive { nest.integer(output.element, neutral) } else { nest.load(source, &here) };
    nest.store(target, &here, value);
    ctx.launch(nest);
    // The others, each from the one before it.
    let mut nest = ctx.nest();
    let source = nest.read(&input);
    let target = nest.read_write(&output);
    let axes = nest.outer_axes(&[before, last.max(&Dim::ZERO), after]);
    let one = nest.index(1);
    let (position, previous) = if reverse {
        let last = nest.dim(&last);
        let previous = nest.sub(last, axes[1]);
        (nest.sub(previous, one), previous)
    } else {
        (nest.add(axes[1], one), axes[1])
    };
    let (here, there) = ([axes[0], position, axes[2]], [axes[0], previous, axes[2]]);
    let total = nest.load(target, &there);
    let value = nest.load(source, if exclusive { &there } else { &here });
    let value = nest.binary(op, total, value);
    nest.store(target, &here, value);
    ctx.launch(nest);
    Ok(())
}
