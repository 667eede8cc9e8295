//! Operators that sample images, and other tensors, at computed positions.

mod coordinates;
mod filter;
mod grid_sample;
mod max_roi_pool;
mod resize;
mod roi_align;
mod settings;

use super::{Lower, Operator, Result};
use crate::graph::{CompareOperator, Dim};

/// The operators of this family.
pub static OPERATORS: &[Operator] = &[
    Operator::new("AffineGrid", grid_sample::infer_affine, grid_sample::lower_affine),
    Operator::new("GridSample", grid_sample::infer, grid_sample::lower),
    Operator::new("MaxRoiPool", max_roi_pool::infer, max_roi_pool::lower),
    Operator::new("Resize", resize::infer, resize::lower),
    Operator::new("RoiAlign", roi_align::infer, roi_align::lower),
    Operator::new("Upsample", resize::infer, resize::lower),
];

/// Checks that there are elements to sample along a dimension.
fn check_filled(ctx: &mut Lower<'_, '_>, dim: &Dim) -> Result<()> {
    ctx.check(dim.compare(CompareOperator::Greater, &Dim::ZERO), "an input without elements cannot be sampled")
}

/// Checks that two dimensions are equal.
fn check_equal(ctx: &mut Lower<'_, '_>, a: &Dim, b: &Dim, message: &str) -> Result<()> {
    ctx.check(a.compare(CompareOperator::Equal, b), message)
}
