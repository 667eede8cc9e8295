//! The table of operators in README.md is that of the compiler. `LITHIFY_BLESS=1` writes it.

use std::collections::BTreeMap;
use std::path::Path;

use lithify::ops::{Operator, operators};

const BEGIN: &str = "<!-- operators: begin -->\n";
const END: &str = "<!-- operators: end -->\n";

/// The width of a line of the table's source.
const WIDTH: usize = 118;

#[test]
fn the_table_of_operators_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("README.md marks where the table begins");
    let (present, after) = rest.split_once(END).expect("README.md marks where the table ends");
    let wanted = table();
    if present == wanted {
        return;
    }
    assert!(std::env::var_os("LITHIFY_BLESS").is_some(), "README.md's table of operators is old: set LITHIFY_BLESS=1");
    std::fs::write(&path, format!("{before}{BEGIN}{wanted}{END}{after}")).unwrap();
}

/// A paragraph for each domain: the operators by name, each with its operator sets where it does not exist in all.
fn table() -> String {
    let mut domains: BTreeMap<&str, BTreeMap<&str, Vec<&Operator>>> = BTreeMap::new();
    for operator in operators() {
        domains.entry(operator.domain).or_default().entry(operator.name).or_default().push(operator);
    }
    let mut text = String::new();
    for (domain, operators) in domains {
        let shown = if domain.is_empty() { "ai.onnx" } else { domain };
        text.push_str(&format!("`{shown}`, {} operators:\n", operators.len()));
        let names: Vec<String> = operators.iter().map(|(name, forms)| entry(name, forms)).collect();
        text.push_str(&wrapped(&names));
        text.push('\n');
    }
    text
}

fn entry(name: &str, forms: &[&Operator]) -> String {
    let first = forms.iter().map(|form| form.since).min().unwrap_or(1);
    let end = forms.iter().map(|form| form.until).max().unwrap_or(i64::MAX);
    match (first, end) {
        (..=1, i64::MAX) => name.to_owned(),
        (_, i64::MAX) => format!("{name} (from {first})"),
        (..=1, _) => format!("{name} (to {})", end - 1),
        (_, _) => format!("{name} ({first} to {})", end - 1),
    }
}

fn wrapped(names: &[String]) -> String {
    let mut text = String::new();
    let mut length = 0;
    for (place, name) in names.iter().enumerate() {
        let word = if place + 1 < names.len() { format!("{name},") } else { format!("{name}.") };
        let space = if length == 0 { "" } else { " " };
        if length + space.len() + word.len() > WIDTH {
            text.push('\n');
            text.push_str(&word);
            length = word.len();
        } else {
            text.push_str(space);
            text.push_str(&word);
            length += space.len() + word.len();
        }
    }
    text.push('\n');
    text
}
