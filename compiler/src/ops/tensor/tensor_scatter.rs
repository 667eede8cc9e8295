//! TensorScatter: new entries written into a cache along one axis.

use super::{check_equal, data};
use crate::graph::Dim;
use crate::loops::BinaryOp;
use crate::ops::{Infer, Lower, OperatorError, Result, normalize_axis};

/// The output is like the cache.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, shape) = (ctx.element(0)?, ctx.shape(0)?);
    ctx.set(0, element, shape);
    Ok(())
}

/// The cache is copied, then the update is stored from each sample's write index on; past the end it goes on at the
/// start in mode `circular`, and fails in mode `linear`.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (cache, update) = (data(ctx, 0)?, data(ctx, 1)?);
    let starts = ctx.optional_input(2)?;
    let axis = normalize_axis(ctx.node.int_or("axis", -2)?, cache.shape.len())?;
    if axis == 0 || update.shape.len() != cache.shape.len() {
        return Err(OperatorError::new("the axis must not be the batch axis, and cache and update have the same rank"));
    }
    let circular = match ctx.node.text_or("mode", "linear")? {
        "linear" => false,
        "circular" => true,
        other => return Err(OperatorError::new(format!("`mode` is `{other}`, expected linear or circular"))),
    };
    for (position, (a, b)) in cache.shape.iter().zip(&update.shape).enumerate() {
        if position != axis {
            check_equal(ctx, a, b, "the shapes of cache and update differ besides the axis")?;
        }
    }
    let output = ctx.output(0)?;
    ctx.copy(&cache, &output);
    let mut nest = ctx.nest();
    let source = nest.read(&update);
    let starts = starts.map(|starts| nest.read(&starts));
    let target = nest.read_write(&output);
    let axes = nest.outer_axes(&update.shape);
    let start = match starts {
        Some(starts) => nest.load(starts, &axes[..1]),
        None => nest.index(0),
    };
    let start = nest.cast(crate::graph::ElementType::I64, start);
    let position = nest.add(start, axes[axis]);
    let extent: &Dim = &output.shape[axis];
    let position = if circular {
        let size = nest.dim(extent);
        nest.binary(BinaryOp::Mod, position, size)
    } else {
        nest.checked(position, extent)
    };
    let mut index = axes.clone();
    index[axis] = position;
    let value = nest.load(source, &axes);
    nest.store(target, &index, value);
    ctx.launch(nest);
    Ok(())
}
