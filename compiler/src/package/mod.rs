//! What is written beside a compiled library: the C header and the Rust module that call it.

mod header;
mod identifier;
mod interface;
mod rust;

pub use header::header;
pub use identifier::is_identifier;
pub use interface::{Interface, InterfacePort, PortDim};
pub use rust::rust_module;
