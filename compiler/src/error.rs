//! What can go wrong between a model and its artifact.

use std::fmt;

/// A stage of the pipeline, as named in messages and by `--dump`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Stage {
    /// Reading the file.
    Load,
    /// Building the graph.
    Graph,
    /// Types and shapes.
    Shape,
    /// Graph transformations.
    Passes,
    /// Lowering operators to loops.
    Loops,
    /// Scheduling.
    Schedule,
    /// Memory planning.
    Memory,
    /// Machine code.
    Codegen,
    /// Linking.
    Link,
    /// Writing headers and packages.
    Package,
}

impl Stage {
    /// The name in messages and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Graph => "graph",
            Self::Shape => "shape",
            Self::Passes => "passes",
            Self::Loops => "loops",
            Self::Schedule => "schedule",
            Self::Memory => "memory",
            Self::Codegen => "codegen",
            Self::Link => "link",
            Self::Package => "package",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One problem: where, what, and what to do about it.
#[derive(Clone, PartialEq, Debug)]
pub struct Error {
    /// Where in the pipeline.
    pub stage: Stage,
    /// The node, as `name (Operator-version)`, if one is at fault.
    pub node: Option<String>,
    /// What is wrong, and what the user can do.
    pub message: String,
}

impl Error {
    /// A problem of a stage, not of one node.
    pub fn new(stage: Stage, message: impl Into<String>) -> Self {
        Self { stage, node: None, message: message.into() }
    }

    /// The same problem, at a node.
    pub fn at(mut self, node: impl Into<String>) -> Self {
        self.node.get_or_insert(node.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.node {
            Some(node) => write!(f, "{}: node {node}: {}", self.stage, self.message),
            None => write!(f, "{}: {}", self.stage, self.message),
        }
    }
}

impl std::error::Error for Error {}

/// Every problem that was found, never empty.
#[derive(Clone, PartialEq, Debug)]
pub struct Errors(pub Vec<Error>);

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Errors {}

impl From<Error> for Errors {
    fn from(error: Error) -> Self {
        Self(vec![error])
    }
}
