//! Concat: tensors one after another along an axis.

use super::{check_equal, data, write_part};
use crate::graph::Dim;
use crate::ops::{Infer, Lower, OperatorError, Result};

/// The axis adds up; the other dimensions are equal.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let mut shape = ctx.shape(0)?;
    let axis = axis(ctx.node.int("axis")?, ctx.node.version, shape.len())?;
    for index in 1..ctx.node.inputs.len() {
        let other = ctx.shape(index)?;
        if other.len() != shape.len() {
            return Err(OperatorError::new(format!(
                "input {index} has the rank {}, input 0 has the rank {}",
                other.len(),
                shape.len()
            )));
        }
        for (position, (dim, other)) in shape.iter_mut().zip(other).enumerate() {
            if position == axis {
                *dim = &*dim + &other;
            } else if dim.known_unequal(&other) {
                return Err(OperatorError::new(format!(
                    "dimension {position} of input {index} is not that of input 0"
                )));
            } else if !dim.is_const() && other.is_const() {
                *dim = other;
            }
        }
    }
    let element = ctx.element(0)?;
    ctx.set(0, element, shape);
    Ok(())
}

/// Each input is copied to its place in the output.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    if ctx.node.inputs.len() == 1 {
        return super::alias(ctx);
    }
    let inputs = (0..ctx.node.inputs.len()).map(|index| data(ctx, index)).collect::<Result<Vec<_>>>()?;
    let output = ctx.output(0)?;
    let axis = axis(ctx.node.int("axis")?, ctx.node.version, output.shape.len())?;
    let mut offset = Dim::ZERO;
    for input in inputs {
        for (position, (dim, target)) in input.shape.iter().zip(&output.shape).enumerate() {
            if position != axis {
                check_equal(ctx, dim, target, "the dimensions besides the axis are not equal")?;
            }
        }
        if input.shape.iter().any(|dim| dim.as_const() == Some(0)) {
            continue;
        }
        let mut nest = ctx.nest();
        let source = nest.read(&input);
        let target = write_part(&mut nest, &output);
        let axes = nest.outer_axes(&input.shape);
        let value = nest.load(source, &axes);
        let start = nest.dim(&offset);
        let mut index = axes.clone();
        index[axis] = nest.add(axes[axis], start);
        nest.store(target, &index, value);
        ctx.launch(nest);
        offset = offset + &input.shape[axis];
    }
    Ok(())
}

/// The axis, which operator set 1 lets be left out.
fn axis(axis: Option<i64>, version: i64, rank: usize) -> Result<usize> {
    let axis = match axis {
        Some(axis) => axis,
        None if version < 4 => 1,
        None => return Err(OperatorError::new("attribute `axis` is missing")),
    };
    crate::ops::normalize_axis(axis, rank)
}
