//! Tensors as they are stored in a model.

use bytes::Bytes;

use super::StringStringEntryProto;

/// A dense tensor; [`crate::proto::decode_tensor`] turns it into plain bytes.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TensorProto {
    /// Size of each dimension; none for a scalar.
    #[prost(int64, repeated, packed = "false", tag = "1")]
    pub dims: Vec<i64>,
    /// Element type number; see [`crate::proto::element`].
    #[prost(int32, optional, tag = "2")]
    pub data_type: Option<i32>,
    /// Which part of a larger tensor this is.
    #[prost(message, optional, tag = "3")]
    pub segment: Option<Segment>,
    /// Elements of float and complex64 tensors.
    #[prost(float, repeated, tag = "4")]
    pub float_data: Vec<f32>,
    /// Elements of int32 and all narrower types, those of 16 bits and below as bit patterns.
    #[prost(int32, repeated, tag = "5")]
    pub int32_data: Vec<i32>,
    /// Elements of string tensors.
    #[prost(bytes = "bytes", repeated, tag = "6")]
    pub string_data: Vec<Bytes>,
    /// Elements of int64 tensors.
    #[prost(int64, repeated, tag = "7")]
    pub int64_data: Vec<i64>,
    /// Name of the tensor; that of the value it initializes.
    #[prost(string, optional, tag = "8")]
    pub name: Option<String>,
    /// Elements as little-endian bytes, for every type but strings.
    #[prost(bytes = "bytes", optional, tag = "9")]
    pub raw_data: Option<Bytes>,
    /// Elements of double and complex128 tensors.
    #[prost(double, repeated, tag = "10")]
    pub double_data: Vec<f64>,
    /// Elements of uint32 and uint64 tensors.
    #[prost(uint64, repeated, tag = "11")]
    pub uint64_data: Vec<u64>,
    /// Where the bytes are when `data_location` is external: `location`, `offset`, `length`.
    #[prost(message, repeated, tag = "13")]
    pub external_data: Vec<StringStringEntryProto>,
    /// Whether the elements are in this message or in another file.
    #[prost(enumeration = "DataLocation", optional, tag = "14")]
    pub data_location: Option<i32>,
}

/// A part of a tensor that is stored in several messages.
#[derive(Clone, Copy, PartialEq, Eq, Hash, prost::Message)]
pub struct Segment {
    /// First element.
    #[prost(int64, optional, tag = "1")]
    pub begin: Option<i64>,
    /// One past the last element.
    #[prost(int64, optional, tag = "2")]
    pub end: Option<i64>,
}

/// Where the elements of a tensor are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum DataLocation {
    /// In the message.
    Default = 0,
    /// In a file beside the model.
    External = 1,
}

/// A tensor given by its elements that are not zero (or not the empty string).
#[derive(Clone, PartialEq, prost::Message)]
pub struct SparseTensorProto {
    /// The elements, shape `[count]`; its name is the sparse tensor's name.
    #[prost(message, optional, tag = "1")]
    pub values: Option<TensorProto>,
    /// Where they are: int64, `[count]` linear indices or `[count, rank]` coordinates, strictly ascending.
    #[prost(message, optional, tag = "2")]
    pub indices: Option<TensorProto>,
    /// Dimensions of the dense tensor.
    #[prost(int64, repeated, packed = "false", tag = "3")]
    pub dims: Vec<i64>,
}
