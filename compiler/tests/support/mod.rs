//! Models written from code, and the program under test.

use std::path::Path;
use std::process::{Command, Output};

use lithify::proto::onnx::{
    Dimension, DimensionValue, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorShapeProto,
    TensorTypeProto, TypeProto, TypeValue, ValueInfoProto,
};
use prost::Message;

/// The program, on arguments separated by spaces, in `directory`.
pub fn lithify(directory: &Path, arguments: &str) -> Output {
    command(directory, arguments).output().unwrap()
}

/// The program, to be started.
pub fn command(directory: &Path, arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lithify"));
    command.current_dir(directory).args(arguments.split_whitespace());
    command
}

/// Standard output of a call that succeeds.
pub fn succeed(directory: &Path, arguments: &str) -> String {
    let output = lithify(directory, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "lithify {arguments}: {}\n{errors}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// Standard output of a call that succeeds, as JSON.
pub fn json(directory: &Path, arguments: &str) -> serde_json::Value {
    serde_json::from_str(&succeed(directory, arguments)).unwrap()
}

/// Standard error of a call that ends with `status`.
pub fn fail(directory: &Path, arguments: &str, status: i32) -> String {
    let output = lithify(directory, arguments);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(status), "lithify {arguments}\n{errors}");
    errors
}

/// Writes a model of f32 tensors of shape `[batch, 4]`: `x` and `y` go through the nodes, each an operator with inputs
/// and an output, and `z` comes out.
pub fn write_model(path: &Path, nodes: &[(&str, &[&str], &str)]) {
    let named = |name: &str| ValueInfoProto { name: Some(name.into()), r#type: Some(tensor_type()), doc_string: None };
    let node = |&(operator, inputs, output): &(&str, &[&str], &str)| NodeProto {
        op_type: Some(operator.into()),
        name: Some(format!("node_{output}")),
        input: inputs.iter().map(|&input| input.into()).collect(),
        output: vec![output.into()],
        ..NodeProto::default()
    };
    let model = ModelProto {
        ir_version: Some(9),
        opset_import: vec![OperatorSetIdProto { domain: None, version: Some(18) }],
        graph: GraphProto {
            name: Some("test".into()),
            input: vec![named("x"), named("y")],
            output: vec![named("z")],
            node: nodes.iter().map(node).collect(),
            ..GraphProto::default()
        },
        ..ModelProto::default()
    };
    std::fs::write(path, model.encode_to_vec()).unwrap();
}

fn tensor_type() -> TypeProto {
    let dim = |value| Dimension { value: Some(value), denotation: None };
    let dims = vec![dim(DimensionValue::Parameter("batch".into())), dim(DimensionValue::Value(4))];
    let tensor = TensorTypeProto { elem_type: Some(1), shape: Some(TensorShapeProto { dim: dims }) };
    TypeProto { value: Some(TypeValue::Tensor(tensor)), denotation: None }
}
