//! Merging the model's object and the runtime stub into one relocatable object whose only global names are the
//! model's exports.
//!
//! A static library that Rust makes brings panic and compiler-builtins symbols that collide with those of a Rust host
//! or a second model. Here every symbol outside the exports becomes local, before any linker sees it. Sections are kept
//! only when they are reachable from the model's, so a stub routine costs nothing when it is not used.

mod emit;
mod input;
mod output;
mod reach;

use super::LinkError;
use input::Input;

/// What [`prelink`] merges, and what the result may show of it.
#[derive(Debug, Clone, Copy)]
pub struct PrelinkInput<'a> {
    /// The model's relocatable object; all its allocated sections are kept.
    pub object: &'a [u8],
    /// The runtime stub: one relocatable object or an `ar` archive of them; only what the model reaches is kept.
    pub stub: &'a [u8],
    /// Symbols that stay global. Each must be defined.
    pub exports: &'a [String],
    /// Symbols that may stay undefined; a trailing `*` stands for any ending.
    pub allowed_imports: &'a [String],
}

/// Merges `input` into one relocatable ELF object.
///
/// Unwind tables, debug sections, notes and comments are dropped. Where two inputs define a symbol, the model's
/// definition wins over the stub's, and a strong one over a weak one. The result depends on nothing but `input`.
///
/// # Errors
/// Inputs that are not ELF for x86-64 or aarch64, that are malformed, or that hold thread-local storage, constructors or
/// relocations against code; an export without definition; an undefined symbol that may not be imported.
pub fn prelink(input: &PrelinkInput<'_>) -> Result<Vec<u8>, LinkError> {
    let mut inputs = vec![Input::parse("the model's object".to_owned(), input.object)?];
    input::parse_stub(input.stub, &mut inputs)?;
    let machine = inputs[0].machine;
    if let Some(other) = inputs.iter().find(|other| other.machine != machine) {
        return Err(LinkError::Unsupported(format!(
            "{} is for another processor than the model; compile for the stub's target",
            other.name
        )));
    }
    let program = reach::reach(&inputs, input.exports, input.allowed_imports)?;
    output::write(&inputs, &program, input.exports)
}
