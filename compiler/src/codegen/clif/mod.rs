//! Scheduled loops to CLIF, the code form of Cranelift.
//!
//! A kernel becomes one function `fn(buffers: *const *mut u8, sizes: *const i64, begin: i64, end: i64) -> i32`: it runs the
//! points `begin..end` of its first outer axis (all others in full) and gives 0, or 1 where an index check failed.

mod access;
mod arithmetic;
mod contraction;
mod convert;
mod dims;
mod expr;
mod kernel;
pub mod math;
mod operations;
mod routines;
mod run;

pub use dims::emit_dim;
pub use kernel::{build_kernel, kernel_signature};
pub use routines::{POINTER, Routines, signature};
pub use run::{Failure, RunContext, run_signature};

use cranelift_codegen::ir::{Type, types};

use crate::graph::ElementType;

/// What the code generator has to know of the processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Features {
    /// How many 32-bit lanes a vector has; 1 for scalar code.
    pub lanes: u32,
    /// Whether fused multiply-add instructions exist.
    pub fma: bool,
}

/// The CLIF type of one value of a compute type; `None` for types without one.
pub fn scalar_type(element: ElementType) -> Option<Type> {
    Some(match element {
        ElementType::F32 => types::F32,
        ElementType::F64 => types::F64,
        ElementType::I64 | ElementType::U64 => types::I64,
        ElementType::I32 | ElementType::U32 => types::I32,
        ElementType::I16 | ElementType::U16 => types::I16,
        ElementType::I8 | ElementType::U8 | ElementType::Bool => types::I8,
        _ => return None,
    })
}
