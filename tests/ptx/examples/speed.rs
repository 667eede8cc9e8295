//! Measures the interpreter on a matrix product: `cargo run -p lithify-ptx-interpreter --example speed`.

#[path = "../tests/support/gemm.rs"]
mod gemm;

use std::time::Instant;

use lithify_ptx_interpreter::{Memory, Module, Options, Param};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    const SIZE: usize = 256;
    let module = Module::parse(&gemm::text())?;
    let mut memory = Memory::new();
    let pointers = [0; 3].map(|_| memory.allocate(SIZE * SIZE * 4));
    for pointer in &pointers[..2] {
        memory.write_f32(*pointer, &vec![0.5; SIZE * SIZE])?;
    }
    let mut params: Vec<_> = pointers.into_iter().map(Param::Pointer).collect();
    params.extend([Param::U32(SIZE as u32), Param::U32(SIZE as u32)]);
    let grid = [(SIZE / 64) as u32, (SIZE / 64) as u32, 1];
    for check_races in [true, false] {
        let options = Options { check_races, ..Options::default() };
        let mut best = f64::INFINITY;
        let mut instructions = 0;
        for _ in 0..5 {
            let start = Instant::now();
            let stats = module.launch("gemm", grid, [16, 16, 1], 0, &params, &mut memory, &options)?;
            best = best.min(start.elapsed().as_secs_f64());
            instructions = stats.warp_instructions;
        }
        let flops = 2.0 * (SIZE * SIZE * SIZE) as f64;
        println!(
            "races checked: {check_races}: {:.1} million warp instructions a second, {:.2} GFLOP/s",
            instructions as f64 / best / 1e6,
            flops / best / 1e9
        );
    }
    Ok(())
}
