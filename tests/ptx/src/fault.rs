//! What goes wrong while a kernel runs.

use std::fmt;

/// A launch that was refused or stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kernel.
    pub kernel: String,
    /// Line of the PTX text; 0 when the launch itself is at fault.
    pub line: u32,
    /// The block (`%ctaid`) that was running.
    pub block: [u32; 3],
    /// The warp of the block.
    pub warp: u32,
    /// The lowest lane of the warp that is at fault.
    pub lane: u32,
    /// What happened.
    pub reason: FaultReason,
}

/// Where a warp of a deadlocked block stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingWarp {
    /// The warp.
    pub warp: u32,
    /// The barrier it waits at.
    pub barrier: u32,
    /// Line of the instruction it waits at.
    pub line: u32,
}

/// Why a launch was refused or stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultReason {
    /// The launch does not fit the kernel.
    Launch(String),
    /// An access beyond its buffer, or at an address without a buffer (`available` is 0).
    OutOfBounds {
        /// State space.
        space: &'static str,
        /// Address in that space.
        address: u64,
        /// Bytes accessed.
        bytes: u32,
        /// Bytes in the buffer.
        available: usize,
    },
    /// An access at an address that is not a multiple of its size.
    Misaligned {
        /// State space.
        space: &'static str,
        /// Address in that space.
        address: u64,
        /// Bytes accessed.
        bytes: u32,
    },
    /// A read of memory that was never written.
    UninitializedMemory {
        /// State space.
        space: &'static str,
        /// Address in that space.
        address: u64,
    },
    /// A read of a register that was never written, or that holds an unspecified value.
    UninitializedRegister(String),
    /// A write to constant memory.
    ReadOnly {
        /// Its address.
        address: u64,
    },
    /// Two warps touch the same bytes of shared memory without a barrier between them, and one of them writes.
    Race {
        /// Offset in shared memory.
        address: u64,
        /// Whether the second access is a write.
        write: bool,
        /// Warp of the first access; `None` for an atomic of any warp.
        other_warp: Option<u32>,
        /// Line of the first access.
        other_line: u32,
    },
    /// Only some live lanes of the warp reach an instruction that all of them must execute together.
    Divergent {
        /// Lanes that execute it.
        active: u32,
        /// Lanes that must.
        required: u32,
    },
    /// An operand of a barrier or of a warp-wide instruction that has no meaning.
    BadOperand(String),
    /// Every warp that still runs waits at a barrier that nothing will complete.
    Deadlock(Vec<WaitingWarp>),
    /// More warp instructions than [`step_limit`](crate::Options::step_limit).
    StepLimit(u64),
    /// `trap`.
    Trap,
}

impl fmt::Display for FaultReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Launch(message) => write!(formatter, "{message}"),
            Self::OutOfBounds { space, address, bytes, available: 0 } => {
                write!(formatter, "access of {bytes} bytes at {space} address {address:#x}, where there is no buffer")
            }
            Self::OutOfBounds { space, address, bytes, available } => write!(
                formatter,
                "access of {bytes} bytes at {space} address {address:#x}, out of the bounds of a buffer of {available} bytes"
            ),
            Self::Misaligned { space, address, bytes } => {
                write!(formatter, "access of {bytes} bytes at {space} address {address:#x} is misaligned")
            }
            Self::UninitializedMemory { space, address } => {
                write!(formatter, "read of {space} memory that was never written, at {address:#x}")
            }
            Self::UninitializedRegister(name) => {
                write!(formatter, "read of register {name}, which was never written or holds an unspecified value")
            }
            Self::ReadOnly { address } => write!(formatter, "write to constant memory at {address:#x}"),
            Self::Race { address, write, other_warp, other_line } => {
                let access = if *write { "write" } else { "read" };
                write!(
                    formatter,
                    "race: {access} of shared memory at {address:#x}, accessed on line {other_line} by "
                )?;
                match other_warp {
                    Some(warp) => write!(formatter, "warp {warp}")?,
                    None => write!(formatter, "an atomic")?,
                }
                write!(formatter, " with no barrier between")
            }
            Self::Divergent { active, required } => write!(
                formatter,
                "lanes {active:#010x} of a warp execute an instruction that lanes {required:#010x} must execute together"
            ),
            Self::BadOperand(message) => write!(formatter, "{message}"),
            Self::Deadlock(warps) => {
                write!(formatter, "deadlock:")?;
                for WaitingWarp { warp, barrier, line } in warps {
                    write!(formatter, " warp {warp} waits at barrier {barrier} on line {line};")?;
                }
                Ok(())
            }
            Self::StepLimit(limit) => {
                write!(formatter, "more than {limit} warp instructions: the kernel may never end")
            }
            Self::Trap => write!(formatter, "trap"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, line, block: [x, y, z], warp, lane, reason } = self;
        if *line == 0 {
            return write!(formatter, "kernel {kernel}: {reason}");
        }
        write!(formatter, "kernel {kernel}, line {line}, block ({x}, {y}, {z}), warp {warp}, lane {lane}: {reason}")
    }
}

impl std::error::Error for Fault {}

/// A fault before the place where it happened is known.
#[derive(Debug)]
pub struct Stop {
    /// The lowest lane at fault.
    pub lane: u32,
    /// What happened.
    pub reason: FaultReason,
}

impl Stop {
    /// A fault of the lowest lane in `lanes`.
    pub fn lanes(lanes: u32, reason: FaultReason) -> Self {
        Self { lane: lanes.trailing_zeros() % 32, reason }
    }
}
