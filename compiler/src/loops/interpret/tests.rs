use std::sync::Arc;

use super::*;
use crate::graph::{Dim, ElementType as E, Symbols, Tensor};
use crate::loops::{
    Access, Action, BinaryOp, BufferKind, CompareOp, KernelBuilder, Port, Program, ReduceOp, Scalar, Step, StoreOp,
    UnaryOp,
};

fn number(element: E, value: i64) -> Number {
    Number::from_scalar(Scalar::from_i64(element, value))
}

fn run(kernel: &super::super::Kernel, buffers: &mut [Vec<u8>]) -> Result<(), Fault> {
    interpret_kernel(kernel, buffers, &|_| None, &mut Fuel::new(100_000))
}

fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn integer_operations_have_defined_results() {
    use arithmetic::{binary, unary};
    let cases = [
        (BinaryOp::Add, E::I8, 127, 1, -128),
        (BinaryOp::Mul, E::U8, 200, 2, 144),
        (BinaryOp::Div, E::I32, -7, 2, -3),
        (BinaryOp::Div, E::I32, 5, 0, 0),
        (BinaryOp::Div, E::I64, i64::MIN, -1, i64::MIN),
        (BinaryOp::Rem, E::I32, -7, 2, -1),
        (BinaryOp::Mod, E::I32, -7, 2, 1),
        (BinaryOp::Mod, E::I32, 7, -2, -1),
        (BinaryOp::FloorDiv, E::I32, -7, 2, -4),
        (BinaryOp::FloorDiv, E::I32, 7, -2, -4),
        (BinaryOp::FloorDiv, E::I32, -6, -2, 3),
        (BinaryOp::Pow, E::I32, 3, 4, 81),
        (BinaryOp::Pow, E::I32, 2, 31, i64::from(i32::MIN)),
        (BinaryOp::Pow, E::I32, -1, -3, -1),
        (BinaryOp::Pow, E::I32, 2, -1, 0),
        (BinaryOp::ShiftLeft, E::U8, 3, 7, 128),
        (BinaryOp::ShiftLeft, E::U8, 3, 8, 0),
        (BinaryOp::ShiftRight, E::I8, -128, 7, -1),
        (BinaryOp::ShiftRight, E::I8, -128, 8, 0),
    ];
    for (op, element, a, b, expected) in cases {
        let result = binary(op, number(element, a), number(element, b));
        assert_eq!(result, Ok(number(element, expected)), "{} {element} {a} {b}", op.name());
    }
    assert_eq!(unary(UnaryOp::Abs, number(E::I8, -128)), Ok(number(E::I8, -128)));
    assert_eq!(unary(UnaryOp::Not, number(E::Bool, 0)), Ok(number(E::Bool, 1)));
    assert!(unary(UnaryOp::Exp, number(E::I8, 1)).is_err());
}

#[test]
fn nan_passes_through_least_and_greatest() {
    use arithmetic::{binary, compare};
    for (a, b) in [(f32::NAN, 1.0), (1.0, f32::NAN)] {
        for op in [BinaryOp::Min, BinaryOp::Max] {
            assert!(binary(op, Number::F32(a), Number::F32(b)).is_ok_and(Number::is_nan));
        }
        assert_eq!(compare(CompareOp::Ne, Number::F32(a), Number::F32(b)), Ok(true));
        assert_eq!(compare(CompareOp::Ge, Number::F32(a), Number::F32(b)), Ok(false));
    }
    assert_eq!(binary(BinaryOp::Mod, Number::F32(-7.0), Number::F32(2.0)), Ok(Number::F32(1.0)));
    assert_eq!(binary(BinaryOp::Rem, Number::F32(-7.0), Number::F32(2.0)), Ok(Number::F32(-1.0)));
}

#[test]
fn casts_saturate_from_floats_and_wrap_from_integers() {
    use arithmetic::{bitcast, cast};
    assert_eq!(cast(E::I8, true, Number::F32(300.0)), Ok(number(E::I8, 127)));
    assert_eq!(cast(E::U8, true, Number::F32(-3.0)), Ok(number(E::U8, 0)));
    assert_eq!(cast(E::I32, true, Number::F32(f32::NAN)), Ok(number(E::I32, 0)));
    assert_eq!(cast(E::I32, true, Number::F32(-1.9)), Ok(number(E::I32, -1)));
    assert_eq!(cast(E::I8, true, number(E::I32, 300)), Ok(number(E::I8, 44)));
    assert_eq!(cast(E::I4, true, number(E::I32, 9)), Ok(number(E::I8, -7)));
    assert_eq!(cast(E::F16, true, Number::F32(1.0 + 1.0 / 2048.0)), Ok(Number::F32(1.0)));
    assert_eq!(cast(E::Bool, true, Number::F32(0.5)), Ok(Number::bool(true)));
    assert_eq!(bitcast(E::I32, Number::F32(-0.0)), Ok(number(E::I32, i64::from(i32::MIN))));
    assert_eq!(bitcast(E::F32, number(E::U32, 0x3f80_0000)), Ok(Number::F32(1.0)));
}

#[test]
fn every_storage_type_keeps_small_integers() {
    for &element in E::ALL.iter().filter(|&&element| storage::is_supported(element) && element != E::F8E8M0) {
        let values: Vec<Number> = [1, 0, 1, 1, 0].map(|value| number(element, value)).to_vec();
        let packed = storage::pack(element, &values);
        assert_eq!(packed.len(), (5 * element.bits()).div_ceil(8));
        assert_eq!(storage::unpack(element, &packed, 5), values, "{element}");
    }
    assert_eq!(storage::pack(E::I4, &[number(E::I8, -1), number(E::I8, 3), number(E::I8, 7)]), [0x3f, 0x07]);
}

#[test]
fn softmax_of_a_row() {
    let mut b = KernelBuilder::new("softmax");
    let x = b.parameter(E::F32, &[2.into(), 3.into()], Access::Read);
    let y = b.parameter(E::F32, &[2.into(), 3.into()], Access::Write);
    let row = b.outer_axis(2);
    let greatest = b.reduce(ReduceOp::Max, &[3.into()], |b, at| b.load(x, &[row, at[0]]));
    let exp = |b: &mut KernelBuilder, at| {
        let value = b.load(x, &[row, at]);
        let shifted = b.sub(value, greatest);
        b.unary(UnaryOp::Exp, shifted)
    };
    let total = b.reduce(ReduceOp::Sum, &[3.into()], |b, at| exp(b, at[0]));
    b.store_over(y, &[3.into()], |b, at| {
        let value = exp(b, at[0]);
        (vec![row, at[0]], b.div(value, total))
    });
    let ln2 = std::f32::consts::LN_2;
    let mut buffers = [f32s(&[0.0, 0.0, ln2, 5.0, 5.0, 5.0]), vec![0; 24]];
    run(&b.finish(), &mut buffers).expect("a valid kernel");
    let result: Vec<f64> = storage::unpack(E::F32, &buffers[1], 6).into_iter().map(Number::to_f64).collect();
    for (value, expected) in result.iter().zip([0.25, 0.25, 0.5, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0]) {
        assert!((value - expected).abs() < 1e-7, "{result:?}");
    }
}

#[test]
fn positions_of_extremes() {
    let nan = f32::NAN;
    let cases = [
        (ReduceOp::ArgMax { last: false }, [1.0, 3.0, 3.0, 2.0], 1),
        (ReduceOp::ArgMax { last: true }, [1.0, 3.0, 3.0, 2.0], 2),
        (ReduceOp::ArgMin { last: false }, [f32::INFINITY; 4], 0),
        (ReduceOp::ArgMin { last: true }, [0.0, -0.0, 1.0, 2.0], 1),
        (ReduceOp::ArgMax { last: false }, [1.0, nan, 3.0, nan], 1),
        (ReduceOp::ArgMax { last: true }, [1.0, nan, 3.0, nan], 3),
    ];
    for (op, values, expected) in cases {
        let mut b = KernelBuilder::new("position");
        let x = b.parameter(E::F32, &[4.into()], Access::Read);
        let y = b.parameter(E::I64, &[], Access::Write);
        let place = b.reduce(op, &[4.into()], |b, at| b.load(x, at));
        b.store(y, &[], place);
        let mut buffers = [f32s(&values), vec![0; 8]];
        run(&b.finish(), &mut buffers).expect("a valid kernel");
        assert_eq!(buffers[1], i64::to_le_bytes(expected), "{} {values:?}", op.name());
    }
}

#[test]
fn guards_protect_memory_and_checks_fail() {
    let mut b = KernelBuilder::new("pad");
    let x = b.parameter(E::I32, &[2.into()], Access::Read);
    let y = b.parameter(E::I32, &[4.into()], Access::Write);
    let at = b.outer_axis(4);
    let one = b.index(1);
    let from = b.sub(at, one);
    let inside = b.in_range(from, &2.into());
    let value = b.load_where(x, &[from], inside, Scalar::from_i64(E::I32, 9));
    b.store(y, &[at], value);
    let pack = |values: &[i64]| storage::pack(E::I32, &values.iter().map(|&v| number(E::I32, v)).collect::<Vec<_>>());
    let mut buffers = [pack(&[5, 6]), pack(&[0; 4])];
    run(&b.finish(), &mut buffers).expect("a valid kernel");
    assert_eq!(buffers[1], pack(&[9, 5, 6, 9]));

    for checked in [false, true] {
        let mut b = KernelBuilder::new("gather");
        let x = b.parameter(E::I32, &[2.into()], Access::Read);
        let y = b.parameter(E::I32, &[3.into()], Access::Write);
        let at = b.outer_axis(3);
        let from = if checked { b.checked(at, &2.into()) } else { at };
        let value = b.load(x, &[from]);
        b.store(y, &[at], value);
        let mut buffers = [pack(&[5, 6]), pack(&[0; 3])];
        let fault = run(&b.finish(), &mut buffers).expect_err("index 2 of 2");
        match checked {
            true => assert!(matches!(&fault, Fault::Check(_)), "{fault}"),
            false => assert_eq!(fault.to_string(), "kernel gather: load of p0 at [2] is outside its shape [2]"),
        }
    }
}

#[test]
fn long_loops_run_out_of_fuel() {
    let mut b = KernelBuilder::new("long");
    let y = b.parameter(E::I32, &[1.into()], Access::Write);
    b.outer_axes(&[Dim::constant(1 << 62), Dim::constant(0)]);
    let (zero, value) = (b.index(0), b.integer(E::I32, 1));
    b.store(y, &[zero], value);
    assert_eq!(run(&b.finish(), &mut [vec![0; 4]]), Err(Fault::Fuel));
}

/// Adds x to the output, `rounds` times: `while i < rounds { y += x }` after `y = 0`.
fn accumulate() -> Program {
    let mut symbols = Symbols::new();
    let (n, rounds, counter) = (symbols.named("n"), symbols.named("rounds"), symbols.named("i"));
    let shape = vec![Dim::symbol(n)];
    let mut program = Program { symbols, labels: vec!["the model".into()], ..Program::default() };
    let port = |name: &str, element, shape: &[Dim]| Port { name: name.into(), element, shape: shape.to_vec() };
    program.inputs = vec![port("x", E::F32, &shape), port("rounds", E::I32, &[])];
    program.outputs = vec![port("y", E::F32, &shape)];
    let x = program.add_buffer(E::F32, shape.clone(), BufferKind::Input(0));
    let r = program.add_buffer(E::I32, vec![], BufferKind::Input(1));
    let y = program.add_buffer(E::F32, shape.clone(), BufferKind::Output(0));
    let mut b = KernelBuilder::new("zero");
    let target = b.parameter(E::F32, &shape, Access::Write);
    let at = b.outer_axis(shape[0].clone());
    let value = b.float(E::F32, 0.0);
    b.store(target, &[at], value);
    let zero = Arc::new(b.finish());
    let mut b = KernelBuilder::new("add");
    let source = b.parameter(E::F32, &shape, Access::Read);
    let target = b.parameter(E::F32, &shape, Access::ReadWrite);
    let at = b.outer_axis(shape[0].clone());
    let value = b.load(source, &[at]);
    b.update(target, &[at], value, None, StoreOp::Add);
    let add = Arc::new(b.finish());
    let step = |action| Step { label: 0, action };
    program.steps = vec![
        step(Action::Bind { symbol: rounds, buffer: r, element: 0 }),
        step(Action::Check { condition: Dim::symbol(rounds), message: "no rounds".into() }),
        step(Action::Launch { kernel: zero, buffers: vec![y] }),
        step(Action::Loop {
            counter,
            count: Dim::symbol(rounds),
            condition: Dim::ONE,
            body: vec![step(Action::Launch { kernel: add, buffers: vec![x, y] })],
        }),
    ];
    program
}

#[test]
fn programs_bind_check_and_loop() {
    let program = accumulate();
    let run = |rounds: i32| {
        let inputs = vec![Tensor::from_values(&[2], &[1.5f32, -2.0]), Tensor::scalar(rounds)];
        interpret_program(&program, inputs, &no_routines, &mut Fuel::new(10_000))
    };
    assert_eq!(run(3), Ok(vec![Tensor::from_values(&[2], &[4.5f32, -6.0])]));
    assert_eq!(run(0), Err(Fault::Check("no rounds".into())));
    assert_eq!(run(1 << 30), Err(Fault::Fuel));
    let wrong = interpret_program(&program, vec![], &no_routines, &mut Fuel::unlimited());
    assert!(matches!(wrong, Err(Fault::Input(_))));
}

#[test]
fn reads_of_unwritten_buffers_are_faults() {
    let mut program = accumulate();
    program.steps.remove(2);
    let inputs = vec![Tensor::from_values(&[2], &[1.5f32, -2.0]), Tensor::scalar(1i32)];
    let fault = interpret_program(&program, inputs, &no_routines, &mut Fuel::unlimited());
    let fault = fault.expect_err("y is not set before it is added to");
    assert_eq!(fault.to_string(), "at the model: b2: f32[n] is read before it is written");
}
