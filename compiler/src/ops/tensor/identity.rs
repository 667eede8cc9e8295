//! Identity, and Dropout, which is the identity in inference.

use super::{alias_as, splat};
use crate::graph::{Dim, ElementType, Tensor};
use crate::loops::Scalar;
use crate::ops::arguments::Arguments;
use crate::ops::{Infer, Lower, OperatorError, Result};

/// The output is the input, of whatever kind.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    if ctx.ty(0)?.as_tensor().is_some_and(|tensor| tensor.shape.is_some()) {
        let shape = ctx.shape(0)?;
        return alias_as(ctx, shape);
    }
    let ty = ctx.ty(0)?.clone();
    ctx.set_type(0, ty);
    Ok(())
}

/// The output is the input's memory.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let input = ctx.input(0)?;
    ctx.alias_output(0, input)
}

/// Dropout: the input itself, and a mask that keeps everything. The mask is of the input's type before operator set 10.
pub fn infer_dropout(ctx: &mut Infer<'_>) -> Result<()> {
    let (shape, element) = (ctx.shape(0)?, ctx.element(0)?);
    alias_as(ctx, shape.clone())?;
    let mask = if ctx.node.version < 10 { element } else { ElementType::Bool };
    ctx.set(1, mask, shape);
    if ctx.has_input(2) && !is_ratio_zero(ctx.constant(1)) {
        let training = ctx.elements(2)?;
        if training.first().and_then(Dim::as_const).is_some_and(|training| training != 0) {
            return Err(OperatorError::new(TRAINING));
        }
    }
    Ok(())
}

/// The output is the input's memory; the mask is filled where anybody wants it.
pub fn lower_dropout(ctx: &mut Lower<'_, '_>) -> Result<()> {
    if ctx.has_input(2) && !is_ratio_zero(ctx.constant(1)) {
        let training = ctx.elements(2)?;
        for flag in training {
            ctx.check(1 - flag, TRAINING)?;
        }
    }
    if ctx.wants_output(1) {
        let mask = ctx.output(1)?;
        let one = Scalar::from_i64(mask.element, 1);
        splat(ctx, &mask, one);
    }
    lower(ctx)
}

const TRAINING: &str = "Dropout in training mode is not supported; export the model for inference";

fn is_ratio_zero(ratio: Option<&Tensor>) -> bool {
    ratio.and_then(Tensor::floats).is_some_and(|ratio| ratio == [0.0])
}
