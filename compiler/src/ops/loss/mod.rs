//! Losses of classifiers.

mod cross_entropy;
mod likelihood;

use super::Operator;

/// The operators of this family.
pub static OPERATORS: &[Operator] = &[
    Operator::new("NegativeLogLikelihoodLoss", likelihood::infer, likelihood::lower),
    Operator::new("SoftmaxCrossEntropyLoss", cross_entropy::infer, cross_entropy::lower),
];
