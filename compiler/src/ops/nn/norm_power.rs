//! The exponent of p-norms.

use crate::graph::{Attribute, Node};
use crate::loops::{BinaryOp, ExprId, KernelBuilder, UnaryOp};
use crate::ops::{OperatorError, Result};

/// The p of a p-norm.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NormPower(f64);

/// The attribute `p`, 2 where it is missing: a float in operator set 1, then an integer.
pub fn norm_power(node: &Node) -> Result<NormPower> {
    let power = match node.attributes.get("p") {
        Some(Attribute::Float(_)) => f64::from(node.float_or("p", 2.0)?),
        _ => node.int_or("p", 2)? as f64,
    };
    if power > 0.0 { Ok(NormPower(power)) } else { Err(OperatorError::new(format!("`p` is {power}, expected more"))) }
}

impl NormPower {
    /// |value|^p
    pub fn raise(self, nest: &mut KernelBuilder, value: ExprId) -> ExprId {
        if self.0 == 2.0 {
            return nest.mul(value, value);
        }
        let magnitude = nest.unary(UnaryOp::Abs, value);
        self.power(nest, magnitude, self.0)
    }

    /// sum^(1/p)
    pub fn root(self, nest: &mut KernelBuilder, sum: ExprId) -> ExprId {
        if self.0 == 2.0 {
            return nest.unary(UnaryOp::Sqrt, sum);
        }
        self.power(nest, sum, 1.0 / self.0)
    }

    fn power(self, nest: &mut KernelBuilder, base: ExprId, exponent: f64) -> ExprId {
        if self.0 == 1.0 {
            return base;
        }
        let element = nest.type_of(base);
        let exponent = nest.float(element, exponent);
        nest.binary(BinaryOp::Pow, base, exponent)
    }
}
