//! LRN: each element by a power of the squares around it across channels.

use crate::graph::Dim;
use crate::loops::{BinaryOp, ReduceOp, Scalar};
use crate::ops::{Infer, Lower, OperatorError, Result};

/// Like the input.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, shape) = (ctx.element(0)?, ctx.shape(0)?);
    if shape.len() < 2 {
        return Err(OperatorError::new("the input has no channel dimension"));
    }
    ctx.set(0, element, shape);
    Ok(())
}

/// x / (bias + alpha / size * sum of squares)^beta. Of an even `size`, the odd channel is after the element's.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let input = ctx.input(0)?;
    let size = ctx.node.required_int("size")?;
    if size < 1 {
        return Err(OperatorError::new(format!("`size` is {size}, expected a positive number")));
    }
    let alpha = f64::from(ctx.node.float_or("alpha", 1e-4)?);
    let beta = f64::from(ctx.node.float_or("beta", 0.75)?);
    let bias = f64::from(ctx.node.float_or("bias", 1.0)?);
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let (x, y) = (nest.read(&input), nest.write(&output));
    let axes = nest.outer_axes(&output.shape);
    let zero = Scalar::from_i64(input.element, 0);
    let squares = nest.reduce(ReduceOp::Sum, &[Dim::constant(size)], |nest, tap| {
        let before = nest.index((size - 1) / 2);
        let channel = nest.add(axes[1], tap[0]);
        let channel = nest.sub(channel, before);
        let inside = nest.in_range(channel, &input.shape[1]);
        let index = [&axes[..1], &[channel], &axes[2..]].concat();
        let value = nest.load_where(x, &index, inside, zero);
        nest.mul(value, value)
    });
    let element = nest.type_of(squares);
    let (factor, bias) = (nest.float(element, alpha / size as f64), nest.float(element, bias));
    let scaled = nest.mul(squares, factor);
    let base = nest.add(scaled, bias);
    let exponent = nest.float(element, -beta);
    let factor = nest.binary(BinaryOp::Pow, base, exponent);
    let value = nest.load(x, &axes);
    let value = nest.mul(value, factor);
    nest.store(y, &axes, value);
    ctx.launch(nest);
    Ok(())
}
