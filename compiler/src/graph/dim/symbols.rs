//! Symbols: the unknowns of dimension expressions, their names and their bounds.

use super::bounds::Bounds;
use std::collections::HashMap;
use std::fmt;

const SIGNED: u32 = 1 << 31;
const POSITIVE: u32 = 1 << 30;

/// One unknown integer. Its two top bits hold the least value it may take, so that expressions simplify without a
/// table: none set: at least 0; bit 30: at least 1; bit 31: any value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SymbolId(pub u32);

impl SymbolId {
    /// The symbol's position in its [`Symbols`] table.
    pub fn index(self) -> usize {
        (self.0 & !(SIGNED | POSITIVE)) as usize
    }

    /// The least value every use of this symbol may rely on: `i64::MIN`, 0 or 1.
    pub fn minimum(self) -> i64 {
        match self.0 {
            id if id & SIGNED != 0 => i64::MIN,
            id if id & POSITIVE != 0 => 1,
            _ => 0,
        }
    }

    fn new(index: usize, minimum: i64) -> SymbolId {
        let flags = match minimum {
            i64::MIN..0 => SIGNED,
            0 => 0,
            1.. => POSITIVE,
        };
        SymbolId(index as u32 | flags)
    }
}

impl fmt::Display for SymbolId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "s{}", self.index())
    }
}

#[derive(Clone, Debug)]
struct Entry {
    id: SymbolId,
    name: String,
    minimum: i64,
    maximum: Option<i64>,
}

/// The symbols of one model: unique names, and bounds.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    entries: Vec<Entry>,
    by_name: HashMap<String, SymbolId>,
    next_suffix: HashMap<String, u32>,
}

impl Symbols {
    /// An empty table.
    pub fn new() -> Symbols {
        Symbols::default()
    }

    /// The symbol of this name; made with bounds `0..` when there is none yet.
    pub fn named(&mut self, name: &str) -> SymbolId {
        self.find(name).unwrap_or_else(|| self.insert(name.to_string(), 0, None))
    }

    /// The symbol of this name, if there is one.
    pub fn find(&self, name: &str) -> Option<SymbolId> {
        self.by_name.get(name).copied()
    }

    /// A new symbol of bounds `0..`, named `prefix` or `prefix_N` with the first free N.
    pub fn fresh(&mut self, prefix: &str) -> SymbolId {
        self.fresh_within(prefix, 0, None)
    }

    /// A new symbol with the given bounds (inclusive); `i64::MIN` and `None` mean unbounded.
    pub fn fresh_within(&mut self, prefix: &str, minimum: i64, maximum: Option<i64>) -> SymbolId {
        let mut name = prefix.to_string();
        while name.is_empty() || self.by_name.contains_key(&name) {
            let suffix = self.next_suffix.entry(prefix.to_string()).or_insert(0);
            *suffix += 1;
            name = format!("{prefix}_{suffix}");
        }
        self.insert(name, minimum, maximum)
    }

    /// Narrows a symbol's bounds. A wider bound than the present one is ignored: expressions may rely on the present one.
    pub fn restrict(&mut self, id: SymbolId, minimum: i64, maximum: Option<i64>) {
        if let Some(entry) = self.entries.get_mut(id.index()) {
            entry.minimum = entry.minimum.max(minimum);
            entry.maximum = match (entry.maximum, maximum) {
                (Some(present), Some(new)) => Some(present.min(new)),
                (present, new) => present.or(new),
            };
        }
    }

    /// The symbol's name; empty for a symbol of another table.
    pub fn name(&self, id: SymbolId) -> &str {
        self.entries.get(id.index()).map_or("", |entry| &entry.name)
    }

    /// All symbols in the order they were made.
    pub fn iter(&self) -> impl Iterator<Item = SymbolId> + '_ {
        self.entries.iter().map(|entry| entry.id)
    }

    /// How many symbols there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no symbols.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn insert(&mut self, name: String, minimum: i64, maximum: Option<i64>) -> SymbolId {
        let id = SymbolId::new(self.entries.len(), minimum);
        self.by_name.insert(name.clone(), id);
        self.entries.push(Entry { id, name, minimum, maximum });
        id
    }
}

impl Bounds for Symbols {
    fn minimum(&self, id: SymbolId) -> i64 {
        self.entries.get(id.index()).map_or(id.minimum(), |entry| entry.minimum)
    }

    fn maximum(&self, id: SymbolId) -> Option<i64> {
        self.entries.get(id.index()).and_then(|entry| entry.maximum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found_again() {
        let mut symbols = Symbols::new();
        let batch = symbols.named("batch");
        assert_eq!(symbols.named("batch"), batch);
        let other = symbols.fresh("batch");
        assert_ne!(other, batch);
        assert_eq!(symbols.name(other), "batch_1");
        assert_eq!(symbols.find("batch_1"), Some(other));
        assert_eq!(symbols.len(), 2);
    }

    #[test]
    fn bounds_only_narrow() {
        let mut symbols = Symbols::new();
        let offset = symbols.fresh_within("offset", i64::MIN, None);
        assert_eq!(offset.minimum(), i64::MIN);
        symbols.restrict(offset, -4, Some(10));
        symbols.restrict(offset, -8, Some(20));
        assert_eq!((symbols.minimum(offset), symbols.maximum(offset)), (-4, Some(10)));
        assert_eq!(symbols.fresh_within("batch", 3, None).minimum(), 1);
    }
}
