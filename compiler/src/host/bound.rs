//! Repeated calls on the same memory.

use lithify_runtime_stub::abi;

use super::session::{Inputs, value};
use super::{HostError, Session};
use crate::graph::{Tensor, TensorData};

/// A session with inputs and outputs in place.
#[derive(Debug)]
pub struct Bound<'a> {
    session: &'a mut Session,
    inputs: Inputs,
    values: Vec<abi::Value>,
    outputs: Vec<Output>,
}

/// Memory of an output: 64-bit words, so that elements are aligned.
#[derive(Debug)]
struct Output {
    words: Vec<u64>,
    bytes: usize,
    dims: Vec<i64>,
}

impl<'a> Bound<'a> {
    pub(super) fn new(session: &'a mut Session, inputs: Inputs, results: Vec<Tensor>) -> Result<Self, HostError> {
        let mut values = Vec::new();
        let mut outputs = Vec::new();
        for result in results {
            let bytes = result.byte_len();
            let mut output = Output { words: vec![0; bytes.div_ceil(8)], bytes, dims: result.dims };
            values.push(value(output.words.as_mut_ptr().cast(), bytes, &mut output.dims));
            outputs.push(output);
        }
        Ok(Self { session, inputs, values, outputs })
    }

    /// Runs the model once more.
    ///
    /// # Errors
    /// Whatever fails in the run.
    pub fn run(&mut self) -> Result<(), HostError> {
        for (value, output) in self.values.iter_mut().zip(&self.outputs) {
            value.bytes = output.bytes as u64;
            value.rank = output.dims.len() as u32;
        }
        self.session.call(self.inputs.values(), &mut self.values)
    }

    /// What the last run gave.
    pub fn outputs(&self) -> Vec<Tensor> {
        let ports = self.session.library().outputs();
        let tensors = self.outputs.iter().zip(ports).map(|(output, port)| {
            let bytes: Vec<u8> = output.words.iter().flat_map(|word| word.to_ne_bytes()).take(output.bytes).collect();
            Tensor { element: port.element, dims: output.dims.clone(), data: TensorData::Bytes(bytes.into()) }
        });
        tensors.collect()
    }
}
