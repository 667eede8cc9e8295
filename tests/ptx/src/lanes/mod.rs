//! Functions over the 32 lanes of registers.
//!
//! A lane holds the bits of its value zero-extended to 64, whatever the type. Each function here computes all lanes; the
//! caller keeps those that are active.

mod bits;
mod compare;
mod convert;
mod float;
mod half;
mod integer;

pub use bits::{bitwise_binary, bitwise_ternary, bitwise_unary, insert_field};
pub use compare::{compare, test_property};
pub use convert::{Conversion, Rounding, pack_pair};
pub use float::{float_binary, float_ternary, float_unary, saturate};
pub use integer::{integer_binary, integer_ternary, integer_unary, wide_binary, wide_ternary};

/// Lanes in a warp.
pub const LANES: usize = 32;

/// One register of a warp.
pub type Lanes = [u64; LANES];

/// A function of one register.
pub type Unary = fn(&mut Lanes, &Lanes);
/// A function of two registers.
pub type Binary = fn(&mut Lanes, &Lanes, &Lanes);
/// A function of three registers.
pub type Ternary = fn(&mut Lanes, &Lanes, &Lanes, &Lanes);
/// A function of four registers.
pub type Quaternary = fn(&mut Lanes, &Lanes, &Lanes, &Lanes, &Lanes);
/// A comparison: the mask of the lanes where it holds.
pub type Test = fn(&Lanes, &Lanes) -> u32;

/// A value that lives in a lane.
pub trait Lane: Copy {
    /// The value in the low bits of a lane.
    fn get(bits: u64) -> Self;
    /// The lane that holds this value.
    fn put(self) -> u64;
}

macro_rules! integer_lane {
    ($($signed:ty, $unsigned:ty);*) => {$(
        impl Lane for $unsigned {
            #[inline(always)]
            fn get(bits: u64) -> Self { bits as $unsigned }
            #[inline(always)]
            fn put(self) -> u64 { self as u64 }
        }
        impl Lane for $signed {
            #[inline(always)]
            fn get(bits: u64) -> Self { bits as $signed }
            #[inline(always)]
            fn put(self) -> u64 { self as $unsigned as u64 }
        }
    )*};
}
integer_lane!(i8, u8; i16, u16; i32, u32; i64, u64);

impl Lane for f32 {
    #[inline(always)]
    fn get(bits: u64) -> Self {
        Self::from_bits(bits as u32)
    }
    #[inline(always)]
    fn put(self) -> u64 {
        u64::from(self.to_bits())
    }
}

impl Lane for f64 {
    #[inline(always)]
    fn get(bits: u64) -> Self {
        Self::from_bits(bits)
    }
    #[inline(always)]
    fn put(self) -> u64 {
        self.to_bits()
    }
}

/// A function of one lane as a function of registers.
macro_rules! unary {
    ($kind:ty, |$a:ident| $body:expr) => {
        (|d: &mut $crate::lanes::Lanes, a: &$crate::lanes::Lanes| {
            for lane in 0..$crate::lanes::LANES {
                let $a = <$kind as $crate::lanes::Lane>::get(a[lane]);
                d[lane] = $crate::lanes::Lane::put($body);
            }
        }) as $crate::lanes::Unary
    };
}

/// A function of two lanes as a function of registers.
macro_rules! binary {
    ($kind:ty, |$a:ident, $b:ident| $body:expr) => {
        (|d: &mut $crate::lanes::Lanes, a: &$crate::lanes::Lanes, b: &$crate::lanes::Lanes| {
            for lane in 0..$crate::lanes::LANES {
                let $a = <$kind as $crate::lanes::Lane>::get(a[lane]);
                let $b = <$kind as $crate::lanes::Lane>::get(b[lane]);
                d[lane] = $crate::lanes::Lane::put($body);
            }
        }) as $crate::lanes::Binary
    };
}

/// A function of three lanes, each of its own type, as a function of registers.
macro_rules! ternary {
    ($kind:ty, $last:ty, |$a:ident, $b:ident, $c:ident| $body:expr) => {
        (|d: &mut $crate::lanes::Lanes,
          a: &$crate::lanes::Lanes,
          b: &$crate::lanes::Lanes,
          c: &$crate::lanes::Lanes| {
            for lane in 0..$crate::lanes::LANES {
                let $a = <$kind as $crate::lanes::Lane>::get(a[lane]);
                let $b = <$kind as $crate::lanes::Lane>::get(b[lane]);
                let $c = <$last as $crate::lanes::Lane>::get(c[lane]);
                d[lane] = $crate::lanes::Lane::put($body);
            }
        }) as $crate::lanes::Ternary
    };
}

/// A comparison of two lanes as a mask.
macro_rules! test {
    ($kind:ty, |$a:ident, $b:ident| $body:expr) => {
        (|a: &$crate::lanes::Lanes, b: &$crate::lanes::Lanes| {
            let mut mask = 0u32;
            for lane in 0..$crate::lanes::LANES {
                let $a = <$kind as $crate::lanes::Lane>::get(a[lane]);
                let $b = <$kind as $crate::lanes::Lane>::get(b[lane]);
                mask |= u32::from($body) << lane;
            }
            mask
        }) as $crate::lanes::Test
    };
}

pub(crate) use {binary, ternary, test, unary};
