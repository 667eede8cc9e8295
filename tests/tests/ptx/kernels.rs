//! Kernels against the loops interpreter.

use lithify::graph::ElementType as E;
use lithify::loops::interpret::{Fuel, Number, interpret_kernel, storage};
use lithify::loops::{
    Access, BinaryOp, CompareOp, ExprId, Kernel, KernelBuilder, ReduceOp, Scalar, StoreOp, UnaryOp, generate,
};
use lithify_tests::ptx::run_kernel;

/// Runs a kernel both ways and compares all buffers.
fn check(kernel: &Kernel, buffers: &[Vec<u8>]) {
    let (mut got, mut wanted) = (buffers.to_vec(), buffers.to_vec());
    let fuel = &mut Fuel::new(100_000_000);
    interpret_kernel(kernel, &mut wanted, &|_| None, fuel).unwrap_or_else(|fault| panic!("{fault}"));
    run_kernel(kernel, &mut got).unwrap_or_else(|error| panic!("{kernel:?}\n{error:?}"));
    for (place, parameter) in kernel.parameters.iter().enumerate() {
        let count = got[place].len() * 8 / parameter.element.bits();
        let unpack = |memory: &[u8]| storage::unpack(parameter.element, memory, count);
        for (at, (got, wanted)) in unpack(&got[place]).into_iter().zip(unpack(&wanted[place])).enumerate() {
            assert!(close(parameter.element, got, wanted), "p{place}[{at}]: {got:?} {wanted:?}\n{kernel:?}");
        }
    }
}

fn close(element: E, got: Number, wanted: Number) -> bool {
    if !element.is_float() {
        return got == wanted;
    }
    let (got, wanted) = (got.to_f64(), wanted.to_f64());
    let tolerance = match element {
        E::F64 => 1e-13,
        E::F32 => 1e-6,
        E::F16 => 1e-3,
        E::BF16 => 8e-3,
        _ => 0.0,
    };
    got == wanted || (got.is_nan() && wanted.is_nan()) || (got - wanted).abs() <= tolerance * wanted.abs().max(1.0)
}

fn pack(element: E, values: &[f64]) -> Vec<u8> {
    let values: Vec<Number> =
        values.iter().map(|&value| Number::from_scalar(Scalar::from_f64(element.compute_type(), value))).collect();
    storage::pack(element, &values)
}

#[test]
fn random_kernels() {
    for seed in 0..400 {
        let kernel = generate::kernel(seed);
        check(&kernel, &generate::buffers(&kernel, seed));
    }
}

const NUMBERS: [f64; 24] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.0,
    3.0,
    -7.0,
    0.5,
    -1.5,
    2.5,
    7.9,
    100.0,
    -128.0,
    127.0,
    255.0,
    300.0,
    -40000.0,
    65535.0,
    2147483648.0,
    -9.3e18,
    1e30,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

fn storable() -> impl Iterator<Item = E> {
    E::ALL.iter().copied().filter(|&element| storage::is_supported(element))
}

/// A kernel of one dimension that stores a function of elements of some inputs.
fn elementwise(
    inputs: &[E],
    output: E,
    length: i64,
    body: impl FnOnce(&mut KernelBuilder, &[ExprId]) -> ExprId,
) -> Kernel {
    let mut b = KernelBuilder::new("elementwise");
    let inputs: Vec<_> = inputs.iter().map(|&element| b.parameter(element, &[length.into()], Access::Read)).collect();
    let output = b.parameter(output, &[length.into()], Access::Write);
    let at = b.outer_axis(length);
    let values: Vec<ExprId> = inputs.iter().map(|&input| b.load(input, &[at])).collect();
    let value = body(&mut b, &values);
    b.store(output, &[at], value);
    b.finish()
}

#[test]
fn casts_between_all_types() {
    for from in storable().filter(|&from| from != E::F8E8M0) {
        for to in storable().filter(|&to| to != E::F8E8M0 && to != E::F4E2M1) {
            let kernel = elementwise(&[from], to, NUMBERS.len() as i64, |b, values| b.cast(to, values[0]));
            check(&kernel, &[pack(from, &NUMBERS), pack(to, &[0.0; NUMBERS.len()])]);
        }
    }
}

#[test]
fn integer_operations_at_their_edges() {
    for element in E::ALL.iter().copied().filter(|element| element.is_integer() && element.bits() >= 8) {
        let (low, high) = (Scalar::lowest(element).to_i64(), Scalar::highest(element).to_i64());
        let edges: Vec<i64> = [0, 1, 2, 3, 7, 8, 31, 64, -1, -2, -3, -7, low, low + 1, high, high - 1].to_vec();
        let pairs = edges.iter().flat_map(|&a| edges.iter().map(move |&b| (a, b)));
        let number = |value| Number::from_scalar(Scalar::from_i64(element, value));
        let (left, right): (Vec<Number>, Vec<Number>) = pairs.map(|(a, b)| (number(a), number(b))).unzip();
        let inputs = [storage::pack(element, &left), storage::pack(element, &right)];
        let length = left.len() as i64;
        for &op in BinaryOp::ALL.iter().filter(|&&op| op != BinaryOp::Atan2) {
            let kernel = elementwise(&[element; 2], element, length, |b, values| b.binary(op, values[0], values[1]));
            check(&kernel, &[inputs[0].clone(), inputs[1].clone(), inputs[0].clone()]);
        }
        for &op in CompareOp::ALL {
            let kernel = elementwise(&[element; 2], E::Bool, length, |b, values| b.compare(op, values[0], values[1]));
            check(&kernel, &[inputs[0].clone(), inputs[1].clone(), vec![0; left.len()]]);
        }
        for op in [UnaryOp::Neg, UnaryOp::Abs, UnaryOp::Not, UnaryOp::Sign] {
            let kernel = elementwise(&[element], element, length, |b, values| b.unary(op, values[0]));
            check(&kernel, &[inputs[0].clone(), inputs[0].clone()]);
        }
    }
}

#[test]
fn float_operations_and_comparisons() {
    let pairs = NUMBERS.iter().flat_map(|&a| NUMBERS.iter().map(move |&b| (a, b)));
    let (left, right): (Vec<f64>, Vec<f64>) = pairs.unzip();
    let length = left.len() as i64;
    for element in [E::F32, E::F64] {
        let inputs = [pack(element, &left), pack(element, &right)];
        use BinaryOp as B;
        for op in [B::Add, B::Sub, B::Mul, B::Div, B::Rem, B::Mod, B::FloorDiv, B::Pow, B::Min, B::Max, B::Atan2] {
            let kernel = elementwise(&[element; 2], element, length, |b, values| b.binary(op, values[0], values[1]));
            check(&kernel, &[inputs[0].clone(), inputs[1].clone(), inputs[0].clone()]);
        }
        for &op in CompareOp::ALL {
            let kernel = elementwise(&[element; 2], E::Bool, length, |b, values| b.compare(op, values[0], values[1]));
            check(&kernel, &[inputs[0].clone(), inputs[1].clone(), vec![0; left.len()]]);
        }
    }
}

#[test]
fn reductions_by_threads_and_by_blocks() {
    use ReduceOp as R;
    let position = [false, true].map(|last| [R::ArgMin { last }, R::ArgMax { last }]).concat();
    let values: Vec<f64> = (0..3 * 300).map(|i| f64::from((i * 37) % 101 - 50)).collect();
    // Products of these are exact in every type.
    let factors: Vec<f64> = (0..3 * 300).map(|i| if i % 60 == 7 { 2.0 } else { [1.0, -1.0, 1.0][i % 3] }).collect();
    for element in [E::F32, E::F64, E::F16, E::I64, E::I32, E::U8, E::I8] {
        for op in [R::Sum, R::Product, R::Min, R::Max].into_iter().chain(position.iter().copied()) {
            // Short rows are reduced by a thread each, long ones by a block; rows are of one or two axes.
            for (rows, shape) in [(5, vec![7]), (3, vec![300]), (3, vec![20, 15]), (2, vec![0])] {
                if op.is_position() && (shape.len() > 1 || shape[0] == 0) {
                    continue;
                }
                let mut b = KernelBuilder::new("reduction");
                let dims: Vec<_> = shape.iter().map(|&size: &i64| size.into()).collect();
                let full: Vec<_> = [rows.into()].into_iter().chain(dims.iter().cloned()).collect();
                let x = b.parameter(element, &full, Access::Read);
                let to = if op.is_position() { E::I64 } else { element };
                let y = b.parameter(to, &[rows.into()], Access::Write);
                let row = b.outer_axis(rows);
                let result = b.reduce(op, &dims, |b, at| {
                    let index: Vec<ExprId> = [row].into_iter().chain(at.iter().copied()).collect();
                    b.load(x, &index)
                });
                b.store(y, &[row], result);
                let count = (rows * shape.iter().product::<i64>()) as usize;
                let values = if op == R::Product { &factors } else { &values };
                check(&b.finish(), &[pack(element, &values[..count]), pack(to, &vec![0.0; rows as usize])]);
            }
        }
    }
}

#[test]
fn softmax_of_long_rows() {
    let (rows, columns) = (3, 200);
    let mut b = KernelBuilder::new("softmax");
    let shape = [rows.into(), columns.into()];
    let x = b.parameter(E::F32, &shape, Access::Read);
    let y = b.parameter(E::F32, &shape, Access::Write);
    let row = b.outer_axis(rows);
    let greatest = b.reduce(ReduceOp::Max, &[columns.into()], |b, at| b.load(x, &[row, at[0]]));
    let exp = |b: &mut KernelBuilder, at| {
        let value = b.load(x, &[row, at]);
        let shifted = b.sub(value, greatest);
        b.unary(UnaryOp::Exp, shifted)
    };
    let total = b.reduce(ReduceOp::Sum, &[columns.into()], |b, at| exp(b, at[0]));
    b.store_over(y, &[columns.into()], |b, at| {
        let value = exp(b, at[0]);
        (vec![row, at[0]], b.div(value, total))
    });
    let values: Vec<f64> = (0..rows * columns).map(|i| ((i * 37) % 101) as f64 / 10.0).collect();
    check(&b.finish(), &[pack(E::F32, &values), pack(E::F32, &vec![0.0; values.len()])]);
}

#[test]
fn guarded_updates_run_in_order() {
    let mut b = KernelBuilder::new("update");
    let x = b.parameter(E::I32, &[9.into()], Access::Read);
    let y = b.parameter(E::I32, &[3.into()], Access::ReadWrite);
    let at = b.outer_axis(9);
    let three = b.index(3);
    let target = b.binary(BinaryOp::Mod, at, three);
    let value = b.load(x, &[at]);
    let zero = b.integer(E::I32, 0);
    let guard = b.compare(CompareOp::Gt, value, zero);
    b.update(y, &[target], value, Some(guard), StoreOp::Add);
    let values = [1.0, -2.0, 3.0, 4.0, 5.0, -6.0, 7.0, 8.0, 9.0];
    check(&b.finish(), &[pack(E::I32, &values), pack(E::I32, &[10.0, 20.0, 30.0])]);
}

#[test]
fn failed_checks_are_reported() {
    let kernel = |length: i64| {
        let mut b = KernelBuilder::new("gather");
        let x = b.parameter(E::I32, &[2.into()], Access::Read);
        let y = b.parameter(E::I32, &[length.into()], Access::Write);
        let at = b.outer_axis(length);
        let from = b.checked(at, &2.into());
        let value = b.load(x, &[from]);
        b.store(y, &[at], value);
        b.finish()
    };
    let buffers = |length| [pack(E::I32, &[5.0, 6.0]), pack(E::I32, &vec![0.0; length])];
    check(&kernel(2), &buffers(2));
    let error = run_kernel(&kernel(3), &mut buffers(3)).expect_err("index 2 of 2");
    assert!(format!("{error:?}").contains("an index is outside its bounds"), "{error:?}");
}
