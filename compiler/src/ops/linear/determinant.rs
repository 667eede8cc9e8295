//! Det: determinants by elimination with row pivots.

use super::check_equal;
use crate::graph::{Dim, ElementType};
use crate::loops::{Action, CompareOp, ReduceOp, UnaryOp, View};
use crate::ops::{Infer, Lower, OperatorError, Result};

/// The batch dimensions.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, mut shape) = (ctx.element(0)?, ctx.shape(0)?);
    if shape.len() < 2 || !element.is_float() {
        return Err(OperatorError::new(format!(
            "the input is {element} of rank {}, expected float matrices",
            shape.len()
        )));
    }
    shape.truncate(shape.len() - 2);
    ctx.set(0, element, shape);
    Ok(())
}

/// A loop over columns: one kernel finds the pivots, one eliminates below them, one multiplies them up.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let input = ctx.input(0)?;
    let rank = input.shape.len();
    let (rows, columns) = (input.shape[rank - 2].clone(), input.shape[rank - 1].clone());
    check_equal(ctx, &rows, &columns, "the matrices are not square")?;
    let batch = Dim::product(input.shape[..rank - 2].iter().cloned());
    let element = input.element.compute_type();
    let shape = [batch.clone(), rows.clone(), rows.clone()];
    let (matrix, next) = (ctx.temporary(element, &shape), ctx.temporary(element, &shape));
    let pivots = ctx.temporary(ElementType::I64, &shape[..1]);
    let (product, next_product) = (ctx.temporary(element, &shape[..1]), ctx.temporary(element, &shape[..1]));
    let mut nest = ctx.nest();
    let source = nest.read(&View { shape: shape.to_vec(), ..input });
    let target = nest.write(&matrix);
    let axes = nest.outer_axes(&shape);
    let value = nest.load(source, &axes);
    nest.store(target, &axes, value);
    ctx.launch(nest);
    let mut nest = ctx.nest();
    let target = nest.write(&product);
    let axes = nest.outer_axes(&shape[..1]);
    let one = nest.float(element, 1.0);
    nest.store(target, &axes, one);
    ctx.launch(nest);

    let counter = ctx.shared.program.symbols.fresh("column");
    let column = Dim::symbol(counter);
    let mut body = Vec::new();
    let mut round = Lower { shared: &mut *ctx.shared, node: ctx.node, steps: &mut body, label: ctx.label };
    find_pivots(&mut round, &matrix, &pivots, &column);
    eliminate(&mut round, &matrix, &pivots, &next, &column);
    multiply(&mut round, &matrix, &pivots, (&product, &next_product), &column);
    round.copy(&next, &matrix);
    round.copy(&next_product, &product);
    ctx.step(Action::Loop { counter, count: rows, condition: Dim::ONE, body });

    let output = ctx.output(0)?;
    let output = View { shape: shape[..1].to_vec(), ..output };
    let mut nest = ctx.nest();
    let (source, target) = (nest.read(&product), nest.write(&output));
    let axes = nest.outer_axes(&shape[..1]);
    let value = nest.load(source, &axes);
    nest.store(target, &axes, value);
    ctx.launch(nest);
    Ok(())
}

/// The row of the greatest magnitude in the column, from the diagonal on.
fn find_pivots(ctx: &mut Lower<'_, '_>, matrix: &View, pivots: &View, column: &Dim) {
    let mut nest = ctx.nest();
    let (source, target) = (nest.read(matrix), nest.write(pivots));
    let axes = nest.outer_axes(&pivots.shape);
    let column = nest.dim(column);
    let row = nest.reduce(ReduceOp::ArgMax { last: false }, &matrix.shape[1..2], |nest, row| {
        let value = nest.load(source, &[axes[0], row[0], column]);
        let size = nest.unary(UnaryOp::Abs, value);
        let never = nest.float(matrix.element, -1.0);
        let is_left = nest.compare(CompareOp::Ge, row[0], column);
        nest.select(is_left, size, never)
    });
    nest.store(target, &axes, row);
    ctx.launch(nest);
}

/// The matrix with the pivot's row swapped into place, and the column cleared below it.
fn eliminate(ctx: &mut Lower<'_, '_>, matrix: &View, pivots: &View, next: &View, column: &Dim) {
    let mut nest = ctx.nest();
    let (source, pivots, target) = (nest.read(matrix), nest.read(pivots), nest.write(next));
    let axes = nest.outer_axes(&next.shape);
    let column = nest.dim(column);
    let pivot = nest.load(pivots, &axes[..1]);
    let (is_diagonal, is_pivot) =
        (nest.compare(CompareOp::Eq, axes[1], column), nest.compare(CompareOp::Eq, axes[1], pivot));
    let row = nest.select(is_pivot, column, axes[1]);
    let row = nest.select(is_diagonal, pivot, row);
    let [own, own_head, above, head] = [(row, axes[2]), (row, column), (pivot, axes[2]), (pivot, column)]
        .map(|(row, column)| nest.load(source, &[axes[0], row, column]));
    let zero = nest.float(matrix.element, 0.0);
    let ratio = nest.div(own_head, head);
    let is_singular = nest.compare(CompareOp::Eq, head, zero);
    let ratio = nest.select(is_singular, zero, ratio);
    let share = nest.mul(ratio, above);
    let reduced = nest.sub(own, share);
    let is_below = nest.compare(CompareOp::Gt, axes[1], column);
    let value = nest.select(is_below, reduced, own);
    nest.store(target, &axes, value);
    ctx.launch(nest);
}

/// The product of pivots, negated where rows were swapped.
fn multiply(ctx: &mut Lower<'_, '_>, matrix: &View, pivots: &View, (product, next): (&View, &View), column: &Dim) {
    let mut nest = ctx.nest();
    let (source, pivots, old, target) = (nest.read(matrix), nest.read(pivots), nest.read(product), nest.write(next));
    let axes = nest.outer_axes(&next.shape);
    let column = nest.dim(column);
    let pivot = nest.load(pivots, &axes);
    let head = nest.load(source, &[axes[0], pivot, column]);
    let negated = nest.unary(UnaryOp::Neg, head);
    let is_swapped = nest.compare(CompareOp::Ne, pivot, column);
    let factor = nest.select(is_swapped, negated, head);
    let old = nest.load(old, &axes);
    let value = nest.mul(old, factor);
    nest.store(target, &axes, value);
    ctx.launch(nest);
}
