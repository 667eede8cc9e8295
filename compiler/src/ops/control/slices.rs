//! Slices at positions that the run decides: what a round reads of a sequence, and writes into a stacked output.

use crate::graph::{Dim, ElementType};
use crate::loops::{ExprId, Scalar, View};
use crate::ops::tensor::write_part;
use crate::ops::{Lower, Nest, OperatorError, Result};

/// Fixed positions on some axes of a tensor, by axis, ascending.
pub type Positions = [(usize, Dim)];

/// The index of a tensor from the free axes' positions and the fixed ones.
fn index(nest: &mut Nest, free: &[ExprId], positions: &Positions) -> Vec<ExprId> {
    let mut free = free.iter().copied();
    let mut index = Vec::new();
    for axis in 0..free.len() + positions.len() {
        let fixed = positions.iter().find(|(at, _)| *at == axis).map(|(_, position)| nest.dim(position));
        index.extend(fixed.or_else(|| free.next()));
    }
    index
}

/// Copies the slice of `from` at the positions to `to`, which lacks their axes.
pub fn read_slice(ctx: &mut Lower<'_, '_>, from: &View, to: &View, positions: &Positions) {
    let mut nest = ctx.nest();
    let (source, target) = (nest.read(from), nest.write(to));
    let axes = nest.outer_axes(&to.shape);
    let at = index(&mut nest, &axes, positions);
    let value = nest.load(source, &at);
    nest.store(target, &axes, value);
    ctx.launch(nest);
}

/// Copies `from`, seen under the shape that `to` has without the axes of the positions, to the slice of `to`.
pub fn write_slice(ctx: &mut Lower<'_, '_>, from: &View, to: &View, positions: &Positions) {
    let is_free = |axis: usize| positions.iter().all(|(at, _)| *at != axis);
    let shape: Vec<Dim> =
        to.shape.iter().enumerate().filter(|(axis, _)| is_free(*axis)).map(|(_, dim)| dim.clone()).collect();
    let mut nest = ctx.nest();
    let source = nest.read(&View { shape: shape.clone(), ..from.clone() });
    let target = write_part(&mut nest, to);
    let axes = nest.outer_axes(&shape);
    let at = index(&mut nest, &axes, positions);
    let value = nest.load(source, &axes);
    nest.store(target, &at, value);
    ctx.launch(nest);
}

/// Takes memory for a tensor that rounds write piece by piece.
pub fn begin(ctx: &mut Lower<'_, '_>, target: &View) -> Result<()> {
    if target.element == ElementType::String {
        return Err(OperatorError::new("tensors of strings cannot be stacked; remove text handling from the model"));
    }
    let mut nest = ctx.nest();
    let parameter = nest.write(target);
    let nothing = nest.outer_axis(0);
    let index = vec![nothing; target.shape.len()];
    let zero = nest.scalar(Scalar::from_i64(target.element, 0));
    nest.store(parameter, &index, zero);
    ctx.launch(nest);
    Ok(())
}
