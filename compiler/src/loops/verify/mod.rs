//! Checks that kernels and programs are well formed, so that what follows need not.

mod kernel;
mod program;
#[cfg(test)]
mod tests;
mod types;

pub use kernel::verify_kernel;
pub use program::verify_program;
