//! Floats narrower than 32 bits: their bits from an `f32`, and back.

use crate::graph::ElementType;

/// What the codes beyond the finite numbers mean.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Special {
    /// The greatest exponent holds infinity and NaN.
    Ieee,
    /// NaN is all ones but the sign; no infinity.
    OnesNan,
    /// NaN is the code of -0; no infinity.
    ZeroNan,
    /// Neither NaN nor infinity.
    Finite,
}

struct Format {
    bits: u32,
    mantissa: u32,
    bias: i32,
    special: Special,
}

impl Format {
    /// `None` for types that are no narrow float with a sign.
    fn of(element: ElementType) -> Option<Self> {
        let (mantissa, bias, special) = match element {
            ElementType::F16 => (10, 15, Special::Ieee),
            ElementType::BF16 => (7, 127, Special::Ieee),
            ElementType::F8E4M3FN => (3, 7, Special::OnesNan),
            ElementType::F8E4M3FNUZ => (3, 8, Special::ZeroNan),
            ElementType::F8E5M2 => (2, 15, Special::Ieee),
            ElementType::F8E5M2FNUZ => (2, 16, Special::ZeroNan),
            ElementType::F4E2M1 => (1, 1, Special::Finite),
            _ => return None,
        };
        Some(Self { bits: element.bits() as u32, mantissa, bias, special })
    }

    fn sign_bit(&self) -> u32 {
        1 << (self.bits - 1)
    }

    /// The code of the greatest finite number.
    fn greatest(&self) -> u32 {
        let ones = self.sign_bit() - 1;
        match self.special {
            Special::Ieee => self.infinity() - 1,
            Special::OnesNan => ones - 1,
            Special::ZeroNan | Special::Finite => ones,
        }
    }

    fn infinity(&self) -> u32 {
        (self.sign_bit() - 1) & !((1 << self.mantissa) - 1)
    }

    fn nan(&self, sign: u32) -> u32 {
        match self.special {
            Special::Ieee => sign | self.infinity() | 1 << (self.mantissa - 1),
            Special::OnesNan => sign | (self.sign_bit() - 1),
            Special::ZeroNan => self.sign_bit(),
            // As the ONNX specification of Cast has it.
            Special::Finite => self.greatest(),
        }
    }
}

/// 2 to the power, exact in the range of every format here.
fn power_of_two(exponent: i32) -> f64 {
    libm::ldexp(1.0, exponent)
}

/// The exponent of the leading bit of a positive finite number.
fn exponent_of(value: f64) -> i32 {
    ((value.to_bits() >> 52) & 0x7ff) as i32 - 1023
}

/// The code of the number nearest to `value`, ties to even. Beyond the range: the greatest finite number for 8-bit types
/// where `saturate` is set and always for `f4e2m1`; else infinity, or NaN where there is none.
///
/// `f8e8m0` has neither sign nor zero: what is below its range takes its least value and negative numbers become NaN;
/// ties go to the greater.
pub fn encode(element: ElementType, saturate: bool, value: f32) -> u32 {
    let wide = f64::from(value);
    let Some(format) = Format::of(element) else { return encode_power(saturate, wide) };
    let sign = if value.is_sign_negative() { format.sign_bit() } else { 0 };
    if value.is_nan() {
        return format.nan(sign);
    }
    let magnitude = wide.abs();
    let exponent = exponent_of(magnitude).max(1 - format.bias);
    let digits = (magnitude / power_of_two(exponent - format.mantissa as i32)).round_ties_even();
    // A number just below a power of two carries into the exponent by itself.
    let code = (((exponent + format.bias - 1) as u64) << format.mantissa).saturating_add(digits as u64);
    if code > u64::from(format.greatest()) {
        let to_greatest = format.special == Special::Finite || (saturate && format.bits == 8);
        return match format.special {
            _ if to_greatest => sign | format.greatest(),
            Special::Ieee => sign | format.infinity(),
            _ => format.nan(sign),
        };
    }
    if code == 0 && format.special == Special::ZeroNan { 0 } else { sign | code as u32 }
}

/// The value of a code.
pub fn decode(element: ElementType, code: u32) -> f32 {
    let Some(format) = Format::of(element) else {
        return if code == 0xff { f32::NAN } else { power_of_two(code as i32 - 127) as f32 };
    };
    let negative = code & format.sign_bit() != 0;
    let magnitude = code & (format.sign_bit() - 1);
    let is_nan = match format.special {
        Special::Ieee => magnitude > format.infinity(),
        Special::OnesNan => magnitude == format.sign_bit() - 1,
        Special::ZeroNan => code == format.sign_bit(),
        Special::Finite => false,
    };
    let value = if is_nan {
        f64::NAN
    } else if format.special == Special::Ieee && magnitude == format.infinity() {
        f64::INFINITY
    } else {
        let leading = 1 << format.mantissa;
        let (exponent, digits) = ((magnitude >> format.mantissa) as i32, magnitude & (leading - 1));
        let digits = if exponent == 0 { digits } else { digits + leading };
        f64::from(digits) * power_of_two(exponent.max(1) - format.bias - format.mantissa as i32)
    };
    (if negative { -value } else { value }) as f32
}

/// `f8e8m0`: the exponent of a power of two.
fn encode_power(saturate: bool, value: f64) -> u32 {
    if value.is_nan() || value < 0.0 {
        return 0xff;
    }
    if value < power_of_two(-126) {
        return u32::from(value > 1.5 * power_of_two(-127));
    }
    let exponent = exponent_of(value);
    let rounded = exponent + i32::from(value >= 1.5 * power_of_two(exponent.min(1000)));
    match rounded + 127 {
        code if code < 0xff => code as u32,
        _ if saturate => 0xfe,
        _ => 0xff,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ElementType as E;

    const SIGNED: [E; 7] = [E::F16, E::BF16, E::F8E4M3FN, E::F8E4M3FNUZ, E::F8E5M2, E::F8E5M2FNUZ, E::F4E2M1];

    #[test]
    fn every_code_is_its_values_nearest() {
        for element in SIGNED.into_iter().chain([E::F8E8M0]) {
            for code in 0..1u32 << element.bits() {
                let value = decode(element, code);
                if value.is_nan() {
                    assert!(decode(element, encode(element, true, value)).is_nan(), "{element} {code:#x}");
                } else if value.is_finite() {
                    assert_eq!(encode(element, true, value), code, "{element} {value}");
                } else {
                    assert_eq!(encode(element, false, value), code, "{element} {value}");
                }
            }
        }
    }

    #[test]
    fn sixteen_bits_agree_with_another_implementation() {
        let mut bits = 1u32;
        for _ in 0..200_000 {
            bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let value = f32::from_bits(bits);
            if !value.is_nan() {
                assert_eq!(encode(E::F16, true, value), u32::from(half::f16::from_f32(value).to_bits()), "{value:e}");
                assert_eq!(encode(E::BF16, true, value), u32::from(half::bf16::from_f32(value).to_bits()), "{value:e}");
            }
        }
        for code in 0..=u16::MAX {
            let (ours, other) = (decode(E::F16, code.into()), half::f16::from_bits(code).to_f32());
            assert!(ours == other || (ours.is_nan() && other.is_nan()));
        }
    }

    #[test]
    fn ranges_end_as_specified() {
        assert_eq!(decode(E::F8E4M3FN, 0x7e), 448.0);
        assert_eq!(decode(E::F8E4M3FNUZ, 0x7f), 240.0);
        assert_eq!(decode(E::F8E5M2, 0x7b), 57344.0);
        assert_eq!(decode(E::F8E5M2FNUZ, 0x7f), 57344.0);
        assert_eq!(decode(E::F4E2M1, 7), 6.0);
        assert_eq!(encode(E::F8E4M3FN, true, 464.0), 0x7e);
        assert_eq!(encode(E::F8E4M3FN, false, 464.5), 0x7f);
        assert_eq!(encode(E::F8E4M3FNUZ, false, f32::INFINITY), 0x80);
        assert_eq!(encode(E::F8E4M3FNUZ, true, -0.0), 0);
        assert_eq!(encode(E::F8E5M2, false, 1e6), 0x7c);
        assert_eq!(encode(E::F8E5M2, true, f32::NEG_INFINITY), 0xfb);
        assert_eq!(encode(E::F4E2M1, false, f32::NAN), 7);
        assert_eq!(encode(E::F8E8M0, true, 1.49), 127);
        assert_eq!(encode(E::F8E8M0, true, 1.5), 128);
        assert_eq!(encode(E::F8E8M0, true, 0.0), 0);
        assert_eq!(encode(E::F8E8M0, false, f32::INFINITY), 0xff);
        assert_eq!(encode(E::F8E8M0, true, f32::INFINITY), 0xfe);
    }
}
