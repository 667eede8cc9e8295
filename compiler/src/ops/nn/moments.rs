//! Mean and variance, and normalization by them.

use crate::graph::{Dim, Node};
use crate::loops::{ExprId, KernelBuilder, ReduceOp, UnaryOp};
use crate::ops::Result;

/// The mean of `value` over new axes of the given extents.
pub fn mean(
    nest: &mut KernelBuilder,
    extents: &[Dim],
    value: impl FnOnce(&mut KernelBuilder, &[ExprId]) -> ExprId,
) -> ExprId {
    let sum = nest.reduce(ReduceOp::Sum, extents, value);
    let count = nest.dim(&Dim::product(extents));
    let element = nest.type_of(sum);
    let count = nest.cast(element, count);
    nest.div(sum, count)
}

/// Mean and variance of `value`, in two passes: the variance is the mean square of the distance from the mean.
pub fn moments(
    nest: &mut KernelBuilder,
    extents: &[Dim],
    value: impl Fn(&mut KernelBuilder, &[ExprId]) -> ExprId,
) -> (ExprId, ExprId) {
    let center = mean(nest, extents, &value);
    let variance = mean(nest, extents, |nest, place| {
        let value = value(nest, place);
        let distance = nest.sub(value, center);
        nest.mul(distance, distance)
    });
    (center, variance)
}

/// 1 / sqrt(variance + epsilon), with the attribute `epsilon`.
pub fn inverse_deviation(nest: &mut KernelBuilder, node: &Node, variance: ExprId) -> Result<ExprId> {
    let element = nest.type_of(variance);
    let epsilon = nest.float(element, f64::from(node.float_or("epsilon", 1e-5)?));
    let sum = nest.add(variance, epsilon);
    let deviation = nest.unary(UnaryOp::Sqrt, sum);
    let one = nest.integer(element, 1);
    Ok(nest.div(one, deviation))
}

/// (value - mean) * inverse
pub fn normalize(nest: &mut KernelBuilder, value: ExprId, mean: ExprId, inverse: ExprId) -> ExprId {
    let distance = nest.sub(value, mean);
    nest.mul(distance, inverse)
}
