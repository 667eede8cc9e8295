//! Compiles models that may be hostile, one after another, and prints for each, on a line: its path, milliseconds, the
//! greatest memory of the process so far in KiB, and `compiled`, `refused: MESSAGE` or `panicked: MESSAGE`.
//!
//! Tests run it under limits: a case that has no line ended the process.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Instant;

use lithify::pipeline::{self, CompileOptions};

fn main() {
    let mut out = std::io::stdout().lock();
    for path in std::env::args().skip(1) {
        let start = Instant::now();
        let result = match catch_unwind(AssertUnwindSafe(|| compile(Path::new(&path)))) {
            Ok(Ok(())) => "compiled".to_owned(),
            Ok(Err(message)) => format!("refused: {message}"),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned();
                let text = text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
                format!("panicked: {}", text.unwrap_or_default())
            }
        };
        let line = format!(
            "{path}\t{}\t{}\t{}\n",
            start.elapsed().as_millis(),
            greatest_memory(),
            result.replace(['\n', '\r', '\t'], " ")
        );
        // The tests see what is missing.
        let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
    }
}

fn compile(path: &Path) -> Result<(), String> {
    let options = CompileOptions::host("hostile");
    let mut model = pipeline::load(path, &options).map_err(|errors| errors.to_string())?;
    pipeline::compile(&mut model, &options).map_err(|errors| errors.to_string())?;
    Ok(())
}

/// The greatest resident memory of this process, in KiB; 0 where the system does not tell.
fn greatest_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").trim().parse().unwrap_or_default()
}
