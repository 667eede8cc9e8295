//! Powers.

use std::f64::consts::LOG2_E;

use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{InstBuilder, Value};

use super::double::Double;
use super::emit::MathBuilder;
use super::exponential::ROUND;

/// (2 atanh s - 2 s) / s³ in powers of s² on |s| <= (√2 - 1) / (√2 + 1).
const ATANH_TWICE: &[f32] = &[0.666_666_6, 0.400_009_72, 0.284_988_14, 0.242_781_68];
/// (2^r - 1) / r on |r| <= 1/2.
const EXP2: &[f32] =
    &[std::f32::consts::LN_2, 0.240_226_5, 0.055_503_584, 0.009_618_071, 0.001_339_157_9, 0.000_154_592_98];
/// log2 e in two parts.
const LOG2_E_HIGH: f32 = LOG2_E as f32;
const LOG2_E_LOW: f32 = (LOG2_E - LOG2_E_HIGH as f64) as f32;
/// At this magnitude of the exponent the result is 0, 1 or infinite for every base.
const EXPONENT_LIMIT: f32 = 17_179_869_184.0;

impl MathBuilder<'_, '_> {
    /// log2 x of a positive finite number, to about 2^-34 of it.
    fn log2_double(&mut self, x: Value) -> Double {
        let (normal, shift) = self.normalize(x);
        let parts = self.split_exponent(normal);
        let exponent = self.add_int(parts.exponent, shift);
        let n = self.float_of_int(exponent);
        // log m = 2 atanh s with s = (m - 1) / (m + 1); the numerator is exact.
        let numerator = self.add_const(parts.significand, -1.0);
        let one = self.float(1.0);
        let denominator = self.two_sum(one, parts.significand);
        let s = self.div(numerator, denominator.high);
        let product = self.two_product(s, denominator.high);
        let rest = self.sub(numerator, product.high);
        let rest = self.sub(rest, product.low);
        let rest = self.negated_mul_add(s, denominator.low, rest);
        let s_low = self.div(rest, denominator.high);
        // s² and s³ in two parts, and so the leading term of the series.
        let s_low_twice = self.add(s_low, s_low);
        let mut square = self.two_product(s, s);
        square.low = self.mul_add(s, s_low_twice, square.low);
        let mut cube = self.two_product(square.high, s);
        cube.low = self.mul_add(square.low, s, cube.low);
        cube.low = self.mul_add(square.high, s_low, cube.low);
        let (&leading, others) = ATANH_TWICE.split_first().expect("the series has terms");
        let p = self.polynomial(square.high, others);
        let p = self.mul(p, square.high);
        let leading = self.float(leading);
        let factor = self.fast_two_sum(leading, p);
        let mut tail = self.two_product(cube.high, factor.high);
        tail.low = self.mul_add(cube.high, factor.low, tail.low);
        tail.low = self.mul_add(cube.low, factor.high, tail.low);
        let doubled = self.add(s, s);
        let mut log = self.fast_two_sum(doubled, tail.high);
        let low = self.add(tail.low, s_low_twice);
        log.low = self.add(log.low, low);
        let factor = self.float(LOG2_E_HIGH);
        let log2 = self.two_product(log.high, factor);
        let low = self.mul_add(log.low, factor, log2.low);
        let factor = self.float(LOG2_E_LOW);
        let low = self.mul_add(log.high, factor, low);
        let sum = self.fast_two_sum(n, log2.high);
        let low = self.add(sum.low, low);
        self.fast_two_sum(sum.high, low)
    }

    /// 2^(high + low), with overflow to infinity and gradual underflow.
    fn exp2_double(&mut self, x: Double) -> Value {
        let high = self.clamp(x.high, -160.0, 140.0);
        // Where that took effect the low part has no meaning, and may be large.
        let low = self.clamp(x.low, -1.0, 1.0);
        let shifted = self.add_const(high, ROUND);
        let n = self.add_const(shifted, -ROUND);
        let r = self.sub(high, n);
        let r = self.add(r, low);
        let q = self.polynomial(r, EXP2);
        let one = self.float(1.0);
        let e = self.mul_add(q, r, one);
        self.scale_widely(e, shifted)
    }

    /// |x|^y for finite nonzero x.
    fn pow_magnitude(&mut self, a: Value, y: Value) -> Value {
        let log = self.log2_double(a);
        let y = self.clamp(y, -EXPONENT_LIMIT, EXPONENT_LIMIT);
        let product = self.double_mul(log, y);
        self.exp2_double(product)
    }

    /// `x` to the power `y`, with the special cases of IEEE 754. Error at most 2 ulp.
    pub fn pow(&mut self, x: Value, y: Value) -> Value {
        let a = self.abs(x);
        let power = self.pow_magnitude(a, y);

        let (zero, one, infinity) = (self.float(0.0), self.float(1.0), self.float(f32::INFINITY));
        let falling = self.compare(FloatCC::LessThan, y, zero);
        let of_zero = self.select(falling, infinity, zero);
        let of_infinity = self.select(falling, zero, infinity);
        let is_zero = self.compare(FloatCC::Equal, a, zero);
        let power = self.select(is_zero, of_zero, power);
        let is_infinite = self.compare(FloatCC::Equal, a, infinity);
        let power = self.select(is_infinite, of_infinity, power);

        // Of a negative base, an odd exponent keeps the sign, and one that is no integer has no real power.
        let whole = self.builder.ins().trunc(y);
        let half = self.mul_const(y, 0.5);
        let half_whole = self.builder.ins().trunc(half);
        let is_whole = self.compare(FloatCC::Equal, whole, y);
        let not_even = self.compare(FloatCC::NotEqual, half_whole, half);
        let odd = self.and(is_whole, not_even);
        let sign = self.select(odd, x, zero);
        let power = self.flip_sign(power, sign);
        let negative = self.compare(FloatCC::LessThan, x, zero);
        let finite = self.compare(FloatCC::LessThan, a, infinity);
        let fractional = self.compare(FloatCC::NotEqual, whole, y);
        let undefined = self.and(negative, finite);
        let undefined = self.and(undefined, fractional);
        let nan = self.float(f32::NAN);
        let power = self.select(undefined, nan, power);

        let unordered = self.compare(FloatCC::Unordered, x, y);
        let sum = self.add(x, y);
        let power = self.select(unordered, sum, power);
        let is_one = self.compare(FloatCC::Equal, x, one);
        let power = self.select(is_one, one, power);
        let to_zero = self.compare(FloatCC::Equal, y, zero);
        self.select(to_zero, one, power)
    }
}
