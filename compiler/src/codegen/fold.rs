//! Runs at compile time what depends on constants only, with the code that would run it later.
//!
//! The code is compiled for one fixed processor level, so that the same model gives the same bytes on every machine.

use std::collections::{BTreeSet, HashSet};
use std::ffi::c_void;
use std::sync::Arc;

use bytes::Bytes;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, default_libcall_names};

use super::KernelSet;
use super::clif::Routines;
use super::compile::{declare_kernel_routines, define_kernels};
use crate::error::{Error, Stage};
use crate::graph::{Dim, Tensor, TensorData};
use crate::loops::{Access, Action, BufferId, BufferKind, Kernel, Program, Step};
use crate::memory::{lifetimes, touched};
use crate::target::{CpuLevel, Target};

/// Work (points of all axes together) that one kernel may cost at compile time.
const MAX_POINTS: i64 = 1 << 32;

/// Results up to this size are folded whatever their inputs are.
const FREE_BYTES: i64 = 1 << 20;

/// Larger results are folded where they are at most this many times the inputs: weights of one byte become floats, which
/// costs size once instead of time in every run.
const MAX_GROWTH: i64 = 4;

/// Whether folding may turn inputs of `before` bytes into results of `after` bytes.
pub fn may_grow(before: i64, after: i64) -> bool {
    after <= FREE_BYTES || after <= before.saturating_mul(MAX_GROWTH)
}

/// Replaces the results of launches that read constants only by constants, and drops the launches.
///
/// # Errors
/// Where the code cannot be generated.
pub fn fold(program: &mut Program) -> Result<(), Error> {
    let foldable = foldable_steps(program);
    if foldable.is_empty() {
        return Ok(());
    }
    let steps = std::mem::take(&mut program.steps);
    let mut launches = Program::default();
    for (index, step) in steps.into_iter().enumerate() {
        let list = if foldable.contains(&index) { &mut launches.steps } else { &mut program.steps };
        list.push(step);
    }
    let engine = Engine::new(&launches)?;
    for step in &launches.steps {
        if let Action::Launch { kernel, buffers } = &step.action {
            engine.run(kernel, buffers, program);
        }
    }
    drop_unread(program);
    Ok(())
}

/// Positions of top-level launches whose inputs are constants, or results of such launches.
fn foldable_steps(program: &Program) -> BTreeSet<usize> {
    let mut writers = vec![0usize; program.buffers.len()];
    count_writers(&program.steps, &mut writers);
    let mut constant: Vec<bool> =
        program.buffers.iter().map(|buffer| matches!(buffer.kind, BufferKind::Constant(_))).collect();
    let mut foldable = BTreeSet::new();
    for (index, step) in program.steps.iter().enumerate() {
        let Action::Launch { kernel, buffers } = &step.action else { continue };
        let parameters = || kernel.parameters.iter().zip(buffers);
        let reads_constants = parameters().all(|(parameter, buffer)| match parameter.access {
            Access::Read => constant[buffer.0 as usize],
            Access::Write => program.buffer(*buffer).kind == BufferKind::Temporary && writers[buffer.0 as usize] == 1,
            Access::ReadWrite => false,
        });
        let reads_any = kernel.parameters.iter().any(|parameter| parameter.access == Access::Read);
        if reads_constants && reads_any && !kernel.can_fail() && is_affordable(program, kernel, buffers) {
            foldable.insert(index);
            for (parameter, buffer) in parameters() {
                if parameter.access == Access::Write {
                    constant[buffer.0 as usize] = true;
                }
            }
        }
    }
    foldable
}

fn count_writers(steps: &[Step], writers: &mut [usize]) {
    for step in steps {
        match &step.action {
            Action::Launch { kernel, buffers } => {
                for (parameter, buffer) in kernel.parameters.iter().zip(buffers) {
                    writers[buffer.0 as usize] += usize::from(parameter.access != Access::Read);
                }
            }
            Action::If { then, otherwise, .. } => {
                count_writers(then, writers);
                count_writers(otherwise, writers);
            }
            Action::Loop { body, .. } => count_writers(body, writers),
            other => touched(other).into_iter().for_each(|buffer| writers[buffer.0 as usize] += 2),
        }
    }
}

fn is_affordable(program: &Program, kernel: &Kernel, buffers: &[BufferId]) -> bool {
    if !kernel.symbols().is_empty() {
        return false;
    }
    let points = Dim::product(kernel.axes.iter().cloned()).as_const();
    let mut sizes = (0i64, 0i64);
    for (parameter, buffer) in kernel.parameters.iter().zip(buffers) {
        let Some(bytes) = program.buffer(*buffer).bytes().as_const() else { return false };
        let total = if parameter.access == Access::Read { &mut sizes.0 } else { &mut sizes.1 };
        *total = total.saturating_add(bytes);
    }
    may_grow(sizes.0, sizes.1) && points.is_some_and(|points| points <= MAX_POINTS)
}

/// Removes launches whose results nobody reads any more, and forgets constants that no step touches.
fn drop_unread(program: &mut Program) {
    let used: HashSet<usize> =
        lifetimes(program).iter().enumerate().filter(|(_, life)| life.is_some()).map(|(index, _)| index).collect();
    for (index, buffer) in program.buffers.iter_mut().enumerate() {
        if !used.contains(&index)
            && let BufferKind::Constant(_) = buffer.kind
        {
            buffer.kind = BufferKind::Temporary;
        }
    }
}

type KernelCode = unsafe extern "C" fn(*const *mut c_void, *const i64, i64, i64) -> i32;

/// Compiled kernels in this process.
pub(super) struct Engine {
    module: JITModule,
    set: KernelSet,
    functions: Vec<FuncId>,
}

impl Engine {
    /// Compiles all kernels of the program's steps.
    pub(super) fn new(program: &Program) -> Result<Self, Error> {
        let fail = |message: String| Error::new(Stage::Codegen, message);
        let level = if cfg!(target_arch = "x86_64") { CpuLevel::X86V2 } else { CpuLevel::native() };
        let target = Target { level, ..Target::host() };
        let mut builder = JITBuilder::with_isa(target.jit_isa(true)?, default_libcall_names());
        builder.symbols(lithify_runtime_stub::symbols::symbols().iter().map(|(name, address)| (*name, *address)));
        let mut module = JITModule::new(builder);
        let set = KernelSet::of(program);
        let mut routines = Routines::default();
        declare_kernel_routines(&set, &mut routines, &mut module)?;
        let unoptimized = target.jit_isa(false)?;
        let functions = define_kernels(&set, target.features(), "fold", &routines, &*unoptimized, &mut module)?;
        module.finalize_definitions().map_err(|error| fail(error.to_string()))?;
        Ok(Self { module, set, functions })
    }

    /// Calls the code of a kernel without symbols.
    ///
    /// # Safety
    /// `addresses` must point to a buffer of sufficient size for each parameter.
    pub(super) unsafe fn call(&self, kernel: &Arc<Kernel>, addresses: &[*mut c_void]) {
        let (number, _) = self.set.use_of(kernel);
        let code = self.module.get_finalized_function(self.functions[number]);
        let count = kernel.outer.first().map_or(1, |&axis| kernel.extent(axis).as_const().unwrap_or(0));
        // SAFETY: the code was generated for this kernel, with the signature of all kernels; without symbols it reads no
        // sizes; the caller vouches for the buffers.
        unsafe {
            let function: KernelCode = std::mem::transmute(code);
            function(addresses.as_ptr(), std::ptr::null(), 0, count);
        }
    }

    /// Runs a launch and makes its results constants.
    fn run(&self, kernel: &Arc<Kernel>, buffers: &[BufferId], program: &mut Program) {
        let mut inputs: Vec<Option<Bytes>> = Vec::new();
        let mut outputs: Vec<Vec<u64>> = Vec::new();
        let mut addresses: Vec<*mut c_void> = Vec::new();
        for (parameter, buffer) in kernel.parameters.iter().zip(buffers) {
            match &program.buffer(*buffer).kind {
                BufferKind::Constant(tensor) if parameter.access == Access::Read => {
                    let bytes = tensor.bytes();
                    addresses
                        .push(bytes.as_ref().map_or(std::ptr::null_mut(), |bytes| bytes.as_ptr().cast_mut().cast()));
                    inputs.push(bytes);
                }
                _ => {
                    let bytes = program.buffer(*buffer).bytes().as_const().unwrap_or(0) as usize;
                    outputs.push(vec![0; bytes.div_ceil(8) + 1]);
                    addresses.push(outputs.last_mut().map_or(std::ptr::null_mut(), |words| words.as_mut_ptr().cast()));
                }
            }
        }
        // SAFETY: inputs and outputs have the sizes of the parameters and live through the call; a launch is folded only
        // if its kernel has no symbols.
        unsafe { self.call(kernel, &addresses) };
        let mut results = outputs.into_iter();
        for (parameter, buffer) in kernel.parameters.iter().zip(buffers) {
            if parameter.access != Access::Write {
                continue;
            }
            let Some(words) = results.next() else { break };
            let target = &mut program.buffers[buffer.0 as usize];
            let dims: Vec<i64> = target.shape.iter().map(|dim| dim.as_const().unwrap_or(0)).collect();
            let len = target.bytes().as_const().unwrap_or(0) as usize;
            // SAFETY: the words hold at least `len` bytes, and any bytes are valid `u8`s.
            let bytes = unsafe { std::slice::from_raw_parts(words.as_ptr().cast::<u8>(), len) }.to_vec();
            target.kind =
                BufferKind::Constant(Tensor { element: target.element, dims, data: TensorData::Bytes(bytes.into()) });
        }
        drop(inputs);
    }
}
