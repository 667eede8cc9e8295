//! From scheduled loops to code.

pub mod clif;
mod compile;
mod kernels;

pub use compile::{Compiled, compile};
pub use kernels::{KernelSet, kernel_symbols};
