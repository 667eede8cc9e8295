//! QLinearMatMul: a product of quantized matrices, quantized again.

use super::matmul::{Product, product_shape};
use super::matmul_integer::{parameter, sum_of_products};
use crate::graph::ElementType;
use crate::ops::quantize::quantized;
use crate::ops::{Infer, Lower, Result};

/// The shape of MatMul, in the type of the result's zero point.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let element = ctx.element(7)?;
    let shape = product_shape(&ctx.shape(0)?, &ctx.shape(3)?)?;
    ctx.set(0, element, shape);
    Ok(())
}

/// One contraction; its epilogue quantizes.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (a, b, output) = (ctx.input(0)?, ctx.input(3)?, ctx.output(0)?);
    let element = if a.element.is_float() { ElementType::F32 } else { ElementType::I32 };
    let product = Product::new(ctx, a, b, output)?;
    let shape = product.output.shape.clone();
    let mut inputs = Vec::new();
    for (index, of_rows) in [(1, true), (2, true), (4, false), (5, false), (6, true), (7, true)] {
        let view = ctx.input(index)?;
        inputs.push(parameter(ctx, view, of_rows, &shape)?);
    }
    let mut nest = ctx.nest();
    let target = nest.write(&product.output);
    let point = product.axes(&mut nest);
    let zero_points = [Some(inputs[1].clone()), Some(inputs[3].clone())];
    let sum = sum_of_products(&mut nest, &product, &point, zero_points, element);
    let [a_scale, b_scale, scale, zero_point] =
        [0, 2, 4, 5].map(|input: usize| nest.load_broadcast(&inputs[input], &point.axes, &point.extents));
    let sum = nest.cast(ElementType::F32, sum);
    let factor = nest.mul(a_scale, b_scale);
    let factor = nest.div(factor, scale);
    let value = nest.mul(sum, factor);
    let value = quantized(&mut nest, value, Some(zero_point), product.output.element, true);
    nest.store(target, &point.axes, value);
    ctx.launch(nest);
    Ok(())
}
