//! How a command fails.

use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use crate::error::{Error, Errors};
use crate::host::HostError;
use crate::link::LinkError;

/// Why a command fails.
#[derive(Debug)]
pub enum Failure {
    /// Problems of a model.
    Problems(Errors),
    /// Anything else.
    Message(String),
    /// Arguments that do not make sense.
    Usage(String),
    /// The command has already said what is wrong.
    Reported,
}

/// The result of a command.
pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// A file that cannot be read or written.
    pub fn file(path: &Path, error: &io::Error) -> Self {
        Self::Message(format!("{}: {error}", path.display()))
    }

    /// Prints the failure and gives the exit status.
    pub fn report(&self) -> ExitCode {
        match self {
            Self::Problems(errors) => {
                for error in &errors.0 {
                    eprintln!("error: {error}");
                }
                if errors.0.len() > 1 {
                    eprintln!("{} problems", errors.0.len());
                }
            }
            Self::Message(message) | Self::Usage(message) => eprintln!("error: {message}"),
            Self::Reported => {}
        }
        if matches!(self, Self::Usage(_)) { ExitCode::from(2) } else { ExitCode::FAILURE }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Problems(errors) => errors.fmt(f),
            Self::Message(message) | Self::Usage(message) => f.write_str(message),
            Self::Reported => Ok(()),
        }
    }
}

impl From<Errors> for Failure {
    fn from(errors: Errors) -> Self {
        Self::Problems(errors)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Problems(error.into())
    }
}

impl From<HostError> for Failure {
    fn from(error: HostError) -> Self {
        Self::Message(error.to_string())
    }
}

impl From<LinkError> for Failure {
    fn from(error: LinkError) -> Self {
        Self::Message(format!("link: {error}"))
    }
}
