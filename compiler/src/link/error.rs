//! The errors of linking.

use std::fmt;
use std::path::PathBuf;

/// Why an artifact could not be put together.
#[derive(Debug)]
pub enum LinkError {
    /// The object format, processor or request is outside what this linker does.
    Unsupported(String),
    /// An input could not be read as what it should be.
    Malformed {
        /// The object, archive member or file.
        input: String,
        /// What is wrong with it.
        reason: String,
    },
    /// An exported symbol is defined neither by the model nor by the stub.
    MissingExport(String),
    /// Symbols that nothing defines and that may not be imported, each with the input that refers to it.
    Unresolved(Vec<(String, String)>),
    /// Content that an artifact must not have, such as thread-local storage or constructors.
    Forbidden {
        /// The object or archive member.
        input: String,
        /// The content and where it is.
        content: String,
    },
    /// A file could not be read or written.
    File {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        error: std::io::Error,
    },
    /// The linker ran and refused its input.
    Linker {
        /// The linker's name or path.
        linker: String,
        /// Its messages.
        message: String,
    },
}

impl LinkError {
    pub(super) fn malformed(input: &str, reason: impl fmt::Display) -> Self {
        LinkError::Malformed { input: input.to_owned(), reason: reason.to_string() }
    }

    pub(super) fn forbidden(input: &str, content: impl Into<String>) -> Self {
        LinkError::Forbidden { input: input.to_owned(), content: content.into() }
    }

    pub(super) fn file(path: impl Into<PathBuf>, error: std::io::Error) -> Self {
        LinkError::File { path: path.into(), error }
    }

    pub(super) fn linker(linker: impl Into<String>, message: impl Into<String>) -> Self {
        LinkError::Linker { linker: linker.into(), message: message.into() }
    }
}

impl fmt::Display for LinkError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkError::Unsupported(what) => write!(formatter, "linking: not supported: {what}"),
            LinkError::Malformed { input, reason } => write!(formatter, "linking: cannot read {input}: {reason}"),
            LinkError::MissingExport(name) => {
                write!(formatter, "linking: the exported symbol `{name}` is defined neither by the model nor the stub")
            }
            LinkError::Unresolved(symbols) => {
                write!(formatter, "linking: undefined symbols that may not be imported:")?;
                for (name, input) in symbols {
                    write!(formatter, "\n  `{name}`, referred to by {input}")?;
                }
                Ok(())
            }
            LinkError::Forbidden { input, content } => write!(formatter, "linking: {input} contains {content}"),
            LinkError::File { path, error } => write!(formatter, "linking: {}: {error}", path.display()),
            LinkError::Linker { linker, message } => write!(formatter, "linking with {linker} failed: {message}"),
        }
    }
}

impl std::error::Error for LinkError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            LinkError::File { error, .. } => Some(error),
            _ => None,
        }
    }
}
