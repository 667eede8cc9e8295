//! Sine, cosine and tangent.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

use cranelift_codegen::ir::Value;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};

use super::double::Double;
use super::emit::MathBuilder;
use super::exponential::ROUND;

/// Up to this magnitude of the argument the expansions hold their bounds; beyond, results are meaningless.
pub const TRIGONOMETRIC_LIMIT: f32 = 100_000.0;

/// π / 2 less its `f64`.
const HALF_PI_REST: f64 = 6.123_233_995_736_766e-17;
/// (sin r - r) / r³ in powers of r² on |r| <= π / 4.
const SIN: &[f32] = &[-0.166_666_67, 0.008_333_379, -0.000_198_530_28, 2.831_773_8e-6];
/// (cos r - 1 + r² / 2) / r⁴ in powers of r² on |r| <= π / 4.
const COS: &[f32] = &[0.041_666_646, -0.001_388_730_4, 2.443_122_9e-5];

/// x = n · π / 2 + r.
struct Reduced {
    /// A float whose low bits hold n in two's complement.
    shifted: Value,
    /// r.
    r: Double,
}

impl MathBuilder<'_, '_> {
    fn reduce_by_half_pi(&mut self, x: Value) -> Reduced {
        let (factor, round) = (self.float(FRAC_2_PI as f32), self.float(ROUND));
        let shifted = self.mul_add(x, factor, round);
        let n = self.add_const(shifted, -ROUND);
        let first = FRAC_PI_2 as f32;
        let second = (FRAC_PI_2 - f64::from(first)) as f32;
        let third = (FRAC_PI_2 - f64::from(first) - f64::from(second) + HALF_PI_REST) as f32;
        // The difference to the leading product is exact: the two lie within a factor of two, or n is 0.
        let constant = self.float(first);
        let product = self.two_product(n, constant);
        let rest = self.sub(x, product.high);
        let low = self.neg(product.low);
        let sum = self.two_sum(rest, low);
        let constant = self.float(-second);
        let product = self.two_product(n, constant);
        let next = self.two_sum(sum.high, product.high);
        let low = self.add(sum.low, next.low);
        let low = self.add(low, product.low);
        let constant = self.float(-third);
        let low = self.mul_add(n, constant, low);
        let r = self.fast_two_sum(next.high, low);
        Reduced { shifted, r }
    }

    /// sin r and cos r, each with what their rounding left out as far as it is known.
    fn sin_cos_reduced(&mut self, r: Double) -> (Double, Double) {
        let square = self.mul(r.high, r.high);
        let p = self.polynomial(square, SIN);
        let cube = self.mul(square, r.high);
        let tail = self.mul_add(p, cube, r.low);
        let sin = self.fast_two_sum(r.high, tail);

        let q = self.polynomial(square, COS);
        let fourth = self.mul(square, square);
        let half = self.mul_const(square, 0.5);
        let one = self.float(1.0);
        let negated = self.neg(half);
        let sum = self.fast_two_sum(one, negated);
        let tail = self.mul_add(q, fourth, sum.low);
        let tail = self.negated_mul_add(r.high, r.low, tail);
        let cos = self.fast_two_sum(sum.high, tail);
        (sin, cos)
    }

    /// The sine or cosine of the reduced argument for the quadrant `n + offset`.
    fn sine_of_quadrant(&mut self, x: Value, offset: i32) -> Value {
        let reduced = self.reduce_by_half_pi(x);
        let (sin, cos) = self.sin_cos_reduced(reduced.r);
        let bits = self.bits(reduced.shifted);
        let quadrant = self.add_int_const(bits, offset);
        let odd = self.and_bits(quadrant, 1);
        let even = self.compare_int_const(IntCC::Equal, odd, 0);
        let result = self.select(even, sin.high, cos.high);
        let sign = self.shift_left(quadrant, 30);
        let sign = self.from_bits(sign);
        self.flip_sign(result, sign)
    }

    /// Sine. Error at most 2 ulp up to [`TRIGONOMETRIC_LIMIT`].
    pub fn sin(&mut self, x: Value) -> Value {
        let result = self.sine_of_quadrant(x, 0);
        self.keep_tiny(x, result)
    }

    /// Cosine. Error at most 2 ulp up to [`TRIGONOMETRIC_LIMIT`].
    pub fn cos(&mut self, x: Value) -> Value {
        self.sine_of_quadrant(x, 1)
    }

    /// Tangent. Error at most 2 ulp up to [`TRIGONOMETRIC_LIMIT`].
    pub fn tan(&mut self, x: Value) -> Value {
        let reduced = self.reduce_by_half_pi(x);
        let (sin, cos) = self.sin_cos_reduced(reduced.r);
        let bits = self.bits(reduced.shifted);
        let odd = self.and_bits(bits, 1);
        let even = self.compare_int_const(IntCC::Equal, odd, 0);
        let numerator = self.select(even, sin.high, cos.high);
        let denominator = self.select(even, cos.high, sin.high);
        let numerator_low = self.select(even, sin.low, cos.low);
        let denominator_low = self.select(even, cos.low, sin.low);
        let quotient = self.div(numerator, denominator);
        // (s + s') / (c + c') = q + (s' - q · c') / c to first order, q being s / c.
        let correction = self.negated_mul_add(quotient, denominator_low, numerator_low);
        let correction = self.div(correction, denominator);
        let quotient = self.add(quotient, correction);
        let sign = self.shift_left(odd, 31);
        let sign = self.from_bits(sign);
        let result = self.flip_sign(quotient, sign);
        self.keep_tiny(x, result)
    }

    /// `x` itself where it is so small that it is the result, signed zeros included.
    fn keep_tiny(&mut self, x: Value, result: Value) -> Value {
        let magnitude = self.abs(x);
        let tiny = self.compare_const(FloatCC::LessThan, magnitude, 1e-5);
        self.select(tiny, x, result)
    }
}
