//! The activation functions of recurrent cells.

use crate::graph::Node;
use crate::loops::{CompareOp, ExprId, KernelBuilder, UnaryOp};
use crate::ops::{OperatorError, Result};

/// A function with its parameters.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Activation {
    name: Name,
    alpha: f32,
    beta: f32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Name {
    Affine,
    Elu,
    HardSigmoid,
    LeakyRelu,
    Relu,
    ScaledTanh,
    Sigmoid,
    Softplus,
    Softsign,
    Tanh,
    ThresholdedRelu,
}

impl Name {
    /// The name in any case, and the defaults of alpha and beta, where the function has them.
    fn parse(text: &str) -> Option<(Self, Option<f32>, Option<f32>)> {
        Some(match text.to_ascii_lowercase().as_str() {
            "affine" => (Self::Affine, Some(1.0), Some(0.0)),
            "elu" => (Self::Elu, Some(1.0), None),
            "hardsigmoid" => (Self::HardSigmoid, Some(0.2), Some(0.5)),
            "leakyrelu" => (Self::LeakyRelu, Some(0.01), None),
            "relu" => (Self::Relu, None, None),
            "scaledtanh" => (Self::ScaledTanh, Some(1.0), Some(1.0)),
            "sigmoid" => (Self::Sigmoid, None, None),
            "softplus" => (Self::Softplus, None, None),
            "softsign" => (Self::Softsign, None, None),
            "tanh" => (Self::Tanh, None, None),
            "thresholdedrelu" => (Self::ThresholdedRelu, Some(1.0), None),
            _ => return None,
        })
    }
}

/// The node's functions, one after another for each direction. The lists of alphas and betas are consumed by those
/// functions that have such a parameter.
pub fn activations(node: &Node, defaults: &[&str], directions: usize) -> Result<Vec<Activation>> {
    let given = node.byte_strings("activations")?.unwrap_or_default();
    let names: Vec<&str> = match given.is_empty() {
        true => defaults.iter().copied().cycle().take(defaults.len() * directions).collect(),
        false => given.iter().map(|name| std::str::from_utf8(name).unwrap_or("?")).collect(),
    };
    if names.len() != defaults.len() * directions {
        return Err(OperatorError::new(format!(
            "there are {} activations, expected {} for each direction",
            names.len(),
            defaults.len()
        )));
    }
    let mut alphas = node.floats("activation_alpha")?.unwrap_or_default().iter().copied();
    let mut betas = node.floats("activation_beta")?.unwrap_or_default().iter().copied();
    let parse = |text: &&str| {
        let (name, alpha, beta) = Name::parse(text)
            .ok_or_else(|| OperatorError::new(format!("`{text}` is not an activation of recurrent cells")))?;
        let alpha = alpha.map_or(0.0, |default| alphas.next().unwrap_or(default));
        let beta = beta.map_or(0.0, |default| betas.next().unwrap_or(default));
        Ok(Activation { name, alpha, beta })
    };
    names.iter().map(parse).collect()
}

impl Activation {
    /// The function of `x`.
    pub fn apply(self, nest: &mut KernelBuilder, x: ExprId) -> ExprId {
        let element = nest.type_of(x);
        let [alpha, beta, zero, one] = [self.alpha, self.beta, 0.0, 1.0].map(|value| nest.float(element, value.into()));
        match self.name {
            Name::Sigmoid => nest.unary(UnaryOp::Sigmoid, x),
            Name::Tanh => nest.unary(UnaryOp::Tanh, x),
            Name::Relu => nest.max(x, zero),
            Name::Affine => {
                let product = nest.mul(alpha, x);
                nest.add(product, beta)
            }
            Name::HardSigmoid => {
                let product = nest.mul(alpha, x);
                let sum = nest.add(product, beta);
                let bounded = nest.min(sum, one);
                nest.max(bounded, zero)
            }
            Name::ScaledTanh => {
                let product = nest.mul(beta, x);
                let value = nest.unary(UnaryOp::Tanh, product);
                nest.mul(alpha, value)
            }
            Name::LeakyRelu => {
                let product = nest.mul(alpha, x);
                let is_negative = nest.compare(CompareOp::Lt, x, zero);
                nest.select(is_negative, product, x)
            }
            Name::Elu => {
                let power = nest.unary(UnaryOp::Expm1, x);
                let product = nest.mul(alpha, power);
                let is_negative = nest.compare(CompareOp::Lt, x, zero);
                nest.select(is_negative, product, x)
            }
            Name::ThresholdedRelu => {
                let is_greater = nest.compare(CompareOp::Gt, x, alpha);
                nest.select(is_greater, x, zero)
            }
            Name::Softplus => {
                let size = nest.unary(UnaryOp::Abs, x);
                let negated = nest.unary(UnaryOp::Neg, size);
                let power = nest.unary(UnaryOp::Exp, negated);
                let rest = nest.unary(UnaryOp::Log1p, power);
                let positive = nest.max(x, zero);
                nest.add(positive, rest)
            }
            Name::Softsign => {
                let size = nest.unary(UnaryOp::Abs, x);
                let divisor = nest.add(one, size);
                nest.div(x, divisor)
            }
        }
    }
}
