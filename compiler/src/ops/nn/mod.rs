//! Convolutions, pools and normalizations.

mod conv;
mod global_pool;
mod norm_power;
mod pool;
mod window;

use super::{Lower, Operator, Result};
use crate::graph::{CompareOperator, Dim};
use norm_power::norm_power;

/// The operators of this family.
pub static OPERATORS: &[Operator] = &[
    Operator::new("AveragePool", pool::infer, pool::lower_average),
    Operator::new("Conv", conv::infer, conv::lower),
    Operator::new("GlobalAveragePool", global_pool::infer, global_pool::lower_average),
    Operator::new("GlobalLpPool", global_pool::infer, global_pool::lower_norm),
    Operator::new("GlobalMaxPool", global_pool::infer, global_pool::lower_max),
    Operator::new("LpPool", pool::infer, pool::lower_norm),
    Operator::new("MaxPool", pool::infer, pool::lower_max),
];

/// Checks that two dimensions are equal.
fn check_equal(ctx: &mut Lower<'_, '_>, a: &Dim, b: &Dim, message: &str) -> Result<()> {
    ctx.check(a.compare(CompareOperator::Equal, b), message)
}
