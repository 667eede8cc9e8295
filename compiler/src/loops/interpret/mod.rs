//! The slow, obvious meaning of kernels and programs: the oracle of tests, and the folder of small constants.
//!
//! Arithmetic is what [`Expr`](super::Expr) says, one scalar at a time:
//!  * Operations on `f32` round to `f32` each; functions that no processor rounds exactly (`exp`, `sin`, `pow`...) are
//!    computed in `f64` by the same portable code everywhere, and rounded.
//!  * Float sums and products of reductions are accumulated in `f64` and rounded once at the end, so that the error of
//!    compiled code, which may add in any order, is measured against nearly the exact value.
//!  * A cast converts to the compute type of its target, then rounds to the target itself.
//!
//! Operands are evaluated where compiled code evaluates them: both arms of a select, and the index of a load whose guard
//! fails. An index outside its tensor is a [`Fault`] that names the access, because it is always a bug.

mod arithmetic;
mod fault;
mod kernel;
mod memory;
pub mod narrow;
mod number;
mod program;
pub mod storage;
#[cfg(test)]
mod tests;

pub use fault::{Fault, Fuel};
pub use kernel::interpret_kernel;
pub use number::Number;
pub use program::{RoutineResults, Routines, interpret_program, no_routines};
