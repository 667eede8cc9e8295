//! Attention and what belongs to it.

mod dot_product;
mod heads;
mod mask;
mod rotary;

use super::Operator;

/// The operators of this family.
pub static OPERATORS: &[Operator] = &[
    Operator::new("Attention", dot_product::infer, dot_product::lower),
    Operator::new("RotaryEmbedding", rotary::infer, rotary::lower),
];
