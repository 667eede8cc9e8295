//! Changes to models: each a small step away from one that compiles.

use std::fs;
use std::path::Path;

use lithify::proto::onnx::*;
use lithify_tests::{case, models};
use prost::Message;

/// Models to change: the example's, those of the hosts, and some of the ONNX suite where it is there.
pub fn models() -> Vec<ModelProto> {
    let mut models = vec![models::shifted().proto, models::sums().proto, models::kept().proto];
    let digits = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/digits/digits.onnx");
    models.push(ModelProto::decode(fs::read(digits).unwrap().as_slice()).unwrap());
    let node = case::folder().join("node");
    let mut cases: Vec<_> = fs::read_dir(node).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    cases.sort();
    for case in cases.iter().step_by(17) {
        if let Some(model) = fs::read(case.join("model.onnx")).ok().and_then(|bytes| ModelProto::decode(&*bytes).ok()) {
            models.push(model);
        }
    }
    models
}

/// A source of choices, decided by a seed.
pub struct Choices(u64);

impl Choices {
    pub fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// A number below `bound`, 0 where that is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 16) as usize).checked_rem(bound).unwrap_or(0)
    }

    fn pick<'a, T>(&mut self, items: &'a mut [T]) -> Option<&'a mut T> {
        let place = self.below(items.len());
        items.get_mut(place)
    }

    fn number(&mut self) -> i64 {
        const NUMBERS: [i64; 14] =
            [0, 1, -1, 2, 3, 5, 17, -7, 1 << 31, 1 << 33, 1 << 62, i64::MAX, i64::MIN, -(1 << 40)];
        NUMBERS[self.below(NUMBERS.len())]
    }
}

/// Changes one thing in a model.
pub fn mutate(model: &mut ModelProto, choices: &mut Choices) {
    let graph = &mut model.graph;
    let names: Vec<String> =
        graph.node.iter().flat_map(|node| node.output.iter().chain(&node.input)).cloned().collect();
    match choices.below(14) {
        0 => change_type(graph, choices),
        1 => {
            let number = choices.number();
            if let Some(tensor) = choices.pick(&mut graph.initializer) {
                if let Some(dim) = choices.pick(&mut tensor.dims) {
                    *dim = number;
                } else {
                    tensor.dims.push(number);
                }
            }
        }
        2 => {
            if let Some(tensor) = choices.pick(&mut graph.initializer) {
                tensor.data_type = Some(choices.below(28) as i32);
            }
        }
        3..=5 => change_attribute(graph, choices),
        6 => {
            let name = names.get(choices.below(names.len())).cloned().unwrap_or_default();
            if let Some(input) = choices.pick(&mut graph.node).and_then(|node| choices.pick(&mut node.input)) {
                *input = name;
            }
        }
        7 => {
            if let Some(node) = choices.pick(&mut graph.node) {
                let place = choices.below(node.input.len() + 1);
                let name = if choices.below(2) == 0 { names.first().cloned() } else { None };
                node.input.insert(place, name.unwrap_or_default());
            }
        }
        8 => {
            if let Some(node) = choices.pick(&mut graph.node) {
                node.input.truncate(choices.below(3));
            }
        }
        9 => {
            let operators: Vec<_> = lithify::ops::operators().collect();
            let operator = operators[choices.below(operators.len())];
            if let Some(node) = choices.pick(&mut graph.node) {
                node.op_type = Some(operator.name.into());
                node.domain = Some(operator.domain.into());
            }
        }
        10 => {
            let place = choices.below(graph.node.len());
            if place < graph.node.len() {
                let node = graph.node.remove(place);
                let to = choices.below(graph.node.len() + 1);
                graph.node.insert(to, node);
            }
        }
        11 => {
            let number = choices.number();
            if let Some(import) = choices.pick(&mut model.opset_import) {
                import.version = Some(if choices.below(2) == 0 { number } else { choices.below(25) as i64 });
            }
        }
        12 => change_data(graph, choices),
        _ => {
            let place = choices.below(graph.node.len());
            if place < graph.node.len() {
                graph.node.remove(place);
            }
        }
    }
}

fn change_type(graph: &mut GraphProto, choices: &mut Choices) {
    let number = choices.number();
    let ports = if choices.below(3) > 0 { &mut graph.input } else { &mut graph.output };
    let Some(port) = choices.pick(ports) else { return };
    let Some(TypeProto { value: Some(TypeValue::Tensor(tensor)), .. }) = &mut port.r#type else { return };
    let kind = choices.below(5);
    if kind == 0 {
        tensor.elem_type = Some(choices.below(28) as i32);
        return;
    }
    let Some(shape) = &mut tensor.shape else { return };
    let value = match kind {
        1 => Some(DimensionValue::Parameter("n".into())),
        2 => None,
        _ => Some(DimensionValue::Value(number)),
    };
    match choices.pick(&mut shape.dim) {
        Some(dim) if choices.below(4) > 0 => dim.value = value,
        Some(_) if choices.below(2) == 0 => drop(shape.dim.pop()),
        _ => shape.dim.push(Dimension { value, denotation: None }),
    }
}

fn change_attribute(graph: &mut GraphProto, choices: &mut Choices) {
    let number = choices.number();
    let Some(node) = choices.pick(&mut graph.node) else { return };
    if node.attribute.is_empty() || choices.below(4) == 0 {
        let names = ["axis", "axes", "perm", "keepdims", "kernel_shape", "strides", "pads", "group", "to", "mode"];
        let name = names[choices.below(names.len())];
        let count = choices.below(5);
        let new =
            if choices.below(2) == 0 { models::int(name, number) } else { models::ints(name, &vec![number; count]) };
        node.attribute.retain(|attribute| attribute.name() != name);
        node.attribute.push(new);
        return;
    }
    let Some(attribute) = choices.pick(&mut node.attribute) else { return };
    match choices.below(6) {
        0 => attribute.r#type = Some(choices.below(15) as i32),
        1 => attribute.ints.push(number),
        2 => drop(attribute.ints.pop()),
        3 => attribute.s = Some(vec![0xff; choices.below(4)].into()),
        4 => attribute.f = Some(f32::NAN),
        _ => {
            attribute.i = attribute.i.map(|_| number);
            if let Some(value) = choices.pick(&mut attribute.ints) {
                *value = number;
            }
        }
    }
}

/// Changes the numbers of a small integer tensor, which may be a shape or indices, or cuts any tensor's data.
fn change_data(graph: &mut GraphProto, choices: &mut Choices) {
    let number = choices.number();
    let Some(tensor) = choices.pick(&mut graph.initializer) else { return };
    if let Some(value) = choices.pick(&mut tensor.int64_data) {
        *value = number;
    }
    let Some(raw) = &mut tensor.raw_data else { return };
    let mut bytes = raw.to_vec();
    if choices.below(3) == 0 {
        bytes.truncate(choices.below(bytes.len() + 1));
    } else if bytes.len() >= 8 {
        let place = choices.below(bytes.len() / 8) * 8;
        bytes[place..place + 8].copy_from_slice(&number.to_le_bytes());
    }
    *raw = bytes.into();
}
