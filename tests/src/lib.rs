//! Support for the tests.

pub mod artifact;
pub mod case;
pub mod compare;
pub mod elements;
pub mod models;
pub mod npz;
pub mod ptx;
pub mod tensor;
pub mod workers;
pub mod zoo;

use std::path::{Path, PathBuf};

/// The folder that cargo builds into, where `tests/setup.sh` puts test data.
pub fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"),
    }
}
