//! Compiles models in a child process with limits on time and memory.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Milliseconds that a model may take. Test builds are not optimized, and tests run beside each other.
const MILLISECONDS: u64 = 10_000;

/// KiB that a process which compiles models may take.
const MEMORY: u64 = 2 << 20;

/// KiB of addresses that the process may ask for: room for threads' stacks and arenas beside its memory.
const ADDRESSES: u64 = 6 << 20;

/// A model file, and its name in messages.
pub struct Case {
    /// Unique among the cases.
    pub name: String,
    /// The file.
    pub bytes: Vec<u8>,
}

impl Case {
    pub fn new(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { name: name.into(), bytes }
    }
}

/// Compiles all cases and gives each one's message, or `None` where it compiled, by name. Ends the test where one
/// panics, ends its process, or goes beyond the limits.
pub fn compile(cases: &[Case]) -> HashMap<String, Option<String>> {
    let folder = tempfile::tempdir().unwrap();
    compile_in(folder.path(), cases)
}

/// As [`compile`], with the files in a folder where external data may be.
pub fn compile_in(folder: &Path, cases: &[Case]) -> HashMap<String, Option<String>> {
    let mut results = HashMap::new();
    let mut failures = Vec::new();
    let mut left: Vec<(&Case, PathBuf)> =
        cases.iter().enumerate().map(|(index, case)| (case, folder.join(format!("{index}.onnx")))).collect();
    for (case, path) in &left {
        fs::write(path, &case.bytes).unwrap();
    }
    while !left.is_empty() {
        // Few at a time, so that memory is attributed to a case, and a command line is short.
        let group: Vec<PathBuf> = left.iter().take(100).map(|(_, path)| path.clone()).collect();
        let (lines, ending) = run(&group);
        let finished = lines.len();
        for ((case, _), line) in left.drain(..finished).zip(&lines) {
            match judge(line) {
                Ok(message) => drop(results.insert(case.name.clone(), message)),
                Err(problem) => failures.push(format!("{}: {problem}", case.name)),
            }
        }
        if finished < group.len() {
            let (case, _) = left.remove(0);
            failures.push(format!("{}: the process ended: {ending}", case.name));
        }
    }
    assert!(failures.is_empty(), "{} of {} cases fail:\n{}", failures.len(), cases.len(), failures.join("\n"));
    results
}

/// Runs the child; gives its lines, and how it ended.
fn run(paths: &[PathBuf]) -> (Vec<String>, String) {
    let seconds = MILLISECONDS / 1000 * (paths.len() as u64).min(12);
    let script = format!("ulimit -c 0; ulimit -v {ADDRESSES}; exec timeout {seconds} \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_hostile")]).args(paths);
    let output = command.stdin(Stdio::null()).env("RAYON_NUM_THREADS", "2").output().unwrap();
    let lines = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
    let error = String::from_utf8_lossy(&output.stderr);
    let tail: Vec<&str> = error.lines().rev().take(3).collect();
    (lines, format!("{}; {}", output.status, tail.into_iter().rev().collect::<Vec<_>>().join(" / ")))
}

/// The message in a line of the child, or what is wrong with it.
fn judge(line: &str) -> Result<Option<String>, String> {
    let fields: Vec<&str> = line.splitn(4, '\t').collect();
    let [_, milliseconds, memory, result] = fields[..] else { return Err(format!("unreadable line {line}")) };
    let number = |text: &str| text.parse::<u64>().map_err(|error| error.to_string());
    if number(milliseconds)? > MILLISECONDS {
        return Err(format!("takes {milliseconds} ms: {result}"));
    }
    if number(memory)? > MEMORY {
        return Err(format!("takes {memory} KiB: {result}"));
    }
    match result.strip_prefix("refused: ") {
        Some("") => Err("refused without a message".into()),
        Some(message) => Ok(Some(message.to_owned())),
        None if result == "compiled" => Ok(None),
        None => Err(result.to_owned()),
    }
}
