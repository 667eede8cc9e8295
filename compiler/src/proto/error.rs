//! Why a model could not be loaded.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a model, or one of its tensors, could not be loaded.
#[derive(Debug)]
pub enum LoadError {
    /// A file could not be opened or read.
    File {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The input is not an ONNX model at all.
    NotAModel {
        /// What it seems to be, and what to do.
        problem: String,
    },
    /// The bytes are not a well-formed protobuf message.
    Malformed {
        /// Path of fields that leads to the problem, such as `model.graph[0].node[3].input[0]`.
        place: String,
        /// Position in the file, in bytes.
        offset: usize,
        /// What is wrong there.
        problem: &'static str,
    },
    /// The messages do not fit the ONNX schema.
    Schema {
        /// What the decoder said.
        problem: String,
    },
    /// The model is larger, in some measure, than [`super::Limits`] allows.
    Limit {
        /// Where in the model.
        place: String,
        /// What was measured.
        what: &'static str,
        /// How much there is.
        found: u64,
        /// How much is allowed.
        limit: u64,
        /// The field of [`super::Limits`] that allows more.
        field: &'static str,
    },
    /// The model uses an intermediate representation newer than this compiler knows.
    IrVersion {
        /// The model's version.
        found: i64,
        /// The newest version known.
        newest: i64,
    },
    /// A tensor contradicts itself or the ONNX specification.
    Tensor {
        /// Name of the tensor; empty when it has none.
        tensor: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// A tensor's external data cannot be read, or must not be.
    External {
        /// Name of the tensor; empty when it has none.
        tensor: String,
        /// The file it asks for.
        location: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// An error with the place in the model where it happened.
    Within {
        /// The place, such as `attribute "value" of node "c" (Constant)`.
        place: String,
        /// What happened there.
        error: Box<LoadError>,
    },
}

impl LoadError {
    /// Adds the place in the model, outermost last.
    #[must_use]
    pub fn within(self, place: impl Into<String>) -> Self {
        Self::Within { place: place.into(), error: Box::new(self) }
    }

    pub(super) fn tensor(tensor: &str, problem: impl Into<String>) -> Self {
        Self::Tensor { tensor: tensor.to_owned(), problem: problem.into() }
    }

    pub(super) fn external(tensor: &str, location: &str, problem: impl Into<String>) -> Self {
        Self::External { tensor: tensor.to_owned(), location: location.to_owned(), problem: problem.into() }
    }
}

/// Prints a name that came from a file: quoted, escaped, and cut where it is very long.
pub(super) struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LONGEST: usize = 200;
        match self.0.char_indices().nth(LONGEST) {
            None => write!(out, "{:?}", self.0),
            Some((end, _)) => write!(out, "{:?}...", &self.0[..end]),
        }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, source } => write!(out, "cannot read {}: {source}", path.display()),
            Self::NotAModel { problem } => write!(out, "not an ONNX model: {problem}"),
            Self::Malformed { place, offset, problem } => write!(
                out,
                "damaged model at byte {offset}, in {place}: {problem}; the file may be incomplete, or not an ONNX model"
            ),
            Self::Schema { problem } => {
                write!(out, "the model does not follow the ONNX schema: {problem}; export it again")
            }
            Self::Limit { place, what, found, limit, field } => write!(
                out,
                "{place}: {what} is {found}, above the limit of {limit}; if the model is to be trusted, raise `{field}`"
            ),
            Self::IrVersion { found, newest } => write!(
                out,
                "the model has IR version {found}, the newest known is {newest}; export it with an older IR version"
            ),
            Self::Tensor { tensor, problem } if tensor.is_empty() => write!(out, "unnamed tensor: {problem}"),
            Self::Tensor { tensor, problem } => write!(out, "tensor {}: {problem}", Quoted(tensor)),
            Self::External { tensor, location, problem } => {
                write!(out, "tensor {}: external data {}: {problem}", Quoted(tensor), Quoted(location))
            }
            Self::Within { place, error } => write!(out, "{place}: {error}"),
        }
    }
}

impl std::error::Error for LoadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File { source, .. } => Some(source),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_and_cut() {
        assert_eq!(Quoted("a\n").to_string(), r#""a\n""#);
        assert_eq!(Quoted(&"ü".repeat(1000)).to_string().chars().count(), 205);
    }

    #[test]
    fn the_place_comes_first() {
        let error = LoadError::tensor("w", "is empty").within("node \"n\" (Conv)");
        assert_eq!(error.to_string(), r#"node "n" (Conv): tensor "w": is empty"#);
    }
}
