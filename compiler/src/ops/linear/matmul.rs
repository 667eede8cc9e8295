//! MatMul: matrix products under numpy's rules.

use super::{check_elements, check_equal};
use crate::graph::Dim;
use crate::loops::{ExprId, ReduceOp, View};
use crate::ops::{Infer, Lower, Nest, OperatorError, Result, broadcast_shapes, check_broadcast};

const INNER_DIMENSIONS: &str = "the columns of the first matrix are not as many as the second's rows";

/// The shape of the product of operands of these shapes.
pub(super) fn product_shape(a: &[Dim], b: &[Dim]) -> Result<Vec<Dim>> {
    if a.is_empty() || b.is_empty() {
        return Err(OperatorError::new("a scalar is no operand of a matrix product"));
    }
    if a[a.len() - 1].known_unequal(&b[b.len().saturating_sub(2)]) {
        return Err(OperatorError::new(INNER_DIMENSIONS));
    }
    let (rows, columns) = (&a[..a.len() - 1], &b[..b.len() - 1]);
    let mut shape =
        broadcast_shapes(&[&rows[..rows.len().saturating_sub(1)], &columns[..columns.len().saturating_sub(1)]])?;
    if a.len() > 1 {
        shape.push(a[a.len() - 2].clone());
    }
    if b.len() > 1 {
        shape.push(b[b.len() - 1].clone());
    }
    Ok(shape)
}

/// The operands and the result of a matrix product as stacks of matrices.
pub(super) struct Product {
    /// The left operand, `[..., m, k]`.
    pub a: View,
    /// The right operand, `[..., k, n]`.
    pub b: View,
    /// The result, `[..., m, n]`.
    pub output: View,
}

/// Where a product's kernel stands.
pub(super) struct Point {
    /// Positions on the axes of the output.
    pub axes: Vec<ExprId>,
    /// Extents of the axes of the output.
    pub extents: Vec<Dim>,
}

impl Product {
    /// Sees vectors as matrices, and checks that the operands fit.
    pub fn new(ctx: &mut Lower<'_, '_>, mut a: View, mut b: View, mut output: View) -> Result<Self> {
        if a.shape.len() == 1 {
            a.shape.insert(0, Dim::ONE);
            let at = if b.shape.len() == 1 { output.shape.len() } else { output.shape.len() - 1 };
            output.shape.insert(at, Dim::ONE);
        }
        if b.shape.len() == 1 {
            b.shape.push(Dim::ONE);
            output.shape.push(Dim::ONE);
        }
        let batch = output.shape.len() - 2;
        for operand in [&a, &b] {
            let own = operand.shape.len() - 2;
            check_broadcast(ctx, &operand.shape[..own], &output.shape[..batch])?;
        }
        let (a_inner, b_inner) = (a.shape[a.shape.len() - 1].clone(), b.shape[b.shape.len() - 2].clone());
        check_equal(ctx, &a_inner, &b_inner, INNER_DIMENSIONS)?;
        Ok(Self { a, b, output })
    }

    /// How many products are summed.
    pub fn inner(&self) -> Dim {
        self.a.shape[self.a.shape.len() - 1].clone()
    }

    /// The outer axes of the kernel: batch, rows, columns.
    pub fn axes(&self, nest: &mut Nest) -> Point {
        Point { axes: nest.outer_axes(&self.output.shape), extents: self.output.shape.clone() }
    }

    /// The indices of the operands' elements for a position on the inner axis.
    pub fn indices(&self, nest: &mut Nest, point: &Point) -> (Vec<ExprId>, Vec<ExprId>) {
        let batch = point.axes.len() - 2;
        let mut index =
            |shape: &[Dim]| nest.broadcast(&shape[..shape.len() - 2], &point.axes[..batch], &point.extents[..batch]);
        let (mut a, b) = (index(&self.a.shape), index(&self.b.shape));
        a.push(point.axes[batch]);
        (a, b)
    }
}

/// Broadcast batch dimensions, rows of the first and columns of the second operand.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let element = ctx.element(0)?;
    check_elements(element, ctx.element(1)?)?;
    let shape = product_shape(&ctx.shape(0)?, &ctx.shape(1)?)?;
    ctx.set(0, element, shape);
    Ok(())
}

/// One contraction.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (a, b, output) = (ctx.input(0)?, ctx.input(1)?, ctx.output(0)?);
    let product = Product::new(ctx, a, b, output)?;
    let mut nest = ctx.nest();
    let (a, b) = (nest.read(&product.a), nest.read(&product.b));
    let target = nest.write(&product.output);
    let point = product.axes(&mut nest);
    let (a_index, b_index) = product.indices(&mut nest, &point);
    let column = point.axes[point.axes.len() - 1];
    let value = nest.reduce(ReduceOp::Sum, &[product.inner()], |nest, k| {
        let left = nest.load(a, &[&a_index[..], &k[..1]].concat());
        let right = nest.load(b, &[&b_index[..], &[k[0], column]].concat());
        nest.mul(left, right)
    });
    nest.store(target, &point.axes, value);
    ctx.launch(nest);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::graph::Tensor;
    use crate::ops::testing::Case;

    fn floats(dims: &[i64], values: &[f32]) -> Tensor {
        Tensor::from_values(dims, values)
    }

    #[test]
    fn matrices_multiply() {
        let a = floats(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
        let b = floats(&[2, 2], &[5.0, 6.0, 7.0, 8.0]);
        Case::new("MatMul", 13, &[a, b], 1).gives(&[floats(&[2, 2], &[19.0, 22.0, 43.0, 50.0])]);
    }

    #[test]
    fn vectors_are_rows_on_the_left_and_columns_on_the_right() {
        let v = floats(&[2], &[1.0, 2.0]);
        let m = floats(&[1, 2, 2], &[5.0, 6.0, 7.0, 8.0]);
        Case::new("MatMul", 13, &[v.clone(), v.clone()], 1).gives(&[floats(&[], &[5.0])]);
        Case::new("MatMul", 13, &[v.clone(), m.clone()], 1).gives(&[floats(&[1, 2], &[19.0, 22.0])]);
        Case::new("MatMul", 13, &[m, v], 1).gives(&[floats(&[1, 2], &[17.0, 23.0])]);
    }

    #[test]
    fn inner_dimensions_must_agree() {
        let (a, b) = (floats(&[1, 2], &[1.0, 2.0]), floats(&[3, 1], &[1.0, 2.0, 3.0]));
        Case::new("MatMul", 13, &[a, b], 1).fails();
    }
}
