//! Random tensors. Numbers are a function of the seed and the element's position, so every run of an artifact gives the
//! same ones; without the attribute `seed`, the node's name is the seed.

mod draws;
mod generator;

use super::Operator;

/// The operators of this family.
pub static OPERATORS: &[Operator] = &[
    Operator::new("Bernoulli", draws::infer_like, draws::lower_bernoulli).by_name(),
    Operator::new("Multinomial", draws::infer_multinomial, draws::lower_multinomial).by_name(),
    Operator::new("RandomNormal", draws::infer, draws::lower_normal).by_name(),
    Operator::new("RandomNormalLike", draws::infer_like, draws::lower_normal).by_name(),
    Operator::new("RandomUniform", draws::infer, draws::lower_uniform).by_name(),
    Operator::new("RandomUniformLike", draws::infer_like, draws::lower_uniform).by_name(),
];
