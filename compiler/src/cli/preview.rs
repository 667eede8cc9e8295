//! Tensors as short text.

use crate::graph::{ElementKind, Tensor};
use crate::loops::interpret::{Number, storage};

/// The first `count` elements, and a sign of more.
pub fn values(tensor: &Tensor, count: usize) -> String {
    let shown = count.min(tensor.len());
    let Some(bytes) = tensor.bytes() else { return "(strings)".to_owned() };
    let mut texts: Vec<String> = match tensor.element.kind() {
        ElementKind::Complex | ElementKind::String => {
            let width = tensor.element.bits() / 8;
            bytes.chunks_exact(width).take(shown).map(complex).collect()
        }
        ElementKind::Bool => bytes.iter().take(shown).map(|&byte| (byte != 0).to_string()).collect(),
        _ => storage::unpack(tensor.element, &bytes, shown).into_iter().map(number).collect(),
    };
    if tensor.len() > shown {
        texts.push("...".to_owned());
    }
    texts.join(" ")
}

fn number(number: Number) -> String {
    match number {
        Number::F32(value) => value.to_string(),
        Number::F64(value) => value.to_string(),
        Number::Integer(_, value) => value.to_string(),
    }
}

fn complex(element: &[u8]) -> String {
    let (real, imaginary) = element.split_at(element.len() / 2);
    let part = |bytes: &[u8]| match bytes.len() {
        4 => f64::from(f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])),
        _ => f64::from_le_bytes(std::array::from_fn(|index| bytes.get(index).copied().unwrap_or(0))),
    };
    format!("{}{:+}i", part(real), part(imaginary))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{ElementType, TensorData};

    #[test]
    fn elements_of_all_kinds_have_a_text() {
        assert_eq!(values(&Tensor::from_values(&[3], &[1.5f32, -0.25, 3.0]), 2), "1.5 -0.25 ...");
        assert_eq!(values(&Tensor::scalar(true), 2), "true");
        let complex = [1f32, -2.0].iter().flat_map(|part| part.to_le_bytes()).collect::<Vec<u8>>();
        let complex = Tensor { element: ElementType::C64, dims: vec![1], data: TensorData::Bytes(complex.into()) };
        assert_eq!(values(&complex, 4), "1-2i");
    }
}
