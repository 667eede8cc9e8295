//! Exponentials, and functions that are mostly one: sigmoid and the hyperbolic functions.

use std::f32::consts::LOG2_E;

use cranelift_codegen::ir::Value;
use cranelift_codegen::ir::condcodes::FloatCC;

use super::emit::MathBuilder;

/// 1.5 · 2^23: adding it rounds |x| < 2^22 to an integer, which stands in the low bits of the sum.
pub(super) const ROUND: f32 = 12_582_912.0;
/// ln 2 in a part with eight trailing zeros, so that products with small integers are exact, and the rest.
const LN_2_HIGH: f32 = 0.693_145_75;
const LN_2_LOW: f32 = 1.428_606_8e-6;
/// (e^r - 1 - r) / r² on |r| <= ln 2 / 2, for a relative error of e^r of 2^-28.
const EXP: &[f32] = &[0.5, 0.166_665_18, 0.041_666_433, 0.008_368_986, 0.001_393_785_1];
/// The same for a relative error of e^r - 1 of 2^-31.
const EXPM1: &[f32] = &[0.5, 0.166_666_67, 0.041_666_49, 0.008_333_208, 0.001_393_270_2, 0.000_199_442_63];
/// (tanh x - x) / x³ in powers of x² on |x| <= 0.55.
const TANH: &[f32] = &[-0.333_333_2, 0.133_326_37, -0.053_856_857, 0.021_088_365, -0.006_295_762];
/// (sinh x - x) / x³ in powers of x² on |x| <= 1.
const SINH: &[f32] = &[0.166_666_67, 0.008_333_312, 0.000_198_423_2, 2.786_345_5e-6];

/// x = n · ln 2 + r with |r| <= ln 2 / 2.
struct Reduced {
    /// A float whose low bits hold the integer n in two's complement.
    shifted: Value,
    /// r, rounded.
    r: Value,
}

impl MathBuilder<'_, '_> {
    fn reduce_by_ln_2(&mut self, x: Value) -> Reduced {
        let (factor, round) = (self.float(LOG2_E), self.float(ROUND));
        let shifted = self.mul_add(x, factor, round);
        let n = self.add_const(shifted, -ROUND);
        let high = self.float(LN_2_HIGH);
        let r = self.negated_mul_add(n, high, x);
        let low = self.float(LN_2_LOW);
        let r = self.negated_mul_add(n, low, r);
        Reduced { shifted, r }
    }

    /// e^r for the reduced argument.
    fn exp_reduced(&mut self, r: Value) -> Value {
        let q = self.polynomial(r, EXP);
        let square = self.mul(r, r);
        let tail = self.mul_add(q, square, r);
        self.add_const(tail, 1.0)
    }

    /// e^r - 1 for the reduced argument.
    fn expm1_reduced(&mut self, r: Value) -> Value {
        let q = self.polynomial(r, EXPM1);
        let square = self.mul(r, r);
        self.mul_add(q, square, r)
    }

    /// 2^(n + offset) for the integer in the low bits of `shifted`.
    fn scale(&mut self, shifted: Value, offset: i32) -> Value {
        let bits = self.bits(shifted);
        let biased = self.add_int_const(bits, 127 + offset);
        self.power_of_two(biased)
    }

    /// e^x for -87 <= x <= 88, and NaN for NaN; anything for other arguments.
    pub(super) fn exp_narrow(&mut self, x: Value) -> Value {
        let reduced = self.reduce_by_ln_2(x);
        let e = self.exp_reduced(reduced.r);
        let scale = self.scale(reduced.shifted, 0);
        self.mul(e, scale)
    }

    /// e^x. Error at most 1 ulp.
    pub fn exp(&mut self, x: Value) -> Value {
        let x = self.clamp(x, -104.0, 89.0);
        let reduced = self.reduce_by_ln_2(x);
        let e = self.exp_reduced(reduced.r);
        self.scale_widely(e, reduced.shifted)
    }

    /// e · 2^n for the integer in the low bits of `shifted`, -160 <= n <= 140.
    pub(super) fn scale_widely(&mut self, e: Value, shifted: Value) -> Value {
        // Two factors, as 2^n may lie outside the normal range: the first product is exact, the second rounds.
        let bits = self.bits(shifted);
        let n = self.shift_left(bits, 9);
        let n = self.shift_right_signed(n, 9);
        let half = self.shift_right_signed(n, 1);
        let rest = self.sub_int(n, half);
        let first = self.add_int_const(half, 127);
        let first = self.power_of_two(first);
        let second = self.add_int_const(rest, 127);
        let second = self.power_of_two(second);
        let e = self.mul(e, first);
        self.mul(e, second)
    }

    /// e^x - 1. Error at most 2 ulp.
    pub fn expm1(&mut self, x: Value) -> Value {
        let clamped = self.clamp(x, -20.0, 89.0);
        let half = self.expm1_half(clamped);
        let result = self.add(half, half);
        // Below, e^x - 1 is x to the last bit, and halves of denormals are not exact.
        let magnitude = self.abs(x);
        let tiny = self.compare_const(FloatCC::LessThan, magnitude, 1e-8);
        self.select(tiny, x, result)
    }

    /// (e^x - 1) / 2 for -20 <= x <= 89.
    fn expm1_half(&mut self, x: Value) -> Value {
        let reduced = self.reduce_by_ln_2(x);
        let p = self.expm1_reduced(reduced.r);
        let scale = self.scale(reduced.shifted, -1);
        let offset = self.add_const(scale, -0.5);
        self.mul_add(scale, p, offset)
    }

    /// 1 / (1 + e^-x). Error at most 2 ulp.
    pub fn sigmoid(&mut self, x: Value) -> Value {
        let magnitude = self.abs(x);
        let negated = self.neg(magnitude);
        // e^-|x| cannot overflow, and keeps the last bits of small results.
        let e = self.exp(negated);
        let one = self.float(1.0);
        let positive = self.compare_const(FloatCC::GreaterThanOrEqual, x, 0.0);
        let numerator = self.select(positive, one, e);
        let denominator = self.fast_two_sum(one, e);
        let quotient = self.div(numerator, denominator.high);
        // To first order the rest r of the denominator d takes r / d of the quotient; 1 / d is the greater of the
        // quotient and its complement.
        let complement = self.sub(one, quotient);
        let reciprocal = self.max(quotient, complement);
        let rest = self.mul(reciprocal, denominator.low);
        self.negated_mul_add(rest, quotient, quotient)
    }

    /// Hyperbolic tangent. Error at most 2 ulp.
    pub fn tanh(&mut self, x: Value) -> Value {
        let magnitude = self.abs(x);
        let high = self.float(10.0);
        let limited = self.min(high, magnitude);
        let doubled = self.add(limited, limited);
        // With h = (e^2|x| - 1) / 2 the result is h / (h + 1).
        let h = self.expm1_half(doubled);
        let denominator = self.add_const(h, 1.0);
        let ratio = self.div(h, denominator);
        let square = self.mul(magnitude, magnitude);
        let p = self.polynomial(square, TANH);
        let cube = self.mul(square, magnitude);
        let small = self.mul_add(p, cube, magnitude);
        let is_small = self.compare_const(FloatCC::LessThan, magnitude, 0.55);
        let result = self.select(is_small, small, ratio);
        self.flip_sign(result, x)
    }

    /// e^a / 2 for a >= 0, without overflow where the result has none.
    fn half_exp(&mut self, a: Value) -> Value {
        let high = self.float(90.0);
        let limited = self.min(high, a);
        let reduced = self.reduce_by_ln_2(limited);
        let e = self.exp_reduced(reduced.r);
        let scale = self.scale(reduced.shifted, -2);
        let quarter = self.mul(e, scale);
        self.add(quarter, quarter)
    }

    /// Hyperbolic sine. Error at most 2 ulp.
    pub fn sinh(&mut self, x: Value) -> Value {
        let a = self.abs(x);
        let half = self.half_exp(a);
        let quarter = self.float(0.25);
        let other = self.div(quarter, half);
        let large = self.sub(half, other);
        let square = self.mul(a, a);
        let p = self.polynomial(square, SINH);
        let cube = self.mul(square, a);
        let small = self.mul_add(p, cube, a);
        let is_small = self.compare_const(FloatCC::LessThan, a, 1.0);
        let result = self.select(is_small, small, large);
        self.flip_sign(result, x)
    }

    /// Hyperbolic cosine. Error at most 2 ulp.
    pub fn cosh(&mut self, x: Value) -> Value {
        let a = self.abs(x);
        let half = self.half_exp(a);
        let quarter = self.float(0.25);
        let other = self.div(quarter, half);
        self.add(half, other)
    }
}
