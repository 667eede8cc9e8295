//! Values that go into models and come out of them, as plain data.

use std::fmt;

/// Number of the ONNX element type string.
pub const STRING: i32 = 8;

/// A dense tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// ONNX element type number.
    pub element_type: i32,
    /// Size of each dimension; empty for a scalar.
    pub dims: Vec<i64>,
    /// The elements in row-major order.
    pub data: Data,
}

/// The elements of a [`Tensor`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// Little-endian; elements below a byte fill each byte from its lowest bit, without gaps.
    Bytes(Vec<u8>),
    /// Strings, UTF-8 by convention: the elements of type [`STRING`].
    Strings(Vec<Vec<u8>>),
}

impl Tensor {
    /// A tensor of anything but strings.
    pub fn new(element_type: i32, dims: impl Into<Vec<i64>>, bytes: Vec<u8>) -> Self {
        Self { element_type, dims: dims.into(), data: Data::Bytes(bytes) }
    }

    /// A tensor of f32.
    pub fn of_f32(dims: impl Into<Vec<i64>>, elements: &[f32]) -> Self {
        Self::new(1, dims, elements.iter().flat_map(|element| element.to_le_bytes()).collect())
    }

    /// A tensor of i64.
    pub fn of_i64(dims: impl Into<Vec<i64>>, elements: &[i64]) -> Self {
        Self::new(7, dims, elements.iter().flat_map(|element| element.to_le_bytes()).collect())
    }

    /// A tensor of strings.
    pub fn of_strings(dims: impl Into<Vec<i64>>, strings: Vec<Vec<u8>>) -> Self {
        Self { element_type: STRING, dims: dims.into(), data: Data::Strings(strings) }
    }

    /// How many elements the dimensions make; 0 when a dimension is negative or the number does not fit.
    pub fn count(&self) -> usize {
        self.dims.iter().try_fold(1_usize, |count, &dim| count.checked_mul(usize::try_from(dim).ok()?)).unwrap_or(0)
    }
}

/// A value of any kind that ONNX has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A dense tensor.
    Tensor(Tensor),
    /// A sequence, of values of one type.
    Sequence(Vec<Value>),
    /// An optional value.
    Optional(Option<Box<Value>>),
    /// A map: key number I belongs to value number I.
    Map {
        /// One-dimensional.
        keys: Tensor,
        /// One-dimensional, as long as the keys.
        values: Tensor,
    },
}

impl Value {
    /// The tensor, if the value is one.
    pub fn as_tensor(&self) -> Option<&Tensor> {
        match self {
            Self::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    /// What kind of value it is, in a word.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Tensor(_) => "tensor",
            Self::Sequence(_) => "sequence",
            Self::Optional(_) => "optional",
            Self::Map { .. } => "map",
        }
    }
}

impl From<Tensor> for Value {
    fn from(tensor: Tensor) -> Self {
        Self::Tensor(tensor)
    }
}

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "type {} of {:?}", self.element_type, self.dims)
    }
}
