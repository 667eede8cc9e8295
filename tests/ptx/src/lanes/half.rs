//! The 16-bit floating-point types, and rounding to any narrow type.

use super::convert::Rounding;
use super::{LANES, Lane};

/// Rounds a double to a type with the given field widths; the result is its bits. NaN becomes the canonical NaN of PTX.
pub fn narrow(value: f64, exponent_bits: u32, mantissa_bits: u32, rounding: Rounding) -> u64 {
    let negative = value.is_sign_negative();
    let sign = u64::from(negative) << (exponent_bits + mantissa_bits);
    let infinity = ((1u64 << exponent_bits) - 1) << mantissa_bits;
    if value.is_nan() {
        return (1 << (exponent_bits + mantissa_bits)) - 1;
    }
    if value.is_infinite() {
        return sign | infinity;
    }
    let bits = value.to_bits();
    let field = (bits >> 52 & 0x7FF) as i32;
    let significand = (bits & ((1 << 52) - 1)) | if field == 0 { 0 } else { 1 << 52 };
    let exponent = field.max(1) - 1023;
    let smallest = 2 - (1 << (exponent_bits - 1));
    let scale = exponent.max(smallest);
    let dropped = (scale - mantissa_bits as i32 - (exponent - 52)) as u32;
    let (kept, rest, half) = if dropped > 63 {
        (0, u64::from(significand != 0), 2)
    } else {
        (significand >> dropped, significand & ((1 << dropped) - 1), 1 << (dropped - 1))
    };
    let up = match rounding {
        Rounding::NearestEven => rest > half || (rest == half && kept & 1 == 1),
        Rounding::Zero => false,
        Rounding::Up => !negative && rest > 0,
        Rounding::Down => negative && rest > 0,
    };
    let magnitude = (((scale - smallest) as u64) << mantissa_bits) + kept + u64::from(up);
    if magnitude < infinity {
        return sign | magnitude;
    }
    let to_infinity = match rounding {
        Rounding::NearestEven => true,
        Rounding::Zero => false,
        Rounding::Up => !negative,
        Rounding::Down => negative,
    };
    sign | if to_infinity { infinity } else { infinity - 1 }
}

/// The value of an IEEE half.
pub fn half_to_f32(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let magnitude = u32::from(bits & 0x7FFF);
    if magnitude >= 0x7C00 {
        return f32::from_bits(sign | 0x7F80_0000 | (magnitude & 0x3FF) << 13);
    }
    // Scaling by a power of two is exact and normalizes what is subnormal in the half.
    let scaled = f32::from_bits(magnitude << 13) * f32::from_bits((254 - 15) << 23);
    f32::from_bits(sign | scaled.to_bits())
}

/// A half in a lane.
#[derive(Clone, Copy)]
pub struct Half(pub f32);
/// A bfloat16 in a lane.
#[derive(Clone, Copy)]
pub struct Bfloat(pub f32);

impl Lane for Half {
    fn get(bits: u64) -> Self {
        Self(half_to_f32(bits as u16))
    }
    fn put(self) -> u64 {
        narrow(f64::from(self.0), 5, 10, Rounding::NearestEven)
    }
}

impl Lane for Bfloat {
    fn get(bits: u64) -> Self {
        Self(f32::from_bits((bits as u32) << 16))
    }
    fn put(self) -> u64 {
        narrow(f64::from(self.0), 8, 7, Rounding::NearestEven)
    }
}

/// Two 16-bit values in a lane of 32 bits, the first in the low half.
#[derive(Clone, Copy)]
pub struct Pair<T>(pub T, pub T);

impl<T: Lane> Lane for Pair<T> {
    fn get(bits: u64) -> Self {
        Self(T::get(bits & 0xFFFF), T::get(bits >> 16))
    }
    fn put(self) -> u64 {
        self.0.put() | self.1.put() << 16
    }
}

/// The values of all lanes that hold a 16-bit type.
pub fn widen(lanes: &[u64; LANES], bfloat: bool) -> [f64; LANES] {
    lanes.map(|bits| f64::from(if bfloat { Bfloat::get(bits).0 } else { Half::get(bits).0 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives_a_round_trip() {
        for bits in 0..=u16::MAX {
            let value = half_to_f32(bits);
            if value.is_nan() {
                assert_eq!(Half(value).put(), 0x7FFF);
            } else {
                assert_eq!(Half(value).put(), u64::from(bits), "{value}");
            }
        }
    }

    #[test]
    fn singles_round_like_the_machine() {
        let mut state = 1u64;
        for _ in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let value = f64::from_bits(state & !(0x7FF << 52) | (860 + (state >> 54) % 320) << 52);
            assert_eq!(narrow(value, 8, 23, Rounding::NearestEven), u64::from((value as f32).to_bits()), "{value}");
        }
    }

    #[test]
    fn ties_limits_and_directions() {
        let half = |value, rounding| narrow(value, 5, 10, rounding);
        assert_eq!(half(65520.0, Rounding::NearestEven), 0x7C00);
        assert_eq!(half(65519.9, Rounding::NearestEven), 0x7BFF);
        assert_eq!(half(65520.0, Rounding::Zero), 0x7BFF);
        assert_eq!(half(-65520.0, Rounding::Up), 0xFBFF);
        assert_eq!(half(2f64.powi(-25), Rounding::NearestEven), 0);
        assert_eq!(half(1.5 * 2f64.powi(-25), Rounding::NearestEven), 1);
        assert_eq!(half(1e-300, Rounding::Up), 1);
        assert_eq!(half(1.0 + 2f64.powi(-11), Rounding::NearestEven), 0x3C00);
        assert_eq!(half(1.0 + 2f64.powi(-11) + 2f64.powi(-40), Rounding::NearestEven), 0x3C01);
        assert_eq!(Bfloat(1.0 + 1.0 / 256.0).put(), 0x3F80);
    }
}
