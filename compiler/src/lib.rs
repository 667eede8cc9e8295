//! The lithify compiler.

pub mod check;
pub mod cli;
pub mod codegen;
pub mod error;
pub mod graph;
pub mod host;
pub mod link;
pub mod loops;
pub mod memory;
pub mod ops;
pub mod package;
pub mod passes;
pub mod pipeline;
pub mod proto;
pub mod schedule;
pub mod shape;
pub mod target;
