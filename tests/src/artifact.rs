//! Compiles models and calls the shared libraries through their C interface.

use std::ffi::{CStr, c_void};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use libloading::Library;
use lithify::pipeline::{self, CompileOptions};
use lithify_runtime_stub::abi;
use lithify_runtime_stub::context::Context as ModelContext;

use crate::tensor::{Data, Tensor, Value};

/// Compiles a model file to a shared library at `out`; symbols start with `model`.
pub fn compile(model: &Path, out: &Path, options: &CompileOptions) -> Result<()> {
    let mut graph = pipeline::load(model, options)?;
    let artifact = pipeline::compile(&mut graph, options)?;
    lithify::link::shared(&artifact.object, out, &lithify::link::SharedOptions::default())?;
    Ok(())
}

/// A loaded library with one context.
#[derive(Debug)]
pub struct Loaded {
    table: *const abi::Model,
    context: *mut ModelContext,
    _library: Library,
}

impl Loaded {
    /// Loads the library of the model called `name` and makes a context.
    pub fn open(path: &Path, name: &str) -> Result<Self> {
        // SAFETY: libraries of lithify have no constructors, and `NAME_model` takes nothing.
        let (library, table) = unsafe {
            let library = Library::new(path)?;
            let model: libloading::Symbol<'_, unsafe extern "C" fn() -> *const abi::Model> =
                library.get(format!("{name}_model"))?;
            let table = model();
            (library, table)
        };
        let mut context = std::ptr::null_mut();
        // SAFETY: the table is the library's; null options are allowed.
        let status = unsafe { ((*table).create)(std::ptr::null(), &raw mut context) };
        if status != 0 {
            bail!("create gives status {status}");
        }
        Ok(Self { table, context, _library: library })
    }

    /// The names of the inputs, in order.
    pub fn input_names(&self) -> Vec<String> {
        self.names(true)
    }

    /// The names of the outputs, in order.
    pub fn output_names(&self) -> Vec<String> {
        self.names(false)
    }

    fn names(&self, inputs: bool) -> Vec<String> {
        // SAFETY: the table's ports are constants of the loaded library.
        unsafe {
            let table = &*self.table;
            let (first, count) =
                if inputs { (table.inputs, table.input_count) } else { (table.outputs, table.output_count) };
            (0..count as usize).map(|i| CStr::from_ptr((*first.add(i)).name).to_string_lossy().into_owned()).collect()
        }
    }

    /// Runs the model; the library allocates the outputs.
    pub fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        let mut inputs: Vec<(Vec<u8>, Vec<i64>, i32)> = inputs
            .iter()
            .map(|tensor| match &tensor.data {
                Data::Bytes(bytes) => Ok((bytes.clone(), tensor.dims.clone(), tensor.element_type)),
                Data::Strings(_) => Err(anyhow!("string tensors cannot be passed yet")),
            })
            .collect::<Result<_>>()?;
        let inputs: Vec<abi::Value> =
            inputs.iter_mut().map(|(bytes, dims, element)| value(bytes, dims, *element)).collect();
        // SAFETY: the table's ports are constants of the loaded library.
        let ranks: Vec<usize> = unsafe {
            let table = &*self.table;
            (0..table.output_count as usize).map(|i| (*table.outputs.add(i)).rank as usize).collect()
        };
        let mut dims: Vec<Vec<i64>> = ranks.iter().map(|&rank| vec![0; rank]).collect();
        let mut outputs: Vec<abi::Value> = dims.iter_mut().map(|dims| value(&mut [], dims, 0)).collect();
        for output in &mut outputs {
            output.data = std::ptr::null_mut();
        }
        // SAFETY: the values describe memory that lives through the call.
        let status = unsafe {
            ((*self.table).run)(self.context, inputs.as_ptr(), inputs.len(), outputs.as_mut_ptr(), outputs.len())
        };
        if status != 0 {
            // SAFETY: the context is live.
            let message = unsafe { CStr::from_ptr(((*self.table).error)(self.context)) };
            bail!("run gives status {status}: {}", message.to_string_lossy());
        }
        let mut results = Vec::new();
        for (output, dims) in outputs.iter_mut().zip(&dims) {
            let bytes = if output.bytes == 0 {
                Vec::new()
            } else {
                // SAFETY: the library allocated that many bytes.
                unsafe { std::slice::from_raw_parts(output.data.cast::<u8>(), output.bytes as usize) }.to_vec()
            };
            results.push(Tensor::new(output.element_type, dims.clone(), bytes));
            // SAFETY: the value comes from this context's run.
            unsafe { ((*self.table).release)(self.context, output) };
        }
        Ok(results)
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: the context comes from `create` and is not used afterwards.
        unsafe { ((*self.table).destroy)(self.context) };
    }
}

fn value(bytes: &mut [u8], dims: &mut [i64], element_type: i32) -> abi::Value {
    abi::Value {
        kind: abi::KIND_TENSOR,
        element_type,
        data: bytes.as_mut_ptr().cast::<c_void>(),
        bytes: bytes.len() as u64,
        dims: dims.as_mut_ptr(),
        rank: dims.len() as u32,
        flags: 0,
        items: std::ptr::null_mut(),
        count: 0,
    }
}

/// The tensors among `values`; an error for other kinds.
pub fn tensors(values: &[Value]) -> Result<Vec<Tensor>> {
    values.iter().map(|value| value.as_tensor().cloned().context("not a tensor")).collect()
}
