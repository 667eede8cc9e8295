//! Elements of every ONNX type as numbers that tests can compare.

use half::{bf16, f16};

use crate::tensor::{Data, Tensor};

/// The elements of a tensor, decoded.
#[derive(Clone, Debug, PartialEq)]
pub enum Elements {
    /// Of a floating-point type; complex numbers as real and imaginary parts in turn.
    Floats(Vec<f64>),
    /// Of an integer type; booleans as 0 and 1.
    Integers(Vec<i128>),
    /// Strings.
    Strings(Vec<Vec<u8>>),
}

/// Decodes the elements of a tensor; the error says what does not fit.
pub fn decode(tensor: &Tensor) -> Result<Elements, String> {
    let count = tensor.count();
    let bytes = match &tensor.data {
        Data::Strings(strings) if strings.len() == count => return Ok(Elements::Strings(strings.clone())),
        Data::Strings(strings) => return Err(format!("{tensor} holds {} strings", strings.len())),
        Data::Bytes(bytes) => bytes,
    };
    let format = format_of(tensor.element_type).ok_or_else(|| format!("{tensor}: unknown element type"))?;
    let (bits, numbers) = match format {
        Format::Complex(part_bits) => (part_bits, count * 2),
        Format::Integer { bits, .. } | Format::Float { bits, .. } => (bits, count),
    };
    if bytes.len() != (numbers * bits as usize).div_ceil(8) {
        return Err(format!("{tensor} holds {} bytes", bytes.len()));
    }
    let patterns = (0..numbers).map(|index| bit_pattern(bytes, index, bits));
    Ok(match format {
        Format::Integer { signed: true, .. } => Elements::Integers(
            patterns.map(|pattern| i128::from((pattern << (64 - bits)) as i64 >> (64 - bits))).collect(),
        ),
        Format::Integer { signed: false, .. } => Elements::Integers(patterns.map(i128::from).collect()),
        Format::Float { decode, .. } => Elements::Floats(patterns.map(decode).collect()),
        Format::Complex(32) => Elements::Floats(patterns.map(decode_f32).collect()),
        Format::Complex(_) => Elements::Floats(patterns.map(f64::from_bits).collect()),
    })
}

#[derive(Clone, Copy)]
enum Format {
    Integer { bits: u32, signed: bool },
    Float { bits: u32, decode: fn(u64) -> f64 },
    Complex(u32),
}

fn format_of(element_type: i32) -> Option<Format> {
    let integer = |bits, signed| Some(Format::Integer { bits, signed });
    let float = |bits, decode| Some(Format::Float { bits, decode });
    match element_type {
        1 => float(32, decode_f32),
        2 | 9 => integer(8, false),
        3 => integer(8, true),
        4 => integer(16, false),
        5 => integer(16, true),
        6 => integer(32, true),
        7 => integer(64, true),
        10 => float(16, |pattern| f16::from_bits(pattern as u16).to_f64()),
        11 => float(64, f64::from_bits),
        12 => integer(32, false),
        13 => integer(64, false),
        14 => Some(Format::Complex(32)),
        15 => Some(Format::Complex(64)),
        16 => float(16, |pattern| bf16::from_bits(pattern as u16).to_f64()),
        17 => float(8, |pattern| if pattern & 0x7f == 0x7f { f64::NAN } else { small_float(pattern, 4, 3, 7) }),
        18 => float(8, |pattern| if pattern == 0x80 { f64::NAN } else { small_float(pattern, 4, 3, 8) }),
        19 => float(8, |pattern| f16::from_bits((pattern as u16) << 8).to_f64()),
        20 => float(8, |pattern| if pattern == 0x80 { f64::NAN } else { small_float(pattern, 5, 2, 16) }),
        21 => integer(4, false),
        22 => integer(4, true),
        23 => float(4, |pattern| small_float(pattern, 2, 1, 1)),
        24 => float(8, |pattern| if pattern == 0xff { f64::NAN } else { 2_f64.powi(pattern as i32 - 127) }),
        25 => integer(2, false),
        26 => integer(2, true),
        27 => float(6, |pattern| small_float(pattern, 2, 3, 1)),
        28 => float(6, |pattern| small_float(pattern, 3, 2, 3)),
        _ => None,
    }
}

fn decode_f32(pattern: u64) -> f64 {
    f64::from(f32::from_bits(pattern as u32))
}

/// Decodes a sign, an exponent and a mantissa of the given widths, of a format whose exponents are all finite.
fn small_float(pattern: u64, exponent_bits: u32, mantissa_bits: u32, bias: i32) -> f64 {
    let mantissa = (pattern & ((1 << mantissa_bits) - 1)) as f64 / f64::from(1 << mantissa_bits);
    let exponent = (pattern >> mantissa_bits & ((1 << exponent_bits) - 1)) as i32;
    let magnitude = match exponent {
        0 => mantissa * 2_f64.powi(1 - bias),
        _ => (1.0 + mantissa) * 2_f64.powi(exponent - bias),
    };
    if pattern >> (exponent_bits + mantissa_bits) & 1 == 1 { -magnitude } else { magnitude }
}

/// The bits of element `index`, the first element being in the lowest bits of the first byte.
fn bit_pattern(bytes: &[u8], index: usize, bits: u32) -> u64 {
    let (first, shift) = (index * bits as usize / 8, index * bits as usize % 8);
    let width = (shift + bits as usize).div_ceil(8);
    let pattern = bytes[first..first + width].iter().rev().fold(0_u64, |pattern, &byte| pattern << 8 | u64::from(byte));
    if bits == 64 { pattern } else { pattern >> shift & ((1 << bits) - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(element_type: i32, bytes: &[u8], count: i64) -> Vec<f64> {
        match decode(&Tensor::new(element_type, [count], bytes.to_vec())) {
            Ok(Elements::Floats(floats)) => floats,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn eight_bit_floats_have_the_values_of_their_formats() {
        assert_eq!(floats(17, &[0x7e, 0x01, 0xb8], 3), [448.0, 2_f64.powi(-9), -1.0]);
        assert_eq!(floats(18, &[0x7f, 0x01, 0xc0], 3), [240.0, 2_f64.powi(-10), -1.0]);
        assert_eq!(floats(19, &[0x7b, 0x7c, 0xbc], 3), [57344.0, f64::INFINITY, -1.0]);
        assert_eq!(floats(20, &[0x7f, 0x01, 0xc0], 3), [57344.0, 2_f64.powi(-17), -1.0]);
        assert_eq!(floats(24, &[0x00, 0x7f, 0xfe], 3), [2_f64.powi(-127), 1.0, 2_f64.powi(127)]);
        for (element_type, pattern) in [(17, 0xff), (18, 0x80), (19, 0x7d), (20, 0x80), (24, 0xff)] {
            assert!(floats(element_type, &[pattern], 1)[0].is_nan(), "type {element_type}");
        }
    }

    #[test]
    fn elements_below_a_byte_start_at_the_lowest_bit() {
        let integers =
            |element_type, bytes: &[u8], count| match decode(&Tensor::new(element_type, [count], bytes.to_vec())) {
                Ok(Elements::Integers(integers)) => integers,
                other => panic!("{other:?}"),
            };
        assert_eq!(integers(21, &[0x21, 0x0f], 3), [1, 2, 15]);
        assert_eq!(integers(22, &[0x71, 0x08], 3), [1, 7, -8]);
        assert_eq!(integers(26, &[0b11_10_01_00, 0b01], 5), [0, 1, -2, -1, 1]);
        assert_eq!(integers(13, &[0xff; 8], 1), [i128::from(u64::MAX)]);
        assert_eq!(floats(23, &[0x7f, 0x02], 3), [-6.0, 6.0, 1.0]);
        // Four six-bit elements fill three bytes: 000001, 000010, 011111, 100001.
        assert_eq!(floats(27, &[0b1000_0001, 0b1111_0000, 0b1000_0101], 4), [0.125, 0.25, 7.5, -0.125]);
    }

    #[test]
    fn sizes_that_do_not_fit_are_errors() {
        assert!(decode(&Tensor::new(1, [2], vec![0; 4])).is_err());
        assert!(decode(&Tensor::new(99, [1], vec![0])).is_err());
        assert!(decode(&Tensor::of_strings([2], vec![Vec::new()])).is_err());
        assert_eq!(decode(&Tensor::new(1, [0, 3], vec![])), Ok(Elements::Floats(vec![])));
    }
}
