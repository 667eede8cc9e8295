//! The program `lithify`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == lithify::link::CHILD_SUBCOMMAND) {
        return lithify::link::run_child(arguments);
    }
    lithify::cli::main()
}
