//! A Rust program against static libraries, built with `rustc` alone.

use std::fs;
use std::process::Command;

use super::{folder, run, source};

#[test]
fn models_in_one_program() {
    // Modules are found beside the program's source.
    let main = folder().join("main_of_models.rs");
    fs::copy(source("two_models.rs"), &main).unwrap();
    let out = folder().join("main_of_models");
    let mut command = Command::new("rustc");
    command.args(["--edition=2021", "-Dwarnings", "-Copt-level=1"]).arg(&main).arg("-o").arg(&out);
    command.arg("-L").arg(folder());
    for model in ["shifted", "sums", "kept"] {
        command.arg(format!("-lstatic={model}"));
    }
    run(&mut command);
    run(&mut Command::new(out));
}
