//! How much arithmetic a program does.

use super::{Action, BinaryOp, Expr, ExprId, Kernel, Program, ReduceOp, Reduction, Step};
use crate::graph::Dim;

/// Multiply-accumulates of one run: the points of all sums of products of two different values, as matrix products and
/// convolutions have them. Padding counts, bodies of loops count once, and both blocks of a branch count.
pub fn multiply_accumulates(program: &Program) -> Dim {
    of_steps(&program.steps)
}

fn of_steps(steps: &[Step]) -> Dim {
    Dim::sum(steps.iter().map(|step| match &step.action {
        Action::Launch { kernel, .. } => of_kernel(kernel),
        Action::If { then, otherwise, .. } => of_steps(then) + of_steps(otherwise),
        Action::Loop { body, .. } => of_steps(body),
        _ => Dim::constant(0),
    }))
}

fn of_kernel(kernel: &Kernel) -> Dim {
    let products = kernel.reductions.iter().filter(|reduction| is_contraction(kernel, reduction));
    Dim::sum(products.map(|reduction| {
        let axes = kernel.outer.iter().chain(&reduction.axes);
        Dim::product(axes.map(|&axis| kernel.extent(axis)))
    }))
}

fn is_contraction(kernel: &Kernel, reduction: &Reduction) -> bool {
    let mut value = reduction.value;
    // Padding is a choice around the product, and mixed precision a conversion.
    while let Expr::Select(_, inner, _) | Expr::Cast { value: inner, .. } = kernel.expr(value) {
        value = *inner;
    }
    let Expr::Binary(BinaryOp::Mul, a, b) = *kernel.expr(value) else { return false };
    reduction.op == ReduceOp::Sum && a != b && reads(kernel, a) && reads(kernel, b)
}

/// Whether a value depends on memory.
fn reads(kernel: &Kernel, id: ExprId) -> bool {
    match kernel.expr(id) {
        Expr::Load { .. } => true,
        expr => expr.operands().into_iter().any(|operand| reads(kernel, operand)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loops::text::parse_program;

    #[test]
    fn a_matrix_product_has_its_points() {
        let text = include_str!("../../../tests/filetests/loops/matmul-interpret.txt");
        let lines: Vec<&str> = text.lines().take_while(|line| *line != "; expect:").collect();
        let program = parse_program(&lines.join("\n")).unwrap();
        let count = multiply_accumulates(&program);
        assert_eq!(count.display(&program.symbols).to_string(), "m*k*n");
    }
}
