//! The command line of lithify.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next().unwrap_or_default();
    if first == lithify::link::CHILD_SUBCOMMAND {
        return lithify::link::run_child(arguments);
    }
    let out = arguments.next().unwrap_or_default();
    let options = lithify::pipeline::CompileOptions::host("model");
    let result = lithify::pipeline::load(Path::new(&first), &options)
        .and_then(|mut model| lithify::pipeline::compile(&mut model, &options));
    match result {
        Ok(artifact) => match lithify::link::shared(&artifact.object, Path::new(&out), &Default::default()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        },
        Err(errors) => {
            eprintln!("{errors}");
            ExitCode::FAILURE
        }
    }
}
