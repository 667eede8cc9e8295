//! An interpreter of PTX for tests: it executes kernels on a machine without a GPU and checks what hardware does not.
//!
//! The pipeline is text → [tokens](lexer) → [statements](parser) → [operations](decode) → [execution](execute).
//! A kernel is decoded once; every register is an array of 32 lanes, so one dispatch executes an instruction of a whole
//! warp. Lanes that diverge run in the order of their program counters, the lowest first, and join where they meet.
//!
//! What is checked while a kernel runs: bounds and alignment of every access, reads of uninitialized registers and
//! memory, races between warps in shared memory, barriers reached by part of a warp, deadlocks, and runaway loops.
//!
//! ```
//! use lithify_ptx_interpreter::{Memory, Module, Options, Param};
//!
//! let module = Module::parse(
//!     ".version 7.0
//!      .target sm_80
//!      .address_size 64
//!      .visible .entry twice(.param .u64 x) {
//!          .reg .b64 %rd<3>; .reg .f32 %f<2>; .reg .b32 %r<2>;
//!          ld.param.u64 %rd0, [x];
//!          mov.u32 %r0, %tid.x;
//!          mad.wide.u32 %rd1, %r0, 4, %rd0;
//!          ld.global.f32 %f0, [%rd1];
//!          add.f32 %f1, %f0, %f0;
//!          st.global.f32 [%rd1], %f1;
//!          ret;
//!      }",
//! )?;
//! let mut memory = Memory::new();
//! let x = memory.allocate(32 * 4);
//! memory.write_f32(x, &[1.5; 32])?;
//! module.launch("twice", [1, 1, 1], [32, 1, 1], 0, &[Param::Pointer(x)], &mut memory, &Options::default())?;
//! assert_eq!(memory.read_f32(x, 32)?, [3.0; 32]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod decode;
mod error;
mod execute;
mod fault;
mod lanes;
mod launch;
mod lexer;
mod memory;
mod module;
mod operation;
mod parser;
mod region;
mod statement;
mod types;

pub use error::Error;
pub use fault::{Fault, FaultReason, WaitingWarp};
pub use launch::{Options, Param, Stats, WarpOrder};
pub use memory::{DevicePtr, Memory, MemoryError};
pub use module::Module;
