//! Cases of the ONNX backend suite: what `tests/suite/generate.py` put into `target/suite`, as that program describes it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use lithify::proto::onnx::TensorProto;
use lithify::proto::{HostData, HostTensor, Limits, decode_tensor};
use prost::Message;
use serde::Deserialize;

use crate::target;
use crate::tensor::{Data, Tensor, Value};

/// The index of the suite.
#[derive(Clone, Debug, Deserialize)]
pub struct Index {
    /// Version of the `onnx` package that the suite comes from.
    pub onnx_version: String,
    /// The cases, sorted by family and name.
    pub cases: Vec<Case>,
}

/// One case: a model with inputs and the outputs wanted.
#[derive(Clone, Debug, Deserialize)]
pub struct Case {
    /// Name, which no other case has.
    pub name: String,
    /// `node`, `simple`, `pytorch-converted`, `pytorch-operator` or `light`.
    pub family: String,
    /// Folder of the case inside the folder of the suite.
    pub folder: PathBuf,
    /// Tolerance relative to the element wanted.
    pub rtol: f64,
    /// Absolute tolerance.
    pub atol: f64,
    /// Version of the default operator domain; none when the model does not import it.
    pub opset: Option<i64>,
    /// How many data sets there are.
    pub data_sets: usize,
    /// The inputs that a caller gives.
    pub inputs: Vec<Port>,
    /// The outputs.
    pub outputs: Vec<Port>,
}

/// An input or output of a case.
#[derive(Clone, Debug, Deserialize)]
pub struct Port {
    /// Its name in the model.
    pub name: String,
    /// The kind of its values.
    pub kind: PortKind,
    /// ONNX number of a tensor's elements; 0 when it is not a tensor.
    pub element_type: i32,
}

/// The kind of an input or output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PortKind {
    /// A tensor.
    Tensor,
    /// A sequence.
    Sequence,
    /// An optional value.
    Optional,
}

/// Inputs of a case and the outputs wanted for them, in the model's order.
#[derive(Clone, Debug, PartialEq)]
pub struct DataSet {
    /// One for each of [`Case::inputs`].
    pub inputs: Vec<Value>,
    /// One for each of [`Case::outputs`].
    pub outputs: Vec<Value>,
}

impl Index {
    /// Reads the index of the generated suite.
    pub fn read() -> Result<Self> {
        let path = folder().join("index.json");
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}; run tests/setup.sh", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("cannot understand {}", path.display()))
    }
}

impl Case {
    /// The model's file.
    pub fn model(&self) -> PathBuf {
        folder().join(&self.folder).join("model.onnx")
    }

    /// Reads one data set.
    pub fn data_set(&self, number: usize) -> Result<DataSet> {
        let folder = folder().join(&self.folder).join(format!("data_{number}"));
        let side = |name: &str, ports: &[Port]| -> Result<Vec<Value>> {
            let read =
                |(index, port): (usize, &Port)| read_value(&folder.join(format!("{name}_{index}.pb")), port.kind);
            ports.iter().enumerate().map(read).collect()
        };
        Ok(DataSet { inputs: side("input", &self.inputs)?, outputs: side("output", &self.outputs)? })
    }
}

/// Where the generated suite is.
pub fn folder() -> PathBuf {
    target().join("suite")
}

fn read_value(path: &Path, kind: PortKind) -> Result<Value> {
    let place = || path.display().to_string();
    let bytes = std::fs::read(path).with_context(place)?;
    let value = match kind {
        PortKind::Tensor => decode(&TensorProto::decode(&*bytes).with_context(place)?),
        PortKind::Sequence => SequenceProto::decode(&*bytes).with_context(place)?.value(),
        PortKind::Optional => OptionalProto::decode(&*bytes).with_context(place)?.value(),
    };
    value.with_context(place)
}

fn decode(tensor: &TensorProto) -> Result<Value> {
    let HostTensor { element_type, dims, data } = decode_tensor(tensor, &Limits::default())?;
    let data = match data {
        HostData::Bytes(bytes) => Data::Bytes(bytes.to_vec()),
        HostData::Strings(strings) => Data::Strings(strings),
    };
    Ok(Value::Tensor(Tensor { element_type, dims, data }))
}

/// Numbers of the kinds of value in [`SequenceProto`] and [`OptionalProto`].
mod element_kind {
    pub const NONE: i32 = 0;
    pub const TENSOR: i32 = 1;
    pub const SEQUENCE: i32 = 3;
    pub const OPTIONAL: i32 = 5;
}

/// A sequence in a file of its own, with the kinds of element that the suite uses.
#[derive(Clone, PartialEq, prost::Message)]
struct SequenceProto {
    #[prost(int32, optional, tag = "2")]
    element_kind: Option<i32>,
    #[prost(message, repeated, tag = "3")]
    tensors: Vec<TensorProto>,
    #[prost(message, repeated, tag = "5")]
    sequences: Vec<SequenceProto>,
    #[prost(message, repeated, tag = "7")]
    optionals: Vec<OptionalProto>,
}

impl SequenceProto {
    fn value(&self) -> Result<Value> {
        let elements: Result<Vec<Value>> = match self.element_kind() {
            element_kind::NONE => Ok(Vec::new()),
            element_kind::TENSOR => self.tensors.iter().map(decode).collect(),
            element_kind::SEQUENCE => self.sequences.iter().map(Self::value).collect(),
            element_kind::OPTIONAL => self.optionals.iter().map(OptionalProto::value).collect(),
            kind => bail!("a sequence has elements of unknown kind {kind}"),
        };
        Ok(Value::Sequence(elements?))
    }
}

/// An optional value in a file of its own, with the kinds of value that the suite uses.
#[derive(Clone, PartialEq, prost::Message)]
struct OptionalProto {
    #[prost(int32, optional, tag = "2")]
    element_kind: Option<i32>,
    #[prost(message, optional, boxed, tag = "3")]
    tensor: Option<Box<TensorProto>>,
    #[prost(message, optional, boxed, tag = "5")]
    sequence: Option<Box<SequenceProto>>,
    #[prost(message, optional, boxed, tag = "7")]
    optional: Option<Box<OptionalProto>>,
}

impl OptionalProto {
    fn value(&self) -> Result<Value> {
        let value = match self.element_kind() {
            element_kind::NONE => None,
            element_kind::TENSOR => self.tensor.as_deref().map(decode),
            element_kind::SEQUENCE => self.sequence.as_deref().map(SequenceProto::value),
            element_kind::OPTIONAL => self.optional.as_deref().map(Self::value),
            kind => bail!("an optional holds a value of unknown kind {kind}"),
        };
        Ok(Value::Optional(value.transpose()?.map(Box::new)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proto(tensor: &Tensor) -> TensorProto {
        let Data::Bytes(bytes) = tensor.data.clone() else { panic!("{tensor}") };
        let (element_type, dims) = (tensor.element_type, tensor.dims.clone());
        HostTensor { element_type, dims, data: HostData::Bytes(bytes.into()) }.encode("x")
    }

    #[test]
    fn sequences_and_optionals_nest() {
        let tensor = Tensor::of_f32([2], &[1.0, 2.0]);
        let sequence = SequenceProto {
            element_kind: Some(element_kind::TENSOR),
            tensors: vec![proto(&tensor)],
            ..SequenceProto::default()
        };
        let optional = OptionalProto {
            element_kind: Some(element_kind::SEQUENCE),
            sequence: Some(Box::new(sequence)),
            ..OptionalProto::default()
        };
        let wanted = Value::Optional(Some(Box::new(Value::Sequence(vec![tensor.into()]))));
        let back = OptionalProto::decode(&*optional.encode_to_vec()).unwrap();
        assert_eq!(back.value().unwrap(), wanted);
        assert_eq!(OptionalProto::default().value().unwrap(), Value::Optional(None));
        assert!(SequenceProto { element_kind: Some(4), ..SequenceProto::default() }.value().is_err());
    }

    #[test]
    fn an_index_reads() {
        let text = r#"{"stamp": "", "onnx_version": "1.23.2", "cases": [{"name": "test_abs", "family": "node",
            "folder": "node/test_abs", "rtol": 0.001, "atol": 1e-7, "opset": null, "data_sets": 1,
            "inputs": [{"name": "x", "kind": "tensor", "element_type": 1}],
            "outputs": [{"name": "y", "kind": "optional", "element_type": 0}]}]}"#;
        let index: Index = serde_json::from_str(text).unwrap();
        assert_eq!(index.cases[0].outputs[0].kind, PortKind::Optional);
        assert_eq!(index.cases[0].opset, None);
    }
}
