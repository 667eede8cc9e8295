//! Split: one tensor cut into several along an axis.

use super::{check_equal, check_nonnegative, data};
use crate::graph::Dim;
use crate::ops::arguments::Arguments;
use crate::ops::{Infer, Lower, OperatorError, Result, normalize_axis};

/// Lengths along the axis: given, or equal ones. From operator set 18 on the last may be shorter.
fn lengths(ctx: &mut impl Arguments, dim: &Dim) -> Result<Vec<Dim>> {
    let count = ctx.argument_node().outputs.len();
    if let Some(lengths) = ctx.integers("split", 1)? {
        if lengths.len() != count {
            return Err(OperatorError::new(format!("there are {} lengths for {count} outputs", lengths.len())));
        }
        return Ok(lengths);
    }
    if let Some(parts) = ctx.argument_node().int("num_outputs")?
        && parts != count as i64
    {
        return Err(OperatorError::new(format!("`num_outputs` is {parts} and there are {count} outputs")));
    }
    let parts = Dim::constant(count as i64);
    if ctx.argument_node().version < 18 {
        return Ok(vec![dim.floor_div(&parts); count]);
    }
    let length = dim.ceil_div(&parts);
    let rest = |index: usize| (dim - &length * index as i64).max(&Dim::ZERO).min(&length);
    // Where the division is exact this is found by the algebra, and all lengths are equal.
    Ok((0..count)
        .map(|index| if index + 1 == count || dim.is_const() { rest(index) } else { length.clone() })
        .collect())
}

/// Each output has its length along the axis.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, shape) = (ctx.element(0)?, ctx.shape(0)?);
    let axis = normalize_axis(ctx.node.int_or("axis", 0)?, shape.len())?;
    for (index, length) in lengths(ctx, &shape[axis])?.into_iter().enumerate() {
        let mut part = shape.clone();
        part[axis] = length;
        ctx.set(index, element, part);
    }
    Ok(())
}

/// Each output is a copy of its part.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let input = data(ctx, 0)?;
    let axis = normalize_axis(ctx.node.int_or("axis", 0)?, input.shape.len())?;
    let lengths = lengths(ctx, &input.shape[axis])?;
    check_nonnegative(ctx, &lengths)?;
    check_equal(ctx, &Dim::sum(&lengths), &input.shape[axis], "the lengths do not add up to the dimension")?;
    let mut offset = Dim::ZERO;
    for (index, length) in lengths.iter().enumerate() {
        if ctx.wants_output(index) {
            let output = ctx.output(index)?;
            let mut nest = ctx.nest();
            let source = nest.read(&input);
            let target = nest.write(&output);
            let axes = nest.outer_axes(&output.shape);
            let start = nest.dim(&offset);
            let mut from = axes.clone();
            from[axis] = nest.add(axes[axis], start);
            let value = nest.load(source, &from);
            nest.store(target, &axes, value);
            ctx.launch(nest);
        }
        offset = offset + length;
    }
    Ok(())
}
