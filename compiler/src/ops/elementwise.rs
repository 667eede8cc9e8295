//! Elementwise operators, one row each.

use super::{Nest, Operator, OperatorError, Result};
use crate::graph::{ElementType, Node};
use crate::loops::{BinaryOp as B, CompareOp as C, ExprId, UnaryOp as U};

/// A row whose expression is one unary operation.
macro_rules! unary {
    ($name:literal, $op:ident) => {
        Operator::elementwise($name, |nest, _, x| operands(x).map(|[a]| nest.unary(U::$op, a)))
    };
}

/// A row whose expression is one binary operation.
macro_rules! binary {
    ($name:literal, $op:ident) => {
        Operator::elementwise($name, |nest, _, x| operands(x).map(|[a, b]| nest.binary(B::$op, a, b)))
    };
}

/// A row whose expression is one comparison.
macro_rules! comparison {
    ($name:literal, $op:ident) => {
        Operator::predicate($name, |nest, _, x| operands(x).map(|[a, b]| nest.compare(C::$op, a, b)))
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
    Operator::predicate("IsNaN", |nest, _, x| Ok(nest.unary(U::IsNan, x[0]))),
    Operator::predicate("IsInf", is_infinite),
    Operator::elementwise("BitShift", bit_shift),
    Operator::elementwise("Max", |nest, _, x| all(nest, B::Max, x)),
    Operator::elementwise("Mean", mean),
    Operator::elementwise("Min", |nest, _, x| all(nest, B::Min, x)),
    Operator::elementwise("Mod", modulo),
    Operator::mixed("Pow", power),
    Operator::elementwise("Reciprocal", reciprocal),
    Operator::elementwise("Sum", |nest, _, x| all(nest, B::Add, x)),
];

/// The operands of an operator that takes exactly so many.
pub(super) fn operands<const COUNT: usize>(given: &[ExprId]) -> Result<[ExprId; COUNT]> {
    let wrong = |_| OperatorError::new(format!("the node has {} inputs, the operator takes {COUNT}", given.len()));
    given.try_into().map_err(wrong)
}

/// One operation over all operands.
fn all(nest: &mut Nest, op: B, x: &[ExprId]) -> Result<ExprId> {
    let combined = x.iter().copied().reduce(|a, b| nest.binary(op, a, b));
    combined.ok_or_else(|| OperatorError::new("the operator needs at least one input"))
}

fn mean(nest: &mut Nest, _: &Node, x: &[ExprId]) -> Result<ExprId> {
    let sum = all(nest, B::Add, x)?;
    let element = nest.type_of(sum);
    let count = nest.integer(element, x.len() as i64);
    Ok(nest.div(sum, count))
}

/// Remainder of the divisor's sign, or with `fmod` of the dividend's.
fn modulo(nest: &mut Nest, node: &Node, x: &[ExprId]) -> Result<ExprId> {
    let x: [ExprId; 2] = operands(x)?;
    let op = if node.flag_or("fmod", false)? { B::Rem } else { B::Mod };
    Ok(nest.binary(op, x[0], x[1]))
}

/// Base to the power of an exponent that may be of another type.
fn power(nest: &mut Nest, _: &Node, x: &[ExprId]) -> Result<ExprId> {
    let x: [ExprId; 2] = operands(x)?;
    let (base, exponent) = (nest.type_of(x[0]), nest.type_of(x[1]));
    let common = match (base.is_float(), exponent.is_float()) {
        _ if base == exponent => base,
        (true, _) => base,
        (false, true) => ElementType::F64,
        (false, false) => ElementType::I64,
    };
    let (a, b) = (nest.cast(common, x[0]), nest.cast(common, x[1]));
    let value = nest.binary(B::Pow, a, b);
    Ok(nest.cast(base, value))
}

fn reciprocal(nest: &mut Nest, _: &Node, x: &[ExprId]) -> Result<ExprId> {
    let element = nest.type_of(x[0]);
    let one = nest.integer(element, 1);
    Ok(nest.div(one, x[0]))
}

fn is_infinite(nest: &mut Nest, node: &Node, x: &[ExprId]) -> Result<ExprId> {
    let element = nest.type_of(x[0]);
    let (low, high) = (nest.float(element, f64::NEG_INFINITY), nest.float(element, f64::INFINITY));
    let (is_low, is_high) = (nest.compare(C::Eq, x[0], low), nest.compare(C::Eq, x[0], high));
    Ok(match (node.flag_or("detect_negative", true)?, node.flag_or("detect_positive", true)?) {
        (true, true) => nest.binary(B::Or, is_low, is_high),
        (true, false) => is_low,
        (false, true) => is_high,
        (false, false) => nest.integer(ElementType::Bool, 0),
    })
}

/// A count outside the width leaves what extending the sign leaves.
fn bit_shift(nest: &mut Nest, node: &Node, x: &[ExprId]) -> Result<ExprId> {
    let x: [ExprId; 2] = operands(x)?;
    let element = nest.type_of(x[0]);
    match node.text_or("direction", "")? {
        "LEFT" => Ok(nest.binary(B::ShiftLeft, x[0], x[1])),
        "RIGHT" if element.is_signed() => {
            let (zero, most) = (nest.integer(element, 0), nest.integer(element, element.bits() as i64 - 1));
            let is_negative = nest.compare(C::Lt, x[1], zero);
            let count = nest.min(x[1], most);
            let count = nest.select(is_negative, most, count);
            Ok(nest.binary(B::ShiftRight, x[0], count))
        }
        "RIGHT" => Ok(nest.binary(B::ShiftRight, x[0], x[1])),
        other => Err(OperatorError::new(format!("`direction` is `{other}`, expected `LEFT` or `RIGHT`"))),
    }
}
