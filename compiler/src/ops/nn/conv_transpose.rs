//! ConvTranspose, gathered: each output sums the taps through which inputs reach it.

use super::conv::{group, taps};
use super::window::{AutoPad, both, decide, explicit_pads, load_guarded, outputs, reach, spatial, steps};
use super::{check_equal, check_shape};
use crate::graph::{Dim, Node};
use crate::loops::{BinaryOp, CompareOp, ExprId, KernelBuilder, ReduceOp, Scalar};
use crate::ops::{Infer, Lower, OperatorError, Result};

/// Where the taps of a transposed window put an input's positions. One element a spatial dimension.
#[derive(Debug)]
pub struct Spread {
    /// From one input to the next, in the output.
    pub strides: Vec<i64>,
    /// From one tap to the next.
    pub dilations: Vec<i64>,
    /// What is cut off before the output.
    pub before: Vec<Dim>,
}

impl Spread {
    /// The input position that a tap takes to `output` along `axis`, and the condition that there is one: not before
    /// the input, and not between two of its positions. That it is not past the end remains to be checked.
    fn source(&self, nest: &mut KernelBuilder, axis: usize, output: ExprId, tap: ExprId) -> (ExprId, Option<ExprId>) {
        let (before, dilation) = (nest.dim(&self.before[axis]), nest.index(self.dilations[axis]));
        let (place, offset) = (nest.add(output, before), nest.mul(tap, dilation));
        let place = nest.sub(place, offset);
        if self.strides[axis] == 1 {
            return (place, None);
        }
        let (stride, zero) = (nest.index(self.strides[axis]), nest.index(0));
        let rest = nest.binary(BinaryOp::Mod, place, stride);
        let is_hit = nest.compare(CompareOp::Eq, rest, zero);
        (nest.binary(BinaryOp::FloorDiv, place, stride), Some(is_hit))
    }

    /// The sources along all axes, and the condition that all are inside of the input.
    pub fn sources(
        &self,
        nest: &mut KernelBuilder,
        outputs: &[ExprId],
        taps: &[ExprId],
        input: &[Dim],
    ) -> (Vec<ExprId>, Option<ExprId>) {
        let mut guard = None;
        let mut positions = Vec::new();
        for (axis, dim) in input.iter().enumerate() {
            let (position, is_hit) = self.source(nest, axis, outputs[axis], taps[axis]);
            if let Some(is_hit) = is_hit {
                guard = both(nest, guard, is_hit);
            }
            let inside = nest.in_range(position, dim);
            guard = both(nest, guard, inside);
            positions.push(position);
        }
        (positions, guard)
    }
}

/// The attributes over spatial dimensions `input`, and the dimensions of the output.
fn arrange(node: &Node, input: &[Dim], kernel: &[Dim]) -> Result<(Spread, Vec<Dim>)> {
    let rank = input.len();
    let (strides, dilations) = (steps(node, "strides", rank)?, steps(node, "dilations", rank)?);
    let extra = node.ints("output_padding")?.map_or_else(|| vec![0; rank], <[i64]>::to_vec);
    if extra.len() != rank {
        return Err(OperatorError::new(format!("`output_padding` has {} numbers, expected {rank}", extra.len())));
    }
    let auto_pad = AutoPad::of(node)?;
    let (mut before, after) = match auto_pad {
        AutoPad::NotSet => explicit_pads(node, rank)?,
        _ => (vec![Dim::ZERO; rank], vec![Dim::ZERO; rank]),
    };
    let wanted = node.ints("output_shape")?.filter(|dims| !dims.is_empty());
    // Batch and channels are not part of it by the specification, and are in some models.
    let wanted = match wanted {
        Some(dims) if dims.len() == rank => Some(dims),
        Some(dims) if dims.len() == rank + 2 => Some(&dims[2..]),
        Some(dims) => {
            return Err(OperatorError::new(format!("`output_shape` has {} numbers, expected {rank}", dims.len())));
        }
        None => None,
    };
    let mut output = Vec::new();
    for axis in 0..rank {
        let full = (&input[axis] - 1) * strides[axis] + extra[axis] + reach(&kernel[axis], dilations[axis]);
        let is_same = matches!(auto_pad, AutoPad::SameUpper | AutoPad::SameLower);
        let size = match wanted {
            Some(wanted) => Dim::constant(wanted[axis]),
            None if is_same => &input[axis] * strides[axis],
            None => {
                output.push(full - &before[axis] - &after[axis]);
                continue;
            }
        };
        let total = (full - &size).max(&Dim::ZERO);
        let half = total.floor_div(&Dim::constant(2));
        before[axis] = if auto_pad == AutoPad::SameUpper { half } else { total - half };
        output.push(size);
    }
    Ok((Spread { strides, dilations, before }, output))
}

/// Batch of the input, channels of the weights times groups, and what the windows cover.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, input, weights) = (ctx.element(0)?, ctx.shape(0)?, ctx.shape(1)?);
    let taps = taps(ctx.node, &input, &weights)?;
    let (_, dims) = arrange(ctx.node, spatial(&input)?, &taps)?;
    let mut shape = vec![input[0].clone(), &weights[1] * group(ctx.node)?];
    shape.extend(outputs(ctx, dims)?);
    ctx.set(0, element, shape);
    Ok(())
}

/// One contraction over the input channels of a group and the taps.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (input, weights, bias) = (ctx.input(0)?, ctx.input(1)?, ctx.optional_input(2)?);
    let kernel = taps(ctx.node, &input.shape, &weights.shape)?;
    let group = group(ctx.node)?;
    check_equal(ctx, &input.shape[1], &weights.shape[0], "the weights do not have the channels of the input")?;
    let (mut spread, dims) = arrange(ctx.node, &input.shape[2..], &kernel)?;
    let (_, shape) = ctx.output_type(0)?;
    decide(ctx, &shape[2..], &dims)?;
    for pad in &mut spread.before {
        *pad = ctx.named(pad.clone());
    }
    let channels = weights.shape[0].floor_div(&Dim::constant(group));
    check_equal(ctx, &(&channels * group), &weights.shape[0], "the input channels are not a multiple of `group`")?;
    if let Some(bias) = &bias {
        check_shape(ctx, "the bias", bias, &shape[1..2])?;
    }
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let (x, w) = (nest.read(&input), nest.read(&weights));
    let bias = bias.map(|bias| nest.read(&bias));
    let y = nest.write(&output);
    let axes = nest.outer_axes(&output.shape);
    let zero = Scalar::from_i64(input.element, 0);
    let extents = [std::slice::from_ref(&channels), &kernel].concat();
    let mut value = nest.reduce(ReduceOp::Sum, &extents, |nest, tap| {
        let (mut from, mut to) = (tap[0], axes[1]);
        if group != 1 {
            let (inputs, outputs) = (nest.dim(&channels), nest.dim(&weights.shape[1]));
            let group = nest.binary(BinaryOp::FloorDiv, axes[1], outputs);
            let (first, start) = (nest.mul(group, inputs), nest.mul(group, outputs));
            from = nest.add(first, tap[0]);
            to = nest.sub(axes[1], start);
        }
        let (positions, guard) = spread.sources(nest, &axes[2..], &tap[1..], &input.shape[2..]);
        let value = load_guarded(nest, x, &[&[axes[0], from], &positions[..]].concat(), guard, zero);
        let weight = nest.load(w, &[&[from, to], &tap[1..]].concat());
        nest.mul(value, weight)
    });
    if let Some(bias) = bias {
        let bias = nest.load(bias, &axes[1..2]);
        value = nest.add(value, bias);
    }
    nest.store(y, &axes, value);
    ctx.launch(nest);
    Ok(())
}
