//! EyeLike and Trilu: matrices by diagonals.

use super::data;
use crate::loops::CompareOp;
use crate::ops::{Infer, Lower, OperatorError, Result};

/// EyeLike: a matrix of the input's shape, and of its type unless the node names another.
pub fn infer_eye(ctx: &mut Infer<'_>) -> Result<()> {
    let shape = ctx.shape(0)?;
    if shape.len() != 2 {
        return Err(OperatorError::new(format!("the input must be a matrix and has the rank {}", shape.len())));
    }
    let element = match ctx.node.element_type("dtype")? {
        Some(element) => element,
        None => ctx.element(0)?,
    };
    ctx.set(0, element, shape);
    Ok(())
}

/// EyeLike: 1 on diagonal `k`, 0 elsewhere.
pub fn lower_eye(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let diagonal = ctx.node.int_or("k", 0)?;
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let target = nest.write(&output);
    let axes = nest.outer_axes(&output.shape);
    let (distance, diagonal) = (nest.sub(axes[1], axes[0]), nest.index(diagonal));
    let is_there = nest.compare(CompareOp::Eq, distance, diagonal);
    let value = nest.cast(output.element, is_there);
    nest.store(target, &axes, value);
    ctx.launch(nest);
    Ok(())
}

/// Trilu: like the input.
pub fn infer_triangle(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, shape) = (ctx.element(0)?, ctx.shape(0)?);
    if shape.len() < 2 {
        return Err(OperatorError::new("the input must have at least two dimensions"));
    }
    ctx.set(0, element, shape);
    Ok(())
}

/// Trilu: the elements on one side of diagonal `k` and on it, 0 elsewhere.
pub fn lower_triangle(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let input = data(ctx, 0)?;
    let upper = ctx.node.flag_or("upper", true)?;
    let constant = ctx.known(1).and_then(|values| values.into_iter().next());
    let diagonal = ctx.optional_input(1)?;
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let source = nest.read(&input);
    let target = nest.write(&output);
    let axes = nest.outer_axes(&output.shape);
    let diagonal = match (constant, diagonal) {
        (Some(dim), _) => nest.dim(&dim),
        (None, Some(view)) => {
            let parameter = nest.read(&view);
            let zeros = vec![nest.index(0); view.shape.len()];
            nest.load(parameter, &zeros)
        }
        (None, None) => nest.index(0),
    };
    let distance = nest.sub(axes[axes.len() - 1], axes[axes.len() - 2]);
    let side = if upper { CompareOp::Ge } else { CompareOp::Le };
    let is_kept = nest.compare(side, distance, diagonal);
    let value = nest.load(source, &axes);
    let zero = nest.integer(input.element, 0);
    let value = nest.select(is_kept, value, zero);
    nest.store(target, &axes, value);
    ctx.launch(nest);
    Ok(())
}
