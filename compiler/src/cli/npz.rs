//! Archives of NumPy arrays as inputs and outputs.
//!
//! Element types that NumPy lacks are stored by their bits: `bf16` as `uint16`, 8-bit floats as `uint8`, and types below
//! a byte as one `uint8` an element.

use std::io::{Read, Write};
use std::path::Path;

use npyz::npz::{NpzArchive, NpzWriter, file_name_from_array_name};
use npyz::{DType, NpyFile, Order};

use super::failure::{Failure, Result};
use crate::graph::{ElementType, Tensor, TensorData};

/// NumPy's name of an element type, without byte order.
fn type_name(element: ElementType) -> Option<&'static str> {
    use ElementType as E;
    Some(match element {
        E::F16 => "f2",
        E::F32 => "f4",
        E::F64 => "f8",
        E::Bool => "b1",
        E::I8 => "i1",
        E::I16 => "i2",
        E::I32 => "i4",
        E::I64 => "i8",
        E::U16 | E::BF16 => "u2",
        E::U32 => "u4",
        E::U64 => "u8",
        E::C64 => "c8",
        E::C128 => "c16",
        E::String => return None,
        E::U8 | E::F8E4M3FN | E::F8E4M3FNUZ | E::F8E5M2 | E::F8E5M2FNUZ | E::F8E8M0 => "u1",
        E::U4 | E::I4 | E::F4E2M1 | E::U2 | E::I2 => "u1",
    })
}

/// Reads the arrays of the given names and element types.
pub fn read(path: &Path, wanted: &[(&str, ElementType)]) -> Result<Vec<Tensor>> {
    let fail = |problem: String| Failure::Message(format!("{}: {problem}", path.display()));
    let mut archive = NpzArchive::open(path).map_err(|error| fail(error.to_string()))?;
    let names: Vec<String> = archive.array_names().map(str::to_owned).collect();
    let mut tensors = Vec::new();
    for &(name, element) in wanted {
        let array = archive.by_name(name).map_err(|error| fail(format!("array {name}: {error}")))?;
        let array = array.ok_or_else(|| {
            fail(format!("there is no array for the input `{name}`; the archive has: {}", names.join(", ")))
        })?;
        tensors.push(read_array(array, element).map_err(|problem| fail(format!("array {name}: {problem}")))?);
    }
    Ok(tensors)
}

fn read_array(array: NpyFile<impl Read>, element: ElementType) -> std::result::Result<Tensor, String> {
    let header = array.header().clone();
    let wanted = type_name(element).ok_or("tensors of strings cannot be passed to a library")?;
    let found = match header.dtype() {
        DType::Plain(found) => found.to_string(),
        _ => "a structure".to_owned(),
    };
    if found.trim_start_matches(['<', '|', '=']) != wanted {
        return Err(format!(
            "its elements are of NumPy type {found}, and the model wants {element}, which is {wanted}"
        ));
    }
    if header.order() != Order::C && header.shape().len() > 1 {
        return Err("its elements are in column-major order; save it with numpy.ascontiguousarray".to_owned());
    }
    let dims = header.shape().iter().map(|&dim| i64::try_from(dim)).collect::<std::result::Result<Vec<_>, _>>();
    let dims = dims.map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    array.into_inner().read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    let bits = element.bits();
    if bits < 8 {
        bytes = pack(&bytes, bits);
    }
    let tensor = Tensor { element, dims, data: TensorData::Bytes(bytes.into()) };
    match &tensor.data {
        TensorData::Bytes(bytes) if bytes.len() == tensor.byte_len() => Ok(tensor),
        _ => Err("it has fewer or more elements than its shape says".to_owned()),
    }
}

/// Writes tensors; those that cannot be stored are an error.
pub fn write(path: &Path, arrays: &[(&str, &Tensor)]) -> Result<()> {
    let fail = |problem: String| Failure::Message(format!("{}: {problem}", path.display()));
    let mut archive = NpzWriter::create(path).map_err(|error| fail(error.to_string()))?;
    let zip = archive.zip_writer();
    for &(name, tensor) in arrays {
        let (Some(type_name), Some(bytes)) = (type_name(tensor.element), tensor.bytes()) else {
            return Err(fail(format!("array {name}: tensors of strings cannot be stored")));
        };
        let bits = tensor.element.bits();
        let bytes = if bits < 8 { unpack(&bytes, bits, tensor.len()) } else { bytes.to_vec() };
        zip.start_file(file_name_from_array_name(name), Default::default()).map_err(|error| fail(error.to_string()))?;
        zip.write_all(&header(type_name, &tensor.dims))
            .and_then(|()| zip.write_all(&bytes))
            .map_err(|error| fail(error.to_string()))?;
    }
    zip.finish().map_err(|error| fail(error.to_string()))?;
    Ok(())
}

/// The head of an array file, format 1.0, padded so that the elements start at a multiple of 64 bytes.
fn header(type_name: &str, dims: &[i64]) -> Vec<u8> {
    let order = if type_name.ends_with('1') { '|' } else { '<' };
    let dims: String = dims.iter().map(|dim| format!("{dim},")).collect();
    let mut text = format!("{{'descr': '{order}{type_name}', 'fortran_order': False, 'shape': ({dims}), }}");
    let unpadded = 10 + text.len() + 1;
    text.extend(std::iter::repeat_n(' ', unpadded.next_multiple_of(64) - unpadded));
    text.push('\n');
    let mut head = b"\x93NUMPY\x01\x00".to_vec();
    head.extend((text.len() as u16).to_le_bytes());
    head.extend(text.into_bytes());
    head
}

/// Elements of `bits` bits, from one a byte to packed from the lowest bits on.
fn pack(elements: &[u8], bits: usize) -> Vec<u8> {
    let mask = (1 << bits) - 1;
    let byte = |group: &[u8]| {
        group.iter().enumerate().fold(0, |byte, (place, element)| byte | (element & mask) << (place * bits))
    };
    elements.chunks(8 / bits).map(byte).collect()
}

fn unpack(bytes: &[u8], bits: usize, count: usize) -> Vec<u8> {
    let mask = (1 << bits) - 1;
    let places = 8 / bits;
    (0..count).map(|index| bytes[index / places] >> (index % places * bits) & mask).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_survive_an_archive() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npz");
        let nibbles =
            Tensor { element: ElementType::I4, dims: vec![3], data: TensorData::Bytes(vec![0x21, 0x0f].into()) };
        let tensors = [Tensor::from_values(&[2, 1], &[1.5f32, f32::NAN]), Tensor::from_i64s(&[]), nibbles];
        write(&path, &[("x:0/a", &tensors[0]), ("y", &tensors[1]), ("z", &tensors[2])]).unwrap();
        let wanted = [("z", ElementType::I4), ("y", ElementType::I64), ("x:0/a", ElementType::F32)];
        let back = read(&path, &wanted).unwrap();
        assert_eq!(back[0], tensors[2]);
        assert_eq!(back[1], tensors[1]);
        assert_eq!(back[2].bytes(), tensors[0].bytes());
        let wrong = read(&path, &[("y", ElementType::F32)]).unwrap_err().to_string();
        assert!(wrong.contains("<i8") && wrong.contains("f32"), "{wrong}");
        assert!(read(&path, &[("w", ElementType::F32)]).unwrap_err().to_string().contains("`w`"));
    }
}
