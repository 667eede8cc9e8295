//! From scheduled loops to code.

pub mod clif;
