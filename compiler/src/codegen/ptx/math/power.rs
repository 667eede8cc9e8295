//! Powers.

use super::Math;
use crate::codegen::ptx::assembly::{Class, Register};

impl Math<'_> {
    pub(super) fn pow(&mut self, x: Register, y: Register) -> Register {
        let a = self.abs(x);
        let (high, low) = self.log_parts(a);
        let zero = self.compare("eq", a, 0.0);
        let high = self.select(zero, f64::NEG_INFINITY, high);
        let finite = self.compare("lt", a, f64::INFINITY);
        let high = self.select(finite, high, a);
        // The exponent's rest corrects the power where both are finite.
        let exponent = self.mul(y, high);
        let negated = self.neg(exponent);
        let rest = self.fma(y, high, negated);
        let rest = self.fma(y, low, rest);
        let e = self.call("exp", &[exponent]);
        let corrected = self.fma(e, rest, e);
        let magnitude = self.abs(exponent);
        let moderate = self.compare("lt", magnitude, 800.0);
        let no_overflow = self.compare("lt", e, f64::INFINITY);
        let exact = self.and(moderate, no_overflow);
        let power = self.select(exact, corrected, e);
        self.power_specials(x, y, a, power)
    }

    /// The signs and the cases without a logarithm.
    fn power_specials(&mut self, x: Register, y: Register, a: Register, power: Register) -> Register {
        let rounded = self.round(y);
        let integral = self.compare("eq", rounded, y);
        let fractional = self.compare("ne", rounded, y);
        let half = self.mul(y, 0.5);
        let rounded = self.round(half);
        let not_even = self.compare("ne", rounded, half);
        let odd = self.and(integral, not_even);
        let bits = self.bits_of(x);
        let negative = self.assembly.binary(Class::Predicate, "setp.lt.s64", bits, 0);
        let flips = self.and(odd, negative);
        let negated = self.neg(power);
        let power = self.select(flips, negated, power);
        let (below, finite) = (self.compare("lt", x, 0.0), self.compare("gt", x, f64::NEG_INFINITY));
        let below = self.and(below, finite);
        let undefined = self.and(below, fractional);
        let power = self.select(undefined, f64::NAN, power);
        let magnitude = self.abs(y);
        let (unit, infinite) = (self.compare("eq", a, 1.0), self.compare("eq", magnitude, f64::INFINITY));
        let both = self.and(unit, infinite);
        let power = self.select(both, 1.0, power);
        let one = self.compare("eq", x, 1.0);
        let power = self.select(one, 1.0, power);
        let no_exponent = self.compare("eq", y, 0.0);
        self.select(no_exponent, 1.0, power)
    }

    /// Wrapping power of integers; the truncated reciprocal for negative exponents, where that of 0 is 0.
    pub(super) fn integer_power(&mut self, base: Register, exponent: Register, signed: bool) -> Register {
        let result = self.assembly.constant(Class::Long, 1);
        let (square, rest) = (self.assembly.fresh(Class::Long), self.assembly.fresh(Class::Long));
        self.assembly.assign(square, base);
        self.assembly.assign(rest, exponent);
        let (again, done) = (self.assembly.label(), self.assembly.label());
        self.assembly.place(&again);
        let finished = self.assembly.binary(Class::Predicate, "setp.eq.s64", rest, 0);
        self.assembly.line(format_args!("@{finished} bra {done}"));
        let product = self.long("mul.lo.s64", result, square);
        let bit = self.long("and.b64", rest, 1);
        let odd = self.assembly.binary(Class::Predicate, "setp.ne.s64", bit, 0);
        self.assembly.line(format_args!("@{odd} mov.b64 {result}, {product}"));
        self.assembly.emit_to(square, "mul.lo.s64", &[square.into(), square.into()]);
        self.assembly.emit_to(rest, "shr.u64", &[rest.into(), 1.into()]);
        self.assembly.line(format_args!("bra {again}"));
        self.assembly.place(&done);
        if !signed {
            return result;
        }
        // The reciprocals of 1 and -1 are their powers; all others are 0.
        let shifted = self.long("add.s64", base, 1);
        let unit = self.long("and.b64", shifted, -3);
        let is_unit = self.assembly.binary(Class::Predicate, "setp.eq.s64", unit, 0);
        let reciprocal = self.assembly.select(Class::Long, is_unit, result, 0);
        let negative = self.assembly.binary(Class::Predicate, "setp.lt.s64", exponent, 0);
        self.assembly.select(Class::Long, negative, reciprocal, result)
    }
}
