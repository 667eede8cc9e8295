//! The roots of unity that a transform multiplies with, in `f64`: sums that cancel are then as small as they should be.

use crate::graph::{Dim, ElementType};
use crate::loops::{BinaryOp, ExprId, KernelBuilder, ParameterId, UnaryOp, View};
use crate::ops::{Lower, Nest};

/// Cosines and sines of `2 pi i / length`.
pub struct Twiddles {
    cosines: View,
    sines: View,
    length: Dim,
}

impl Twiddles {
    /// Computes the tables.
    pub fn new(ctx: &mut Lower<'_, '_>, length: &Dim) -> Self {
        let element = ElementType::F64;
        let shape = [length.clone()];
        let tables = [UnaryOp::Cos, UnaryOp::Sin].map(|op| {
            let table = ctx.temporary(element, &shape);
            let mut nest = ctx.nest();
            let target = nest.write(&table);
            let axes = nest.outer_axes(&shape);
            let size = nest.dim(length);
            let (position, size) = (nest.cast(element, axes[0]), nest.cast(element, size));
            let turn = nest.float(element, std::f64::consts::TAU);
            let angle = nest.mul(turn, position);
            let angle = nest.div(angle, size);
            let value = nest.unary(op, angle);
            nest.store(target, &axes, value);
            ctx.launch(nest);
            table
        });
        let [cosines, sines] = tables;
        Self { cosines, sines, length: length.clone() }
    }

    /// The tables as parameters of a kernel.
    pub fn read(&self, nest: &mut Nest) -> (ParameterId, ParameterId) {
        (nest.read(&self.cosines), nest.read(&self.sines))
    }

    /// The position in the tables of the angle `2 pi a b / length`.
    pub fn position(&self, nest: &mut KernelBuilder, a: ExprId, b: ExprId) -> ExprId {
        let product = nest.mul(a, b);
        let length = nest.dim(&self.length);
        nest.binary(BinaryOp::Mod, product, length)
    }
}
