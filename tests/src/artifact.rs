//! Compiles models and calls the shared libraries through their C interface.

use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use lithify::graph::{self, ElementType, TensorData};
use lithify::host::{Library, Session, SessionOptions};
use lithify::pipeline::{self, CompileOptions};

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
    session: Session,
}

impl Loaded {
    /// Loads the library of the model called `name` and makes a context.
    pub fn open(path: &Path, name: &str) -> Result<Self> {
        let library = Library::open(path)?;
        ensure!(library.name() == name, "the library is called {}", library.name());
        Ok(Self { session: library.session(&SessionOptions::default())? })
    }

    /// The names of the inputs, in order.
    pub fn input_names(&self) -> Vec<String> {
        self.session.library().inputs().iter().map(|port| port.name.clone()).collect()
    }

    /// The names of the outputs, in order.
    pub fn output_names(&self) -> Vec<String> {
        self.session.library().outputs().iter().map(|port| port.name.clone()).collect()
    }

    /// Runs the model; the library allocates the outputs.
    pub fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        let inputs = inputs.iter().map(to_graph).collect::<Result<Vec<_>>>()?;
        self.session.run(&inputs)?.into_iter().map(from_graph).collect()
    }
}

fn to_graph(tensor: &Tensor) -> Result<graph::Tensor> {
    let element = ElementType::from_onnx(tensor.element_type)
        .with_context(|| format!("the element type {} is not known", tensor.element_type))?;
    let data = match &tensor.data {
        Data::Bytes(bytes) => TensorData::Bytes(bytes.clone().into()),
        Data::Strings(strings) => TensorData::Strings(strings.clone().into()),
    };
    Ok(graph::Tensor { element, dims: tensor.dims.clone(), data })
}

fn from_graph(tensor: graph::Tensor) -> Result<Tensor> {
    let data = match &tensor.data {
        TensorData::Strings(strings) => Data::Strings(strings.to_vec()),
        _ => Data::Bytes(tensor.bytes().ok_or_else(|| anyhow!("an output has no bytes"))?.to_vec()),
    };
    Ok(Tensor { element_type: tensor.element.onnx_number(), dims: tensor.dims, data })
}

/// The tensors among `values`; an error for other kinds.
pub fn tensors(values: &[Value]) -> Result<Vec<Tensor>> {
    values.iter().map(|value| value.as_tensor().cloned().context("not a tensor")).collect()
}
