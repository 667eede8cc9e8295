//! PTX, the code of NVIDIA GPUs.
//!
//! One text holds all distinct kernels of a program. A kernel takes the addresses of its buffers (`.u64`), then its sizes
//! (`.s64`), then the address of a 32-bit word that becomes 1 where an index check fails. Its [`Mapping`] says how the
//! points of its outer axes are spread over threads. Results are the same for every number of blocks.
//!
//! The text needs PTX 6.5 and GPUs from `sm_75` on.

mod access;
mod arithmetic;
mod assembly;
mod convert;
mod dims;
mod expr;
mod integer;
mod kernel;
mod mapping;
mod math;
mod module;
mod narrow;
#[cfg(feature = "ptxas")]
pub mod ptxas;
mod reduce;

pub use mapping::Mapping;
pub use module::{Argument, BLOCK_THREADS, Entry, Launch, MAXIMUM_BLOCKS, PtxModule};

use super::{KernelSet, kernel_symbols};
use crate::error::{Error, Stage};
use crate::loops::{Action, Program, Step};
use math::Library;

const HEADER: &str = ".version 6.5\n.target sm_75\n.address_size 64\n";

/// The kernels of a program as PTX.
///
/// # Errors
/// Where a step needs a routine of the stub, which runs on the CPU only, or a kernel uses something that has no code; the
/// error names the node.
pub fn emit(program: &Program) -> Result<PtxModule, Error> {
    refuse_routines(program, &program.steps)?;
    let set = KernelSet::of(program);
    let mut library = Library::default();
    let (mut entries, mut kernels) = (Vec::new(), String::new());
    for (number, (kernel, &count)) in set.kernels.iter().zip(&set.symbol_counts).enumerate() {
        let name = format!("kernel{number}");
        let mapping = Mapping::of(kernel);
        let text = kernel::emit_kernel(kernel, &name, mapping, &kernel_symbols(kernel, count), &mut library).map_err(
            |message| {
                let error = Error::new(Stage::Codegen, format!("kernel {}: {message}", kernel.name));
                match user(&set, number, &program.steps) {
                    Some(label) => error.at(describe(program, label)),
                    None => error,
                }
            },
        )?;
        kernels += &format!("\n// {}{text}", comment(&kernel.name));
        entries.push(Entry { name, mapping, can_fail: kernel.can_fail() });
    }
    Ok(PtxModule { text: format!("{HEADER}{}{kernels}", library.finish()), entries, set })
}

/// A kernel's name fit for a comment in a text that must be ASCII.
fn comment(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '_' }).collect()
}

fn describe(program: &Program, label: u32) -> String {
    program.labels.get(label as usize).cloned().unwrap_or_default()
}

/// The blocks of steps that a step holds.
fn blocks(step: &Step) -> Vec<&[Step]> {
    match &step.action {
        Action::If { then, otherwise, .. } => vec![then, otherwise],
        Action::Loop { body, .. } => vec![body],
        _ => Vec::new(),
    }
}

fn refuse_routines(program: &Program, steps: &[Step]) -> Result<(), Error> {
    steps.iter().try_for_each(|step| {
        if let Action::Routine(call) = &step.action {
            let message = format!("{} runs on the CPU only; this model cannot be compiled for a GPU yet", call.routine);
            return Err(Error::new(Stage::Codegen, message).at(describe(program, step.label)));
        }
        blocks(step).into_iter().try_for_each(|block| refuse_routines(program, block))
    })
}

/// The label of the first step that launches a kernel.
fn user(set: &KernelSet, number: usize, steps: &[Step]) -> Option<u32> {
    steps.iter().find_map(|step| match &step.action {
        Action::Launch { kernel, .. } => (set.use_of(kernel).0 == number).then_some(step.label),
        _ => blocks(step).into_iter().find_map(|block| user(set, number, block)),
    })
}
