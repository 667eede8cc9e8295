//! A loaded library and what its table says.

use std::ffi::{CStr, c_char};
use std::fs::File;
use std::path::Path;
use std::slice;
use std::sync::Arc;

use lithify_runtime_stub::abi::{self, ABI_VERSION, DIM_AT_RUN_TIME};
use object::read::ReadCache;
use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSymbol};

use super::HostError;
use super::session::{Session, SessionOptions};
use crate::codegen::exports;
use crate::graph::ElementType;
use crate::package::{InterfacePort as Port, PortDim};

/// A loaded library of one model. Clones share it; it is unloaded with the last clone and session.
#[derive(Clone, Debug)]
pub struct Library {
    loaded: Arc<Loaded>,
    name: Arc<str>,
    inputs: Arc<[Port]>,
    outputs: Arc<[Port]>,
}

#[derive(Debug)]
struct Loaded {
    table: *const abi::Model,
    _library: libloading::Library,
}

// SAFETY: the table is a constant of the library.
unsafe impl Send for Loaded {}
// SAFETY: the table is a constant of the library.
unsafe impl Sync for Loaded {}

impl Library {
    /// Loads the shared library at `path`. Loading makes its code part of this process: open only files that you would
    /// also run as a program.
    ///
    /// # Errors
    /// A file that is no shared library, holds no model or several, or has another version of the table.
    pub fn open(path: &Path) -> Result<Self, HostError> {
        let name = model_name(path)?;
        let fail = |problem: String| HostError::library(path, problem);
        // A path without a directory would be searched for elsewhere.
        let full = path.canonicalize().map_err(|error| fail(error.to_string()))?;
        // SAFETY: libraries with these exports come from lithify: they have no constructors, and `NAME_model` takes
        // nothing and gives a constant table.
        let (library, table) = unsafe {
            let library = libloading::Library::new(&full).map_err(|error| fail(error.to_string()))?;
            let model = library
                .get::<unsafe extern "C" fn() -> *const abi::Model>(format!("{name}_model"))
                .map_err(|error| fail(error.to_string()))?;
            let table = model();
            (library, table)
        };
        if table.is_null() {
            return Err(fail("it has no table".to_owned()));
        }
        let loaded = Arc::new(Loaded { table, _library: library });
        let model = loaded.model();
        if model.abi_version != ABI_VERSION || (model.size as usize) < size_of::<abi::Model>() {
            let message = format!(
                "its table is of version {} and this program understands version {ABI_VERSION}; compile the model again",
                model.abi_version
            );
            return Err(fail(message));
        }
        let symbols = loaded.symbols();
        // SAFETY: the table's arrays are constants of the library with the stated lengths.
        let (inputs, outputs) = unsafe {
            let inputs = ports(model.inputs, model.input_count, &symbols).map_err(fail)?;
            (inputs, ports(model.outputs, model.output_count, &symbols).map_err(fail)?)
        };
        Ok(Self { loaded, name: name.into(), inputs: inputs.into(), outputs: outputs.into() })
    }

    /// The model's name: prefix of the exported symbols.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How the library was built, as JSON.
    pub fn build(&self) -> String {
        // SAFETY: a string of the table.
        unsafe { text(self.table().build) }
    }

    /// Processor features that the library needs, by name.
    pub fn cpu_features(&self) -> Vec<&'static str> {
        use lithify_runtime_stub::cpu::{X86_V2, X86_V3, X86_V4};
        let all = [(X86_V2, "x86-64-v2"), (X86_V3, "x86-64-v3"), (X86_V4, "x86-64-v4")];
        let needed = self.table().cpu_features;
        all.into_iter().filter(|(bit, _)| needed & bit != 0).map(|(_, name)| name).collect()
    }

    /// The inputs, in order.
    pub fn inputs(&self) -> &[Port] {
        &self.inputs
    }

    /// The outputs, in order.
    pub fn outputs(&self) -> &[Port] {
        &self.outputs
    }

    /// Makes a context of the model.
    ///
    /// # Errors
    /// A processor without the instructions that the library needs, or too little memory.
    pub fn session(&self, options: &SessionOptions) -> Result<Session, HostError> {
        Session::new(self.clone(), options)
    }

    pub(super) fn table(&self) -> &abi::Model {
        self.loaded.model()
    }
}

impl Loaded {
    fn model(&self) -> &abi::Model {
        // SAFETY: not null, and a constant of the library, which lives as long as `self`.
        unsafe { &*self.table }
    }

    fn symbols(&self) -> Vec<String> {
        let model = self.model();
        // SAFETY: the table has that many names.
        (0..model.symbol_count as usize).map(|index| unsafe { text(*model.symbols.add(index)) }).collect()
    }
}

/// # Safety
/// `text` must be null or a C string.
unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// # Safety
/// `first` must point to `count` ports of a table.
unsafe fn ports(first: *const abi::Port, count: u32, symbols: &[String]) -> Result<Vec<Port>, String> {
    // SAFETY: the caller's promise.
    let ports = if count == 0 { &[] } else { unsafe { slice::from_raw_parts(first, count as usize) } };
    let read = |port: &abi::Port| {
        // SAFETY: names of ports are C strings.
        let name = unsafe { text(port.name) };
        let element = ElementType::from_onnx(port.element_type)
            .ok_or_else(|| format!("`{name}` is of the unknown element type {}", port.element_type))?;
        let dims: &[i64] = match port.rank {
            0 => &[],
            // SAFETY: a port has `rank` dimensions.
            rank => unsafe { slice::from_raw_parts(port.dims, rank as usize) },
        };
        let dims = dims.iter().map(|&dim| match dim {
            DIM_AT_RUN_TIME => PortDim::Runtime,
            0.. => PortDim::Fixed(dim),
            symbol => {
                symbols.get((-1 - symbol) as usize).map_or(PortDim::Runtime, |name| PortDim::Symbol(name.clone()))
            }
        });
        Ok(Port { name, element, dims: dims.collect() })
    };
    ports.iter().map(read).collect()
}

/// The model whose functions the library exports.
fn model_name(path: &Path) -> Result<String, HostError> {
    let fail = |problem: String| HostError::library(path, problem);
    let file = File::open(path).map_err(|error| fail(error.to_string()))?;
    let cache = ReadCache::new(file);
    let library = ElfFile64::<LittleEndian, _>::parse(&cache)
        .map_err(|error| fail(format!("it is not a shared library of this machine: {error}")))?;
    let defined: Vec<String> = library
        .dynamic_symbols()
        .filter(|symbol| symbol.is_definition())
        .filter_map(|symbol| symbol.name().ok().map(str::to_owned))
        .collect();
    let has_all = |name: &&str| exports(name).iter().all(|export| defined.contains(export));
    let names: Vec<&str> = defined.iter().filter_map(|symbol| symbol.strip_suffix("_model")).filter(has_all).collect();
    match names[..] {
        [name] => Ok(name.to_owned()),
        [] => Err(fail("it exports no model compiled by lithify".to_owned())),
        _ => Err(fail(format!("it exports several models ({}); link each into its own library", names.join(", ")))),
    }
}
