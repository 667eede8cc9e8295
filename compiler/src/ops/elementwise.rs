//! Elementwise operators, one row each.

use super::{Operator, Result};
use crate::loops::{BinaryOp as B, CompareOp as C, ExprId, UnaryOp as U};

use super::Nest;
use crate::graph::Node;

/// A row whose expression is one unary operation.
macro_rules! unary {
    ($name:literal, $op:ident) => {
        Operator::elementwise($name, |nest, _, x| Ok(nest.unary(U::$op, x[0])))
    };
}

/// A row whose expression is one binary operation.
macro_rules! binary {
    ($name:literal, $op:ident) => {
        Operator::elementwise($name, |nest, _, x| Ok(nest.binary(B::$op, x[0], x[1])))
    };
}

/// A row whose expression is one comparison.
macro_rules! comparison {
    ($name:literal, $op:ident) => {
        Operator::predicate($name, |nest, _, x| Ok(nest.compare(C::$op, x[0], x[1])))
    };
}

/// The elementwise operators of the default domain.
pub static OPERATORS: &[Operator] = &[
    unary!("Abs", Abs),
    unary!("Neg", Neg),
    unary!("Sign", Sign),
    unary!("Floor", Floor),
    unary!("Ceil", Ceil),
    unary!("Round", Round),
    unary!("Sqrt", Sqrt),
    unary!("Exp", Exp),
    unary!("Log", Log),
    unary!("Sin", Sin),
    unary!("Cos", Cos),
    unary!("Tan", Tan),
    unary!("Asin", Asin),
    unary!("Acos", Acos),
    unary!("Atan", Atan),
    unary!("Sinh", Sinh),
    unary!("Cosh", Cosh),
    unary!("Tanh", Tanh),
    unary!("Asinh", Asinh),
    unary!("Acosh", Acosh),
    unary!("Atanh", Atanh),
    unary!("Erf", Erf),
    unary!("Sigmoid", Sigmoid),
    unary!("Not", Not),
    unary!("BitwiseNot", Not),
    binary!("Add", Add),
    binary!("Sub", Sub),
    binary!("Mul", Mul),
    binary!("Div", Div),
    binary!("And", And),
    binary!("Or", Or),
    binary!("Xor", Xor),
    binary!("BitwiseAnd", And),
    binary!("BitwiseOr", Or),
    binary!("BitwiseXor", Xor),
    comparison!("Equal", Eq),
    comparison!("Less", Lt),
    comparison!("LessOrEqual", Le),
    comparison!("Greater", Gt),
    comparison!("GreaterOrEqual", Ge),
    Operator::elementwise("Relu", relu),
];

/// max(x, 0), with NaN passing through.
fn relu(nest: &mut Nest, _: &Node, x: &[ExprId]) -> Result<ExprId> {
    let element = nest.type_of(x[0]);
    let zero = nest.integer(element, 0);
    Ok(nest.max(x[0], zero))
}
