//! NegativeLogLikelihoodLoss: the negated log-probability of each sample's class.

use crate::graph::{CompareOperator, Dim, ElementType};
use crate::loops::{CompareOp, ExprId, KernelBuilder, ReduceOp, UnaryOp, View};
use crate::ops::{Infer, Lower, OperatorError, Result};

/// How the losses of samples become the output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Combination {
    None,
    Sum,
    Mean,
}

fn combination(text: &str) -> Result<Combination> {
    match text {
        "none" => Ok(Combination::None),
        "sum" => Ok(Combination::Sum),
        "mean" => Ok(Combination::Mean),
        other => Err(OperatorError::new(format!("`reduction` is `{other}`, expected `none`, `sum` or `mean`"))),
    }
}

/// The shape of the classes for `none`, else a scalar.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, scores, classes) = (ctx.element(0)?, ctx.shape(0)?, ctx.shape(1)?);
    if !element.is_float() || !ctx.element(1)?.is_integer() {
        return Err(OperatorError::new("the scores must be floats, and the classes integers"));
    }
    if scores.len() < 2 || classes.len() + 1 != scores.len() {
        return Err(OperatorError::new(format!(
            "scores and classes have the ranks {} and {}, expected one more than the other and at least 2",
            scores.len(),
            classes.len()
        )));
    }
    let reduction = combination(ctx.node.text_or("reduction", "mean")?)?;
    ctx.set(0, element, if reduction == Combination::None { classes } else { Vec::new() });
    Ok(())
}

/// One kernel: elementwise for `none`, else with sums over all samples.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let scores = ctx.input(0)?;
    if !ctx.wants_output(0) {
        return Ok(());
    }
    from_log_probabilities(ctx, &scores)
}

/// A tensor of scores as batch, classes and samples.
pub fn samples(shape: &[Dim]) -> Vec<Dim> {
    vec![shape[0].clone(), shape[1].clone(), Dim::product(shape[2..].iter().cloned())]
}

/// The loss as output 0, from log-probabilities, the classes of input 1 and the weights of input 2.
pub fn from_log_probabilities(ctx: &mut Lower<'_, '_>, scores: &View) -> Result<()> {
    let (classes, weights) = (ctx.input(1)?, ctx.optional_input(2)?);
    let ignored = ctx.node.int("ignore_index")?;
    let reduction = combination(ctx.node.text_or("reduction", "mean")?)?;
    let fits = scores.shape[0].compare(CompareOperator::Equal, &classes.shape[0]);
    ctx.check(fits, "there are not as many classes as scores")?;
    for (a, b) in scores.shape[2..].iter().zip(&classes.shape[1..]) {
        ctx.check(a.compare(CompareOperator::Equal, b), "there are not as many classes as scores")?;
    }
    let shape = samples(&scores.shape);
    if let Some(weights) = &weights {
        let fits = match weights.shape.as_slice() {
            [count] => count.compare(CompareOperator::Equal, &shape[1]),
            _ => Dim::ZERO,
        };
        ctx.check(fits, "the weights are not a vector with one for each class")?;
    }
    let points = [shape[0].clone(), shape[2].clone()];
    let output = ctx.output(0)?;
    let wide = output.element.compute_type();
    let mut nest = ctx.nest();
    let source = nest.read(&View { shape: shape.clone(), ..scores.clone() });
    let labels = nest.read(&View { shape: points.to_vec(), ..classes });
    let weights = weights.map(|weights| nest.read(&weights));
    // The weight of a sample, and its loss.
    let sample = |nest: &mut KernelBuilder, at: &[ExprId]| -> (ExprId, ExprId) {
        let label = nest.load(labels, at);
        let label = nest.cast(ElementType::I64, label);
        let zero = nest.index(0);
        let counts = ignored.map(|ignored| {
            let ignored = nest.index(ignored);
            nest.compare(CompareOp::Ne, label, ignored)
        });
        let label = counts.map_or(label, |counts| nest.select(counts, label, zero));
        let label = nest.checked(label, &shape[1]);
        let (nothing, one) = (nest.float(wide, 0.0), nest.float(wide, 1.0));
        let mut weight = match weights {
            Some(weights) => {
                let weight = nest.load(weights, &[label]);
                nest.cast(wide, weight)
            }
            None => one,
        };
        if let Some(counts) = counts {
            weight = nest.select(counts, weight, nothing);
        }
        let score = nest.load(source, &[at[0], label, at[1]]);
        let negated = nest.unary(UnaryOp::Neg, score);
        let mut loss = nest.mul(negated, weight);
        if let Some(counts) = counts {
            loss = nest.select(counts, loss, nothing);
        }
        (weight, loss)
    };
    if reduction == Combination::None {
        let target = nest.write(&View { shape: points.to_vec(), ..output });
        let axes = nest.outer_axes(&points);
        let (_, loss) = sample(&mut nest, &axes);
        nest.store(target, &axes, loss);
    } else {
        let target = nest.write(&output);
        let mut value = nest.reduce(ReduceOp::Sum, &points, |nest, at| sample(nest, at).1);
        if reduction == Combination::Mean {
            let total = nest.reduce(ReduceOp::Sum, &points, |nest, at| sample(nest, at).0);
            value = nest.div(value, total);
        }
        nest.store(target, &[], value);
    }
    ctx.launch(nest);
    Ok(())
}
