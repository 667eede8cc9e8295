//! Constant tensors.

use std::sync::Arc;

use bytes::Bytes;

use super::ElementType;

/// A constant: element type, static shape and contents. Cloning shares the contents.
#[derive(Clone, PartialEq, Debug)]
pub struct Tensor {
    /// Type of every element.
    pub element: ElementType,
    /// Dimensions, outermost first; none for a scalar.
    pub dims: Vec<i64>,
    /// The elements in row-major order.
    pub data: TensorData,
}

/// The contents of a constant.
#[derive(Clone, PartialEq, Debug)]
pub enum TensorData {
    /// Little-endian elements, packed.
    Bytes(Bytes),
    /// Byte strings.
    Strings(Arc<[Vec<u8>]>),
    /// One little-endian element that every position holds; kept symbolic until something needs the bytes.
    Splat(Bytes),
}

/// Rust types that are element types.
pub trait Element: Copy {
    /// The element type.
    const TYPE: ElementType;
    /// Appends the little-endian bytes.
    fn append_to(self, bytes: &mut Vec<u8>);
    /// Reads from exactly one element's bytes.
    fn from_bytes(bytes: &[u8]) -> Self;
}

macro_rules! elements {
    ($($type:ty = $element:ident;)*) => {$(
        impl Element for $type {
            const TYPE: ElementType = ElementType::$element;
            fn append_to(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
            fn from_bytes(bytes: &[u8]) -> Self {
                let mut array = [0; size_of::<$type>()];
                array.copy_from_slice(bytes);
                Self::from_le_bytes(array)
            }
        }
    )*};
}

elements! {
    f32 = F32; f64 = F64; i8 = I8; i16 = I16; i32 = I32; i64 = I64; u8 = U8; u16 = U16; u32 = U32; u64 = U64;
}

impl Element for bool {
    const TYPE: ElementType = ElementType::Bool;
    fn append_to(self, bytes: &mut Vec<u8>) {
        bytes.push(self.into());
    }
    fn from_bytes(bytes: &[u8]) -> Self {
        bytes[0] != 0
    }
}

impl Tensor {
    /// A tensor of `values`, whose number must be the product of `dims`.
    pub fn from_values<T: Element>(dims: &[i64], values: &[T]) -> Self {
        assert_eq!(dims.iter().product::<i64>(), values.len() as i64, "values do not fill the shape {dims:?}");
        let mut bytes = Vec::with_capacity(size_of_val(values));
        values.iter().for_each(|value| value.append_to(&mut bytes));
        Self { element: T::TYPE, dims: dims.to_vec(), data: TensorData::Bytes(bytes.into()) }
    }

    /// A tensor of rank 0.
    pub fn scalar<T: Element>(value: T) -> Self {
        Self::from_values(&[], &[value])
    }

    /// A vector of 64-bit integers, the usual form of shapes and axes.
    pub fn from_i64s(values: &[i64]) -> Self {
        Self::from_values(&[values.len() as i64], values)
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.dims.iter().map(|&dim| dim as usize).product()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.dims.contains(&0)
    }

    /// Bytes of the contents when written out.
    pub fn byte_len(&self) -> usize {
        (self.len() * self.element.bits()).div_ceil(8)
    }

    /// The contents written out, splats expanded; `None` for strings.
    pub fn bytes(&self) -> Option<Bytes> {
        match &self.data {
            TensorData::Bytes(bytes) => Some(bytes.clone()),
            TensorData::Splat(value) => {
                let mut all = Vec::with_capacity(self.byte_len() + value.len());
                if value.iter().all(|&byte| byte == value[0]) {
                    all.resize(self.byte_len(), value[0]);
                }
                while all.len() < self.byte_len() {
                    all.extend_from_slice(value);
                }
                Some(all.into())
            }
            TensorData::Strings(_) => None,
        }
    }

    /// The elements as `T`; `None` when the element type is another.
    pub fn values<T: Element>(&self) -> Option<Vec<T>> {
        if T::TYPE != self.element {
            return None;
        }
        let bytes = self.bytes()?;
        Some(bytes.chunks_exact(size_of::<T>()).map(T::from_bytes).collect())
    }

    /// The elements of an integer or bool tensor, widened; `u64` values wrap. `None` for other types and sub-byte ones.
    pub fn integers(&self) -> Option<Vec<i64>> {
        use ElementType as E;
        Some(match self.element {
            E::I64 => self.values::<i64>()?,
            E::I32 => self.values::<i32>()?.into_iter().map(i64::from).collect(),
            E::I16 => self.values::<i16>()?.into_iter().map(i64::from).collect(),
            E::I8 => self.values::<i8>()?.into_iter().map(i64::from).collect(),
            E::U8 => self.values::<u8>()?.into_iter().map(i64::from).collect(),
            E::U16 => self.values::<u16>()?.into_iter().map(i64::from).collect(),
            E::U32 => self.values::<u32>()?.into_iter().map(i64::from).collect(),
            E::U64 => self.values::<u64>()?.into_iter().map(|value| value as i64).collect(),
            E::Bool => self.values::<bool>()?.into_iter().map(i64::from).collect(),
            _ => return None,
        })
    }

    /// The elements of a float tensor in `f64`; `None` for other types.
    pub fn floats(&self) -> Option<Vec<f64>> {
        use ElementType as E;
        Some(match self.element {
            E::F64 => self.values::<f64>()?,
            E::F32 => self.values::<f32>()?.into_iter().map(f64::from).collect(),
            E::F16 => self.halves()?.map(|bits| half::f16::from_bits(bits).to_f64()).collect(),
            E::BF16 => self.halves()?.map(|bits| half::bf16::from_bits(bits).to_f64()).collect(),
            _ => return None,
        })
    }

    fn halves(&self) -> Option<impl Iterator<Item = u16>> {
        let bytes = self.bytes()?;
        Some((0..bytes.len() / 2).map(move |i| u16::from_le_bytes([bytes[2 * i], bytes[2 * i + 1]])))
    }

    /// The same contents under another shape of as many elements.
    pub fn reshaped(&self, dims: &[i64]) -> Self {
        let result = Self { dims: dims.to_vec(), ..self.clone() };
        assert_eq!(result.len(), self.len(), "a reshape keeps the number of elements");
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splats_expand_to_the_same_values() {
        let splat = Tensor {
            element: ElementType::F32,
            dims: vec![3],
            data: TensorData::Splat(1.5f32.to_le_bytes().to_vec().into()),
        };
        assert_eq!(splat.values::<f32>(), Some(vec![1.5; 3]));
        assert_eq!(splat.floats(), Some(vec![1.5; 3]));
        assert_eq!(splat.integers(), None);
    }

    #[test]
    fn integers_widen() {
        assert_eq!(Tensor::from_values(&[2], &[-1i8, 3]).integers(), Some(vec![-1, 3]));
    }
}
