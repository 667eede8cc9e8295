//! Calls with tensors.

use std::ffi::{CStr, c_void};
use std::ptr;
use std::slice;

use bytes::Bytes;
use lithify_runtime_stub::abi;
use lithify_runtime_stub::context::Context;

use super::bound::Bound;
use super::{HostError, Library};
use crate::graph::{Tensor, TensorData};

/// How a context is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SessionOptions {
    /// Threads that a run may use, the caller's included.
    pub threads: u32,
}

impl Default for SessionOptions {
    /// The caller's thread alone.
    fn default() -> Self {
        Self { threads: 1 }
    }
}

/// A context of a model: the memory of one caller.
#[derive(Debug)]
pub struct Session {
    library: Library,
    context: *mut Context,
}

// SAFETY: a context may be used from any thread, by one at a time.
unsafe impl Send for Session {}

impl Session {
    pub(super) fn new(library: Library, options: &SessionOptions) -> Result<Self, HostError> {
        let options = abi::Options {
            size: size_of::<abi::Options>(),
            workspace: ptr::null_mut(),
            workspace_bytes: 0,
            threads: options.threads,
            reserved: 0,
            parallel_for: None,
            parallel_user: ptr::null_mut(),
        };
        let mut context = ptr::null_mut();
        // SAFETY: the options are complete, and the context is written to a local.
        let status = unsafe { (library.table().create)(&raw const options, &raw mut context) };
        if status != 0 || context.is_null() {
            return Err(HostError::call("create", status, String::new()));
        }
        Ok(Self { library, context })
    }

    /// The library.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// Runs the model once.
    ///
    /// # Errors
    /// Inputs that are not as the model wants them, and whatever fails in the run.
    pub fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, HostError> {
        let inputs = Inputs::new(inputs)?;
        let mut dims = self.output_dims();
        let mut outputs: Vec<abi::Value> = dims.iter_mut().map(|dims| value(ptr::null_mut(), 0, dims)).collect();
        self.call(inputs.values(), &mut outputs)?;
        let mut tensors = Vec::new();
        for ((output, dims), port) in outputs.iter_mut().zip(dims).zip(self.library.outputs()) {
            let bytes = match output.bytes as usize {
                0 => Bytes::new(),
                // SAFETY: the library wrote that many bytes.
                length => Bytes::copy_from_slice(unsafe { slice::from_raw_parts(output.data.cast::<u8>(), length) }),
            };
            tensors.push(Tensor { element: port.element, dims, data: TensorData::Bytes(bytes) });
            // SAFETY: the value comes from this context's run.
            unsafe { (self.library.table().release)(self.context, output) };
        }
        Ok(tensors)
    }

    /// Fixes inputs, and outputs of the sizes that a first run with them gives, for calls without copies.
    ///
    /// # Errors
    /// As [`Session::run`].
    pub fn bind(&mut self, inputs: &[Tensor]) -> Result<Bound<'_>, HostError> {
        let outputs = self.run(inputs)?;
        Bound::new(self, Inputs::new(inputs)?, outputs)
    }

    /// Bytes of workspace that a run takes with inputs of these dimensions; `None` where they do not fit the model.
    pub fn workspace_bytes(&mut self, dims: &[Vec<i64>]) -> Option<u64> {
        let dims: Vec<i64> = dims.concat();
        // SAFETY: the context is live, and the dimensions are counted.
        let bytes = unsafe { (self.library.table().workspace_bytes)(self.context, dims.as_ptr(), dims.len()) };
        u64::try_from(bytes).ok()
    }

    /// Room for the dimensions of each output.
    fn output_dims(&self) -> Vec<Vec<i64>> {
        self.library.outputs().iter().map(|port| vec![0; port.dims.len()]).collect()
    }

    pub(super) fn call(&mut self, inputs: &[abi::Value], outputs: &mut [abi::Value]) -> Result<(), HostError> {
        let table = self.library.table();
        // SAFETY: the values describe memory that lives through the call; no other call uses the context.
        let status =
            unsafe { (table.run)(self.context, inputs.as_ptr(), inputs.len(), outputs.as_mut_ptr(), outputs.len()) };
        if status == 0 {
            return Ok(());
        }
        // SAFETY: the context is live, and its message is a C string.
        let message = unsafe { CStr::from_ptr((table.error)(self.context)) };
        let message = message.to_string_lossy().into_owned();
        for output in outputs {
            // SAFETY: a value of this context's run; `release` ignores data that the library did not allocate.
            unsafe { (table.release)(self.context, output) };
        }
        Err(HostError::call("run", status, message))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: the context comes from `create` and is not used afterwards.
        unsafe { (self.library.table().destroy)(self.context) };
    }
}

/// Inputs as values, and the memory that these point to.
#[derive(Debug)]
pub(super) struct Inputs {
    values: Vec<abi::Value>,
    _memory: Vec<(Bytes, Vec<i64>)>,
}

impl Inputs {
    fn new(tensors: &[Tensor]) -> Result<Self, HostError> {
        let (mut values, mut memory) = (Vec::new(), Vec::new());
        for (index, tensor) in tensors.iter().enumerate() {
            let bytes = tensor.bytes().ok_or_else(|| {
                HostError::Argument(format!("input {index}: tensors of strings cannot be passed to a library"))
            })?;
            // A move of the vector does not move its elements.
            let mut dims = tensor.dims.clone();
            let mut input = value(bytes.as_ptr().cast_mut().cast(), bytes.len(), &mut dims);
            input.element_type = tensor.element.onnx_number();
            values.push(input);
            memory.push((bytes, dims));
        }
        Ok(Self { values, _memory: memory })
    }

    pub(super) fn values(&self) -> &[abi::Value] {
        &self.values
    }
}

/// A value of the table's interface.
pub(super) fn value(data: *mut c_void, bytes: usize, dims: &mut [i64]) -> abi::Value {
    abi::Value {
        kind: abi::KIND_TENSOR,
        element_type: 0,
        data,
        bytes: bytes as u64,
        dims: dims.as_mut_ptr(),
        rank: dims.len() as u32,
        flags: 0,
        items: ptr::null_mut(),
        count: 0,
    }
}
