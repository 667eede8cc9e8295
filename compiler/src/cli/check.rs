//! `lithify check`.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::failure::{Failure, Result};
use super::model::{self, ModelArguments};
use super::output;
use super::progress::Timer;
use crate::check;
use crate::error::{Error, Stage};

const EXAMPLES: &str = "\
Examples:
  lithify check model.onnx
  lithify check model.onnx --json | jq '.problems[].message'

The model is loaded, and every node is checked: operator, version, element types, dimensions. If all are well, the model is
compiled in memory. Exit status 1 if it would not compile.";

/// List every problem of a model at once
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The ONNX model
    model: PathBuf,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    compilation: ModelArguments,
}

/// Runs the command.
pub fn check(arguments: &Arguments) -> Result<()> {
    let problems = problems(arguments);
    if arguments.json {
        let describe =
            |error: &Error| json!({ "stage": error.stage.name(), "node": error.node, "message": error.message });
        output::print_json(&json!({
            "model": arguments.model.display().to_string(),
            "compiles": problems.is_empty(),
            "problems": problems.iter().map(describe).collect::<Vec<_>>(),
        }))?;
    } else if problems.is_empty() {
        output::print(&format!("{}: no problems\n", arguments.model.display()))?;
    } else {
        let lines: String = problems.iter().map(|error| format!("{error}\n")).collect();
        output::print(&lines)?;
        let noun = if problems.len() == 1 { "problem" } else { "problems" };
        eprintln!("error: {}: {} {noun}", arguments.model.display(), problems.len());
    }
    if problems.is_empty() { Ok(()) } else { Err(Failure::Reported) }
}

fn problems(arguments: &Arguments) -> Vec<Error> {
    let options = arguments.compilation.options("model");
    let mut timer = Timer::default();
    match model::load(&arguments.model, &options, &mut timer) {
        Ok(mut model) => {
            let problems = check::problems(&mut model, &options, &mut timer);
            timer.finish();
            problems
        }
        Err(Failure::Problems(errors)) => errors.0,
        Err(other) => vec![Error::new(Stage::Load, other.to_string())],
    }
}
