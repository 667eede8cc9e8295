//! What can go wrong between a library and its host.

use std::fmt;
use std::path::{Path, PathBuf};

use lithify_runtime_stub::abi::Status;

/// Why a library cannot be loaded or called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HostError {
    /// The file cannot be loaded, or is not a library of lithify that this version understands.
    Library {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A call of the library failed.
    Call {
        /// The function, such as `run`.
        function: &'static str,
        /// What it returned: a [`Status`] by number.
        status: i32,
        /// The library's message, or what the status means.
        message: String,
    },
    /// An argument cannot be passed to a library.
    Argument(String),
}

impl HostError {
    pub(super) fn library(path: &Path, problem: impl Into<String>) -> Self {
        Self::Library { path: path.to_owned(), problem: problem.into() }
    }

    /// A failed call; the status explains itself where the library has no message.
    pub(super) fn call(function: &'static str, status: i32, message: String) -> Self {
        let message = if message.is_empty() { describe(status).to_owned() } else { message };
        Self::Call { function, status, message }
    }
}

fn describe(status: i32) -> &'static str {
    match status {
        s if s == Status::OutOfMemory as i32 => "out of memory",
        s if s == Status::UnsupportedCpu as i32 => {
            "this processor lacks instructions that the library was compiled for; compile it with a lower --cpu"
        }
        s if s == Status::VersionMismatch as i32 => "the library is of another version",
        _ => "the library gives no reason",
    }
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library { path, problem } => write!(f, "library {}: {problem}", path.display()),
            Self::Call { function, status, message } => write!(f, "{function} fails with status {status}: {message}"),
            Self::Argument(problem) => f.write_str(problem),
        }
    }
}

impl std::error::Error for HostError {}
