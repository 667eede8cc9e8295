//! Shared libraries, from one prelinked object.

use super::LinkError;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Which linker makes a shared library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkerChoice {
    /// The one built into this library (feature `wild`); needs no tools on the machine.
    Wild,
    /// A C compiler driver, such as `cc`, `clang` or `aarch64-linux-gnu-gcc`, by name or path.
    System(PathBuf),
}

/// How to link a shared library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedOptions {
    /// The linker.
    pub linker: LinkerChoice,
    /// The name other programs record when they link against the library; none leaves it out.
    pub soname: Option<String>,
    /// Keep the names of local functions and objects, for profilers and debuggers.
    pub keep_symbols: bool,
}

impl Default for SharedOptions {
    /// The built-in linker where there is one, else `cc`; no soname; local names stripped.
    fn default() -> Self {
        let linker = if cfg!(feature = "wild") { LinkerChoice::Wild } else { LinkerChoice::System("cc".into()) };
        SharedOptions { linker, soname: None, keep_symbols: false }
    }
}

/// Links the prelinked `object` into the shared library `out`, which is replaced only when linking succeeded.
///
/// The library exports the object's global symbols, names no other library, keeps imports unversioned and bound at load,
/// and has no build id, no unwind tables and no executable stack.
///
/// [`LinkerChoice::Wild`] links in this process: it heeds `WILD_*` variables of the environment, some of which end the
/// process. Programs that do not control their environment use [`super::shared_in_child`].
///
/// # Errors
/// A linker that is missing, not built in, or refuses the object; a file that cannot be written.
pub fn shared(object: &[u8], out: &Path, options: &SharedOptions) -> Result<(), LinkError> {
    #[cfg(feature = "wild")]
    let emulation = emulation(object)?;
    with_files(object, out, |object, output| match &options.linker {
        #[cfg(feature = "wild")]
        LinkerChoice::Wild => super::wild::link(&arguments(emulation, object, output, options)),
        #[cfg(not(feature = "wild"))]
        LinkerChoice::Wild => Err(LinkError::Unsupported(
            "this build has no linker of its own (feature `wild`); choose the system's, such as `cc`".to_owned(),
        )),
        LinkerChoice::System(driver) => run_driver(driver, object, output, options),
    })
}

/// Puts `object` in a temporary directory beside `out`, lets `link` make a library there, and moves it to `out`.
pub(super) fn with_files(
    object: &[u8],
    out: &Path,
    link: impl FnOnce(&Path, &Path) -> Result<(), LinkError>,
) -> Result<(), LinkError> {
    let parent = match out.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let directory = tempfile::Builder::new()
        .prefix(".lithify-link-")
        .tempdir_in(parent)
        .map_err(|error| LinkError::file(parent, error))?;
    // Linkers record the names of their inputs in places; fixed ones keep the output independent of the directory.
    let object_path = directory.path().join("model.o");
    let output_path = directory.path().join("model.so");
    fs::write(&object_path, object).map_err(|error| LinkError::file(&object_path, error))?;
    link(&object_path, &output_path)?;
    if !output_path.exists() {
        return Err(LinkError::linker("the linker", "it reported success and wrote no library"));
    }
    fs::rename(&output_path, out).map_err(|error| LinkError::file(out, error))
}

/// The linker's name (`-m`) for the processor of `object`.
pub(super) fn emulation(object: &[u8]) -> Result<&'static str, LinkError> {
    use object::{Architecture, Object};
    let file = object::File::parse(object).map_err(|error| LinkError::malformed("the prelinked object", error))?;
    match file.architecture() {
        Architecture::X86_64 => Ok("elf_x86_64"),
        Architecture::Aarch64 => Ok("aarch64linux"),
        other => Err(LinkError::Unsupported(format!("linking for the processor {other:?}"))),
    }
}

/// Linker arguments, in the common language of `ld`, `lld`, `mold` and `wild`.
pub(super) fn arguments(emulation: &str, object: &Path, output: &Path, options: &SharedOptions) -> Vec<OsString> {
    let mut arguments: Vec<OsString> =
        vec!["-m".into(), emulation.into(), "-shared".into(), "-o".into(), output.into(), object.into()];
    arguments.extend(linker_flags(options).into_iter().map(OsString::from));
    arguments
}

/// The flags that do not name files.
fn linker_flags(options: &SharedOptions) -> Vec<String> {
    let mut flags: Vec<String> = [
        "--gc-sections",
        "--build-id=none",
        "--hash-style=gnu",
        "--no-eh-frame-hdr",
        "--as-needed",
        "-z",
        "now",
        "-z",
        "relro",
        "-z",
        "noexecstack",
    ]
    .map(String::from)
    .to_vec();
    if let Some(soname) = &options.soname {
        flags.push(format!("-soname={soname}"));
    }
    if !options.keep_symbols {
        flags.push("--strip-all".to_owned());
    }
    flags
}

/// Runs a C compiler driver as linker.
fn run_driver(driver: &Path, object: &Path, output: &Path, options: &SharedOptions) -> Result<(), LinkError> {
    let name = driver.display().to_string();
    let mut command = Command::new(driver);
    command.args(["-shared", "-nostdlib", "-o"]).arg(output).arg(object).stdin(Stdio::null()).env("LC_ALL", "C");
    for flag in linker_flags(options) {
        command.arg("-Xlinker").arg(flag);
    }
    let result = command.output().map_err(|error| {
        LinkError::linker(&name, format!("it cannot be run: {error}; install a C compiler or name another linker"))
    })?;
    if result.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&result.stderr).trim().to_owned();
    Err(LinkError::linker(name, format!("{}: {message}", result.status)))
}
