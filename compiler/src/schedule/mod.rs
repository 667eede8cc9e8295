//! Decisions about how kernels run: no code is written here.

mod affine;
mod blocked;
pub mod contraction;
mod fuse;
#[cfg(test)]
mod testing;
mod tiling;
mod vector;

pub use affine::{coefficient, linear_stride};
pub use blocked::block_channels;
pub use contraction::{ContractionSchedule, relayout};
pub use fuse::fuse;
pub use tiling::Tiling;
pub use vector::{VectorAxis, choose_vector_axis, inner_store_is_vectorizable, reduction_is_vectorizable};

use crate::loops::Kernel;

/// How a kernel is turned into loops.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Schedule {
    /// The axis whose neighbouring points are computed together, if any.
    pub vector: Option<VectorAxis>,
    /// Register tiles, for contractions; takes the place of `vector`.
    pub contraction: Option<ContractionSchedule>,
}

/// Schedules a kernel for code of the given number of 32-bit lanes.
pub fn schedule(kernel: &Kernel, lanes: u32) -> Schedule {
    if lanes > 1
        && let Some(contraction) = contraction::schedule_contraction(kernel, Tiling::of(lanes))
    {
        return Schedule { vector: None, contraction: Some(contraction) };
    }
    let vector = if lanes > 1 { choose_vector_axis(kernel) } else { None };
    Schedule { vector, contraction: None }
}
