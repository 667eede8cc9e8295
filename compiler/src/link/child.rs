//! Linking in a child of the current executable.
//!
//! The built-in linker reads `WILD_*` variables, may end the process and may panic. The command line therefore starts
//! itself again with a clean environment, as `lithify __link ...`, and hands that call to [`run_child`].

use super::LinkError;
use super::shared::{LinkerChoice, SharedOptions, arguments, emulation, shared, with_files};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// The hidden subcommand: when it is the first argument of the program, `main` passes the rest to [`run_child`].
pub const CHILD_SUBCOMMAND: &str = "__link";

/// Like [`shared`], but the built-in linker runs in a child process: `executable`, which must hand
/// [`CHILD_SUBCOMMAND`] to [`run_child`].
///
/// # Errors
/// As [`shared`]; also a child that cannot be started or dies.
pub fn shared_in_child(executable: &Path, object: &[u8], out: &Path, options: &SharedOptions) -> Result<(), LinkError> {
    if options.linker != LinkerChoice::Wild {
        return shared(object, out, options);
    }
    let emulation = emulation(object)?;
    with_files(object, out, |object, output| {
        let name = executable.display().to_string();
        let mut command = Command::new(executable);
        command
            .arg(CHILD_SUBCOMMAND)
            .args(arguments(emulation, object, output, options))
            .stdin(Stdio::null())
            .env_clear();
        // A jobserver of the caller's is not handed on; the loader and temporary files need these.
        for variable in ["PATH", "LD_LIBRARY_PATH", "TMPDIR", "HOME"] {
            if let Some(value) = std::env::var_os(variable) {
                command.env(variable, value);
            }
        }
        let result = command
            .output()
            .map_err(|error| LinkError::linker("the built-in linker", format!("cannot start {name}: {error}")))?;
        if result.status.success() {
            return Ok(());
        }
        let message = String::from_utf8_lossy(&result.stderr).trim().to_owned();
        Err(LinkError::linker("the built-in linker", format!("{}: {message}", result.status)))
    })
}

/// The child's side: links with `arguments` and reports failure on the standard error stream and in the exit code.
pub fn run_child(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    #[cfg(feature = "wild")]
    let result = super::wild::link(&arguments);
    #[cfg(not(feature = "wild"))]
    let result: Result<(), LinkError> =
        Err(LinkError::Unsupported(format!("no built-in linker (feature `wild`) for {arguments:?}")));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
