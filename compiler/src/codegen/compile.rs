//! A program as functions and data of a module: an object file, or code in this process.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::types;
use cranelift_codegen::isa::TargetIsa;
use cranelift_module::{DataDescription, DataId, FuncId, Linkage, Module, ModuleReloc};
use rayon::prelude::*;

use super::clif::{Failure, Features, Routines, RunContext, build_kernel, kernel_signature};
use super::{KernelSet, kernel_symbols};
use crate::error::{Error, Stage};
use crate::graph::{ElementType, Tensor, TensorData};
use crate::loops::{BinaryOp, BufferId, BufferKind, Expr, Kernel, Program, UnaryOp};
use crate::memory::MemoryPlan;
use crate::schedule::schedule;

/// The functions of a compiled program.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// `fn(frame: *mut i64) -> i32`
    pub body: FuncId,
    /// `fn(frame: *mut i64) -> i64`
    pub plan: FuncId,
    /// `fn(frame: *mut i64, out: *mut i64)`
    pub output_dims: FuncId,
    /// What a result of `body` means, from 1.
    pub failures: Vec<Failure>,
    /// How many distinct kernels there are.
    pub kernel_count: usize,
    /// Bytes of constants.
    pub constant_bytes: u64,
}

/// Compiles a program into `module`; local symbols start with `prefix`. `unoptimized` is the module's target without
/// optimization passes.
///
/// # Errors
/// Where a kernel uses something that has no code; the message names kernel and reason.
pub fn compile(
    program: &Program,
    plan: &MemoryPlan,
    features: Features,
    prefix: &str,
    unoptimized: &dyn TargetIsa,
    module: &mut dyn Module,
) -> Result<Compiled, Error> {
    let fail = |message: String| Error::new(Stage::Codegen, message);
    let set = KernelSet::of(program);
    let mut routines = Routines::default();
    declare_kernel_routines(&set, &mut routines, module)?;
    let kernels = define_kernels(&set, features, prefix, &routines, unoptimized, module)?;
    let (constants, constant_bytes) = define_constants(program, prefix, module)?;
    let mut context = RunContext {
        program,
        plan,
        set: &set,
        kernels: &kernels,
        constants: &|buffer: BufferId| constants.get(&buffer).copied(),
        routines: &mut routines,
        module,
        prefix,
        failures: Vec::new(),
        parts: 0,
        clock: 0,
    };
    let body = context.function(&program.steps, &mut BTreeSet::new()).map_err(fail)?;
    let plan = context.plan_function(&format!("{prefix}_plan")).map_err(fail)?;
    let output_dims = context.output_dims_function(&format!("{prefix}_output_dims")).map_err(fail)?;
    let failures = context.failures;
    Ok(Compiled { body, plan, output_dims, failures, kernel_count: kernels.len(), constant_bytes })
}

/// The target with and without optimization passes.
struct Isas<'a> {
    optimized: &'a dyn TargetIsa,
    unoptimized: &'a dyn TargetIsa,
}

/// One compiled function before it is in a module.
struct Code {
    alignment: u64,
    bytes: Vec<u8>,
    relocations: Vec<ModuleReloc>,
}

/// Declares the stub functions that the kernels may call.
pub(super) fn declare_kernel_routines(
    set: &KernelSet,
    routines: &mut Routines,
    module: &mut dyn Module,
) -> Result<(), Error> {
    set.kernels
        .iter()
        .try_for_each(|kernel| declare_routines(kernel, routines, module))
        .map_err(|error| Error::new(Stage::Codegen, error.to_string()))
}

/// Compiles all kernels, several at a time.
pub(super) fn define_kernels(
    set: &KernelSet,
    features: Features,
    prefix: &str,
    routines: &Routines,
    unoptimized: &dyn TargetIsa,
    module: &mut dyn Module,
) -> Result<Vec<FuncId>, Error> {
    let signature = kernel_signature(module.isa().default_call_conv());
    let ids = (0..set.kernels.len())
        .map(|i| module.declare_function(&format!("{prefix}_kernel{i}"), Linkage::Local, &signature))
        .collect::<Result<Vec<FuncId>, _>>()
        .map_err(|error| Error::new(Stage::Codegen, error.to_string()))?;
    let isas = Isas { optimized: module.isa(), unoptimized };
    let isas = &isas;
    let codes: Vec<Result<Code, Error>> = set
        .kernels
        .par_iter()
        .zip(&set.symbol_counts)
        .zip(&ids)
        .zip(&set.nodes)
        .map(|(((kernel, &count), &id), node)| {
            compile_kernel(kernel, count, id, features, routines, isas)
                .map_err(|error| Error::new(Stage::Codegen, format!("kernel {}: {error}", kernel.name)).at(node))
        })
        .collect();
    for (code, &id) in codes.into_iter().zip(&ids) {
        let code = code?;
        module
            .define_function_bytes(id, code.alignment, &code.bytes, &code.relocations)
            .map_err(|error| Error::new(Stage::Codegen, error.to_string()))?;
    }
    Ok(ids)
}

fn compile_kernel(
    kernel: &Kernel,
    symbol_count: usize,
    id: FuncId,
    features: Features,
    routines: &Routines,
    isas: &Isas<'_>,
) -> Result<Code, String> {
    let symbols = kernel_symbols(kernel, symbol_count);
    let schedule = schedule(kernel, features.lanes);
    // The builder's order is the schedule of a register tile: no pass may change it.
    let isa = if schedule.contraction.is_some() { isas.unoptimized } else { isas.optimized };
    let conventions = (isa.default_call_conv(), isa.frontend_config());
    let function = build_kernel(kernel, &schedule, &symbols, features, routines, conventions)?;
    let mut context = Context::for_function(function);
    if let Err(error) = context.compile(isa, &mut ControlPlane::default()) {
        return Err(format!("{:?}", error.inner));
    }
    let compiled = context.compiled_code().ok_or("nothing was compiled")?;
    let alignment = u64::from(compiled.buffer.alignment.max(16));
    let bytes = compiled.buffer.data().to_vec();
    let relocations = compiled
        .buffer
        .relocs()
        .iter()
        .map(|relocation| ModuleReloc::from_mach_reloc(relocation, &context.func, id))
        .collect();
    Ok(Code { alignment, bytes, relocations })
}

/// Declares the stub functions that a kernel may call.
fn declare_routines(
    kernel: &Kernel,
    routines: &mut Routines,
    module: &mut dyn Module,
) -> cranelift_module::ModuleResult<()> {
    for (expr, &element) in kernel.exprs.iter().zip(&kernel.types) {
        let ty = match element {
            ElementType::F32 => types::F32,
            ElementType::F64 => types::F64,
            _ => types::I64,
        };
        match expr {
            Expr::Unary(op, _) if element.is_float() && !is_inline(*op) => {
                routines.declare_math(module, &format!("lithify_{}_{element}", op.name()), ty, 1)?;
            }
            Expr::Binary(op @ (BinaryOp::Pow | BinaryOp::Rem | BinaryOp::Mod | BinaryOp::Atan2), ..)
                if element.is_float() =>
            {
                routines.declare_math(module, &format!("lithify_{}_{element}", op.name()), ty, 2)?;
            }
            Expr::Binary(BinaryOp::Pow, ..) => {
                routines.declare_math(module, "lithify_pow_i64", types::I64, 2)?;
                routines.declare_math(module, "lithify_pow_u64", types::I64, 2)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn is_inline(op: UnaryOp) -> bool {
    use UnaryOp as U;
    matches!(op, U::Neg | U::Abs | U::Floor | U::Ceil | U::Round | U::Trunc | U::Sqrt | U::Sign | U::IsNan | U::Not)
}

/// Defines a data object for each distinct constant.
fn define_constants(
    program: &Program,
    prefix: &str,
    module: &mut dyn Module,
) -> Result<(BTreeMap<BufferId, DataId>, u64), Error> {
    let fail = |error: cranelift_module::ModuleError| Error::new(Stage::Codegen, error.to_string());
    let used = crate::memory::lifetimes(program);
    let mut objects = BTreeMap::new();
    let mut known: HashMap<(ElementType, bytes::Bytes), DataId> = HashMap::new();
    let mut total = 0;
    for (index, buffer) in program.buffers.iter().enumerate() {
        let BufferKind::Constant(tensor) = &buffer.kind else { continue };
        if used[index].is_none() {
            continue;
        }
        let bytes = constant_bytes(tensor).ok_or_else(|| {
            Error::new(Stage::Codegen, format!("constants of type {} have no code yet", tensor.element))
        })?;
        let id = match known.get(&(tensor.element, bytes.clone())) {
            Some(&id) => id,
            None => {
                let name = format!("{prefix}_constant{}", known.len());
                let id = module.declare_data(&name, Linkage::Local, false, false).map_err(fail)?;
                let mut description = DataDescription::new();
                description.set_align(64);
                total += bytes.len() as u64;
                // An object must not be empty, and its address is never read when the tensor is.
                description.define(if bytes.is_empty() { vec![0].into() } else { bytes.to_vec().into_boxed_slice() });
                module.define_data(id, &description).map_err(fail)?;
                known.insert((tensor.element, bytes), id);
                id
            }
        };
        objects.insert(BufferId(index as u32), id);
    }
    Ok((objects, total))
}

fn constant_bytes(tensor: &Tensor) -> Option<bytes::Bytes> {
    match &tensor.data {
        TensorData::Bytes(_) | TensorData::Splat(_) => tensor.bytes(),
        TensorData::Strings(_) => None,
    }
}
