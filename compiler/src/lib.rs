//! The lithify compiler.

pub mod graph;
