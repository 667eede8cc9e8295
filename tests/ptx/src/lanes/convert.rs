//! Conversions between types.

use super::half::{narrow, widen};
use super::{Binary, LANES, Lane, Lanes};
use crate::types::Type;

/// A direction of rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Rounding {
    NearestEven,
    Zero,
    Down,
    Up,
}

impl Rounding {
    /// The whole number this rounds to.
    fn whole(self, value: f64) -> f64 {
        match self {
            Self::NearestEven => value.round_ties_even(),
            Self::Zero => value.trunc(),
            Self::Down => value.floor(),
            Self::Up => value.ceil(),
        }
    }
}

/// A `cvt`.
#[derive(Clone, Copy, Debug)]
pub struct Conversion {
    /// Type converted from.
    pub source: Type,
    /// Type converted to.
    pub target: Type,
    /// How to round.
    pub rounding: Rounding,
    /// Round to a whole number although the target is floating-point.
    pub whole: bool,
    /// `.sat`.
    pub saturate: bool,
    /// Bits of the destination register, to which a narrow integer is extended.
    pub register_bits: u32,
}

/// The integer in a lane, extended to 64 bits by its sign.
fn extend(bits: u64, kind: Type) -> u64 {
    let shift = 64 - kind.bits();
    if kind.is_signed() { ((bits << shift) as i64 >> shift) as u64 } else { bits << shift >> shift }
}

fn limits(kind: Type) -> (i128, i128) {
    let bits = kind.bits();
    if kind.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

impl Conversion {
    /// Converts every lane.
    pub fn apply(&self, d: &mut Lanes, a: &Lanes) {
        match (self.source.is_float(), self.target.is_float()) {
            (false, false) => self.integer_to_integer(d, a),
            (false, true) => self.integer_to_float(d, a),
            (true, false) => self.float_to_integer(d, &self.values(a)),
            (true, true) => self.float_to_float(d, &self.values(a)),
        }
    }

    fn values(&self, a: &Lanes) -> [f64; LANES] {
        match self.source {
            Type::F16 | Type::BF16 => widen(a, self.source == Type::BF16),
            Type::F32 => a.map(|bits| f64::from(f32::get(bits))),
            _ => a.map(f64::get),
        }
    }

    fn put_integer(&self, bits: u64) -> u64 {
        let register = if self.register_bits >= 64 { u64::MAX } else { (1 << self.register_bits) - 1 };
        extend(bits, self.target) & register
    }

    fn integer_to_integer(&self, d: &mut Lanes, a: &Lanes) {
        for (d, a) in d.iter_mut().zip(a) {
            let mut bits = extend(*a, self.source);
            if self.saturate {
                let value = if self.source.is_signed() { i128::from(bits as i64) } else { i128::from(bits) };
                let (low, high) = limits(self.target);
                bits = value.clamp(low, high) as u64;
            }
            *d = self.put_integer(bits);
        }
    }

    fn integer_to_float(&self, d: &mut Lanes, a: &Lanes) {
        let signed = self.source.is_signed();
        for (d, a) in d.iter_mut().zip(a) {
            let bits = extend(*a, self.source);
            let value = if signed { bits as i64 as f64 } else { bits as f64 };
            *d = match (self.target, self.rounding) {
                (Type::F64, _) => value.put(),
                (Type::F32, Rounding::NearestEven) => (if signed { bits as i64 as f32 } else { bits as f32 }).put(),
                _ => self.put_float(if self.saturate { value.clamp(0.0, 1.0) } else { value }),
            };
        }
    }

    fn float_to_integer(&self, d: &mut Lanes, values: &[f64; LANES]) {
        let (low, high) = limits(self.target);
        for (d, &value) in d.iter_mut().zip(values) {
            let bits = if value.is_nan() {
                // Conversions that involve 64 bits mark NaN by the top bit alone; the others give zero.
                let wide = self.source == Type::F64 || self.target.bits() == 64;
                if wide { 1 << (self.target.bits() - 1) } else { 0 }
            } else {
                // `as` clamps what exceeds 128 bits.
                (self.rounding.whole(value) as i128).clamp(low, high) as u64
            };
            *d = self.put_integer(bits);
        }
    }

    fn float_to_float(&self, d: &mut Lanes, values: &[f64; LANES]) {
        for (d, &value) in d.iter_mut().zip(values) {
            let mut value = if self.whole { self.rounding.whole(value) } else { value };
            if self.saturate {
                value = if value > 0.0 { value.min(1.0) } else { 0.0 };
            }
            *d = self.put_float(value);
        }
    }

    fn put_float(&self, value: f64) -> u64 {
        match self.target {
            Type::F16 => narrow(value, 5, 10, self.rounding),
            Type::BF16 => narrow(value, 8, 7, self.rounding),
            Type::F32 if self.rounding == Rounding::NearestEven => (value as f32).put(),
            Type::F32 => narrow(value, 8, 23, self.rounding),
            _ => value.put(),
        }
    }
}

/// `cvt.rn` of two singles to a pair; the first operand goes to the high half.
pub fn pack_pair(target: Type, relu: bool) -> Option<Binary> {
    fn pack<const EXPONENT: u32, const MANTISSA: u32, const RELU: bool>(d: &mut Lanes, a: &Lanes, b: &Lanes) {
        let round = |bits: u64| {
            let value = f64::from(f32::get(bits));
            let value = if RELU && value <= 0.0 { 0.0 } else { value };
            narrow(value, EXPONENT, MANTISSA, Rounding::NearestEven)
        };
        for ((d, a), b) in d.iter_mut().zip(a).zip(b) {
            *d = round(*a) << 16 | round(*b);
        }
    }
    Some(match (target, relu) {
        (Type::F16x2, false) => pack::<5, 10, false>,
        (Type::F16x2, true) => pack::<5, 10, true>,
        (Type::BF16x2, false) => pack::<8, 7, false>,
        (Type::BF16x2, true) => pack::<8, 7, true>,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn convert(source: Type, target: Type, rounding: Rounding, saturate: bool, bits: u64) -> u64 {
        let mut d = [0; LANES];
        let conversion = Conversion { source, target, rounding, whole: false, saturate, register_bits: 32 };
        conversion.apply(&mut d, &[bits; LANES]);
        d[31]
    }

    #[test]
    fn integers_extend_truncate_and_saturate() {
        let rounding = Rounding::NearestEven;
        assert_eq!(convert(Type::S8, Type::S32, rounding, false, 0xFF), 0xFFFF_FFFF);
        assert_eq!(convert(Type::U8, Type::U32, rounding, false, 0x1FF), 0xFF);
        assert_eq!(convert(Type::S32, Type::S8, rounding, false, 0x180), 0xFFFF_FF80);
        assert_eq!(convert(Type::S32, Type::U8, rounding, true, 0xFFFF_FFFF), 0);
        assert_eq!(convert(Type::S32, Type::S8, rounding, true, 1000), 127);
    }

    #[test]
    fn floats_to_integers_clamp() {
        let bits = |value: f32| value.put();
        assert_eq!(convert(Type::F32, Type::S32, Rounding::Zero, false, bits(-1.9)), 0xFFFF_FFFF);
        assert_eq!(convert(Type::F32, Type::S32, Rounding::NearestEven, false, bits(2.5)), 2);
        assert_eq!(convert(Type::F32, Type::S32, Rounding::Up, false, bits(2.1)), 3);
        assert_eq!(convert(Type::F32, Type::S32, Rounding::Zero, false, bits(1e20)), 0x7FFF_FFFF);
        assert_eq!(convert(Type::F32, Type::U32, Rounding::Zero, false, bits(-5.0)), 0);
        assert_eq!(convert(Type::F32, Type::S32, Rounding::Zero, false, bits(f32::NAN)), 0);
        assert_eq!(convert(Type::F64, Type::S32, Rounding::Zero, false, f64::NAN.put()), 0x8000_0000);
        assert_eq!(convert(Type::F32, Type::F16, Rounding::NearestEven, false, bits(1.0)), 0x3C00);
        assert_eq!(convert(Type::S32, Type::F16, Rounding::NearestEven, false, 3), 0x4200);
    }
}
