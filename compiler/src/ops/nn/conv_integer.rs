//! ConvInteger and QLinearConv: convolutions of 8-bit integers that sum in 32 bits.

use super::check_fits;
use super::conv::{Convolution, output_shape};
use crate::graph::{Dim, ElementType};
use crate::loops::{ExprId, ReduceOp, Scalar, UnaryOp, View};
use crate::ops::{Infer, Lower, Nest, OperatorError, Result};

/// ConvInteger: as Conv, of 32-bit integers.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (input, weights) = (ctx.shape(0)?, ctx.shape(1)?);
    let shape = output_shape(ctx, &input, &weights)?;
    ctx.set(0, ElementType::I32, shape);
    Ok(())
}

/// QLinearConv: as Conv, of the type of the output's zero point.
pub fn infer_linear(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, input, weights) = (ctx.element(7)?, ctx.shape(0)?, ctx.shape(3)?);
    let shape = output_shape(ctx, &input, &weights)?;
    ctx.set(0, element, shape);
    Ok(())
}

/// An operand: its tensor, and its zero point.
struct Operand {
    view: View,
    zero: Option<View>,
}

/// The zero point of the input as a number, where it is known at compile time: what the padding holds.
fn constant_zero(ctx: &Lower<'_, '_>, index: usize) -> Option<i64> {
    if !ctx.has_input(index) {
        return Some(0);
    }
    ctx.constant(index)?.integers()?.first().copied()
}

/// The sum of (input - zero) * (weight - zero); the zero point of the weights may be one an output channel.
fn accumulate(
    nest: &mut Nest,
    convolution: &Convolution,
    (input, weights): (&Operand, &Operand),
    padding: Option<i64>,
    axes: &[ExprId],
    output: &View,
) -> ExprId {
    let (x, w) = (nest.read(&input.view), nest.read(&weights.view));
    let mut zeros = Vec::new();
    for zero in [&input.zero, &weights.zero] {
        zeros.push(zero.as_ref().map(|view| {
            let zero = channel_value(nest, view, axes, output);
            nest.cast(ElementType::I32, zero)
        }));
    }
    let fill = Scalar::from_i64(input.view.element, padding.unwrap_or(0));
    nest.reduce(ReduceOp::Sum, &convolution.reduced(), |nest, tap| {
        let value = convolution.load_input(nest, x, axes, tap, fill);
        let mut value = nest.cast(ElementType::I32, value);
        let weight = convolution.load_weight(nest, w, axes, tap);
        let mut weight = nest.cast(ElementType::I32, weight);
        if let Some(zero) = zeros[0] {
            value = nest.sub(value, zero);
            // The padding is 0, not minus a zero point that only the run knows.
            if padding.is_none()
                && let Some(inside) = convolution.inside(nest, axes, tap)
            {
                let nothing = nest.integer(ElementType::I32, 0);
                value = nest.select(inside, value, nothing);
            }
        }
        if let Some(zero) = zeros[1] {
            weight = nest.sub(weight, zero);
        }
        nest.mul(value, weight)
    })
}

/// The value of a tensor with one element, or one for each output channel.
fn channel_value(nest: &mut Nest, view: &View, axes: &[ExprId], output: &View) -> ExprId {
    nest.load_broadcast(view, &axes[1..2], &output.shape[1..2])
}

/// Checks that tensors have one element, or one for each output channel.
fn check_channels<'v>(ctx: &mut Lower<'_, '_>, views: impl Iterator<Item = &'v View>, output: &[Dim]) -> Result<()> {
    for view in views {
        check_fits(ctx, "a scale, zero point or bias", view, &output[1..2])?;
    }
    Ok(())
}

fn operand(ctx: &mut Lower<'_, '_>, tensor: usize, zero: usize) -> Result<Operand> {
    let (view, zero) = (ctx.input(tensor)?, ctx.optional_input(zero)?);
    if view.element.bits() != 8 || view.element.is_float() {
        return Err(OperatorError::new(format!("input {tensor} is {}, expected an 8-bit integer", view.element)));
    }
    Ok(Operand { view, zero })
}

/// ConvInteger: one contraction.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (input, weights) = (operand(ctx, 0, 2)?, operand(ctx, 1, 3)?);
    let padding = constant_zero(ctx, 2);
    let (_, shape) = ctx.output_type(0)?;
    let convolution = Convolution::new(ctx, &input.view.shape, &weights.view.shape, &shape)?;
    let zeros = [&input.zero, &weights.zero].into_iter().flatten();
    check_channels(ctx, zeros, &shape)?;
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let axes = nest.outer_axes(&output.shape);
    let sum = accumulate(&mut nest, &convolution, (&input, &weights), padding, &axes, &output);
    let y = nest.write(&output);
    nest.store(y, &axes, sum);
    ctx.launch(nest);
    Ok(())
}

/// QLinearConv: one contraction, scaled, rounded to even and shifted in its epilogue.
pub fn lower_linear(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (input, weights) = (operand(ctx, 0, 2)?, operand(ctx, 3, 5)?);
    let scales = [ctx.input(1)?, ctx.input(4)?, ctx.input(6)?];
    let (zero, bias) = (ctx.input(7)?, ctx.optional_input(8)?);
    let padding = constant_zero(ctx, 2);
    let (_, shape) = ctx.output_type(0)?;
    let convolution = Convolution::new(ctx, &input.view.shape, &weights.view.shape, &shape)?;
    let zeros = [&input.zero, &weights.zero].into_iter().flatten();
    check_channels(ctx, zeros.chain(&scales).chain([&zero]).chain(&bias), &shape)?;
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let axes = nest.outer_axes(&output.shape);
    let mut sum = accumulate(&mut nest, &convolution, (&input, &weights), padding, &axes, &output);
    if let Some(bias) = &bias {
        let bias = channel_value(&mut nest, bias, &axes, &output);
        sum = nest.add(sum, bias);
    }
    let [of_input, of_weights, of_output] = scales.map(|view| {
        let scale = channel_value(&mut nest, &view, &axes, &output);
        nest.cast(ElementType::F32, scale)
    });
    let product = nest.mul(of_input, of_weights);
    let factor = nest.div(product, of_output);
    let value = nest.cast(ElementType::F32, sum);
    let value = nest.mul(value, factor);
    let value = nest.unary(UnaryOp::Round, value);
    let zero = channel_value(&mut nest, &zero, &axes, &output);
    let zero = nest.cast(ElementType::F32, zero);
    let value = nest.add(value, zero);
    // The conversion saturates.
    let value = nest.cast(output.element, value);
    let y = nest.write(&output);
    nest.store(y, &axes, value);
    ctx.launch(nest);
    Ok(())
}
