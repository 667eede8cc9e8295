//! Comparisons.

use super::half::{Bfloat, Half};
use super::{Lane, Test, test};
use crate::types::Type;

trait Ordered: Lane {
    fn order(self, other: Self) -> Option<std::cmp::Ordering>;
}

macro_rules! ordered {
    ($($kind:ty),*) => {$(
        impl Ordered for $kind {
            #[inline(always)]
            fn order(self, other: Self) -> Option<std::cmp::Ordering> { self.partial_cmp(&other) }
        }
    )*};
}
ordered!(u16, i16, u32, i32, u64, i64, f32, f64);

impl Ordered for Half {
    fn order(self, other: Self) -> Option<std::cmp::Ordering> {
        self.0.partial_cmp(&other.0)
    }
}

impl Ordered for Bfloat {
    fn order(self, other: Self) -> Option<std::cmp::Ordering> {
        self.0.partial_cmp(&other.0)
    }
}

fn integer<T: Ordered + PartialOrd>(name: &str) -> Option<Test> {
    Some(match name {
        "eq" => test!(T, |a, b| a == b),
        "ne" => test!(T, |a, b| a != b),
        "lt" | "lo" => test!(T, |a, b| a < b),
        "le" | "ls" => test!(T, |a, b| a <= b),
        "gt" | "hi" => test!(T, |a, b| a > b),
        "ge" | "hs" => test!(T, |a, b| a >= b),
        _ => return None,
    })
}

fn float<T: Ordered>(name: &str) -> Option<Test> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    Some(match name {
        "eq" => test!(T, |a, b| a.order(b) == Some(Equal)),
        "ne" => test!(T, |a, b| matches!(a.order(b), Some(Less | Greater))),
        "lt" => test!(T, |a, b| a.order(b) == Some(Less)),
        "le" => test!(T, |a, b| matches!(a.order(b), Some(Less | Equal))),
        "gt" => test!(T, |a, b| a.order(b) == Some(Greater)),
        "ge" => test!(T, |a, b| matches!(a.order(b), Some(Greater | Equal))),
        "equ" => test!(T, |a, b| !matches!(a.order(b), Some(Less | Greater))),
        "neu" => test!(T, |a, b| a.order(b) != Some(Equal)),
        "ltu" => test!(T, |a, b| !matches!(a.order(b), Some(Greater | Equal))),
        "leu" => test!(T, |a, b| a.order(b) != Some(Greater)),
        "gtu" => test!(T, |a, b| !matches!(a.order(b), Some(Less | Equal))),
        "geu" => test!(T, |a, b| a.order(b) != Some(Less)),
        "num" => test!(T, |a, b| a.order(b).is_some()),
        "nan" => test!(T, |a, b| a.order(b).is_none()),
        _ => return None,
    })
}

/// The comparison `name` of `setp`. Untyped bits compare for equality only; `lo` to `hs` are for unsigned integers.
pub fn compare(name: &str, kind: Type) -> Option<Test> {
    if kind.is_bits() && !matches!(name, "eq" | "ne") {
        return None;
    }
    if kind.is_signed() && matches!(name, "lo" | "ls" | "hi" | "hs") {
        return None;
    }
    match kind {
        Type::U16 | Type::B16 => integer::<u16>(name),
        Type::S16 => integer::<i16>(name),
        Type::U32 | Type::B32 => integer::<u32>(name),
        Type::S32 => integer::<i32>(name),
        Type::U64 | Type::B64 => integer::<u64>(name),
        Type::S64 => integer::<i64>(name),
        Type::F32 => float::<f32>(name),
        Type::F64 => float::<f64>(name),
        Type::F16 => float::<Half>(name),
        Type::BF16 => float::<Bfloat>(name),
        _ => None,
    }
}

/// The property `name` of `testp`, of the first operand.
pub fn test_property(name: &str, kind: Type) -> Option<Test> {
    macro_rules! of {
        ($kind:ty) => {
            match name {
                "finite" => test!($kind, |a, _b| a.is_finite()),
                "infinite" => test!($kind, |a, _b| a.is_infinite()),
                "number" => test!($kind, |a, _b| !a.is_nan()),
                "notanumber" => test!($kind, |a, _b| a.is_nan()),
                "normal" => test!($kind, |a, _b| a.is_normal()),
                "subnormal" => test!($kind, |a, _b| a.is_subnormal()),
                _ => return None,
            }
        };
    }
    Some(match kind {
        Type::F32 => of!(f32),
        Type::F64 => of!(f64),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::LANES;
    use super::*;

    #[test]
    fn nan_makes_only_the_unordered_comparisons_hold() {
        let (one, nan) = ([1f32.put(); LANES], [f32::NAN.put(); LANES]);
        for name in ["eq", "ne", "lt", "le", "gt", "ge", "num"] {
            assert_eq!(compare(name, Type::F32).unwrap()(&one, &nan), 0, "{name}");
        }
        for name in ["equ", "neu", "ltu", "leu", "gtu", "geu", "nan"] {
            assert_eq!(compare(name, Type::F32).unwrap()(&one, &nan), u32::MAX, "{name}");
        }
        assert_eq!(compare("lt", Type::S32).unwrap()(&[0xFFFF_FFFF; LANES], &[0; LANES]), u32::MAX);
        assert_eq!(compare("lt", Type::U32).unwrap()(&[0xFFFF_FFFF; LANES], &[0; LANES]), 0);
        assert!(compare("lo", Type::S32).is_none() && compare("lt", Type::B32).is_none());
    }
}
