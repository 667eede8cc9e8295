//! Operators: everything about one operator in one file, and THE table of them all.

mod activation;
mod arguments;
mod attention;
mod attributes;
mod clip;
mod control;
mod elementwise;
mod image;
mod infer;
mod linear;
mod loss;
mod lower;
mod nn;
mod quantize;
mod random;
mod recurrent;
mod reduce;
mod registry;
mod selection;
mod signal;
mod tensor;
#[cfg(test)]
pub(crate) mod testing;
mod training;

pub use infer::{Infer, broadcast_shapes, normalize_axis};
pub use lower::{Lower, Lowering, Nest, copy_step};
pub use registry::{Definition, Operator, check_broadcast, find, operators};

use std::fmt;

use crate::graph::Node;
use crate::loops::ExprId;

/// What kind of problem an [`OperatorError`] is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The node contradicts the operator's specification: no runtime can compute it.
    Invalid,
    /// The node is right, but beyond what can be compiled.
    Unsupported,
    /// This only follows from another value whose type could not be inferred.
    Follows,
    /// The graphs of an If give types that no one type describes; what follows must be inferred for each.
    Disagreement,
}

/// Why an operator cannot be inferred or lowered; the driver adds node and operator.
#[derive(Clone, PartialEq, Debug)]
pub struct OperatorError {
    /// What is wrong, and what the user can do.
    pub message: String,
    /// What kind of problem it is.
    pub fault: Fault,
}

impl OperatorError {
    /// A node that contradicts the specification.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), fault: Fault::Invalid }
    }

    /// A valid node that cannot be compiled.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self { message: message.into(), fault: Fault::Unsupported }
    }

    /// A problem that most likely follows from one that was reported for an earlier node.
    pub fn unknown(message: impl Into<String>) -> Self {
        Self { message: message.into(), fault: Fault::Follows }
    }

    /// Whether this only follows from another problem.
    pub fn follows(&self) -> bool {
        self.fault == Fault::Follows
    }
}

impl fmt::Display for OperatorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for OperatorError {}

/// The result of an operator's rules.
pub type Result<T> = std::result::Result<T, OperatorError>;

/// A shape rule.
pub type InferRule = fn(&mut Infer<'_>) -> Result<()>;

/// A lowering.
pub type LowerRule = fn(&mut Lower<'_, '_>) -> Result<()>;

/// The scalar expression of an elementwise operator, from its inputs' elements.
pub type ElementRule = fn(&mut Nest, &Node, &[ExprId]) -> Result<ExprId>;

/// THE table: one line for each operator, or family of elementwise operators.
static TABLE: &[&[Operator]] = &[
    elementwise::OPERATORS,
    activation::OPERATORS,
    clip::OPERATORS,
    tensor::OPERATORS,
    nn::OPERATORS,
    image::OPERATORS,
    linear::OPERATORS,
    quantize::OPERATORS,
    reduce::OPERATORS,
    recurrent::OPERATORS,
    control::OPERATORS,
    selection::OPERATORS,
    attention::OPERATORS,
    loss::OPERATORS,
    random::OPERATORS,
    signal::OPERATORS,
    training::OPERATORS,
];
