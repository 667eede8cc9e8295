//! OneHot: positions written out as vectors.

use super::{check_nonnegative, data};
use crate::graph::{Dim, ElementType};
use crate::loops::{Action, CompareOp};
use crate::ops::{Infer, Lower, OperatorError, Result, normalize_axis};

/// A dimension of length `depth` is inserted at the axis. A float depth is truncated.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (shape, element) = (ctx.shape(0)?, ctx.element(2)?);
    let axis = normalize_axis(ctx.node.int_or("axis", -1)?, shape.len() + 1)?;
    let depth = if ctx.element(1)?.is_float() {
        match ctx.constant(1).and_then(|depth| depth.floats()) {
            Some(depth) => depth.first().map(|&depth| Dim::constant(depth as i64)),
            None => Some(ctx.fresh("depth")),
        }
    } else {
        ctx.values(1)?.into_iter().next()
    };
    let depth = depth.ok_or_else(|| OperatorError::new("the depth must have one element"))?;
    let dims = [&shape[..axis], &[depth], &shape[axis..]].concat();
    ctx.set(0, element, dims);
    Ok(())
}

/// The second value where the position on the axis is the index, the first elsewhere.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (indices, depth, values) = (data(ctx, 0)?, ctx.input(1)?, data(ctx, 2)?);
    let (_, shape) = ctx.output_type(0)?;
    let axis = normalize_axis(ctx.node.int_or("axis", -1)?, shape.len())?;
    if depth.element.is_float()
        && let Some(symbol) = shape[axis].as_symbol()
    {
        let count = ctx.temporary(ElementType::I64, &[]);
        let mut nest = ctx.nest();
        let source = nest.read(&depth);
        let target = nest.write(&count);
        let zeros = vec![nest.index(0); depth.shape.len()];
        let value = nest.load(source, &zeros);
        let value = nest.cast(ElementType::I64, value);
        nest.store(target, &[], value);
        ctx.launch(nest);
        ctx.step(Action::Bind { symbol, buffer: count.buffer, element: 0 });
    }
    check_nonnegative(ctx, &shape[axis..=axis])?;
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let (positions, choices) = (nest.read(&indices), nest.read(&values));
    let target = nest.write(&output);
    let axes = nest.outer_axes(&output.shape);
    let index = nest.load(positions, &[&axes[..axis], &axes[axis + 1..]].concat());
    let index = nest.cast(ElementType::I64, index);
    let (zero, one, size) = (nest.index(0), nest.index(1), nest.dim(&output.shape[axis]));
    let is_negative = nest.compare(CompareOp::Lt, index, zero);
    let from_end = nest.add(index, size);
    let index = nest.select(is_negative, from_end, index);
    let is_here = nest.compare(CompareOp::Eq, index, axes[axis]);
    let (off, on) = (nest.load(choices, &[zero]), nest.load(choices, &[one]));
    let value = nest.select(is_here, on, off);
    nest.store(target, &axes, value);
    ctx.launch(nest);
    Ok(())
}
