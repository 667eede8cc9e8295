//! What a file of each kind does with its input.

mod graph;
mod loops;

/// Gives the output for the whole input text, its first line included, and the words after the subtest's name.
pub type Subtest = fn(&str, &[&str]) -> Result<String, String>;

const SUBTESTS: &[(&str, Subtest)] = &[
    ("graph-roundtrip", graph::round_trip),
    ("infer", graph::infer),
    ("pass", graph::pass),
    ("loops-roundtrip", loops::round_trip),
    ("verify", loops::verify),
    ("interpret", loops::interpret),
    ("schedule", loops::schedule),
    ("drop-unread", loops::drop_unread),
];

/// The subtest of that name.
pub fn find(name: &str) -> Option<Subtest> {
    SUBTESTS.iter().find(|(known, _)| *known == name).map(|(_, subtest)| *subtest)
}
