//! The messages of the ONNX protobuf schema (IR version 14 and below), written by hand.
//!
//! Field numbers are those of `onnx-ml.proto`. Fields no stage reads are left out, and decoding skips them: doc strings
//! below the model, metadata below the model, training information, device configurations. Scalars are `Option`s, as
//! the schema is proto2; each has a getter of the same name that answers the default where the field is absent.
//! Weights (`raw_data`, `string_data`) are slices of the buffer that was decoded, not copies.

mod graph;
mod tensor;
mod value;

pub use graph::{
    AttributeProto, AttributeType, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto,
    StringStringEntryProto, TensorAnnotation,
};
pub use tensor::{DataLocation, Segment, SparseTensorProto, TensorProto};
pub use value::{
    Dimension, DimensionValue, MapTypeProto, OpaqueTypeProto, OptionalTypeProto, SequenceTypeProto, TensorShapeProto,
    TensorTypeProto, TypeProto, TypeValue, ValueInfoProto,
};
