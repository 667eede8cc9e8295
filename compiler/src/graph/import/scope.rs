//! Names in nested graphs.

use std::collections::HashMap;

use crate::graph::ValueId;

/// The names visible at a place: those of the innermost graph first.
#[derive(Debug, Default)]
pub(super) struct Scope {
    levels: Vec<HashMap<String, ValueId>>,
}

impl Scope {
    /// Opens a graph.
    pub fn enter(&mut self) {
        self.levels.push(HashMap::new());
    }

    /// Closes a graph.
    pub fn leave(&mut self) {
        self.levels.pop();
    }

    /// The value of a name.
    pub fn find(&self, name: &str) -> Option<ValueId> {
        self.levels.iter().rev().find_map(|level| level.get(name)).copied()
    }

    /// The value of a name of the innermost graph.
    pub fn defined_here(&self, name: &str) -> Option<ValueId> {
        self.levels.last()?.get(name).copied()
    }

    /// Gives a name to a value in the innermost graph.
    pub fn define(&mut self, name: &str, id: ValueId) -> Result<(), String> {
        let level = self.levels.last_mut().ok_or("no graph is open")?;
        match level.insert(name.to_owned(), id) {
            None => Ok(()),
            Some(_) => Err(format!("`{name}` is defined twice")),
        }
    }
}
