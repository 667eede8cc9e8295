//! Random networks of convolutions over small whole numbers, whose sums are exact in any order.

use crate::graph::{Attribute, Dim, ElementType, Model, Node, OperatorName, Tensor, Type, ValueId};
use crate::loops::generate::Random;
use crate::loops::interpret::{Fuel, interpret_program, no_routines};
use crate::loops::{self, Action, Program};

/// A model under construction, with the shapes of its values.
pub struct Network {
    /// The model.
    pub model: Model,
    /// Decides what is added.
    pub random: Random,
    /// The inputs and results, in order.
    pub values: Vec<(ValueId, [i64; 4])>,
}

impl Network {
    /// A network of nothing but an input.
    pub fn new(seed: u64, input: [i64; 4]) -> Self {
        let (mut model, random) = (Model::default(), Random::new(seed));
        let shape = input.iter().map(|&dim| Dim::constant(dim)).collect();
        let id = model.add_value("input", Type::tensor(ElementType::F32, shape));
        model.graph.inputs.push(id);
        Self { model, random, values: vec![(id, input)] }
    }

    /// A constant of -1, 0 and 1.
    pub fn constant(&mut self, dims: &[i64]) -> ValueId {
        let count = dims.iter().product::<i64>() as usize;
        let values: Vec<f32> = (0..count).map(|_| self.random.below(3) as f32 - 1.0).collect();
        let name = format!("constant{}", self.model.values.len());
        self.model.add_constant(name, Tensor::from_values(dims, &values))
    }

    fn integers(&mut self, values: &[i64]) -> ValueId {
        let name = format!("constant{}", self.model.values.len());
        self.model.add_constant(name, Tensor::from_values(&[values.len() as i64], values))
    }

    /// Adds a node with one output.
    pub fn node(&mut self, name: &str, inputs: &[ValueId], shape: [i64; 4], attributes: &[(&str, Attribute)]) {
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

    /// Adds a convolution of some value.
    pub fn conv(&mut self) {
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

    /// Adds a node that is not a convolution.
    pub fn other(&mut self) {
        let (x, shape) = self.pick();
        let [n, c, h, w] = shape;
        match self.random.below(11) {
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
            5 => self.node("Transpose", &[x], [n, c, w, h], &[("perm", Attribute::Ints(vec![0, 1, 3, 2]))]),
            6 if c > 1 => {
                let (starts, ends, axes) = (self.integers(&[1]), self.integers(&[i64::MAX]), self.integers(&[1]));
                self.node("Slice", &[x, starts, ends, axes], [n, c - 1, h, w], &[]);
            }
            7 if h == w => {
                let (y, other) = self.pick();
                if other == shape {
                    self.node("MatMul", &[x, y], shape, &[]);
                }
            }
            8 => {
                let pads = self.integers(&[0, 0, 1, 0, 0, 0, 0, 1]);
                self.node("Pad", &[x, pads], [n, c, h + 1, w + 1], &[]);
            }
            9 => self.node("Neg", &[x], shape, &[]),
            _ => self.node("ReduceMax", &[x], [n, c, 1, 1], &[("axes", Attribute::Ints(vec![2, 3]))]),
        }
    }

    /// The program, and an input for it. The outputs are the last value and another.
    pub fn lower(mut self) -> (Program, Tensor) {
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

/// The outputs.
pub fn run(program: &Program, input: &Tensor) -> Vec<Vec<f32>> {
    let outputs = interpret_program(program, vec![input.clone()], &no_routines, &mut Fuel::unlimited()).unwrap();
    let values = |tensor: &Tensor| {
        let bytes = tensor.bytes().unwrap();
        bytes.chunks_exact(4).map(|chunk| f32::from_le_bytes(chunk.try_into().unwrap())).collect()
    };
    outputs.iter().map(values).collect()
}

/// The names of the kernels launched, in order.
pub fn kernels(program: &Program) -> impl Iterator<Item = &str> {
    program.steps.iter().filter_map(|step| match &step.action {
        Action::Launch { kernel, .. } => Some(kernel.name.as_str()),
        _ => None,
    })
}
