//! Every operator with inputs and attributes that it does not expect.

use lithify::ops::operators;
use lithify::proto::element::{BOOL, DOUBLE, FLOAT, INT64, STRING};
use lithify::proto::onnx::{AttributeProto, AttributeType, OperatorSetIdProto};
use lithify_tests::models::{ModelBuilder, attribute, floats, int, integers, ints};

use super::child::{Case, compile};

/// A shape that inputs have, and its name.
const SHAPES: &[(&str, &[&str])] = &[
    ("scalar", &[]),
    ("vector", &["3"]),
    ("matrix", &["3", "4"]),
    ("image", &["1", "4", "5", "5"]),
    ("empty", &["0", "4"]),
    ("named", &["n", "m", "n"]),
    ("huge", &["4611686018427387904", "4611686018427387904"]),
    ("deep", &["1", "2", "1", "2", "1", "2", "1", "2", "1", "2"]),
];

/// Attribute names that operators know.
const ATTRIBUTES: &[&str] = &[
    "axis",
    "axes",
    "to",
    "perm",
    "kernel_shape",
    "strides",
    "pads",
    "dilations",
    "group",
    "keepdims",
    "mode",
    "alpha",
    "beta",
    "epsilon",
    "blocksize",
    "num_outputs",
    "k",
    "dtype",
    "value",
    "exclusive",
    "reverse",
    "batch_axis",
    "time_axis",
    "batch_dims",
    "reduction",
    "select_last_index",
    "upper",
    "detect_positive",
    "num_groups",
    "auto_pad",
    "ceil_mode",
    "count_include_pad",
    "storage_order",
    "output_shape",
    "output_padding",
    "p",
    "bias",
    "size",
    "lambd",
    "fmod",
    "allowzero",
    "direction",
    "approximate",
    "equation",
    "transA",
    "transB",
    "body",
    "then_branch",
    "else_branch",
    "hidden_size",
    "num_heads",
    "shape",
    "starts",
    "ends",
    "split",
    "noop_with_empty_axes",
    "stash_type",
    "layout",
    "block_size",
    "saturate",
    "largest",
    "sorted",
    "min",
    "max",
    "start",
    "end",
    "is_causal",
];

const VALUES: &[i64] = &[i64::MIN, -1_000_000_007, -1, 0, 1, 2, 1 << 40, i64::MAX];

fn node(
    domain: &'static str,
    version: i64,
    operator: &str,
    inputs: &[&str],
    outputs: usize,
    attributes: Vec<AttributeProto>,
) -> ModelBuilder {
    let names: Vec<String> = (0..outputs).map(|index| format!("y{index}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut model = ModelBuilder::new().node_with(operator, inputs, &names, attributes);
    for name in names {
        model
            .proto
            .graph
            .output
            .push(lithify::proto::onnx::ValueInfoProto { name: Some(name.into()), ..Default::default() });
    }
    model.proto.graph.node[0].domain = Some(domain.into());
    let domain = Some(domain.into());
    model.proto.opset_import = vec![OperatorSetIdProto { domain, version: Some(version) }];
    model
}

/// The newest operator set that has the operator.
fn version(operator: &lithify::ops::Operator) -> i64 {
    operator.until.saturating_sub(1).clamp(operator.since, operator.since.max(24))
}

/// Runs a model for each operator; each failure must name node and operator.
fn check(label: &str, models: impl Fn(&lithify::ops::Operator) -> Vec<(String, ModelBuilder)>) {
    let mut cases = Vec::new();
    for operator in operators() {
        for (variant, model) in models(operator) {
            let place = format!("{}::{}-{}", operator.domain, operator.name, operator.since);
            cases.push(Case::new(format!("{label} {place} {variant} {}", cases.len()), model.bytes()));
        }
    }
    let unnamed: Vec<String> = compile(&cases)
        .into_iter()
        .filter_map(|(name, message)| message.map(|message| (name, message)))
        .filter(|(name, message)| {
            let operator = name.split("::").nth(1).and_then(|rest| rest.split('-').next()).unwrap_or_default();
            // Inputs, outputs and the memory of the whole are nobody's fault alone.
            let about_ports = message.contains("`y") || message.contains("input") || message.starts_with("memory:");
            !(message.contains(operator) && message.contains("node0")) && !about_ports
        })
        .map(|(name, message)| format!("{name}: {message}"))
        .collect();
    assert!(unnamed.is_empty(), "messages that name no operator:\n{}", unnamed.join("\n"));
}

#[test]
fn numbers_of_inputs_and_outputs() {
    check("arity", |operator| {
        let version = version(operator);
        let mut models = Vec::new();
        for count in [0usize, 1, 2, 3, 4, 6, 40] {
            let names: Vec<String> = (0..count).map(|index| format!("x{index}")).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            for outputs in [0, 1, 3, 20] {
                let mut model = node(operator.domain, version, operator.name, &names, outputs, Vec::new());
                for name in &names {
                    model = model.input(name, FLOAT, &["2", "3"]);
                }
                models.push((format!("{count} inputs, {outputs} outputs"), model));
            }
        }
        let absent = node(operator.domain, version, operator.name, &["", "", "x", ""], 1, Vec::new());
        models.push(("absent".to_owned(), absent.input("x", FLOAT, &["2", "3"])));
        models
    });
}

#[test]
fn shapes_and_types() {
    check("shape", |operator| {
        let version = version(operator);
        let mut models = Vec::new();
        for (name, dims) in SHAPES {
            for element in [FLOAT, INT64, BOOL, DOUBLE, STRING] {
                let inputs: &[&str] = if element == FLOAT { &["x", "z", "z"] } else { &["x", "z"] };
                for constant in [false, true] {
                    let mut model = node(operator.domain, version, operator.name, inputs, 1, Vec::new());
                    model = model.input("x", element, dims);
                    model = if constant {
                        model.constant(integers("z", &[2], &[i64::MAX, -1]))
                    } else {
                        model.input("z", element, dims)
                    };
                    models.push((format!("{name} {element} {constant}"), model));
                }
            }
        }
        models
    });
}

#[test]
fn values_of_attributes() {
    check("attribute", |operator| {
        let version = version(operator);
        let with = |variant: String, attributes: Vec<AttributeProto>| {
            let model = node(operator.domain, version, operator.name, &["x", "w"], 1, attributes);
            let model = model.input("x", FLOAT, &["1", "4", "n", "5"]);
            (variant, model.constant(floats("w", &[4, 4, 1, 1], &[0.5; 16])))
        };
        let mut models = Vec::new();
        for &value in VALUES {
            let all = ATTRIBUTES.iter().map(|name| int(name, value)).collect();
            models.push(with(format!("all {value}"), all));
            for count in [0usize, 1, 2, 4, 9] {
                let all = ATTRIBUTES.iter().map(|name| ints(name, &vec![value; count])).collect();
                models.push(with(format!("all {count} times {value}"), all));
            }
        }
        for (kind, value) in [
            (AttributeType::String, AttributeProto { s: Some(vec![0xff, 0].into()), ..Default::default() }),
            (AttributeType::Float, AttributeProto { f: Some(f32::NAN), ..Default::default() }),
            (AttributeType::Floats, AttributeProto { floats: vec![f32::INFINITY; 3], ..Default::default() }),
            (
                AttributeType::Tensor,
                AttributeProto { t: Some(Box::new(integers("", &[1], &[-1]))), ..Default::default() },
            ),
            (AttributeType::Graph, AttributeProto { g: Some(Default::default()), ..Default::default() }),
        ] {
            let all = ATTRIBUTES.iter().map(|name| attribute(name, kind, value.clone())).collect();
            models.push(with(format!("all {kind:?}"), all));
        }
        models
    });
}

#[test]
fn one_wrong_attribute() {
    let known = ["axis", "axes", "perm", "kernel_shape", "strides", "pads", "dilations", "group", "blocksize", "to"];
    check("one attribute", |operator| {
        let version = version(operator);
        let mut models = Vec::new();
        for name in known {
            for &value in VALUES {
                for single in [true, false] {
                    let mut attributes = vec![if single { int(name, value) } else { ints(name, &[value; 2]) }];
                    if name != "kernel_shape" {
                        attributes.push(ints("kernel_shape", &[2, 2]));
                    }
                    let model = node(operator.domain, version, operator.name, &["x", "w"], 1, attributes);
                    let model = model.input("x", FLOAT, &["1", "4", "6", "5"]);
                    let model = model.constant(floats("w", &[4, 4, 2, 2], &[0.5; 64]));
                    models.push((format!("{name} {value} {single}"), model));
                }
            }
        }
        models
    });
}
