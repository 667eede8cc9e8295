//! Resize and Upsample: interpolation between neighbours along any axes.

use super::coordinates::{ResizedAxis, Scale, Transformation, number, size};
use super::filter::{Filter, Shrink};
use super::settings::{Interpolation, Nearest, RunFactors, Settings, scale_input};
use crate::graph::{Dim, ElementType};
use crate::loops::{Action, BinaryOp, CompareOp, ExprId, KernelBuilder, ParameterId, ReduceOp, UnaryOp, View};
use crate::ops::nn::window::{decide, outputs};
use crate::ops::{Infer, Lower, OperatorError, Result};

/// The sizes given, or the input's times the scales.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, input) = (ctx.element(0)?, ctx.shape(0)?);
    let scales = scale_input(ctx.node).and_then(|index| ctx.constant(index)?.floats());
    let settings = Settings::of(ctx, input.len(), scales)?;
    let dims = settings.axes(&input)?.into_iter().map(|axis| axis.output).collect();
    let dims = outputs(ctx, dims)?;
    ctx.set(0, element, dims);
    Ok(())
}

/// One axis of the output: the axis, the position on it, and where that is in the input.
struct Sample {
    axis: ResizedAxis,
    position: ExprId,
    place: ExprId,
    scale: ExprId,
}

/// Each element is one of the input, or a sum of neighbours by weights that are products over the axes.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let input = ctx.input(0)?;
    let scales = scale_input(ctx.node).and_then(|index| ctx.constant(index)?.floats());
    let settings = Settings::of(ctx, input.shape.len(), scales)?;
    let mut resized = settings.axes(&input.shape)?;
    let (_, shape) = ctx.output_type(0)?;
    let factors = run_factors(ctx, &settings, &input, &shape)?;
    let dims = resized.iter().zip(&shape);
    // What the run decides has been set.
    let dims: Vec<Dim> =
        dims.map(|(axis, dim)| if axis.output.is_unknown() { dim.clone() } else { axis.output.clone() }).collect();
    decide(ctx, &shape, &dims)?;
    for (axis, dim) in resized.iter_mut().zip(&shape) {
        axis.output = dim.clone();
    }
    for axis in resized.iter().filter(|axis| !axis.is_unchanged()) {
        super::check_filled(ctx, &axis.input)?;
    }
    let region = if settings.uses_region() { ctx.optional_input(1)? } else { None };
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let x = nest.read(&input);
    let region = region.map(|view| nest.read(&view));
    let factors = factors.map(|view| nest.read(&view));
    let axes = nest.outer_axes(&output.shape);
    let mut samples = Vec::new();
    let mut index = axes.clone();
    let mut outside: Option<ExprId> = None;
    for (axis, &position) in resized.iter().zip(&axes) {
        if axis.is_unchanged() {
            continue;
        }
        let bounds = region.zip(axis.region).map(|(region, (start, end))| {
            let (start, end) = (nest.index(start as i64), nest.index(end as i64));
            let (start, end) = (nest.load(region, &[start]), nest.load(region, &[end]));
            (nest.cast(ElementType::F32, start), nest.cast(ElementType::F32, end))
        });
        let scale = axis.scale(&mut nest, factors);
        let place = axis.position(&mut nest, settings.transformation, (position, scale), bounds);
        if settings.transformation == Transformation::TfCropAndResize {
            let (zero, last) = (number(&mut nest, 0.0), size(&mut nest, &(&axis.input - 1)));
            let (low, high) = (nest.compare(CompareOp::Lt, place, zero), nest.compare(CompareOp::Gt, place, last));
            let beyond = nest.binary(BinaryOp::Or, low, high);
            outside = Some(outside.map_or(beyond, |outside| nest.binary(BinaryOp::Or, outside, beyond)));
        }
        samples.push((samples.len(), Sample { axis: axis.clone(), position, place, scale }));
    }
    let places: Vec<usize> = (0..axes.len()).filter(|&axis| !resized[axis].is_unchanged()).collect();
    let element = input.element.compute_type();
    let mut value = match settings.interpolation {
        Interpolation::Nearest(mode) => {
            for (number, sample) in &samples {
                index[places[*number]] = nearest(&mut nest, &settings, mode, sample);
            }
            nest.load(x, &index)
        }
        Interpolation::Filter(filter) => {
            let samples: Vec<Sample> = samples.into_iter().map(|(_, sample)| sample).collect();
            let value = interpolate(&mut nest, &settings, filter, (x, &index), &samples, &places);
            nest.cast(element, value)
        }
    };
    if let Some(outside) = outside {
        let other = nest.float(element, settings.extrapolation);
        value = nest.select(outside, other, value);
    }
    let y = nest.write(&output);
    nest.store(y, &axes, value);
    ctx.launch(nest);
    Ok(())
}

/// The factors that only the run knows, as a tensor, after the sizes of the output that follow from them have been set.
fn run_factors(ctx: &mut Lower<'_, '_>, settings: &Settings, input: &View, shape: &[Dim]) -> Result<Option<View>> {
    let Some(factors) = settings.run_factors(&input.shape) else { return Ok(None) };
    let axes = settings.resized();
    let count = Dim::constant(axes.len() as i64);
    let (view, rounding) = match factors {
        RunFactors::Input => {
            let index = scale_input(ctx.node).ok_or_else(|| OperatorError::new("the scales are missing"))?;
            let view = ctx.input(index)?;
            if view.shape.len() != 1 {
                return Err(OperatorError::new("the scales are not a vector"));
            }
            super::check_equal(ctx, &view.shape[0], &count, "there is not one scale an axis")?;
            (view, 0.0)
        }
        RunFactors::Common { sizes, greatest } => {
            let view = ctx.temporary(ElementType::F32, std::slice::from_ref(&count));
            let mut nest = ctx.nest();
            let target = nest.write(&view);
            let positions = nest.outer_axes(&view.shape);
            let mut common: Option<ExprId> = None;
            for (&axis, wanted) in axes.iter().zip(sizes) {
                let (wanted, own) = (size(&mut nest, wanted), size(&mut nest, &input.shape[axis]));
                let ratio = nest.div(wanted, own);
                let op = if greatest { BinaryOp::Max } else { BinaryOp::Min };
                common = Some(common.map_or(ratio, |common| nest.binary(op, common, ratio)));
            }
            let common = common.ok_or_else(|| OperatorError::new("there are no axes to resize"))?;
            nest.store(target, &positions, common);
            ctx.launch(nest);
            (view, 0.5)
        }
    };
    for (place, &axis) in axes.iter().enumerate() {
        let result = ctx.temporary(ElementType::I64, &[]);
        let mut nest = ctx.nest();
        let (source, target) = (nest.read(&view), nest.write(&result));
        let place = nest.index(place as i64);
        let factor = nest.load(source, &[place]);
        let factor = nest.cast(ElementType::F32, factor);
        let (own, rounding) = (size(&mut nest, &input.shape[axis]), number(&mut nest, rounding));
        let length = nest.mul(factor, own);
        let length = nest.add(length, rounding);
        let length = nest.unary(UnaryOp::Floor, length);
        let length = nest.cast(ElementType::I64, length);
        nest.store(target, &[], length);
        ctx.launch(nest);
        let found = ctx.shared.program.symbols.fresh_within("length", i64::MIN, None);
        ctx.step(Action::Bind { symbol: found, buffer: result.buffer, element: 0 });
        decide(ctx, std::slice::from_ref(&shape[axis]), &[Dim::symbol(found)])?;
    }
    Ok(Some(view))
}

/// The nearest position in the input.
fn nearest(nest: &mut KernelBuilder, settings: &Settings, mode: Nearest, sample: &Sample) -> ExprId {
    let axis = &sample.axis;
    if let Some(factor) = axis.integral_scale()
        && settings.repeats(mode)
    {
        let factor = nest.index(factor);
        return nest.binary(BinaryOp::FloorDiv, sample.position, factor);
    }
    let half = number(nest, 0.5);
    let place = sample.place;
    let place = match mode {
        Nearest::Floor => nest.unary(UnaryOp::Floor, place),
        Nearest::Ceil => nest.unary(UnaryOp::Ceil, place),
        Nearest::Simple => {
            let (floor, ceil) = (nest.unary(UnaryOp::Floor, place), nest.unary(UnaryOp::Ceil, place));
            let one = number(nest, 1.0);
            let shrinks = nest.compare(CompareOp::Lt, sample.scale, one);
            nest.select(shrinks, ceil, floor)
        }
        Nearest::RoundPreferFloor => {
            let place = nest.sub(place, half);
            nest.unary(UnaryOp::Ceil, place)
        }
        Nearest::RoundPreferCeil => {
            let place = nest.add(place, half);
            nest.unary(UnaryOp::Floor, place)
        }
    };
    let position = nest.cast(ElementType::I64, place);
    clamp(nest, position, &axis.input)
}

fn clamp(nest: &mut KernelBuilder, position: ExprId, dim: &Dim) -> ExprId {
    let (zero, last) = (nest.index(0), nest.dim(&(dim - 1)));
    let position = nest.max(position, zero);
    nest.min(position, last)
}

/// What the taps along one axis need.
struct Taps<'a> {
    sample: &'a Sample,
    filter: Filter,
    /// The first tap, and how many there are.
    first: ExprId,
    count: Dim,
    /// What distances are multiplied by.
    stretch: Option<ExprId>,
    excludes_outside: bool,
    /// The sum of the weights, where it is not 1.
    total: Option<ExprId>,
}

impl<'a> Taps<'a> {
    fn new(nest: &mut KernelBuilder, settings: &Settings, filter: Filter, sample: &'a Sample) -> Self {
        let axis = &sample.axis;
        let shrink = match axis.scale {
            _ if !settings.antialias => Shrink::None,
            Scale::Factor(factor) => Shrink::Factor(factor),
            Scale::Ratio | Scale::Place(_) => Shrink::Ratio(axis.output.clone(), axis.input.clone()),
        };
        let (first, count) = filter.taps(&shrink);
        let stretch = settings.antialias.then(|| {
            let one = number(nest, 1.0);
            nest.min(sample.scale, one)
        });
        let floor = nest.unary(UnaryOp::Floor, sample.place);
        let floor = nest.cast(ElementType::I64, floor);
        let offset = nest.dim(&first);
        let first = nest.add(floor, offset);
        let excludes_outside = settings.exclude_outside;
        let mut taps = Self { sample, filter, first, count, stretch, excludes_outside, total: None };
        if settings.antialias || excludes_outside {
            let total = nest.reduce(ReduceOp::Sum, &[taps.count.clone()], |nest, tap| taps.weight(nest, tap[0]));
            taps.total = Some(total);
        }
        taps
    }

    fn weight(&self, nest: &mut KernelBuilder, tap: ExprId) -> ExprId {
        let position = nest.add(self.first, tap);
        let at = nest.cast(ElementType::F32, position);
        let mut distance = nest.sub(at, self.sample.place);
        if let Some(stretch) = self.stretch {
            distance = nest.mul(distance, stretch);
        }
        let mut weight = self.filter.weight(nest, distance);
        if self.excludes_outside {
            let (inside, zero) = (nest.in_range(position, &self.sample.axis.input), number(nest, 0.0));
            weight = nest.select(inside, weight, zero);
        }
        match self.total {
            Some(total) => nest.div(weight, total),
            None => weight,
        }
    }

    /// The position of a tap, kept inside of the input.
    fn position(&self, nest: &mut KernelBuilder, tap: ExprId) -> ExprId {
        let position = nest.add(self.first, tap);
        clamp(nest, position, &self.sample.axis.input)
    }
}

/// The sum over all taps along the sampled axes, which are at `places`, in `f32`.
fn interpolate(
    nest: &mut KernelBuilder,
    settings: &Settings,
    filter: Filter,
    (x, index): (ParameterId, &[ExprId]),
    samples: &[Sample],
    places: &[usize],
) -> ExprId {
    let taps: Vec<Taps<'_>> = samples.iter().map(|sample| Taps::new(nest, settings, filter, sample)).collect();
    let term = |nest: &mut KernelBuilder, at: &[ExprId]| {
        let mut index = index.to_vec();
        let mut weight: Option<ExprId> = None;
        for ((taps, &place), &tap) in taps.iter().zip(places).zip(at) {
            index[place] = taps.position(nest, tap);
            let factor = taps.weight(nest, tap);
            weight = Some(weight.map_or(factor, |weight| nest.mul(weight, factor)));
        }
        let value = nest.load(x, &index);
        let value = nest.cast(ElementType::F32, value);
        weight.map_or(value, |weight| nest.mul(value, weight))
    };
    let extents: Vec<Dim> = taps.iter().map(|taps| taps.count.clone()).collect();
    // A few taps are written out, so that their weights are computed once a point.
    const MAX_WRITTEN_OUT: i64 = 16;
    let Some(count) = Dim::product(&extents).as_const().filter(|&count| count <= MAX_WRITTEN_OUT) else {
        return nest.reduce(ReduceOp::Sum, &extents, |nest, at| term(nest, at));
    };
    let mut sum: Option<ExprId> = None;
    for number in 0..count {
        let mut rest = number;
        let mut at = Vec::new();
        for count in extents.iter().rev().filter_map(Dim::as_const) {
            at.push(nest.index(rest % count));
            rest /= count;
        }
        at.reverse();
        let value = term(nest, &at);
        sum = Some(sum.map_or(value, |sum| nest.add(sum, value)));
    }
    sum.unwrap_or_else(|| term(nest, &[]))
}
