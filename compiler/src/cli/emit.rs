//! The files that a compilation writes.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::failure::{Failure, Result};
use super::model;
use super::progress::Timer;
use crate::error::Stage;
use crate::link;
use crate::package::{self, Interface};
use crate::pipeline::{Artifact, Observer};

/// A kind of file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Emit {
    /// Shared library
    So,
    /// Static library
    A,
    /// Relocatable object
    O,
    /// Header for C and C++
    Header,
    /// Rust module
    Rust,
    /// Code for NVIDIA GPUs
    Ptx,
}

impl Emit {
    fn extension(self) -> &'static str {
        match self {
            Self::So => "so",
            Self::A => "a",
            Self::O => "o",
            Self::Header => "h",
            Self::Rust => "rs",
            Self::Ptx => "ptx",
        }
    }
}

impl fmt::Display for Emit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Header => "header",
            Self::Rust => "rust",
            other => other.extension(),
        })
    }
}

/// The file of each kind: the first is `output`, or all lie in the directory `output` and are named `stem`.
pub fn files(kinds: &[Emit], output: Option<&Path>, stem: &Path) -> Result<Vec<(Emit, PathBuf)>> {
    if kinds.contains(&Emit::Ptx) {
        return Err(Failure::Message("--emit ptx: code for GPUs is not available in this version".to_owned()));
    }
    let is_directory = output.is_some_and(Path::is_dir);
    let base = match output {
        Some(directory) if is_directory => directory.join(stem),
        Some(file) => file.to_owned(),
        None => stem.to_owned(),
    };
    let mut files: Vec<(Emit, PathBuf)> = Vec::new();
    for &kind in kinds {
        if files.iter().any(|(known, _)| *known == kind) {
            continue;
        }
        let file = match output {
            Some(output) if !is_directory && files.is_empty() => output.to_owned(),
            Some(_) if !is_directory => base.with_extension(kind.extension()),
            // A stem keeps its dots: `model.v2` becomes `model.v2.so`.
            _ => PathBuf::from(format!("{}.{}", base.display(), kind.extension())),
        };
        if let Some((other, _)) = files.iter().find(|(_, known)| *known == file) {
            return Err(Failure::Usage(format!("{other} and {kind} would both be {}", file.display())));
        }
        files.push((kind, file));
    }
    Ok(files)
}

/// Writes the files of an artifact.
pub fn write(artifact: &Artifact, files: &[(Emit, PathBuf)], timer: &mut Timer) -> Result<()> {
    let interface = Interface::of(&artifact.name, &artifact.program);
    for (kind, file) in files {
        timer.enter(match kind {
            Emit::So | Emit::A | Emit::O => Stage::Link,
            Emit::Header | Emit::Rust | Emit::Ptx => Stage::Package,
        });
        match kind {
            Emit::So => model::link(artifact, file)?,
            Emit::A => save(file, &link::archive(&artifact.object, "model.o")?)?,
            Emit::O => save(file, &artifact.object)?,
            Emit::Header => save(file, package::header(&interface).as_bytes())?,
            Emit::Rust => save(file, package::rust_module(&interface)?.as_bytes())?,
            Emit::Ptx => return Err(Failure::Message("there is no code for GPUs".to_owned())),
        }
    }
    Ok(())
}

/// Replaces a file once all of its contents are written.
fn save(path: &Path, contents: &[u8]) -> Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let fail = |error: &std::io::Error| Failure::file(path, error);
    let directory = tempfile::Builder::new().prefix(".lithify-").tempdir_in(parent).map_err(|error| fail(&error))?;
    let file = directory.path().join("file");
    fs::write(&file, contents).and_then(|()| fs::rename(&file, path)).map_err(|error| fail(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_after_the_output_or_the_model() {
        let named = |kinds: &[Emit], output: Option<&str>| -> Vec<String> {
            let files = files(kinds, output.map(Path::new), Path::new("net.v2")).unwrap();
            files.into_iter().map(|(_, file)| file.display().to_string()).collect()
        };
        assert_eq!(named(&[Emit::So, Emit::Header, Emit::So], None), ["net.v2.so", "net.v2.h"]);
        assert_eq!(named(&[Emit::So, Emit::Header], Some("out/libnet.so")), ["out/libnet.so", "out/libnet.h"]);
        assert_eq!(named(&[Emit::Header, Emit::A], Some("net.hpp")), ["net.hpp", "net.a"]);
        assert_eq!(named(&[Emit::O], Some("/")), ["/net.v2.o"]);
        assert!(files(&[Emit::So, Emit::Header], Some(Path::new("x.h")), Path::new("x")).is_err());
    }
}
