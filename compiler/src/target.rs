//! Targets: a triple and a level of processor.

use cranelift_codegen::isa::{self, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use target_lexicon::{Architecture, BinaryFormat, Triple};

use crate::codegen::clif::Features;
use crate::error::{Error, Stage};

/// How much of the processor's instruction set generated code may use.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CpuLevel {
    /// SSE up to 4.2 and POPCNT: every x86-64 processor since 2009.
    X86V2,
    /// AVX2, FMA, BMI: processors since 2013 to 2015.
    X86V3,
    /// AVX-512 F, BW, CD, DQ, VL.
    X86V4,
    /// The base of a 64-bit Arm processor.
    Aarch64,
}

impl CpuLevel {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::X86V2 => "x86-64-v2",
            Self::X86V3 => "x86-64-v3",
            Self::X86V4 => "x86-64-v4",
            Self::Aarch64 => "aarch64",
        }
    }

    /// The level of that name; `native` is the highest level of this machine's processor.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "native" => Some(Self::native()),
            _ => [Self::X86V2, Self::X86V3, Self::X86V4, Self::Aarch64].into_iter().find(|level| level.name() == name),
        }
    }

    /// The highest level that this machine's processor has.
    pub fn native() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let v3 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt");
            let v4 = v3
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512cd")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            if v4 {
                Self::X86V4
            } else if v3 {
                Self::X86V3
            } else {
                Self::X86V2
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        Self::Aarch64
    }
}

/// What code is generated for.
#[derive(Clone, PartialEq, Debug)]
pub struct Target {
    /// Architecture, system and object format.
    pub triple: Triple,
    /// Instruction set level.
    pub level: CpuLevel,
}

impl Target {
    /// This machine, at its processor's highest level.
    pub fn host() -> Self {
        Self { triple: Triple::host(), level: CpuLevel::native() }
    }

    /// Checks that the target is one that can be compiled, linked and tested.
    ///
    /// # Errors
    /// For all others, with what is possible.
    pub fn check(&self) -> Result<(), Error> {
        let fits = match self.level {
            CpuLevel::Aarch64 => matches!(self.triple.architecture, Architecture::Aarch64(_)),
            _ => self.triple.architecture == Architecture::X86_64,
        };
        if !fits {
            let message = format!("processor level {} does not belong to target {}", self.level.name(), self.triple);
            return Err(Error::new(Stage::Codegen, message));
        }
        if self.triple.binary_format != BinaryFormat::Elf || self.triple.architecture != Triple::host().architecture {
            let message = format!(
                "target {} is not supported: only ELF targets of this machine's architecture ({}) can be linked and tested",
                self.triple,
                Triple::host().architecture
            );
            return Err(Error::new(Stage::Codegen, message));
        }
        Ok(())
    }

    /// Vector width and instructions for the code generator.
    pub fn features(&self) -> Features {
        Features { lanes: 4, fma: matches!(self.level, CpuLevel::X86V3 | CpuLevel::X86V4 | CpuLevel::Aarch64) }
    }

    /// Cranelift's description of the target, with or without optimization passes.
    ///
    /// # Errors
    /// Where Cranelift does not know it.
    pub fn isa(&self, optimize: bool) -> Result<OwnedTargetIsa, Error> {
        self.isa_for(optimize, true)
    }

    /// Like [`Target::isa`], for code that runs in this process.
    ///
    /// # Errors
    /// Where Cranelift does not know it.
    pub fn jit_isa(&self, optimize: bool) -> Result<OwnedTargetIsa, Error> {
        self.isa_for(optimize, false)
    }

    fn isa_for(&self, optimize: bool, position_independent: bool) -> Result<OwnedTargetIsa, Error> {
        let fail = |message: String| Error::new(Stage::Codegen, message);
        let mut flags = settings::builder();
        let common = [
            ("opt_level", if optimize { "speed" } else { "none" }),
            ("is_pic", if position_independent { "true" } else { "false" }),
            ("use_colocated_libcalls", "false"),
            ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
            ("enable_probestack", "false"),
            ("unwind_info", "false"),
        ];
        for (name, value) in common {
            flags.set(name, value).map_err(|error| fail(error.to_string()))?;
        }
        let mut builder = isa::lookup(self.triple.clone()).map_err(|error| fail(error.to_string()))?;
        let v2 = ["has_sse3", "has_ssse3", "has_sse41", "has_sse42", "has_popcnt", "has_cmpxchg16b"];
        let v3 = ["has_avx", "has_avx2", "has_fma", "has_bmi1", "has_bmi2", "has_lzcnt"];
        let enabled: Vec<&str> = match self.level {
            CpuLevel::X86V2 => v2.to_vec(),
            CpuLevel::X86V3 | CpuLevel::X86V4 => v2.into_iter().chain(v3).collect(),
            CpuLevel::Aarch64 => Vec::new(),
        };
        for name in enabled {
            builder.enable(name).map_err(|error| fail(format!("{name}: {error}")))?;
        }
        builder.finish(settings::Flags::new(flags)).map_err(|error| fail(error.to_string()))
    }
}
