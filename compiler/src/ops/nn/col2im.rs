//! Col2Im: an image summed from columns of its blocks.

use super::check_equal;
use super::conv_transpose::Spread;
use super::pool::ravel;
use super::window::{decide, explicit_pads, load_guarded, reach, steps};
use crate::graph::{Dim, ElementType};
use crate::loops::{ReduceOp, Scalar};
use crate::ops::arguments::Arguments;
use crate::ops::{Infer, Lower, OperatorError, Result};

fn shapes(ctx: &mut impl Arguments, input: &[Dim]) -> Result<(Vec<Dim>, Vec<Dim>)> {
    let (image, block) = (ctx.elements(1)?, ctx.elements(2)?);
    if input.len() != 3 || image.len() != block.len() || image.is_empty() {
        return Err(OperatorError::new(
            "expected an input of rank 3 and shapes of image and block with one number a spatial dimension",
        ));
    }
    Ok((image, block))
}

/// Batch, channels by the elements of a block, and the image.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, input) = (ctx.element(0)?, ctx.shape(0)?);
    let (image, block) = shapes(ctx, &input)?;
    let channels = input[1].floor_div(&Dim::product(&block));
    ctx.set(0, element, [vec![input[0].clone(), channels], image].concat());
    Ok(())
}

/// Each element of the image sums the places of blocks that lie on it.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let input = ctx.input(0)?;
    let (image, block) = shapes(ctx, &input.shape)?;
    let rank = image.len();
    let (strides, dilations) = (steps(ctx.node, "strides", rank)?, steps(ctx.node, "dilations", rank)?);
    let (before, after) = explicit_pads(ctx.node, rank)?;
    let mut counts = Vec::new();
    for axis in 0..rank {
        let room = &image[axis] + &before[axis] + &after[axis] - reach(&block[axis], dilations[axis]);
        counts.push(room.floor_div(&Dim::constant(strides[axis])) + 1);
    }
    check_equal(ctx, &Dim::product(&counts), &input.shape[2], "there are not as many columns as blocks in the image")?;
    let size = ctx.named(Dim::product(&block));
    let rest = input.shape[1].modulo(&size);
    check_equal(ctx, &rest, &Dim::ZERO, "the rows are not a multiple of the elements of a block")?;
    decide(ctx, &image, &image)?;
    let spread = Spread { strides, dilations, before };
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let (x, y) = (nest.read(&input), nest.write(&output));
    let axes = nest.outer_axes(&output.shape);
    let zero = Scalar::from_i64(input.element, 0);
    let is_bool = input.element == ElementType::Bool;
    let op = if is_bool { ReduceOp::Or } else { ReduceOp::Sum };
    let value = nest.reduce(op, &block, |nest, tap| {
        let (positions, guard) = spread.sources(nest, &axes[2..], tap, &counts);
        let extent = nest.dim(&size);
        let (start, place) = (nest.mul(axes[1], extent), ravel(nest, tap, &block));
        let row = nest.add(start, place);
        let column = ravel(nest, &positions, &counts);
        load_guarded(nest, x, &[axes[0], row, column], guard, zero)
    });
    nest.store(y, &axes, value);
    ctx.launch(nest);
    Ok(())
}
