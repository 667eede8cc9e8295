//! Loading and calling a compiled library, through the generic table that each of them has.
//!
//! [`Library::open`] finds the model's name by itself, [`Library::session`] makes a context, and [`Session::run`] calls
//! the model with tensors. [`Session::bind`] fixes inputs and outputs for repeated calls without copies.

mod bound;
mod error;
mod library;
mod session;

pub use bound::Bound;
pub use error::HostError;
pub use library::Library;
pub use session::{Session, SessionOptions};
