//! What the tests of the interpreter share; each uses a part.

#![allow(dead_code)]

use lithify_ptx_interpreter::{Fault, Memory, Module, Options, Param, WarpOrder};

/// Numbers between -1 and 1 that are the same in every run.
pub fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2).wrapping_add(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// The largest difference; infinite where a result is NaN, which a plain maximum would drop.
pub fn largest_difference(results: &[f32], expected: &[f64]) -> f64 {
    assert_eq!(results.len(), expected.len());
    let differences = results.iter().zip(expected).map(|(result, expected)| (f64::from(*result) - expected).abs());
    differences.fold(0.0, |most, next| if next.is_nan() { f64::INFINITY } else { most.max(next) })
}

/// The orders of warps under which a right kernel gives the same result.
pub const ORDERS: [WarpOrder; 3] = [WarpOrder::Forward, WarpOrder::Reverse, WarpOrder::Seeded(7)];

/// Wraps the body of a kernel `k` in a whole PTX text.
pub fn kernel(parameters: &str, body: &str) -> String {
    format!(".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k({parameters}) {{\n{body}\n}}\n")
}

/// Runs kernel `k` of a text in one block, with the address of a buffer of `bytes` as its only parameter, and gives the
/// buffer's words.
pub fn run_words(body: &str, threads: u32, input: &[u32], words: usize) -> Result<Vec<u32>, Fault> {
    let module = Module::parse(&kernel(".param .u64 buffer", body)).unwrap_or_else(|error| panic!("{error}\n{body}"));
    let mut memory = Memory::new();
    let buffer = memory.allocate(words * 4);
    let bytes: Vec<u8> = input.iter().flat_map(|word| word.to_le_bytes()).collect();
    memory.write(buffer, &bytes).unwrap();
    let options = Options { step_limit: 1_000_000, ..Options::default() };
    module.launch("k", [1, 1, 1], [threads, 1, 1], 0, &[Param::Pointer(buffer)], &mut memory, &options)?;
    let bytes = memory.read(buffer, words * 4).unwrap_or_else(|error| panic!("{error}"));
    Ok(bytes.chunks_exact(4).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect())
}
