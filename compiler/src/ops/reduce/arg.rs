//! ArgMax and ArgMin: positions of the greatest and least elements along an axis.

use crate::graph::{Dim, ElementType};
use crate::loops::{ReduceOp, View};
use crate::ops::{Infer, Lower, OperatorError, Result, normalize_axis};

/// The input's shape without the axis, or with 1 in its place.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let mut shape = ctx.shape(0)?;
    let axis = normalize_axis(ctx.node.int_or("axis", 0)?, shape.len())?;
    if ctx.node.flag_or("keepdims", true)? {
        shape[axis] = Dim::ONE;
    } else {
        shape.remove(axis);
    }
    ctx.set(0, ElementType::I64, shape);
    Ok(())
}

/// ArgMax
pub fn lower_max(ctx: &mut Lower<'_, '_>) -> Result<()> {
    lower(ctx, |last| ReduceOp::ArgMax { last })
}

/// ArgMin
pub fn lower_min(ctx: &mut Lower<'_, '_>) -> Result<()> {
    lower(ctx, |last| ReduceOp::ArgMin { last })
}

fn lower(ctx: &mut Lower<'_, '_>, op: fn(bool) -> ReduceOp) -> Result<()> {
    let input = ctx.input(0)?;
    if !input.element.is_float() && !input.element.is_integer() {
        return Err(OperatorError::new(format!("elements of type {} have no order", input.element)));
    }
    let axis = normalize_axis(ctx.node.int_or("axis", 0)?, input.shape.len())?;
    let last = ctx.node.flag_or("select_last_index", false)?;
    let mut kept = input.shape.clone();
    kept[axis] = Dim::ONE;
    let output = View { shape: kept, ..ctx.output(0)? };
    let mut nest = ctx.nest();
    let source = nest.read(&input);
    let target = nest.write(&output);
    let outer = nest.outer_axes(&output.shape);
    let value = nest.reduce(op(last), &input.shape[axis..=axis], |nest, position| {
        let mut index = outer.clone();
        index[axis] = position[0];
        nest.load(source, &index)
    });
    nest.store(target, &outer, value);
    ctx.launch(nest);
    Ok(())
}
