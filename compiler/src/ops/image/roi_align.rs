//! RoiAlign: regions of interest, interpolated to one size.

use super::coordinates::{number, size};
use crate::graph::{CompareOperator, Dim, ElementType, Node};
use crate::loops::{Action, BinaryOp, CompareOp, ExprId, KernelBuilder, ParameterId, ReduceOp, UnaryOp, View};
use crate::ops::nn::window::both;
use crate::ops::{Infer, Lower, OperatorError, Result};

fn positive(node: &Node, attribute: &str, default: i64) -> Result<i64> {
    match node.int_or(attribute, default)? {
        value if value > 0 => Ok(value),
        value => Err(OperatorError::new(format!("`{attribute}` is {value}, expected a positive number"))),
    }
}

/// Checks the ranks of an image and of regions.
pub(super) fn check_ranks(input: &[Dim], rois: &[Dim]) -> Result<()> {
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
    if batches.shape.len() != 1 {
        return Err(OperatorError::new("the batch indices are not a vector"));
    }
    super::check_equal(ctx, &batches.shape[0], &rois.shape[0], "there is not one batch index a region")?;
    super::check_filled(ctx, &input.shape[2])?;
    super::check_filled(ctx, &input.shape[3])?;
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
            counts = both(nest, counts, is_own);
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
