//! Models named on the command line: options of compilation, and libraries made from them on the way.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use target_lexicon::Triple;
use tempfile::TempDir;

use super::failure::{Failure, Result};
use super::progress::Timer;
use crate::error::Stage;
use crate::graph::{ImportOptions, Model};
use crate::host::Library;
use crate::link::{self, SharedOptions};
use crate::package::is_identifier;
use crate::pipeline::{self, Artifact, CompileOptions, Observer};
use crate::proto::LoadOptions;
use crate::target::{CpuLevel, Target};

/// What decides how a model is compiled.
#[derive(Args, Clone, Debug)]
pub struct ModelArguments {
    /// Target to compile for; only what can be linked and tested on this machine is accepted
    #[arg(long, value_name = "TRIPLE", value_parser = parse_triple, help_heading = "Compilation")]
    target: Option<Triple>,

    /// Processor level: native, x86-64-v2, x86-64-v3, x86-64-v4; `native` is the highest that this machine has, and
    /// the library refuses to start on a lower one
    #[arg(long, value_name = "LEVEL", default_value = "native", value_parser = parse_level, help_heading = "Compilation")]
    cpu: CpuLevel,

    /// Fix a symbolic dimension; may be repeated
    #[arg(long = "dim", value_name = "NAME=N", value_parser = parse_dim, help_heading = "Compilation")]
    pub dims: Vec<(String, i64)>,

    /// Fix the shape of an input; may be repeated. `NAME=` is a scalar
    #[arg(long = "input-shape", value_name = "NAME=D,D,..", value_parser = parse_shape, help_heading = "Compilation")]
    pub input_shapes: Vec<(String, Vec<i64>)>,

    /// Follow links to files of external data, as caches of models have them
    #[arg(long, help_heading = "Compilation")]
    follow_links: bool,
}

fn parse_triple(text: &str) -> std::result::Result<Triple, String> {
    Triple::from_str(text).map_err(|error| format!("{error}; a target is written like {}", Triple::host()))
}

fn parse_level(text: &str) -> std::result::Result<CpuLevel, String> {
    CpuLevel::from_name(text).ok_or_else(|| "one of native, x86-64-v2, x86-64-v3, x86-64-v4, aarch64".to_owned())
}

fn parse_size(text: &str) -> std::result::Result<i64, String> {
    text.trim().parse().ok().filter(|&size| size >= 0).ok_or_else(|| format!("`{text}` is not a size"))
}

/// Names of dimensions and inputs may have a `=` of their own: the last one counts.
fn parse_dim(text: &str) -> std::result::Result<(String, i64), String> {
    let (name, size) = text.rsplit_once('=').ok_or("written as NAME=N, such as batch=1")?;
    Ok((name.to_owned(), parse_size(size)?))
}

fn parse_shape(text: &str) -> std::result::Result<(String, Vec<i64>), String> {
    let (name, dims) = text.rsplit_once('=').ok_or("written as NAME=D,D,.., such as image=1,3,224,224")?;
    let dims = if dims.is_empty() { Ok(Vec::new()) } else { dims.split(',').map(parse_size).collect() };
    Ok((name.to_owned(), dims?))
}

impl ModelArguments {
    /// The options of a compilation of the model called `name`.
    pub fn options(&self, name: &str) -> CompileOptions {
        CompileOptions {
            name: name.to_owned(),
            target: Target { triple: self.target.clone().unwrap_or_else(Triple::host), level: self.cpu },
            import: ImportOptions {
                dims: self.dims.iter().cloned().collect(),
                input_shapes: self.input_shapes.iter().cloned().collect(),
            },
            load: LoadOptions { follow_links: self.follow_links, ..LoadOptions::default() },
        }
    }
}

/// Loads a model file.
pub fn load(path: &Path, options: &CompileOptions, timer: &mut Timer) -> Result<Model> {
    timer.enter(Stage::Load);
    let model = pipeline::load(path, options);
    timer.finish();
    Ok(model?)
}

/// Loads and compiles a model file.
pub fn compile(path: &Path, options: &CompileOptions, timer: &mut Timer) -> Result<Artifact> {
    let mut model = load(path, options, timer)?;
    let artifact = pipeline::compile_observed(&mut model, options, timer);
    timer.finish();
    Ok(artifact?)
}

/// Links a shared library, in a child of this program: the built-in linker reads variables of the environment.
pub fn link(artifact: &Artifact, out: &Path) -> Result<()> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::Message(format!("the path of this program is not known: {error}")))?;
    Ok(link::shared_in_child(&program, &artifact.object, out, &SharedOptions::default())?)
}

/// A library given as such, or made from a model for this call.
#[derive(Debug)]
pub struct Opened {
    /// The library.
    pub library: Library,
    /// Whether it was given as a library.
    pub is_library: bool,
    _directory: Option<TempDir>,
}

/// Opens a library, or compiles a model and opens the result.
pub fn open(path: &Path, arguments: &ModelArguments, timer: &mut Timer) -> Result<Opened> {
    if is_library(path)? {
        return Ok(Opened { library: Library::open(path)?, is_library: true, _directory: None });
    }
    let options = arguments.options("model");
    let artifact = compile(path, &options, timer)?;
    let directory = tempfile::tempdir()
        .map_err(|error| Failure::Message(format!("no temporary directory can be made: {error}")))?;
    let file = directory.path().join("model.so");
    timer.enter(Stage::Link);
    link(&artifact, &file)?;
    timer.finish();
    Ok(Opened { library: Library::open(&file)?, is_library: false, _directory: Some(directory) })
}

/// Whether a file is an object, archive or library rather than a model.
pub fn is_library(path: &Path) -> Result<bool> {
    let mut start = [0; 8];
    let mut file = File::open(path).map_err(|error| Failure::file(path, &error))?;
    if path.is_dir() {
        return Err(Failure::Message(format!("{} is a directory, not a model", path.display())));
    }
    let mut length = 0;
    while length < start.len() {
        match file.read(&mut start[length..]).map_err(|error| Failure::file(path, &error))? {
            0 => break,
            count => length += count,
        }
    }
    Ok(start.starts_with(b"\x7fELF") || start == object::archive::MAGIC)
}

/// The model's file name without its ending.
pub fn stem(path: &Path) -> PathBuf {
    PathBuf::from(path.file_stem().unwrap_or("model".as_ref()))
}

/// A C identifier that resembles a file name.
pub fn identifier(stem: &str) -> String {
    let cleaned: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let cleaned = cleaned.trim_matches('_');
    if is_identifier(cleaned) {
        cleaned.to_owned()
    } else {
        format!("model_{cleaned}").trim_end_matches('_').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_become_identifiers() {
        let names = ["digits", "resnet50-v1.5", "2d", "int", "größe", "--", ""];
        let expected = ["digits", "resnet50_v1_5", "model_2d", "model_int", "gr__e", "model", "model"];
        assert_eq!(names.map(identifier), expected);
        assert!(names.iter().all(|name| is_identifier(&identifier(name))));
    }

    #[test]
    fn dimensions_and_shapes_are_read() {
        assert_eq!(parse_dim("a=b=4"), Ok(("a=b".to_owned(), 4)));
        assert_eq!(parse_shape("x=1,3"), Ok(("x".to_owned(), vec![1, 3])));
        assert_eq!(parse_shape("x="), Ok(("x".to_owned(), vec![])));
        assert!(parse_dim("batch=-1").is_err() && parse_shape("x=1,,2").is_err() && parse_dim("batch").is_err());
    }
}
