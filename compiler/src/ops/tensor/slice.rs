//! Slice: a range with a step along each axis.

use super::data;
use crate::graph::{CompareOperator, Dim};
use crate::ops::arguments::{Arguments, all_axes, normalize_axes, spread};
use crate::ops::{Infer, Lower, OperatorError, Result};

/// The range taken of one dimension.
struct Range {
    /// First position.
    start: Dim,
    /// How many positions.
    length: Dim,
    /// From one position to the next; negative to go backwards.
    step: Dim,
}

/// The numbers that decide the ranges, one for each dimension.
struct Bounds {
    axes: Vec<Dim>,
    /// Start, end and step; `None` for a dimension that is taken whole.
    ranges: Vec<Option<[Dim; 3]>>,
}

/// Starts, ends, axes and steps: attributes before operator set 10, inputs from then on.
fn bounds(ctx: &mut impl Arguments, shape: &[Dim]) -> Result<Bounds> {
    let rank = shape.len();
    let starts = ctx.required_integers("starts", 1)?;
    let ends = ctx.required_integers("ends", 2)?;
    let axes = match ctx.integers("axes", 3)? {
        Some(axes) => normalize_axes(&axes, rank)?,
        None => normalize_axes(&all_axes(starts.len()), rank)?,
    };
    let steps = ctx.integers("steps", 4)?.unwrap_or_else(|| vec![Dim::ONE; axes.len()]);
    if [starts.len(), ends.len(), steps.len()].iter().any(|&len| len != axes.len()) {
        return Err(OperatorError::new(format!(
            "there are {} starts, {} ends, {} axes and {} steps",
            starts.len(),
            ends.len(),
            axes.len(),
            steps.len()
        )));
    }
    if steps.contains(&Dim::ZERO) {
        return Err(OperatorError::new("a step is 0"));
    }
    let whole = |value: i64| vec![Dim::constant(value); rank];
    let (starts, ends, steps) =
        (spread(&axes, &starts, &whole(0)), spread(&axes, &ends, shape), spread(&axes, &steps, &whole(1)));
    let is_named = |position: usize| axes.iter().any(|axis| axis.as_const().is_none_or(|axis| axis == position as i64));
    let ranges = (0..rank)
        .map(|position| {
            is_named(position).then(|| [starts[position].clone(), ends[position].clone(), steps[position].clone()])
        })
        .collect();
    Ok(Bounds { axes, ranges })
}

/// From this magnitude on a constant bound means the end of the dimension: the specification recommends `INT_MAX` and
/// `INT_MIN` for that.
const FAR: i64 = i32::MAX as i64;
const BACKWARDS_FAR: i64 = -FAR;

/// A start or end counted from the front and clamped to `low..=high`.
fn clamp(bound: &Dim, dim: &Dim, low: &Dim, high: &Dim) -> Dim {
    match bound.as_const() {
        Some(FAR..) => return high.clone(),
        Some(..=BACKWARDS_FAR) => return low.clone(),
        _ => {}
    }
    let negative = bound.compare(CompareOperator::Less, &Dim::ZERO);
    Dim::select(&negative, &(bound + dim), bound).max(low).min(high)
}

/// The range of a dimension by numpy's rules.
fn range(dim: &Dim, [start, end, step]: &[Dim; 3], mut short: impl FnMut(Dim) -> Dim) -> Range {
    let backwards = step.compare(CompareOperator::Less, &Dim::ZERO);
    // Backwards, the position before the first is an end, and the one after the last is not a start.
    let low = short(-&backwards);
    let high = short(dim - &backwards);
    let start = short(clamp(start, dim, &low, &high));
    let end = short(clamp(end, dim, &low, &high));
    let length = match backwards.as_const() {
        Some(0) => (&end - &start).max(&Dim::ZERO).ceil_div(step),
        Some(_) => (&start - &end).max(&Dim::ZERO).ceil_div(&-step),
        None => (&end - &start).ceil_div(step).max(&Dim::ZERO),
    };
    Range { start, length, step: step.clone() }
}

/// Dimensions that are too complex to express become symbols of their own.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, shape) = (ctx.element(0)?, ctx.shape(0)?);
    let bounds = bounds(ctx, &shape)?;
    let dims = shape
        .iter()
        .zip(&bounds.ranges)
        .map(|(dim, bounds)| match bounds {
            None => dim.clone(),
            Some(bounds) => ctx.short(range(dim, bounds, |dim| dim).length, "sliced"),
        })
        .collect();
    ctx.set(0, element, dims);
    Ok(())
}

/// A copy of the range.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let input = data(ctx, 0)?;
    let bounds = bounds(ctx, &input.shape)?;
    ctx.check_axes(&bounds.axes, input.shape.len())?;
    let (_, dims) = ctx.output_type(0)?;
    let mut ranges = Vec::new();
    for ((dim, bounds), target) in input.shape.iter().zip(bounds.ranges).zip(&dims) {
        let Some(bounds) = bounds else {
            ranges.push(None);
            continue;
        };
        ctx.check(bounds[2].compare(CompareOperator::NotEqual, &Dim::ZERO), "a step is 0")?;
        let plain = range(dim, &bounds, |dim| dim);
        if plain.length == *target && !plain.start.is_unknown() {
            ranges.push(Some(plain));
            continue;
        }
        let bounds = bounds.map(|bound| ctx.named(bound));
        let named = range(dim, &bounds, |dim| ctx.named(dim));
        ctx.decide(target, named.length.clone())?;
        ranges.push(Some(named));
    }
    if ranges.iter().flatten().all(|range| range.start == Dim::ZERO && range.step == Dim::ONE) && dims == input.shape {
        return super::alias(ctx);
    }
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let source = nest.read(&input);
    let target = nest.write(&output);
    let axes = nest.outer_axes(&output.shape);
    let mut index = axes.clone();
    for (position, range) in index.iter_mut().zip(&ranges) {
        if let Some(range) = range {
            let (start, step) = (nest.dim(&range.start), nest.dim(&range.step));
            let scaled = nest.mul(*position, step);
            *position = nest.add(scaled, start);
        }
    }
    let value = nest.load(source, &index);
    nest.store(target, &axes, value);
    ctx.launch(nest);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Symbols;

    fn length(dim: &Dim, bounds: [i64; 3]) -> Dim {
        range(dim, &bounds.map(Dim::constant), |dim| dim).length
    }

    #[test]
    fn lengths_are_those_of_numpy() {
        let ten = Dim::constant(10);
        assert_eq!(length(&ten, [2, 9, 3]), Dim::constant(3));
        assert_eq!(length(&ten, [-3, i64::MAX, 1]), Dim::constant(3));
        assert_eq!(length(&ten, [20, i64::MIN, -1]), Dim::constant(10));
        assert_eq!(length(&ten, [5, 2, 1]), Dim::ZERO);
        assert_eq!(length(&ten, [-1, -20, -4]), Dim::constant(3));
        assert_eq!(length(&Dim::ZERO, [-1, i64::MIN, -1]), Dim::ZERO);
    }

    #[test]
    fn ends_beyond_a_symbolic_dimension_leave_it_whole() {
        let mut symbols = Symbols::new();
        let n = Dim::symbol(symbols.named("n"));
        assert_eq!(length(&n, [0, i64::MAX, 1]), n);
        assert_eq!(length(&n, [i64::MAX, i64::MIN, -1]), n);
    }
}
