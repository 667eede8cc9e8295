//! CumSum and CumProd: running sums and products along an axis.

use super::data;
use crate::graph::{CompareOperator, Dim};
use crate::loops::{BinaryOp, CompareOp, Scalar, View};
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

/// A kernel that runs in order and takes each element from the one before it. The tensor is seen as one of rank 3, with
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
    let mut nest = ctx.nest();
    let source = nest.read(&View { shape: shape.to_vec(), ..input.clone() });
    let target = nest.read_write(&View { shape: shape.to_vec(), ..output.clone() });
    let axes = nest.outer_axes(&shape);
    let (zero, one) = (nest.index(0), nest.index(1));
    let (position, before) = if reverse {
        let last = nest.dim(&(&shape[1] - 1));
        let position = nest.sub(last, axes[1]);
        (position, nest.add(position, one))
    } else {
        (axes[1], nest.sub(axes[1], one))
    };
    let (here, there) = ([axes[0], position, axes[2]], [axes[0], before, axes[2]]);
    let has_before = nest.compare(CompareOp::Gt, axes[1], zero);
    let neutral = Scalar::from_i64(output.element, neutral);
    let total = nest.load_where(target, &there, has_before, neutral);
    let value = if exclusive { nest.load_where(source, &there, has_before, neutral) } else { nest.load(source, &here) };
    let value = nest.binary(op, total, value);
    nest.store(target, &here, value);
    ctx.launch(nest);
    Ok(())
}
