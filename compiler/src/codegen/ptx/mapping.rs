//! How the points of a kernel's outer axes are spread over the threads of a GPU.

use super::module::BLOCK_THREADS;
use crate::graph::Dim;
use crate::loops::{AxisId, Kernel};

/// Who works on a point of the outer axes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mapping {
    /// One thread runs all points in order.
    Single,
    /// A thread runs a point.
    Threads,
    /// The threads of a block run a point together: they share reductions and the points of inner axes.
    Blocks,
}

/// From this length on, an inner axis is shared by the threads of a block.
const LONG: i64 = 32;
/// From this length on, a reduction is shared when there are few outer points.
const LONG_REDUCTION: i64 = 256;
/// Fewer outer points do not fill a GPU with threads.
const FEW_POINTS: i64 = 1024;

impl Mapping {
    /// The mapping of a kernel.
    pub fn of(kernel: &Kernel) -> Self {
        // Elements that share a byte must be written by one thread.
        let packed = kernel.stores.iter().any(|store| kernel.parameter(store.parameter).element.bits() < 8);
        if !kernel.is_parallel() || packed {
            return Self::Single;
        }
        let length = |axes: &[AxisId]| Dim::product(axes.iter().map(|&axis| kernel.extent(axis)));
        let reaches = |axes: &[AxisId], limit| length(axes).as_const().is_none_or(|length| length >= limit);
        let stores_row = kernel.stores.iter().any(|store| !store.axes.is_empty() && reaches(&store.axes, LONG));
        let reduces_much = kernel.reductions.iter().any(|reduction| reaches(&reduction.axes, LONG_REDUCTION));
        let few = length(&kernel.outer).as_const().is_some_and(|points| points < FEW_POINTS);
        // A thread that fails leaves, and others would wait for it.
        if !kernel.can_fail() && !kernel.reductions.is_empty() && (stores_row || (reduces_much && few)) {
            Self::Blocks
        } else {
            Self::Threads
        }
    }

    /// Threads of a block.
    pub fn threads(self) -> u32 {
        if self == Self::Single { 1 } else { BLOCK_THREADS }
    }
}
