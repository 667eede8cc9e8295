//! Elements as they lie in memory.

use super::{Number, narrow};
use crate::graph::{ElementKind, ElementType};

/// Whether elements of this type can be loaded and stored.
pub fn is_supported(element: ElementType) -> bool {
    !matches!(element.kind(), ElementKind::Complex | ElementKind::String)
}

/// Bytes that `count` elements take, packed types rounded up; `None` when the number does not fit.
pub fn bytes_of(element: ElementType, count: i64) -> Option<usize> {
    usize::try_from(element.bytes_of(u64::try_from(count).ok()?)?).ok()
}

/// The bits of the element at a position; `None` beyond the end.
fn read(element: ElementType, memory: &[u8], position: usize) -> Option<u64> {
    let bits = element.bits();
    if bits < 8 {
        let byte = *memory.get(position * bits / 8)?;
        return Some(u64::from(byte >> (position * bits % 8)) & ((1 << bits) - 1));
    }
    let size = bits / 8;
    let bytes = memory.get(position * size..(position + 1) * size)?;
    let mut wide = [0; 8];
    wide[..size].copy_from_slice(bytes);
    Some(u64::from_le_bytes(wide))
}

fn write(element: ElementType, memory: &mut [u8], position: usize, value: u64) -> Option<()> {
    let bits = element.bits();
    if bits < 8 {
        let byte = memory.get_mut(position * bits / 8)?;
        let shift = position * bits % 8;
        let mask = ((1u8 << bits) - 1) << shift;
        *byte = (*byte & !mask) | ((value as u8) << shift & mask);
        return Some(());
    }
    let size = bits / 8;
    memory.get_mut(position * size..(position + 1) * size)?.copy_from_slice(&value.to_le_bytes()[..size]);
    Some(())
}

/// The element at a position of little-endian packed memory, in its compute type. `None` beyond the end, and for types
/// that are [not supported](is_supported).
pub fn load(element: ElementType, memory: &[u8], position: usize) -> Option<Number> {
    if !is_supported(element) {
        return None;
    }
    let bits = read(element, memory, position)?;
    Some(match element {
        ElementType::F32 => Number::F32(f32::from_bits(bits as u32)),
        ElementType::F64 => Number::F64(f64::from_bits(bits)),
        float if float.is_float() => Number::F32(narrow::decode(float, bits as u32)),
        _ => match Number::integer(element, bits.into()) {
            Number::Integer(_, value) => Number::Integer(element.compute_type(), value),
            other => other,
        },
    })
}

/// Writes a value of the compute type of `element`: narrow floats are rounded without saturation, and sub-byte integers
/// keep their low bits. `None` beyond the end, and for types that are [not supported](is_supported).
pub fn store(element: ElementType, memory: &mut [u8], position: usize, value: Number) -> Option<()> {
    if !is_supported(element) {
        return None;
    }
    let bits = match value {
        Number::F32(value) if element != ElementType::F32 => narrow::encode(element, false, value).into(),
        value => value.to_scalar().bits,
    };
    write(element, memory, position, bits)
}

/// Packs numbers of the compute type of `element`.
pub fn pack(element: ElementType, values: &[Number]) -> Vec<u8> {
    let mut memory = vec![0; (values.len() * element.bits()).div_ceil(8)];
    for (position, &value) in values.iter().enumerate() {
        // The memory was made to fit.
        let _ = store(element, &mut memory, position, value);
    }
    memory
}

/// The first `count` elements; fewer when there are fewer.
pub fn unpack(element: ElementType, memory: &[u8], count: usize) -> Vec<Number> {
    (0..count).map_while(|position| load(element, memory, position)).collect()
}
