//! How an index moves along an axis.

use crate::graph::Dim;
use crate::loops::{AxisId, BinaryOp, Expr, ExprId, Kernel, ParameterId};

/// The constant by which an `i64` expression grows when the position on `axis` grows by one; `None` when there is none.
pub fn coefficient(kernel: &Kernel, id: ExprId, axis: AxisId) -> Option<i64> {
    match kernel.expr(id) {
        Expr::Const(_) | Expr::Dim(_) => Some(0),
        Expr::Axis(other) => Some((*other == axis).into()),
        Expr::Binary(BinaryOp::Add, a, b) => coefficient(kernel, *a, axis)?.checked_add(coefficient(kernel, *b, axis)?),
        Expr::Binary(BinaryOp::Sub, a, b) => coefficient(kernel, *a, axis)?.checked_sub(coefficient(kernel, *b, axis)?),
        Expr::Binary(BinaryOp::Mul, a, b) => {
            let (x, y) = (coefficient(kernel, *a, axis)?, coefficient(kernel, *b, axis)?);
            match (kernel.expr(*a), kernel.expr(*b)) {
                _ if x == 0 && y == 0 => Some(0),
                (Expr::Const(factor), _) => y.checked_mul(factor.to_i64()),
                (_, Expr::Const(factor)) => x.checked_mul(factor.to_i64()),
                _ => None,
            }
        }
        Expr::Reduced(_) => None,
        other => other.operands().iter().all(|&operand| coefficient(kernel, operand, axis) == Some(0)).then_some(0),
    }
}

/// How many elements an access to `parameter` at `index` moves in memory when the position on `axis` grows by one.
pub fn linear_stride(kernel: &Kernel, parameter: ParameterId, index: &[ExprId], axis: AxisId) -> Option<Dim> {
    let shape = &kernel.parameter(parameter).shape;
    let mut stride = Dim::constant(1);
    let mut total = Dim::constant(0);
    for (dim, &index) in shape.iter().zip(index).rev() {
        let factor = coefficient(kernel, index, axis)?;
        if factor != 0 {
            total = total + &stride * factor;
        }
        stride = &stride * dim;
    }
    Some(total)
}
