//! Random tensors. Numbers are a function of the seed and the element's position, so every run of an artifact gives the
//! same ones; without the attribute `seed`, the node's name is the seed.

mod draws;
mod generator;

use super::Operator;

/// The operators of this family.
pub static OPERATORS: &[Operator] = &[
    Operator::new("Bernoulli", draws::infer_like, draws::lower_bernoulli),
    Operator::new("Multinomial", draws::infer_multinomial, draws::lower_multinomial),
    Operator::new("RandomNormal", draws::infer, draws::lower_normal),
    Operator::new("RandomNormalLike", draws::infer_like, draws::lower_normal),
    Operator::new("RandomUniform", draws::infer, draws::lower_uniform),
    Operator::new("RandomUniformLike", draws::infer_like, draws::lower_uniform),
];
