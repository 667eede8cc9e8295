//! Mathematical functions of kernels against the loops interpreter, in units in the last place.

use lithify::graph::ElementType as E;
use lithify::loops::interpret::{Fuel, interpret_kernel};
use lithify::loops::{Access, BinaryOp, ExprId, Kernel, KernelBuilder, UnaryOp};
use lithify_tests::ptx::run_kernel;

const FUNCTIONS: [UnaryOp; 18] = [
    UnaryOp::Exp,
    UnaryOp::Log,
    UnaryOp::Sin,
    UnaryOp::Cos,
    UnaryOp::Tan,
    UnaryOp::Asin,
    UnaryOp::Acos,
    UnaryOp::Atan,
    UnaryOp::Sinh,
    UnaryOp::Cosh,
    UnaryOp::Tanh,
    UnaryOp::Asinh,
    UnaryOp::Acosh,
    UnaryOp::Atanh,
    UnaryOp::Erf,
    UnaryOp::Sigmoid,
    UnaryOp::Log1p,
    UnaryOp::Expm1,
];

/// Arguments over the whole range and densely about 1, with both signs.
fn samples() -> Vec<f64> {
    let mut values = vec![0.0, 1.0, 0.5, 2.0, 745.0, 709.5, 88.5, 1e-310, f64::INFINITY, f64::NAN, 6.0, 5.9];
    values.extend((0..300).map(|i| f64::from(i) * 0.0371));
    values.extend((-60..60).map(|i| 10f64.powf(f64::from(i) * 0.631)));
    values.extend((1..40).map(|i| f64::from(i) * std::f64::consts::FRAC_PI_2));
    values.extend([1e300, 1.7e308, 123_456_789.0, 2.5e20, 5e-324]);
    let negated: Vec<f64> = values.iter().map(|value| -value).collect();
    values.extend(negated);
    values
}

fn bytes(element: E, values: &[f64]) -> Vec<u8> {
    match element {
        E::F64 => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        _ => values.iter().flat_map(|&value| (value as f32).to_le_bytes()).collect(),
    }
}

/// The bit patterns of floats in their order, so that neighbours differ by one.
fn ordered(element: E, bytes: &[u8]) -> Vec<(f64, i64)> {
    let fold = |bits: i64, sign: i64| if bits < 0 { sign.wrapping_sub(bits) } else { bits };
    match element {
        E::F64 => bytes
            .chunks_exact(8)
            .map(|chunk| f64::from_le_bytes(chunk.try_into().expect("eight bytes")))
            .map(|value| (value, fold(value.to_bits() as i64, i64::MIN)))
            .collect(),
        _ => bytes
            .chunks_exact(4)
            .map(|chunk| f32::from_le_bytes(chunk.try_into().expect("four bytes")))
            .map(|value| (value.into(), fold(i64::from(value.to_bits() as i32), i64::from(i32::MIN))))
            .collect(),
    }
}

fn check(name: &str, element: E, limit: i64, arguments: &[Vec<f64>], kernel: &Kernel) {
    let mut got: Vec<Vec<u8>> = arguments.iter().map(|values| bytes(element, values)).collect();
    got.push(vec![0; got[0].len()]);
    let mut wanted = got.clone();
    interpret_kernel(kernel, &mut wanted, &|_| None, &mut Fuel::unlimited()).expect("a valid kernel");
    run_kernel(kernel, &mut got).unwrap_or_else(|error| panic!("{name}: {error:?}"));
    let place = arguments.len();
    let mut worst = (0, String::new());
    for (at, (got, wanted)) in
        ordered(element, &got[place]).into_iter().zip(ordered(element, &wanted[place])).enumerate()
    {
        let distance =
            if got.0.is_nan() && wanted.0.is_nan() { 0 } else { got.1.saturating_sub(wanted.1).saturating_abs() };
        if distance > worst.0 {
            let arguments: Vec<f64> = arguments.iter().map(|values| values[at]).collect();
            worst = (distance, format!("{name} of {arguments:?} in {element}: {:e}, not {:e}", got.0, wanted.0));
        }
    }
    assert!(worst.0 <= limit, "{} ({} ulp)", worst.1, worst.0);
}

fn kernel(
    element: E,
    count: usize,
    length: usize,
    body: impl FnOnce(&mut KernelBuilder, &[ExprId]) -> ExprId,
) -> Kernel {
    let mut b = KernelBuilder::new("function");
    let length = length as i64;
    let inputs: Vec<_> = (0..count).map(|_| b.parameter(element, &[length.into()], Access::Read)).collect();
    let output = b.parameter(element, &[length.into()], Access::Write);
    let at = b.outer_axis(length);
    let values: Vec<ExprId> = inputs.iter().map(|&input| b.load(input, &[at])).collect();
    let value = body(&mut b, &values);
    b.store(output, &[at], value);
    b.finish()
}

#[test]
fn functions_of_one_number() {
    let mut failures = Vec::new();
    for op in FUNCTIONS {
        // Below 1 the reference of the inverse hyperbolic cosine is not the NaN that it should be.
        let defined = |value: &f64| op != UnaryOp::Acosh || *value >= 1.0 || value.is_nan();
        let values: Vec<f64> = samples().into_iter().filter(defined).collect();
        for (element, limit) in [(E::F32, 1), (E::F64, 4)] {
            let kernel = kernel(element, 1, values.len(), |b, x| b.unary(op, x[0]));
            let result =
                std::panic::catch_unwind(|| check(op.name(), element, limit, std::slice::from_ref(&values), &kernel));
            if let Err(failure) = result {
                failures.push(failure.downcast_ref::<String>().cloned().unwrap_or_default());
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn functions_of_two_numbers() {
    let few = [0.0, 1.0, 0.5, 1.5, 2.0, 3.0, 7.0, 1e-3, 0.999, 1e5, 37.5, 1e300, 1e-310, f64::INFINITY, f64::NAN];
    let edges: Vec<f64> = few.iter().flat_map(|&value| [value, -value]).collect();
    let (mut a, mut b): (Vec<f64>, Vec<f64>) = edges.iter().flat_map(|&a| edges.iter().map(move |&b| (a, b))).unzip();
    a.extend((1..500).map(|i| f64::from(i) * 0.0137));
    b.extend((1..500).map(|i| f64::from((i * 73) % 257) * 0.31 - 40.0));
    for op in [BinaryOp::Pow, BinaryOp::Atan2, BinaryOp::Rem, BinaryOp::Mod] {
        for (element, limit) in [(E::F32, 1), (E::F64, 8)] {
            let kernel = kernel(element, 2, a.len(), |builder, x| builder.binary(op, x[0], x[1]));
            check(op.name(), element, limit, &[a.clone(), b.clone()], &kernel);
        }
    }
}
