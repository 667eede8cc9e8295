//! Fourier transforms and what prepares signals for them.

mod dft;
mod mel;
mod stft;
mod twiddles;
mod window;

use super::Operator;

/// The operators of this family.
pub static OPERATORS: &[Operator] = &[
    Operator::new("BlackmanWindow", window::infer, window::lower_blackman),
    Operator::new("DFT", dft::infer, dft::lower),
    Operator::new("HammingWindow", window::infer, window::lower_hamming),
    Operator::new("HannWindow", window::infer, window::lower_hann),
    Operator::new("MelWeightMatrix", mel::infer, mel::lower),
    Operator::new("STFT", stft::infer, stft::lower),
];
