//! What is wrong with a PTX text.

use std::fmt;

/// A PTX text that cannot be parsed or decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Line of the text, from 1.
    pub line: u32,
    /// What is wrong on that line.
    pub message: String,
}

impl Error {
    pub(crate) fn new(line: u32, message: impl Into<String>) -> Self {
        Self { line, message: message.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PTX line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for Error {}
