//! Constants and quoted names.

use crate::graph::ElementType;
use crate::loops::Scalar;

/// The constant without its type.
pub fn print_scalar(scalar: Scalar) -> String {
    let text = match scalar.element.compute_type() {
        ElementType::F32 => format!("{:?}", f32::from_bits(scalar.bits as u32)).to_lowercase(),
        ElementType::F64 => format!("{:?}", f64::from_bits(scalar.bits)).to_lowercase(),
        ElementType::Bool => (scalar.bits == 1).to_string(),
        element if element.is_signed() => (scalar.bits as i64).to_string(),
        _ => scalar.bits.to_string(),
    };
    if parse_scalar(scalar.element, &text) == Some(scalar) { text } else { format!("{:#x}", scalar.bits) }
}

/// Reads a constant of a type.
pub fn parse_scalar(element: ElementType, text: &str) -> Option<Scalar> {
    let bits = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => match element.compute_type() {
            ElementType::F32 => text.parse::<f32>().ok()?.to_bits().into(),
            ElementType::F64 => text.parse::<f64>().ok()?.to_bits(),
            ElementType::Bool => text.parse::<bool>().ok()?.into(),
            signed if signed.is_signed() => {
                let value = text.parse::<i64>().ok()?;
                Some(Scalar::from_i64(element, value)).filter(|scalar| scalar.bits as i64 == value)?.bits
            }
            _ => {
                let value = text.parse::<u64>().ok()?;
                Some(Scalar::from_i64(element, value as i64)).filter(|scalar| scalar.bits == value)?.bits
            }
        },
    };
    Some(Scalar { element, bits })
}

/// The text in quotes.
pub fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            _ => quoted.push(character),
        }
    }
    quoted + "\""
}

/// Whether a name needs no quotes.
pub fn is_plain(name: &str) -> bool {
    let plain = |character: char| character.is_ascii_alphanumeric() || "_.-".contains(character);
    !name.is_empty() && name.chars().all(plain)
}

/// The name, in quotes where it needs them.
pub fn print_name(name: &str) -> String {
    if is_plain(name) { name.to_owned() } else { quote(name) }
}
