//! The linker built into this library: `libwild`, called in this process.

use super::LinkError;
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};

const NAME: &str = "the built-in linker";

/// Links with `arguments`, which are those of `ld`. A panic inside the linker becomes an error.
pub(super) fn link(arguments: &[OsString]) -> Result<(), LinkError> {
    let arguments: Vec<String> = arguments
        .iter()
        .map(|argument| argument.clone().into_string())
        .collect::<Result<_, _>>()
        .map_err(|path| LinkError::linker(NAME, format!("{} is not Unicode", path.display())))?;
    // Warnings go to the standard error stream.
    let run = || -> Result<(), String> {
        // The flavor is stated because the default is that of the machine this runs on.
        let all = || {
            ["ld", "-flavor", "gnu", "--no-identity-comment"].into_iter().chain(arguments.iter().map(String::as_str))
        };
        let mut parsed = libwild::Args::new(all).map_err(|error| error.to_string())?;
        parsed.parse(all).map_err(|error| error.to_string())?;
        libwild::run(parsed).map_err(|error| error.to_string())
    };
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(result) => result.map_err(|message| LinkError::linker(NAME, message)),
        Err(panic) => {
            let message = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("no message");
            Err(LinkError::linker(NAME, format!("it stopped on a defect of its own: {message}")))
        }
    }
}
