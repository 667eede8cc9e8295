//! Softmax, LogSoftmax and Hardmax: one kernel over rows.

use crate::graph::{Dim, ElementType};
use crate::loops::{CompareOp, ExprId, KernelBuilder, ParameterId, ReduceOp, UnaryOp, View};
use crate::ops::{Infer, Lower, Nest, OperatorError, Result, normalize_axis};

/// The input's type. Only floats have exponentials.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, shape) = (ctx.element(0)?, ctx.shape(0)?);
    if !element.is_float() {
        return Err(OperatorError::new(format!("the elements are of type {element}, expected a float type")));
    }
    ctx.set(0, element, shape);
    Ok(())
}

/// A tensor as rows along a middle dimension.
struct Rows {
    input: View,
    output: View,
}

impl Rows {
    /// Before operator set 13 a row is everything from the axis on, by default 1; later it is the axis, by default the last.
    fn new(ctx: &mut Lower<'_, '_>) -> Result<Self> {
        let (input, output) = (ctx.input(0)?, ctx.output(0)?);
        let rank = input.shape.len();
        let is_coerced = ctx.node.version < 13;
        let axis = ctx.node.int_or("axis", if is_coerced { 1 } else { -1 })?;
        let axis = match rank {
            // A scalar is a row of one element; old forms may name the end of the shape.
            0 => 0,
            _ if is_coerced && axis == rank as i64 => rank,
            _ => normalize_axis(axis, rank)?,
        };
        let end = if is_coerced { rank } else { (axis + 1).min(rank) };
        let product = |dims: &[Dim]| Dim::product(dims.iter().cloned());
        let shape = vec![product(&input.shape[..axis]), product(&input.shape[axis..end]), product(&input.shape[end..])];
        Ok(Self { input: View { shape: shape.clone(), ..input }, output: View { shape, ..output } })
    }

    fn length(&self) -> &Dim {
        &self.input.shape[1]
    }

    /// The outer axes: those before and after the row.
    fn start(&self, ctx: &Lower<'_, '_>) -> (Nest, ParameterId, ParameterId, Vec<ExprId>) {
        let mut nest = ctx.nest();
        let (source, target) = (nest.read(&self.input), nest.write(&self.output));
        let outer = nest.outer_axes(&[self.input.shape[0].clone(), self.input.shape[2].clone()]);
        (nest, source, target, outer)
    }
}

/// Softmax
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    exponential(ctx, |nest, difference, sum| {
        let power = nest.unary(UnaryOp::Exp, difference);
        nest.div(power, sum)
    })
}

/// LogSoftmax
pub fn lower_log(ctx: &mut Lower<'_, '_>) -> Result<()> {
    exponential(ctx, |nest, difference, sum| {
        let logarithm = nest.unary(UnaryOp::Log, sum);
        nest.sub(difference, logarithm)
    })
}

/// The greatest element is subtracted first, so that no exponential overflows.
fn exponential(
    ctx: &mut Lower<'_, '_>,
    value: fn(&mut KernelBuilder, difference: ExprId, sum: ExprId) -> ExprId,
) -> Result<()> {
    let rows = Rows::new(ctx)?;
    let (mut nest, source, target, outer) = rows.start(ctx);
    let load = |nest: &mut KernelBuilder, position: ExprId| nest.load(source, &[outer[0], position, outer[1]]);
    let extents = [rows.length().clone()];
    let greatest = nest.reduce(ReduceOp::Max, &extents, |nest, position| load(nest, position[0]));
    let sum = nest.reduce(ReduceOp::Sum, &extents, |nest, position| {
        let element = load(nest, position[0]);
        let difference = nest.sub(element, greatest);
        nest.unary(UnaryOp::Exp, difference)
    });
    nest.store_over(target, &extents, |nest, position| {
        let element = load(nest, position[0]);
        let difference = nest.sub(element, greatest);
        (vec![outer[0], position[0], outer[1]], value(nest, difference, sum))
    });
    ctx.launch(nest);
    Ok(())
}

/// Hardmax: 1 at the first of the greatest elements, 0 elsewhere.
pub fn lower_hardmax(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let rows = Rows::new(ctx)?;
    let element: ElementType = rows.output.element;
    let (mut nest, source, target, outer) = rows.start(ctx);
    let extents = [rows.length().clone()];
    let greatest = nest.reduce(ReduceOp::ArgMax { last: false }, &extents, |nest, position| {
        nest.load(source, &[outer[0], position[0], outer[1]])
    });
    nest.store_over(target, &extents, |nest, position| {
        let is_greatest = nest.compare(CompareOp::Eq, position[0], greatest);
        let (one, zero) = (nest.integer(element, 1), nest.integer(element, 0));
        (vec![outer[0], position[0], outer[1]], nest.select(is_greatest, one, zero))
    });
    ctx.launch(nest);
    Ok(())
}
