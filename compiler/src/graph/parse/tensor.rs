//! Reads tensors.

use super::cursor::{Cursor, Parsed};
use crate::graph::{ElementKind, ElementType, Tensor, TensorData};

/// Elements of a constant that is written out.
const MAX_ELEMENTS: usize = 1 << 24;

/// `f32[2, 3] = [elements]`
pub(super) fn tensor(cursor: &mut Cursor<'_>) -> Parsed<Tensor> {
    let element = cursor.parsed("an element type", ElementType::from_name)?;
    let dims = cursor.list(|cursor| cursor.parsed("a number", |word| word.parse().ok()))?;
    cursor.expect("=")?;
    contents(cursor, element, dims)
}

/// `[elements]` or `splat VALUE`.
pub(super) fn contents(cursor: &mut Cursor<'_>, element: ElementType, dims: Vec<i64>) -> Parsed<Tensor> {
    let count = dims.iter().try_fold(1usize, |count, &dim| count.checked_mul(usize::try_from(dim).ok()?));
    let Some(count) = count.filter(|&count| count <= MAX_ELEMENTS) else {
        return cursor.fail("the shape of a constant is too large or negative");
    };
    if element == ElementType::String {
        let strings = cursor.list(|cursor| cursor.bytes())?;
        if strings.len() != count {
            return cursor.fail(format!("{} elements do not fill a shape of {count}", strings.len()));
        }
        return Ok(Tensor { element, dims, data: TensorData::Strings(strings.into()) });
    }
    if cursor.eat("splat") {
        let value = scalar(cursor, element)?;
        return Ok(Tensor { element, dims, data: TensorData::Splat(value.into()) });
    }
    let elements = cursor.list(|cursor| scalar(cursor, element))?;
    if elements.len() != count {
        return cursor.fail(format!("{} elements do not fill a shape of {count}", elements.len()));
    }
    Ok(Tensor { element, dims, data: TensorData::Bytes(elements.concat().into()) })
}

/// The bytes of one element.
fn scalar(cursor: &mut Cursor<'_>, element: ElementType) -> Parsed<Vec<u8>> {
    cursor.parsed(&format!("an element of {element}, if it can be written,"), |word| {
        Some(match (element, element.kind()) {
            (ElementType::F64, _) => word.parse::<f64>().ok()?.to_le_bytes().to_vec(),
            (ElementType::F32, _) => word.parse::<f32>().ok()?.to_le_bytes().to_vec(),
            (ElementType::F16, _) => half::f16::from_f64(word.parse().ok()?).to_le_bytes().to_vec(),
            (ElementType::BF16, _) => half::bf16::from_f64(word.parse().ok()?).to_le_bytes().to_vec(),
            (_, ElementKind::Signed | ElementKind::Unsigned | ElementKind::Bool) if element.bits() >= 8 => {
                word.parse::<i64>().ok()?.to_le_bytes()[..element.bits() / 8].to_vec()
            }
            _ => return None,
        })
    })
}
