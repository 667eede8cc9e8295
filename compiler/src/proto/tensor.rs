//! Stored tensors to plain bytes and back.

use bytes::Bytes;

use super::element::{self, BOOL, COMPLEX64, COMPLEX128, DOUBLE, FLOAT, INT32, INT64, STRING, UINT32, UINT64};
use super::error::LoadError;
use super::limits::Limits;
use super::onnx::{DataLocation, TensorProto};

/// A dense tensor in memory: the same whatever way the model stored it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostTensor {
    /// ONNX element type number; see [`element`].
    pub element_type: i32,
    /// Size of each dimension, none negative; empty for a scalar.
    pub dims: Vec<i64>,
    /// The elements.
    pub data: HostData,
}

/// The elements of a [`HostTensor`], in row-major order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostData {
    /// Little-endian, without gaps. Elements below a byte fill each byte from its lowest bit, and the bits after the
    /// last element are zero; booleans are 0 or 1. Cloning shares the bytes.
    Bytes(Bytes),
    /// Strings, UTF-8 by convention.
    Strings(Vec<Vec<u8>>),
}

impl HostTensor {
    /// Makes a tensor of bytes or strings, after checking that they fit the type and the dimensions.
    pub fn new(element_type: i32, dims: Vec<i64>, data: HostData) -> Result<Self, LoadError> {
        let count = element_count("", &dims)?;
        let (found, unit) = match &data {
            HostData::Bytes(bytes) => (bytes.len() as u64, "bytes"),
            HostData::Strings(strings) => (strings.len() as u64, "strings"),
        };
        let needed = if element_type == STRING { count } else { byte_count("", element_type, count)? };
        if (element_type == STRING) != (unit == "strings") || needed != found {
            return Err(wrong_size("", element_type, &dims, found, unit, needed));
        }
        Ok(Self { element_type, dims, data })
    }

    /// The bytes of a tensor that is not one of strings.
    pub fn bytes(&self) -> Option<&Bytes> {
        match &self.data {
            HostData::Bytes(bytes) => Some(bytes),
            HostData::Strings(_) => None,
        }
    }

    /// Stores the tensor under a name, as raw bytes unless it holds strings.
    pub fn encode(&self, name: &str) -> TensorProto {
        let mut tensor = TensorProto {
            name: Some(name.to_owned()),
            data_type: Some(self.element_type),
            dims: self.dims.clone(),
            ..TensorProto::default()
        };
        match &self.data {
            HostData::Bytes(bytes) => tensor.raw_data = Some(bytes.clone()),
            HostData::Strings(strings) => {
                tensor.string_data = strings.iter().map(|string| Bytes::copy_from_slice(string)).collect();
            }
        }
        tensor
    }
}

/// Turns a tensor whose elements are inside the model into plain bytes.
pub fn decode_tensor(tensor: &TensorProto, limits: &Limits) -> Result<HostTensor, LoadError> {
    if is_external(tensor) {
        return Err(LoadError::tensor(
            tensor.name(),
            "its elements are in another file; load the model from its path, or name the directory of that file",
        ));
    }
    let count = check_header(tensor, limits)?;
    let element_type = tensor.data_type();
    refuse_stray_fields(tensor)?;
    let raw = tensor.raw_data.as_ref().filter(|raw| !raw.is_empty());
    let data = if element_type == STRING {
        let found = tensor.string_data.len() as u64;
        if found != count {
            return Err(wrong_size(tensor.name(), element_type, &tensor.dims, found, "strings", count));
        }
        HostData::Strings(tensor.string_data.iter().map(|string| string.to_vec()).collect())
    } else {
        let bytes = match raw {
            Some(raw) => raw.clone(),
            None => typed_bytes(tensor, count)?.into(),
        };
        bytes_of(tensor, count, bytes)?
    };
    Ok(HostTensor { element_type, dims: tensor.dims.clone(), data })
}

/// Checks type, dimensions and limits of a tensor, wherever its elements are; returns how many it has.
pub(super) fn check_header(tensor: &TensorProto, limits: &Limits) -> Result<u64, LoadError> {
    if tensor.segment.is_some() {
        return Err(LoadError::tensor(tensor.name(), "it is stored in segments; save it whole"));
    }
    let bytes = declared_bytes(tensor.name(), tensor.data_type(), &tensor.dims, limits)?;
    if bytes > limits.tensor_bytes {
        return Err(LoadError::Limit {
            place: format!("tensor {}", super::error::Quoted(tensor.name())),
            what: "its size in bytes",
            found: bytes,
            limit: limits.tensor_bytes,
            field: "tensor_bytes",
        });
    }
    element_count(tensor.name(), &tensor.dims)
}

/// Bytes that a tensor of this type and these dimensions takes (strings: the memory of empty ones).
pub(super) fn declared_bytes(name: &str, element_type: i32, dims: &[i64], limits: &Limits) -> Result<u64, LoadError> {
    if dims.len() as u64 > limits.rank {
        return Err(LoadError::Limit {
            place: format!("tensor {}", super::error::Quoted(name)),
            what: "its number of dimensions",
            found: dims.len() as u64,
            limit: limits.rank,
            field: "rank",
        });
    }
    let count = element_count(name, dims)?;
    if element_type == STRING {
        return count.checked_mul(size_of::<Vec<u8>>() as u64).ok_or_else(|| too_large(name, dims));
    }
    byte_count(name, element_type, count)
}

/// Whether a tensor's elements are in another file.
pub(super) fn is_external(tensor: &TensorProto) -> bool {
    tensor.data_location == Some(DataLocation::External as i32)
}

/// Accepts the stored bytes of a tensor if they are as many as it needs, and makes padding and booleans canonical.
pub(super) fn bytes_of(tensor: &TensorProto, count: u64, bytes: Bytes) -> Result<HostData, LoadError> {
    let element_type = tensor.data_type();
    let needed = byte_count(tensor.name(), element_type, count)?;
    if bytes.len() as u64 != needed {
        return Err(wrong_size(tensor.name(), element_type, &tensor.dims, bytes.len() as u64, "bytes", needed));
    }
    if element_type == BOOL && bytes.iter().any(|&byte| byte > 1) {
        return Ok(HostData::Bytes(bytes.iter().map(|&byte| u8::from(byte != 0)).collect()));
    }
    let bits = element::bits(element_type).unwrap_or(8);
    // Below a byte only the count's remainder matters, and it cannot overflow.
    let used = (count % 8 * u64::from(bits) % 8) as u32;
    let mask = if bits < 8 && used != 0 { u8::MAX >> (8 - used) } else { u8::MAX };
    if let Some(&last) = bytes.last()
        && last & !mask != 0
    {
        let mut canonical = bytes.to_vec();
        let end = canonical.len() - 1;
        canonical[end] = last & mask;
        return Ok(HostData::Bytes(canonical.into()));
    }
    Ok(HostData::Bytes(bytes))
}

/// The product of the dimensions.
pub(super) fn element_count(name: &str, dims: &[i64]) -> Result<u64, LoadError> {
    if let Some(&negative) = dims.iter().find(|&&dim| dim < 0) {
        return Err(LoadError::tensor(name, format!("it has the negative dimension {negative}")));
    }
    if dims.contains(&0) {
        return Ok(0);
    }
    let count = dims.iter().try_fold(1u64, |count, &dim| count.checked_mul(dim.unsigned_abs()));
    count.filter(|&count| i64::try_from(count).is_ok()).ok_or_else(|| too_large(name, dims))
}

fn byte_count(name: &str, element_type: i32, count: u64) -> Result<u64, LoadError> {
    let bits = element::bits(element_type).ok_or_else(|| {
        LoadError::tensor(
            name,
            format!("unknown element type {element_type}; ONNX element types known are 1 to {}", element::LAST),
        )
    })?;
    element::packed_bytes(bits, count)
        .filter(|&bytes| isize::try_from(bytes).is_ok())
        .ok_or_else(|| LoadError::tensor(name, format!("its {count} elements do not fit in memory")))
}

fn too_large(name: &str, dims: &[i64]) -> LoadError {
    LoadError::tensor(name, format!("its dimensions {dims:?} give more elements than memory can hold"))
}

fn wrong_size(name: &str, element_type: i32, dims: &[i64], found: u64, unit: &str, needed: u64) -> LoadError {
    let spelled = element::name(element_type).unwrap_or("unknown");
    let problem = format!("it holds {found} {unit}, but {spelled}{dims:?} needs {needed}; the file may be damaged");
    LoadError::tensor(name, problem)
}

/// Refuses elements in a field that does not belong to the tensor's type, and elements in two fields.
fn refuse_stray_fields(tensor: &TensorProto) -> Result<(), LoadError> {
    let belongs = match tensor.data_type() {
        FLOAT | COMPLEX64 => "float_data",
        STRING => "string_data",
        INT64 => "int64_data",
        DOUBLE | COMPLEX128 => "double_data",
        UINT32 | UINT64 => "uint64_data",
        _ => "int32_data",
    };
    let fields = [
        ("float_data", tensor.float_data.len()),
        ("int32_data", tensor.int32_data.len()),
        ("string_data", tensor.string_data.len()),
        ("int64_data", tensor.int64_data.len()),
        ("double_data", tensor.double_data.len()),
        ("uint64_data", tensor.uint64_data.len()),
    ];
    let has_raw = tensor.raw_data.as_ref().is_some_and(|raw| !raw.is_empty());
    let spelled = element::name(tensor.data_type()).unwrap_or("unknown");
    for (field, length) in fields {
        if length != 0 && (has_raw || field != belongs) {
            let place = if has_raw { "raw_data" } else { belongs };
            let problem = format!("its elements are in {field}; those of a {spelled} tensor must be in {place} alone");
            return Err(LoadError::tensor(tensor.name(), problem));
        }
    }
    if has_raw && tensor.data_type() == STRING {
        return Err(LoadError::tensor(tensor.name(), "its strings are in raw_data; they must be in string_data"));
    }
    Ok(())
}

/// The little-endian bytes of the elements in the typed field that belongs to the tensor's type.
fn typed_bytes(tensor: &TensorProto, count: u64) -> Result<Vec<u8>, LoadError> {
    let element_type = tensor.data_type();
    let bits = element::bits(element_type).unwrap_or(8);
    Ok(match element_type {
        FLOAT | COMPLEX64 => tensor.float_data.iter().flat_map(|value| value.to_le_bytes()).collect(),
        DOUBLE | COMPLEX128 => tensor.double_data.iter().flat_map(|value| value.to_le_bytes()).collect(),
        INT64 => tensor.int64_data.iter().flat_map(|value| value.to_le_bytes()).collect(),
        UINT64 => tensor.uint64_data.iter().flat_map(|value| value.to_le_bytes()).collect(),
        INT32 => tensor.int32_data.iter().flat_map(|value| value.to_le_bytes()).collect(),
        BOOL => tensor.int32_data.iter().map(|&value| u8::from(value != 0)).collect(),
        UINT32 => {
            let mut bytes = Vec::with_capacity(tensor.uint64_data.len() * 4);
            for &value in &tensor.uint64_data {
                let value = u32::try_from(value).map_err(|_| out_of_range(tensor, value.into()))?;
                bytes.extend_from_slice(&value.to_le_bytes());
            }
            bytes
        }
        _ if bits == 6 => {
            let found = tensor.int32_data.len() as u64;
            if found != count {
                return Err(wrong_size(tensor.name(), element_type, &tensor.dims, found, "elements", count));
            }
            pack_six_bits(tensor)?
        }
        // One entry for each element, or for each byte of packed elements.
        _ => {
            let width = bits.max(8);
            let mut bytes = Vec::with_capacity(tensor.int32_data.len() * (width as usize / 8));
            for &value in &tensor.int32_data {
                if !(-(1 << (width - 1))..1 << width).contains(&value) {
                    return Err(out_of_range(tensor, value.into()));
                }
                bytes.extend_from_slice(&value.to_le_bytes()[..width as usize / 8]);
            }
            bytes
        }
    })
}

/// Packs 6-bit elements, four to three bytes, from one `int32_data` entry each.
fn pack_six_bits(tensor: &TensorProto) -> Result<Vec<u8>, LoadError> {
    let mut bytes = Vec::with_capacity(tensor.int32_data.len() * 3 / 4 + 3);
    for group in tensor.int32_data.chunks(4) {
        let mut packed = 0u32;
        for (position, &value) in group.iter().enumerate() {
            let code = u32::try_from(value).ok().filter(|&code| code < 64);
            packed |= code.ok_or_else(|| out_of_range(tensor, value.into()))? << (6 * position);
        }
        bytes.extend_from_slice(&packed.to_le_bytes()[..(group.len() * 6).div_ceil(8)]);
    }
    Ok(bytes)
}

fn out_of_range(tensor: &TensorProto, value: i128) -> LoadError {
    let spelled = element::name(tensor.data_type()).unwrap_or("unknown");
    LoadError::tensor(tensor.name(), format!("its element {value} does not fit {spelled}; export the model again"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(data_type: i32, dims: &[i64]) -> TensorProto {
        TensorProto { data_type: Some(data_type), dims: dims.to_vec(), name: Some("w".into()), ..Default::default() }
    }

    fn decoded(tensor: &TensorProto) -> Vec<u8> {
        decode_tensor(tensor, &Limits::default()).unwrap().bytes().unwrap().to_vec()
    }

    fn refused(tensor: &TensorProto) -> String {
        decode_tensor(tensor, &Limits::default()).unwrap_err().to_string()
    }

    #[test]
    fn every_type_round_trips_through_raw_data() {
        for element_type in (1..=element::LAST).filter(|&number| number != STRING) {
            for count in [0i64, 1, 2, 3, 4, 5, 8, 9] {
                let bits = element::bits(element_type).unwrap();
                let size = element::packed_bytes(bits, count as u64).unwrap() as usize;
                let tensor = HostTensor::new(element_type, vec![count], HostData::Bytes(vec![1; size].into())).unwrap();
                let stored = tensor.encode("w");
                assert_eq!(decode_tensor(&stored, &Limits::default()).unwrap(), tensor);
                let long = TensorProto { raw_data: Some(vec![1; size + 1].into()), ..stored };
                assert!(refused(&long).contains("needs"), "{element_type}");
            }
        }
        let strings = HostTensor::new(STRING, vec![2], HostData::Strings(vec![b"a".to_vec(), vec![]])).unwrap();
        assert_eq!(decode_tensor(&strings.encode("w"), &Limits::default()).unwrap(), strings);
    }

    #[test]
    fn typed_fields_become_little_endian_bytes() {
        let floats = TensorProto { float_data: vec![1.0, -2.0], ..tensor(FLOAT, &[2]) };
        assert_eq!(decoded(&floats), [0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0]);
        let complex = TensorProto { float_data: vec![1.0, -2.0], ..tensor(COMPLEX64, &[]) };
        assert_eq!(decoded(&complex).len(), 8);
        let doubles = TensorProto { double_data: vec![1.0, 2.0], ..tensor(COMPLEX128, &[1]) };
        assert_eq!(decoded(&doubles).len(), 16);
        let halves = TensorProto { int32_data: vec![0x3c00, 0xffff], ..tensor(10, &[2]) };
        assert_eq!(decoded(&halves), [0x00, 0x3c, 0xff, 0xff]);
        let bytes = TensorProto { int32_data: vec![-1, 127], ..tensor(3, &[2]) };
        assert_eq!(decoded(&bytes), [0xff, 0x7f]);
        let bools = TensorProto { int32_data: vec![2, 0], ..tensor(BOOL, &[2]) };
        assert_eq!(decoded(&bools), [1, 0]);
        let longs = TensorProto { int64_data: vec![-1], ..tensor(INT64, &[]) };
        assert_eq!(decoded(&longs), [0xff; 8]);
        let unsigned = TensorProto { uint64_data: vec![u32::MAX.into()], ..tensor(UINT32, &[1, 1]) };
        assert_eq!(decoded(&unsigned), [0xff; 4]);
        let huge = TensorProto { uint64_data: vec![u64::MAX], ..tensor(UINT64, &[1, 1]) };
        assert_eq!(decoded(&huge), [0xff; 8]);
    }

    #[test]
    fn narrow_types_stay_packed() {
        let nibbles = TensorProto { int32_data: vec![0x21, 0xf3], ..tensor(21, &[3]) };
        assert_eq!(decoded(&nibbles), [0x21, 0x03]);
        let signed = TensorProto { int32_data: vec![-1], ..tensor(22, &[2]) };
        assert_eq!(decoded(&signed), [0xff]);
        let pairs = TensorProto { int32_data: vec![0b11_10_01_00, 0xff], ..tensor(25, &[5]) };
        assert_eq!(decoded(&pairs), [0b11_10_01_00, 0b11]);
        let six = TensorProto { int32_data: vec![1, 2, 3, 63, 5], ..tensor(27, &[5]) };
        assert_eq!(decoded(&six), [0b1000_0001, 0b0011_0000, 0b1111_1100, 5]);
        let padded = TensorProto { raw_data: Some(vec![0xff, 0xff, 0xff].into()), ..tensor(28, &[3]) };
        assert_eq!(decoded(&padded), [0xff, 0xff, 0x03]);
    }

    #[test]
    fn booleans_are_made_canonical() {
        let bools = TensorProto { raw_data: Some(vec![0, 7].into()), ..tensor(BOOL, &[2]) };
        assert_eq!(decoded(&bools), [0, 1]);
    }

    #[test]
    fn impossible_tensors_are_refused() {
        assert!(refused(&tensor(FLOAT, &[-1])).contains("negative"));
        assert!(refused(&tensor(FLOAT, &[1 << 62])).contains("memory"));
        assert!(refused(&tensor(22, &[1 << 62, 1 << 62])).contains("memory"));
        assert!(refused(&tensor(FLOAT, &[1 << 40])).contains("tensor_bytes"));
        assert!(refused(&tensor(FLOAT, &[1; 33])).contains("rank"));
        assert!(refused(&tensor(FLOAT, &[])).contains("needs 4"));
        assert!(refused(&tensor(0, &[])).contains("element type 0"));
        assert!(refused(&tensor(99, &[])).contains("element type 99"));
        assert!(refused(&TensorProto { int32_data: vec![256], ..tensor(2, &[1]) }).contains("uint8"));
        assert!(refused(&TensorProto { int32_data: vec![64], ..tensor(27, &[1]) }).contains("float6e2m3"));
        assert!(refused(&TensorProto { uint64_data: vec![1 << 32], ..tensor(UINT32, &[1]) }).contains("uint32"));
        assert!(refused(&TensorProto { int64_data: vec![1], ..tensor(FLOAT, &[1]) }).contains("float_data"));
        let twice = TensorProto { raw_data: Some(vec![0; 4].into()), float_data: vec![0.0], ..tensor(FLOAT, &[1]) };
        assert!(refused(&twice).contains("raw_data alone"));
        assert!(refused(&TensorProto { raw_data: Some(vec![0].into()), ..tensor(STRING, &[1]) }).contains("raw_data"));
        assert!(HostTensor::new(STRING, vec![1], HostData::Bytes(Bytes::new())).is_err());
        assert!(HostTensor::new(FLOAT, vec![1], HostData::Strings(vec![vec![]])).is_err());
    }

    #[test]
    fn a_dimension_of_zero_wins_over_huge_ones() {
        assert_eq!(decoded(&tensor(FLOAT, &[1 << 62, 0, 1 << 62])), Vec::<u8>::new());
    }
}
