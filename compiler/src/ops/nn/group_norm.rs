//! GroupNormalization and InstanceNormalization: over groups of channels of each batch element.

use super::check_shape;
use super::moments::{inverse_deviation, moments, normalize};
use super::window::spatial;
use crate::graph::{CompareOperator, Dim};
use crate::loops::{ExprId, KernelBuilder};
use crate::ops::{Infer, Lower, OperatorError, Result};

/// Like the input.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, shape) = (ctx.element(0)?, ctx.shape(0)?);
    spatial(&shape)?;
    ctx.set(0, element, shape);
    Ok(())
}

/// InstanceNormalization: each channel is a group.
pub fn lower_instance(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let groups = ctx.input(0)?.shape[1].clone();
    lower_groups(ctx, groups, false)
}

/// GroupNormalization: scale and bias are per group before operator set 21, per channel from then on.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let groups = ctx.node.required_int("num_groups")?;
    if groups < 1 {
        return Err(OperatorError::new(format!("`num_groups` is {groups}, expected a positive number")));
    }
    let groups = Dim::constant(groups);
    let rest = ctx.input(0)?.shape[1].modulo(&groups);
    ctx.check(rest.compare(CompareOperator::Equal, &Dim::ZERO), "the channels are not a multiple of `num_groups`")?;
    let is_per_group = ctx.node.version < 21;
    lower_groups(ctx, groups, is_per_group)
}

fn lower_groups(ctx: &mut Lower<'_, '_>, groups: Dim, is_per_group: bool) -> Result<()> {
    let (input, scale, bias) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
    let own = if is_per_group { groups.clone() } else { input.shape[1].clone() };
    for (what, view) in [("the scale", &scale), ("the bias", &bias)] {
        check_shape(ctx, what, view, std::slice::from_ref(&own))?;
    }
    let output = ctx.output(0)?;
    let compute = input.element.compute_type();
    let channels = if groups == input.shape[1] { Dim::ONE } else { input.shape[1].floor_div(&groups) };
    let mut nest = ctx.nest();
    let (x, s, b, y) = (nest.read(&input), nest.read(&scale), nest.read(&bias), nest.write(&output));
    let outer = nest.outer_axes(&[input.shape[0].clone(), groups]);
    let extents = [std::slice::from_ref(&channels), &input.shape[2..]].concat();
    let index = |nest: &mut KernelBuilder, place: &[ExprId]| {
        let size = nest.dim(&channels);
        let first = nest.mul(outer[1], size);
        let channel = nest.add(first, place[0]);
        [&[outer[0], channel], &place[1..]].concat()
    };
    let (mean, variance) = moments(&mut nest, &extents, |nest, place| {
        let index = index(nest, place);
        nest.load(x, &index)
    });
    let inverse = inverse_deviation(&mut nest, ctx.node, variance)?;
    nest.store_over(y, &extents, |nest, place| {
        let index = index(nest, place);
        let value = nest.load(x, &index);
        let value = normalize(nest, value, mean, inverse);
        let own = if is_per_group { outer[1] } else { index[1] };
        let (scale, bias) = (nest.load(s, &[own]), nest.load(b, &[own]));
        let (scale, bias) = (nest.cast(compute, scale), nest.cast(compute, bias));
        let value = nest.mul(value, scale);
        (index, nest.add(value, bias))
    });
    ctx.launch(nest);
    Ok(())
}
