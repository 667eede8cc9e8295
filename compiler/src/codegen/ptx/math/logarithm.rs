//! Logarithms and the inverse hyperbolic functions.

use super::Math;
use super::exponential::{LN_2_HIGH, LN_2_LOW};
use crate::codegen::ptx::assembly::{Class, Register};

/// 2 / (2n + 3), for (log((1 + s) / (1 - s)) - 2s) / s³ in powers of s².
const SERIES: [f64; 11] = {
    let mut coefficients = [0.0; 11];
    let mut n = 0;
    while n < coefficients.len() {
        coefficients[n] = 2.0 / (2.0 * n as f64 + 3.0);
        n += 1;
    }
    coefficients
};

impl Math<'_> {
    /// log x as a sum of two numbers, for positive finite x; anything for others.
    pub(super) fn log_parts(&mut self, x: Register) -> (Register, Register) {
        let denormal = self.compare("lt", x, f64::MIN_POSITIVE);
        let scaled = self.mul(x, f64::from(1u32 << 30) * f64::from(1u32 << 24));
        let x = self.select(denormal, scaled, x);
        let bits = self.bits_of(x);
        let exponent = self.long("shr.u64", bits, 52);
        let exponent = self.assembly.unary(Class::Word, "cvt.u32.u64", exponent);
        let bias = self.assembly.select(Class::Word, denormal, -1023 - 54, -1023);
        let exponent = self.assembly.binary(Class::Word, "add.s32", exponent, bias);
        let fraction = self.long("and.b64", bits, (1i64 << 52) - 1);
        let fraction = self.long("or.b64", fraction, 1023i64 << 52);
        let m = self.double_of(fraction);
        let high = self.compare("gt", m, std::f64::consts::SQRT_2);
        let halved = self.mul(m, 0.5);
        let m = self.select(high, halved, m);
        let next = self.assembly.binary(Class::Word, "add.s32", exponent, 1);
        let exponent = self.assembly.select(Class::Word, high, next, exponent);
        let k = self.assembly.unary(Class::Double, "cvt.rn.f64.s32", exponent);
        // s = (m - 1) / (m + 1) with the rest of the quotient.
        let numerator = self.sub(m, 1.0);
        let denominator = self.add(m, 1.0);
        let whole = self.sub(denominator, 1.0);
        let denominator_low = self.sub(m, whole);
        let s = self.div(numerator, denominator);
        let negated = self.neg(s);
        let rest = self.fma(negated, denominator, numerator);
        let rest = self.fma(negated, denominator_low, rest);
        let s_low = self.div(rest, denominator);
        let z = self.mul(s, s);
        let q = self.polynomial(z, &SERIES);
        let cube = self.mul(s, z);
        let doubled_low = self.add(s_low, s_low);
        let tail = self.fma(cube, q, doubled_low);
        let tail = self.fma(k, LN_2_LOW, tail);
        let large = self.mul(k, LN_2_HIGH);
        let small = self.add(s, s);
        let sum = self.add(large, small);
        let part = self.sub(sum, large);
        let error = self.sub(small, part);
        let tail = self.add(error, tail);
        let high = self.add(sum, tail);
        let part = self.sub(high, sum);
        let low = self.sub(tail, part);
        (high, low)
    }

    pub(super) fn log(&mut self, x: Register) -> Register {
        let (high, _) = self.log_parts(x);
        let finite = self.compare("lt", x, f64::INFINITY);
        let result = self.select(finite, high, x);
        let zero = self.compare("eq", x, 0.0);
        let result = self.select(zero, f64::NEG_INFINITY, result);
        let negative = self.compare("lt", x, 0.0);
        self.select(negative, f64::NAN, result)
    }

    pub(super) fn log1p(&mut self, x: Register) -> Register {
        // The rounding error of 1 + x is undone by the factor x / ((1 + x) - 1).
        let sum = self.add(x, 1.0);
        let log = self.call("log", &[sum]);
        let rounded = self.sub(sum, 1.0);
        let factor = self.div(x, rounded);
        let scaled = self.mul(log, factor);
        let tiny = self.compare("eq", rounded, 0.0);
        let result = self.select(tiny, x, scaled);
        let finite = self.compare("lt", x, f64::INFINITY);
        self.select(finite, result, x)
    }

    /// log 2x for large x.
    fn log_double(&mut self, x: Register) -> Register {
        let log = self.call("log", &[x]);
        self.add(log, std::f64::consts::LN_2)
    }

    pub(super) fn asinh(&mut self, x: Register) -> Register {
        let a = self.abs(x);
        let square = self.mul(a, a);
        let sum = self.add(square, 1.0);
        let root = self.sqrt(sum);
        let denominator = self.add(root, 1.0);
        let quotient = self.div(square, denominator);
        let argument = self.add(a, quotient);
        let small = self.call("log1p", &[argument]);
        let large = self.log_double(a);
        let is_large = self.compare("gt", a, 1e150);
        let result = self.select(is_large, large, small);
        self.copy_sign(result, x)
    }

    pub(super) fn acosh(&mut self, x: Register) -> Register {
        let t = self.sub(x, 1.0);
        let doubled = self.add(t, t);
        let sum = self.fma(t, t, doubled);
        let root = self.sqrt(sum);
        let argument = self.add(t, root);
        let small = self.call("log1p", &[argument]);
        let large = self.log_double(x);
        let is_large = self.compare("gt", x, 1e150);
        let result = self.select(is_large, large, small);
        let outside = self.compare("lt", x, 1.0);
        self.select(outside, f64::NAN, result)
    }

    pub(super) fn atanh(&mut self, x: Register) -> Register {
        let a = self.abs(x);
        let doubled = self.add(a, a);
        let rest = self.sub(1.0, a);
        let quotient = self.div(doubled, rest);
        let log = self.call("log1p", &[quotient]);
        let half = self.mul(log, 0.5);
        self.copy_sign(half, x)
    }
}
