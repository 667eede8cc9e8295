//! Models, graphs, nodes, attributes and model-local functions.

use bytes::Bytes;

use super::{SparseTensorProto, TensorProto, TypeProto, ValueInfoProto};

/// A whole model: the root of an ONNX file.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ModelProto {
    /// Version of the intermediate representation (not of the operators).
    #[prost(int64, optional, tag = "1")]
    pub ir_version: Option<i64>,
    /// The operator sets, one per domain, that the model's nodes refer to.
    #[prost(message, repeated, tag = "8")]
    pub opset_import: Vec<OperatorSetIdProto>,
    /// Name of the tool that wrote the model.
    #[prost(string, optional, tag = "2")]
    pub producer_name: Option<String>,
    /// Version of the tool that wrote the model.
    #[prost(string, optional, tag = "3")]
    pub producer_version: Option<String>,
    /// Reverse-DNS name of the model's owner.
    #[prost(string, optional, tag = "4")]
    pub domain: Option<String>,
    /// Version of the model itself.
    #[prost(int64, optional, tag = "5")]
    pub model_version: Option<i64>,
    /// Description for people; bytes, because producers do not always write UTF-8 here.
    #[prost(bytes = "bytes", optional, tag = "6")]
    pub doc_string: Option<Bytes>,
    /// The graph to compile.
    #[prost(message, required, tag = "7")]
    pub graph: GraphProto,
    /// Metadata of the model as name and value.
    #[prost(message, repeated, tag = "14")]
    pub metadata_props: Vec<StringStringEntryProto>,
    /// Functions that nodes of the model may call.
    #[prost(message, repeated, tag = "25")]
    pub functions: Vec<FunctionProto>,
}

/// A graph: the model's own, or the body of a control-flow node.
#[derive(Clone, PartialEq, prost::Message)]
pub struct GraphProto {
    /// Nodes in an order in which each follows those it reads from.
    #[prost(message, repeated, tag = "1")]
    pub node: Vec<NodeProto>,
    /// Name of the graph.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    /// Named constants; one that is also an input is that input's default.
    #[prost(message, repeated, tag = "5")]
    pub initializer: Vec<TensorProto>,
    /// Constants in sparse form, named by their `values` tensor.
    #[prost(message, repeated, tag = "15")]
    pub sparse_initializer: Vec<SparseTensorProto>,
    /// Inputs, in order.
    #[prost(message, repeated, tag = "11")]
    pub input: Vec<ValueInfoProto>,
    /// Outputs, in order.
    #[prost(message, repeated, tag = "12")]
    pub output: Vec<ValueInfoProto>,
    /// Types the producer states for values inside the graph.
    #[prost(message, repeated, tag = "13")]
    pub value_info: Vec<ValueInfoProto>,
    /// Quantization parameters of named tensors.
    #[prost(message, repeated, tag = "14")]
    pub quantization_annotation: Vec<TensorAnnotation>,
}

/// One application of an operator or of a model-local function.
#[derive(Clone, PartialEq, prost::Message)]
pub struct NodeProto {
    /// Names of the values read; the empty name is an omitted optional input.
    #[prost(string, repeated, tag = "1")]
    pub input: Vec<String>,
    /// Names of the values written; the empty name is an output nobody reads.
    #[prost(string, repeated, tag = "2")]
    pub output: Vec<String>,
    /// Name of the node, for people.
    #[prost(string, optional, tag = "3")]
    pub name: Option<String>,
    /// Operator or function name within the domain.
    #[prost(string, optional, tag = "4")]
    pub op_type: Option<String>,
    /// Operator-set domain; empty is the ONNX domain.
    #[prost(string, optional, tag = "7")]
    pub domain: Option<String>,
    /// Which overload of a model-local function is called.
    #[prost(string, optional, tag = "8")]
    pub overload: Option<String>,
    /// Attributes by name.
    #[prost(message, repeated, tag = "5")]
    pub attribute: Vec<AttributeProto>,
}

/// A named attribute of a node, or a default in a function.
#[derive(Clone, PartialEq, prost::Message)]
pub struct AttributeProto {
    /// Name of the attribute.
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    /// Inside a function: the function's attribute whose value is meant.
    #[prost(string, optional, tag = "21")]
    pub ref_attr_name: Option<String>,
    /// Which of the fields below holds the value.
    #[prost(enumeration = "AttributeType", optional, tag = "20")]
    pub r#type: Option<i32>,
    /// A float.
    #[prost(float, optional, tag = "2")]
    pub f: Option<f32>,
    /// An integer.
    #[prost(int64, optional, tag = "3")]
    pub i: Option<i64>,
    /// A string, UTF-8 by convention.
    #[prost(bytes = "bytes", optional, tag = "4")]
    pub s: Option<Bytes>,
    /// A tensor.
    #[prost(message, optional, boxed, tag = "5")]
    pub t: Option<Box<TensorProto>>,
    /// A graph.
    #[prost(message, optional, boxed, tag = "6")]
    pub g: Option<Box<GraphProto>>,
    /// A sparse tensor.
    #[prost(message, optional, boxed, tag = "22")]
    pub sparse_tensor: Option<Box<SparseTensorProto>>,
    /// A type.
    #[prost(message, optional, boxed, tag = "14")]
    pub tp: Option<Box<TypeProto>>,
    /// A list of floats.
    #[prost(float, repeated, packed = "false", tag = "7")]
    pub floats: Vec<f32>,
    /// A list of integers.
    #[prost(int64, repeated, packed = "false", tag = "8")]
    pub ints: Vec<i64>,
    /// A list of strings.
    #[prost(bytes = "bytes", repeated, tag = "9")]
    pub strings: Vec<Bytes>,
    /// A list of tensors.
    #[prost(message, repeated, tag = "10")]
    pub tensors: Vec<TensorProto>,
    /// A list of graphs.
    #[prost(message, repeated, tag = "11")]
    pub graphs: Vec<GraphProto>,
    /// A list of sparse tensors.
    #[prost(message, repeated, tag = "23")]
    pub sparse_tensors: Vec<SparseTensorProto>,
    /// A list of types.
    #[prost(message, repeated, tag = "15")]
    pub type_protos: Vec<TypeProto>,
}

/// Which field of an [`AttributeProto`] holds its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum AttributeType {
    /// Not stated: very old producers leave it to the field that is present.
    Undefined = 0,
    /// `f`
    Float = 1,
    /// `i`
    Int = 2,
    /// `s`
    String = 3,
    /// `t`
    Tensor = 4,
    /// `g`
    Graph = 5,
    /// `floats`
    Floats = 6,
    /// `ints`
    Ints = 7,
    /// `strings`
    Strings = 8,
    /// `tensors`
    Tensors = 9,
    /// `graphs`
    Graphs = 10,
    /// `sparse_tensor`
    SparseTensor = 11,
    /// `sparse_tensors`
    SparseTensors = 12,
    /// `tp`
    TypeProto = 13,
    /// `type_protos`
    TypeProtos = 14,
}

/// A model-local function, identified by domain, name and overload.
#[derive(Clone, PartialEq, prost::Message)]
pub struct FunctionProto {
    /// Name of the function: the `op_type` of nodes that call it.
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    /// Names of the inputs, in order.
    #[prost(string, repeated, tag = "4")]
    pub input: Vec<String>,
    /// Names of the outputs, in order.
    #[prost(string, repeated, tag = "5")]
    pub output: Vec<String>,
    /// Attributes that have no default.
    #[prost(string, repeated, tag = "6")]
    pub attribute: Vec<String>,
    /// Attributes with their defaults.
    #[prost(message, repeated, tag = "11")]
    pub attribute_proto: Vec<AttributeProto>,
    /// The body.
    #[prost(message, repeated, tag = "7")]
    pub node: Vec<NodeProto>,
    /// Operator sets the body refers to.
    #[prost(message, repeated, tag = "9")]
    pub opset_import: Vec<OperatorSetIdProto>,
    /// Domain of the function.
    #[prost(string, optional, tag = "10")]
    pub domain: Option<String>,
    /// Tells functions of one domain and name apart.
    #[prost(string, optional, tag = "13")]
    pub overload: Option<String>,
    /// Types the producer states for values of the body.
    #[prost(message, repeated, tag = "12")]
    pub value_info: Vec<ValueInfoProto>,
}

/// A version of the operators of one domain.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct OperatorSetIdProto {
    /// Domain; empty is the ONNX domain.
    #[prost(string, optional, tag = "1")]
    pub domain: Option<String>,
    /// Version of the operator set.
    #[prost(int64, optional, tag = "2")]
    pub version: Option<i64>,
}

/// A name and a value.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct StringStringEntryProto {
    /// The name.
    #[prost(string, optional, tag = "1")]
    pub key: Option<String>,
    /// The value.
    #[prost(string, optional, tag = "2")]
    pub value: Option<String>,
}

/// Names the tensors that hold a value's quantization parameters.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct TensorAnnotation {
    /// The quantized value.
    #[prost(string, optional, tag = "1")]
    pub tensor_name: Option<String>,
    /// Parameter names (`SCALE_TENSOR`, `ZERO_POINT_TENSOR`) and the tensors that hold them.
    #[prost(message, repeated, tag = "2")]
    pub quant_parameter_tensor_names: Vec<StringStringEntryProto>,
}
