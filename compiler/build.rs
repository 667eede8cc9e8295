//! Builds the runtime stub as a position-independent static library, which `link::stub` embeds in the compiler.
//!
//! The stub is also an ordinary dependency of the compiler. Here it is built a second time, by a nested cargo with its
//! own target directory and fixed flags, so neither the profile nor `RUSTFLAGS` of the outer build reach code that is
//! shipped inside models.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Settings of the release profile, given on the command line so that the workspace's profiles do not apply.
const PROFILE: [&str; 10] = [
    "profile.release.opt-level=3",
    "profile.release.lto='fat'",
    "profile.release.codegen-units=1",
    "profile.release.panic='abort'",
    "profile.release.debug=false",
    "profile.release.strip='none'",
    "profile.release.debug-assertions=false",
    "profile.release.overflow-checks=false",
    "profile.release.incremental=false",
    "profile.release.rpath=false",
];

fn main() {
    let manifest_dir = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let out_dir = PathBuf::from(variable("OUT_DIR"));
    let target = variable("TARGET");
    let stub_dir = manifest_dir
        .join("../runtime-stub")
        .canonicalize()
        .unwrap_or_else(|error| panic!("the runtime stub's sources are needed beside the compiler's: {error}"));
    println!("cargo::rerun-if-changed=build.rs");
    for watched in ["src", "Cargo.toml", "../Cargo.lock", "../Cargo.toml"] {
        println!("cargo::rerun-if-changed={}", stub_dir.join(watched).display());
    }
    let built = build_stub(&stub_dir, &out_dir.join("runtime-stub"), &target);
    let embedded = out_dir.join("runtime-stub.a");
    fs::copy(&built, &embedded)
        .unwrap_or_else(|error| panic!("cannot copy {} to {}: {error}", built.display(), embedded.display()));
    println!("cargo::rustc-env=LITHIFY_STUB_ARCHIVE={}", embedded.display());
    println!("cargo::rustc-env=LITHIFY_STUB_TARGET={target}");
}

/// Runs the nested cargo and returns the path of the static library it made.
fn build_stub(stub_dir: &Path, target_dir: &Path, target: &str) -> PathBuf {
    let mut command = Command::new(variable("CARGO"));
    command.current_dir(stub_dir).args(["rustc", "--lib", "--crate-type", "staticlib", "--release", "--quiet"]);
    command.args(["--target", target, "--offline", "--color", "never"]).arg("--target-dir").arg(target_dir);
    for setting in PROFILE {
        command.args(["--config", setting]);
    }
    for (name, _) in env::vars_os() {
        // The outer build's choices of profile, flags, wrappers (clippy) and directories are not the stub's. The
        // jobserver's variables (CARGO_MAKEFLAGS) stay.
        let name = name.to_string_lossy();
        let outer = ["CARGO_PROFILE_", "CARGO_TARGET_", "CARGO_BUILD_", "CARGO_FEATURE_", "CARGO_CFG_"];
        if outer.iter().any(|prefix| name.starts_with(prefix)) || name == "CARGO_INCREMENTAL" {
            command.env_remove(name.as_ref());
        }
    }
    for name in ["RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "__CARGO_DEFAULT_LIB_METADATA"] {
        command.env_remove(name);
    }
    command.env("CARGO_ENCODED_RUSTFLAGS", rust_flags(stub_dir).join("\x1f"));
    let output = command.output().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    if !output.status.success() {
        panic!("building the runtime stub failed: {command:?}\n{}", String::from_utf8_lossy(&output.stderr));
    }
    let directory = target_dir.join(target).join("release");
    ["liblithify_runtime_stub.a", "lithify_runtime_stub.lib"]
        .iter()
        .map(|name| directory.join(name))
        .find(|path| path.exists())
        .unwrap_or_else(|| panic!("no static library of the runtime stub in {}", directory.display()))
}

/// Compiler flags of the stub: own panic handler, a section per function, and no path of the build machine in it.
fn rust_flags(stub_dir: &Path) -> Vec<String> {
    let mut flags: Vec<String> =
        ["--cfg", "stub_standalone", "-Crelocation-model=pic", "-Cforce-unwind-tables=no", "-Cdebuginfo=0"]
            .map(String::from)
            .to_vec();
    flags.push(format!("--remap-path-prefix={}=runtime-stub", stub_dir.display()));
    let cargo_home = env::var("CARGO_HOME").map(PathBuf::from).ok().or_else(|| Some(env::home_dir()?.join(".cargo")));
    if let Some(cargo_home) = cargo_home {
        flags.push(format!("--remap-path-prefix={}=cargo", cargo_home.display()));
    }
    flags
}

/// A variable that cargo sets for every build script.
fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name} for build scripts"))
}
