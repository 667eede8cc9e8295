//! Attention and what belongs to it.

mod causal_conv;
mod dot_product;
mod heads;
mod linear;
mod mask;
mod rotary;

use super::Operator;

/// The operators of this family.
pub static OPERATORS: &[Operator] = &[
    Operator::new("Attention", dot_product::infer, dot_product::lower),
    Operator::new("CausalConvWithState", causal_conv::infer, causal_conv::lower),
    Operator::new("LinearAttention", linear::infer, linear::lower),
    Operator::new("RotaryEmbedding", rotary::infer, rotary::lower),
];
