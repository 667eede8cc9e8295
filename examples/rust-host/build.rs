//! Compiles the model to a static library and a Rust module. `LITHIFY` names the compiler if it is not on `PATH`.

use std::env;
use std::path::PathBuf;
use std::process::Command;

const MODEL: &str = "../digits/digits.onnx";

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let lithify = env::var_os("LITHIFY").unwrap_or_else(|| "lithify".into());
    println!("cargo::rerun-if-changed={MODEL}");
    println!("cargo::rerun-if-env-changed=LITHIFY");
    let status = Command::new(&lithify)
        .args(["compile", MODEL, "--name", "digits", "--emit", "a,rust", "-o"])
        .arg(out.join("libdigits.a"))
        .status()
        .unwrap_or_else(|error| panic!("{}: {error}; install lithify or set LITHIFY", lithify.display()));
    assert!(status.success(), "{MODEL} does not compile");
    println!("cargo::rustc-link-search=native={}", out.display());
    println!("cargo::rustc-link-lib=static=digits");
}
