//! Whole kernels against references computed in double precision.

mod support;

#[path = "support/gemm.rs"]
mod gemm;

use lithify_ptx_interpreter::{Memory, Module, Options, Param, WarpOrder};
use support::{ORDERS, largest_difference, numbers};

#[test]
fn silu_with_every_length_of_tail() {
    let module = Module::parse(include_str!("kernels/silu.ptx")).unwrap();
    assert_eq!(module.kernel_names().collect::<Vec<_>>(), ["silu"]);
    for n in [1, 3, 4, 127, 512, 1001, 1026] {
        let input = numbers(n, 1);
        let mut memory = Memory::new();
        let (x, y) = (memory.allocate(n * 4), memory.allocate(n * 4));
        memory.write_f32(x, &input).unwrap();
        let params = [Param::Pointer(x), Param::Pointer(y), Param::U32(n as u32)];
        let grid = [(n as u32).div_ceil(512), 1, 1];
        module.launch("silu", grid, [128, 1, 1], 0, &params, &mut memory, &Options::default()).unwrap();
        let expected: Vec<f64> = input.iter().map(|&x| f64::from(x) / (1.0 + f64::from(-x).exp())).collect();
        assert!(largest_difference(&memory.read_f32(y, n).unwrap(), &expected) < 1e-6);
    }
}

#[test]
fn softmax_of_rows_in_every_order_of_warps() {
    let module = Module::parse(include_str!("kernels/softmax.ptx")).unwrap();
    let (rows, columns) = (3, 411);
    let input = numbers(rows * columns, 2);
    let mut expected = Vec::new();
    for row in input.chunks_exact(columns) {
        let sum: f64 = row.iter().map(|&x| f64::from(x).exp()).sum();
        expected.extend(row.iter().map(|&x| f64::from(x).exp() / sum));
    }
    for warp_order in ORDERS {
        let mut memory = Memory::new();
        let (x, y) = (memory.allocate(input.len() * 4), memory.allocate(input.len() * 4));
        memory.write_f32(x, &input).unwrap();
        let params = [Param::Pointer(x), Param::Pointer(y), Param::U32(columns as u32)];
        let options = Options { warp_order, ..Options::default() };
        let stats = module.launch("softmax", [3, 1, 1], [128, 1, 1], 0, &params, &mut memory, &options).unwrap();
        assert_eq!((stats.blocks, stats.barriers), (3, 9));
        assert!(largest_difference(&memory.read_f32(y, input.len()).unwrap(), &expected) < 1e-7);
    }
}

fn run_gemm(m: usize, n: usize, k: usize, warp_order: WarpOrder) {
    let module = Module::parse(&gemm::text()).unwrap();
    let (a, b) = (numbers(m * k, 3), numbers(k * n, 4));
    let mut memory = Memory::new();
    let [pa, pb, pc] = [m * k, k * n, m * n].map(|count| memory.allocate(count * 4));
    memory.write_f32(pa, &a).unwrap();
    memory.write_f32(pb, &b).unwrap();
    let params =
        [Param::Pointer(pa), Param::Pointer(pb), Param::Pointer(pc), Param::U32(n as u32), Param::U32(k as u32)];
    let options = Options { warp_order, ..Options::default() };
    let grid = [(n / 64) as u32, (m / 64) as u32, 1];
    module.launch("gemm", grid, [16, 16, 1], 0, &params, &mut memory, &options).unwrap();
    let mut expected = vec![0.0; m * n];
    for row in 0..m {
        for column in 0..n {
            let products = (0..k).map(|i| f64::from(a[row * k + i]) * f64::from(b[i * n + column]));
            expected[row * n + column] = products.sum();
        }
    }
    let difference = largest_difference(&memory.read_f32(pc, m * n).unwrap(), &expected);
    assert!(difference < 1e-4, "{difference}");
}

#[test]
fn matrix_product_through_shared_memory() {
    for order in ORDERS {
        run_gemm(64, 128, 48, order);
    }
}
