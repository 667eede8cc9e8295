//! DeformConv: a convolution whose taps read between elements, at offsets that a tensor gives.

use super::conv::{Convolution, output_shape};
use super::pool::ravel;
use super::window::both;
use super::{check_equal, check_shape};
use crate::graph::{Dim, ElementType};
use crate::loops::{BinaryOp, ExprId, KernelBuilder, ParameterId, ReduceOp, Scalar, UnaryOp};
use crate::ops::{Infer, Lower, OperatorError, Result};

/// As Conv.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, input, weights) = (ctx.element(0)?, ctx.shape(0)?, ctx.shape(1)?);
    let shape = output_shape(ctx, &input, &weights)?;
    ctx.set(0, element, shape);
    Ok(())
}

/// The linear interpolation at places of `input` that are `f32`, with zeros around it.
fn interpolate(
    nest: &mut KernelBuilder,
    (input, element): (ParameterId, ElementType),
    channel: &[ExprId],
    places: &[ExprId],
    dims: &[Dim],
) -> ExprId {
    let compute = element.compute_type();
    let zero = Scalar::from_i64(element, 0);
    let mut sides = Vec::new();
    for (&place, dim) in places.iter().zip(dims) {
        let floor = nest.unary(UnaryOp::Floor, place);
        let part = nest.sub(place, floor);
        let one = nest.float(ElementType::F32, 1.0);
        let rest = nest.sub(one, part);
        let (low, step) = (nest.cast(ElementType::I64, floor), nest.index(1));
        let high = nest.add(low, step);
        let (low_inside, high_inside) = (nest.in_range(low, dim), nest.in_range(high, dim));
        sides.push([(low, rest, low_inside), (high, part, high_inside)]);
    }
    let mut sum: Option<ExprId> = None;
    for corner in 0..1usize << places.len() {
        let mut index = channel.to_vec();
        let (mut weight, mut guard): (Option<ExprId>, Option<ExprId>) = (None, None);
        for (axis, side) in sides.iter().enumerate() {
            let (position, factor, inside) = side[corner >> axis & 1];
            index.push(position);
            weight = Some(weight.map_or(factor, |weight| nest.mul(weight, factor)));
            guard = both(nest, guard, inside);
        }
        let mut term = super::window::load_guarded(nest, input, &index, guard, zero);
        if let Some(weight) = weight {
            let weight = nest.cast(compute, weight);
            term = nest.mul(term, weight);
        }
        sum = Some(sum.map_or(term, |sum| nest.add(sum, term)));
    }
    sum.unwrap_or_else(|| nest.scalar(zero))
}

/// One contraction over input channels and taps.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (input, weights, offset) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
    let (bias, mask) = (ctx.optional_input(3)?, ctx.optional_input(4)?);
    let (_, shape) = ctx.output_type(0)?;
    let convolution = Convolution::new(ctx, &input.shape, &weights.shape, &shape)?;
    let groups = ctx.node.int_or("offset_group", 1)?;
    let rank = input.shape.len() - 2;
    if groups < 1 {
        return Err(OperatorError::new(format!("`offset_group` is {groups}, expected a positive number")));
    }
    let taps = Dim::product(&weights.shape[2..]);
    let rows = &taps * (groups * rank as i64);
    let rest = [&shape[..1], &[rows], &shape[2..]].concat();
    check_shape(ctx, "the offset", &offset, &rest)?;
    if let Some(mask) = &mask {
        let rest = [&shape[..1], &[&taps * groups], &shape[2..]].concat();
        check_shape(ctx, "the mask", mask, &rest)?;
    }
    let whole = input.shape[1].modulo(&Dim::constant(groups));
    check_equal(ctx, &whole, &Dim::ZERO, "the channels are not a multiple of `offset_group`")?;
    let per_group = input.shape[1].floor_div(&Dim::constant(groups));
    if let Some(bias) = &bias {
        check_shape(ctx, "the bias", bias, &shape[1..2])?;
    }
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let (x, w, o) = (nest.read(&input), nest.read(&weights), nest.read(&offset));
    let m = mask.map(|mask| nest.read(&mask));
    let bias = bias.map(|bias| nest.read(&bias));
    let axes = nest.outer_axes(&output.shape);
    let compute = input.element.compute_type();
    let mut value = nest.reduce(ReduceOp::Sum, &convolution.reduced(), |nest, tap| {
        let channel = convolution.channel(nest, &axes, tap);
        let (size, taps) = (nest.dim(&per_group), nest.dim(&taps));
        let group = nest.binary(BinaryOp::FloorDiv, channel, size);
        let (start, place) = (nest.mul(group, taps), ravel(nest, &tap[1..], &weights.shape[2..]));
        let place = nest.add(start, place);
        let mut places = Vec::new();
        for axis in 0..rank {
            let (count, number) = (nest.index(rank as i64), nest.index(axis as i64));
            let row = nest.mul(place, count);
            let row = nest.add(row, number);
            let offset = nest.load(o, &[&[axes[0], row], &axes[2..]].concat());
            let offset = nest.cast(ElementType::F32, offset);
            let position = convolution.window().position(nest, axis, axes[2 + axis], tap[1 + axis]);
            let position = nest.cast(ElementType::F32, position);
            places.push(nest.add(position, offset));
        }
        let mut value = interpolate(nest, (x, input.element), &[axes[0], channel], &places, &input.shape[2..]);
        if let Some(mask) = m {
            let mask = nest.load(mask, &[&[axes[0], place], &axes[2..]].concat());
            let mask = nest.cast(compute, mask);
            value = nest.mul(value, mask);
        }
        let weight = convolution.load_weight(nest, w, &axes, tap);
        nest.mul(value, weight)
    });
    if let Some(bias) = bias {
        let bias = nest.load(bias, &axes[1..2]);
        value = nest.add(value, bias);
    }
    let y = nest.write(&output);
    nest.store(y, &axes, value);
    ctx.launch(nest);
    Ok(())
}
