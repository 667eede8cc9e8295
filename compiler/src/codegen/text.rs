//! Kernels as text.

use std::fmt::Write;

use cranelift_module::Module;

use super::clif::{Features, Routines, build_kernel};
use super::compile::declare_kernel_routines;
use super::{KernelSet, kernel_symbols};
use crate::error::{Error, Stage};
use crate::loops::Program;
use crate::schedule::schedule;

/// The CLIF of each distinct kernel of a program, built with the conventions of `module`.
///
/// # Errors
/// Where a kernel uses something that has no code.
pub fn clif_text(program: &Program, features: Features, module: &mut dyn Module) -> Result<String, Error> {
    let fail = |message: String| Error::new(Stage::Codegen, message);
    let set = KernelSet::of(program);
    let mut routines = Routines::default();
    declare_kernel_routines(&set, &mut routines, module)?;
    let mut text = String::new();
    for (index, (kernel, &count)) in set.kernels.iter().zip(&set.symbol_counts).enumerate() {
        let conventions = (module.isa().default_call_conv(), module.isa().frontend_config());
        let symbols = kernel_symbols(kernel, count);
        let function =
            build_kernel(kernel, &schedule(kernel, features.lanes), &symbols, features, &routines, conventions)
                .map_err(|error| fail(format!("kernel {}: {error}", kernel.name)))?;
        let _ = writeln!(text, "; kernel {index}: {}\n{function}", kernel.name);
    }
    Ok(text)
}
