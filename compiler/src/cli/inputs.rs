//! Inputs of a model: from an archive, from a folder, or drawn from a seed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::failure::{Failure, Result};
use super::model::{ModelArguments, Opened};
use super::{npz, spec};
use crate::graph::{ElementKind, ElementType, Tensor, TensorData};
use crate::loops::interpret::{Number, storage};
use crate::package::{InterfacePort, PortDim};

/// The inputs in a file (`.npz`) or folder (`spec.txt` and raw files).
pub fn read(opened: &Opened, path: &Path) -> Result<Vec<Tensor>> {
    let ports = opened.library.inputs();
    if path.is_dir() {
        return spec::read(path, ports);
    }
    let wanted: Vec<_> = ports.iter().map(|port| (port.name.as_str(), port.element)).collect();
    npz::read(path, &wanted)
}

/// Inputs drawn from a seed. Dimensions that nothing decides are 1; a note says so.
pub fn random(opened: &Opened, arguments: &ModelArguments, seed: u64) -> Result<Vec<Tensor>> {
    let ports = opened.library.inputs();
    if opened.is_library {
        check_names(ports, arguments)?;
    }
    let dims: BTreeMap<&str, i64> = arguments.dims.iter().map(|(name, size)| (name.as_str(), *size)).collect();
    let shapes: BTreeMap<&str, &Vec<i64>> =
        arguments.input_shapes.iter().map(|(name, shape)| (name.as_str(), shape)).collect();
    // Shapes decide the symbols in them, also for the other inputs.
    let mut sizes: BTreeMap<String, i64> = BTreeMap::new();
    for port in ports {
        if let Some(shape) = shapes.get(port.name.as_str()) {
            for (dim, size) in port.dims.iter().zip(shape.iter()) {
                if let PortDim::Symbol(name) = dim {
                    sizes.insert(name.clone(), *size);
                }
            }
        }
    }
    let mut assumed = BTreeSet::new();
    let mut random = Random(seed);
    let mut tensors = Vec::new();
    for port in ports {
        let shape = match shapes.get(port.name.as_str()) {
            Some(shape) => (*shape).clone(),
            None => {
                let size = |dim: &PortDim| match dim {
                    PortDim::Fixed(size) => *size,
                    PortDim::Symbol(name) => {
                        dims.get(name.as_str()).or(sizes.get(name)).copied().unwrap_or_else(|| {
                            assumed.insert(name.clone());
                            1
                        })
                    }
                    PortDim::Runtime => 1,
                };
                port.dims.iter().map(size).collect()
            }
        };
        tensors.push(tensor(port, shape, &mut random)?);
    }
    if !assumed.is_empty() {
        let names: Vec<String> = assumed.into_iter().collect();
        eprintln!("note: dimensions taken as 1, choose others with --dim or --input-shape: {}", names.join(", "));
    }
    Ok(tensors)
}

/// Refuses names that a library does not have; for a model, the compilation has checked them.
fn check_names(ports: &[InterfacePort], arguments: &ModelArguments) -> Result<()> {
    let symbols: BTreeSet<&str> = ports
        .iter()
        .flat_map(|port| &port.dims)
        .filter_map(|dim| if let PortDim::Symbol(name) = dim { Some(name.as_str()) } else { None })
        .collect();
    for (name, _) in &arguments.dims {
        if !symbols.contains(name.as_str()) {
            let known: Vec<&str> = symbols.into_iter().collect();
            let message = format!("--dim {name}: the library has the symbolic dimensions [{}]", known.join(", "));
            return Err(Failure::Usage(message));
        }
    }
    for (name, _) in &arguments.input_shapes {
        if !ports.iter().any(|port| port.name == *name) {
            let known: Vec<&str> = ports.iter().map(|port| port.name.as_str()).collect();
            return Err(Failure::Usage(format!("--input-shape {name}: the inputs are [{}]", known.join(", "))));
        }
    }
    Ok(())
}

fn tensor(port: &InterfacePort, dims: Vec<i64>, random: &mut Random) -> Result<Tensor> {
    let count = dims.iter().try_fold(1i64, |count, &dim| count.checked_mul(dim)).unwrap_or(i64::MAX);
    let bytes = u64::try_from(count).ok().and_then(|count| port.element.bytes_of(count));
    if bytes.is_none_or(|bytes| bytes > 1 << 36) {
        return Err(Failure::Message(format!("input `{}` would be too large with the shape {dims:?}", port.name)));
    }
    let bytes = match port.element.kind() {
        ElementKind::String => {
            let message = format!("input `{}` holds strings, which cannot be drawn; use --inputs", port.name);
            return Err(Failure::Message(message));
        }
        ElementKind::Complex => {
            let part = if port.element == ElementType::C64 { ElementType::F32 } else { ElementType::F64 };
            numbers(part, 2 * count, random)
        }
        _ => numbers(port.element, count, random),
    };
    Ok(Tensor { element: port.element, dims, data: TensorData::Bytes(bytes.into()) })
}

/// Floats between -1 and 1; integers and bools 0 or 1, which are valid indices nearly everywhere.
fn numbers(element: ElementType, count: i64, random: &mut Random) -> Vec<u8> {
    let draw = |random: &mut Random| {
        let bits = random.next();
        // 24 bits make every value exact in f32.
        let unit = (bits >> 40) as f32 / (1u32 << 23) as f32 - 1.0;
        match element {
            ElementType::F64 => Number::F64(f64::from(unit)),
            _ if element.is_float() => Number::F32(unit),
            _ => Number::Integer(element.compute_type(), (bits >> 63).into()),
        }
    };
    let values: Vec<Number> = (0..count).map(|_| draw(random)).collect();
    storage::pack(element, &values)
}

/// The generator SplitMix64: the same numbers for the same seed, everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_numbers_are_in_their_range() {
        let floats = numbers(ElementType::F32, 1000, &mut Random(3));
        let floats: Vec<f32> = floats.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        assert!(floats.iter().all(|value| (-1.0..1.0).contains(value)));
        assert!(floats.iter().any(|&value| value > 0.5) && floats.iter().any(|&value| value < -0.5));
        let integers = numbers(ElementType::U8, 1000, &mut Random(3));
        assert!(integers.iter().all(|&value| value <= 1) && integers.contains(&0) && integers.contains(&1));
        assert_eq!(numbers(ElementType::I4, 3, &mut Random(3)).len(), 2);
    }
}
