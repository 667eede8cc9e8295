//! Quantization of tensors to narrow types and back.

mod dequantize;
mod dynamic;
mod parameters;
mod quantize_linear;
mod value;

use super::Operator;

pub use value::quantized;

/// The operators of this family.
pub static OPERATORS: &[Operator] = &[
    Operator::new("DequantizeLinear", dequantize::infer, dequantize::lower),
    Operator::new("DynamicQuantizeLinear", dynamic::infer, dynamic::lower),
    Operator::new("QuantizeLinear", quantize_linear::infer, quantize_linear::lower),
];
