//! Convolutions, pools and normalizations.

mod axes_norm;
mod batch_norm;
mod causal_conv;
mod col2im;
mod conv;
mod conv_integer;
mod conv_transpose;
mod deform_conv;
mod global_pool;
mod group_norm;
mod layer_norm;
mod lrn;
mod max_unpool;
mod moments;
mod norm_power;
mod pool;
pub(super) mod window;

use super::{Lower, Operator, OperatorError, Result, check_broadcast};
use crate::graph::{CompareOperator, Dim};
use crate::loops::View;
use norm_power::norm_power;

/// The operators of this family.
pub static OPERATORS: &[Operator] = &[
    Operator::new("AveragePool", pool::infer, pool::lower_average),
    Operator::new("BatchNormalization", batch_norm::infer, batch_norm::lower),
    Operator::new("CausalConvWithState", causal_conv::infer, causal_conv::lower),
    Operator::new("Col2Im", col2im::infer, col2im::lower),
    Operator::new("Conv", conv::infer, conv::lower),
    Operator::new("ConvInteger", conv_integer::infer, conv_integer::lower),
    Operator::new("ConvTranspose", conv_transpose::infer, conv_transpose::lower),
    Operator::new("DeformConv", deform_conv::infer, deform_conv::lower),
    Operator::new("GlobalAveragePool", global_pool::infer, global_pool::lower_average),
    Operator::new("GlobalLpPool", global_pool::infer, global_pool::lower_norm),
    Operator::new("GlobalMaxPool", global_pool::infer, global_pool::lower_max),
    Operator::new("GroupNormalization", group_norm::infer, group_norm::lower),
    Operator::new("InstanceNormalization", group_norm::infer, group_norm::lower_instance),
    Operator::new("LRN", lrn::infer, lrn::lower),
    Operator::new("LayerNormalization", layer_norm::infer, layer_norm::lower),
    Operator::new("LpNormalization", axes_norm::infer, axes_norm::lower_norm),
    Operator::new("LpPool", pool::infer, pool::lower_norm),
    Operator::new("MaxPool", pool::infer, pool::lower_max),
    Operator::new("MaxUnpool", max_unpool::infer, max_unpool::lower),
    Operator::new("MeanVarianceNormalization", axes_norm::infer, axes_norm::lower_mean_variance),
    Operator::new("QLinearConv", conv_integer::infer_linear, conv_integer::lower_linear),
    Operator::new("RMSNormalization", layer_norm::infer, layer_norm::lower_root_mean_square),
];

/// Checks that an operand, named by `what`, has the shape that the others ask for.
fn check_shape(ctx: &mut Lower<'_, '_>, what: &str, view: &View, expected: &[Dim]) -> Result<()> {
    if view.shape.len() != expected.len() {
        return Err(OperatorError::new(format!("{what} has rank {}, expected {}", view.shape.len(), expected.len())));
    }
    for (a, b) in view.shape.iter().zip(expected) {
        check_equal(ctx, a, b, &format!("the shape of {what} does not fit the other inputs"))?;
    }
    Ok(())
}

/// Checks that an operand, named by `what`, broadcasts to a shape without changing it.
fn check_fits(ctx: &mut Lower<'_, '_>, what: &str, view: &View, target: &[Dim]) -> Result<()> {
    if view.shape.len() > target.len() {
        return Err(OperatorError::new(format!(
            "{what} has rank {}, expected at most {}",
            view.shape.len(),
            target.len()
        )));
    }
    check_broadcast(ctx, &view.shape, target)
}

/// Checks that two dimensions are equal.
fn check_equal(ctx: &mut Lower<'_, '_>, a: &Dim, b: &Dim, message: &str) -> Result<()> {
    ctx.check(a.compare(CompareOperator::Equal, b), message)
}
