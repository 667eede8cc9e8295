//! Exponentials, and functions that are mostly one.

use super::Math;
use crate::codegen::ptx::assembly::{Class, Register};

/// ln 2 with eleven zero bits at its end, so that products with exponents are exact, and the rest.
pub(super) const LN_2_HIGH: f64 = 0.693_147_180_559_890_3;
pub(super) const LN_2_LOW: f64 = 5.497_923_018_708_371e-14;

/// 1 / n! from n = 2, for (e^r - 1 - r) / r².
const TAYLOR: [f64; 13] = {
    let mut coefficients = [0.0; 13];
    let (mut n, mut factorial) = (0, 1.0);
    while n < coefficients.len() {
        factorial *= n as f64 + 2.0;
        coefficients[n] = 1.0 / factorial;
        n += 1;
    }
    coefficients
};

impl Math<'_> {
    /// n and r with x = n · ln 2 + r and |r| <= ln 2 / 2.
    fn reduce_by_ln_2(&mut self, x: Register) -> (Register, Register) {
        let quotient = self.mul(x, std::f64::consts::LOG2_E);
        let n = self.round(quotient);
        let r = self.fma(n, -LN_2_HIGH, x);
        let r = self.fma(n, -LN_2_LOW, r);
        (n, r)
    }

    /// e^r - 1 of a reduced argument.
    fn reduced_expm1(&mut self, r: Register) -> Register {
        let q = self.polynomial(r, &TAYLOR);
        let square = self.mul(r, r);
        self.fma(q, square, r)
    }

    /// 2^n for an exponent of the normal range, a 32-bit integer.
    fn power_of_two(&mut self, n: Register) -> Register {
        let biased = self.assembly.binary(Class::Word, "add.s32", n, 1023);
        let wide = self.assembly.unary(Class::Long, "cvt.u64.u32", biased);
        let bits = self.long("shl.b64", wide, 52);
        self.double_of(bits)
    }

    pub(super) fn exp(&mut self, x: Register) -> Register {
        let x = self.clamp(x, -746.0, 710.0);
        let (n, r) = self.reduce_by_ln_2(x);
        let rest = self.reduced_expm1(r);
        let e = self.add(rest, 1.0);
        let n = self.assembly.unary(Class::Word, "cvt.rni.s32.f64", n);
        // Two factors, as 2^n may lie outside the normal range.
        let half = self.assembly.binary(Class::Word, "shr.s32", n, 1);
        let other = self.assembly.binary(Class::Word, "sub.s32", n, half);
        let (half, other) = (self.power_of_two(half), self.power_of_two(other));
        let e = self.mul(e, half);
        self.mul(e, other)
    }

    pub(super) fn expm1(&mut self, x: Register) -> Register {
        let limited = self.clamp(x, -40.0, 50.0);
        let (n, r) = self.reduce_by_ln_2(limited);
        let p = self.reduced_expm1(r);
        let n = self.assembly.unary(Class::Word, "cvt.rni.s32.f64", n);
        let scale = self.power_of_two(n);
        let offset = self.sub(scale, 1.0);
        let small = self.fma(scale, p, offset);
        let large = self.call("exp", &[x]);
        let is_large = self.compare("gt", x, 40.0);
        let result = self.select(is_large, large, small);
        // Keeps the sign of zero.
        let is_zero = self.compare("eq", x, 0.0);
        self.select(is_zero, x, result)
    }

    pub(super) fn sigmoid(&mut self, x: Register) -> Register {
        let magnitude = self.abs(x);
        let negated = self.neg(magnitude);
        // e^-|x| cannot overflow, and keeps the last bits of small results.
        let e = self.call("exp", &[negated]);
        let positive = self.compare("ge", x, 0.0);
        let numerator = self.select(positive, 1.0, e);
        let denominator = self.add(e, 1.0);
        self.div(numerator, denominator)
    }

    pub(super) fn tanh(&mut self, x: Register) -> Register {
        let magnitude = self.abs(x);
        let doubled = self.add(magnitude, magnitude);
        let limited = self.clamp(doubled, 0.0, 50.0);
        let e = self.call("expm1", &[limited]);
        let denominator = self.add(e, 2.0);
        let quotient = self.div(e, denominator);
        self.copy_sign(quotient, x)
    }

    /// e^(a/2), and whether e^a itself could overflow.
    fn half_exp(&mut self, a: Register) -> (Register, Register) {
        let half = self.mul(a, 0.5);
        let e = self.call("exp", &[half]);
        let large = self.compare("gt", a, 700.0);
        (e, large)
    }

    pub(super) fn sinh(&mut self, x: Register) -> Register {
        let a = self.abs(x);
        let (half, is_large) = self.half_exp(a);
        let scaled = self.mul(half, 0.5);
        let large = self.mul(scaled, half);
        let limited = self.clamp(a, 0.0, 700.0);
        let e = self.call("expm1", &[limited]);
        let denominator = self.add(e, 1.0);
        let quotient = self.div(e, denominator);
        let sum = self.add(e, quotient);
        let small = self.mul(sum, 0.5);
        let result = self.select(is_large, large, small);
        self.copy_sign(result, x)
    }

    pub(super) fn cosh(&mut self, x: Register) -> Register {
        let a = self.abs(x);
        let (half, is_large) = self.half_exp(a);
        let scaled = self.mul(half, 0.5);
        let large = self.mul(scaled, half);
        let e = self.call("exp", &[a]);
        let inverse = self.div(0.5, e);
        let small = self.fma(e, 0.5, inverse);
        self.select(is_large, large, small)
    }
}
