//! Remainders of divisions, exact.

use super::Math;
use crate::codegen::ptx::assembly::{Class, Register};

impl Math<'_> {
    /// The remainder with the sign of `x` (`fmod`).
    pub(super) fn remainder(&mut self, x: Register, y: Register) -> Register {
        let (rest, divisor) = (self.assembly.fresh(Class::Double), self.abs(y));
        self.assembly.emit_to(rest, "abs.f64", &[x.into()]);
        let finite = self.compare("lt", rest, f64::INFINITY);
        let positive = self.compare("gt", divisor, 0.0);
        let defined = self.and(finite, positive);
        let result = self.constant(f64::NAN);
        let (grow, shrink, skip, done) =
            (self.assembly.label(), self.assembly.label(), self.assembly.label(), self.assembly.label());
        self.assembly.line(format_args!("@!{defined} bra {done}"));
        let infinite = self.compare("eq", divisor, f64::INFINITY);
        self.assembly.line(format_args!("@{infinite} bra {skip}"));
        let step = self.assembly.fresh(Class::Double);
        self.assembly.assign(step, divisor);
        // The greatest divisor · 2^n that is not above twice the dividend. Every step is exact.
        self.assembly.place(&grow);
        let doubled = self.add(step, step);
        let fits = self.compare("le", doubled, rest);
        self.assembly.line(format_args!("@{fits} mov.f64 {step}, {doubled}"));
        self.assembly.line(format_args!("@{fits} bra {grow}"));
        self.assembly.place(&shrink);
        let smaller = self.compare("lt", step, divisor);
        self.assembly.line(format_args!("@{smaller} bra {skip}"));
        let below = self.sub(rest, step);
        let fits = self.compare("ge", rest, step);
        self.assembly.line(format_args!("@{fits} mov.f64 {rest}, {below}"));
        // A step below the divisor ends the loop; that it may be rounded does not matter.
        self.assembly.emit_to(step, "mul.rn.f64", &[step.into(), 0.5.into()]);
        let go_on = self.compare("gt", step, 0.0);
        self.assembly.line(format_args!("@{go_on} bra {shrink}"));
        self.assembly.place(&skip);
        self.assembly.emit_to(result, "copysign.f64", &[x.into(), rest.into()]);
        self.assembly.place(&done);
        // NaN in the divisor fails both tests above.
        result
    }

    /// The remainder with the sign of `y`.
    pub(super) fn modulo(&mut self, x: Register, y: Register) -> Register {
        let rest = self.call("rem", &[x, y]);
        let (negative, below) = (self.compare("lt", rest, 0.0), self.compare("lt", y, 0.0));
        let differ = self.assembly.binary(Class::Predicate, "xor.pred", negative, below);
        let sum = self.add(rest, y);
        let result = self.select(differ, sum, rest);
        let is_zero = self.compare("eq", rest, 0.0);
        let zero = self.copy_sign(0.0, y);
        self.select(is_zero, zero, result)
    }
}
