//! Steps of optimizers.

mod steps;

use super::Operator;

/// The operators of this family.
pub static OPERATORS: &[Operator] = &[
    Operator::new("Adagrad", steps::infer_adagrad, steps::lower_adagrad).in_domain(DOMAIN),
    Operator::new("Adam", steps::infer_adam, steps::lower_adam).in_domain(DOMAIN),
    Operator::new("Momentum", steps::infer_momentum, steps::lower_momentum).in_domain(DOMAIN),
];

const DOMAIN: &str = "ai.onnx.preview.training";
