//! A walk over the encoded model before it is decoded.
//!
//! Two bytes of a file can ask the decoder for hundreds of bytes of memory, and the decoder reports a problem by message
//! type only. This walk allocates nothing in proportion to the input: it counts what decoding would build, checks it
//! against the limits, and names the exact field that is damaged.

use std::mem::size_of;

use super::error::LoadError;
use super::limits::Limits;
use super::onnx;

/// The messages of the schema that are decoded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Message {
    Model,
    Graph,
    Node,
    Attribute,
    Function,
    OperatorSet,
    Entry,
    Annotation,
    Tensor,
    Segment,
    SparseTensor,
    ValueInfo,
    Type,
    TensorType,
    Sequence,
    Map,
    Optional,
    Opaque,
    Shape,
    Dimension,
}

/// What decoding does with one field.
#[derive(Clone, Copy)]
enum Field {
    /// Decodes a message.
    Nested(&'static str, Message),
    /// Copies a string that is a name.
    Name(&'static str),
    /// Copies a string of any length.
    Text(&'static str),
    /// Refers to bytes.
    Bytes(&'static str),
    /// Appends numbers, of which each encoded byte may make one this many bytes wide.
    Numbers(&'static str, usize),
    /// Reads one number, or skips the field.
    Other,
}

/// The schema, as far as it matters to memory and names.
fn field(message: Message, tag: u32) -> Field {
    use Field::{Bytes, Name, Nested, Numbers, Text};
    use Message::*;
    match (message, tag) {
        (Model, 2) => Text("producer_name"),
        (Model, 3) => Text("producer_version"),
        (Model, 4) => Name("domain"),
        (Model, 7) => Nested("graph", Graph),
        (Model, 8) => Nested("opset_import", OperatorSet),
        (Model, 14) => Nested("metadata_props", Entry),
        (Model, 25) => Nested("functions", Function),
        (Graph, 1) => Nested("node", Node),
        (Graph, 2) => Name("name"),
        (Graph, 5) => Nested("initializer", Tensor),
        (Graph, 11) => Nested("input", ValueInfo),
        (Graph, 12) => Nested("output", ValueInfo),
        (Graph, 13) => Nested("value_info", ValueInfo),
        (Graph, 14) => Nested("quantization_annotation", Annotation),
        (Graph, 15) => Nested("sparse_initializer", SparseTensor),
        (Node, 1) => Name("input"),
        (Node, 2) => Name("output"),
        (Node, 3) => Name("name"),
        (Node, 4) => Name("op_type"),
        (Node, 5) => Nested("attribute", Attribute),
        (Node, 7) => Name("domain"),
        (Node, 8) => Name("overload"),
        (Attribute, 1) => Name("name"),
        (Attribute, 4) => Bytes("s"),
        (Attribute, 5) => Nested("t", Tensor),
        (Attribute, 6) => Nested("g", Graph),
        (Attribute, 7) => Numbers("floats", 1),
        (Attribute, 8) => Numbers("ints", size_of::<i64>()),
        (Attribute, 9) => Bytes("strings"),
        (Attribute, 10) => Nested("tensors", Tensor),
        (Attribute, 11) => Nested("graphs", Graph),
        (Attribute, 14) => Nested("tp", Type),
        (Attribute, 15) => Nested("type_protos", Type),
        (Attribute, 21) => Name("ref_attr_name"),
        (Attribute, 22) => Nested("sparse_tensor", SparseTensor),
        (Attribute, 23) => Nested("sparse_tensors", SparseTensor),
        (Function, 1) => Name("name"),
        (Function, 4) => Name("input"),
        (Function, 5) => Name("output"),
        (Function, 6) => Name("attribute"),
        (Function, 7) => Nested("node", Node),
        (Function, 9) => Nested("opset_import", OperatorSet),
        (Function, 10) => Name("domain"),
        (Function, 11) => Nested("attribute_proto", Attribute),
        (Function, 12) => Nested("value_info", ValueInfo),
        (Function, 13) => Name("overload"),
        (OperatorSet, 1) => Name("domain"),
        (Entry, 1) => Name("key"),
        (Entry, 2) => Text("value"),
        (Annotation, 1) => Name("tensor_name"),
        (Annotation, 2) => Nested("quant_parameter_tensor_names", Entry),
        (Tensor, 1) => Numbers("dims", size_of::<i64>()),
        (Tensor, 3) => Nested("segment", Segment),
        (Tensor, 4) => Numbers("float_data", 1),
        (Tensor, 5) => Numbers("int32_data", size_of::<i32>()),
        (Tensor, 6) => Bytes("string_data"),
        (Tensor, 7) => Numbers("int64_data", size_of::<i64>()),
        (Tensor, 8) => Name("name"),
        (Tensor, 9) => Bytes("raw_data"),
        (Tensor, 10) => Numbers("double_data", 1),
        (Tensor, 11) => Numbers("uint64_data", size_of::<u64>()),
        (Tensor, 13) => Nested("external_data", Entry),
        (SparseTensor, 1) => Nested("values", Tensor),
        (SparseTensor, 2) => Nested("indices", Tensor),
        (SparseTensor, 3) => Numbers("dims", size_of::<i64>()),
        (ValueInfo, 1) => Name("name"),
        (ValueInfo, 2) => Nested("type", Type),
        (Type, 1) => Nested("tensor_type", TensorType),
        (Type, 4) => Nested("sequence_type", Sequence),
        (Type, 5) => Nested("map_type", Map),
        (Type, 6) => Text("denotation"),
        (Type, 7) => Nested("opaque_type", Opaque),
        (Type, 8) => Nested("sparse_tensor_type", TensorType),
        (Type, 9) => Nested("optional_type", Optional),
        (TensorType, 2) => Nested("shape", Shape),
        (Sequence | Optional, 1) => Nested("elem_type", Type),
        (Map, 2) => Nested("value_type", Type),
        (Opaque, 1) => Name("domain"),
        (Opaque, 2) => Name("name"),
        (Shape, 1) => Nested("dim", Dimension),
        (Dimension, 2) => Name("dim_param"),
        (Dimension, 3) => Text("denotation"),
        _ => Field::Other,
    }
}

/// Bytes that one decoded message takes, what it refers to aside.
fn decoded_size(message: Message) -> usize {
    match message {
        Message::Model => size_of::<onnx::ModelProto>(),
        Message::Graph => size_of::<onnx::GraphProto>(),
        Message::Node => size_of::<onnx::NodeProto>(),
        Message::Attribute => size_of::<onnx::AttributeProto>(),
        Message::Function => size_of::<onnx::FunctionProto>(),
        Message::OperatorSet => size_of::<onnx::OperatorSetIdProto>(),
        Message::Entry => size_of::<onnx::StringStringEntryProto>(),
        Message::Annotation => size_of::<onnx::TensorAnnotation>(),
        Message::Tensor => size_of::<onnx::TensorProto>(),
        Message::SparseTensor => size_of::<onnx::SparseTensorProto>(),
        Message::ValueInfo => size_of::<onnx::ValueInfoProto>(),
        Message::Type => size_of::<onnx::TypeProto>(),
        Message::Dimension => size_of::<onnx::Dimension>(),
        // Held inside the message that contains them.
        _ => 0,
    }
}

/// Checks an encoded model against the limits on its structure, and that it is well-formed as far as it is decoded.
/// Returns whether it has a graph.
pub(super) fn scan(encoded: &[u8], limits: &Limits) -> Result<bool, LoadError> {
    let mut scan = Scan {
        start: encoded.as_ptr() as usize,
        limits,
        path: Vec::new(),
        decoded: 0,
        nodes: 0,
        functions: 0,
        graphs: 0,
        has_graph: false,
    };
    scan.message(encoded, Message::Model)?;
    Ok(scan.has_graph)
}

struct Scan<'a> {
    /// Address of the first byte, to tell positions.
    start: usize,
    limits: &'a Limits,
    /// Fields that lead to the current message, each with its index among those of the same field.
    path: Vec<(&'static str, u32)>,
    decoded: u64,
    nodes: u64,
    functions: u64,
    /// Graphs that the current message is nested in.
    graphs: u64,
    has_graph: bool,
}

impl Scan<'_> {
    fn message(&mut self, mut rest: &[u8], message: Message) -> Result<(), LoadError> {
        // How often each field came so far; no tag of the schema is above 31.
        let mut seen = [0u32; 32];
        self.allow("nesting of messages", self.path.len() as u64 + 1, self.limits.message_depth, "message_depth")?;
        while !rest.is_empty() {
            let at = rest;
            let key = varint(&mut rest).ok_or_else(|| self.malformed(at, "a field's number is cut off"))?;
            let tag = u32::try_from(key >> 3).ok().filter(|&tag| tag != 0);
            let tag = tag.ok_or_else(|| self.malformed(at, "a field has an impossible number"))?;
            let (field, content) = match key & 7 {
                0 => {
                    varint(&mut rest).ok_or_else(|| self.malformed(at, "a number is cut off"))?;
                    (field(message, tag), None)
                }
                1 => (field(message, tag), self.take(&mut rest, 8).map(|_| None)?),
                5 => (field(message, tag), self.take(&mut rest, 4).map(|_| None)?),
                2 => {
                    let length = varint(&mut rest).ok_or_else(|| self.malformed(at, "a length is cut off"))?;
                    (field(message, tag), Some(self.take(&mut rest, length)?))
                }
                _ => return Err(self.malformed(at, "a field has a kind that ONNX does not use")),
            };
            let index = seen.get_mut(tag as usize).map_or(0, |count| {
                *count = count.saturating_add(1);
                *count - 1
            });
            self.field(field, index, content)?;
        }
        Ok(())
    }

    fn field(&mut self, field: Field, index: u32, content: Option<&[u8]>) -> Result<(), LoadError> {
        match (field, content) {
            (Field::Nested(name, message), Some(content)) => {
                self.path.push((name, index));
                self.charge(decoded_size(message))?;
                match message {
                    Message::Node => self.nodes += 1,
                    Message::Function => self.functions += 1,
                    Message::Graph => {
                        self.graphs += 1;
                        self.has_graph = true;
                    }
                    _ => {}
                }
                self.allow("the number of nodes", self.nodes, self.limits.nodes, "nodes")?;
                self.allow("the number of functions", self.functions, self.limits.functions, "functions")?;
                self.allow("nesting of graphs", self.graphs, self.limits.graph_depth, "graph_depth")?;
                self.message(content, message)?;
                if message == Message::Graph {
                    self.graphs -= 1;
                }
                self.path.pop();
            }
            (Field::Name(name) | Field::Text(name), Some(content)) => {
                self.path.push((name, index));
                if matches!(field, Field::Name(_)) {
                    self.allow("the length of a name", content.len() as u64, self.limits.name_bytes, "name_bytes")?;
                }
                if std::str::from_utf8(content).is_err() {
                    return Err(self.malformed(content, "text is not valid UTF-8"));
                }
                self.charge(size_of::<String>() + content.len())?;
                self.path.pop();
            }
            (Field::Bytes(name), Some(_)) => {
                self.path.push((name, index));
                self.charge(size_of::<bytes::Bytes>())?;
                self.path.pop();
            }
            (Field::Numbers(name, width), content) => {
                self.path.push((name, index));
                self.charge(content.map_or(size_of::<i64>(), |content| content.len().saturating_mul(width)))?;
                self.path.pop();
            }
            _ => {}
        }
        Ok(())
    }

    fn take<'b>(&self, rest: &mut &'b [u8], length: u64) -> Result<&'b [u8], LoadError> {
        let parts = usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length));
        let (content, after) =
            parts.ok_or_else(|| self.malformed(rest, "a field reaches past the end of its message"))?;
        *rest = after;
        Ok(content)
    }

    fn charge(&mut self, bytes: usize) -> Result<(), LoadError> {
        self.decoded = self.decoded.saturating_add(bytes as u64);
        self.allow("memory to decode the model, in bytes,", self.decoded, self.limits.decoded_bytes, "decoded_bytes")
    }

    fn allow(&self, what: &'static str, found: u64, limit: u64, field: &'static str) -> Result<(), LoadError> {
        if found <= limit {
            return Ok(());
        }
        Err(LoadError::Limit { place: self.place(), what, found, limit, field })
    }

    fn malformed(&self, at: &[u8], problem: &'static str) -> LoadError {
        LoadError::Malformed { place: self.place(), offset: at.as_ptr() as usize - self.start, problem }
    }

    /// The path as text, its middle left out where it is very deep.
    fn place(&self) -> String {
        const SHOWN: usize = 12;
        let step = |&(name, index): &(&str, u32)| format!(".{name}[{index}]");
        let mut place = String::from("model");
        place.extend(self.path.iter().take(SHOWN).map(step));
        if self.path.len() > SHOWN {
            place.push_str("...");
        }
        place
    }
}

/// Reads a base-128 number of at most ten bytes.
fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for (position, &byte) in rest.iter().enumerate().take(10) {
        if position == 9 && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << (7 * position);
        if byte < 0x80 {
            *rest = &rest[position + 1..];
            return Some(value);
        }
    }
    None
}
