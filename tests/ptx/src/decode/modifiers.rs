//! The modifiers of an opcode, taken one by one.

use crate::error::Error;
use crate::types::Type;

/// An opcode split at its dots.
pub struct Modifiers<'a> {
    /// The instruction's name.
    pub name: &'a str,
    rest: Vec<&'a str>,
    line: u32,
}

impl<'a> Modifiers<'a> {
    /// Splits an opcode.
    pub fn new(opcode: &'a str, line: u32) -> Self {
        let mut parts = opcode.split('.');
        let name = parts.next().unwrap_or("");
        Self { name, rest: parts.collect(), line }
    }

    /// Takes the first of `names` that the opcode carries.
    pub fn take(&mut self, names: &[&'static str]) -> Option<&'static str> {
        for &name in names {
            if let Some(index) = self.rest.iter().position(|part| *part == name) {
                self.rest.remove(index);
                return Some(name);
            }
        }
        None
    }

    /// Takes `name`; whether it was there.
    pub fn flag(&mut self, name: &'static str) -> bool {
        self.take(&[name]).is_some()
    }

    /// Takes modifiers that change nothing here.
    pub fn ignore(&mut self, names: &[&'static str]) {
        while self.take(names).is_some() {}
    }

    /// Takes modifiers that start with one of `prefixes`, such as cache hints.
    pub fn ignore_prefixed(&mut self, prefixes: &[&str]) {
        self.rest.retain(|part| !prefixes.iter().any(|prefix| part.starts_with(prefix)));
    }

    /// Takes the first type.
    pub fn kind(&mut self) -> Result<Type, Error> {
        let Some(index) = self.rest.iter().position(|part| Type::parse(part).is_some()) else {
            return Err(self.error("needs a type"));
        };
        Ok(Type::parse(self.rest.remove(index)).unwrap_or(Type::B32))
    }

    /// An error about this opcode.
    pub fn error(&self, message: &str) -> Error {
        Error::new(self.line, format!("{}: {message}", self.name))
    }

    /// Whether modifiers are left.
    pub fn finish(self) -> Result<(), Error> {
        match self.rest.first() {
            None => Ok(()),
            Some(part) => Err(self.error(&format!("the modifier .{part} is unknown or out of place here"))),
        }
    }
}
