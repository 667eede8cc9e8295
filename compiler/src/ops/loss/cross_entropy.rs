//! SoftmaxCrossEntropyLoss: the negative log-likelihood after LogSoftmax over the classes.

use super::likelihood::{self, from_log_probabilities, samples};
use crate::loops::{ReduceOp, UnaryOp, View};
use crate::ops::{Infer, Lower, Result};

/// The loss, and log-probabilities like the scores.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    likelihood::infer(ctx)?;
    let (element, scores) = (ctx.element(0)?, ctx.shape(0)?);
    ctx.set(1, element, scores);
    Ok(())
}

/// A kernel for log-probabilities, and one for the loss.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let scores = ctx.input(0)?;
    let logarithms =
        if ctx.wants_output(1) { ctx.output(1)? } else { ctx.temporary(scores.element.compute_type(), &scores.shape) };
    let shape = samples(&scores.shape);
    let mut nest = ctx.nest();
    let source = nest.read(&View { shape: shape.clone(), ..scores });
    let target = nest.write(&View { shape: shape.clone(), ..logarithms.clone() });
    let outer = nest.outer_axes(&[shape[0].clone(), shape[2].clone()]);
    let classes = &shape[1..2];
    let greatest =
        nest.reduce(ReduceOp::Max, classes, |nest, class| nest.load(source, &[outer[0], class[0], outer[1]]));
    let sum = nest.reduce(ReduceOp::Sum, classes, |nest, class| {
        let score = nest.load(source, &[outer[0], class[0], outer[1]]);
        let difference = nest.sub(score, greatest);
        nest.unary(UnaryOp::Exp, difference)
    });
    nest.store_over(target, classes, |nest, class| {
        let score = nest.load(source, &[outer[0], class[0], outer[1]]);
        let difference = nest.sub(score, greatest);
        let logarithm = nest.unary(UnaryOp::Log, sum);
        (vec![outer[0], class[0], outer[1]], nest.sub(difference, logarithm))
    });
    ctx.launch(nest);
    if ctx.wants_output(0) { from_log_probabilities(ctx, &logarithms) } else { Ok(()) }
}
