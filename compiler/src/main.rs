//! The command line of lithify.

fn main() {}
