//! Small models for tests, put together node by node.

use lithify::proto::element::{FLOAT, INT64};
use lithify::proto::onnx::*;
use lithify::proto::{HostData, HostTensor};
use prost::Message;

/// The newest operator set that the tests use.
pub const OPERATOR_SET: i64 = 21;

/// A model under construction.
#[derive(Clone, Debug, Default)]
pub struct ModelBuilder {
    /// What has been put together so far.
    pub proto: ModelProto,
}

impl ModelBuilder {
    /// A model without inputs, nodes and outputs.
    pub fn new() -> Self {
        let import = OperatorSetIdProto { domain: None, version: Some(OPERATOR_SET) };
        let graph = GraphProto { name: Some("main".into()), ..Default::default() };
        Self { proto: ModelProto { ir_version: Some(10), opset_import: vec![import], graph, ..Default::default() } }
    }

    /// Adds an input; dimensions are sizes or names.
    pub fn input(mut self, name: &str, element: i32, dims: &[&str]) -> Self {
        self.proto.graph.input.push(port(name, element, dims));
        self
    }

    /// Adds an output; dimensions are sizes or names.
    pub fn output(mut self, name: &str, element: i32, dims: &[&str]) -> Self {
        self.proto.graph.output.push(port(name, element, dims));
        self
    }

    /// Adds a constant.
    pub fn constant(mut self, tensor: TensorProto) -> Self {
        self.proto.graph.initializer.push(tensor);
        self
    }

    /// Adds a node, named after its operator and place.
    pub fn node(self, operator: &str, inputs: &[&str], outputs: &[&str]) -> Self {
        self.node_with(operator, inputs, outputs, Vec::new())
    }

    /// Adds a node with attributes.
    pub fn node_with(
        mut self,
        operator: &str,
        inputs: &[&str],
        outputs: &[&str],
        attribute: Vec<AttributeProto>,
    ) -> Self {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let name = format!("node{}", self.proto.graph.node.len());
        self.proto.graph.node.push(NodeProto {
            input: names(inputs),
            output: names(outputs),
            name: Some(name),
            op_type: Some(operator.into()),
            attribute,
            ..Default::default()
        });
        self
    }

    /// The encoded model.
    pub fn bytes(&self) -> Vec<u8> {
        self.proto.encode_to_vec()
    }
}

/// An input or output; dimensions are sizes or names.
pub fn port(name: &str, element: i32, dims: &[&str]) -> ValueInfoProto {
    let dim = dims
        .iter()
        .map(|dim| Dimension {
            value: Some(match dim.parse() {
                Ok(size) => DimensionValue::Value(size),
                Err(_) => DimensionValue::Parameter((*dim).into()),
            }),
            denotation: None,
        })
        .collect();
    let tensor = TensorTypeProto { elem_type: Some(element), shape: Some(TensorShapeProto { dim }) };
    let r#type = TypeProto { value: Some(TypeValue::Tensor(tensor)), denotation: None };
    ValueInfoProto { name: Some(name.into()), r#type: Some(r#type), doc_string: None }
}

/// A tensor of 32-bit floats.
pub fn floats(name: &str, dims: &[i64], values: &[f32]) -> TensorProto {
    tensor(name, FLOAT, dims, values.iter().flat_map(|value| value.to_le_bytes()).collect())
}

/// A tensor of 64-bit integers.
pub fn integers(name: &str, dims: &[i64], values: &[i64]) -> TensorProto {
    tensor(name, INT64, dims, values.iter().flat_map(|value| value.to_le_bytes()).collect())
}

/// A tensor of raw bytes; it may state more than it holds.
pub fn tensor(name: &str, element: i32, dims: &[i64], bytes: Vec<u8>) -> TensorProto {
    match HostTensor::new(element, dims.to_vec(), HostData::Bytes(bytes.clone().into())) {
        Ok(tensor) => tensor.encode(name),
        Err(_) => TensorProto {
            dims: dims.to_vec(),
            data_type: Some(element),
            raw_data: Some(bytes.into()),
            name: Some(name.into()),
            ..Default::default()
        },
    }
}

/// An attribute that is an integer.
pub fn int(name: &str, value: i64) -> AttributeProto {
    attribute(name, AttributeType::Int, AttributeProto { i: Some(value), ..Default::default() })
}

/// An attribute that is a list of integers.
pub fn ints(name: &str, values: &[i64]) -> AttributeProto {
    attribute(name, AttributeType::Ints, AttributeProto { ints: values.to_vec(), ..Default::default() })
}

/// An attribute of that name and type.
pub fn attribute(name: &str, kind: AttributeType, value: AttributeProto) -> AttributeProto {
    AttributeProto { name: Some(name.into()), r#type: Some(kind as i32), ..value }
}

/// `y = Relu(x + b)`, all of shape `[2, 3]`.
pub fn shifted() -> ModelBuilder {
    ModelBuilder::new()
        .input("x", FLOAT, &["2", "3"])
        .constant(floats("b", &[3], &[1.0, -2.0, 0.5]))
        .node("Add", &["x", "b"], &["sum"])
        .node("Relu", &["sum"], &["y"])
        .output("y", FLOAT, &["2", "3"])
}

/// For `x` of shape `[n, 4]`: `y`, of shape `[n, 8]`, is `x` beside its running sums down the columns, doubled.
pub fn sums() -> ModelBuilder {
    ModelBuilder::new()
        .input("x", FLOAT, &["n", "4"])
        .constant(integers("axis", &[], &[0]))
        .node("CumSum", &["x", "axis"], &["down"])
        .node("Add", &["down", "down"], &["double"])
        .node("Transpose", &["double"], &["turned"])
        .node_with("Transpose", &["turned"], &["back"], vec![ints("perm", &[1, 0])])
        .node_with("Concat", &["x", "back"], &["y"], vec![int("axis", 1)])
        .output("y", FLOAT, &["n", "8"])
}

/// The elements of `x` where `keep` holds, and the rows of a table of 3 that `rows` names.
pub fn kept() -> ModelBuilder {
    use lithify::proto::element::BOOL;
    ModelBuilder::new()
        .input("x", FLOAT, &["n"])
        .input("keep", BOOL, &["n"])
        .input("rows", INT64, &["2"])
        .constant(floats("table", &[3, 2], &[0.0, 1.0, 10.0, 11.0, 20.0, 21.0]))
        .node_with("Compress", &["x", "keep"], &["some"], vec![int("axis", 0)])
        .node("Relu", &["some"], &["positive"])
        .node("Gather", &["table", "rows"], &["picked"])
        .output("positive", FLOAT, &["m"])
        .output("picked", FLOAT, &["2", "2"])
}
