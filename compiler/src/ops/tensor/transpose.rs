//! Transpose: dimensions in another order.

use super::data;
use crate::graph::{Dim, Node};
use crate::loops::View;
use crate::ops::{Infer, Lower, OperatorError, Result};

/// Dimension i of the output is dimension `perm[i]` of the input; without `perm`, the order is reversed.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let shape = ctx.shape(0)?;
    let order = order(ctx.node, shape.len())?;
    let element = ctx.element(0)?;
    ctx.set(0, element, order.iter().map(|&axis| shape[axis].clone()).collect());
    Ok(())
}

/// A copy, or nothing where only dimensions of 1 move.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let input = ctx.input(0)?;
    let order = order(ctx.node, input.shape.len())?;
    if is_in_place(&input.shape, &order) {
        return super::alias(ctx);
    }
    let input = data(ctx, 0)?;
    let output = ctx.output(0)?;
    permute(ctx, &input, &output, &order);
    Ok(())
}

/// Copies `input` to `output`, whose dimension i is dimension `order[i]` of the input.
pub(super) fn permute(ctx: &mut Lower<'_, '_>, input: &View, output: &View, order: &[usize]) {
    let mut nest = ctx.nest();
    let source = nest.read(input);
    let target = nest.write(output);
    let axes = nest.outer_axes(&output.shape);
    let mut index = axes.clone();
    for (&axis, &position) in order.iter().zip(&axes) {
        index[axis] = position;
    }
    let value = nest.load(source, &index);
    nest.store(target, &axes, value);
    ctx.launch(nest);
}

/// Whether the dimensions that are not 1 keep their order.
fn is_in_place(shape: &[Dim], order: &[usize]) -> bool {
    let moved: Vec<usize> = order.iter().copied().filter(|&axis| shape[axis].as_const() != Some(1)).collect();
    moved.is_sorted()
}

fn order(node: &Node, rank: usize) -> Result<Vec<usize>> {
    let Some(order) = node.ints("perm")? else { return Ok((0..rank).rev().collect()) };
    let order = order.iter().map(|&axis| crate::ops::normalize_axis(axis, rank)).collect::<Result<Vec<_>>>()?;
    let is_permutation = order.len() == rank && (0..rank).all(|axis| order.contains(&axis));
    if is_permutation {
        Ok(order)
    } else {
        Err(OperatorError::new(format!("`perm` is {order:?}, which is no order of {rank} dimensions")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moving_only_ones_needs_no_copy() {
        let shape: Vec<Dim> = [1, 3, 1, 5].into_iter().map(Dim::constant).collect();
        assert!(is_in_place(&shape, &[1, 0, 2, 3]));
        assert!(is_in_place(&shape, &[2, 1, 3, 0]));
        assert!(!is_in_place(&shape, &[0, 3, 2, 1]));
    }
}
