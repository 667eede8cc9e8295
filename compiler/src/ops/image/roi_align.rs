//! RoiAlign and MaxRoiPool: regions of interest brought to one size.

use super::coordinates::{number, size};
use crate::graph::{CompareOperator, Dim, ElementType, Node};
use crate::loops::{Action, BinaryOp, CompareOp, ExprId, KernelBuilder, ParameterId, ReduceOp, Scalar, UnaryOp, View};
use crate::ops::{Infer, Lower, Nest, OperatorError, Result};

fn positive(node: &Node, attribute: &str, default: i64) -> Result<i64> {
    match node.int_or(attribute, default)? {
        value if value > 0 => Ok(value),
        value => Err(OperatorError::new(format!("`{attribute}` is {value}, expected a positive number"))),
    }
}

fn check_ranks(input: &[Dim], rois: &[Dim]) -> Result<()> {
    if input.len() == 4 && rois.len() == 2 {
        return Ok(());
    }
    Err(OperatorError::new("expected an input of rank 4 and regions of rank 2"))
}

/// RoiAlign: regions, channels, and the size that the attributes tell.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, input, rois) = (ctx.element(0)?, ctx.shape(0)?, ctx.shape(1)?);
    check_ranks(&input, &rois)?;
    let sizes = [positive(ctx.node, "output_height", 1)?, positive(ctx.node, "output_width", 1)?];
    let shape = [&[rois[0].clone(), input[1].clone()][..], &sizes.map(Dim::constant)].concat();
    ctx.set(0, element, shape);
    Ok(())
}

/// How a region lies over the input along one axis, and how it is sampled.
struct Bins {
    /// Column of the regions with start and, two further, the end.
    column: i64,
    /// Number of bins.
    count: i64,
    scale: f64,
    /// Whether positions count from the middle of the first element.
    half_pixel: bool,
    sampling_ratio: i64,
}

impl Bins {
    /// Start of the region and size of a bin, in elements of the input.
    fn region(&self, nest: &mut KernelBuilder, rois: ParameterId, roi: ExprId) -> (ExprId, ExprId) {
        let scale = number(nest, self.scale);
        let offset = number(nest, if self.half_pixel { 0.5 } else { 0.0 });
        let ends = [self.column, self.column + 2].map(|column| {
            let column = nest.index(column);
            let end = nest.load(rois, &[roi, column]);
            let end = nest.cast(ElementType::F32, end);
            let end = nest.mul(end, scale);
            nest.sub(end, offset)
        });
        let mut length = nest.sub(ends[1], ends[0]);
        if !self.half_pixel {
            let one = number(nest, 1.0);
            length = nest.max(length, one);
        }
        let count = number(nest, self.count as f64);
        (ends[0], nest.div(length, count))
    }

    /// Samples in a bin, an `i64`.
    fn samples(&self, nest: &mut KernelBuilder, bin: ExprId) -> ExprId {
        if self.sampling_ratio > 0 {
            return nest.index(self.sampling_ratio);
        }
        let samples = nest.unary(UnaryOp::Ceil, bin);
        nest.cast(ElementType::I64, samples)
    }
}

/// The most samples that any region takes, where the regions decide.
fn most_samples(ctx: &mut Lower<'_, '_>, bins: &Bins, rois: &View) -> Result<Dim> {
    if bins.sampling_ratio > 0 {
        return Ok(Dim::constant(bins.sampling_ratio));
    }
    const MAX_SAMPLES: i64 = 1 << 16;
    let most = ctx.temporary(ElementType::I64, &[]);
    let mut nest = ctx.nest();
    let (r, y) = (nest.read(rois), nest.write(&most));
    let value = nest.reduce(ReduceOp::Max, &rois.shape[..1], |nest, roi| {
        let (_, bin) = bins.region(nest, r, roi[0]);
        let samples = bins.samples(nest, bin);
        let zero = nest.index(0);
        nest.max(samples, zero)
    });
    let zero = nest.index(0);
    let value = nest.max(value, zero);
    nest.store(y, &[], value);
    ctx.launch(nest);
    let symbol = ctx.shared.program.symbols.fresh("samples");
    ctx.step(Action::Bind { symbol, buffer: most.buffer, element: 0 });
    let fits = Dim::symbol(symbol).compare(CompareOperator::LessEqual, &Dim::constant(MAX_SAMPLES));
    ctx.check(fits, "a region of interest is too large")?;
    Ok(Dim::symbol(symbol))
}

/// Two neighbours with weights, and whether the position counts.
struct Pair {
    low: ExprId,
    high: ExprId,
    weights: [ExprId; 2],
    inside: ExprId,
}

fn pair(nest: &mut KernelBuilder, place: ExprId, dim: &Dim) -> Pair {
    let (minus, zero, one) = (number(nest, -1.0), number(nest, 0.0), number(nest, 1.0));
    let (extent, end) = (size(nest, dim), size(nest, &(dim - 1)));
    let (above, below) = (nest.compare(CompareOp::Ge, place, minus), nest.compare(CompareOp::Le, place, extent));
    let inside = nest.and(above, below);
    let place = nest.max(place, zero);
    let place = nest.min(place, end);
    let floor = nest.unary(UnaryOp::Floor, place);
    let part = nest.sub(place, floor);
    let rest = nest.sub(one, part);
    let (first, step, last) = (nest.index(0), nest.index(1), nest.dim(&(dim - 1)));
    let low = nest.cast(ElementType::I64, floor);
    let low = nest.max(low, first);
    let low = nest.min(low, last);
    let high = nest.add(low, step);
    let high = nest.min(high, last);
    Pair { low, high, weights: [rest, part], inside }
}

/// RoiAlign: the mean, or the greatest, of interpolated samples in each bin.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (input, rois, batches) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
    super::check_equal(ctx, &rois.shape[1], &Dim::constant(4), "a region must have 4 numbers")?;
    let node = ctx.node;
    let default = if node.version < 16 { "output_half_pixel" } else { "half_pixel" };
    let half_pixel = node.text_or("coordinate_transformation_mode", default)? == "half_pixel";
    let is_max = match node.text_or("mode", "avg")? {
        "avg" => false,
        "max" => true,
        other => return Err(OperatorError::new(format!("`mode` is `{other}`, expected avg or max"))),
    };
    let scale = f64::from(node.float_or("spatial_scale", 1.0)?);
    let sampling_ratio = node.int_or("sampling_ratio", 0)?.max(0);
    let counts = [positive(node, "output_height", 1)?, positive(node, "output_width", 1)?];
    let bins = [(1, counts[0]), (0, counts[1])].map(|(column, count)| Bins {
        column,
        count,
        scale,
        half_pixel,
        sampling_ratio,
    });
    let most = [most_samples(ctx, &bins[0], &rois)?, most_samples(ctx, &bins[1], &rois)?];
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let (x, r, b) = (nest.read(&input), nest.read(&rois), nest.read(&batches));
    let axes = nest.outer_axes(&output.shape);
    let batch = nest.load(b, &axes[..1]);
    let batch = nest.cast(ElementType::I64, batch);
    let batch = nest.checked(batch, &input.shape[0]);
    let regions = [0, 1].map(|axis| {
        let (start, bin) = bins[axis].region(&mut nest, r, axes[0]);
        let samples = bins[axis].samples(&mut nest, bin);
        (start, bin, samples)
    });
    let compute = input.element.compute_type();
    let op = if is_max { ReduceOp::Max } else { ReduceOp::Sum };
    let neutral = if is_max { f64::NEG_INFINITY } else { 0.0 };
    let sum = nest.reduce(op, &most, |nest, taps| {
        let mut counts: Option<ExprId> = None;
        let pairs = [0, 1].map(|axis| {
            let (start, bin, samples) = regions[axis];
            let is_own = nest.compare(CompareOp::Lt, taps[axis], samples);
            counts = crate::ops::nn::window::both(nest, counts, is_own);
            let (position, half) = (nest.cast(ElementType::F32, axes[2 + axis]), number(nest, 0.5));
            let before = nest.mul(position, bin);
            let tap = nest.cast(ElementType::F32, taps[axis]);
            let middle = nest.add(tap, half);
            let offset = nest.mul(middle, bin);
            let samples = nest.cast(ElementType::F32, samples);
            let offset = nest.div(offset, samples);
            let place = nest.add(start, before);
            let place = nest.add(place, offset);
            pair(nest, place, &input.shape[2 + axis])
        });
        let mut value: Option<ExprId> = None;
        for (y, row) in [pairs[0].low, pairs[0].high].into_iter().enumerate() {
            for (x_side, column) in [pairs[1].low, pairs[1].high].into_iter().enumerate() {
                let element = nest.load(x, &[batch, axes[1], row, column]);
                let element = nest.cast(ElementType::F32, element);
                let weight = nest.mul(pairs[0].weights[y], pairs[1].weights[x_side]);
                let term = nest.mul(element, weight);
                let op = if is_max { BinaryOp::Max } else { BinaryOp::Add };
                value = Some(value.map_or(term, |value| nest.binary(op, value, term)));
            }
        }
        let (zero, neutral) = (number(nest, 0.0), number(nest, neutral));
        let inside = nest.and(pairs[0].inside, pairs[1].inside);
        let value = nest.select(inside, value.unwrap_or(zero), zero);
        counts.map_or(value, |counts| nest.select(counts, value, neutral))
    });
    let (zero, one) = (number(&mut nest, 0.0), nest.index(1));
    let count = nest.mul(regions[0].2, regions[1].2);
    let count = nest.max(count, one);
    let count = nest.cast(ElementType::F32, count);
    let value = if is_max {
        let lowest = number(&mut nest, f64::NEG_INFINITY);
        let is_empty = nest.compare(CompareOp::Eq, sum, lowest);
        nest.select(is_empty, zero, sum)
    } else {
        nest.div(sum, count)
    };
    let value = nest.cast(compute, value);
    let y = nest.write(&output);
    nest.store(y, &axes, value);
    ctx.launch(nest);
    Ok(())
}

fn pooled_shape(node: &Node) -> Result<[i64; 2]> {
    match node.ints("pooled_shape")? {
        Some(&[height, width]) if height > 0 && width > 0 => Ok([height, width]),
        other => Err(OperatorError::new(format!("`pooled_shape` is {other:?}, expected two positive numbers"))),
    }
}

/// MaxRoiPool: regions, channels, and the size that the attribute tells.
pub fn infer_pool(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, input, rois) = (ctx.element(0)?, ctx.shape(0)?, ctx.shape(1)?);
    check_ranks(&input, &rois)?;
    let sizes = pooled_shape(ctx.node)?.map(Dim::constant);
    let shape = [&[rois[0].clone(), input[1].clone()][..], &sizes].concat();
    ctx.set(0, element, shape);
    Ok(())
}

/// MaxRoiPool: the greatest element of each bin, 0 where there is none.
pub fn lower_pool(ctx: &mut Lower<'_, '_>) -> Result<()> {
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
            guard = crate::ops::nn::window::both(nest, guard, from);
            guard = crate::ops::nn::window::both(nest, guard, to);
        }
        crate::ops::nn::window::load_guarded(nest, x, &[batch, axes[1], place[0], place[1]], guard, lowest)
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
