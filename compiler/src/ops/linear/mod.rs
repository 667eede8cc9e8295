//! Matrix products and other contractions.

mod determinant;
mod einsum;
mod equation;
mod gemm;
mod matmul;
mod matmul_integer;
mod qlinear_matmul;

use super::{Lower, Operator, OperatorError, Result};
use crate::graph::{CompareOperator, Dim, ElementType};
use crate::loops::{ExprId, KernelBuilder};

/// The operators of this family.
pub static OPERATORS: &[Operator] = &[
    Operator::new("Det", determinant::infer, determinant::lower),
    Operator::new("Einsum", einsum::infer, einsum::lower),
    Operator::new("Gemm", gemm::infer, gemm::lower),
    Operator::new("MatMul", matmul::infer, matmul::lower),
    Operator::new("MatMulInteger", matmul_integer::infer, matmul_integer::lower),
    Operator::new("QLinearMatMul", qlinear_matmul::infer, qlinear_matmul::lower),
];

/// Checks that operands of a product are numbers of one type.
fn check_elements(a: ElementType, b: ElementType) -> Result<()> {
    if a != b || !(a.is_float() || a.is_integer()) {
        return Err(OperatorError::new(format!("the operands are of types {a} and {b}, expected equal numeric ones")));
    }
    Ok(())
}

/// Checks that two dimensions are equal.
fn check_equal(ctx: &mut Lower<'_, '_>, a: &Dim, b: &Dim, message: &str) -> Result<()> {
    ctx.check(a.compare(CompareOperator::Equal, b), message)
}

/// `value` times a constant factor, which for integers may be a fraction.
fn scaled(nest: &mut KernelBuilder, value: ExprId, factor: f32) -> ExprId {
    if factor == 1.0 {
        return value;
    }
    let element = nest.type_of(value);
    if element.is_float() || factor.fract() == 0.0 {
        let factor = nest.float(element, factor.into());
        return nest.mul(value, factor);
    }
    let wide = nest.cast(ElementType::F64, value);
    let factor = nest.float(ElementType::F64, factor.into());
    let product = nest.mul(wide, factor);
    nest.cast(element, product)
}
