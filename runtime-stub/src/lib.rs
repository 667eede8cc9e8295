//! The runtime stub.
#![no_std]

pub mod math;

#[cfg(stub_standalone)]
mod panic;

/// Sum of `a` and `b`, modulo 2^64: lets a host check that the stub it linked is callable.
#[unsafe(no_mangle)]
pub extern "C" fn lithify_stub_probe(a: u64, b: u64) -> u64 {
    a.wrapping_add(b)
}
