//! Static libraries: an `ar` archive of one object and an index of its global symbols.

use super::LinkError;
use object::{Object, ObjectSymbol};

/// Length of an archive member's header.
const HEADER_LENGTH: usize = 60;
/// The longest member name that fits in the header, in the GNU form with its closing slash.
const MAX_NAME_LENGTH: usize = 15;

/// Makes a static library of `object`, as the member `name` (such as `model.o`), with a symbol index in the GNU format.
/// Times, owners and permissions are fixed, so the same object gives the same bytes.
///
/// # Errors
/// `object` is not an object file, or is too large (4 GiB) for the index and the header.
pub fn archive(object: &[u8], name: &str) -> Result<Vec<u8>, LinkError> {
    let file = object::File::parse(object).map_err(|error| LinkError::malformed(name, error))?;
    let mut exports = Vec::new();
    for symbol in file.symbols().filter(|symbol| symbol.is_global() && symbol.is_definition()) {
        exports.push(symbol.name_bytes().map_err(|error| LinkError::malformed(name, error))?);
    }
    let index_length = 4 + exports.iter().map(|export| 4 + export.len() + 1).sum::<usize>();
    let too_large = || LinkError::Unsupported(format!("{name} is too large for a static library"));
    if object.len() >= 10_000_000_000 {
        return Err(too_large());
    }
    let start = object::archive::MAGIC.len() + HEADER_LENGTH + index_length.next_multiple_of(2);
    let start = u32::try_from(start).map_err(|_| too_large())?;

    let mut bytes = Vec::with_capacity(start as usize + HEADER_LENGTH + object.len() + 1);
    bytes.extend_from_slice(&object::archive::MAGIC);
    push_header(&mut bytes, "/", index_length);
    bytes.extend_from_slice(&(exports.len() as u32).to_be_bytes());
    for _ in &exports {
        bytes.extend_from_slice(&start.to_be_bytes());
    }
    for export in &exports {
        bytes.extend_from_slice(export);
        bytes.push(0);
    }
    pad(&mut bytes);
    push_header(&mut bytes, &member_name(name), object.len());
    bytes.extend_from_slice(object);
    pad(&mut bytes);
    Ok(bytes)
}

/// A member name that fits in the header: characters that mean something there are replaced, and a long name is cut. The
/// name is for people: linkers go by the symbols.
fn member_name(name: &str) -> String {
    let clean: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' }).collect();
    let stem = clean.strip_suffix(".o").unwrap_or(&clean);
    let stem = &stem[..stem.len().min(MAX_NAME_LENGTH - 2)];
    format!("{stem}.o/")
}

fn push_header(bytes: &mut Vec<u8>, name: &str, length: usize) {
    let header = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{length:<10}`\n", 0, 0, 0, "644");
    debug_assert_eq!(header.len(), HEADER_LENGTH);
    bytes.extend_from_slice(header.as_bytes());
}

/// Members start at even offsets.
fn pad(bytes: &mut Vec<u8>) {
    if !bytes.len().is_multiple_of(2) {
        bytes.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_odd_names_fit() {
        assert_eq!(member_name("model.o"), "model.o/");
        assert_eq!(member_name("a very/long name of a model.o"), "a_very_long_n.o/");
        assert!(member_name("é".repeat(20).as_str()).is_ascii());
    }
}
