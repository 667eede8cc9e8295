//! MaxRoiPool: the greatest elements of bins of regions of interest.

use super::coordinates::number;
use super::roi_align::check_ranks;
use crate::graph::{Dim, ElementType, Node};
use crate::loops::{CompareOp, ExprId, ParameterId, ReduceOp, Scalar, UnaryOp};
use crate::ops::nn::window::{both, load_guarded};
use crate::ops::{Infer, Lower, Nest, OperatorError, Result};

fn pooled_shape(node: &Node) -> Result<[i64; 2]> {
    match node.ints("pooled_shape")? {
        Some(&[height, width]) if height > 0 && width > 0 => Ok([height, width]),
        other => Err(OperatorError::new(format!("`pooled_shape` is {other:?}, expected two positive numbers"))),
    }
}

/// MaxRoiPool: regions, channels, and the size that the attribute tells.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, input, rois) = (ctx.element(0)?, ctx.shape(0)?, ctx.shape(1)?);
    check_ranks(&input, &rois)?;
    let sizes = pooled_shape(ctx.node)?.map(Dim::constant);
    let shape = [&[rois[0].clone(), input[1].clone()][..], &sizes].concat();
    ctx.set(0, element, shape);
    Ok(())
}

/// MaxRoiPool: the greatest element of each bin, 0 where there is none.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (input, rois) = (ctx.input(0)?, ctx.input(1)?);
    super::check_equal(ctx, &rois.shape[1], &Dim::constant(5), "a region must have 5 numbers")?;
    let scale = f64::from(ctx.node.float_or("spatial_scale", 1.0)?);
    let counts = pooled_shape(ctx.node)?;
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let (x, r) = (nest.read(&input), nest.read(&rois));
    let axes = nest.outer_axes(&output.shape);
    let batch = nest.index(0);
    let batch = nest.load(r, &[axes[0], batch]);
    let batch = nest.cast(ElementType::I64, batch);
    let batch = nest.checked(batch, &input.shape[0]);
    let ranges = [(2, 0), (1, 1)].map(|(column, axis)| {
        let position = axes[2 + axis];
        bin_range(&mut nest, (r, axes[0], column), scale, (position, counts[axis]))
    });
    let lowest = Scalar::lowest(input.element);
    let greatest = nest.reduce(ReduceOp::Max, &input.shape[2..], |nest, place| {
        let mut guard = None;
        for ((start, end), &position) in ranges.iter().zip(place) {
            let from = nest.compare(CompareOp::Ge, position, *start);
            let to = nest.compare(CompareOp::Lt, position, *end);
            guard = both(nest, guard, from);
            guard = both(nest, guard, to);
        }
        load_guarded(nest, x, &[batch, axes[1], place[0], place[1]], guard, lowest)
    });
    let (lowest, zero) = (nest.scalar(lowest), nest.integer(input.element, 0));
    let is_empty = nest.compare(CompareOp::Eq, greatest, lowest);
    let value = nest.select(is_empty, zero, greatest);
    let y = nest.write(&output);
    nest.store(y, &axes, value);
    ctx.launch(nest);
    Ok(())
}

/// From which to before which position of an axis a bin of a region goes.
fn bin_range(
    nest: &mut Nest,
    (rois, roi, column): (ParameterId, ExprId, i64),
    scale: f64,
    (bin, count): (ExprId, i64),
) -> (ExprId, ExprId) {
    let one = number(nest, 1.0);
    let ends = [column, column + 2].map(|column| {
        let (column, scale, half) = (nest.index(column), number(nest, scale), number(nest, 0.5));
        let end = nest.load(rois, &[roi, column]);
        let end = nest.cast(ElementType::F32, end);
        let end = nest.mul(end, scale);
        let end = nest.add(end, half);
        nest.unary(UnaryOp::Floor, end)
    });
    let length = nest.sub(ends[1], ends[0]);
    let length = nest.add(length, one);
    let length = nest.max(length, one);
    let count = number(nest, count as f64);
    let size = nest.div(length, count);
    let bin = nest.cast(ElementType::F32, bin);
    let next = nest.add(bin, one);
    let (start, end) = (nest.mul(bin, size), nest.mul(next, size));
    let (start, end) = (nest.unary(UnaryOp::Floor, start), nest.unary(UnaryOp::Ceil, end));
    let (start, end) = (nest.add(start, ends[0]), nest.add(end, ends[0]));
    (nest.cast(ElementType::I64, start), nest.cast(ElementType::I64, end))
}
