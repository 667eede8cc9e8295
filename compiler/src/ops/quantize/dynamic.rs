//! DynamicQuantizeLinear: quantization to `u8` with a scale and zero point found from the data.

use super::quantized;
use crate::graph::ElementType;
use crate::loops::{CompareOp, ReduceOp};
use crate::ops::{Infer, Lower, Result};

/// The input's shape in `u8`, the scale and the zero point.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let shape = ctx.shape(0)?;
    ctx.set(0, ElementType::U8, shape);
    ctx.set(1, ElementType::F32, Vec::new());
    ctx.set(2, ElementType::U8, Vec::new());
    Ok(())
}

/// A kernel that finds scale and zero point from the least and greatest value, and one that quantizes.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let input = ctx.input(0)?;
    let scale = if ctx.wants_output(1) { ctx.output(1)? } else { ctx.temporary(ElementType::F32, &[]) };
    let zero_point = if ctx.wants_output(2) { ctx.output(2)? } else { ctx.temporary(ElementType::U8, &[]) };
    let mut nest = ctx.nest();
    let source = nest.read(&input);
    let (scale_target, zero_target) = (nest.write(&scale), nest.write(&zero_point));
    let [low, high] = [ReduceOp::Min, ReduceOp::Max]
        .map(|op| nest.reduce(op, &input.shape, |nest, position| nest.load(source, position)));
    let zero = nest.float(ElementType::F32, 0.0);
    let (low, high) = (nest.min(low, zero), nest.max(high, zero));
    let range = nest.sub(high, low);
    let steps = nest.float(ElementType::F32, 255.0);
    let step = nest.div(range, steps);
    // A tensor of zeros has no range; any scale represents it.
    let (is_zero, one) = (nest.compare(CompareOp::Eq, range, zero), nest.float(ElementType::F32, 1.0));
    let step = nest.select(is_zero, one, step);
    let negated = nest.sub(zero, low);
    let offset = nest.div(negated, step);
    let offset = quantized(&mut nest, offset, None, ElementType::U8, true);
    nest.store(scale_target, &[], step);
    nest.store(zero_target, &[], offset);
    ctx.launch(nest);
    if !ctx.wants_output(0) {
        return Ok(());
    }
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let source = nest.read(&input);
    let target = nest.write(&output);
    let axes = nest.outer_axes(&output.shape);
    let value = nest.load(source, &axes);
    let step = nest.load_broadcast(&scale, &axes, &output.shape);
    let offset = nest.load_broadcast(&zero_point, &axes, &output.shape);
    let ratio = nest.div(value, step);
    let value = quantized(&mut nest, ratio, Some(offset), ElementType::U8, true);
    nest.store(target, &axes, value);
    ctx.launch(nest);
    Ok(())
}
