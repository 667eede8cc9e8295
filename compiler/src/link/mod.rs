//! From the model's relocatable object to the artifact: prelink with the runtime stub, then archive or shared library.
//!
//! 1. [`prelink()`] merges the model's object with the embedded [`stub`] into one relocatable object in which every
//!    symbol outside the model's exports is local, and which imports nothing but named libc functions. Any number of
//!    models, and a Rust host with its own runtime, then link into one program.
//! 2. [`archive()`] wraps that object in a static library; [`shared()`] links it into a shared library, in this process
//!    (feature `wild`), in a child of the current executable ([`shared_in_child`]), or with the system's compiler driver.
//! 3. [`verify()`] reads an artifact back and reports what it imports, exports and needs.
//!
//! Only ELF (x86-64 and aarch64) is supported; other formats are refused with [`LinkError::Unsupported`].

mod archive;
mod child;
mod error;
mod imports;
mod prelink;
mod shared;
pub mod stub;
mod verify;
#[cfg(feature = "wild")]
mod wild;

#[cfg(test)]
mod tests;

pub use archive::archive;
pub use child::{CHILD_SUBCOMMAND, run_child, shared_in_child};
pub use error::LinkError;
pub use imports::default_allowed_imports;
pub use prelink::{PrelinkInput, prelink};
pub use shared::{LinkerChoice, SharedOptions, shared};
pub use verify::{ArtifactKind, Report, verify};
