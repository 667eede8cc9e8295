//! The element types of ONNX tensors.

use std::fmt;

macro_rules! element_types {
    ($($variant:ident = $number:literal, $text:literal, $bits:literal, $kind:ident;)*) => {
        /// The type of one element of a tensor, numbered as `TensorProto.DataType` of the ONNX specification.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(i32)]
        pub enum ElementType {
            $(#[doc = concat!("`", $text, "`")] $variant = $number,)*
        }

        impl ElementType {
            /// Every element type, in the order of their ONNX numbers.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The type with the given ONNX number.
            pub fn from_onnx(number: i32) -> Option<Self> {
                match number { $($number => Some(Self::$variant),)* _ => None }
            }

            /// The short name used in text forms, such as `f32`.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// Bits that one element takes in memory; types below 8 bits are packed, the first element in the low bits.
            pub fn bits(self) -> usize {
                match self { $(Self::$variant => $bits,)* }
            }

            /// What the elements are.
            pub fn kind(self) -> ElementKind {
                match self { $(Self::$variant => ElementKind::$kind,)* }
            }
        }
    };
}

/// The families of element types.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ElementKind {
    /// A floating-point number of any width.
    Float,
    /// A two's complement integer.
    Signed,
    /// An unsigned integer.
    Unsigned,
    /// A truth value, one byte, 0 or 1.
    Bool,
    /// A pair of floating-point numbers, real part first.
    Complex,
    /// A byte string.
    String,
}

element_types! {
    F32 = 1, "f32", 32, Float;
    U8 = 2, "u8", 8, Unsigned;
    I8 = 3, "i8", 8, Signed;
    U16 = 4, "u16", 16, Unsigned;
    I16 = 5, "i16", 16, Signed;
    I32 = 6, "i32", 32, Signed;
    I64 = 7, "i64", 64, Signed;
    String = 8, "string", 128, String;
    Bool = 9, "bool", 8, Bool;
    F16 = 10, "f16", 16, Float;
    F64 = 11, "f64", 64, Float;
    U32 = 12, "u32", 32, Unsigned;
    U64 = 13, "u64", 64, Unsigned;
    C64 = 14, "c64", 64, Complex;
    C128 = 15, "c128", 128, Complex;
    BF16 = 16, "bf16", 16, Float;
    F8E4M3FN = 17, "f8e4m3fn", 8, Float;
    F8E4M3FNUZ = 18, "f8e4m3fnuz", 8, Float;
    F8E5M2 = 19, "f8e5m2", 8, Float;
    F8E5M2FNUZ = 20, "f8e5m2fnuz", 8, Float;
    U4 = 21, "u4", 4, Unsigned;
    I4 = 22, "i4", 4, Signed;
    F4E2M1 = 23, "f4e2m1", 4, Float;
    F8E8M0 = 24, "f8e8m0", 8, Float;
    U2 = 25, "u2", 2, Unsigned;
    I2 = 26, "i2", 2, Signed;
}

impl ElementType {
    /// The ONNX number of this type.
    pub fn onnx_number(self) -> i32 {
        self as i32
    }

    /// The type whose short name is `text`.
    pub fn from_name(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|element| element.name() == text)
    }

    /// Whether this is a floating-point type.
    pub fn is_float(self) -> bool {
        self.kind() == ElementKind::Float
    }

    /// Whether this is a signed or unsigned integer type.
    pub fn is_integer(self) -> bool {
        matches!(self.kind(), ElementKind::Signed | ElementKind::Unsigned)
    }

    /// Whether this is a signed integer type.
    pub fn is_signed(self) -> bool {
        self.kind() == ElementKind::Signed
    }

    /// The type in which values of this storage type are computed: narrow floats in `f32`, sub-byte integers in bytes.
    pub fn compute_type(self) -> Self {
        match self {
            Self::U4 | Self::U2 => Self::U8,
            Self::I4 | Self::I2 => Self::I8,
            other if other.is_float() && other.bits() < 32 => Self::F32,
            other => other,
        }
    }

    /// Bytes that `count` elements take, packed; `None` when the number does not fit.
    pub fn bytes_of(self, count: u64) -> Option<u64> {
        Some(count.checked_mul(self.bits() as u64)?.div_ceil(8))
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_one_to_one() {
        for &element in ElementType::ALL {
            assert_eq!(ElementType::from_onnx(element.onnx_number()), Some(element));
            assert_eq!(ElementType::from_name(element.name()), Some(element));
        }
        assert_eq!(ElementType::from_onnx(0), None);
    }

    #[test]
    fn packed_sizes_round_up() {
        assert_eq!(ElementType::U4.bytes_of(3), Some(2));
        assert_eq!(ElementType::F64.bytes_of(u64::MAX), None);
    }
}
