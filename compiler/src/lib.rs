//! The lithify compiler.
