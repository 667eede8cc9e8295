//! QuantizeLinear: elements divided by a scale, moved by a zero point, and rounded to a narrow type.

use super::parameters::Granularity;
use super::quantized;
use crate::graph::{ElementKind, ElementType};
use crate::loops::View;
use crate::ops::{Infer, Lower, OperatorError, Result};

/// The input's shape, in the type of the zero point, of `output_dtype`, or `u8`.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let shape = ctx.shape(0)?;
    let element = if ctx.has_input(2) {
        ctx.element(2)?
    } else if ctx.node.int_or("output_dtype", 0)? != 0 {
        ctx.node.element_type("output_dtype")?.unwrap_or(ElementType::U8)
    } else {
        ElementType::U8
    };
    if !element.is_integer() && element.kind() != ElementKind::Float || element.bits() > 16 {
        return Err(OperatorError::new(format!("{element} is not a type to quantize to")));
    }
    ctx.set(0, element, shape);
    Ok(())
}

/// One elementwise kernel.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (input, scale, zero_point) = (ctx.input(0)?, ctx.input(1)?, ctx.optional_input(2)?);
    let saturate = ctx.node.flag_or("saturate", true)?;
    let zero_shape = zero_point.as_ref().map(|view: &View| &view.shape[..]);
    let granularity = Granularity::of(ctx, &input.shape, &scale.shape, zero_shape)?;
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let source = nest.read(&input);
    let target = nest.write(&output);
    let axes = nest.outer_axes(&output.shape);
    let value = nest.load(source, &axes);
    let value = nest.cast(ElementType::F32, value);
    let scale = granularity.load(&mut nest, &scale, &axes);
    let scale = nest.cast(ElementType::F32, scale);
    let zero_point = zero_point.map(|view| granularity.load(&mut nest, &view, &axes));
    let ratio = nest.div(value, scale);
    let value = quantized(&mut nest, ratio, zero_point, output.element, saturate);
    nest.store(target, &axes, value);
    ctx.launch(nest);
    Ok(())
}
