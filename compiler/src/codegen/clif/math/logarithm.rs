//! Natural logarithms, and the inverse hyperbolic functions that are made of one.

use std::f32::consts::FRAC_1_SQRT_2;

use cranelift_codegen::ir::Value;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};

use super::emit::MathBuilder;

/// ln 2 in a part with eight trailing zeros, so that products with small integers are exact, and the rest.
const LN_2_HIGH: f32 = 0.693_145_75;
const LN_2_LOW: f32 = 1.428_606_8e-6;
/// (log(1 + f) - f + f² / 2) / f³ on 1/√2 <= 1 + f <= √2, for a relative error of the logarithm of 2^-27.
const LOG: &[f32] =
    &[0.333_333_16, -0.250_008_08, 0.200_022_77, -0.166_246_6, 0.141_816_51, -0.131_281_8, 0.128_777_1, -0.078_560_34];
/// (asinh x - x) / x³ in powers of x² on |x| <= 1/2.
const ASINH: &[f32] = &[-0.166_666_66, 0.074_999_07, -0.044_616_1, 0.030_033_633, -0.020_049_928, 0.009_257_228];
/// (atanh x - x) / x³ in powers of x² on |x| <= 1/2.
const ATANH: &[f32] =
    &[0.333_333_37, 0.199_996_23, 0.142_977_39, 0.109_307_036, 0.105_144_76, 0.017_313_702, 0.184_668_68];

/// x = 2^n · m with 1/√2 <= m < √2.
pub(super) struct Parts {
    /// n as an integer.
    pub exponent: Value,
    /// m.
    pub significand: Value,
}

impl MathBuilder<'_, '_> {
    /// Splits a positive normal number.
    pub(super) fn split_exponent(&mut self, x: Value) -> Parts {
        let start = FRAC_1_SQRT_2.to_bits() as i32;
        let bits = self.bits(x);
        let distance = self.add_int_const(bits, -start);
        let exponent = self.shift_right_signed(distance, 23);
        let fraction = self.and_bits(distance, 0x7f_ffff);
        let significand = self.add_int_const(fraction, start);
        let significand = self.from_bits(significand);
        Parts { exponent, significand }
    }

    /// `x` multiplied by 2^25 where it is below the normal range, and the exponent that takes that back.
    pub(super) fn normalize(&mut self, x: Value) -> (Value, Value) {
        let small = self.compare_const(FloatCC::LessThan, x, f32::MIN_POSITIVE);
        let scaled = self.mul_const(x, 33_554_432.0);
        let normal = self.select(small, scaled, x);
        let (shift, zero) = (self.int(-25), self.int(0));
        (normal, self.select(small, shift, zero))
    }

    /// n · ln 2 + log(1 + f).
    fn log_sum(&mut self, n: Value, f: Value) -> Value {
        let p = self.polynomial(f, LOG);
        let square = self.mul(f, f);
        let cube = self.mul(square, f);
        let low = self.float(LN_2_LOW);
        let tail = self.mul(p, cube);
        let tail = self.mul_add(n, low, tail);
        let half = self.float(-0.5);
        let tail = self.mul_add(square, half, tail);
        let sum = self.add(tail, f);
        let high = self.float(LN_2_HIGH);
        self.mul_add(n, high, sum)
    }

    /// The result of a logarithm: where `x` is 0, infinite, negative or NaN, what log(x) is there.
    fn log_edges(&mut self, x: Value, result: Value) -> Value {
        // Infinity and NaN are their own logarithms.
        let high = self.float(f32::INFINITY);
        let finite = self.compare(FloatCC::LessThan, x, high);
        let result = self.select(finite, result, x);
        let zero = self.compare_const(FloatCC::Equal, x, 0.0);
        let lowest = self.float(f32::NEG_INFINITY);
        let result = self.select(zero, lowest, result);
        let negative = self.compare_const(FloatCC::LessThan, x, 0.0);
        let nan = self.float(f32::NAN);
        self.select(negative, nan, result)
    }

    /// Natural logarithm. Error at most 1 ulp.
    pub fn log(&mut self, x: Value) -> Value {
        let (normal, shift) = self.normalize(x);
        let parts = self.split_exponent(normal);
        let exponent = self.add_int(parts.exponent, shift);
        let n = self.float_of_int(exponent);
        let f = self.add_const(parts.significand, -1.0);
        let result = self.log_sum(n, f);
        self.log_edges(x, result)
    }

    /// log(u + c) + k · ln 2 for u of at least 2^-24 and c at most half an ulp of u.
    fn log_of_sum(&mut self, u: Value, c: Value, k: Option<Value>) -> Value {
        let parts = self.split_exponent(u);
        let limit = self.int(126);
        let in_range = self.compare_int_const(IntCC::SignedLessThan, parts.exponent, 126);
        let exponent = self.select(in_range, parts.exponent, limit);
        // c in units of the significand; beyond the limit it is too small to matter.
        let bias = self.int(127);
        let biased = self.sub_int(bias, exponent);
        let scale = self.power_of_two(biased);
        let f = self.add_const(parts.significand, -1.0);
        let f = self.mul_add(c, scale, f);
        let exponent = match k {
            Some(k) => self.add_int(parts.exponent, k),
            None => parts.exponent,
        };
        let n = self.float_of_int(exponent);
        self.log_sum(n, f)
    }

    /// log(1 + x) for x > -1, finite.
    fn log1p_finite(&mut self, x: Value, k: Option<Value>) -> Value {
        let one = self.float(1.0);
        let sum = self.two_sum(one, x);
        self.log_of_sum(sum.high, sum.low, k)
    }

    /// log(1 + x). Error at most 2 ulp.
    pub fn log1p(&mut self, x: Value) -> Value {
        let result = self.log1p_finite(x, None);
        let u = self.add_const(x, 1.0);
        let result = self.log_edges(u, result);
        // Here x is the result to the last bit, signed zeros included.
        let magnitude = self.abs(x);
        let tiny = self.compare_const(FloatCC::LessThan, magnitude, 1e-8);
        self.select(tiny, x, result)
    }

    /// Inverse hyperbolic sine. Error at most 2 ulp.
    pub fn asinh(&mut self, x: Value) -> Value {
        let a = self.abs(x);
        // asinh a = log1p(a + a² / (1 + √(1 + a²))), which is log(2a) to the last bit where a² might overflow.
        let huge = self.compare_const(FloatCC::GreaterThan, a, 1e8);
        let one = self.float(1.0);
        let limited = self.select(huge, one, a);
        let square = self.mul(limited, limited);
        let radicand = self.add_const(square, 1.0);
        let root = self.sqrt(radicand);
        let denominator = self.add_const(root, 1.0);
        let ratio = self.div(square, denominator);
        let argument = self.add(limited, ratio);
        let result = self.log1p_or_log_twice(huge, argument, a);
        let square = self.mul(limited, limited);
        let p = self.polynomial(square, ASINH);
        let cube = self.mul(square, limited);
        let small = self.mul_add(p, cube, limited);
        let is_small = self.compare_const(FloatCC::LessThan, a, 0.5);
        let result = self.select(is_small, small, result);
        self.flip_sign(result, x)
    }

    /// Inverse hyperbolic cosine, NaN below 1. Error at most 2 ulp.
    pub fn acosh(&mut self, x: Value) -> Value {
        let huge = self.compare_const(FloatCC::GreaterThan, x, 1e8);
        let one = self.float(1.0);
        let limited = self.select(huge, one, x);
        // acosh x = log1p(t + √(2t + t²)) with t = x - 1.
        let t = self.add_const(limited, -1.0);
        let square = self.mul(t, t);
        let two = self.float(2.0);
        let radicand = self.mul_add(t, two, square);
        let root = self.sqrt(radicand);
        let argument = self.add(t, root);
        let result = self.log1p_or_log_twice(huge, argument, x);
        let low = self.compare_const(FloatCC::LessThan, x, 1.0);
        let nan = self.float(f32::NAN);
        self.select(low, nan, result)
    }

    /// log(2x) where the condition holds and log(1 + t) elsewhere; NaN and infinite x stay.
    fn log1p_or_log_twice(&mut self, twice: Value, t: Value, x: Value) -> Value {
        let (zero, one) = (self.int(0), self.int(1));
        let k = self.select(twice, one, zero);
        let t = self.select(twice, x, t);
        let result = self.log1p_finite(t, Some(k));
        let finite = self.compare_const(FloatCC::LessThan, x, f32::INFINITY);
        self.select(finite, result, x)
    }

    /// Inverse hyperbolic tangent, NaN outside -1 to 1. Error at most 2 ulp.
    pub fn atanh(&mut self, x: Value) -> Value {
        let a = self.abs(x);
        // Both logarithms at once: atanh a = log1p(2a / (1 - a)) / 2.
        let one = self.float(1.0);
        let rest = self.sub(one, a);
        let doubled = self.add(a, a);
        let ratio = self.div(doubled, rest);
        let log = self.log1p_finite(ratio, None);
        let large = self.mul_const(log, 0.5);
        let square = self.mul(a, a);
        let p = self.polynomial(square, ATANH);
        let cube = self.mul(square, a);
        let small = self.mul_add(p, cube, a);
        let is_small = self.compare_const(FloatCC::LessThan, a, 0.5);
        let result = self.select(is_small, small, large);
        let at_one = self.compare_const(FloatCC::Equal, a, 1.0);
        let highest = self.float(f32::INFINITY);
        let result = self.select(at_one, highest, result);
        let inside = self.compare_const(FloatCC::LessThanOrEqual, a, 1.0);
        let nan = self.float(f32::NAN);
        let result = self.select(inside, result, nan);
        self.flip_sign(result, x)
    }
}
