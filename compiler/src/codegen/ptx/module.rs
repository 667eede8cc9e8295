//! What a PTX module holds, and how its kernels are launched.

use std::sync::Arc;

use super::mapping::Mapping;
use crate::codegen::KernelSet;
use crate::graph::dim::EvaluateError;
use crate::graph::{Dim, SymbolId};
use crate::loops::{BufferId, Kernel};

/// Threads of a block that works on many points.
pub const BLOCK_THREADS: u32 = 128;
/// Most blocks of a launch; threads and blocks go on to further points when there are more.
pub const MAXIMUM_BLOCKS: i64 = 1 << 16;

/// A kernel of the module's text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Its name in the text.
    pub name: String,
    /// How the points of its outer axes are spread over threads.
    pub mapping: Mapping,
    /// Whether it may report a failure at the address that is its last argument.
    pub can_fail: bool,
}

impl Entry {
    /// Threads of a block; all launches have one-dimensional blocks and grids.
    pub fn threads(&self) -> u32 {
        self.mapping.threads()
    }

    /// Blocks to launch for a number of points of the outer axes; 0 for no launch at all.
    pub fn blocks(&self, points: i64) -> u32 {
        let blocks = match self.mapping {
            Mapping::Single => points.min(1),
            Mapping::Threads => points.saturating_add(i64::from(BLOCK_THREADS) - 1) / i64::from(BLOCK_THREADS),
            Mapping::Blocks => points,
        };
        blocks.clamp(0, MAXIMUM_BLOCKS) as u32
    }
}

/// An argument of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Argument {
    /// The address of a buffer, a `.u64`.
    Buffer(BufferId),
    /// The value of a symbol, an `.s64`.
    Size(i64),
    /// The address of a 32-bit word that becomes 1 where an index check fails, a `.u64`.
    Flag,
}

/// One launch of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Launch<'a> {
    /// The kernel.
    pub entry: &'a Entry,
    /// Blocks, at least 1.
    pub blocks: u32,
    /// Threads a block.
    pub threads: u32,
    /// Arguments in order.
    pub arguments: Vec<Argument>,
}

/// The code of a program's kernels.
#[derive(Debug)]
pub struct PtxModule {
    /// The text, without the NUL that the driver wants at its end.
    pub text: String,
    /// Its kernels.
    pub entries: Vec<Entry>,
    pub(super) set: KernelSet,
}

impl PtxModule {
    /// What a launch step does: the kernel with the grid and arguments for these values of the program's symbols, or
    /// nothing where there is no point to run.
    ///
    /// # Errors
    /// Where a symbol has no value or a size does not fit.
    pub fn launch(
        &self,
        kernel: &Arc<Kernel>,
        buffers: &[BufferId],
        value_of: &dyn Fn(SymbolId) -> Option<i64>,
    ) -> Result<Option<Launch<'_>>, EvaluateError> {
        let (number, symbols) = self.set.use_of(kernel);
        let entry = &self.entries[number];
        let points = kernel.outer.iter().try_fold(1i64, |points, &axis| {
            points.checked_mul(kernel.extent(axis).evaluate(value_of)?.max(0)).ok_or(EvaluateError::Overflow)
        })?;
        let blocks = entry.blocks(points);
        if blocks == 0 {
            return Ok(None);
        }
        let mut arguments: Vec<Argument> = buffers.iter().map(|&buffer| Argument::Buffer(buffer)).collect();
        for &symbol in symbols {
            arguments.push(Argument::Size(Dim::symbol(symbol).evaluate(value_of)?));
        }
        arguments.push(Argument::Flag);
        Ok(Some(Launch { entry, blocks, threads: entry.threads(), arguments }))
    }
}
