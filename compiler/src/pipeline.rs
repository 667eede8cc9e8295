//! The pipeline, one way only:
//!
//! proto -> graph -> shape inference -> passes -> loops -> schedule -> memory plan -> codegen -> object -> link -> header

use std::path::Path;

use bytes::Bytes;
use cranelift_module::default_libcall_names;
use cranelift_object::{ObjectBuilder, ObjectModule};

use crate::codegen::{self, Compiled, Identity};
use crate::error::{Error, Errors, Stage};
use crate::graph::{self, ImportOptions, Model};
use crate::link::{self, PrelinkInput};
use crate::loops::{self, Program};
use crate::memory::{self, MemoryPlan};
use crate::passes;
use crate::proto::{self, LoadOptions};
use crate::schedule;
use crate::shape;
use crate::target::{CpuLevel, Target};

/// What the user chooses for a compilation.
#[derive(Clone, Debug)]
pub struct CompileOptions {
    /// The model's name: prefix of all exported symbols, a C identifier.
    pub name: String,
    /// What code is generated for.
    pub target: Target,
    /// Sizes fixed at compile time.
    pub import: ImportOptions,
    /// How the file is loaded.
    pub load: LoadOptions,
}

impl CompileOptions {
    /// Options for this machine's processor.
    pub fn host(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            target: Target::host(),
            import: ImportOptions::default(),
            load: LoadOptions::default(),
        }
    }
}

/// Learns where a compilation is, for timings and progress.
pub trait Observer {
    /// A stage begins, and with that the one before it has ended.
    fn enter(&mut self, stage: Stage);
}

impl Observer for () {
    fn enter(&mut self, _: Stage) {}
}

/// A compiled model before it is linked.
#[derive(Clone, Debug)]
pub struct Artifact {
    /// The model's name.
    pub name: String,
    /// One relocatable object, the stub included, that exports the model's functions only.
    pub object: Vec<u8>,
    /// The program that was compiled.
    pub program: Program,
    /// Its memory plan.
    pub plan: MemoryPlan,
    /// What was generated.
    pub compiled: Compiled,
}

/// Loads a model file into the graph form.
///
/// # Errors
/// Everything that is wrong with the file.
pub fn load(path: &Path, options: &CompileOptions) -> Result<Model, Errors> {
    let loaded = proto::load_path(path, &options.load).map_err(|error| Error::new(Stage::Load, error.to_string()))?;
    Ok(graph::import(&loaded, &options.import)?)
}

/// Loads a model from memory into the graph form; external data is looked for in `directory`.
///
/// # Errors
/// Everything that is wrong with the model.
pub fn load_bytes(bytes: Bytes, directory: Option<&Path>, options: &CompileOptions) -> Result<Model, Errors> {
    let loaded = proto::load_bytes(bytes, directory, &options.load)
        .map_err(|error| Error::new(Stage::Load, error.to_string()))?;
    Ok(graph::import(&loaded, &options.import)?)
}

/// Infers, transforms and lowers a model.
///
/// # Errors
/// Every node that cannot be compiled.
pub fn lower(model: &mut Model, target: &Target) -> Result<Program, Errors> {
    lower_observed(model, target, &mut ())
}

fn lower_observed(model: &mut Model, target: &Target, observer: &mut dyn Observer) -> Result<Program, Errors> {
    let features = target.features();
    observer.enter(Stage::Shape);
    shape::infer(model)?;
    observer.enter(Stage::Passes);
    passes::run(model)?;
    observer.enter(Stage::Loops);
    let mut program = loops::lower(model)?;
    observer.enter(Stage::Schedule);
    // Fusion and layouts depend on what is constant, and make constants of their own.
    codegen::fold(&mut program)?;
    schedule::fuse(&mut program);
    let tiling = schedule::Tiling::of(features.lanes);
    schedule::block_channels(&mut program, tiling);
    loops::drop_unread(&mut program);
    loops::collapse_all(&mut program);
    schedule::relayout(&mut program, tiling);
    codegen::fold(&mut program)?;
    Ok(program)
}

/// Compiles a loaded model to one relocatable object.
///
/// # Errors
/// Every node that cannot be compiled, or what else stands in the way.
pub fn compile(model: &mut Model, options: &CompileOptions) -> Result<Artifact, Errors> {
    compile_observed(model, options, &mut ())
}

/// As [`compile`], and tells the observer of each stage.
///
/// # Errors
/// As [`compile`].
pub fn compile_observed(
    model: &mut Model,
    options: &CompileOptions,
    observer: &mut dyn Observer,
) -> Result<Artifact, Errors> {
    options.target.check()?;
    let program = lower_observed(model, &options.target, observer)?;
    observer.enter(Stage::Memory);
    let plan = memory::plan(&program);
    if plan.fixed_bytes >= memory::GREATEST_ARENA {
        let message = "the intermediate results need more memory than there can be; are the model's shapes right?";
        return Err(Error::new(Stage::Memory, message).into());
    }
    observer.enter(Stage::Codegen);
    let mut module = object_module(options)?;
    let unoptimized = options.target.isa(false)?;
    let compiled =
        codegen::compile(&program, &plan, options.target.features(), &options.name, &*unoptimized, &mut module)?;
    let build = build_description(options);
    let identity = Identity { name: &options.name, build: &build, cpu_features: cpu_features(options.target.level) };
    codegen::define_interface(&program, &plan, &compiled, &identity, &mut module)?;
    let object = module.finish().emit().map_err(|error| Error::new(Stage::Codegen, error.to_string()))?;
    observer.enter(Stage::Link);
    let object = link::prelink(&PrelinkInput {
        object: &object,
        stub: link::stub::ARCHIVE,
        exports: &codegen::exports(&options.name),
        allowed_imports: &link::default_allowed_imports(),
    })
    .map_err(|error| Error::new(Stage::Link, error.to_string()))?;
    Ok(Artifact { name: options.name.clone(), object, program, plan, compiled })
}

/// An empty object file of the options' target.
///
/// # Errors
/// Where the target is not known.
pub fn object_module(options: &CompileOptions) -> Result<ObjectModule, Error> {
    let isa = options.target.isa(true)?;
    let mut builder = ObjectBuilder::new(isa, options.name.as_bytes(), default_libcall_names())
        .map_err(|error| Error::new(Stage::Codegen, error.to_string()))?;
    builder.per_function_section(true);
    Ok(ObjectModule::new(builder))
}

/// The stub's feature bit of a processor level.
fn cpu_features(level: CpuLevel) -> u64 {
    use lithify_runtime_stub::cpu;
    match level {
        CpuLevel::X86V2 => cpu::X86_V2,
        CpuLevel::X86V3 => cpu::X86_V2 | cpu::X86_V3,
        // Code for this level still uses the registers of the level below.
        CpuLevel::X86V4 => cpu::X86_V2 | cpu::X86_V3,
        CpuLevel::Aarch64 => 0,
    }
}

fn build_description(options: &CompileOptions) -> String {
    serde_json::json!({
        "compiler": concat!("lithify ", env!("CARGO_PKG_VERSION")),
        "target": options.target.triple.to_string(),
        "cpu": options.target.level.name(),
        "dims": options.import.dims,
        "input_shapes": options.import.input_shapes,
    })
    .to_string()
}
