//! Inputs in a folder: `spec.txt` has a line for each, with name, element type, dimensions and file, and the files hold
//! the elements in row-major order, little-endian.

use std::fs;
use std::path::Path;

use super::failure::{Failure, Result};
use crate::graph::{ElementType, Tensor, TensorData};
use crate::package::InterfacePort;

/// Reads the inputs of a folder, in the model's order.
pub fn read(folder: &Path, ports: &[InterfacePort]) -> Result<Vec<Tensor>> {
    let path = folder.join("spec.txt");
    let spec = fs::read_to_string(&path).map_err(|error| Failure::file(&path, &error))?;
    let mut listed = Vec::new();
    for line in spec.lines().filter(|line| !line.trim().is_empty()) {
        listed.push(read_line(folder, line)?);
    }
    ports
        .iter()
        .map(|port| {
            let found = listed.iter().find(|(name, _)| *name == port.name);
            let (_, tensor) = found
                .ok_or_else(|| Failure::Message(format!("{}: there is no input `{}`", path.display(), port.name)))?;
            Ok(tensor.clone())
        })
        .collect()
}

fn read_line(folder: &Path, line: &str) -> Result<(String, Tensor)> {
    let fail = |problem: String| Failure::Message(format!("{}: {problem}", folder.join("spec.txt").display()));
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [name, element, dims, file] = fields[..] else {
        return Err(fail(format!("`{line}` does not have 4 fields")));
    };
    let element = ElementType::from_name(element)
        .filter(|&element| element != ElementType::String)
        .ok_or_else(|| fail(format!("`{element}` is no element type of raw files")))?;
    let dims: Vec<i64> = match dims {
        "-" => Vec::new(),
        dims => dims
            .split(',')
            .map(|dim| dim.parse().ok().filter(|&dim: &i64| dim >= 0))
            .collect::<Option<_>>()
            .ok_or_else(|| fail(format!("`{dims}` are no dimensions")))?,
    };
    let path = folder.join(file);
    let bytes = fs::read(&path).map_err(|error| Failure::file(&path, &error))?;
    let count = dims.iter().try_fold(1u64, |count, &dim| count.checked_mul(dim as u64));
    if count.and_then(|count| element.bytes_of(count)) != Some(bytes.len() as u64) {
        return Err(fail(format!("{file} has {} bytes, which do not fill {element}{dims:?}", bytes.len())));
    }
    Ok((name.to_owned(), Tensor { element, dims, data: TensorData::Bytes(bytes.into()) }))
}
