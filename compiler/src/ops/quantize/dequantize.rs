//! DequantizeLinear: elements of a narrow type less their zero point, times their scale.

use super::parameters::Granularity;
use crate::graph::ElementType;
use crate::loops::View;
use crate::ops::{Infer, Lower, OperatorError, Result};

/// The input's shape, in the type of the scale or of `output_dtype`.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let shape = ctx.shape(0)?;
    let mut element = ctx.element(1)?;
    if ctx.node.int_or("output_dtype", 0)? != 0 {
        element = ctx.node.element_type("output_dtype")?.unwrap_or(element);
    }
    if !element.is_float() {
        return Err(OperatorError::new(format!("{element} is not a type to dequantize to")));
    }
    ctx.set(0, element, shape);
    Ok(())
}

/// One elementwise kernel. Zero points are subtracted exactly.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (input, scale, zero_point) = (ctx.input(0)?, ctx.input(1)?, ctx.optional_input(2)?);
    let zero_shape = zero_point.as_ref().map(|view: &View| &view.shape[..]);
    let granularity = Granularity::of(ctx, &input.shape, &scale.shape, zero_shape)?;
    let exact = if input.element.is_float() { ElementType::F32 } else { ElementType::I32 };
    let output = ctx.output(0)?;
    let wide = output.element.compute_type();
    let mut nest = ctx.nest();
    let source = nest.read(&input);
    let target = nest.write(&output);
    let axes = nest.outer_axes(&output.shape);
    let value = nest.load(source, &axes);
    let mut value = nest.cast(exact, value);
    if let Some(view) = zero_point {
        let zero_point = granularity.load(&mut nest, &view, &axes);
        let zero_point = nest.cast(exact, zero_point);
        value = nest.sub(value, zero_point);
    }
    let scale = granularity.load(&mut nest, &scale, &axes);
    let (value, scale) = (nest.cast(wide, value), nest.cast(wide, scale));
    let value = nest.mul(value, scale);
    nest.store(target, &axes, value);
    ctx.launch(nest);
    Ok(())
}
