//! Types and shapes of values.

use bytes::Bytes;

/// The name and the type of a value.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ValueInfoProto {
    /// Name of the value.
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    /// Type of the value.
    #[prost(message, optional, tag = "2")]
    pub r#type: Option<TypeProto>,
    /// Description for people; bytes, because producers do not always write UTF-8 here.
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub doc_string: Option<Bytes>,
}

/// A type.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TypeProto {
    /// The kind of type; absent when the producer left it out.
    #[prost(oneof = "TypeValue", tags = "1, 4, 5, 7, 8, 9")]
    pub value: Option<TypeValue>,
    /// What the value means (`IMAGE`, `AUDIO`, ...), for people.
    #[prost(string, optional, tag = "6")]
    pub denotation: Option<String>,
}

/// The kinds of type.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum TypeValue {
    /// A dense tensor.
    #[prost(message, tag = "1")]
    Tensor(TensorTypeProto),
    /// A sequence.
    #[prost(message, tag = "4")]
    Sequence(SequenceTypeProto),
    /// A map.
    #[prost(message, tag = "5")]
    Map(MapTypeProto),
    /// A type only its domain understands.
    #[prost(message, tag = "7")]
    Opaque(OpaqueTypeProto),
    /// A sparse tensor.
    #[prost(message, tag = "8")]
    SparseTensor(TensorTypeProto),
    /// A value that may be absent.
    #[prost(message, tag = "9")]
    Optional(OptionalTypeProto),
}

/// Element type and shape of a dense or sparse tensor.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TensorTypeProto {
    /// Element type number; see [`crate::proto::element`].
    #[prost(int32, optional, tag = "1")]
    pub elem_type: Option<i32>,
    /// The shape; absent when not even the rank is known.
    #[prost(message, optional, tag = "2")]
    pub shape: Option<TensorShapeProto>,
}

/// A sequence of values of one type.
#[derive(Clone, PartialEq, prost::Message)]
pub struct SequenceTypeProto {
    /// Type of each element.
    #[prost(message, optional, boxed, tag = "1")]
    pub elem_type: Option<Box<TypeProto>>,
}

/// A map from scalars to values of one type.
#[derive(Clone, PartialEq, prost::Message)]
pub struct MapTypeProto {
    /// Element type number of the keys: an integer type or string.
    #[prost(int32, optional, tag = "1")]
    pub key_type: Option<i32>,
    /// Type of the values.
    #[prost(message, optional, boxed, tag = "2")]
    pub value_type: Option<Box<TypeProto>>,
}

/// A value that may be absent.
#[derive(Clone, PartialEq, prost::Message)]
pub struct OptionalTypeProto {
    /// Type of the value when it is present.
    #[prost(message, optional, boxed, tag = "1")]
    pub elem_type: Option<Box<TypeProto>>,
}

/// A type only its domain understands.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct OpaqueTypeProto {
    /// Domain of the type; empty is the ONNX domain.
    #[prost(string, optional, tag = "1")]
    pub domain: Option<String>,
    /// Name of the type within the domain.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
}

/// The dimensions of a tensor.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct TensorShapeProto {
    /// Dimensions, outermost first.
    #[prost(message, repeated, tag = "1")]
    pub dim: Vec<Dimension>,
}

/// One dimension.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct Dimension {
    /// Its size; absent when unknown.
    #[prost(oneof = "DimensionValue", tags = "1, 2")]
    pub value: Option<DimensionValue>,
    /// What the dimension means (`DATA_BATCH`, ...), for people.
    #[prost(string, optional, tag = "3")]
    pub denotation: Option<String>,
}

/// The size of a dimension.
#[derive(Clone, PartialEq, Eq, Hash, prost::Oneof)]
pub enum DimensionValue {
    /// A fixed size; some producers write -1 for an unknown one.
    #[prost(int64, tag = "1")]
    Value(i64),
    /// A named size, equal wherever the name appears.
    #[prost(string, tag = "2")]
    Parameter(String),
}
