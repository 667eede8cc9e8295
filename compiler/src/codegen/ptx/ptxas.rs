//! Checks PTX with NVIDIA's assembler, `ptxas`.
//!
//! An assembler knows what hardware accepts and how many registers a kernel takes; it needs no GPU. It is found by the
//! environment variable `LITHIFY_PTXAS`, else on `PATH`, and must be of CUDA 12 or later.

use std::fmt;
use std::io::Write;
use std::process::Command;

use ptx_builder::error::{BuildErrorKind, Error as RunError, Result as RunResult};
use ptx_builder::executable::{Executable, ExecutableRunner};
use semver::{Version, VersionReq};

/// Names the assembler to run.
pub const PTXAS_VARIABLE: &str = "LITHIFY_PTXAS";

const INSTALL_HINT: &str = "install it with `pip install --no-deps nvidia-cuda-nvcc` (tests/ptx/install_ptxas.sh pins \
                            a version) and put its bin folder on PATH, or name it in LITHIFY_PTXAS";

/// What the assembler says about a text it accepts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AssembleReport {
    /// Registers of the kernel that takes the most.
    pub registers: u32,
    /// Bytes that all kernels together spill to local memory, stores and loads.
    pub spills: u32,
    /// The machine code, an ELF file.
    pub cubin: Vec<u8>,
    /// What the assembler printed.
    pub log: String,
}

/// Why a text was not assembled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PtxasError {
    /// The assembler cannot be run, or is too old; the text says what to do.
    Unavailable(String),
    /// The assembler refuses the text; its messages name the lines.
    Refused(String),
    /// A temporary file cannot be written or read.
    File(String),
}

impl fmt::Display for PtxasError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(message) => write!(f, "ptxas cannot be run: {message}"),
            Self::Refused(messages) => write!(f, "ptxas refuses the PTX:\n{messages}"),
            Self::File(message) => write!(f, "a temporary file for ptxas: {message}"),
        }
    }
}

impl std::error::Error for PtxasError {}

/// Assembles a PTX text for a target such as `sm_80`.
///
/// # Errors
/// When no assembler can be run, when it refuses the text or the target, or when temporary files fail.
pub fn assemble(ptx: &str, sm: &str) -> Result<AssembleReport, PtxasError> {
    let file_error = |error: std::io::Error| PtxasError::File(error.to_string());
    let folder = tempfile::tempdir().map_err(file_error)?;
    let (input, output) = (folder.path().join("module.ptx"), folder.path().join("module.cubin"));
    // The text in an artifact ends in NUL, which ptxas does not take.
    let text = ptx.trim_end_matches('\0');
    std::fs::File::create(&input).and_then(|mut file| file.write_all(text.as_bytes())).map_err(file_error)?;
    let mut runner = ExecutableRunner::new(Ptxas);
    runner.with_args(["--gpu-name", sm, "--verbose", "--warn-on-spills", "--output-file"]);
    runner.with_args([&output, &input]);
    let printed = runner.run().map_err(|error| run_error(&error))?;
    let log = printed.stdout + &printed.stderr;
    let cubin = std::fs::read(&output).map_err(file_error)?;
    Ok(AssembleReport { registers: registers(&log), spills: spills(&log), cubin, log })
}

fn run_error(error: &RunError) -> PtxasError {
    match error.kind() {
        BuildErrorKind::CommandFailed { stderr, .. } => PtxasError::Refused(stderr.trim_end().to_string()),
        BuildErrorKind::CommandNotFound { command, hint } => {
            PtxasError::Unavailable(format!("{command} is not found; {hint}"))
        }
        BuildErrorKind::CommandVersionNotFulfilled { current, required, hint, .. } => {
            PtxasError::Unavailable(format!("version {current} is found, {required} is needed; {hint}"))
        }
        other => PtxasError::Unavailable(other.to_string()),
    }
}

/// The largest `Used N registers` of a log.
fn registers(log: &str) -> u32 {
    numbers_before(log, " registers").max().unwrap_or(0)
}

/// The sum of all `N bytes spill stores` and `N bytes spill loads` of a log.
fn spills(log: &str) -> u32 {
    numbers_before(log, " bytes spill").sum()
}

fn numbers_before<'log>(log: &'log str, what: &'log str) -> impl Iterator<Item = u32> + 'log {
    log.match_indices(what).filter_map(|(at, _)| log[..at].rsplit(|c: char| !c.is_ascii_digit()).next()?.parse().ok())
}

/// `ptxas` as a tool of a known version.
struct Ptxas;

impl Executable for Ptxas {
    fn get_name(&self) -> String {
        std::env::var(PTXAS_VARIABLE).unwrap_or_else(|_| "ptxas".into())
    }

    fn get_verification_hint(&self) -> String {
        INSTALL_HINT.into()
    }

    fn get_version_hint(&self) -> String {
        INSTALL_HINT.into()
    }

    fn get_required_version(&self) -> Option<VersionReq> {
        VersionReq::parse(">= 12.0.0").ok()
    }

    /// The banner says `release 13.5, V13.5.37`, which the crate's own parser does not read.
    fn get_current_version(&self) -> RunResult<Version> {
        let output = Command::new(self.get_name()).arg("--version").output().map_err(|_| {
            let (command, hint) = (self.get_name(), self.get_verification_hint());
            BuildErrorKind::CommandNotFound { command, hint }
        })?;
        let banner = String::from_utf8_lossy(&output.stdout);
        let version = banner_version(&banner);
        version.ok_or_else(|| BuildErrorKind::InternalError("its version is not understood".into()).into())
    }
}

fn banner_version(banner: &str) -> Option<Version> {
    let number = banner.split_whitespace().filter_map(|word| word.strip_prefix('V'));
    number.filter_map(|number| Version::parse(number).ok()).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOFTMAX: &str = include_str!("../../../../tests/ptx/tests/kernels/softmax.ptx");
    const SILU: &str = include_str!("../../../../tests/ptx/tests/kernels/silu.ptx");

    #[test]
    fn banner_and_log_are_read() {
        let banner = "ptxas: NVIDIA (R) Ptx optimizing assembler\nCuda compilation tools, release 13.5, V13.5.37\n";
        assert_eq!(banner_version(banner), Some(Version::new(13, 5, 37)));
        assert_eq!(banner_version("gcc 12"), None);
        let log = "    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n\
                   ptxas info    : Used 18 registers, used 1 barriers\nptxas info    : Used 7 registers";
        assert_eq!((registers(log), spills(log)), (18, 16));
    }

    #[test]
    fn kernels_are_assembled_for_every_target() {
        for sm in ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"] {
            for text in [SOFTMAX, SILU] {
                let report = assemble(text, sm).unwrap_or_else(|error| panic!("{sm}: {error}"));
                assert!((10..=40).contains(&report.registers), "{sm}: {}", report.log);
                assert_eq!(report.spills, 0, "{sm}: {}", report.log);
                assert!(report.cubin.starts_with(b"\x7fELF"));
            }
        }
    }

    #[test]
    fn refusals_name_the_line() {
        let PtxasError::Refused(messages) = assemble(&SOFTMAX.replace("ret;", "rett;"), "sm_80").unwrap_err() else {
            panic!("an unknown instruction is refused")
        };
        assert!(messages.contains("rett") && messages.contains("line"), "{messages}");
        assert!(matches!(assemble(SOFTMAX, "sm_1"), Err(PtxasError::Refused(_))));
    }
}
