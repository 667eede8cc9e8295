//! The command line: `lithify compile`, `inspect`, `check`, `run` and `bench`.
//!
//! Results go to standard output, messages and progress to standard error. Exit status: 0, 1 when something is wrong
//! with a model or a file, 2 when something is wrong with the command line.

mod bench;
mod check;
mod compile;
mod dump;
mod emit;
mod failure;
mod inputs;
mod inspect;
mod model;
mod npz;
mod output;
mod preview;
mod progress;
mod run;
mod spec;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

const EXAMPLES: &str = "\
Examples:
  lithify check model.onnx                    list everything that stands in the way
  lithify compile model.onnx -o libmodel.so   make a shared library, and libmodel.h
  lithify run libmodel.so --random 1          call it
  lithify bench libmodel.so                   time it";

/// Turns ONNX models into standalone native libraries.
#[derive(Parser, Debug)]
#[command(name = "lithify", version, about, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Compile(compile::Arguments),
    Inspect(inspect::Arguments),
    Check(check::Arguments),
    Run(run::Arguments),
    Bench(bench::Arguments),
}

/// Runs the program on this process's arguments.
pub fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Compile(arguments) => compile::compile(&arguments),
        Command::Inspect(arguments) => inspect::inspect(&arguments),
        Command::Check(arguments) => check::check(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Bench(arguments) => bench::bench(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_definition_of_the_command_line_is_consistent() {
        super::Arguments::command().debug_assert();
    }
}
