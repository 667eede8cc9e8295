//! Any bytes, taken as a model, are lowered to loops or refused with a message.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lithify::pipeline::{self, CompileOptions};

fuzz_target!(|bytes: &[u8]| {
    let mut options = CompileOptions::host("fuzz");
    // A fuzzer looks for defects in small models: limits that keep each run short.
    let limits = &mut options.load.limits;
    limits.decoded_bytes = 64 << 20;
    limits.nodes = 1000;
    limits.tensor_bytes = 16 << 20;
    limits.sparse_bytes = 16 << 20;
    limits.constant_bytes = 64 << 20;
    if let Ok(mut model) = pipeline::load_bytes(bytes.to_vec().into(), None, &options) {
        let _ = pipeline::lower(&mut model);
    }
});
