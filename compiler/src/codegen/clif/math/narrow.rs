//! Narrow floating-point formats: conversion from and to `f32` of any lane count, codes standing in `i32` lanes.

use cranelift_codegen::ir::Value;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};

use super::emit::MathBuilder;
use crate::graph::ElementType;

/// A signed binary format of a sign bit, exponent bits and fraction bits.
/// A float format of at most 16 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Format {
    /// Bits of a code.
    pub(crate) bits: u32,
    /// Bits of the fraction.
    pub(crate) fraction: u32,
    /// What is added to exponents.
    pub(crate) bias: i32,
    /// Code of the greatest finite number.
    pub(crate) max: i32,
    /// Code of a result beyond the range where conversion does not saturate.
    pub(crate) beyond: i32,
    /// Code of NaN.
    pub(crate) nan: i32,
    /// What the codes above the greatest finite number, or that of minus zero, stand for.
    pub(crate) specials: Specials,
    /// Whether conversion may saturate; without, it never does.
    pub(crate) saturates: bool,
}

/// How a format holds what is no finite number.
/// What codes without a finite value stand for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Specials {
    /// Infinity, and NaN with a payload above.
    Infinity,
    /// The highest code, of either sign, is NaN.
    HighestNan,
    /// The code of minus zero is NaN, and zero has no sign.
    MinusZeroNan,
    /// None.
    Finite,
}

impl Format {
    pub(crate) fn of(element: ElementType) -> Option<Self> {
        let f8 = Self {
            bits: 8,
            fraction: 3,
            bias: 7,
            max: 0x7e,
            beyond: 0x7f,
            nan: 0x7f,
            specials: Specials::HighestNan,
            saturates: true,
        };
        Some(match element {
            ElementType::F16 => Self {
                bits: 16,
                fraction: 10,
                bias: 15,
                max: 0x7bff,
                beyond: 0x7c00,
                nan: 0x7e00,
                saturates: false,
                specials: Specials::Infinity,
            },
            ElementType::BF16 => Self {
                bits: 16,
                fraction: 7,
                bias: 127,
                max: 0x7f7f,
                beyond: 0x7f80,
                nan: 0x7fc0,
                saturates: false,
                specials: Specials::Infinity,
            },
            ElementType::F8E4M3FN => f8,
            ElementType::F8E4M3FNUZ => {
                Self { bias: 8, max: 0x7f, beyond: 0x80, nan: 0x80, specials: Specials::MinusZeroNan, ..f8 }
            }
            ElementType::F8E5M2 => {
                Self { fraction: 2, bias: 15, max: 0x7b, beyond: 0x7c, nan: 0x7e, specials: Specials::Infinity, ..f8 }
            }
            ElementType::F8E5M2FNUZ => Self {
                fraction: 2,
                bias: 16,
                max: 0x7f,
                beyond: 0x80,
                nan: 0x80,
                specials: Specials::MinusZeroNan,
                ..f8
            },
            // Neither infinity nor NaN: what is beyond saturates, NaN becomes a zero.
            ElementType::F4E2M1 => {
                Self { bits: 4, fraction: 1, bias: 1, max: 7, beyond: 7, nan: 8, specials: Specials::Finite, ..f8 }
            }
            _ => return None,
        })
    }

    pub(crate) fn sign(self) -> i32 {
        1 << (self.bits - 1)
    }
}

impl MathBuilder<'_, '_> {
    /// The code of `x` in a float format narrower than `f32`, rounded to nearest even; `None` for other element types.
    ///
    /// Beyond the range, 8-bit formats give their greatest number if `saturate` holds, else infinity or, in formats
    /// without, NaN; 16-bit formats give infinity and `f4e2m1` its greatest number. `f8e8m0` rounds magnitudes up.
    pub fn narrow(&mut self, element: ElementType, saturate: bool, x: Value) -> Option<Value> {
        if element == ElementType::F8E8M0 {
            return Some(self.narrow_to_exponent(saturate, x));
        }
        let format = Format::of(element)?;
        let bits = self.bits(x);
        let magnitude = self.and_bits(bits, i32::MAX);
        let dropped = 23 - format.fraction;
        // Half less one, and one more where the last bit kept is odd.
        let last = self.shift_right(magnitude, dropped);
        let odd = self.and_bits(last, 1);
        let rounded = self.add_int_const(magnitude, (1 << (dropped - 1)) - 1);
        let rounded = self.add_int(rounded, odd);
        let code = self.shift_right(rounded, dropped);
        let mut code = self.add_int_const(code, -((127 - format.bias) << format.fraction));
        if format.bias != 127 {
            // Added to a number whose ulp is the least denormal, the sum holds the code in its low bits.
            let step = 24 - format.bias - format.fraction as i32;
            let anchor = f32::from_bits(((step + 127) as u32) << 23);
            let absolute = self.from_bits(magnitude);
            let sum = self.add_const(absolute, anchor);
            let sum = self.bits(sum);
            let denormal = self.add_int_const(sum, -(anchor.to_bits() as i32));
            let least_normal = (128 - format.bias) << 23;
            let is_denormal = self.compare_int_const(IntCC::SignedLessThan, magnitude, least_normal);
            code = self.select(is_denormal, denormal, code);
        }
        let limit = if saturate && format.saturates { format.max } else { format.beyond };
        let limit = self.int(limit);
        let beyond = self.compare_int_const(IntCC::SignedGreaterThan, code, format.max);
        let code = self.select(beyond, limit, code);
        let nan = self.int(format.nan);
        let is_nan = self.compare(FloatCC::Unordered, x, x);
        let code = self.select(is_nan, nan, code);
        let sign = self.shift_right(bits, 32 - format.bits);
        let mut sign = self.and_bits(sign, format.sign());
        if format.specials == Specials::MinusZeroNan {
            let is_zero = self.compare_int_const(IntCC::Equal, code, 0);
            let is_marker = self.compare_int_const(IntCC::Equal, code, format.nan);
            let unsigned = self.or(is_zero, is_marker);
            let zero = self.int(0);
            sign = self.select(unsigned, zero, sign);
        }
        Some(self.xor(code, sign))
    }

    /// The `f32` of a code; bits above the format's width must be 0. `None` for element types that are no narrow floats.
    pub fn widen(&mut self, element: ElementType, code: Value) -> Option<Value> {
        if element == ElementType::F8E8M0 {
            return Some(self.widen_exponent(code));
        }
        let format = Format::of(element)?;
        if element == ElementType::BF16 {
            let bits = self.shift_left(code, 16);
            return Some(self.from_bits(bits));
        }
        let magnitude = self.and_bits(code, format.sign() - 1);
        let shifted = self.shift_left(magnitude, 23 - format.fraction);
        let unscaled = self.from_bits(shifted);
        let scale = f32::from_bits(((254 - format.bias) as u32) << 23);
        let scaled = self.mul_const(unscaled, scale);
        let mut bits = self.bits(scaled);
        match format.specials {
            Specials::Infinity => {
                let exponent = self.int(0x7f80_0000);
                let special = self.or(shifted, exponent);
                let is_special = self.compare_int_const(IntCC::SignedGreaterThan, magnitude, format.max);
                bits = self.select(is_special, special, bits);
            }
            Specials::HighestNan | Specials::MinusZeroNan => {
                let compared = if format.specials == Specials::HighestNan { magnitude } else { code };
                let is_nan = self.compare_int_const(IntCC::Equal, compared, format.nan);
                let nan = self.int(0x7fc0_0000);
                bits = self.select(is_nan, nan, bits);
            }
            Specials::Finite => {}
        }
        let sign = self.and_bits(code, format.sign());
        let sign = self.shift_left(sign, 32 - format.bits);
        let bits = self.or(bits, sign);
        Some(self.from_bits(bits))
    }

    /// `x` rounded to a narrow float format and back.
    pub fn round_to(&mut self, element: ElementType, saturate: bool, x: Value) -> Option<Value> {
        let code = self.narrow(element, saturate, x)?;
        self.widen(element, code)
    }

    /// The exponent of the least power of two not below |x|, with bias 127; NaN (255) for infinities and NaN.
    fn narrow_to_exponent(&mut self, saturate: bool, x: Value) -> Value {
        let bits = self.bits(x);
        let magnitude = self.and_bits(bits, i32::MAX);
        let rounded = self.add_int_const(magnitude, 0x7f_ffff);
        let mut code = self.shift_right(rounded, 23);
        let nan = self.int(0xff);
        if saturate {
            let highest = self.int(0xfe);
            let beyond = self.compare_int_const(IntCC::SignedGreaterThan, code, 0xfe);
            code = self.select(beyond, highest, code);
        }
        let special = self.compare_int_const(IntCC::SignedGreaterThanOrEqual, magnitude, 0x7f80_0000);
        self.select(special, nan, code)
    }

    fn widen_exponent(&mut self, code: Value) -> Value {
        let bits = self.shift_left(code, 23);
        // 2^-127 is a denormal, and 255 stands for NaN.
        let least = self.int(0x40_0000);
        let is_least = self.compare_int_const(IntCC::Equal, code, 0);
        let bits = self.select(is_least, least, bits);
        let nan = self.int(0x7fc0_0000);
        let is_nan = self.compare_int_const(IntCC::Equal, code, 0xff);
        let bits = self.select(is_nan, nan, bits);
        self.from_bits(bits)
    }
}

#[cfg(test)]
mod tests {
    use cranelift_codegen::ir::types;

    use super::super::harness::{Signature, run, samples, variants, verify};
    use super::*;

    const NARROW: Signature = Signature { argument: types::F32, result: types::I32 };
    const WIDEN: Signature = Signature { argument: types::I32, result: types::F32 };

    const SMALL: [ElementType; 5] = [
        ElementType::F8E4M3FN,
        ElementType::F8E4M3FNUZ,
        ElementType::F8E5M2,
        ElementType::F8E5M2FNUZ,
        ElementType::F4E2M1,
    ];

    fn narrowed(element: ElementType, saturate: bool, lanes: u32, values: &[f32]) -> Vec<u32> {
        run(NARROW, lanes, false, &|math, x, _| math.narrow(element, saturate, x).unwrap(), values, values)
    }

    fn widened(element: ElementType, lanes: u32, codes: &[u32]) -> Vec<f32> {
        run(WIDEN, lanes, false, &|math, x, _| math.widen(element, x).unwrap(), codes, codes)
    }

    /// Ties between neighbours of 16-bit formats, their own numbers, and the usual samples.
    fn values() -> Vec<f32> {
        let mut values = samples();
        for high in 0..=0xffffu32 {
            for low in [0x7fff, 0x8000, 0x8001] {
                values.push(f32::from_bits(high << 16 | low));
            }
            let number = half::f16::from_bits(high as u16).to_f32();
            for step in [-0x1001i32, -0x1000, -0xfff, 0, 0xfff, 0x1000, 0x1001] {
                values.push(f32::from_bits((number.to_bits() as i32).wrapping_add(step) as u32));
            }
        }
        values
    }

    #[test]
    fn sixteen_bit_formats_round_as_the_half_crate_does() {
        let values = values();
        for lanes in [1, 4] {
            let f16 = narrowed(ElementType::F16, true, lanes, &values);
            let bf16 = narrowed(ElementType::BF16, true, lanes, &values);
            for (i, &x) in values.iter().enumerate() {
                let (f, b) = (half::f16::from_f32(x), half::bf16::from_f32(x));
                if x.is_nan() {
                    assert!(
                        half::f16::from_bits(f16[i] as u16).is_nan() && half::bf16::from_bits(bf16[i] as u16).is_nan()
                    );
                } else {
                    assert_eq!((f16[i], bf16[i]), (f.to_bits().into(), b.to_bits().into()), "{x:e}");
                }
            }
            let codes: Vec<u32> = (0..=0xffff).collect();
            let f16 = widened(ElementType::F16, lanes, &codes);
            let bf16 = widened(ElementType::BF16, lanes, &codes);
            for (i, &code) in codes.iter().enumerate() {
                let (f, b) = (half::f16::from_bits(code as u16).to_f32(), half::bf16::from_bits(code as u16).to_f32());
                assert!(f16[i].to_bits() == f.to_bits() || f.is_nan() && f16[i].is_nan(), "{code:x}");
                assert!(bf16[i].to_bits() == b.to_bits() || b.is_nan() && bf16[i].is_nan(), "{code:x}");
            }
        }
    }

    /// The number of a code, by the definition of the format; `None` for infinity and NaN.
    fn number(format: Format, code: u32) -> Option<f64> {
        let magnitude = code as i32 & (format.sign() - 1);
        let negative = code as i32 & format.sign() != 0;
        if magnitude > format.max || format.specials == Specials::MinusZeroNan && negative && magnitude == 0 {
            return None;
        }
        let (exponent, fraction) = (magnitude >> format.fraction, magnitude & ((1 << format.fraction) - 1));
        let unit = 2f64.powi(-(format.fraction as i32));
        let value = if exponent == 0 {
            f64::from(fraction) * unit * 2f64.powi(1 - format.bias)
        } else {
            (1.0 + f64::from(fraction) * unit) * 2f64.powi(exponent - format.bias)
        };
        Some(if negative { -value } else { value })
    }

    #[test]
    fn small_formats_hold_the_numbers_of_their_definitions() {
        for element in SMALL {
            let format = Format::of(element).unwrap();
            let codes: Vec<u32> = (0..1 << format.bits).collect();
            for lanes in [1, 4] {
                for (&code, &got) in codes.iter().zip(&widened(element, lanes, &codes)) {
                    match number(format, code) {
                        Some(value) => assert_eq!(got.to_bits(), (value as f32).to_bits(), "{element} {code:x}"),
                        None if element == ElementType::F8E5M2 && code & 3 == 0 => assert!(got.is_infinite()),
                        None => assert!(got.is_nan(), "{element} {code:x}"),
                    }
                }
            }
        }
    }

    #[test]
    fn small_formats_round_to_the_nearest_even_number() {
        let values = values();
        for element in SMALL {
            let format = Format::of(element).unwrap();
            // The next number above the greatest is what halves the way to "beyond".
            let table: Vec<f64> = (0..=format.max as u32).map(|code| number(format, code).unwrap()).collect();
            let step = table[table.len() - 1] - table[table.len() - 2];
            let end = table[table.len() - 1] + step;
            for (saturate, lanes) in [(false, 1), (true, 4)] {
                let got = narrowed(element, saturate, lanes, &values);
                for (&x, &got) in values.iter().zip(&got) {
                    let sign = if x.is_sign_negative() { format.sign() as u32 } else { 0 };
                    let magnitude = f64::from(x).abs();
                    let code = if x.is_nan() {
                        format.nan as u32
                    } else {
                        let above = table.partition_point(|&number| number < magnitude);
                        let upper = table.get(above).copied().unwrap_or(end);
                        let lower = if above == 0 { 0.0 } else { table[above - 1] };
                        let middle = (lower + upper) / 2.0;
                        let down = magnitude < middle || magnitude == middle && above % 2 == 1;
                        let nearest = if above > 0 && down { above - 1 } else { above };
                        match nearest > format.max as usize {
                            true if saturate => format.max as u32,
                            true => format.beyond as u32,
                            false => nearest as u32,
                        }
                    };
                    let unsigned = format.specials == Specials::MinusZeroNan && (code == 0 || code == 0x80);
                    let expected = if unsigned { code } else { code ^ sign };
                    assert_eq!(got, expected, "{element} of {x:e}, saturate {saturate}");
                }
            }
        }
    }

    #[test]
    fn powers_of_two_round_up() {
        let cases = [
            (0.0, 0, 0),
            (1e-45, 1, 1),
            (1.0, 127, 127),
            (-1.0, 127, 127),
            (1.001, 128, 128),
            (f32::MAX, 255, 254),
            (f32::INFINITY, 255, 255),
            (f32::NAN, 255, 255),
        ];
        let values: Vec<f32> = cases.iter().map(|case| case.0).collect();
        for lanes in [1, 4] {
            let plain = narrowed(ElementType::F8E8M0, false, lanes, &values);
            let saturated = narrowed(ElementType::F8E8M0, true, lanes, &values);
            for (i, case) in cases.iter().enumerate() {
                assert_eq!((plain[i], saturated[i]), (case.1, case.2), "{:e}", case.0);
            }
            let codes: Vec<u32> = (0..=255).collect();
            let numbers = widened(ElementType::F8E8M0, lanes, &codes);
            for (code, &number) in numbers[..255].iter().enumerate() {
                assert_eq!(f64::from(number), 2f64.powi(code as i32 - 127));
            }
            assert!(numbers[255].is_nan());
        }
    }

    #[test]
    fn wide_lanes_verify() {
        for lanes in [8, 16] {
            for element in SMALL.into_iter().chain([ElementType::F16, ElementType::BF16, ElementType::F8E8M0]) {
                verify(NARROW, lanes, true, &|math, x, _| math.narrow(element, false, x).unwrap());
                verify(WIDEN, lanes, true, &|math, x, _| math.widen(element, x).unwrap());
            }
        }
        for (lanes, fma) in variants() {
            let rounded: Vec<f32> = run(
                Signature { argument: types::F32, result: types::F32 },
                lanes,
                fma,
                &|math, x, _| math.round_to(ElementType::F8E5M2, true, x).unwrap(),
                &[1.1f32, -1e9],
                &[0.0f32, 0.0],
            );
            assert_eq!(rounded, [1.0, -57344.0]);
        }
    }
}
