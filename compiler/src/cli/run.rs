//! `lithify run`.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;

use super::failure::{Failure, Result};
use super::model::{self, ModelArguments};
use super::progress::Timer;
use super::{inputs, npz, output, preview};
use crate::graph::Tensor;
use crate::host::SessionOptions;

const EXAMPLES: &str = "\
Examples:
  lithify run model.so --inputs in.npz --outputs out.npz
  lithify run model.onnx --random 1 --dim batch=4

Arrays of the archives are named as the model's inputs and outputs, and have the model's element types. Types that NumPy
lacks are stored by their bits: bf16 as uint16, 8-bit floats as uint8, types below a byte as one uint8 an element.
--random draws floats between -1 and 1, and integers 0 or 1.";

/// Values that are printed of each output.
const SHOWN: usize = 8;

/// Run a model once and show its outputs
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
#[group(id = "source", required = true, multiple = false, args = ["inputs", "random"])]
pub struct Arguments {
    /// The ONNX model, or a library compiled from it
    model: PathBuf,

    /// Archive of NumPy arrays with the inputs, or a folder with spec.txt and raw files
    #[arg(long, value_name = "IN.npz")]
    inputs: Option<PathBuf>,

    /// Draw the inputs from this seed
    #[arg(long, value_name = "SEED")]
    random: Option<u64>,

    /// Write the outputs as an archive of NumPy arrays
    #[arg(long, value_name = "OUT.npz")]
    outputs: Option<PathBuf>,

    /// Threads that the model may use
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    threads: u32,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    compilation: ModelArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<()> {
    let opened = model::open(&arguments.model, &arguments.compilation, &mut Timer::default())?;
    let mut session = opened.library.session(&SessionOptions { threads: arguments.threads })?;
    let inputs = match (&arguments.inputs, arguments.random) {
        (Some(path), _) => inputs::read(&opened, path)?,
        (None, Some(seed)) => inputs::random(&opened, &arguments.compilation, seed)?,
        (None, None) => return Err(Failure::Usage("give --inputs or --random".to_owned())),
    };
    let results = session.run(&inputs)?;
    let names = opened.library.outputs().iter().map(|port| port.name.as_str());
    let named: Vec<(&str, &Tensor)> = names.zip(&results).collect();
    if let Some(path) = &arguments.outputs {
        npz::write(path, &named)?;
    }
    if arguments.json {
        let describe = |(name, tensor): &(&str, &Tensor)| {
            serde_json::json!({
                "name": name,
                "type": tensor.element.name(),
                "shape": tensor.dims,
                "first": preview::values(tensor, SHOWN),
            })
        };
        return output::print_json(&serde_json::json!({ "outputs": named.iter().map(describe).collect::<Vec<_>>() }));
    }
    let mut text = String::new();
    for (name, tensor) in named {
        let dims: Vec<String> = tensor.dims.iter().map(i64::to_string).collect();
        let values = preview::values(tensor, SHOWN);
        let _ = writeln!(text, "{name}: {}[{}] {values}", tensor.element, dims.join(", "));
    }
    output::print(&text)
}
