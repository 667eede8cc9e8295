//! Runs one operator through inference, lowering and the loops interpreter, for unit tests.

use crate::graph::{Attribute, Dim, Model, Node, OperatorName, Tensor, Type};
use crate::loops::interpret::{Fuel, interpret_program, no_routines};

/// How much of the inputs is known at compile time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Knowledge {
    /// The contents of all inputs.
    All,
    /// The shape of the first input and the contents of the others.
    Arguments,
    /// All shapes.
    Shapes,
    /// The ranks, and the lengths of vectors.
    Ranks,
}

/// Every degree of knowledge.
pub const DEGREES: [Knowledge; 4] = [Knowledge::All, Knowledge::Arguments, Knowledge::Shapes, Knowledge::Ranks];

/// An operator with attributes, in some operator set.
#[derive(Clone, Debug)]
pub struct Case {
    node: Node,
    inputs: Vec<Tensor>,
}

impl Case {
    /// A node of the default domain with as many outputs as stated.
    pub fn new(name: &str, version: i64, inputs: &[Tensor], outputs: usize) -> Self {
        let node = Node {
            name: name.into(),
            operator: OperatorName { domain: String::new(), name: name.into() },
            version,
            inputs: Vec::new(),
            outputs: vec![None; outputs],
            attributes: Default::default(),
        };
        Self { node, inputs: inputs.to_vec() }
    }

    /// Adds an INT attribute.
    pub fn int(mut self, name: &str, value: i64) -> Self {
        self.node.attributes.insert(name.into(), Attribute::Int(value));
        self
    }

    /// Adds an INTS attribute.
    pub fn ints(mut self, name: &str, values: &[i64]) -> Self {
        self.node.attributes.insert(name.into(), Attribute::Ints(values.to_vec()));
        self
    }

    /// Adds a STRING attribute.
    pub fn text(mut self, name: &str, value: &str) -> Self {
        self.node.attributes.insert(name.into(), Attribute::String(value.into()));
        self
    }

    /// The outputs.
    ///
    /// # Errors
    /// The message of inference, lowering, the verifier, or the run.
    pub fn run(&self, knowledge: Knowledge) -> Result<Vec<Tensor>, String> {
        let (mut model, mut node, mut passed) = (Model::default(), self.node.clone(), Vec::new());
        for (position, tensor) in self.inputs.iter().enumerate() {
            let name = format!("input{position}");
            let is_constant = match knowledge {
                Knowledge::All => true,
                Knowledge::Arguments => position > 0,
                Knowledge::Shapes | Knowledge::Ranks => false,
            };
            if is_constant {
                node.inputs.push(Some(model.add_constant(name, tensor.clone())));
                continue;
            }
            let is_symbolic = knowledge == Knowledge::Ranks && (position == 0 || tensor.dims.len() > 1);
            let shape = tensor.dims.iter().map(|&dim| match is_symbolic {
                true => Dim::symbol(model.symbols.fresh("dim")),
                false => Dim::constant(dim),
            });
            let ty = Type::tensor(tensor.element, shape.collect());
            let id = model.add_value(name, ty);
            model.graph.inputs.push(id);
            node.inputs.push(Some(id));
            passed.push(tensor.clone());
        }
        for (position, output) in node.outputs.iter_mut().enumerate() {
            let id = model.add_value(format!("output{position}"), Type::Unknown);
            model.graph.outputs.push(id);
            *output = Some(id);
        }
        model.graph.nodes.push(node);
        crate::shape::infer(&mut model).map_err(|error| error.to_string())?;
        let program = crate::loops::lower(&model).map_err(|error| error.to_string())?;
        interpret_program(&program, passed, &no_routines, &mut Fuel::new(1 << 20)).map_err(|error| error.to_string())
    }

    /// Checks the outputs at every degree of knowledge.
    #[track_caller]
    pub fn gives(&self, wanted: &[Tensor]) {
        self.gives_with(&DEGREES, wanted);
    }

    /// Checks the outputs at some degrees of knowledge.
    #[track_caller]
    pub fn gives_with(&self, degrees: &[Knowledge], wanted: &[Tensor]) {
        for &knowledge in degrees {
            let got = self.run(knowledge).unwrap_or_else(|error| panic!("knowing {knowledge:?}: {error}"));
            let shown = |tensors: &[Tensor]| -> Vec<_> {
                tensors.iter().map(|tensor| (tensor.element, tensor.dims.clone(), tensor.bytes())).collect()
            };
            assert_eq!(shown(&got), shown(wanted), "knowing {knowledge:?}");
        }
    }

    /// Checks that the node fails at every degree of knowledge, be it before the run or in it.
    #[track_caller]
    pub fn fails(&self) {
        for knowledge in DEGREES {
            assert!(self.run(knowledge).is_err(), "knowing {knowledge:?}");
        }
    }
}
