//! Tests of loading as a whole: a model with one of everything, and what hostile changes to it do.

use bytes::Bytes;
use proptest::prelude::*;
use prost::Message;

use super::element::{FLOAT, INT64};
use super::onnx::*;
use super::{HostData, HostTensor, Limits, LoadError, LoadOptions, Model, load_bytes, load_path};

fn floats(name: &str) -> TensorProto {
    HostTensor::new(FLOAT, vec![2], HostData::Bytes(vec![1; 8].into())).unwrap().encode(name)
}

fn value(name: &str) -> ValueInfoProto {
    let dims = [DimensionValue::Value(2), DimensionValue::Parameter("n".into())];
    let dim = dims.map(|value| Dimension { value: Some(value), denotation: None }).to_vec();
    let tensor = TensorTypeProto { elem_type: Some(FLOAT), shape: Some(TensorShapeProto { dim }) };
    let tensor = TypeProto { value: Some(TypeValue::Tensor(tensor)), denotation: None };
    let sequence = SequenceTypeProto { elem_type: Some(Box::new(tensor)) };
    let of = TypeProto { value: Some(TypeValue::Sequence(sequence)), denotation: None };
    ValueInfoProto { name: Some(name.into()), r#type: Some(of), doc_string: Some(vec![0xff].into()) }
}

fn sparse() -> SparseTensorProto {
    let bytes = [0i64, 3].iter().flat_map(|index| index.to_le_bytes()).collect();
    let indices = HostTensor::new(INT64, vec![2], HostData::Bytes(bytes)).unwrap().encode("");
    SparseTensorProto { values: Some(floats("s")), indices: Some(indices), dims: vec![2, 2] }
}

fn graph_attribute(graph: GraphProto) -> AttributeProto {
    let kind = Some(AttributeType::Graph as i32);
    AttributeProto { name: Some("body".into()), r#type: kind, g: Some(Box::new(graph)), ..Default::default() }
}

fn node(attribute: Vec<AttributeProto>) -> NodeProto {
    let (input, output) = (vec!["x".into()], vec!["y".into()]);
    NodeProto { input, output, op_type: Some("Loop".into()), attribute, ..Default::default() }
}

fn small_model() -> ModelProto {
    let body = GraphProto { name: Some("body".into()), initializer: vec![floats("b")], ..Default::default() };
    let numbers =
        AttributeProto { ints: vec![1, -1], floats: vec![0.5], t: Some(Box::new(floats("c"))), ..Default::default() };
    let strings = AttributeProto { strings: vec![b"a".as_slice().into()], s: Some(Bytes::new()), ..Default::default() };
    let graph = GraphProto {
        name: Some("main".into()),
        node: vec![node(vec![graph_attribute(body), numbers]), node(vec![strings])],
        initializer: vec![floats("w")],
        sparse_initializer: vec![sparse()],
        input: vec![value("x")],
        output: vec![value("y")],
        ..Default::default()
    };
    let function = FunctionProto { name: Some("f".into()), node: vec![node(vec![])], ..Default::default() };
    let opset = OperatorSetIdProto { domain: None, version: Some(21) };
    ModelProto {
        ir_version: Some(10),
        graph,
        functions: vec![function],
        opset_import: vec![opset],
        ..Default::default()
    }
}

fn load(encoded: Vec<u8>) -> Result<Model, LoadError> {
    load_bytes(encoded.into(), None, &LoadOptions::default())
}

fn refused(model: &ModelProto, limits: Limits) -> String {
    let options = LoadOptions { limits, ..LoadOptions::default() };
    load_bytes(model.encode_to_vec().into(), None, &options).unwrap_err().to_string()
}

/// Decodes every tensor of the main graph, whatever comes of it.
fn use_model(model: &Model) {
    for tensor in &model.graph().initializer {
        let _ = model.tensor(tensor).map_err(|error| error.to_string());
    }
    for sparse in &model.graph().sparse_initializer {
        let _ = model.sparse_tensor(sparse).map_err(|error| error.to_string());
    }
}

/// A model whose graphs are nested this deep.
fn nested(depth: usize) -> ModelProto {
    let graph = (1..depth).fold(GraphProto::default(), |inner, _| GraphProto {
        node: vec![node(vec![graph_attribute(inner)])],
        ..Default::default()
    });
    ModelProto { graph, ..Default::default() }
}

#[test]
fn a_sound_model_loads_without_copying_its_weights() {
    let encoded = Bytes::from(small_model().encode_to_vec());
    let model = load_bytes(encoded.clone(), None, &LoadOptions::default()).unwrap();
    assert_eq!(model.proto, small_model());
    let weights = model.tensor(&model.graph().initializer[0]).unwrap();
    let bytes = weights.bytes().unwrap().as_ptr_range();
    assert!(encoded.as_ptr_range().start < bytes.start && bytes.end <= encoded.as_ptr_range().end);
    let dense = model.sparse_tensor(&model.graph().sparse_initializer[0]).unwrap();
    assert_eq!(dense.dims, [2, 2]);
    assert_eq!(dense.bytes().unwrap().len(), 16);
}

#[test]
fn each_limit_names_itself() {
    let model = small_model();
    let default = Limits::default;
    assert!(refused(&model, Limits { decoded_bytes: 100, ..default() }).contains("decoded_bytes"));
    assert!(refused(&model, Limits { message_depth: 3, ..default() }).contains("message_depth"));
    assert!(refused(&model, Limits { graph_depth: 1, ..default() }).contains("graph_depth"));
    assert!(refused(&model, Limits { nodes: 2, ..default() }).contains("nodes"));
    assert!(refused(&model, Limits { functions: 0, ..default() }).contains("functions"));
    assert!(refused(&model, Limits { name_bytes: 3, ..default() }).contains("name_bytes"));
    assert!(refused(&model, Limits { rank: 1, ..default() }).contains("rank"));
    assert!(refused(&model, Limits { tensor_bytes: 7, ..default() }).contains("tensor_bytes"));
    assert!(refused(&model, Limits { sparse_bytes: 15, ..default() }).contains("sparse_bytes"));
    assert!(refused(&model, Limits { constant_bytes: 20, ..default() }).contains("constant_bytes"));
}

#[test]
fn deep_nesting_is_refused_and_not_followed() {
    let unlimited = Limits { message_depth: u64::MAX, graph_depth: u64::MAX, ..Limits::default() };
    assert!(load(nested(16).encode_to_vec()).is_ok());
    assert!(refused(&nested(17), Limits::default()).contains("graph_depth"));
    assert!(refused(&nested(60), Limits { graph_depth: 100, ..Limits::default() }).contains("message_depth"));
    assert!(refused(&nested(60), unlimited).contains("recursion"));
}

#[test]
fn small_files_cannot_ask_for_much_memory() {
    // A million empty nodes, two bytes each, inside a graph.
    let nodes = [0x0a, 0].repeat(1_000_001);
    let mut encoded = vec![0x3a];
    prost::encode_length_delimiter(nodes.len(), &mut encoded).unwrap();
    encoded.extend(nodes);
    assert!(load(encoded).unwrap_err().to_string().contains("nodes"));
}

#[test]
fn errors_name_the_place() {
    let mut model = small_model();
    model.graph.node[0].attribute[1].t.as_mut().unwrap().dims = vec![-1];
    let error = load(model.encode_to_vec()).unwrap_err().to_string();
    for part in ["graph \"main\"", "node \"y\" (\"Loop\")", "tensor \"c\"", "negative dimension -1"] {
        assert!(error.contains(part), "{error}");
    }
    // A model whose graph has a node whose second input is not UTF-8.
    let error = load(vec![0x3a, 8, 0x0a, 6, 0x0a, 1, b'a', 0x0a, 1, 0xff]).unwrap_err().to_string();
    assert!(error.contains("model.graph[0].node[0].input[1]") && error.contains("UTF-8"), "{error}");
}

#[test]
fn other_files_are_recognized() {
    let cases: [(&[u8], &str); 6] = [
        (b"", "empty"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
        (b"PK\x03\x04rest", "zip"),
        (b"\0\0\0\0ORTM", "ORT format"),
        (b"<!DOCTYPE html>", "web page"),
        (&[0x08, 10], "no graph"),
    ];
    for (bytes, expected) in cases {
        let error = load(bytes.to_vec()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let newer = ModelProto { ir_version: Some(15), ..Default::default() };
    assert!(load(newer.encode_to_vec()).unwrap_err().to_string().contains("IR version 15"));
}

#[test]
fn external_data_is_read_beside_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let mut model = small_model();
    let entry = |key: &str, value: &str| StringStringEntryProto { key: Some(key.into()), value: Some(value.into()) };
    let tensor = &mut model.graph.initializer[0];
    tensor.raw_data = None;
    tensor.data_location = Some(DataLocation::External as i32);
    tensor.external_data = vec![entry("location", "w.bin"), entry("offset", "4"), entry("length", "8")];
    let path = folder.path().join("model.onnx");
    std::fs::write(&path, model.encode_to_vec()).unwrap();
    std::fs::write(folder.path().join("w.bin"), (0..12).collect::<Vec<u8>>()).unwrap();

    let loaded = load_path(&path, &LoadOptions::default()).unwrap();
    let weights = loaded.tensor(&loaded.graph().initializer[0]).unwrap();
    assert_eq!(weights.bytes().unwrap(), &[4, 5, 6, 7, 8, 9, 10, 11].as_slice());
    let error = load(model.encode_to_vec()).unwrap_err().to_string();
    assert!(error.contains("tensor \"w\"") && error.contains("another file"), "{error}");

    let small = LoadOptions { limits: Limits { file_bytes: 10, ..Limits::default() }, ..LoadOptions::default() };
    assert!(load_path(&path, &small).unwrap_err().to_string().contains("file_bytes"));
    assert!(load_path(folder.path(), &small).unwrap_err().to_string().contains("regular file"));
    assert!(load_path(&folder.path().join("none"), &small).unwrap_err().to_string().contains("none"));
}

#[test]
fn every_truncation_is_an_error_or_a_model() {
    let encoded = small_model().encode_to_vec();
    for length in 0..encoded.len() {
        if let Ok(model) = load(encoded[..length].to_vec()) {
            use_model(&model);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn changed_bytes_never_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut encoded = small_model().encode_to_vec();
        for (position, byte) in changes {
            let position = position.index(encoded.len());
            encoded[position] = byte;
        }
        if let Ok(model) = load(encoded) {
            use_model(&model);
        }
    }

    #[test]
    fn random_bytes_never_panic(encoded in prop::collection::vec(any::<u8>(), 0..64)) {
        if let Ok(model) = load(encoded) {
            use_model(&model);
        }
    }

    #[test]
    fn random_tensors_never_panic(
        data_type in -1..31i32,
        dims in prop::collection::vec(prop_oneof![-2..5i64, Just(1 << 62), Just(i64::MAX), Just(i64::MIN)], 0..4),
        raw in prop::collection::vec(any::<u8>(), 0..9),
        entries in prop::collection::vec(any::<i32>(), 0..5),
    ) {
        let raw_data = Some(Bytes::from(raw)).filter(|raw| !raw.is_empty());
        let tensor = TensorProto {
            data_type: Some(data_type),
            dims: dims.clone(),
            raw_data,
            int32_data: entries,
            ..Default::default()
        };
        let _ = super::decode_tensor(&tensor, &Limits::default());
        let sparse = SparseTensorProto { values: Some(tensor.clone()), indices: Some(tensor), dims };
        let _ = super::decode_sparse(&sparse, &Limits { sparse_bytes: 1 << 20, ..Limits::default() });
    }
}
