//! Integer arithmetic.

use super::{Binary, Lane, Ternary, Unary, binary, ternary, unary};
use crate::types::Type;

/// Integers of one width and signedness.
trait Integer: Lane + Ord {
    /// The integer of twice the width.
    type Wide: Lane;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn mul_high(self, other: Self) -> Self;
    fn mul_wide(self, other: Self) -> Self::Wide;
    fn add_wide(a: Self::Wide, b: Self::Wide) -> Self::Wide;
    fn div(self, other: Self) -> Self;
    fn rem(self, other: Self) -> Self;
    fn absolute(self) -> Self;
    fn shift_right(self, amount: u32) -> Self;
    fn add_saturating(self, other: Self) -> Self;
    fn sub_saturating(self, other: Self) -> Self;
    fn distance(self, other: Self) -> Self;
}

macro_rules! integer {
    ($($kind:ty, $wide:ty, $arithmetic:ty, $absolute:expr);*) => {$(
        impl Integer for $kind {
            type Wide = $wide;
            #[inline(always)] fn add(self, other: Self) -> Self { self.wrapping_add(other) }
            #[inline(always)] fn sub(self, other: Self) -> Self { self.wrapping_sub(other) }
            #[inline(always)] fn mul(self, other: Self) -> Self { self.wrapping_mul(other) }
            #[inline(always)] fn mul_high(self, other: Self) -> Self {
                ((self as $arithmetic * other as $arithmetic) >> Self::BITS) as Self
            }
            #[inline(always)] fn mul_wide(self, other: Self) -> $wide { (self as $wide).wrapping_mul(other as $wide) }
            #[inline(always)] fn add_wide(a: $wide, b: $wide) -> $wide { a.wrapping_add(b) }
            #[inline(always)] fn div(self, other: Self) -> Self { if other == 0 { 0 } else { self.wrapping_div(other) } }
            #[inline(always)] fn rem(self, other: Self) -> Self { if other == 0 { 0 } else { self.wrapping_rem(other) } }
            #[inline(always)] fn absolute(self) -> Self { let absolute: fn(Self) -> Self = $absolute; absolute(self) }
            #[inline(always)] fn shift_right(self, amount: u32) -> Self {
                // A shift by the width or more fills with the sign, or with zero.
                if amount >= Self::BITS { self >> (Self::BITS - 1) >> 1 } else { self >> amount }
            }
            #[inline(always)] fn add_saturating(self, other: Self) -> Self { self.saturating_add(other) }
            #[inline(always)] fn sub_saturating(self, other: Self) -> Self { self.saturating_sub(other) }
            #[inline(always)] fn distance(self, other: Self) -> Self {
                if self < other { other.wrapping_sub(self) } else { self.wrapping_sub(other) }
            }
        }
    )*};
}
integer!(
    u16, u32, u32, |x| x; i16, i32, i32, i16::wrapping_abs;
    u32, u64, u64, |x| x; i32, i64, i64, i32::wrapping_abs;
    u64, u64, u128, |x| x; i64, i64, i128, i64::wrapping_abs
);

/// Calls a function generic over an integer with the integer that `kind` names; bits count as unsigned.
macro_rules! with_integer {
    ($kind:expr, $function:ident($($argument:expr),*)) => {
        match $kind {
            Type::U16 | Type::B16 => $function::<u16>($($argument),*),
            Type::S16 => $function::<i16>($($argument),*),
            Type::U32 | Type::B32 => $function::<u32>($($argument),*),
            Type::S32 => $function::<i32>($($argument),*),
            Type::U64 | Type::B64 => $function::<u64>($($argument),*),
            Type::S64 => $function::<i64>($($argument),*),
            _ => None,
        }
    };
}

fn unary_of<T: Integer>(name: &str) -> Option<Unary> {
    Some(match name {
        "abs" => unary!(T, |a| a.absolute()),
        "neg" => unary!(T, |a| T::get(0).sub(a)),
        _ => return None,
    })
}

/// `abs`, `neg`.
pub fn integer_unary(name: &str, kind: Type) -> Option<Unary> {
    with_integer!(kind, unary_of(name))
}

fn binary_of<T: Integer>(name: &str) -> Option<Binary> {
    Some(match name {
        "add" => binary!(T, |a, b| a.add(b)),
        "add.sat" => binary!(T, |a, b| a.add_saturating(b)),
        "sub" => binary!(T, |a, b| a.sub(b)),
        "sub.sat" => binary!(T, |a, b| a.sub_saturating(b)),
        "mul.lo" => binary!(T, |a, b| a.mul(b)),
        "mul.hi" => binary!(T, |a, b| a.mul_high(b)),
        "div" => binary!(T, |a, b| a.div(b)),
        "rem" => binary!(T, |a, b| a.rem(b)),
        "min" => binary!(T, |a, b| a.min(b)),
        "max" => binary!(T, |a, b| a.max(b)),
        "shr" => |d, a, b| {
            for ((d, a), b) in d.iter_mut().zip(a).zip(b) {
                *d = T::get(*a).shift_right(*b as u32).put();
            }
        },
        _ => return None,
    })
}

/// Arithmetic on two integers, and `shr`; the name carries `.lo`, `.hi` and `.sat`.
pub fn integer_binary(name: &str, kind: Type) -> Option<Binary> {
    with_integer!(kind, binary_of(name))
}

fn ternary_of<T: Integer>(name: &str) -> Option<Ternary> {
    Some(match name {
        "mad.lo" => ternary!(T, T, |a, b, c| a.mul(b).add(c)),
        "mad.hi" => ternary!(T, T, |a, b, c| a.mul_high(b).add(c)),
        "sad" => ternary!(T, T, |a, b, c| a.distance(b).add(c)),
        _ => return None,
    })
}

/// `mad.lo`, `mad.hi`, `sad`.
pub fn integer_ternary(name: &str, kind: Type) -> Option<Ternary> {
    with_integer!(kind, ternary_of(name))
}

fn wide_binary_of<T: Integer>() -> Option<Binary> {
    Some(binary!(T, |a, b| a.mul_wide(b)))
}

/// `mul.wide` of 16 or 32 bits.
pub fn wide_binary(kind: Type) -> Option<Binary> {
    if kind.bytes() > 4 { None } else { with_integer!(kind, wide_binary_of()) }
}

fn wide_ternary_of<T: Integer>() -> Option<Ternary> {
    Some(ternary!(T, T::Wide, |a, b, c| T::add_wide(a.mul_wide(b), c)))
}

/// `mad.wide` of 16 or 32 bits.
pub fn wide_ternary(kind: Type) -> Option<Ternary> {
    if kind.bytes() > 4 { None } else { with_integer!(kind, wide_ternary_of()) }
}

#[cfg(test)]
mod tests {
    use super::super::LANES;
    use super::*;

    fn apply(name: &str, kind: Type, a: u64, b: u64) -> u64 {
        let mut d = [0; LANES];
        integer_binary(name, kind).unwrap()(&mut d, &[a; LANES], &[b; LANES]);
        d[0]
    }

    #[test]
    fn edges() {
        let minimum = 0x8000_0000;
        assert_eq!(apply("div", Type::S32, minimum, 0xFFFF_FFFF), minimum);
        assert_eq!(apply("rem", Type::S32, 0xFFFF_FFF9, 4), 0xFFFF_FFFD);
        assert_eq!(apply("add.sat", Type::S32, 0x7FFF_FFFF, 1), 0x7FFF_FFFF);
        assert_eq!(apply("mul.hi", Type::S32, 0xFFFF_FFFF, 2), 0xFFFF_FFFF);
        assert_eq!(apply("mul.hi", Type::U32, 0xFFFF_FFFF, 2), 1);
        assert_eq!(apply("mul.hi", Type::S64, u64::MAX, 5), u64::MAX);
        assert_eq!(apply("mul.hi", Type::U16, 0xFFFF, 0xFFFF), 0xFFFE);
        assert_eq!(apply("shr", Type::S32, minimum, 40), 0xFFFF_FFFF);
        assert_eq!(apply("shr", Type::U32, minimum, 32), 0);
        assert_eq!(apply("max", Type::S16, 0xFFFF, 1), 1);
        assert!(wide_binary(Type::S64).is_none() && integer_binary("add", Type::U8).is_none());
    }
}
