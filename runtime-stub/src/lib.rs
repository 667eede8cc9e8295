//! The runtime linked into every library that lithify produces.
//!
//! Generated code does the work; this crate checks what callers pass, owns the memory of a context, and holds the few
//! routines that no loop expresses. It allocates through libc, keeps no global state, and never panics on a caller's input.
#![no_std]

#[cfg(test)]
extern crate alloc;

pub mod abi;
pub mod context;
pub mod cpu;
pub mod entry;
pub mod math;
pub mod memory;
#[cfg(stub_standalone)]
mod panic;
pub mod selection;
pub mod symbols;

/// Sum of `a` and `b`, modulo 2^64: lets a host check that the stub it linked is callable.
#[unsafe(no_mangle)]
pub extern "C" fn lithify_stub_probe(a: u64, b: u64) -> u64 {
    a.wrapping_add(b)
}
