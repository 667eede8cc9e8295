//! Scalar mathematics as CLIF, one expansion for any lane count.
//!
//! Accuracy is stated in ulp of the `f32` result against the exact value, with and without fused multiply-add, over every
//! argument: denormals, infinities and NaN included.

mod double;
mod emit;
mod error_function;
mod exponential;
#[cfg(test)]
mod harness;
mod inverse_trigonometric;
mod logarithm;
mod narrow;
mod power;
mod trigonometric;

pub use double::Double;
pub use emit::MathBuilder;
pub(crate) use narrow::{Format as NarrowFormat, Specials as NarrowSpecials};
pub use trigonometric::TRIGONOMETRIC_LIMIT;

use cranelift_codegen::ir::{Value, types};
use cranelift_frontend::FunctionBuilder;

use crate::loops::{BinaryOp, UnaryOp};

/// How far an expansion can be used.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Inline {
    /// For every argument.
    Always,
    /// For arguments up to this magnitude; others need the routine.
    UpTo(f32),
    /// There is no expansion.
    Never,
}

/// Whether and where [`unary`] expands an operation on `f32`.
pub fn inline_unary(op: UnaryOp) -> Inline {
    use UnaryOp::*;
    match op {
        Sin | Cos | Tan => Inline::UpTo(TRIGONOMETRIC_LIMIT),
        Exp | Log | Asin | Acos | Atan | Sinh | Cosh | Tanh | Asinh | Acosh | Atanh | Erf | Sigmoid | Log1p | Expm1 => {
            Inline::Always
        }
        _ => Inline::Never,
    }
}

/// The expansion of an operation on `f32` of any lane count; `None` where [`inline_unary`] says never.
pub fn unary(builder: &mut FunctionBuilder<'_>, op: UnaryOp, x: Value, fma: bool) -> Option<Value> {
    if builder.func.dfg.value_type(x).lane_type() != types::F32 {
        return None;
    }
    let mut math = MathBuilder::like(builder, x, fma);
    Some(match op {
        UnaryOp::Exp => math.exp(x),
        UnaryOp::Expm1 => math.expm1(x),
        UnaryOp::Log => math.log(x),
        UnaryOp::Log1p => math.log1p(x),
        UnaryOp::Sigmoid => math.sigmoid(x),
        UnaryOp::Tanh => math.tanh(x),
        UnaryOp::Sinh => math.sinh(x),
        UnaryOp::Cosh => math.cosh(x),
        UnaryOp::Asinh => math.asinh(x),
        UnaryOp::Acosh => math.acosh(x),
        UnaryOp::Atanh => math.atanh(x),
        UnaryOp::Erf => math.erf(x),
        UnaryOp::Sin => math.sin(x),
        UnaryOp::Cos => math.cos(x),
        UnaryOp::Tan => math.tan(x),
        UnaryOp::Asin => math.asin(x),
        UnaryOp::Acos => math.acos(x),
        UnaryOp::Atan => math.atan(x),
        _ => return None,
    })
}

/// The expansion of an operation on two `f32` of any lane count, if it has one.
pub fn binary(builder: &mut FunctionBuilder<'_>, op: BinaryOp, a: Value, b: Value, fma: bool) -> Option<Value> {
    if builder.func.dfg.value_type(a).lane_type() != types::F32 {
        return None;
    }
    let mut math = MathBuilder::like(builder, a, fma);
    Some(match op {
        BinaryOp::Atan2 => math.atan2(a, b),
        BinaryOp::Pow => math.pow(a, b),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::TRIGONOMETRIC_LIMIT;
    use super::harness::{check, check_binary, check_on, samples};

    #[test]
    fn exponentials_are_within_their_bounds() {
        check("exp", 1.0, f64::exp, |math, x| math.exp(x));
        check("expm1", 2.0, f64::exp_m1, |math, x| math.expm1(x));
        check(
            "sigmoid",
            2.0,
            |x| if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) },
            |math, x| math.sigmoid(x),
        );
        check("tanh", 2.0, f64::tanh, |math, x| math.tanh(x));
        check("sinh", 2.0, f64::sinh, |math, x| math.sinh(x));
        check("cosh", 2.0, f64::cosh, |math, x| math.cosh(x));
    }

    #[test]
    fn logarithms_are_within_their_bounds() {
        check("log", 1.0, f64::ln, |math, x| math.log(x));
        check("log1p", 2.0, f64::ln_1p, |math, x| math.log1p(x));
        check("asinh", 2.0, libm::asinh, |math, x| math.asinh(x));
        check("acosh", 2.0, |x| if x < 1.0 { f64::NAN } else { libm::acosh(x) }, |math, x| math.acosh(x));
        check("atanh", 2.0, libm::atanh, |math, x| math.atanh(x));
    }

    #[test]
    fn the_error_function_is_within_its_bound() {
        check("erf", 2.0, libm::erf, |math, x| math.erf(x));
    }

    #[test]
    fn trigonometric_functions_are_within_their_bounds() {
        let mut inside: Vec<f32> = samples().into_iter().filter(|x| x.abs() <= TRIGONOMETRIC_LIMIT).collect();
        // Close to multiples of π / 2 the reduction cancels most.
        inside.extend((1..60_000).map(|i| (f64::from(i) * std::f64::consts::FRAC_PI_2) as f32));
        inside.extend([f32::NAN, f32::INFINITY]);
        check_on("sin", 2.0, &inside, f64::sin, |math, x| math.sin(x));
        check_on("cos", 2.0, &inside, f64::cos, |math, x| math.cos(x));
        check_on("tan", 2.0, &inside, f64::tan, |math, x| math.tan(x));
    }

    #[test]
    fn inverse_trigonometric_functions_are_within_their_bounds() {
        check("atan", 2.0, f64::atan, |math, x| math.atan(x));
        check("asin", 2.0, f64::asin, |math, x| math.asin(x));
        check("acos", 2.0, f64::acos, |math, x| math.acos(x));
    }

    const EDGES: [f32; 21] = [
        0.0,
        1e-45,
        f32::MIN_POSITIVE,
        0.5,
        0.999_999_94,
        1.0,
        1.000_000_1,
        1.5,
        2.0,
        2.5,
        3.0,
        4.0,
        16_777_215.0,
        16_777_216.0,
        -1.0,
        -2.0,
        -3.0,
        -2.5,
        f32::MAX,
        f32::INFINITY,
        f32::NAN,
    ];

    /// Every pair of edges with either sign, and pairs spread over all bit patterns.
    fn pairs() -> (Vec<f32>, Vec<f32>) {
        let edges: Vec<f32> = EDGES.iter().flat_map(|&edge| [edge, -edge]).collect();
        let mut pairs: Vec<(f32, f32)> = edges.iter().flat_map(|&a| edges.iter().map(move |&b| (a, b))).collect();
        let samples = samples();
        pairs.extend(samples.iter().enumerate().map(|(i, &a)| (a, samples[(i * 7919 + 13) % samples.len()])));
        pairs.into_iter().unzip()
    }

    #[test]
    fn the_angle_of_a_point_is_within_its_bound() {
        let (y, x) = pairs();
        check_binary("atan2", 2.0, &y, &x, f64::atan2, |math, y, x| math.atan2(y, x));
    }

    #[test]
    fn powers_are_within_their_bound() {
        let (mut x, mut y) = pairs();
        // Bases and exponents whose results lie within the range.
        for i in 0..1_000_000u32 {
            let base = f32::from_bits(i.wrapping_mul(2147) % 0x7f80_0000);
            let log = f64::from(base).log2();
            x.push(base);
            y.push(((f64::from(i.wrapping_mul(40_503) % 100_000) / 50_000.0 - 1.0) * 150.0 / log) as f32);
        }
        check_binary("pow", 2.0, &x, &y, f64::powf, |math, x, y| math.pow(x, y));
    }
}
