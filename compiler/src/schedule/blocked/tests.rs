//! Networks of convolutions before and after the pass, over numbers whose sums are exact in any order.

use proptest::prelude::*;

use crate::graph::{Attribute, Dim, ElementType, Model, Node, OperatorName, Tensor, Type, ValueId};
use crate::loops::generate::Random;
use crate::loops::interpret::{Fuel, interpret_program, no_routines};
use crate::loops::{self, Action, Program};
use crate::schedule::{Tiling, block_channels, relayout};

/// A model under construction, with the shapes of its values.
struct Network {
    model: Model,
    random: Random,
    values: Vec<(ValueId, [i64; 4])>,
}

impl Network {
    fn new(seed: u64, input: [i64; 4]) -> Self {
        let (mut model, random) = (Model::default(), Random::new(seed));
        let shape = input.iter().map(|&dim| Dim::constant(dim)).collect();
        let id = model.add_value("input", Type::tensor(ElementType::F32, shape));
        model.graph.inputs.push(id);
        Self { model, random, values: vec![(id, input)] }
    }

    fn constant(&mut self, dims: &[i64]) -> ValueId {
        let count = dims.iter().product::<i64>() as usize;
        let values: Vec<f32> = (0..count).map(|_| self.random.below(3) as f32 - 1.0).collect();
        let name = format!("constant{}", self.model.values.len());
        self.model.add_constant(name, Tensor::from_values(dims, &values))
    }

    fn node(&mut self, name: &str, inputs: &[ValueId], shape: [i64; 4], attributes: &[(&str, Attribute)]) {
        let output = self.model.add_value(format!("value{}", self.model.values.len()), Type::Unknown);
        self.model.graph.nodes.push(Node {
            name: format!("{name}{}", self.values.len()),
            operator: OperatorName { domain: String::new(), name: name.into() },
            version: 14,
            inputs: inputs.iter().map(|&id| Some(id)).collect(),
            outputs: vec![Some(output)],
            attributes: attributes.iter().map(|(name, value)| ((*name).into(), value.clone())).collect(),
        });
        self.values.push((output, shape));
    }

    fn conv(&mut self) {
        let (x, [n, c, h, w]) = self.pick();
        let (out, group) = match self.random.below(4) {
            0 => (c, c),
            1 if c % 2 == 0 => (self.random.pick(&[8, 16, 32]), 2),
            _ => (self.random.pick(&[3, 4, 8, 16, 32]), 1),
        };
        let size = self.random.pick(&[1, 1, 3]);
        let (stride, pad) = (self.random.pick(&[1, 1, 2]), self.random.below(2) as i64 * (size / 2));
        let extent = |dim: i64| (dim + 2 * pad - size) / stride + 1;
        if h + 2 * pad < size || w + 2 * pad < size {
            return;
        }
        let weights = self.constant(&[out, c / group, size, size]);
        let mut inputs = vec![x, weights];
        if self.random.below(2) == 0 {
            inputs.push(self.constant(&[out]));
        }
        let attributes = [
            ("group", Attribute::Int(group)),
            ("strides", Attribute::Ints(vec![stride; 2])),
            ("pads", Attribute::Ints(vec![pad; 4])),
        ];
        self.node("Conv", &inputs, [n, out, extent(h), extent(w)], &attributes);
    }

    fn pick(&mut self) -> (ValueId, [i64; 4]) {
        // Recent values more often than old ones.
        let back = self.random.below(3).min(self.values.len() - 1);
        self.values[self.values.len() - 1 - back]
    }

    fn other(&mut self) {
        let (x, shape) = self.pick();
        let [n, c, h, w] = shape;
        match self.random.below(6) {
            0 => self.node("Relu", &[x], shape, &[]),
            1 => {
                let scale = self.constant(&[c, 1, 1]);
                self.node("Mul", &[x, scale], shape, &[]);
            }
            2 => {
                let (y, other) = self.pick();
                if other == shape {
                    self.node("Add", &[x, y], shape, &[]);
                }
            }
            3 => {
                let (y, other) = self.pick();
                if [other[0], other[2], other[3]] == [n, h, w] && c + other[1] <= 64 {
                    let axis = [("axis", Attribute::Int(1))];
                    self.node("Concat", &[x, y], [n, c + other[1], h, w], &axis);
                }
            }
            4 if h > 1 && w > 1 => {
                let kernel = [("kernel_shape", Attribute::Ints(vec![2, 2]))];
                self.node("MaxPool", &[x], [n, c, h - 1, w - 1], &kernel);
            }
            _ => self.node("ReduceMax", &[x], [n, c, 1, 1], &[("axes", Attribute::Ints(vec![2, 3]))]),
        }
    }

    fn lower(mut self) -> (Program, Tensor) {
        let (id, _) = self.pick();
        self.model.graph.outputs.push(id);
        let (last, _) = self.values[self.values.len() - 1];
        if last != id {
            self.model.graph.outputs.push(last);
        }
        let dims = self.values[0].1;
        let count = dims.iter().product::<i64>() as usize;
        let input: Vec<f32> = (0..count).map(|_| self.random.below(5) as f32 - 2.0).collect();
        crate::shape::infer(&mut self.model).unwrap();
        (loops::lower(&self.model).unwrap(), Tensor::from_values(&dims, &input))
    }
}

fn run(program: &Program, input: &Tensor) -> Vec<Vec<f32>> {
    let outputs = interpret_program(program, vec![input.clone()], &no_routines, &mut Fuel::unlimited()).unwrap();
    let values = |tensor: &Tensor| {
        let bytes = tensor.bytes().unwrap();
        bytes.chunks_exact(4).map(|chunk| f32::from_le_bytes(chunk.try_into().unwrap())).collect()
    };
    outputs.iter().map(values).collect()
}

fn kernels(program: &Program) -> impl Iterator<Item = &str> {
    program.steps.iter().filter_map(|step| match &step.action {
        Action::Launch { kernel, .. } => Some(kernel.name.as_str()),
        _ => None,
    })
}

#[test]
fn what_follows_a_convolution_by_channel_stays_in_blocks() {
    let mut network = Network::new(1, [1, 8, 6, 6]);
    let weights = network.constant(&[8, 8, 3, 3]);
    let depthwise = network.constant(&[8, 1, 1, 1]);
    let input = network.values[0].0;
    network.node("Conv", &[input, weights], [1, 8, 4, 4], &[]);
    let id = network.values[1].0;
    network.node("Relu", &[id], [1, 8, 4, 4], &[]);
    let id = network.values[2].0;
    network.node("Conv", &[id, depthwise], [1, 8, 4, 4], &[("group", Attribute::Int(8))]);
    let id = network.values[3].0;
    network.node("Concat", &[id, id], [1, 16, 4, 4], &[("axis", Attribute::Int(1))]);
    let id = network.values[4].0;
    network.node("Relu", &[id], [1, 16, 4, 4], &[]);
    let id = network.values[5].0;
    network.model.graph.outputs.push(id);
    crate::shape::infer(&mut network.model).unwrap();
    let mut program = loops::lower(&network.model).unwrap();
    block_channels(&mut program, Tiling::of(8));
    let names: Vec<&str> = kernels(&program).collect();
    // The input and the first weights are brought into blocks; the others lie there in the right order.
    assert_eq!(names, ["block", "block", "Conv", "Relu", "Conv", "Concat", "Concat", "Relu", "unblock"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn blocked_networks_give_the_same_numbers(
        seed: u64,
        batch in 1i64..3,
        channels in 0usize..5,
        size in (1i64..7, 1i64..7),
        lanes in 0usize..3,
        steps in 2usize..9,
    ) {
        let mut network = Network::new(seed, [batch, [3, 4, 8, 12, 16][channels], size.0, size.1]);
        network.conv();
        for _ in 0..steps {
            if network.random.below(2) == 0 { network.conv() } else { network.other() }
        }
        let (mut program, input) = network.lower();
        let wanted = run(&program, &input);
        let tiling = Tiling::of([4, 8, 16][lanes]);
        block_channels(&mut program, tiling);
        loops::verify::verify_program(&program).unwrap();
        prop_assert_eq!(&run(&program, &input), &wanted, "in blocks");
        loops::collapse_all(&mut program);
        relayout(&mut program, tiling);
        loops::verify::verify_program(&program).unwrap();
        prop_assert_eq!(&run(&program, &input), &wanted, "laid out for tiles");
    }
}
