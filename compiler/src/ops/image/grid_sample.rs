//! GridSample and AffineGrid: elements at positions that a tensor gives, in parts of each axis from -1 to 1.

use super::coordinates::{number, size};
use super::filter::Filter;
use crate::graph::{Dim, ElementType, Node};
use crate::loops::{BinaryOp, CompareOp, ExprId, KernelBuilder, ReduceOp, Scalar, UnaryOp};
use crate::ops::arguments::Arguments;
use crate::ops::nn::window::{both, decide, load_guarded};
use crate::ops::{Infer, Lower, OperatorError, Result};

/// What lies beyond the input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Padding {
    Zeros,
    Border,
    Reflection,
}

fn padding(node: &Node) -> Result<Padding> {
    Ok(match node.text_or("padding_mode", "zeros")? {
        "zeros" => Padding::Zeros,
        "border" => Padding::Border,
        "reflection" => Padding::Reflection,
        other => {
            return Err(OperatorError::new(format!(
                "`padding_mode` is `{other}`, expected zeros, border or reflection"
            )));
        }
    })
}

/// The filter; none for the nearest element.
fn filter(node: &Node) -> Result<Option<Filter>> {
    Ok(match node.text_or("mode", "linear")? {
        "linear" | "bilinear" => Some(Filter::Linear),
        "cubic" | "bicubic" => Some(Filter::Cubic(-0.75)),
        "nearest" => None,
        other => return Err(OperatorError::new(format!("`mode` is `{other}`, expected linear, nearest or cubic"))),
    })
}

/// GridSample: batch and channels of the input, the other dimensions of the grid.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, input, grid) = (ctx.element(0)?, ctx.shape(0)?, ctx.shape(1)?);
    if input.len() < 3 || grid.len() != input.len() {
        return Err(OperatorError::new(format!(
            "input and grid have the ranks {} and {}, expected equal ones of at least 3",
            input.len(),
            grid.len()
        )));
    }
    let dims = [&input[..2], &grid[1..grid.len() - 1]].concat();
    ctx.set(0, element, dims);
    Ok(())
}

/// An axis of the input that is sampled.
struct SampledAxis<'a> {
    dim: &'a Dim,
    padding: Padding,
    /// Whether -1 and 1 are the middles of the first and last element, else their outer edges.
    align_corners: bool,
}

impl SampledAxis<'_> {
    /// The position in elements of a coordinate from -1 to 1.
    fn place(&self, nest: &mut KernelBuilder, coordinate: ExprId) -> ExprId {
        let (one, half) = (number(nest, 1.0), number(nest, 0.5));
        let from_start = nest.add(coordinate, one);
        if self.align_corners {
            let last = size(nest, &(self.dim - 1));
            let place = nest.mul(from_start, half);
            return nest.mul(place, last);
        }
        let extent = size(nest, self.dim);
        let place = nest.mul(from_start, extent);
        let place = nest.sub(place, one);
        nest.mul(place, half)
    }

    /// A position brought into the input as the padding says; unchanged with zeros.
    fn fold(&self, nest: &mut KernelBuilder, place: ExprId) -> ExprId {
        let (zero, last) = (number(nest, 0.0), size(nest, &(self.dim - 1)));
        match self.padding {
            Padding::Zeros => place,
            Padding::Border => {
                let place = nest.max(place, zero);
                nest.min(place, last)
            }
            Padding::Reflection => {
                // There and back again between the ends.
                let edge = number(nest, if self.align_corners { 0.0 } else { 0.5 });
                let length = if self.align_corners { last } else { size(nest, self.dim) };
                let period = nest.add(length, length);
                let offset = nest.add(place, edge);
                let rounds = nest.div(offset, period);
                let rounds = nest.unary(UnaryOp::Floor, rounds);
                let passed = nest.mul(rounds, period);
                let forth = nest.sub(offset, passed);
                let back = nest.sub(period, forth);
                let place = nest.min(forth, back);
                nest.sub(place, edge)
            }
        }
    }

    /// The index of an integral position, and the condition that there is an element where there may be none.
    fn index(&self, nest: &mut KernelBuilder, place: ExprId) -> (ExprId, Option<ExprId>) {
        let place = self.fold(nest, place);
        // Reflections of integral positions may be rounded.
        let index = if self.padding == Padding::Reflection { nest.unary(UnaryOp::Round, place) } else { place };
        let index = nest.cast(ElementType::I64, index);
        if self.padding == Padding::Zeros {
            let inside = nest.in_range(index, self.dim);
            return (index, Some(inside));
        }
        let (zero, last) = (nest.index(0), nest.dim(&(self.dim - 1)));
        let index = nest.max(index, zero);
        (nest.min(index, last), None)
    }
}

/// GridSample: the nearest element, or a weighted sum of those around.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (input, grid) = (ctx.input(0)?, ctx.input(1)?);
    let (filter, padding) = (filter(ctx.node)?, padding(ctx.node)?);
    let align_corners = ctx.node.flag_or("align_corners", false)?;
    let dims = &input.shape[2..];
    let rank = dims.len();
    let coordinates = Dim::constant(rank as i64);
    super::check_equal(ctx, &grid.shape[rank + 1], &coordinates, "the grid has not one coordinate an axis")?;
    super::check_equal(ctx, &grid.shape[0], &input.shape[0], "input and grid have different batches")?;
    for dim in dims {
        super::check_filled(ctx, dim)?;
    }
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let (x, g) = (nest.read(&input), nest.read(&grid));
    let axes = nest.outer_axes(&output.shape);
    let sampled: Vec<SampledAxis<'_>> = dims.iter().map(|dim| SampledAxis { dim, padding, align_corners }).collect();
    let mut places = Vec::new();
    for (axis, sampled) in sampled.iter().enumerate() {
        // The last axis comes first.
        let coordinate = nest.index((rank - 1 - axis) as i64);
        let coordinate = nest.load(g, &[&axes[..1], &axes[2..], &[coordinate]].concat());
        let coordinate = nest.cast(ElementType::F32, coordinate);
        let mut place = sampled.place(&mut nest, coordinate);
        if filter.is_none() {
            place = nest.unary(UnaryOp::Round, place);
        }
        if filter == Some(Filter::Linear) {
            place = sampled.fold(&mut nest, place);
        }
        places.push(place);
    }
    let zero = Scalar::from_i64(input.element, 0);
    let load = |nest: &mut KernelBuilder, at: &[ExprId]| {
        let mut index = axes[..2].to_vec();
        let mut guard = None;
        for (sampled, &place) in sampled.iter().zip(at) {
            let (position, inside) = sampled.index(nest, place);
            index.push(position);
            if let Some(inside) = inside {
                guard = both(nest, guard, inside);
            }
        }
        load_guarded(nest, x, &index, guard, zero)
    };
    let value = match filter {
        None => load(&mut nest, &places),
        Some(filter) => {
            let (first, count) = (1 - filter.support(), 2 * filter.support());
            let sum = nest.reduce(ReduceOp::Sum, &vec![Dim::constant(count); rank], |nest, taps| {
                let mut weight: Option<ExprId> = None;
                let mut at = Vec::new();
                for (&place, &tap) in places.iter().zip(taps) {
                    let floor = nest.unary(UnaryOp::Floor, place);
                    let (offset, tap) = (number(nest, first as f64), nest.cast(ElementType::F32, tap));
                    let start = nest.add(floor, offset);
                    let position = nest.add(start, tap);
                    let distance = nest.sub(position, place);
                    let factor = filter.weight(nest, distance);
                    weight = Some(weight.map_or(factor, |weight| nest.mul(weight, factor)));
                    at.push(position);
                }
                let value = load(nest, &at);
                let value = nest.cast(ElementType::F32, value);
                weight.map_or(value, |weight| nest.mul(value, weight))
            });
            nest.cast(input.element.compute_type(), sum)
        }
    };
    let y = nest.write(&output);
    nest.store(y, &axes, value);
    ctx.launch(nest);
    Ok(())
}

fn grid_sizes(ctx: &mut impl Arguments) -> Result<Vec<Dim>> {
    let sizes = ctx.elements(1)?;
    if sizes.len() == 4 || sizes.len() == 5 {
        return Ok(sizes);
    }
    Err(OperatorError::new(format!("`size` has {} numbers, expected 4 for images or 5 for volumes", sizes.len())))
}

/// AffineGrid: batch, the spatial sizes, and a coordinate for each of them.
pub fn infer_affine(ctx: &mut Infer<'_>) -> Result<()> {
    let element = ctx.element(0)?;
    let sizes = grid_sizes(ctx)?;
    let mut shape = vec![sizes[0].clone()];
    shape.extend_from_slice(&sizes[2..]);
    shape.push(Dim::constant(sizes.len() as i64 - 2));
    ctx.set(0, element, shape);
    Ok(())
}

/// AffineGrid: a matrix times the coordinates of each position, the last axis first, and 1.
pub fn lower_affine(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let theta = ctx.input(0)?;
    let sizes = grid_sizes(ctx)?;
    let rank = sizes.len() - 2;
    if theta.shape.len() != 3 {
        return Err(OperatorError::new(format!("`theta` has rank {}, expected 3", theta.shape.len())));
    }
    let expected = [sizes[0].clone(), Dim::constant(rank as i64), Dim::constant(rank as i64 + 1)];
    for (a, b) in theta.shape.iter().zip(&expected) {
        super::check_equal(ctx, a, b, "the shape of `theta` does not fit `size`")?;
    }
    decide(ctx, &sizes, &sizes)?;
    let align_corners = ctx.node.flag_or("align_corners", false)?;
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let (t, y) = (nest.read(&theta), nest.write(&output));
    let axes = nest.outer_axes(&output.shape);
    let (batch, row) = (axes[0], axes[rank + 1]);
    let compute = theta.element.compute_type();
    let last = nest.index(rank as i64);
    let mut value = nest.load(t, &[batch, row, last]);
    for column in 0..rank {
        let axis = rank - 1 - column;
        let coordinate = coordinate(&mut nest, axes[1 + axis], &sizes[2 + axis], align_corners);
        let coordinate = nest.cast(compute, coordinate);
        let column = nest.index(column as i64);
        let factor = nest.load(t, &[batch, row, column]);
        let term = nest.mul(factor, coordinate);
        value = nest.add(value, term);
    }
    nest.store(y, &axes, value);
    ctx.launch(nest);
    Ok(())
}

/// The coordinate from -1 to 1 of a position, in `f64`.
fn coordinate(nest: &mut KernelBuilder, position: ExprId, dim: &Dim, align_corners: bool) -> ExprId {
    let element = ElementType::F64;
    let position = nest.cast(element, position);
    let (one, two) = (nest.float(element, 1.0), nest.float(element, 2.0));
    let doubled = nest.mul(position, two);
    let extent = nest.dim(dim);
    let extent = nest.cast(element, extent);
    if !align_corners {
        let middle = nest.add(doubled, one);
        let part = nest.div(middle, extent);
        return nest.sub(part, one);
    }
    let last = nest.sub(extent, one);
    let part = nest.div(doubled, last);
    let coordinate = nest.sub(part, one);
    let is_single = nest.compare(CompareOp::Le, extent, one);
    let start = nest.binary(BinaryOp::Sub, one, two);
    nest.select(is_single, start, coordinate)
}
