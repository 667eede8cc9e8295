//! The examples do what they say, with the compiler under test.

use std::path::{Path, PathBuf};
use std::process::Command;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples")
}

/// Runs an example's script and gives what it prints.
fn run(example: &str, arguments: &[PathBuf]) -> String {
    let script = examples().join(example).join("run.sh");
    let mut command = Command::new(&script);
    command.args(arguments).env("LITHIFY", env!("CARGO_BIN_EXE_lithify"));
    let output = command.output().unwrap_or_else(|error| panic!("{}: {error}", script.display()));
    assert!(output.status.success(), "{}: {}", script.display(), String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn sample(digit: usize) -> PathBuf {
    examples().join(format!("digits/samples/digit-{digit}.pgm"))
}

#[test]
fn a_c_program_reads_digits() {
    for digit in 0..10 {
        assert_eq!(run("digits", &[sample(digit)]), format!("{digit}\n"));
    }
}

#[test]
fn a_rust_program_reads_digits() {
    let samples: Vec<PathBuf> = (0..10).map(sample).collect();
    assert_eq!(run("rust-host", &samples), (0..10).map(|digit| format!("{digit}\n")).collect::<String>());
}

#[test]
fn one_program_holds_two_models() {
    let text = run("two-models", &[]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    for line in lines {
        let (_, probability) = line.split_once(" with probability ").expect(line);
        let probability: f64 = probability.parse().unwrap();
        assert!((0.1..=1.0).contains(&probability), "{text}");
    }
}
