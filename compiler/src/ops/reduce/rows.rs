//! The reductions: each a combination of elements, with something done to every element before and to the result after.

use super::axes::{self, Split};
use crate::graph::{Dim, ElementType};
use crate::loops::{CompareOp, ExprId, KernelBuilder, ReduceOp, UnaryOp};
use crate::ops::{Infer, Lower, OperatorError, Result};

/// What one reduction does.
struct Row {
    /// How elements are combined.
    op: ReduceOp,
    /// What is done to each before.
    before: fn(&mut KernelBuilder, ExprId) -> ExprId,
    /// What is done to the result, given how many elements there were.
    after: fn(&mut KernelBuilder, ExprId, &Dim) -> ExprId,
    /// Whether integers are computed in `f64`.
    is_real: bool,
}

fn same(_: &mut KernelBuilder, value: ExprId) -> ExprId {
    value
}

fn done(_: &mut KernelBuilder, value: ExprId, _: &Dim) -> ExprId {
    value
}

fn magnitude(nest: &mut KernelBuilder, value: ExprId) -> ExprId {
    nest.unary(UnaryOp::Abs, value)
}

fn square(nest: &mut KernelBuilder, value: ExprId) -> ExprId {
    nest.mul(value, value)
}

fn root(nest: &mut KernelBuilder, value: ExprId, _: &Dim) -> ExprId {
    nest.unary(UnaryOp::Sqrt, value)
}

fn logarithm(nest: &mut KernelBuilder, value: ExprId, _: &Dim) -> ExprId {
    nest.unary(UnaryOp::Log, value)
}

fn share(nest: &mut KernelBuilder, value: ExprId, count: &Dim) -> ExprId {
    let element = nest.type_of(value);
    let count = nest.dim(count);
    let count = nest.cast(element, count);
    nest.div(value, count)
}

const PLAIN: Row = Row { op: ReduceOp::Sum, before: same, after: done, is_real: false };

/// Axes of the attribute or the input, with or without the reduced dimensions.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, shape) = (ctx.element(0)?, ctx.shape(0)?);
    let shape = axes::infer(ctx, &shape)?;
    ctx.set(0, element, shape);
    Ok(())
}

/// ReduceL1
pub fn lower_l1(ctx: &mut Lower<'_, '_>) -> Result<()> {
    lower(ctx, &Row { before: magnitude, ..PLAIN })
}

/// ReduceL2
pub fn lower_l2(ctx: &mut Lower<'_, '_>) -> Result<()> {
    lower(ctx, &Row { before: square, after: root, is_real: true, ..PLAIN })
}

/// ReduceLogSum
pub fn lower_log_sum(ctx: &mut Lower<'_, '_>) -> Result<()> {
    lower(ctx, &Row { after: logarithm, is_real: true, ..PLAIN })
}

/// ReduceMax
pub fn lower_max(ctx: &mut Lower<'_, '_>) -> Result<()> {
    lower(ctx, &Row { op: ReduceOp::Max, ..PLAIN })
}

/// ReduceMean
pub fn lower_mean(ctx: &mut Lower<'_, '_>) -> Result<()> {
    lower(ctx, &Row { after: share, ..PLAIN })
}

/// ReduceMin
pub fn lower_min(ctx: &mut Lower<'_, '_>) -> Result<()> {
    lower(ctx, &Row { op: ReduceOp::Min, ..PLAIN })
}

/// ReduceProd
pub fn lower_product(ctx: &mut Lower<'_, '_>) -> Result<()> {
    lower(ctx, &Row { op: ReduceOp::Product, ..PLAIN })
}

/// ReduceSum
pub fn lower_sum(ctx: &mut Lower<'_, '_>) -> Result<()> {
    lower(ctx, &PLAIN)
}

/// ReduceSumSquare
pub fn lower_sum_square(ctx: &mut Lower<'_, '_>) -> Result<()> {
    lower(ctx, &Row { before: square, ..PLAIN })
}

/// The type that elements are computed in.
fn computed(element: ElementType, is_real: bool) -> Result<ElementType> {
    match element {
        ElementType::Bool => Ok(ElementType::Bool),
        other if other.is_float() => Ok(other.compute_type()),
        other if other.is_integer() => Ok(if is_real { ElementType::F64 } else { other.compute_type() }),
        other => Err(OperatorError::new(format!("elements of type {other} cannot be reduced"))),
    }
}

fn lower(ctx: &mut Lower<'_, '_>, row: &Row) -> Result<()> {
    let input = ctx.input(0)?;
    let element = computed(input.element, row.is_real)?;
    let op = match (element, row.op) {
        (ElementType::Bool, ReduceOp::Max) => ReduceOp::Or,
        (ElementType::Bool, ReduceOp::Min) => ReduceOp::And,
        (ElementType::Bool, _) => return Err(OperatorError::new("elements of type bool have only Max and Min")),
        (_, op) => op,
    };
    let split = Split::new(ctx, &input.shape)?;
    let output = split.output(ctx.output(0)?);
    let mut nest = ctx.nest();
    let source = nest.read(&input);
    let target = nest.write(&output);
    let outer = nest.outer_axes(&output.shape);
    let one = |nest: &mut KernelBuilder, inner: &[ExprId]| {
        let value = split.load(nest, source, &outer, inner);
        let value = nest.cast(element, value);
        (row.before)(nest, value)
    };
    let value = match split.reduced.is_empty() {
        true => one(&mut nest, &[]),
        false => nest.reduce(op, &split.extents(), one),
    };
    let value = (row.after)(&mut nest, value, &split.count());
    let value = nest.cast(output.element.compute_type(), value);
    nest.store(target, &outer, value);
    ctx.launch(nest);
    Ok(())
}

/// ReduceLogSumExp: the greatest element is taken out of the sum, so that no exponential overflows.
pub fn lower_log_sum_exp(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let input = ctx.input(0)?;
    let element = computed(input.element, true)?;
    if element == ElementType::Bool {
        return Err(OperatorError::new("elements of type bool cannot be added"));
    }
    let split = Split::new(ctx, &input.shape)?;
    let output = split.output(ctx.output(0)?);
    let mut nest = ctx.nest();
    let source = nest.read(&input);
    let target = nest.write(&output);
    let outer = nest.outer_axes(&output.shape);
    let one = |nest: &mut KernelBuilder, inner: &[ExprId]| {
        let value = split.load(nest, source, &outer, inner);
        nest.cast(element, value)
    };
    if split.reduced.is_empty() {
        let value = one(&mut nest, &[]);
        let value = nest.cast(output.element.compute_type(), value);
        nest.store(target, &outer, value);
        ctx.launch(nest);
        return Ok(());
    }
    let greatest = nest.reduce(ReduceOp::Max, &split.extents(), one);
    // Infinities stay in the sum: their difference would be NaN.
    let size = nest.unary(UnaryOp::Abs, greatest);
    let infinity = nest.float(element, f64::INFINITY);
    let zero = nest.float(element, 0.0);
    let is_finite = nest.compare(CompareOp::Lt, size, infinity);
    let shift = nest.select(is_finite, greatest, zero);
    let sum = nest.reduce(ReduceOp::Sum, &split.extents(), |nest, inner| {
        let value = one(nest, inner);
        let difference = nest.sub(value, shift);
        nest.unary(UnaryOp::Exp, difference)
    });
    let logarithm = nest.unary(UnaryOp::Log, sum);
    let value = nest.add(logarithm, shift);
    let value = nest.cast(output.element.compute_type(), value);
    nest.store(target, &outer, value);
    ctx.launch(nest);
    Ok(())
}
