//! Floating-point arithmetic. The `.approx` functions are computed exactly and rounded once; hardware is less exact.

use super::half::{Bfloat, Half, Pair};
use super::{Binary, Lane, Lanes, Ternary, Unary, binary, ternary, unary};
use crate::types::Type;

/// Floating-point values, single or in pairs.
trait Float: Lane {
    fn map(self, function: impl Fn(f64) -> f64) -> Self;
    fn zip(self, other: Self, function: impl Fn(f64, f64) -> f64) -> Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    fn fma(self, b: Self, c: Self) -> Self;
    fn sqrt(self) -> Self;
    fn neg(self) -> Self;
    fn abs(self) -> Self;
}

macro_rules! native {
    ($($kind:ty),*) => {$(
        impl Float for $kind {
            #[inline(always)] fn map(self, function: impl Fn(f64) -> f64) -> Self { function(f64::from(self)) as $kind }
            #[inline(always)] fn zip(self, other: Self, function: impl Fn(f64, f64) -> f64) -> Self {
                function(f64::from(self), f64::from(other)) as $kind
            }
            #[inline(always)] fn add(self, other: Self) -> Self { self + other }
            #[inline(always)] fn sub(self, other: Self) -> Self { self - other }
            #[inline(always)] fn mul(self, other: Self) -> Self { self * other }
            #[inline(always)] fn div(self, other: Self) -> Self { self / other }
            #[inline(always)] fn fma(self, b: Self, c: Self) -> Self { self.mul_add(b, c) }
            #[inline(always)] fn sqrt(self) -> Self { self.sqrt() }
            #[inline(always)] fn neg(self) -> Self { -self }
            #[inline(always)] fn abs(self) -> Self { self.abs() }
        }
    )*};
}
native!(f32, f64);

/// A single has more than twice the digits of a 16-bit type, so rounding to it first does not change a sum, product,
/// quotient, or root.
macro_rules! through_single {
    ($($kind:ident),*) => {$(
        impl Float for $kind {
            fn map(self, function: impl Fn(f64) -> f64) -> Self { $kind(function(f64::from(self.0)) as f32) }
            fn zip(self, other: Self, function: impl Fn(f64, f64) -> f64) -> Self {
                $kind(function(f64::from(self.0), f64::from(other.0)) as f32)
            }
            fn add(self, other: Self) -> Self { $kind(self.0 + other.0) }
            fn sub(self, other: Self) -> Self { $kind(self.0 - other.0) }
            fn mul(self, other: Self) -> Self { $kind(self.0 * other.0) }
            fn div(self, other: Self) -> Self { $kind(self.0 / other.0) }
            fn fma(self, b: Self, c: Self) -> Self { $kind(odd_sum(f64::from(self.0) * f64::from(b.0), f64::from(c.0))) }
            fn sqrt(self) -> Self { $kind(self.0.sqrt()) }
            fn neg(self) -> Self { $kind(-self.0) }
            fn abs(self) -> Self { $kind(self.0.abs()) }
        }
    )*};
}
through_single!(Half, Bfloat);

impl<T: Float> Float for Pair<T> {
    fn map(self, function: impl Fn(f64) -> f64) -> Self {
        Self(self.0.map(&function), self.1.map(&function))
    }
    fn zip(self, other: Self, function: impl Fn(f64, f64) -> f64) -> Self {
        Self(self.0.zip(other.0, &function), self.1.zip(other.1, &function))
    }
    fn add(self, other: Self) -> Self {
        Self(self.0.add(other.0), self.1.add(other.1))
    }
    fn sub(self, other: Self) -> Self {
        Self(self.0.sub(other.0), self.1.sub(other.1))
    }
    fn mul(self, other: Self) -> Self {
        Self(self.0.mul(other.0), self.1.mul(other.1))
    }
    fn div(self, other: Self) -> Self {
        Self(self.0.div(other.0), self.1.div(other.1))
    }
    fn fma(self, b: Self, c: Self) -> Self {
        Self(self.0.fma(b.0, c.0), self.1.fma(b.1, c.1))
    }
    fn sqrt(self) -> Self {
        Self(self.0.sqrt(), self.1.sqrt())
    }
    fn neg(self) -> Self {
        Self(self.0.neg(), self.1.neg())
    }
    fn abs(self) -> Self {
        Self(self.0.abs(), self.1.abs())
    }
}

/// The sum of two doubles rounded to a single "to odd", so that a second rounding to a narrower type is exact.
fn odd_sum(a: f64, b: f64) -> f32 {
    let sum = a + b;
    let rest = {
        let part = sum - a;
        (a - (sum - part)) + (b - part)
    };
    let single = sum as f32;
    let error = (sum - f64::from(single)) + rest;
    if error == 0.0 || !single.is_finite() || single.to_bits() & 1 == 1 {
        return single;
    }
    // The neighbour toward the exact sum; the even value itself would hide on which side the sum lies.
    if (error > 0.0) == (single >= 0.0) || single == 0.0 {
        single.next_up_from_zero()
    } else {
        f32::from_bits(single.to_bits() - 1)
    }
}

/// Stepping away from zero.
trait AwayFromZero {
    fn next_up_from_zero(self) -> Self;
}

impl AwayFromZero for f32 {
    fn next_up_from_zero(self) -> Self {
        Self::from_bits(self.to_bits() + 1)
    }
}

/// Orders −0 before +0 and ignores a NaN beside a number.
fn minimum(a: f64, b: f64) -> f64 {
    if a.is_nan() {
        return b;
    }
    if b.is_nan() || a < b || (a == b && a.is_sign_negative()) { a } else { b }
}

fn maximum(a: f64, b: f64) -> f64 {
    -minimum(-a, -b)
}

fn unless_nan(a: f64, b: f64, function: fn(f64, f64) -> f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { function(a, b) }
}

macro_rules! with_float {
    ($kind:expr, $function:ident($($argument:expr),*)) => {
        match $kind {
            Type::F32 => $function::<f32>($($argument),*),
            Type::F64 => $function::<f64>($($argument),*),
            Type::F16 => $function::<Half>($($argument),*),
            Type::BF16 => $function::<Bfloat>($($argument),*),
            Type::F16x2 => $function::<Pair<Half>>($($argument),*),
            Type::BF16x2 => $function::<Pair<Bfloat>>($($argument),*),
            _ => None,
        }
    };
}

fn unary_of<T: Float>(name: &str) -> Option<Unary> {
    Some(match name {
        "abs" => unary!(T, |a| a.abs()),
        "neg" => unary!(T, |a| a.neg()),
        "sqrt" => unary!(T, |a| a.sqrt()),
        "rcp" => unary!(T, |a| a.map(|a| 1.0 / a)),
        "rsqrt" => unary!(T, |a| a.map(|a| 1.0 / a.sqrt())),
        "ex2" => unary!(T, |a| a.map(f64::exp2)),
        "lg2" => unary!(T, |a| a.map(f64::log2)),
        "sin" => unary!(T, |a| a.map(f64::sin)),
        "cos" => unary!(T, |a| a.map(f64::cos)),
        "tanh" => unary!(T, |a| a.map(f64::tanh)),
        _ => return None,
    })
}

/// Functions of one floating-point value.
pub fn float_unary(name: &str, kind: Type) -> Option<Unary> {
    with_float!(kind, unary_of(name))
}

fn binary_of<T: Float>(name: &str) -> Option<Binary> {
    Some(match name {
        "add" => binary!(T, |a, b| a.add(b)),
        "sub" => binary!(T, |a, b| a.sub(b)),
        "mul" => binary!(T, |a, b| a.mul(b)),
        "div" => binary!(T, |a, b| a.div(b)),
        "min" => binary!(T, |a, b| a.zip(b, minimum)),
        "max" => binary!(T, |a, b| a.zip(b, maximum)),
        "min.NaN" => binary!(T, |a, b| a.zip(b, |a, b| unless_nan(a, b, minimum))),
        "max.NaN" => binary!(T, |a, b| a.zip(b, |a, b| unless_nan(a, b, maximum))),
        // The sign comes from the first operand.
        "copysign" => binary!(T, |a, b| b.zip(a, f64::copysign)),
        _ => return None,
    })
}

/// Functions of two floating-point values; the name carries `.NaN`.
pub fn float_binary(name: &str, kind: Type) -> Option<Binary> {
    with_float!(kind, binary_of(name))
}

fn fma_of<T: Float>() -> Option<Ternary> {
    Some(ternary!(T, T, |a, b, c| a.fma(b, c)))
}

/// `fma`, the only function of three floating-point values.
pub fn float_ternary(kind: Type) -> Option<Ternary> {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("fma") && std::arch::is_x86_feature_detected!("avx2") {
        match kind {
            // SAFETY: the features the functions are compiled for were detected on this machine.
            Type::F32 => return Some(|d, a, b, c| unsafe { machine::fma_f32(d, a, b, c) }),
            // SAFETY: as above.
            Type::F64 => return Some(|d, a, b, c| unsafe { machine::fma_f64(d, a, b, c) }),
            _ => {}
        }
    }
    with_float!(kind, fma_of())
}

/// Clamps to 0 and 1; NaN becomes 0.
pub fn saturate(kind: Type) -> Option<Unary> {
    fn of<T: Float>() -> Option<Unary> {
        Some(unary!(T, |a| a.map(|a| if a > 0.0 { a.min(1.0) } else { 0.0 })))
    }
    with_float!(kind, of())
}

/// Without these, a multiply-add is a call into the mathematics library for each lane.
#[cfg(target_arch = "x86_64")]
mod machine {
    use super::*;

    #[target_feature(enable = "avx2,fma")]
    pub fn fma_f32(d: &mut Lanes, a: &Lanes, b: &Lanes, c: &Lanes) {
        for (((d, a), b), c) in d.iter_mut().zip(a).zip(b).zip(c) {
            *d = f32::get(*a).mul_add(f32::get(*b), f32::get(*c)).put();
        }
    }

    #[target_feature(enable = "avx2,fma")]
    pub fn fma_f64(d: &mut Lanes, a: &Lanes, b: &Lanes, c: &Lanes) {
        for (((d, a), b), c) in d.iter_mut().zip(a).zip(b).zip(c) {
            *d = f64::get(*a).mul_add(f64::get(*b), f64::get(*c)).put();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::LANES;
    use super::*;

    fn apply(name: &str, a: f32, b: f32) -> f32 {
        let mut d = [0; LANES];
        float_binary(name, Type::F32).unwrap()(&mut d, &[a.put(); LANES], &[b.put(); LANES]);
        f32::get(d[7])
    }

    #[test]
    fn minimum_and_maximum_follow_the_manual() {
        assert_eq!(apply("min", f32::NAN, 2.0), 2.0);
        assert_eq!(apply("max", 2.0, f32::NAN), 2.0);
        assert!(apply("max.NaN", 2.0, f32::NAN).is_nan() && apply("min", f32::NAN, f32::NAN).is_nan());
        assert!(apply("min", 0.0, -0.0).is_sign_negative() && apply("max", -0.0, 0.0).is_sign_positive());
        assert_eq!(apply("copysign", -1.0, 3.0), -3.0);
    }

    #[test]
    fn a_half_multiply_add_rounds_once() {
        let (a, b, c) = (Half(1.0), Half(2048.0 + 2.0), Half(half_step()));
        assert_eq!(a.fma(b, c).put(), Half(2050.0).put());
        // 2049 + 2^-24 lies just above the tie between 2048 and 2050.
        assert_eq!(Half(1.0).fma(Half(2047.0), Half(2.0)).put(), Half(2048.0).put());
        assert_eq!(odd_sum(2049.0, 2f64.powi(-40)).to_bits() & 1, 1);
        assert_eq!(odd_sum(-2049.0, 2f64.powi(-40)).to_bits() & 1, 1);
        assert!(odd_sum(2049.0, -(2f64.powi(-40))) < 2049.0);
    }

    fn half_step() -> f32 {
        2f32.powi(-14)
    }
}
