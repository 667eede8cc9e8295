//! Integer division with defined results everywhere.
//!
//! `kind` is the PTX type that is divided: `s32`, `u32`, `s64` or `u64`.

use super::assembly::{Assembly, Class, Register};

fn class(kind: &str) -> Class {
    if kind.ends_with("64") { Class::Long } else { Class::Word }
}

fn signed(kind: &str) -> bool {
    kind.starts_with('s')
}

/// A divisor for which the instruction is defined, and where the quotient is `a * b` instead: 0 for b = 0, and MIN for
/// MIN / -1.
fn safe_divisor(assembly: &mut Assembly, kind: &str, b: Register) -> (Register, Register) {
    let equal = format!("setp.eq.{kind}");
    let mut special = assembly.binary(Class::Predicate, &equal, b, 0);
    if signed(kind) {
        let minus_one = assembly.binary(Class::Predicate, &equal, b, -1);
        special = assembly.binary(Class::Predicate, "or.pred", special, minus_one);
    }
    (assembly.select(class(kind), special, 1, b), special)
}

/// Quotient rounded towards zero; 0 for a divisor of 0, wrapping for MIN / -1.
pub fn div(assembly: &mut Assembly, kind: &str, a: Register, b: Register) -> Register {
    let (divisor, special) = safe_divisor(assembly, kind, b);
    let quotient = assembly.binary(class(kind), &format!("div.{kind}"), a, divisor);
    let replaced = assembly.binary(class(kind), &format!("mul.lo.{kind}"), a, b);
    assembly.select(class(kind), special, replaced, quotient)
}

/// Remainder of [`div`]; 0 for a divisor of 0 or -1.
pub fn rem(assembly: &mut Assembly, kind: &str, a: Register, b: Register) -> Register {
    let (divisor, _) = safe_divisor(assembly, kind, b);
    assembly.binary(class(kind), &format!("rem.{kind}"), a, divisor)
}

/// Whether a nonzero remainder has the other sign than its divisor, so that floor and truncation differ.
fn floor_differs(assembly: &mut Assembly, kind: &str, remainder: Register, b: Register) -> Register {
    let bits = class(kind).name();
    let nonzero = assembly.binary(Class::Predicate, &format!("setp.ne.{kind}"), remainder, 0);
    let signs = assembly.binary(class(kind), &format!("xor.{bits}"), remainder, b);
    let opposite = assembly.binary(Class::Predicate, &format!("setp.lt.{kind}"), signs, 0);
    assembly.binary(Class::Predicate, "and.pred", nonzero, opposite)
}

/// Quotient rounded down; 0 for a divisor of 0.
pub fn floor_div(assembly: &mut Assembly, kind: &str, a: Register, b: Register) -> Register {
    let quotient = div(assembly, kind, a, b);
    if !signed(kind) {
        return quotient;
    }
    let remainder = rem(assembly, kind, a, b);
    let differs = floor_differs(assembly, kind, remainder, b);
    let lower = assembly.binary(class(kind), &format!("sub.{kind}"), quotient, 1);
    assembly.select(class(kind), differs, lower, quotient)
}

/// Remainder with the sign of the divisor; 0 for a divisor of 0.
pub fn floor_mod(assembly: &mut Assembly, kind: &str, a: Register, b: Register) -> Register {
    let remainder = rem(assembly, kind, a, b);
    if !signed(kind) {
        return remainder;
    }
    let differs = floor_differs(assembly, kind, remainder, b);
    let corrected = assembly.binary(class(kind), &format!("add.{kind}"), remainder, b);
    assembly.select(class(kind), differs, corrected, remainder)
}
