//! Decisions about how kernels run: no code is written here.

mod affine;
pub mod contraction;
mod vector;

pub use affine::{coefficient, linear_stride};
pub use contraction::{ContractionSchedule, relayout};
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
    if i64::from(lanes) == contraction::COLUMN_LANES
        && let Some(contraction) = contraction::schedule_contraction(kernel)
    {
        return Schedule { vector: None, contraction: Some(contraction) };
    }
    let vector = if lanes > 1 { choose_vector_axis(kernel) } else { None };
    Schedule { vector, contraction: None }
}
