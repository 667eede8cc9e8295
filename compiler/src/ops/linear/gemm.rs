//! Gemm: `alpha * A * B + beta * C`, either matrix transposed on request.

use super::{check_elements, check_equal, scaled};
use crate::graph::Dim;
use crate::loops::{ExprId, ReduceOp};
use crate::ops::{Infer, Lower, OperatorError, Result, check_broadcast};

fn matrix(shape: &[Dim], transposed: bool) -> Result<(Dim, Dim)> {
    match shape {
        [a, b] if transposed => Ok((b.clone(), a.clone())),
        [a, b] => Ok((a.clone(), b.clone())),
        _ => Err(OperatorError::new(format!("the operands must be matrices, one is of rank {}", shape.len()))),
    }
}

/// Rows of A and columns of B.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let element = ctx.element(0)?;
    check_elements(element, ctx.element(1)?)?;
    if ctx.has_input(2) {
        check_elements(element, ctx.element(2)?)?;
    }
    let (rows, _) = matrix(&ctx.shape(0)?, ctx.node.flag_or("transA", false)?)?;
    let (_, columns) = matrix(&ctx.shape(1)?, ctx.node.flag_or("transB", false)?)?;
    ctx.set(0, element, vec![rows, columns]);
    Ok(())
}

/// One contraction; scaling and C are its epilogue.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (a, b, c) = (ctx.input(0)?, ctx.input(1)?, ctx.optional_input(2)?);
    let (transpose_a, transpose_b) = (ctx.node.flag_or("transA", false)?, ctx.node.flag_or("transB", false)?);
    let (alpha, beta) = (ctx.node.float_or("alpha", 1.0)?, ctx.node.float_or("beta", 1.0)?);
    let ((_, inner), (b_inner, _)) = (matrix(&a.shape, transpose_a)?, matrix(&b.shape, transpose_b)?);
    check_equal(ctx, &inner, &b_inner, "the columns of the first matrix are not as many as the second's rows")?;
    let output = ctx.output(0)?;
    let c = c.filter(|_| beta != 0.0);
    if let Some(c) = &c {
        if c.shape.len() > 2 {
            return Err(OperatorError::new(format!("input 2 has rank {}, expected at most 2", c.shape.len())));
        }
        check_broadcast(ctx, &c.shape, &output.shape)?;
    }
    let mut nest = ctx.nest();
    let (left, right) = (nest.read(&a), nest.read(&b));
    let addend = c.map(|c| (nest.read(&c), c.shape));
    let target = nest.write(&output);
    let axes = nest.outer_axes(&output.shape);
    let ordered = |first: ExprId, second: ExprId, swap: bool| if swap { [second, first] } else { [first, second] };
    let product = nest.reduce(ReduceOp::Sum, &[inner], |nest, k| {
        let a = nest.load(left, &ordered(axes[0], k[0], transpose_a));
        let b = nest.load(right, &ordered(k[0], axes[1], transpose_b));
        nest.mul(a, b)
    });
    let mut value = scaled(&mut nest, product, alpha);
    if let Some((parameter, shape)) = addend {
        let index = nest.broadcast(&shape, &axes, &output.shape);
        let addend = nest.load(parameter, &index);
        let addend = scaled(&mut nest, addend, beta);
        value = nest.add(value, addend);
    }
    nest.store(target, &axes, value);
    ctx.launch(nest);
    Ok(())
}
