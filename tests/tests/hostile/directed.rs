//! Attacks one by one; each is refused with a message about it, or harmless.

use std::fs;

use lithify::proto::element::{FLOAT, INT64};
use lithify::proto::onnx::*;
use lithify_tests::models::{ModelBuilder, attribute, floats, int, integers, ints, shifted};
use prost::Message;

use super::child::{Case, compile, compile_in};

/// Compiles a model in a child; gives its message.
fn message(model: &ModelBuilder) -> Option<String> {
    compile(&[Case::new("case", model.bytes())]).remove("case").unwrap()
}

fn refused(model: &ModelBuilder, part: &str) {
    let message = message(model).unwrap_or_else(|| panic!("it compiled; wanted a message with '{part}'"));
    assert!(message.contains(part), "'{part}' is not in: {message}");
}

fn external(location: &str) -> ModelBuilder {
    let entry = |key: &str, value: &str| StringStringEntryProto { key: Some(key.into()), value: Some(value.into()) };
    let mut weights = floats("b", &[3], &[0.0; 3]);
    weights.raw_data = None;
    weights.float_data.clear();
    weights.data_location = Some(DataLocation::External as i32);
    weights.external_data = vec![entry("location", location), entry("length", "12")];
    let mut model = shifted();
    model.proto.graph.initializer = vec![weights];
    model
}

#[test]
fn external_data_outside_the_folder() {
    let outside = tempfile::tempdir().unwrap();
    let folder = outside.path().join("model");
    fs::create_dir(&folder).unwrap();
    fs::write(outside.path().join("secret"), [0; 12]).unwrap();
    fs::write(folder.join("weights"), [0; 12]).unwrap();
    let absolute = outside.path().join("secret");
    let locations = ["../secret", "a/../../secret", absolute.to_str().unwrap(), "missing", "", ".", "/dev/zero", "\0"];
    let mut cases: Vec<Case> =
        locations.iter().map(|location| Case::new(*location, external(location).bytes())).collect();
    cases.push(Case::new("weights", external("weights").bytes()));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../secret", folder.join("link")).unwrap();
        fs::hard_link(&absolute, folder.join("hard")).unwrap();
        cases.extend(["link", "hard"].map(|location| Case::new(location, external(location).bytes())));
    }
    let results = compile_in(&folder, &cases);
    for (name, message) in results {
        assert_eq!(message.is_none(), name == "weights", "{name}: {message:?}");
    }
}

#[test]
fn sizes_of_tensors() {
    for dims in [vec![1 << 62], vec![i64::MAX, i64::MAX], vec![-1], vec![1 << 32, 1 << 32], vec![4]] {
        let mut model = shifted();
        model.proto.graph.initializer[0].dims = dims.clone();
        assert!(message(&model).is_some(), "{dims:?}");
    }
    let relu = |dims: &[&str]| {
        ModelBuilder::new().input("x", FLOAT, dims).node("Relu", &["x"], &["y"]).output("y", FLOAT, dims)
    };
    for dims in [&["4611686018427387904"][..], &["4294967296", "4294967296"], &["-5"], &["9223372036854775807"; 8]] {
        let _ = message(&relu(dims));
    }
}

#[test]
fn graphs_that_are_none() {
    let base = || ModelBuilder::new().input("x", FLOAT, &["2"]);
    let cycle = base().node("Add", &["x", "b"], &["a"]).node("Relu", &["a"], &["b"]).output("b", FLOAT, &["2"]);
    assert!(message(&cycle).is_some());
    let own = base().node("Add", &["x", "a"], &["a"]).output("a", FLOAT, &["2"]);
    assert!(message(&own).is_some());
    refused(&base().node("Add", &["x", "nothing"], &["y"]).output("y", FLOAT, &["2"]), "nothing");
    refused(&base().node("Relu", &["x"], &["y"]).output("other", FLOAT, &["2"]), "other");
    let twice = base().node("Relu", &["x"], &["y"]).node("Exp", &["x"], &["y"]).output("y", FLOAT, &["2"]);
    refused(&twice, "y");
    refused(&base().node("Mystery", &["x"], &["y"]).output("y", FLOAT, &["2"]), "Mystery");
    let mut foreign = base().node("Relu", &["x"], &["y"]).output("y", FLOAT, &["2"]);
    foreign.proto.graph.node[0].domain = Some("org.unknown".into());
    refused(&foreign, "org.unknown");
    foreign.proto.opset_import.push(OperatorSetIdProto { domain: Some("org.unknown".into()), version: Some(1) });
    refused(&foreign, "Relu");
    for version in [i64::MIN, -1, 0, i64::MAX] {
        let mut model = shifted();
        model.proto.opset_import[0].version = Some(version);
        let _ = message(&model);
    }
    let _ = message(&ModelBuilder::new());
    let mut names = shifted();
    names.proto.graph.input[0].name = Some("\u{0}\u{7f}*/ \"\\".into());
    assert!(message(&names).is_some());
}

fn call(function: &str) -> NodeProto {
    NodeProto {
        input: vec!["a".into()],
        output: vec!["b".into()],
        op_type: Some(function.into()),
        domain: Some("f".into()),
        ..Default::default()
    }
}

fn function(name: &str, node: Vec<NodeProto>) -> FunctionProto {
    FunctionProto {
        name: Some(name.into()),
        domain: Some("f".into()),
        input: vec!["a".into()],
        output: vec!["b".into()],
        node,
        opset_import: vec![OperatorSetIdProto { domain: Some("f".into()), version: Some(1) }],
        ..Default::default()
    }
}

fn calling(name: &str, functions: Vec<FunctionProto>) -> ModelBuilder {
    let mut model = ModelBuilder::new().input("a", FLOAT, &["2"]).output("b", FLOAT, &["2"]);
    model.proto.graph.node = vec![call(name)];
    model.proto.functions = functions;
    model.proto.opset_import.push(OperatorSetIdProto { domain: Some("f".into()), version: Some(1) });
    model
}

#[test]
fn functions_that_call_each_other() {
    refused(&calling("f", vec![function("f", vec![call("f")])]), "function");
    refused(&calling("f", vec![function("f", vec![call("g")]), function("g", vec![call("f")])]), "function");
    // Each calls the next twice, 2^30 calls in all.
    let chain = (0..30).map(|depth| {
        let mut second = call(&format!("f{}", depth + 1));
        second.input = vec!["c".into()];
        let mut first = call(&format!("f{}", depth + 1));
        first.output = vec!["c".into()];
        function(&format!("f{depth}"), vec![first, second])
    });
    let mut functions: Vec<FunctionProto> = chain.collect();
    let relu = NodeProto { op_type: Some("Relu".into()), domain: None, ..call("") };
    let mut last = function("f30", vec![relu]);
    last.opset_import.push(OperatorSetIdProto { domain: None, version: Some(21) });
    functions.push(last);
    refused(&calling("f0", functions), "nodes");
}

#[test]
fn graphs_in_graphs() {
    for depth in [5, 15, 40, 200] {
        let leaf = shifted().proto.graph;
        let graph = (0..depth).fold(leaf, |inner, _| {
            let body = attribute(
                "then_branch",
                AttributeType::Graph,
                AttributeProto { g: Some(Box::new(inner.clone())), ..Default::default() },
            );
            let other = attribute(
                "else_branch",
                AttributeType::Graph,
                AttributeProto { g: Some(Default::default()), ..Default::default() },
            );
            ModelBuilder::new()
                .node_with("If", &["c"], &["y"], vec![body, other])
                .output("y", FLOAT, &["2", "3"])
                .proto
                .graph
        });
        let mut model = shifted();
        model.proto.graph.node.extend(graph.node);
        assert!(message(&model).is_some());
    }
    // Messages in messages, written by hand: types of sequences of sequences.
    let mut bytes = Vec::new();
    bytes.resize(30_000, 0x22);
    assert!(compile(&[Case::new("bytes", bytes)])["bytes"].is_some());
}

#[test]
fn small_files_that_ask_for_much() {
    let large = integers("shape", &[2], &[1 << 20, 1 << 11]);
    let larger = integers("shape", &[3], &[1 << 31, 1 << 31, 4]);
    for shape in [large, larger] {
        let base = || ModelBuilder::new().constant(shape.clone()).input("x", FLOAT, &["1"]);
        let models = [
            base().node("ConstantOfShape", &["shape"], &["y"]),
            base().node("ConstantOfShape", &["shape"], &["z"]).node("Exp", &["z"], &["y"]),
            base().node("Expand", &["x", "shape"], &["y"]),
            base().constant(floats("one", &[1], &[1.0])).node("Expand", &["one", "shape"], &["y"]),
            base().constant(floats("one", &[1, 1], &[1.0])).node("Tile", &["one", "shape"], &["y"]),
            base().constant(floats("one", &[1, 1], &[1.0])).node("Expand", &["one", "shape"], &["z"]).node(
                "Add",
                &["z", "x"],
                &["y"],
            ),
            base()
                .constant(integers("from", &[], &[0]))
                .constant(integers("to", &[], &[1 << 40]))
                .constant(integers("step", &[], &[1]))
                .node("Range", &["from", "to", "step"], &["y"]),
            base()
                .constant(integers("from", &[], &[i64::MIN]))
                .constant(integers("to", &[], &[i64::MAX]))
                .constant(integers("step", &[], &[1]))
                .node("Range", &["from", "to", "step"], &["y"]),
            base()
                .constant(integers("from", &[], &[i64::MAX]))
                .constant(integers("to", &[], &[i64::MIN]))
                .constant(integers("step", &[], &[0]))
                .node("Range", &["from", "to", "step"], &["y"]),
            base().constant(integers("pads", &[2], &[1 << 40, 1 << 40])).node("Pad", &["x", "pads"], &["y"]),
            base().constant(integers("pads", &[2], &[i64::MAX, i64::MAX])).node("Pad", &["x", "pads"], &["y"]),
            base().constant(integers("wide", &[], &[1 << 40])).constant(floats("pair", &[2], &[0.0, 1.0])).node(
                "OneHot",
                &["shape", "wide", "pair"],
                &["y"],
            ),
            base().node("ConstantOfShape", &["shape"], &["z"]).node("ConstantOfShape", &["shape"], &["w"]).node(
                "Add",
                &["z", "w"],
                &["y"],
            ),
            base().node("ConstantOfShape", &["shape"], &["z"]).node("Transpose", &["z"], &["y"]),
            base().node("ConstantOfShape", &["shape"], &["z"]).node("NonZero", &["z"], &["y"]),
            base().node("ConstantOfShape", &["shape"], &["z"]).node("ReduceSum", &["z"], &["y"]),
        ];
        let cases: Vec<Case> = models
            .into_iter()
            .enumerate()
            .map(|(index, mut model)| {
                model.proto.graph.output.push(ValueInfoProto { name: Some("y".into()), ..Default::default() });
                Case::new(index.to_string(), model.bytes())
            })
            .collect();
        compile(&cases);
    }
}

#[test]
fn graphs_of_great_size() {
    // Each doubles its input.
    let mut doubling = ModelBuilder::new().input("x0", FLOAT, &["n"]);
    for step in 0..70 {
        let (from, to) = (format!("x{step}"), format!("x{}", step + 1));
        doubling = doubling.node_with("Concat", &[&from, &from], &[&to], vec![int("axis", 0)]);
    }
    doubling.proto.graph.output.push(ValueInfoProto { name: Some("x70".into()), ..Default::default() });
    let mut fixed = doubling.clone();
    fixed.proto.graph.input = ModelBuilder::new().input("x0", FLOAT, &["3"]).proto.graph.input;
    // Each joins two symbols into one, or adds a pad to them.
    let mut symbols = ModelBuilder::new();
    let names: Vec<String> = (0..100).map(|index| format!("x{index}")).collect();
    for (index, name) in names.iter().enumerate() {
        symbols = symbols.input(name, FLOAT, &[&format!("n{index}")]);
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    symbols = symbols.node_with("Concat", &names, &["all"], vec![int("axis", 0)]);
    let mut last = "all".to_owned();
    for step in 0..12 {
        let next = format!("s{step}");
        symbols = symbols
            .node_with("Concat", &[&last, "all", &last], &[&format!("c{step}")], vec![int("axis", 0)])
            .constant(integers(&format!("p{step}"), &[2], &[1, -3]))
            .node("Pad", &[&format!("c{step}"), &format!("p{step}")], &[&next]);
        last = next;
    }
    symbols.proto.graph.output.push(ValueInfoProto { name: Some(last), ..Default::default() });
    // Products of sums of symbols: many terms.
    let mut product = ModelBuilder::new()
        .input("a", FLOAT, &["n", "m"])
        .input("b", FLOAT, &["k", "m"])
        .constant(integers("flat", &[1], &[-1]));
    let mut last = ("a".to_owned(), "b".to_owned());
    for step in 0..24 {
        let (joined, reshaped, square) = (format!("j{step}"), format!("r{step}"), format!("q{step}"));
        product = product
            .node("Reshape", &[&last.0, "flat"], &[&format!("{reshaped}a")])
            .node("Reshape", &[&last.1, "flat"], &[&format!("{reshaped}b")])
            .node_with("Concat", &[&format!("{reshaped}a"), &format!("{reshaped}b")], &[&joined], vec![int("axis", 0)])
            .node_with("Unsqueeze", &[&joined, "flat"], &[&format!("{square}a")], vec![])
            .node("Transpose", &[&format!("{square}a")], &[&format!("{square}b")])
            .node("Mul", &[&format!("{square}a"), &format!("{square}b")], &[&square]);
        last = (square, joined);
    }
    product.proto.graph.output.push(ValueInfoProto { name: Some(last.0), ..Default::default() });
    let mut long = ModelBuilder::new().input("v0", FLOAT, &["4"]);
    for step in 0..1500 {
        long = long.node("Neg", &[&format!("v{step}")], &[&format!("v{}", step + 1)]);
    }
    long.proto.graph.output.push(ValueInfoProto { name: Some("v1500".into()), ..Default::default() });
    let models = [("doubling", doubling), ("fixed", fixed), ("symbols", symbols), ("product", product), ("long", long)];
    compile(&models.map(|(name, model)| Case::new(name, model.bytes())));
}

#[test]
fn shapes_with_absurd_entries() {
    let mut cases = Vec::new();
    for values in [[0, 0], [-1, -1], [-2, 3], [i64::MIN, i64::MIN], [i64::MAX, 2], [1 << 33, 1 << 33]] {
        for operator in [
            "Reshape",
            "Expand",
            "Tile",
            "Slice",
            "Pad",
            "Unsqueeze",
            "Squeeze",
            "ReduceSum",
            "Gather",
            "GatherND",
            "CenterCropPad",
            "Split",
            "TopK",
            "OneHot",
            "Resize",
            "ScatterND",
        ] {
            for dims in [&["2", "3"][..], &["n", "3"], &["n", "m"], &["0", "3"]] {
                let inputs: &[&str] = if operator == "Slice" { &["x", "v", "v", "v", "v"] } else { &["x", "v", "x"] };
                let inputs = if matches!(operator, "Slice" | "ScatterND" | "OneHot") { inputs } else { &inputs[..2] };
                let mut model = ModelBuilder::new()
                    .input("x", FLOAT, dims)
                    .constant(integers("v", &[2], &values))
                    .node(operator, inputs, &["y"]);
                model.proto.graph.output.push(ValueInfoProto { name: Some("y".into()), ..Default::default() });
                cases.push(Case::new(format!("{operator} {values:?} {dims:?}"), model.bytes()));
            }
        }
    }
    compile(&cases);
}

#[test]
fn windows_with_absurd_attributes() {
    let mut cases = Vec::new();
    for operator in ["Conv", "MaxPool", "AveragePool", "LpPool", "ConvTranspose"] {
        for name in ["strides", "pads", "dilations", "kernel_shape", "group", "output_padding"] {
            for value in [i64::MIN, -1, 0, 1, 3, 1 << 31, 1 << 40, i64::MAX] {
                for dims in [["1", "4", "6", "6"], ["n", "4", "h", "w"], ["0", "4", "0", "6"]] {
                    let count = if name == "pads" { 4 } else { 2 };
                    let given = if name == "group" { int(name, value) } else { ints(name, &vec![value; count]) };
                    let mut attributes = vec![given];
                    if name != "kernel_shape" {
                        attributes.push(ints("kernel_shape", &[3, 3]));
                    }
                    let inputs: &[&str] = if operator.ends_with("Pool") { &["x"] } else { &["x", "w"] };
                    let mut model = ModelBuilder::new()
                        .input("x", FLOAT, &dims)
                        .constant(floats("w", &[4, 4, 3, 3], &[1.0; 144]))
                        .node_with(operator, inputs, &["y"], attributes);
                    model.proto.graph.output.push(ValueInfoProto { name: Some("y".into()), ..Default::default() });
                    cases.push(Case::new(format!("{operator} {name} {value} {dims:?}"), model.bytes()));
                }
            }
        }
    }
    compile(&cases);
}

#[test]
fn types_of_constants() {
    let mut cases = Vec::new();
    for element in -1..40 {
        let mut model = shifted();
        model.proto.graph.initializer[0].data_type = Some(element);
        cases.push(Case::new(format!("data {element}"), model.bytes()));
        let mut model =
            ModelBuilder::new().input("x", element, &["2"]).node("Relu", &["x"], &["y"]).output("y", element, &["2"]);
        cases.push(Case::new(format!("port {element}"), model.bytes()));
        model.proto.graph.node =
            ModelBuilder::new().node_with("Cast", &["x"], &["y"], vec![int("to", element.into())]).proto.graph.node;
        model.proto.graph.input = ModelBuilder::new().input("x", INT64, &["2"]).proto.graph.input;
        cases.push(Case::new(format!("cast {element}"), model.proto.encode_to_vec()));
    }
    compile(&cases);
}
