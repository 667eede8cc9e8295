//! Reductions over axes, and what normalizes along them.

mod arg;
mod axes;
mod rows;
mod softmax;

use super::Operator;

/// The operators of this family.
pub static OPERATORS: &[Operator] = &[
    Operator::new("ArgMax", arg::infer, arg::lower_max),
    Operator::new("ArgMin", arg::infer, arg::lower_min),
    Operator::new("Hardmax", softmax::infer, softmax::lower_hardmax),
    Operator::new("LogSoftmax", softmax::infer, softmax::lower_log),
    Operator::new("ReduceL1", rows::infer, rows::lower_l1),
    Operator::new("ReduceL2", rows::infer, rows::lower_l2),
    Operator::new("ReduceLogSum", rows::infer, rows::lower_log_sum),
    Operator::new("ReduceLogSumExp", rows::infer, rows::lower_log_sum_exp),
    Operator::new("ReduceMax", rows::infer, rows::lower_max),
    Operator::new("ReduceMean", rows::infer, rows::lower_mean),
    Operator::new("ReduceMin", rows::infer, rows::lower_min),
    Operator::new("ReduceProd", rows::infer, rows::lower_product),
    Operator::new("ReduceSum", rows::infer, rows::lower_sum),
    Operator::new("ReduceSumSquare", rows::infer, rows::lower_sum_square),
    Operator::new("Softmax", softmax::infer, softmax::lower),
];
