//! Identity, and Dropout, which is the identity in inference.

use super::{alias_as, splat};
use crate::graph::{Dim, ElementType, Tensor};
use crate::loops::{Action, CompareOp, Scalar};
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
    let training = ctx.known_constants(2).is_some_and(|training| training != [0]);
    let has_ratio = !ctx.has_input(1) || ctx.constant(1).is_some();
    if training && has_ratio && !is_ratio_zero(ctx.constant(1)) {
        return Err(OperatorError::unsupported(TRAINING));
    }
    Ok(())
}

/// The output is the input's memory; the mask is filled where anybody wants it.
pub fn lower_dropout(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let is_inference = ctx.known_constants(2).is_some_and(|training| training == [0]);
    if ctx.has_input(2) && !is_inference && !is_ratio_zero(ctx.constant(1)) {
        check_keeps_all(ctx)?;
    }
    if ctx.wants_output(1) {
        let mask = ctx.output(1)?;
        let one = Scalar::from_i64(mask.element, 1);
        splat(ctx, &mask, one);
    }
    lower(ctx)
}

/// Checks at run time that the node is not in training mode, or drops nothing.
fn check_keeps_all(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (ratio, training) = (ctx.optional_input(1)?, ctx.input(2)?);
    let drops = ctx.temporary(ElementType::I64, &[]);
    let mut nest = ctx.nest();
    let mode = nest.read(&training);
    let zeros = vec![nest.index(0); training.shape.len()];
    let mut condition = nest.load(mode, &zeros);
    if let Some(ratio) = ratio {
        let source = nest.read(&ratio);
        let zeros = vec![nest.index(0); ratio.shape.len()];
        let value = nest.load(source, &zeros);
        let zero = nest.integer(ratio.element, 0);
        let drops = nest.compare(CompareOp::Ne, value, zero);
        condition = nest.and(condition, drops);
    }
    let target = nest.write(&drops);
    let value = nest.cast(ElementType::I64, condition);
    nest.store(target, &[], value);
    ctx.launch(nest);
    let symbol = ctx.shared.program.symbols.fresh("drops");
    ctx.step(Action::Bind { symbol, buffer: drops.buffer, element: 0 });
    ctx.check(1 - Dim::symbol(symbol), TRAINING)
}

const TRAINING: &str = "Dropout in training mode is not supported; export the model for inference";

fn is_ratio_zero(ratio: Option<&Tensor>) -> bool {
    ratio.and_then(Tensor::floats).is_some_and(|ratio| ratio == [0.0])
}
