//! Text-in, text-out tests: every file under `tests/filetests/`.
//!
//! A file says in its first line which subtest it is, gives the input, and after a line `; expect:` the output:
//!
//! ```text
//! ; test verify
//! kernel k() {
//!   e0: i32 = axis a0
//! }
//! ; expect:
//! kernel k: ...
//! ```
//!
//! Running with `LITHIFY_BLESS=1` writes the present output into the files. A new subtest is one function in
//! [`subtests`] and one line of its table.

mod subtests;

use std::path::{Path, PathBuf};

const EXPECT: &str = "\n; expect:\n";

#[test]
fn filetests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("filetests");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    assert!(!files.is_empty(), "no files under {}", root.display());
    let bless = std::env::var_os("LITHIFY_BLESS").is_some();
    let failures: Vec<String> = files
        .iter()
        .filter_map(|file| {
            let name = file.strip_prefix(&root).unwrap_or(file).display().to_string();
            run(file, bless).err().map(|error| format!("{name}: {error}"))
        })
        .collect();
    assert!(
        failures.is_empty(),
        "{} of {} files failed; LITHIFY_BLESS=1 accepts the new output\n\n{}",
        failures.len(),
        files.len(),
        failures.join("\n\n")
    );
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder of tests is readable") {
        let path = entry.expect("a folder entry is readable").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "txt") {
            files.push(path);
        }
    }
}

fn run(file: &Path, bless: bool) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    let (input, expected) = match text.split_once(EXPECT) {
        Some((input, expected)) => (input, Some(expected)),
        None => (text.trim_end(), None),
    };
    let first = input.lines().next().unwrap_or_default();
    let words: Vec<&str> = first.strip_prefix("; test ").unwrap_or_default().split_whitespace().collect();
    let (name, arguments) = words.split_first().ok_or("the first line is not `; test NAME`")?;
    let subtest = subtests::find(name).ok_or_else(|| format!("there is no subtest `{name}`"))?;
    // The error is an output too: most files that test errors expect one.
    let mut output = subtest(input, arguments).unwrap_or_else(|error| error);
    if !output.ends_with('\n') {
        output.push('\n');
    }
    if expected == Some(output.as_str()) {
        return Ok(());
    }
    if bless {
        return std::fs::write(file, format!("{input}{EXPECT}{output}")).map_err(|error| error.to_string());
    }
    Err(format!("expected\n{}but the output is\n{output}", expected.unwrap_or("nothing, ")))
}
