//! `lithify compile`.

use std::path::PathBuf;

use clap::Args;

use super::emit::{self, Emit};
use super::failure::{Failure, Result};
use super::model::{self, ModelArguments};
use super::progress::Timer;
use super::{dump, output};
use crate::package::is_identifier;

const EXAMPLES: &str = "\
Examples:
  lithify compile model.onnx                           model.so and model.h in the current directory
  lithify compile model.onnx -o libmodel.a --emit a,header
  lithify compile model.onnx --dim batch=1 --cpu x86-64-v3
  lithify compile model.onnx --emit so,rust --name detector
  lithify compile model.onnx --dump loops              print the program between operators and code";

/// Compile a model to a native library
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The ONNX model
    model: PathBuf,

    /// The first file of --emit, or a directory for all; the other files lie beside it. Without this, all are named after
    /// the model, in the current directory
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,

    /// What to write: so (shared library), a (static library), o (relocatable object), header (for C and C++), rust
    /// (module that calls the library), ptx (code for NVIDIA GPUs)
    #[arg(long, value_name = "KIND,..", value_delimiter = ',', default_value = "so,header")]
    emit: Vec<Emit>,

    /// Prefix of the library's symbols, a C identifier; made from the model's file name if not given
    #[arg(long, value_name = "SYMBOL")]
    name: Option<String>,

    /// Print the text of a stage instead of writing files
    #[arg(long, value_name = "STAGE")]
    dump: Option<dump::Dump>,

    /// Print how long each stage takes
    #[arg(long)]
    timings: bool,

    /// With --timings: print JSON
    #[arg(long, requires = "timings")]
    json: bool,

    #[command(flatten)]
    compilation: ModelArguments,
}

/// Runs the command.
pub fn compile(arguments: &Arguments) -> Result<()> {
    let stem = model::stem(&arguments.model);
    let name = match &arguments.name {
        None => model::identifier(&stem.to_string_lossy()),
        Some(name) if is_identifier(name) => name.clone(),
        Some(name) => {
            return Err(Failure::Usage(format!(
                "--name {name}: symbols start with a letter and have letters, digits and underscores; words of C are taken"
            )));
        }
    };
    let options = arguments.compilation.options(&name);
    let mut timer = Timer::default();
    if let Some(stage) = arguments.dump {
        return output::print(&dump::text(stage, &arguments.model, &options)?);
    }
    let files = emit::files(&arguments.emit, arguments.output.as_deref(), &stem)?;
    if let Some((kind, file)) = files.iter().find(|(_, file)| is_same(file, &arguments.model)) {
        return Err(Failure::Usage(format!("{kind} would overwrite the model {}", file.display())));
    }
    options.target.check()?;
    let artifact = model::compile(&arguments.model, &options, &mut timer)?;
    emit::write(&artifact, &files, &mut timer)?;
    timer.finish();
    match (arguments.timings, arguments.json) {
        (true, true) => output::print_json(&timer.json()),
        (true, false) => output::print(&timer.table()),
        _ => Ok(()),
    }
}

fn is_same(a: &std::path::Path, b: &std::path::Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
