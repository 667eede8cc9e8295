//! The graph: values, nodes and the symbolic dimensions of their shapes.

pub mod dim;

pub use dim::{Dim, SymbolId};
