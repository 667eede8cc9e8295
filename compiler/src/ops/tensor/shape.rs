//! Shape and Size: dimensions as data.

use crate::graph::{Dim, ElementType, Tensor};
use crate::ops::{Infer, Lower, Result};

/// Shape: the dimensions from `start` to `end`, both clamped to the rank.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let shape = ctx.shape(0)?;
    let rank = shape.len() as i64;
    let clamp = |position: i64| if position < 0 { position.saturating_add(rank) } else { position }.clamp(0, rank);
    let start = clamp(ctx.node.int_or("start", 0)?) as usize;
    let end = clamp(ctx.node.int_or("end", rank)?) as usize;
    let dims = shape[start..end.max(start)].to_vec();
    set_dims(ctx, vec![Dim::constant(dims.len() as i64)], dims);
    Ok(())
}

/// Size: the number of elements.
pub fn infer_size(ctx: &mut Infer<'_>) -> Result<()> {
    let count = Dim::product(ctx.shape(0)?);
    set_dims(ctx, Vec::new(), vec![count]);
    Ok(())
}

fn set_dims(ctx: &mut Infer<'_>, shape: Vec<Dim>, dims: Vec<Dim>) {
    let constants: Option<Vec<i64>> = dims.iter().map(Dim::as_const).collect();
    if let Some(constants) = constants {
        let tensor = Tensor::from_i64s(&constants);
        let tensor = if shape.is_empty() { tensor.reshaped(&[]) } else { tensor };
        return ctx.set_constant(0, tensor);
    }
    ctx.set(0, ElementType::I64, shape);
    ctx.set_known(0, dims);
}

/// Both: a kernel without axes that stores the dimensions.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let input = ctx.node.input(0).and_then(|id| ctx.shared.model.value(id).ty.as_tensor()?.shape.clone());
    let dims = match (ctx.output_type(0)?.1.is_empty(), input) {
        (true, Some(shape)) => vec![Dim::product(shape)],
        (_, input) => {
            let start = ctx.node.int_or("start", 0)?;
            let shape = input.unwrap_or_default();
            let rank = shape.len() as i64;
            let start = if start < 0 { start.saturating_add(rank) } else { start }.clamp(0, rank) as usize;
            shape[start..].to_vec()
        }
    };
    let output = ctx.output(0)?;
    let count = output.shape.first().map_or(1, |len| len.as_const().unwrap_or(0)) as usize;
    let mut nest = ctx.nest();
    let target = nest.write(&output);
    for (position, dim) in dims.iter().take(count).enumerate() {
        let value = nest.dim(dim);
        let index = nest.index(position as i64);
        let index = if output.shape.is_empty() { Vec::new() } else { vec![index] };
        nest.store(target, &index, value);
    }
    ctx.launch(nest);
    Ok(())
}
