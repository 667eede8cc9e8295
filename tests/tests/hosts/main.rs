//! Uses produced libraries as their users do: from C and Rust programs, linked statically and dynamically.
//!
//! The programs are in `tests/hosts`. They need `cc` and `rustc`, as a build of this workspace does.

mod c;
mod libraries;
mod rust;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use lithify::link::{self, LinkerChoice, SharedOptions};
use lithify::package::{self, Interface};
use lithify::pipeline::{self, Artifact, CompileOptions};
use lithify_tests::models::{self, ModelBuilder};
use tempfile::TempDir;

/// The models that the programs use: libraries, headers and Rust modules in one folder.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    FOLDER
        .get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            for (name, model) in [("shifted", models::shifted()), ("sums", models::sums()), ("kept", models::kept())] {
                package(&compile(&model, &CompileOptions::host(name)), folder.path());
            }
            folder
        })
        .path()
}

fn compile(model: &ModelBuilder, options: &CompileOptions) -> Artifact {
    let mut model = pipeline::load_bytes(model.bytes().into(), None, options).unwrap();
    pipeline::compile(&mut model, options).unwrap()
}

/// Writes everything that an artifact is used with.
fn package(artifact: &Artifact, folder: &Path) {
    let name = &artifact.name;
    let interface = Interface::of(name, &artifact.program);
    fs::write(folder.join(format!("{name}.h")), package::header(&interface)).unwrap();
    fs::write(folder.join(format!("{name}.rs")), package::rust_module(&interface).unwrap()).unwrap();
    fs::write(folder.join(format!("lib{name}.a")), link::archive(&artifact.object, name).unwrap()).unwrap();
    share(&artifact.object, &folder.join(format!("lib{name}.so")));
}

fn share(object: &[u8], out: &Path) {
    let options = SharedOptions { linker: LinkerChoice::Wild, ..SharedOptions::default() };
    link::shared(object, out, &options).unwrap();
}

/// A source file of the hosts.
fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("hosts").join(name)
}

/// Runs a command to success.
fn run(command: &mut Command) {
    let output = command.output().unwrap();
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}{error}", output.status);
}
