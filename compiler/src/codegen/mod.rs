//! From scheduled loops to code.

pub mod clif;
mod compile;
mod descriptor;
mod fold;
mod kernels;
pub mod ptx;
mod text;

#[cfg(test)]
mod tests;

pub use compile::{Compiled, compile};
pub use descriptor::{Identity, define_interface, exports};
pub use fold::{fold, may_grow};
pub use kernels::{KernelSet, kernel_symbols};
pub use text::clif_text;
