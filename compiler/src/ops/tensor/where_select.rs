//! Where: elements of one tensor or of another.

use super::data;
use crate::ops::{Infer, Lower, Result, broadcast_shapes, check_broadcast};

/// The three inputs broadcast to each other.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let shapes = (0..3).map(|index| ctx.shape(index)).collect::<Result<Vec<_>>>()?;
    let shape = broadcast_shapes(&[&shapes[0], &shapes[1], &shapes[2]])?;
    let element = ctx.element(1)?;
    ctx.set(0, element, shape);
    Ok(())
}

/// One choice for each element.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let inputs = (0..3).map(|index| data(ctx, index)).collect::<Result<Vec<_>>>()?;
    let output = ctx.output(0)?;
    for input in &inputs {
        check_broadcast(ctx, &input.shape, &output.shape)?;
    }
    let mut nest = ctx.nest();
    let axes = nest.outer_axes(&output.shape);
    let values: Vec<_> = inputs.iter().map(|input| nest.load_broadcast(input, &axes, &output.shape)).collect();
    let target = nest.write(&output);
    let value = nest.select(values[0], values[1], values[2]);
    nest.store(target, &axes, value);
    ctx.launch(nest);
    Ok(())
}
