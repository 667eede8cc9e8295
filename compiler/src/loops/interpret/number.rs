//! Scalar values.

use crate::graph::{ElementKind, ElementType};
use crate::loops::Scalar;

/// A scalar of a compute type.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    /// An `f32`.
    F32(f32),
    /// An `f64`.
    F64(f64),
    /// The value of an integer or bool of the given type, always within its range.
    Integer(ElementType, i128),
}

impl Number {
    /// `value` wrapped to the range of an integer type; for bool whether it is not 0.
    pub fn integer(element: ElementType, value: i128) -> Self {
        let bits = element.bits() as u32;
        let unused = 128 - bits;
        Self::Integer(
            element,
            match element.kind() {
                ElementKind::Bool => (value != 0).into(),
                ElementKind::Signed => (value << unused) >> unused,
                _ => (((value as u128) << unused) >> unused) as i128,
            },
        )
    }

    /// A bool.
    pub fn bool(value: bool) -> Self {
        Self::Integer(ElementType::Bool, value.into())
    }

    /// An index.
    pub fn index(value: i64) -> Self {
        Self::Integer(ElementType::I64, value.into())
    }

    /// The constant's value in its compute type.
    pub fn from_scalar(scalar: Scalar) -> Self {
        match scalar.element.compute_type() {
            ElementType::F32 => Self::F32(f32::from_bits(scalar.bits as u32)),
            ElementType::F64 => Self::F64(f64::from_bits(scalar.bits)),
            element if element.is_signed() => Self::integer(element, (scalar.bits as i64).into()),
            element => Self::integer(element, scalar.bits.into()),
        }
    }

    /// The value as a constant.
    pub fn to_scalar(self) -> Scalar {
        let bits = match self {
            Self::F32(value) => value.to_bits().into(),
            Self::F64(value) => value.to_bits(),
            Self::Integer(_, value) => value as u64,
        };
        Scalar { element: self.element(), bits }
    }

    /// The type.
    pub fn element(self) -> ElementType {
        match self {
            Self::F32(_) => ElementType::F32,
            Self::F64(_) => ElementType::F64,
            Self::Integer(element, _) => element,
        }
    }

    /// Whether a condition holds: the value is not zero.
    pub fn is_true(self) -> bool {
        match self {
            Self::F32(value) => value != 0.0,
            Self::F64(value) => value != 0.0,
            Self::Integer(_, value) => value != 0,
        }
    }

    /// Whether the value is a float's NaN.
    pub fn is_nan(self) -> bool {
        self.to_f64().is_nan()
    }

    /// The value in `f64`, rounded where it must be.
    pub fn to_f64(self) -> f64 {
        match self {
            Self::F32(value) => value.into(),
            Self::F64(value) => value,
            Self::Integer(_, value) => value as f64,
        }
    }

    /// The integer's low 64 bits; floats truncate and saturate.
    pub fn to_i64(self) -> i64 {
        match self {
            Self::F32(value) => value as i64,
            Self::F64(value) => value as i64,
            Self::Integer(_, value) => value as i64,
        }
    }
}
