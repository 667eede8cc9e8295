//! Range: numbers from a start to a limit in equal steps.

use super::{check_nonnegative, data};
use crate::graph::{CompareOperator, Dim, ElementType, Tensor};
use crate::loops::{Action, BinaryOp, UnaryOp};
use crate::ops::arguments::Arguments;
use crate::ops::{Infer, Lower, OperatorError, Result};

const ZERO_STEP: &str = "the step is 0";

/// How many numbers there are is an expression of the integer inputs, a constant for constant inputs, and otherwise a
/// symbol that the run computes.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let element = ctx.element(0)?;
    let length = if element.is_integer() {
        let [start, limit, delta] = integers(ctx)?;
        if delta == Dim::ZERO {
            return Err(OperatorError::new(ZERO_STEP));
        }
        let length = length(&start, &limit, &delta);
        ctx.short(length, "range")
    } else {
        let floats: Option<Vec<f64>> = (0..3)
            .map(|index| ctx.constant(index).and_then(Tensor::floats).and_then(|values| values.first().copied()))
            .collect();
        match floats.as_deref() {
            Some([_, _, 0.0]) => return Err(OperatorError::new(ZERO_STEP)),
            Some([start, limit, delta]) => Dim::constant(((limit - start) / delta).ceil().max(0.0) as i64),
            _ => ctx.fresh("range"),
        }
    };
    ctx.set(0, element, vec![length]);
    Ok(())
}

fn integers(ctx: &mut impl Arguments) -> Result<[Dim; 3]> {
    let mut value = |index| {
        let values = ctx.elements(index)?;
        values.into_iter().next().ok_or_else(|| OperatorError::new(format!("input {index} must be a scalar")))
    };
    Ok([value(0)?, value(1)?, value(2)?])
}

fn length(start: &Dim, limit: &Dim, delta: &Dim) -> Dim {
    (limit - start).ceil_div(delta).max(&Dim::ZERO)
}

/// `start + i * delta`, narrow floats in `f32`.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (element, shape) = ctx.output_type(0)?;
    let inputs = [data(ctx, 0)?, data(ctx, 1)?, data(ctx, 2)?];
    if element.is_integer() {
        let [start, limit, delta] = integers(ctx)?;
        ctx.check(delta.compare(CompareOperator::NotEqual, &Dim::ZERO), ZERO_STEP)?;
        if length(&start, &limit, &delta) != shape[0] {
            let [start, limit, delta] = [start, limit, delta].map(|value| ctx.named(value));
            ctx.decide(&shape[0], length(&start, &limit, &delta))?;
        }
    } else if let Some(symbol) = shape[0].as_symbol() {
        let count = ctx.temporary(ElementType::I64, &[]);
        let mut nest = ctx.nest();
        let [start, limit, delta] = [0, 1, 2].map(|index| {
            let parameter = nest.read(&inputs[index]);
            let zeros = vec![nest.index(0); inputs[index].shape.len()];
            let value = nest.load(parameter, &zeros);
            nest.cast(ElementType::F64, value)
        });
        let target = nest.write(&count);
        let span = nest.sub(limit, start);
        let steps = nest.div(span, delta);
        let steps = nest.unary(UnaryOp::Ceil, steps);
        let steps = nest.cast(ElementType::I64, steps);
        let zero = nest.index(0);
        let steps = nest.max(steps, zero);
        nest.store(target, &[], steps);
        ctx.launch(nest);
        ctx.step(Action::Bind { symbol, buffer: count.buffer, element: 0 });
    }
    check_nonnegative(ctx, &shape)?;
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let [start, delta] = [0, 2].map(|index| {
        let parameter = nest.read(&inputs[index]);
        let zeros = vec![nest.index(0); inputs[index].shape.len()];
        nest.load(parameter, &zeros)
    });
    let target = nest.write(&output);
    let axes = nest.outer_axes(&output.shape);
    let position = nest.cast(element.compute_type(), axes[0]);
    let offset = nest.binary(BinaryOp::Mul, position, delta);
    let value = nest.add(start, offset);
    nest.store(target, &axes, value);
    ctx.launch(nest);
    Ok(())
}
