//! Archives of NumPy arrays.

use std::io::{Read, Write};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use npyz::npz::{NpzArchive, NpzWriter};
use npyz::{DType, NpyFile, Order};

use crate::tensor::{Data, STRING, Tensor};

/// NumPy's names of the element types that both sides have, without byte order, and their ONNX numbers.
const TYPES: [(&str, i32); 12] = [
    ("f4", 1),
    ("u1", 2),
    ("i1", 3),
    ("u2", 4),
    ("i2", 5),
    ("i4", 6),
    ("i8", 7),
    ("b1", 9),
    ("f2", 10),
    ("f8", 11),
    ("u4", 12),
    ("u8", 13),
];

/// Reads every array of an archive, sorted by name.
pub fn read(path: &Path) -> Result<Vec<(String, Tensor)>> {
    let mut archive = NpzArchive::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let mut names: Vec<String> = archive.array_names().map(str::to_owned).collect();
    names.sort();
    let mut arrays = Vec::new();
    for name in names {
        let place = || format!("{}, array {name}", path.display());
        let array = archive.by_name(&name).with_context(place)?.with_context(place)?;
        arrays.push((name.clone(), read_array(array).with_context(place)?));
    }
    Ok(arrays)
}

fn read_array(array: NpyFile<impl Read>) -> Result<Tensor> {
    let header = array.header().clone();
    ensure!(header.order() == Order::C || header.shape().len() < 2, "its elements are in column-major order");
    let DType::Plain(type_name) = header.dtype() else { bail!("its elements are structures") };
    let type_name = type_name.to_string();
    let dims: Vec<i64> = header.shape().iter().map(|&dim| i64::try_from(dim)).collect::<Result<_, _>>()?;
    let (byte_order, kind) = type_name.split_at(1);
    ensure!(byte_order != ">", "its elements are big-endian");
    let mut bytes = Vec::new();
    array.into_inner().read_to_end(&mut bytes)?;
    if let Some(width) = kind.strip_prefix('U') {
        let count = usize::try_from(header.len())?;
        return Ok(Tensor::of_strings(dims, read_strings(&bytes, width.parse()?, count)?));
    }
    let (_, element_type) = TYPES
        .iter()
        .find(|(name, _)| *name == kind)
        .with_context(|| format!("its elements are of type {type_name}"))?;
    Ok(Tensor::new(*element_type, dims, bytes))
}

/// Splits UTF-32 text into strings of `width` characters, padded with zeros.
fn read_strings(bytes: &[u8], width: usize, count: usize) -> Result<Vec<Vec<u8>>> {
    if width == 0 {
        return Ok(vec![Vec::new(); count]);
    }
    let text = bytes.chunks_exact(4 * width).map(|string| {
        let characters = string.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]));
        let text: Option<String> = characters.map(char::from_u32).collect();
        Ok(text.context("a string is not Unicode")?.trim_end_matches('\0').as_bytes().to_vec())
    });
    text.collect()
}

/// Writes tensors as an archive that NumPy reads.
pub fn write<'a>(path: &Path, arrays: impl IntoIterator<Item = (&'a str, &'a Tensor)>) -> Result<()> {
    let mut archive = NpzWriter::create(path).with_context(|| format!("cannot create {}", path.display()))?;
    for (name, tensor) in arrays {
        let (type_name, bytes) = match &tensor.data {
            Data::Bytes(bytes) => (type_name(tensor.element_type)?, bytes.clone()),
            Data::Strings(strings) => write_strings(strings)?,
        };
        let zip = archive.zip_writer();
        zip.start_file(npyz::npz::file_name_from_array_name(name), Default::default())?;
        zip.write_all(&header(&type_name, &tensor.dims))?;
        zip.write_all(&bytes)?;
    }
    archive.zip_writer().finish()?;
    Ok(())
}

fn type_name(element_type: i32) -> Result<String> {
    debug_assert_ne!(element_type, STRING);
    let (name, _) = TYPES
        .iter()
        .find(|(_, number)| *number == element_type)
        .with_context(|| format!("NumPy has no element type for ONNX type {element_type}"))?;
    Ok(if name.ends_with('1') { format!("|{name}") } else { format!("<{name}") })
}

fn write_strings(strings: &[Vec<u8>]) -> Result<(String, Vec<u8>)> {
    let texts: Vec<&str> = strings.iter().map(|string| std::str::from_utf8(string)).collect::<Result<_, _>>()?;
    let width = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(1);
    let padded = texts.iter().flat_map(|text| text.chars().chain(std::iter::repeat('\0')).take(width));
    Ok((format!("<U{width}"), padded.flat_map(|character| u32::from(character).to_le_bytes()).collect()))
}

/// The head of an array file, format 1.0, padded so that the elements start at a multiple of 64 bytes.
fn header(type_name: &str, dims: &[i64]) -> Vec<u8> {
    let dims: String = dims.iter().map(|dim| format!("{dim},")).collect();
    let mut text = format!("{{'descr': '{type_name}', 'fortran_order': False, 'shape': ({dims}), }}");
    let unpadded = 10 + text.len() + 1;
    text.extend(std::iter::repeat_n(' ', unpadded.next_multiple_of(64) - unpadded));
    text.push('\n');
    let mut head = b"\x93NUMPY\x01\x00".to_vec();
    head.extend((text.len() as u16).to_le_bytes());
    head.extend(text.into_bytes());
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("arrays.npz");
        let arrays = [
            ("in:a/b:0", Tensor::of_f32([2, 1], &[1.5, f32::NAN])),
            ("out:0:empty", Tensor::of_i64([0, 3], &[])),
            ("out:1:scalar", Tensor::new(10, [], vec![0, 60])),
            ("out:2:bool", Tensor::new(9, [2], vec![1, 0])),
            ("out:3:text", Tensor::of_strings([3], vec![b"".to_vec(), "päiv".into(), b"x".to_vec()])),
        ];
        write(&path, arrays.iter().map(|(name, tensor)| (*name, tensor))).unwrap();
        let back = read(&path).unwrap();
        assert_eq!(back, arrays.map(|(name, tensor)| (name.to_owned(), tensor)));
    }

    #[test]
    fn types_that_numpy_lacks_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let tensor = Tensor::new(16, [1], vec![0, 0]);
        let error = write(&folder.path().join("a.npz"), [("a", &tensor)]).unwrap_err();
        assert_eq!(error.to_string(), "NumPy has no element type for ONNX type 16");
    }
}
