//! The text form of kernels and programs: prints and parses, the same bytes for the same content.
//!
//! ```text
//! kernel relu(p0: f32[n, 64] read, p1: f32[n, 64] write) {
//!   outer a0 < n, a1 < 64
//!   e0: i64 = axis a0
//!   e1: i64 = axis a1
//!   e2: f32 = load p0[e0, e1]
//!   e3: f32 = const 0.0
//!   e4: f32 = max e2 e3
//!   store p1[e0, e1] = e4
//! }
//! ```
//!
//! Other statements of kernels:
//!
//! ```text
//!   e5: f32 = load p0[e0, e1] if e7 else 0.0
//!   e6: f32 = cast f8e4m3fn e4                    or: cast f8e4m3fn wrapping e4
//!   e7: i64 = checked e0 < e1
//!   r0 = sum over a2 < 9 { e5 }
//!   store over a3 < 64 { p1[e0, e8] = e4 }
//!   store p1[e0, e1] += e4 if e7                  also *=, min= and max=
//!   unused a4 < 3                                 an axis that nothing opens
//! ```
//!
//! Floats that have no decimal form are written as their bits, `0x7fc00001`. Programs list symbols with their bounds,
//! ports, buffers, labels and kernels before their steps; see the tests for examples.

mod cursor;
mod parse_kernel;
mod parse_program;
mod print_kernel;
mod print_program;
mod scalar;
#[cfg(test)]
mod tests;

pub use cursor::ParseError;
pub use parse_kernel::parse_kernel;
pub use parse_program::parse_program;
pub use print_kernel::print_kernel;
pub use print_program::print_program;
