//! Inverse trigonometric functions.

use std::f64::consts::{FRAC_PI_2, PI};

use cranelift_codegen::ir::Value;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};

use super::emit::MathBuilder;

/// (atan x - x) / x³ in powers of x² on |x| <= 1.
const ATAN: &[f32] = &[
    -0.333_333_02,
    0.199_986_28,
    -0.142_651_4,
    0.109_570_99,
    -0.084_183_16,
    0.058_219_2,
    -0.031_444_326,
    0.011_060_251,
    -0.001_826_662_6,
];
/// Up to here the arc sine is a polynomial. From here on its complement is below 1, where an ulp is no greater than one of
/// the result.
const ASIN_MIDDLE: f32 = 0.57;
/// (asin x - x) / x³ in powers of x² on |x| up to the middle.
const ASIN: &[f32] = &[0.166_666_16, 0.075_028_256, 0.044_117_846, 0.034_787_998, 0.004_361_890_3, 0.050_179_86];

const HALF_PI: f32 = FRAC_PI_2 as f32;
const HALF_PI_LOW: f32 = (FRAC_PI_2 - HALF_PI as f64) as f32;
const WHOLE_PI: f32 = PI as f32;
const WHOLE_PI_LOW: f32 = (PI - WHOLE_PI as f64) as f32;

impl MathBuilder<'_, '_> {
    /// Arc tangent for 0 <= a <= 1.
    fn atan_reduced(&mut self, a: Value) -> Value {
        let square = self.mul(a, a);
        let p = self.polynomial(square, ATAN);
        let cube = self.mul(square, a);
        self.mul_add(p, cube, a)
    }

    /// high + low - a, the constants being a number in two parts.
    fn constant_minus(&mut self, high: f32, low: f32, a: Value) -> Value {
        let low = self.float(low);
        let rest = self.sub(low, a);
        self.add_const(rest, high)
    }

    /// Arc tangent. Error at most 2 ulp.
    pub fn atan(&mut self, x: Value) -> Value {
        let a = self.abs(x);
        let one = self.float(1.0);
        let large = self.compare(FloatCC::GreaterThan, a, one);
        let reciprocal = self.div(one, a);
        let reduced = self.select(large, reciprocal, a);
        let angle = self.atan_reduced(reduced);
        let complement = self.constant_minus(HALF_PI, HALF_PI_LOW, angle);
        let result = self.select(large, complement, angle);
        self.flip_sign(result, x)
    }

    /// The angle of the point (x, y), from -π to π, signed zeros and infinities included. Error at most 2 ulp.
    pub fn atan2(&mut self, y: Value, x: Value) -> Value {
        let (a, b) = (self.abs(x), self.abs(y));
        let steep = self.compare(FloatCC::GreaterThan, b, a);
        let numerator = self.select(steep, a, b);
        let denominator = self.select(steep, b, a);
        let quotient = self.div(numerator, denominator);
        // 0 / 0 counts as 0, and ∞ / ∞ as 1.
        let zero = self.float(0.0);
        let is_zero = self.compare(FloatCC::Equal, denominator, zero);
        let quotient = self.select(is_zero, zero, quotient);
        let infinite = self.compare_const(FloatCC::Equal, numerator, f32::INFINITY);
        let one = self.float(1.0);
        let quotient = self.select(infinite, one, quotient);
        let angle = self.atan_reduced(quotient);
        let complement = self.constant_minus(HALF_PI, HALF_PI_LOW, angle);
        let angle = self.select(steep, complement, angle);
        let bits = self.bits(x);
        let left = self.compare_int_const(IntCC::SignedLessThan, bits, 0);
        let supplement = self.constant_minus(WHOLE_PI, WHOLE_PI_LOW, angle);
        let angle = self.select(left, supplement, angle);
        let result = self.flip_sign(angle, y);
        // The comparisons above may have lost a NaN.
        let unordered = self.compare(FloatCC::Unordered, x, y);
        let nan = self.add(x, y);
        self.select(unordered, nan, result)
    }

    /// asin a for 0 <= a <= [`ASIN_MIDDLE`] from a and a².
    fn asin_reduced(&mut self, a: Value, square: Value) -> Value {
        let p = self.polynomial(square, ASIN);
        let cube = self.mul(square, a);
        self.mul_add(p, cube, a)
    }

    /// (whether a is above the middle, asin of a or of √((1 - a) / 2) there).
    fn asin_by_halves(&mut self, a: Value) -> (Value, Value) {
        let large = self.compare_const(FloatCC::GreaterThan, a, ASIN_MIDDLE);
        let (half, minus_half) = (self.float(0.5), self.float(-0.5));
        let halved = self.mul(a, minus_half);
        let halved = self.add(halved, half);
        let root = self.sqrt(halved);
        let square = self.mul(a, a);
        let square = self.select(large, halved, square);
        let reduced = self.select(large, root, a);
        (large, self.asin_reduced(reduced, square))
    }

    /// Arc sine, NaN outside -1 to 1. Error at most 2 ulp.
    pub fn asin(&mut self, x: Value) -> Value {
        let a = self.abs(x);
        let (large, angle) = self.asin_by_halves(a);
        let doubled = self.add(angle, angle);
        let complement = self.constant_minus(HALF_PI, HALF_PI_LOW, doubled);
        let result = self.select(large, complement, angle);
        self.flip_sign(result, x)
    }

    /// Arc cosine, NaN outside -1 to 1. Error at most 2 ulp.
    pub fn acos(&mut self, x: Value) -> Value {
        let a = self.abs(x);
        let (large, angle) = self.asin_by_halves(a);
        let doubled = self.add(angle, angle);
        let negative = self.compare_const(FloatCC::LessThan, x, 0.0);
        let supplement = self.constant_minus(WHOLE_PI, WHOLE_PI_LOW, doubled);
        let outer = self.select(negative, supplement, doubled);
        let signed = self.flip_sign(angle, x);
        let inner = self.constant_minus(HALF_PI, HALF_PI_LOW, signed);
        self.select(large, outer, inner)
    }
}
