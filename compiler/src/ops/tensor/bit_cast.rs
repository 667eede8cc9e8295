//! BitCast: the same bits as another element type.

use crate::graph::ElementType;
use crate::ops::{Infer, Lower, OperatorError, Result};

/// The type changes, the shape stays.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (from, shape) = (ctx.element(0)?, ctx.shape(0)?);
    let to = ctx.node.element_type("to")?.ok_or_else(|| OperatorError::new("attribute `to` is missing"))?;
    if from.bits() != to.bits() || [from, to].contains(&ElementType::String) {
        return Err(OperatorError::new(format!("{from} and {to} have not the same width")));
    }
    ctx.set(0, to, shape);
    Ok(())
}

/// The output is the input's memory.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    super::alias(ctx)
}
