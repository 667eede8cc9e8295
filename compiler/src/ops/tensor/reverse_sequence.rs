//! ReverseSequence: the first elements of each sequence of a batch in reverse order.

use super::data;
use crate::graph::ElementType;
use crate::loops::CompareOp;
use crate::ops::{Infer, Lower, OperatorError, Result, normalize_axis};

/// The output is like the input.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, shape) = (ctx.element(0)?, ctx.shape(0)?);
    ctx.set(0, element, shape);
    Ok(())
}

/// Each time step below the sequence's length is read from the other end of the sequence.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (input, lengths) = (data(ctx, 0)?, ctx.input(1)?);
    let batch = normalize_axis(ctx.node.int_or("batch_axis", 1)?, input.shape.len())?;
    let time = normalize_axis(ctx.node.int_or("time_axis", 0)?, input.shape.len())?;
    if batch == time {
        return Err(OperatorError::new("`batch_axis` and `time_axis` are the same"));
    }
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let (source, lengths) = (nest.read(&input), nest.read(&lengths));
    let target = nest.write(&output);
    let axes = nest.outer_axes(&output.shape);
    let length = nest.load(lengths, &[axes[batch]]);
    let length = nest.cast(ElementType::I64, length);
    let one = nest.index(1);
    let last = nest.sub(length, one);
    let mirrored = nest.sub(last, axes[time]);
    let is_inside = nest.compare(CompareOp::Lt, axes[time], length);
    let position = nest.select(is_inside, mirrored, axes[time]);
    let mut index = axes.clone();
    index[time] = nest.checked(position, &input.shape[time]);
    let value = nest.load(source, &index);
    nest.store(target, &axes, value);
    ctx.launch(nest);
    Ok(())
}
