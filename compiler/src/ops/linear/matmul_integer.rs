//! MatMulInteger: products of 8-bit matrices with zero points, summed in 32 bits.

use super::matmul::{Point, Product, product_shape};
use crate::graph::{Dim, ElementType};
use crate::loops::{ExprId, ReduceOp, View};
use crate::ops::{Infer, Lower, Nest, OperatorError, Result, check_broadcast};

/// Checks that an operand is of 8-bit integers.
fn check_bytes(element: ElementType) -> Result<()> {
    match element {
        ElementType::I8 | ElementType::U8 => Ok(()),
        other => Err(OperatorError::new(format!("an operand is of type {other}, expected i8 or u8"))),
    }
}

/// The shape of MatMul, in 32-bit integers.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    check_bytes(ctx.element(0)?)?;
    check_bytes(ctx.element(1)?)?;
    let shape = product_shape(&ctx.shape(0)?, &ctx.shape(1)?)?;
    ctx.set(0, ElementType::I32, shape);
    Ok(())
}

/// A parameter of a quantized operand that broadcasts to the result. Vectors belong to rows for the left operand.
pub(super) fn parameter(ctx: &mut Lower<'_, '_>, view: View, of_rows: bool, output: &[Dim]) -> Result<View> {
    let shape = match view.shape.as_slice() {
        [rows] if of_rows && rows.as_const() != Some(1) => vec![rows.clone(), Dim::ONE],
        other => other.to_vec(),
    };
    if shape.len() > output.len() && shape.iter().any(|dim| dim.as_const() != Some(1)) {
        return Err(OperatorError::new("a scale or zero point has more dimensions than the result"));
    }
    let shape = if shape.len() > output.len() { Vec::new() } else { shape };
    check_broadcast(ctx, &shape, output)?;
    Ok(View { shape, ..view })
}

/// The sum of products of the operands less their zero points, in `element`.
pub(super) fn sum_of_products(
    nest: &mut Nest,
    product: &Product,
    point: &Point,
    zero_points: [Option<View>; 2],
    element: ElementType,
) -> ExprId {
    let (a, b) = (nest.read(&product.a), nest.read(&product.b));
    let zero_points = zero_points.map(|view| {
        let view = view?;
        let value = nest.load_broadcast(&view, &point.axes, &point.extents);
        Some(nest.cast(element, value))
    });
    let (a_index, b_index) = product.indices(nest, point);
    let column = point.axes[point.axes.len() - 1];
    nest.reduce(ReduceOp::Sum, &[product.inner()], |nest, k| {
        let left = nest.load(a, &[&a_index[..], &k[..1]].concat());
        let right = nest.load(b, &[&b_index[..], &[k[0], column]].concat());
        let [left, right] = [(left, zero_points[0]), (right, zero_points[1])].map(|(value, zero)| {
            let value = nest.cast(element, value);
            zero.map_or(value, |zero| nest.sub(value, zero))
        });
        nest.mul(left, right)
    })
}

/// One contraction.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (a, b, output) = (ctx.input(0)?, ctx.input(1)?, ctx.output(0)?);
    let zero_points = [ctx.optional_input(2)?, ctx.optional_input(3)?];
    let product = Product::new(ctx, a, b, output)?;
    let shape = product.output.shape.clone();
    let [a_zero, b_zero] = zero_points;
    let a_zero = a_zero.map(|view| parameter(ctx, view, true, &shape)).transpose()?;
    let b_zero = b_zero.map(|view| parameter(ctx, view, false, &shape)).transpose()?;
    let mut nest = ctx.nest();
    let target = nest.write(&product.output);
    let point = product.axes(&mut nest);
    let value = sum_of_products(&mut nest, &product, &point, [a_zero, b_zero], ElementType::I32);
    nest.store(target, &point.axes, value);
    ctx.launch(nest);
    Ok(())
}
