//! Recognizes operators that an exporter has written as several simpler ones, where one kernel computes them better.

mod gelu;
mod layer_norm;
mod product;
mod softmax;
mod swish;

pub(super) use gelu::rule as gelu;
pub(super) use layer_norm::{affine as layer_norm_affine, rule as layer_norm};
pub(super) use softmax::rule as softmax;
pub(super) use swish::rule as swish;

/// Whether a constant of a model is the number meant, written with the precision of `f32`.
fn is_about(value: f64, meant: f64) -> bool {
    (value - meant).abs() <= 1e-5 * meant.abs()
}
