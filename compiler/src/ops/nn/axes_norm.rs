//! LpNormalization and MeanVarianceNormalization: over chosen axes, without scale.

use super::moments::{moments, normalize};
use super::norm_power;
use crate::graph::Dim;
use crate::loops::{CompareOp, ExprId, ReduceOp, UnaryOp};
use crate::ops::{Infer, Lower, Result, normalize_axis};

/// Like the input.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, shape) = (ctx.element(0)?, ctx.shape(0)?);
    ctx.set(0, element, shape);
    Ok(())
}

/// The dimensions of a shape that `is_inner` names, or does not name.
fn part(shape: &[Dim], is_inner: &[bool], wanted: bool) -> Vec<Dim> {
    shape.iter().zip(is_inner).filter(|(_, inner)| **inner == wanted).map(|(dim, _)| dim.clone()).collect()
}

/// The index of an element from its positions on outer and inner axes.
fn merge(is_inner: &[bool], outer: &[ExprId], inner: &[ExprId]) -> Vec<ExprId> {
    let (mut outer, mut inner) = (outer.iter(), inner.iter());
    let positions = is_inner.iter().map(|&is_inner| if is_inner { inner.next() } else { outer.next() });
    positions.map(|position| *position.expect("each axis is outer or inner")).collect()
}

/// LpNormalization: by the p-norm along an axis; zeros where that is 0.
pub fn lower_norm(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let input = ctx.input(0)?;
    let rank = input.shape.len();
    let axis = normalize_axis(ctx.node.int_or("axis", -1)?, rank)?;
    let power = norm_power(ctx.node)?;
    let is_inner: Vec<bool> = (0..rank).map(|position| position == axis).collect();
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let (x, y) = (nest.read(&input), nest.write(&output));
    let outer = nest.outer_axes(&part(&input.shape, &is_inner, false));
    let extents = part(&input.shape, &is_inner, true);
    let sum = nest.reduce(ReduceOp::Sum, &extents, |nest, place| {
        let value = nest.load(x, &merge(&is_inner, &outer, place));
        power.raise(nest, value)
    });
    let norm = power.root(&mut nest, sum);
    let element = nest.type_of(norm);
    let (zero, one) = (nest.integer(element, 0), nest.integer(element, 1));
    // Zeros by any number but zero are zeros.
    let is_zero = nest.compare(CompareOp::Eq, norm, zero);
    let divisor = nest.select(is_zero, one, norm);
    nest.store_over(y, &extents, |nest, place| {
        let index = merge(&is_inner, &outer, place);
        let value = nest.load(x, &index);
        (index, nest.div(value, divisor))
    });
    ctx.launch(nest);
    Ok(())
}

/// MeanVarianceNormalization: by mean and standard deviation over the axes, which is kept from 0 by 1e-9.
pub fn lower_mean_variance(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let input = ctx.input(0)?;
    let mut is_inner = vec![false; input.shape.len()];
    for &axis in ctx.node.ints("axes")?.unwrap_or(&[0, 2, 3]) {
        is_inner[normalize_axis(axis, input.shape.len())?] = true;
    }
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let (x, y) = (nest.read(&input), nest.write(&output));
    let outer = nest.outer_axes(&part(&input.shape, &is_inner, false));
    let extents = part(&input.shape, &is_inner, true);
    let (mean, variance) = moments(&mut nest, &extents, |nest, place| nest.load(x, &merge(&is_inner, &outer, place)));
    let element = nest.type_of(mean);
    let deviation = nest.unary(UnaryOp::Sqrt, variance);
    let (one, epsilon) = (nest.integer(element, 1), nest.float(element, 1e-9));
    let deviation = nest.add(deviation, epsilon);
    let inverse = nest.div(one, deviation);
    nest.store_over(y, &extents, |nest, place| {
        let index = merge(&is_inner, &outer, place);
        let value = nest.load(x, &index);
        (index, normalize(nest, value, mean, inverse))
    });
    ctx.launch(nest);
    Ok(())
}
