//! PTX of kernels, executed by the interpreter.

#[path = "ptx/kernels.rs"]
mod kernels;
#[path = "ptx/mathematics.rs"]
mod mathematics;
