//! C programs against static and shared libraries.

use std::path::PathBuf;
use std::process::Command;

use super::{folder, run, source};

/// How a program gets its models.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Linkage {
    Static,
    Shared,
}

/// Builds a program of `tests/hosts` with warnings as errors.
fn build(program: &str, models: &[&str], linkage: Linkage) -> PathBuf {
    let out = folder().join(format!("{program}_{linkage:?}"));
    let mut command = Command::new("cc");
    command.args(["-std=gnu99", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-I"]).arg(folder());
    command.arg(source(&format!("{program}.c"))).arg("-o").arg(&out);
    for model in models {
        match linkage {
            Linkage::Static => command.arg(folder().join(format!("lib{model}.a"))),
            Linkage::Shared => command.arg(folder().join(format!("lib{model}.so"))),
        };
    }
    run(command.arg("-ldl"));
    out
}

fn build_and_run(program: &str, models: &[&str]) {
    for linkage in [Linkage::Static, Linkage::Shared] {
        run(Command::new(build(program, models, linkage)).env("LD_LIBRARY_PATH", folder()));
    }
}

#[test]
fn two_models_in_one_program() {
    build_and_run("two_models", &["shifted", "kept"]);
}

#[test]
fn wrong_calls_give_codes_and_messages() {
    build_and_run("contract", &["sums", "kept"]);
}

#[test]
fn contexts_run_at_once() {
    build_and_run("threads", &["sums"]);
}

#[test]
#[cfg(target_env = "gnu")]
fn runs_do_not_allocate() {
    build_and_run("allocations", &["shifted", "sums"]);
}

#[test]
fn libraries_are_loaded_again_and_again() {
    let program = build("reload", &[], Linkage::Shared);
    run(Command::new(program).arg(folder().join("libshifted.so")));
}
