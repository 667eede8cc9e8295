//! Why interpretation stopped.

use std::fmt;

/// Why a kernel or program has no result.
#[derive(Clone, PartialEq, Debug)]
pub enum Fault {
    /// An [`Expr::Checked`](crate::loops::Expr::Checked) or [`Action::Check`](crate::loops::Action::Check) failed: the
    /// run is to fail with this message.
    Check(String),
    /// A load or store beyond its tensor.
    OutOfRange {
        /// Name of the kernel.
        kernel: String,
        /// Position of the parameter.
        parameter: u32,
        /// Whether it was a store.
        store: bool,
        /// The index.
        index: Vec<i64>,
        /// The tensor's shape.
        shape: Vec<i64>,
    },
    /// The fuel is used up.
    Fuel,
    /// The inputs do not fit the program.
    Input(String),
    /// The kernel or program is not well formed, or does what the interpreter cannot.
    Invalid(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Check(message) => write!(f, "check failed: {message}"),
            Self::OutOfRange { kernel, parameter, store, index, shape } => {
                let access = if *store { "store to" } else { "load of" };
                write!(f, "kernel {kernel}: {access} p{parameter} at {index:?} is outside its shape {shape:?}")
            }
            Self::Fuel => f.write_str("more steps are needed than allowed"),
            Self::Input(message) => write!(f, "input: {message}"),
            Self::Invalid(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Fault {}

/// What interpretation may still cost: a unit for each scalar expression and loop round, and for each byte of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fuel(u64);

impl Fuel {
    /// Enough for `steps`.
    pub fn new(steps: u64) -> Self {
        Self(steps)
    }

    /// Enough for anything that ends in a lifetime.
    pub fn unlimited() -> Self {
        Self(u64::MAX)
    }

    /// What is left.
    pub fn left(self) -> u64 {
        self.0
    }

    /// Takes `steps`, or fails when fewer are left.
    pub fn spend(&mut self, steps: u64) -> Result<(), Fault> {
        self.0 = self.0.checked_sub(steps).ok_or(Fault::Fuel)?;
        Ok(())
    }
}
