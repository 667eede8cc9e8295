//! BatchNormalization: by given statistics, or in training mode by those of the batch.

use super::check_shape;
use super::moments::{inverse_deviation, moments, normalize};
use crate::graph::{Dim, ElementType, Node};
use crate::loops::{ExprId, KernelBuilder, View};
use crate::ops::{Infer, Lower, Nest, OperatorError, Result};

fn is_training(node: &Node) -> Result<bool> {
    if node.version >= 14 {
        return node.flag_or("training_mode", false);
    }
    let extra = (1..node.outputs.len()).any(|index| node.output(index).is_some());
    if extra && (node.version >= 7 || !node.flag_or("is_test", false)?) {
        return Err(OperatorError::new(
            "BatchNormalization in training mode needs operator set 14 or later; export the model for inference",
        ));
    }
    Ok(false)
}

/// Like the input; the statistics are like those that come in.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    is_training(ctx.node)?;
    let (element, shape) = (ctx.element(0)?, ctx.shape(0)?);
    ctx.set(0, element, shape);
    for index in 1..ctx.node.outputs.len() {
        let input = if index % 2 == 1 { 3 } else { 4 };
        let (element, shape) = (ctx.element(input)?, ctx.shape(input)?);
        ctx.set(index, element, shape);
    }
    Ok(())
}

/// What is known of a channel: scale, bias, mean and variance.
fn statistics(ctx: &mut Lower<'_, '_>) -> Result<Vec<View>> {
    (1..5).map(|index| ctx.input(index)).collect()
}

/// One element for each point after the channels' factors, or in training mode one channel.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    if is_training(ctx.node)? {
        return lower_training(ctx);
    }
    let (input, statistics) = (ctx.input(0)?, statistics(ctx)?);
    let channels = channel_shape(&input.shape, statistics[2].shape.len());
    for view in &statistics {
        check_shape(ctx, "a statistic", view, &channels)?;
    }
    let output = ctx.output(0)?;
    let compute = input.element.compute_type();
    let factor = factor(ctx, &statistics[0], &statistics[3], compute)?;
    let mut nest = ctx.nest();
    let x = nest.read(&input);
    let axes = nest.outer_axes(&output.shape);
    let mut load = |view: &View| {
        let parameter = nest.read(view);
        let index = channel_index(&mut nest, &axes, view.shape.len());
        let value = nest.load(parameter, &index);
        nest.cast(compute, value)
    };
    let (factor, bias, mean) = (load(&factor), load(&statistics[1]), load(&statistics[2]));
    let value = nest.load(x, &axes);
    let value = normalize(&mut nest, value, mean, factor);
    let value = nest.add(value, bias);
    let y = nest.write(&output);
    nest.store(y, &axes, value);
    ctx.launch(nest);
    // In operator set 6 and before: the statistics themselves, as inference does not change them.
    for index in 1..ctx.node.outputs.len() {
        let view = statistics[if index % 2 == 1 { 2 } else { 3 }].clone();
        ctx.alias_output(index, view)?;
    }
    Ok(())
}

/// `scale / sqrt(variance + epsilon)`, in a kernel of its own: roots and quotients once a channel, and where the statistics
/// are constants, at compile time.
fn factor(ctx: &mut Lower<'_, '_>, scale: &View, variance: &View, compute: ElementType) -> Result<View> {
    let factor = ctx.temporary(compute, &variance.shape);
    let mut nest = ctx.nest();
    let axes = nest.outer_axes(&factor.shape);
    let mut load = |view: &View| {
        let parameter = nest.read(view);
        let value = nest.load(parameter, &axes);
        nest.cast(compute, value)
    };
    let (scale, variance) = (load(scale), load(variance));
    let inverse = inverse_deviation(&mut nest, ctx.node, variance)?;
    let value = nest.mul(inverse, scale);
    let target = nest.write(&factor);
    nest.store(target, &axes, value);
    ctx.launch(nest);
    Ok(factor)
}

/// Where the statistics of an element are: at its channel, or with more dimensions (`spatial` = 0 in old operator sets)
/// at its place in the batch. Inputs without a channel dimension have one channel.
fn channel_index(nest: &mut KernelBuilder, axes: &[ExprId], rank: usize) -> Vec<ExprId> {
    let mut index = axes.get(1..1 + rank).unwrap_or_default().to_vec();
    index.resize(rank, nest.index(0));
    index
}

/// The dimensions of the statistics, as [`channel_index`] takes them.
fn channel_shape(input: &[Dim], rank: usize) -> Vec<Dim> {
    let mut shape = input.get(1..1 + rank).unwrap_or_default().to_vec();
    shape.resize(rank, Dim::ONE);
    shape
}

fn lower_training(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (input, statistics) = (ctx.input(0)?, statistics(ctx)?);
    if input.shape.len() < 2 {
        return Err(OperatorError::new("the input has no channel dimension"));
    }
    for view in &statistics {
        check_shape(ctx, "a statistic", view, &input.shape[1..2])?;
    }
    let compute = input.element.compute_type();
    let mut nest = ctx.nest();
    let x = nest.read(&input);
    let channel = nest.outer_axis(input.shape[1].clone());
    let extents: Vec<Dim> = [&input.shape[..1], &input.shape[2..]].concat();
    let index = |place: &[ExprId]| [&place[..1], &[channel], &place[1..]].concat();
    let (mean, variance) = moments(&mut nest, &extents, |nest, place| nest.load(x, &index(place)));
    let inverse = inverse_deviation(&mut nest, ctx.node, variance)?;
    let mut given = Vec::new();
    for view in &statistics {
        let parameter = nest.read(view);
        let value = nest.load(parameter, &[channel]);
        given.push(nest.cast(compute, value));
    }
    if ctx.wants_output(0) {
        let output = ctx.output(0)?;
        let y = nest.write(&output);
        nest.store_over(y, &extents, |nest, place| {
            let value = nest.load(x, &index(place));
            let value = normalize(nest, value, mean, inverse);
            let value = nest.mul(value, given[0]);
            (index(place), nest.add(value, given[1]))
        });
    }
    let momentum = f64::from(ctx.node.float_or("momentum", 0.9)?);
    for (output, (old, new)) in [(1, (given[2], mean)), (2, (given[3], variance))] {
        if ctx.wants_output(output) {
            let view = ctx.output(output)?;
            let (keep, take) = (nest.float(compute, momentum), nest.float(compute, 1.0 - momentum));
            let (old, new) = (nest.mul(old, keep), nest.mul(new, take));
            let value = nest.add(old, new);
            store_channel(&mut nest, &view, channel, value);
        }
    }
    ctx.launch(nest);
    Ok(())
}

fn store_channel(nest: &mut Nest, view: &View, channel: ExprId, value: ExprId) {
    let value = nest.cast(view.element.compute_type(), value);
    let target = nest.write(view);
    nest.store(target, &[channel], value);
}
