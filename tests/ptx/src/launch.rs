//! Launches a kernel: checks the launch against the kernel and runs its blocks.

use crate::execute::Runner;
use crate::fault::{Fault, FaultReason};
use crate::memory::{DevicePtr, Memory};
use crate::operation::Kernel;
use crate::region::Region;

/// A kernel parameter.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Param {
    U32(u32),
    S32(i32),
    U64(u64),
    S64(i64),
    F32(f32),
    F64(f64),
    Pointer(DevicePtr),
    /// The bytes of any other parameter, such as a structure.
    Bytes(Vec<u8>),
}

impl Param {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::U32(value) => value.to_le_bytes().to_vec(),
            Self::S32(value) => value.to_le_bytes().to_vec(),
            Self::U64(value) | Self::Pointer(DevicePtr(value)) => value.to_le_bytes().to_vec(),
            Self::S64(value) => value.to_le_bytes().to_vec(),
            Self::F32(value) => value.to_le_bytes().to_vec(),
            Self::F64(value) => value.to_le_bytes().to_vec(),
            Self::Bytes(bytes) => bytes.clone(),
        }
    }
}

/// The order in which the warps of a block run between two barriers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum WarpOrder {
    /// From the first warp to the last.
    #[default]
    Forward,
    /// From the last warp to the first.
    Reverse,
    /// Shuffled anew each time, from this seed.
    Seeded(u64),
}

/// How to run a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Order of the warps; a kernel whose result depends on it has a race.
    pub warp_order: WarpOrder,
    /// Warp instructions after which the launch is given up.
    pub step_limit: u64,
    /// Report races in shared memory.
    pub check_races: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { warp_order: WarpOrder::Forward, step_limit: 10_000_000_000, check_races: true }
    }
}

/// What a launch did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Stats {
    /// Blocks run.
    pub blocks: u64,
    /// Instructions executed by warps.
    pub warp_instructions: u64,
    /// Instructions executed by lanes.
    pub lane_instructions: u64,
    /// Barriers completed.
    pub barriers: u64,
}

/// The shape of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads a block.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared_bytes: u32,
}

/// Most threads a block has.
const MAXIMUM_THREADS: u64 = 1024;
/// Most bytes of shared memory a block has on any machine (232448 on sm_90).
const MAXIMUM_SHARED: u64 = 227 * 1024;

fn check_shape(kernel: &Kernel, shape: &Shape) -> Result<(), String> {
    let threads: u64 = shape.block.iter().map(|&size| u64::from(size)).product();
    if threads == 0 || shape.grid.contains(&0) {
        return Err("the grid or the block is empty".into());
    }
    if threads > MAXIMUM_THREADS || shape.block[2] > 64 {
        return Err(format!("a block of {threads} threads: at most {MAXIMUM_THREADS} are possible, 64 along z"));
    }
    if shape.grid[0] > i32::MAX as u32 || shape.grid[1] > 65535 || shape.grid[2] > 65535 {
        return Err("the grid is larger than 2147483647 x 65535 x 65535".into());
    }
    if let Some((limit, exact)) = kernel.block_limit {
        let most: u64 = limit.iter().map(|&size| u64::from(size)).product();
        if exact && limit != shape.block {
            return Err(format!("blocks of {:?} threads, but the kernel requires {limit:?}", shape.block));
        }
        if threads > most {
            return Err(format!("a block of {threads} threads, but the kernel allows {most}"));
        }
    }
    let shared = u64::from(kernel.shared_bytes) + u64::from(shape.shared_bytes);
    if shared > MAXIMUM_SHARED {
        return Err(format!("{shared} bytes of shared memory: no machine has more than {MAXIMUM_SHARED}"));
    }
    Ok(())
}

fn parameter_block(kernel: &Kernel, params: &[Param]) -> Result<Region, String> {
    if params.len() != kernel.parameters.len() {
        return Err(format!("{} parameters given, {} declared", params.len(), kernel.parameters.len()));
    }
    let mut block = Region::poisoned(kernel.parameter_bytes as usize);
    for (param, (offset, declared)) in params.iter().zip(&kernel.parameters) {
        let bytes = param.bytes();
        if bytes.len() != declared.bytes as usize {
            return Err(format!(
                "parameter {}: {} bytes given, {} declared",
                declared.name,
                bytes.len(),
                declared.bytes
            ));
        }
        if let (Param::Pointer(DevicePtr(address)), 1..) = (param, declared.pointer_align)
            && address % u64::from(declared.pointer_align) != 0
        {
            return Err(format!(
                "parameter {}: {address:#x} is not a multiple of {}",
                declared.name, declared.pointer_align
            ));
        }
        block.write(u64::from(*offset), &bytes).map_err(|_| "a parameter lies outside its block".to_string())?;
    }
    Ok(block)
}

/// Runs a launch.
pub fn launch(
    kernel: &Kernel,
    shape: &Shape,
    params: &[Param],
    variables: &[u64],
    memory: &mut Memory,
    options: &Options,
) -> Result<Stats, Fault> {
    let refuse = |message| Fault {
        kernel: kernel.name.clone(),
        line: 0,
        block: [0; 3],
        warp: 0,
        lane: 0,
        reason: FaultReason::Launch(message),
    };
    check_shape(kernel, shape).map_err(refuse)?;
    let parameters = parameter_block(kernel, params).map_err(refuse)?;
    let mut runner = Runner::new(kernel, shape, &parameters, variables, memory, options);
    let [width, height, depth] = shape.grid;
    for z in 0..depth {
        for y in 0..height {
            for x in 0..width {
                runner.run([x, y, z])?;
            }
        }
    }
    Ok(runner.stats())
}
