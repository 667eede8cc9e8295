//! Everything that sees protobuf: the ONNX messages, loading a model, external data, limits.
//!
//! [`load_path`] or [`load_bytes`] gives a [`Model`]: the decoded messages, checked against [`Limits`], and a way to
//! turn each stored tensor into a [`HostTensor`] of plain little-endian bytes. No input, however hostile, makes this
//! module panic, or take more time or memory than the limits allow; each refusal is a [`LoadError`] that names the
//! place in the model.

mod check;
pub mod element;
mod error;
mod external;
#[cfg(test)]
mod hostile;
mod limits;
mod load;
pub mod onnx;
mod scan;
mod sparse;
mod tensor;

pub use error::LoadError;
pub use limits::{Limits, LoadOptions};
pub use load::{Model, load_bytes, load_path};
pub use sparse::decode_sparse;
pub use tensor::{HostData, HostTensor, decode_tensor};
