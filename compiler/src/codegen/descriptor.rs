//! The model's exported functions and the tables behind them.

use std::ffi::CString;
use std::mem::offset_of;

use cranelift_codegen::ir::{InstBuilder, Signature, types};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_module::{DataDescription, DataId, FuncId, Linkage, Module, ModuleError};
use lithify_runtime_stub::abi::{ABI_VERSION, DIM_AT_RUN_TIME, Descriptor, Model, Port, Status};

use super::Compiled;
use super::clif::{Failure, POINTER, signature};
use crate::error::{Error, Stage};
use crate::graph::Dim;
use crate::loops::{self, Program};
use crate::memory::{MemoryPlan, late_symbols};

/// What the tables state besides the program itself.
#[derive(Clone, Debug)]
pub struct Identity<'a> {
    /// The model's name, prefix of all symbols.
    pub name: &'a str,
    /// How the library was built, as JSON.
    pub build: &'a str,
    /// Processor features that the code needs, as the stub's `cpu` module numbers them.
    pub cpu_features: u64,
}

/// The names that a model's library exports.
pub fn exports(name: &str) -> Vec<String> {
    ["model", "create", "destroy", "run", "error", "workspace_bytes", "release"]
        .iter()
        .map(|function| format!("{name}_{function}"))
        .collect()
}

/// Defines the descriptor and the exported functions of a compiled program.
///
/// # Errors
/// Where the module refuses a definition, which is a defect.
pub fn define_interface(
    program: &Program,
    plan: &MemoryPlan,
    compiled: &Compiled,
    identity: &Identity<'_>,
    module: &mut dyn Module,
) -> Result<(), Error> {
    Writer { program, plan, compiled, identity, module, count: 0 }
        .write()
        .map_err(|error| Error::new(Stage::Codegen, error.to_string()))
}

struct Writer<'a> {
    program: &'a Program,
    plan: &'a MemoryPlan,
    compiled: &'a Compiled,
    identity: &'a Identity<'a>,
    module: &'a mut dyn Module,
    count: usize,
}

/// Bytes of a structure under construction, and the addresses in it.
struct Table {
    bytes: Vec<u8>,
    data: Vec<(usize, DataId)>,
    functions: Vec<(usize, FuncId)>,
}

impl Table {
    fn new(size: usize) -> Self {
        Self { bytes: vec![0; size], data: Vec::new(), functions: Vec::new() }
    }

    fn u32(&mut self, at: usize, value: u32) {
        self.bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    fn u64(&mut self, at: usize, value: u64) {
        self.bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }
}

impl Writer<'_> {
    fn write(&mut self) -> Result<(), ModuleError> {
        let name = self.identity.name;
        let descriptor = self.module.declare_data(&format!("{name}_descriptor"), Linkage::Local, false, false)?;
        let functions = [
            self.forward("create", "lithify_create", &[POINTER, POINTER], &[types::I32], Some(descriptor))?,
            self.forward("destroy", "lithify_destroy", &[POINTER], &[], None)?,
            self.forward("run", "lithify_run", &[POINTER, POINTER, POINTER, POINTER, POINTER], &[types::I32], None)?,
            self.forward("error", "lithify_error", &[POINTER], &[POINTER], None)?,
            self.forward(
                "workspace_bytes",
                "lithify_workspace_bytes",
                &[POINTER, POINTER, POINTER],
                &[types::I64],
                None,
            )?,
            self.forward("release", "lithify_release", &[POINTER, POINTER], &[], None)?,
        ];
        self.model_function(descriptor)?;
        let mut table = Table::new(size_of::<Descriptor>());
        self.public_table(&mut table, &functions)?;
        self.private_table(&mut table)?;
        self.define(descriptor, table)
    }

    fn public_table(&mut self, table: &mut Table, functions: &[FuncId; 6]) -> Result<(), ModuleError> {
        let base = offset_of!(Descriptor, model);
        table.u32(base + offset_of!(Model, abi_version), ABI_VERSION);
        table.u32(base + offset_of!(Model, size), size_of::<Model>() as u32);
        table.u32(base + offset_of!(Model, input_count), self.program.inputs.len() as u32);
        table.u32(base + offset_of!(Model, output_count), self.program.outputs.len() as u32);
        table.u64(base + offset_of!(Model, cpu_features), self.identity.cpu_features);
        let symbols: Vec<String> =
            self.program.symbols.iter().map(|id| self.program.symbols.name(id).to_owned()).collect();
        table.u32(base + offset_of!(Model, symbol_count), symbols.len() as u32);
        let texts = [(offset_of!(Model, name), self.identity.name), (offset_of!(Model, build), self.identity.build)];
        for (offset, text) in texts {
            let id = self.text(text)?;
            table.data.push((base + offset, id));
        }
        let symbols = self.texts(&symbols)?;
        table.data.push((base + offset_of!(Model, symbols), symbols));
        let program = self.program;
        let inputs = self.ports(&program.inputs)?;
        table.data.push((base + offset_of!(Model, inputs), inputs));
        let outputs = self.ports(&program.outputs)?;
        table.data.push((base + offset_of!(Model, outputs), outputs));
        let offsets = [
            offset_of!(Model, create),
            offset_of!(Model, destroy),
            offset_of!(Model, run),
            offset_of!(Model, error),
            offset_of!(Model, workspace_bytes),
            offset_of!(Model, release),
        ];
        table.functions.extend(offsets.into_iter().map(|offset| base + offset).zip(functions.iter().copied()));
        Ok(())
    }

    fn private_table(&mut self, table: &mut Table) -> Result<(), ModuleError> {
        let rank_total: usize = self.program.outputs.iter().map(|port| port.shape.len()).sum();
        let numbers = [
            // The frame ends with room for the dimensions of all outputs.
            (offset_of!(Descriptor, frame_words), self.plan.frame_words + rank_total as u64),
            (offset_of!(Descriptor, symbols_at), self.plan.symbols_at),
            (offset_of!(Descriptor, symbol_words), self.program.symbols.len() as u64),
            (offset_of!(Descriptor, pointers_at), self.plan.pointers_at),
            (offset_of!(Descriptor, output_rank_total), rank_total as u64),
            (offset_of!(Descriptor, message_count), self.compiled.failures.len() as u64),
        ];
        for (offset, value) in numbers {
            table.u64(offset, value);
        }
        let functions = [
            (offset_of!(Descriptor, body), self.compiled.body),
            (offset_of!(Descriptor, plan), self.compiled.plan),
            (offset_of!(Descriptor, output_dims), self.compiled.output_dims),
        ];
        table.functions.extend(functions);
        let late = late_symbols(self.program);
        let is_late = |dim: &Dim| dim.symbols().iter().any(|symbol| late.contains(symbol));
        let flags = self.program.outputs.iter().map(|port| port.shape.iter().any(is_late).into()).collect();
        let flags = self.bytes(flags)?;
        table.data.push((offset_of!(Descriptor, late_outputs), flags));
        let mut messages = Vec::new();
        let mut codes = Vec::new();
        for failure in &self.compiled.failures {
            let (text, status) = match failure {
                Failure::Index(text) => (text, Status::IndexOutOfRange),
                Failure::Check(text) => (text, Status::CheckFailed),
                Failure::Routine(text) => (text, Status::InvalidValue),
                Failure::Memory(text) => (text, Status::OutOfMemory),
            };
            messages.push(text.clone());
            codes.extend((status as i32).to_le_bytes());
        }
        let messages = self.texts(&messages)?;
        table.data.push((offset_of!(Descriptor, messages), messages));
        let codes = self.bytes(codes)?;
        table.data.push((offset_of!(Descriptor, message_codes), codes));
        Ok(())
    }

    fn ports(&mut self, ports: &[loops::Port]) -> Result<DataId, ModuleError> {
        let mut table = Table::new(size_of::<Port>() * ports.len());
        for (index, port) in ports.iter().enumerate() {
            let base = index * size_of::<Port>();
            let name = self.text(&port.name)?;
            table.data.push((base + offset_of!(Port, name), name));
            table.u32(base + offset_of!(Port, element_type), port.element.onnx_number() as u32);
            table.u32(base + offset_of!(Port, rank), port.shape.len() as u32);
            let dims = port.shape.iter().flat_map(|dim| port_dim(dim).to_le_bytes()).collect();
            let dims = self.bytes(dims)?;
            table.data.push((base + offset_of!(Port, dims), dims));
        }
        let id = self.anonymous()?;
        self.define(id, table)?;
        Ok(id)
    }

    fn text(&mut self, text: &str) -> Result<DataId, ModuleError> {
        let text = CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default();
        self.bytes(text.into_bytes_with_nul())
    }

    fn texts(&mut self, texts: &[String]) -> Result<DataId, ModuleError> {
        let mut table = Table::new(8 * texts.len());
        for (index, text) in texts.iter().enumerate() {
            let id = self.text(text)?;
            table.data.push((8 * index, id));
        }
        let id = self.anonymous()?;
        self.define(id, table)?;
        Ok(id)
    }

    fn bytes(&mut self, bytes: Vec<u8>) -> Result<DataId, ModuleError> {
        let id = self.anonymous()?;
        self.define(id, Table { bytes, data: Vec::new(), functions: Vec::new() })?;
        Ok(id)
    }

    fn anonymous(&mut self) -> Result<DataId, ModuleError> {
        self.count += 1;
        self.module.declare_data(&format!("{}_table{}", self.identity.name, self.count), Linkage::Local, false, false)
    }

    fn define(&mut self, id: DataId, table: Table) -> Result<(), ModuleError> {
        let mut description = DataDescription::new();
        description.set_align(8);
        // An object must not be empty.
        description.define(if table.bytes.is_empty() { vec![0].into() } else { table.bytes.into_boxed_slice() });
        for (offset, target) in table.data {
            let value = self.module.declare_data_in_data(target, &mut description);
            description.write_data_addr(offset as u32, value, 0);
        }
        for (offset, target) in table.functions {
            let function = self.module.declare_func_in_data(target, &mut description);
            description.write_function_addr(offset as u32, function);
        }
        self.module.define_data(id, &description)
    }

    fn exported(
        &mut self,
        function: &str,
        signature: Signature,
        contents: impl FnOnce(&mut dyn Module, &mut FunctionBuilder<'_>) -> Result<(), ModuleError>,
    ) -> Result<FuncId, ModuleError> {
        let name = format!("{}_{function}", self.identity.name);
        let id = self.module.declare_function(&name, Linkage::Export, &signature)?;
        let mut context = self.module.make_context();
        context.func.signature = signature;
        let mut frontend = FunctionBuilderContext::new();
        let mut builder = FunctionBuilder::new(&mut context.func, &mut frontend);
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        builder.seal_block(entry);
        contents(self.module, &mut builder)?;
        builder.finalize(self.module.target_config());
        self.module.define_function(id, &mut context)?;
        Ok(id)
    }

    /// An exported function that passes its arguments on to a stub function, after the descriptor where given.
    fn forward(
        &mut self,
        function: &str,
        target: &str,
        parameters: &[cranelift_codegen::ir::Type],
        results: &[cranelift_codegen::ir::Type],
        descriptor: Option<DataId>,
    ) -> Result<FuncId, ModuleError> {
        let convention = self.module.isa().default_call_conv();
        let mut target_parameters = parameters.to_vec();
        target_parameters.splice(0..0, descriptor.iter().map(|_| POINTER));
        let target_signature = signature(convention, &target_parameters, results);
        let target = self.module.declare_function(target, Linkage::Import, &target_signature)?;
        self.exported(function, signature(convention, parameters, results), |module, builder| {
            let mut arguments = builder.block_params(builder.current_block().expect("the entry block")).to_vec();
            if let Some(descriptor) = descriptor {
                let value = module.declare_data_in_func(descriptor, builder.func);
                arguments.insert(0, builder.ins().symbol_value(POINTER, value));
            }
            let reference = module.declare_func_in_func(target, builder.func);
            let call = builder.ins().call(reference, &arguments);
            let results = builder.inst_results(call).to_vec();
            builder.ins().return_(&results);
            Ok(())
        })
    }

    /// `NAME_model()`, the address of the public table, which is the descriptor's first field.
    fn model_function(&mut self, descriptor: DataId) -> Result<(), ModuleError> {
        let signature = signature(self.module.isa().default_call_conv(), &[], &[POINTER]);
        self.exported("model", signature, |module, builder| {
            let value = module.declare_data_in_func(descriptor, builder.func);
            let address = builder.ins().symbol_value(POINTER, value);
            builder.ins().return_(&[address]);
            Ok(())
        })?;
        Ok(())
    }
}

fn port_dim(dim: &Dim) -> i64 {
    match (dim.as_const(), dim.as_symbol()) {
        (Some(size), _) => size,
        (None, Some(symbol)) => -1 - symbol.index() as i64,
        (None, None) => DIM_AT_RUN_TIME,
    }
}
