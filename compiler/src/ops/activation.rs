//! Activation functions, one row each.

use super::{Nest, Operator, OperatorError, Result};
use crate::graph::Node;
use crate::loops::{BinaryOp as B, CompareOp as C, ExprId, UnaryOp as U};

/// The activation functions of the default domain.
pub static OPERATORS: &[Operator] = &[
    Operator::elementwise("Celu", celu),
    Operator::elementwise("Elu", elu),
    Operator::elementwise("Gelu", gelu),
    Operator::elementwise("HardSigmoid", hard_sigmoid),
    Operator::elementwise("HardSwish", hard_swish),
    Operator::elementwise("LeakyRelu", leaky_relu),
    Operator::elementwise("Mish", mish),
    Operator::elementwise("PRelu", leaky_relu_with_slope),
    Operator::elementwise("Relu", relu),
    Operator::elementwise("Selu", selu),
    Operator::elementwise("Shrink", shrink),
    Operator::elementwise("Softplus", |nest, _, x| Ok(softplus(nest, x[0]))),
    Operator::elementwise("Softsign", |nest, _, x| Ok(softsign(nest, x[0]))),
    Operator::elementwise("SwiGLU", gated_swish),
    Operator::elementwise("Swish", swish),
    Operator::elementwise("ThresholdedRelu", thresholded_relu),
];

/// A constant of the type of `like`.
fn constant(nest: &mut Nest, like: ExprId, value: f64) -> ExprId {
    let element = nest.type_of(like);
    nest.float(element, value)
}

/// An attribute as a constant of the type of `like`.
fn attribute(nest: &mut Nest, node: &Node, like: ExprId, name: &str, default: f32) -> Result<ExprId> {
    let value = node.float_or(name, default)?;
    Ok(constant(nest, like, value.into()))
}

/// `x` where it is not negative or is NaN, `otherwise` elsewhere.
fn where_negative(nest: &mut Nest, x: ExprId, otherwise: ExprId) -> ExprId {
    let zero = constant(nest, x, 0.0);
    let is_negative = nest.compare(C::Lt, x, zero);
    nest.select(is_negative, otherwise, x)
}

/// max(x, 0), with NaN passing through.
fn relu(nest: &mut Nest, _: &Node, x: &[ExprId]) -> Result<ExprId> {
    let zero = constant(nest, x[0], 0.0);
    Ok(nest.max(x[0], zero))
}

/// x, or slope * x where x is negative.
fn leaky_relu(nest: &mut Nest, node: &Node, x: &[ExprId]) -> Result<ExprId> {
    let slope = attribute(nest, node, x[0], "alpha", 0.01)?;
    leaky_relu_with_slope(nest, node, &[x[0], slope])
}

fn leaky_relu_with_slope(nest: &mut Nest, _: &Node, x: &[ExprId]) -> Result<ExprId> {
    let x: [ExprId; 2] = super::elementwise::operands(x)?;
    let product = nest.mul(x[1], x[0]);
    Ok(where_negative(nest, x[0], product))
}

/// x, or alpha * (exp(x) - 1) where x is negative.
fn elu(nest: &mut Nest, node: &Node, x: &[ExprId]) -> Result<ExprId> {
    let alpha = attribute(nest, node, x[0], "alpha", 1.0)?;
    let power = nest.unary(U::Expm1, x[0]);
    let product = nest.mul(alpha, power);
    Ok(where_negative(nest, x[0], product))
}

/// x, or alpha * (exp(x / alpha) - 1) where x is negative.
fn celu(nest: &mut Nest, node: &Node, x: &[ExprId]) -> Result<ExprId> {
    let alpha = attribute(nest, node, x[0], "alpha", 1.0)?;
    let ratio = nest.div(x[0], alpha);
    let power = nest.unary(U::Expm1, ratio);
    let product = nest.mul(alpha, power);
    Ok(where_negative(nest, x[0], product))
}

/// gamma * x, or gamma * alpha * (exp(x) - 1) where x is negative.
fn selu(nest: &mut Nest, node: &Node, x: &[ExprId]) -> Result<ExprId> {
    let (alpha, gamma) = if node.version < 6 { (1.6732, 1.0507) } else { (1.673_263_2, 1.050_701) };
    let alpha = attribute(nest, node, x[0], "alpha", alpha)?;
    let gamma = attribute(nest, node, x[0], "gamma", gamma)?;
    let power = nest.unary(U::Expm1, x[0]);
    let product = nest.mul(alpha, power);
    let value = where_negative(nest, x[0], product);
    Ok(nest.mul(gamma, value))
}

/// x where it is greater than alpha, else 0.
fn thresholded_relu(nest: &mut Nest, node: &Node, x: &[ExprId]) -> Result<ExprId> {
    let alpha = attribute(nest, node, x[0], "alpha", 1.0)?;
    let zero = constant(nest, x[0], 0.0);
    let is_greater = nest.compare(C::Gt, x[0], alpha);
    Ok(nest.select(is_greater, x[0], zero))
}

/// max(0, min(1, alpha * x + beta))
fn linear_sigmoid(nest: &mut Nest, x: ExprId, alpha: f64, beta: f64) -> ExprId {
    let [alpha, beta, zero, one] = [alpha, beta, 0.0, 1.0].map(|value| constant(nest, x, value));
    let product = nest.mul(alpha, x);
    let sum = nest.add(product, beta);
    let low = nest.min(sum, one);
    nest.max(low, zero)
}

fn hard_sigmoid(nest: &mut Nest, node: &Node, x: &[ExprId]) -> Result<ExprId> {
    let (alpha, beta) = (node.float_or("alpha", 0.2)?, node.float_or("beta", 0.5)?);
    Ok(linear_sigmoid(nest, x[0], alpha.into(), beta.into()))
}

fn hard_swish(nest: &mut Nest, _: &Node, x: &[ExprId]) -> Result<ExprId> {
    let gate = linear_sigmoid(nest, x[0], 1.0 / 6.0, 0.5);
    Ok(nest.mul(x[0], gate))
}

/// log(1 + exp(x)), as max(x, 0) + log(1 + exp(-|x|)), which does not overflow.
pub(super) fn softplus(nest: &mut Nest, x: ExprId) -> ExprId {
    let zero = constant(nest, x, 0.0);
    let size = nest.unary(U::Abs, x);
    let negated = nest.unary(U::Neg, size);
    let power = nest.unary(U::Exp, negated);
    let rest = nest.unary(U::Log1p, power);
    let positive = nest.max(x, zero);
    nest.add(positive, rest)
}

/// x / (1 + |x|)
pub(super) fn softsign(nest: &mut Nest, x: ExprId) -> ExprId {
    let one = constant(nest, x, 1.0);
    let size = nest.unary(U::Abs, x);
    let divisor = nest.add(one, size);
    nest.div(x, divisor)
}

/// x * tanh(softplus(x))
fn mish(nest: &mut Nest, _: &Node, x: &[ExprId]) -> Result<ExprId> {
    let softplus = softplus(nest, x[0]);
    let gate = nest.unary(U::Tanh, softplus);
    Ok(nest.mul(x[0], gate))
}

/// x times the normal distribution's cumulative function at x, exactly or by tanh.
fn gelu(nest: &mut Nest, node: &Node, x: &[ExprId]) -> Result<ExprId> {
    let [half, one] = [0.5, 1.0].map(|value| constant(nest, x[0], value));
    let inner = match node.text_or("approximate", "none")? {
        "none" => {
            let factor = constant(nest, x[0], std::f64::consts::FRAC_1_SQRT_2);
            let scaled = nest.mul(x[0], factor);
            nest.unary(U::Erf, scaled)
        }
        "tanh" => {
            let factor = constant(nest, x[0], std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2);
            let cubic = constant(nest, x[0], 0.044715);
            let square = nest.mul(x[0], x[0]);
            let bend = nest.mul(cubic, square);
            let bend = nest.add(one, bend);
            let argument = nest.mul(x[0], bend);
            let argument = nest.mul(factor, argument);
            nest.unary(U::Tanh, argument)
        }
        other => return Err(OperatorError::new(format!("`approximate` is `{other}`, expected `none` or `tanh`"))),
    };
    let gate = nest.add(one, inner);
    let product = nest.mul(half, x[0]);
    Ok(nest.mul(product, gate))
}

/// x * sigmoid(alpha * x)
fn swish(nest: &mut Nest, node: &Node, x: &[ExprId]) -> Result<ExprId> {
    let alpha = attribute(nest, node, x[0], "alpha", 1.0)?;
    let scaled = nest.mul(alpha, x[0]);
    let gate = nest.unary(U::Sigmoid, scaled);
    Ok(nest.mul(x[0], gate))
}

/// swish(gate) * value
fn gated_swish(nest: &mut Nest, node: &Node, x: &[ExprId]) -> Result<ExprId> {
    let x: [ExprId; 2] = super::elementwise::operands(x)?;
    let gate = swish(nest, node, &x[..1])?;
    Ok(nest.mul(gate, x[1]))
}

/// 0 within `lambd` of 0, outside moved towards it by `bias`.
fn shrink(nest: &mut Nest, node: &Node, x: &[ExprId]) -> Result<ExprId> {
    let element = nest.type_of(x[0]);
    let (lambd, bias) = (node.float_or("lambd", 0.5)?, node.float_or("bias", 0.0)?);
    // Integers are compared and moved in a type that holds the attributes.
    let wide = if element.is_float() { element } else { crate::graph::ElementType::F64 };
    let value = nest.cast(wide, x[0]);
    let [low, high, bias, zero] =
        [-f64::from(lambd), lambd.into(), bias.into(), 0.0].map(|value| nest.float(wide, value));
    let (raised, lowered) = (nest.binary(B::Add, value, bias), nest.binary(B::Sub, value, bias));
    let (is_below, is_above) = (nest.compare(C::Lt, value, low), nest.compare(C::Gt, value, high));
    let otherwise = nest.select(is_above, lowered, zero);
    let value = nest.select(is_below, raised, otherwise);
    Ok(nest.cast(element, value))
}
