//! Compiled kernels against the interpreter, over odd shapes.

use std::collections::BTreeMap;
use std::ffi::c_void;

use proptest::prelude::*;

use super::fold::Engine;
use crate::graph::ElementType::F32;
use crate::graph::{Dim, Tensor};
use crate::loops::interpret::{Fuel, interpret_kernel};
use crate::loops::{Access, Action, BufferKind, Kernel, KernelBuilder, Program, ReduceOp, Step, StoreOp, collapse_all};
use crate::schedule::{Tiling, block_channels, relayout, schedule};

/// A deterministic number for element `i`, in -1..1.
fn number(i: usize) -> f32 {
    let mixed = (i as u32).wrapping_mul(2_654_435_761).rotate_left(13).wrapping_mul(2_246_822_519);
    (mixed >> 8) as f32 / (1 << 23) as f32 - 1.0
}

/// Runs one kernel through layout changes and the code generator, and through the interpreter; compares the results.
/// `constant` names the parameters whose buffers are constants of the program.
fn check(kernel: &Kernel, constant: &[usize], terms: usize) {
    let mut program = Program { labels: vec![String::new()], ..Program::default() };
    let mut contents: Vec<Vec<u8>> = Vec::new();
    let mut buffers = Vec::new();
    for (index, parameter) in kernel.parameters.iter().enumerate() {
        let dims: Vec<i64> = parameter.shape.iter().map(|dim| dim.as_const().unwrap()).collect();
        let count = dims.iter().product::<i64>() as usize;
        let values: Vec<f32> = (0..count).map(|i| number(i + 1000 * index)).collect();
        let tensor = Tensor::from_values(&dims, &values);
        contents.push(tensor.bytes().unwrap().to_vec());
        let kind = match parameter.access {
            _ if constant.contains(&index) => BufferKind::Constant(tensor),
            Access::Read => BufferKind::Input(index),
            _ => BufferKind::Output(index),
        };
        buffers.push(program.add_buffer(F32, parameter.shape.clone(), kind));
    }
    let launch = Action::Launch { kernel: kernel.clone().into(), buffers: buffers.clone() };
    program.steps.push(Step { label: 0, action: launch });
    block_channels(&mut program, Tiling::of(4));
    collapse_all(&mut program);
    relayout(&mut program, Tiling::of(4));

    let mut memory: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for (index, buffer) in program.buffers.iter().enumerate() {
        let bytes = buffer.bytes().as_const().unwrap() as usize;
        let mut words = vec![0u64; bytes.div_ceil(8) + 1];
        if let Some(initial) = contents.get(index) {
            for (word, chunk) in words.iter_mut().zip(initial.chunks(8)) {
                let mut padded = [0; 8];
                padded[..chunk.len()].copy_from_slice(chunk);
                *word = u64::from_le_bytes(padded);
            }
        }
        memory.insert(index as u32, words);
    }
    let engine = Engine::new(&program).unwrap();
    for step in &program.steps {
        let Action::Launch { kernel, buffers } = &step.action else { panic!("only launches") };
        let addresses: Vec<*mut c_void> =
            buffers.iter().map(|buffer| memory.get_mut(&buffer.0).unwrap().as_mut_ptr().cast()).collect();
        // SAFETY: every buffer has the size of its parameter.
        unsafe { engine.call(kernel, &addresses) };
    }

    interpret_kernel(kernel, &mut contents, &|_| None, &mut Fuel::new(u64::MAX)).unwrap();
    for (index, parameter) in kernel.parameters.iter().enumerate() {
        if parameter.access == Access::Read {
            continue;
        }
        let got: Vec<f32> = memory[&(index as u32)]
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect::<Vec<u8>>()
            .chunks_exact(4)
            .map(|chunk| f32::from_le_bytes(chunk.try_into().unwrap()))
            .collect();
        for (i, chunk) in contents[index].chunks_exact(4).enumerate() {
            let wanted = f32::from_le_bytes(chunk.try_into().unwrap());
            let bound = 4.0 * terms as f32 * f32::EPSILON + 1e-6 * wanted.abs();
            assert!((got[i] - wanted).abs() <= bound, "element {i}: {} instead of {wanted} ({})", got[i], kernel.name);
        }
    }
}

fn matmul([m, k, n]: [i64; 3], transposed: bool) -> Kernel {
    let dims = |list: &[i64]| list.iter().map(|&dim| Dim::constant(dim)).collect::<Vec<_>>();
    let mut builder = KernelBuilder::new("matmul");
    let a = builder.parameter(F32, &dims(&[m, k]), Access::Read);
    let b = builder.parameter(F32, &dims(&if transposed { [n, k] } else { [k, n] }), Access::Read);
    let bias = builder.parameter(F32, &dims(&[n]), Access::Read);
    let c = builder.parameter(F32, &dims(&[m, n]), Access::Write);
    let axes = builder.outer_axes(&dims(&[m, n]));
    let sum = builder.reduce(ReduceOp::Sum, &dims(&[k]), |builder, r| {
        let x = builder.load(a, &[axes[0], r[0]]);
        let y = builder.load(b, &if transposed { [axes[1], r[0]] } else { [r[0], axes[1]] });
        builder.mul(x, y)
    });
    let bias = builder.load(bias, &[axes[1]]);
    let value = builder.add(sum, bias);
    builder.update(c, &axes, value, None, StoreOp::Set);
    builder.finish()
}

struct Conv {
    channels: [i64; 2],
    size: [i64; 2],
    kernel: [i64; 2],
    stride: i64,
    dilation: i64,
    pad: i64,
    /// One input channel for each output channel.
    depthwise: bool,
}

fn conv(c: &Conv) -> Option<Kernel> {
    let out = |d: usize| (c.size[d] + 2 * c.pad - (c.kernel[d] - 1) * c.dilation - 1) / c.stride + 1;
    let dims = |list: &[i64]| list.iter().map(|&dim| Dim::constant(dim)).collect::<Vec<_>>();
    let output = [1, c.channels[1], out(0), out(1)];
    if output.iter().any(|&dim| dim < 1) {
        return None;
    }
    let mut builder = KernelBuilder::new("conv");
    let input_shape = dims(&[1, c.channels[0], c.size[0], c.size[1]]);
    let x = builder.parameter(F32, &input_shape, Access::Read);
    let summed = if c.depthwise { 1 } else { c.channels[0] };
    let w = builder.parameter(F32, &dims(&[c.channels[1], summed, c.kernel[0], c.kernel[1]]), Access::Read);
    let y = builder.parameter(F32, &dims(&output), Access::Write);
    let axes = builder.outer_axes(&dims(&output));
    let value = builder.reduce(ReduceOp::Sum, &dims(&[summed, c.kernel[0], c.kernel[1]]), |builder, r| {
        let mut index = vec![axes[0], if c.depthwise { axes[1] } else { r[0] }];
        let mut inside = None;
        for d in 0..2 {
            let (stride, dilation, pad) = (builder.index(c.stride), builder.index(c.dilation), builder.index(c.pad));
            let at = builder.mul(axes[2 + d], stride);
            let tap = builder.mul(r[1 + d], dilation);
            let at = builder.add(at, tap);
            let at = builder.sub(at, pad);
            let fits = builder.in_range(at, &input_shape[2 + d]);
            inside = Some(inside.map_or(fits, |inside| builder.and(inside, fits)));
            index.push(at);
        }
        let x = builder.load_where(x, &index, inside.unwrap(), crate::loops::Scalar::from_i64(F32, 0));
        let w = builder.load(w, &[axes[1], r[0], r[1], r[2]]);
        builder.mul(x, w)
    });
    builder.store(y, &axes, value);
    Some(builder.finish())
}

#[test]
fn matrix_products_are_register_tiled() {
    let mut program = Program { labels: vec![String::new()], ..Program::default() };
    let kernel = matmul([8, 8, 16], false);
    let buffers =
        kernel.parameters.iter().map(|p| program.add_buffer(F32, p.shape.clone(), BufferKind::Temporary)).collect();
    program.steps.push(Step { label: 0, action: Action::Launch { kernel: kernel.into(), buffers } });
    relayout(&mut program, Tiling::of(4));
    let Some(Action::Launch { kernel, .. }) = program.steps.last().map(|step| &step.action) else { panic!() };
    assert!(schedule(kernel, 4).contraction.is_some());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn matrix_products(m in 1i64..14, k in 0i64..20, n in 1i64..30, transposed: bool, constant in 0usize..4) {
        let constant: Vec<usize> = (0..2).filter(|bit| constant >> bit & 1 == 1).collect();
        check(&matmul([m, k, n], transposed), &constant, k as usize + 1);
    }

    #[test]
    fn convolutions(
        channels in (1i64..9, 1i64..13),
        depthwise: bool,
        size in (1i64..12, 1i64..20),
        kernel in (1i64..4, 1i64..4),
        stride in 1i64..4,
        dilation in 1i64..3,
        pad in 0i64..3,
        constant: bool,
    ) {
        let description = Conv {
            channels: if depthwise { [channels.1; 2] } else { channels.into() },
            size: size.into(), kernel: kernel.into(), stride, dilation, pad, depthwise,
        };
        if let Some(kernel) = conv(&description) {
            let terms = (channels.0 * description.kernel[0] * description.kernel[1]) as usize + 1;
            check(&kernel, if constant { &[1] } else { &[] }, terms);
        }
    }
}
