//! RNN, GRU and LSTM: one contraction for what all steps get from the input, then a loop over the steps.

mod activations;
mod cell;
mod gru;
mod lstm;
mod recurrence;
mod rnn;

use super::Operator;

/// The operators of this family.
pub static OPERATORS: &[Operator] = &[
    Operator::new("GRU", gru::infer, gru::lower),
    Operator::new("LSTM", lstm::infer, lstm::lower),
    Operator::new("RNN", rnn::infer, rnn::lower),
];
