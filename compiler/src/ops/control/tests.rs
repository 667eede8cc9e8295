//! Control flow through inference, lowering, the verifier and the loops interpreter.

mod branches;

use crate::graph::{Attribute, Dim, ElementType, Model, Node, OperatorName, Region, Tensor, Type, ValueId};
use crate::loops::interpret::{Fuel, interpret_program, no_routines};
use crate::loops::verify::verify_program;

/// A model under construction.
#[derive(Default)]
struct Build {
    model: Model,
}

impl Build {
    fn value(&mut self, name: &str) -> ValueId {
        self.model.add_value(name, Type::Unknown)
    }

    fn input(&mut self, name: &str, element: ElementType, shape: &[Dim]) -> ValueId {
        let id = self.model.add_value(name, Type::tensor(element, shape.to_vec()));
        self.model.graph.inputs.push(id);
        id
    }

    fn constant(&mut self, tensor: Tensor) -> ValueId {
        self.model.add_constant("constant", tensor)
    }

    /// A node with one output.
    fn node(&mut self, nodes: &mut Vec<Node>, name: &str, inputs: &[ValueId]) -> ValueId {
        let output = self.value(name);
        nodes.push(node(name, &inputs.iter().copied().map(Some).collect::<Vec<_>>(), &[output]));
        output
    }

    fn run(mut self, nodes: Vec<Node>, outputs: &[ValueId], inputs: Vec<Tensor>) -> Result<Vec<Tensor>, String> {
        self.model.graph.nodes = nodes;
        self.model.graph.outputs = outputs.to_vec();
        crate::shape::infer(&mut self.model).map_err(|error| error.to_string())?;
        let program = crate::loops::lower(&self.model).map_err(|error| error.to_string())?;
        verify_program(&program)?;
        interpret_program(&program, inputs, &no_routines, &mut Fuel::new(1 << 20)).map_err(|error| error.to_string())
    }
}

fn node(name: &str, inputs: &[Option<ValueId>], outputs: &[ValueId]) -> Node {
    Node {
        name: name.into(),
        operator: OperatorName { domain: String::new(), name: name.into() },
        version: 18,
        inputs: inputs.to_vec(),
        outputs: outputs.iter().copied().map(Some).collect(),
        attributes: Default::default(),
    }
}

fn with(mut node: Node, name: &str, attribute: Attribute) -> Node {
    node.attributes.insert(name.into(), attribute);
    node
}

fn scalar_of(values: &[Tensor], index: usize) -> Vec<f64> {
    let tensor = &values[index];
    tensor.floats().or_else(|| Some(tensor.integers()?.into_iter().map(|value| value as f64).collect())).unwrap()
}

/// `If` over an outer value: doubled, or two of it one after another.
fn branches(build: &mut Build, nodes: &mut Vec<Node>, condition: ValueId, x: ValueId) -> ValueId {
    let (mut then, mut otherwise) = (Vec::new(), Vec::new());
    let doubled = build.node(&mut then, "Add", &[x, x]);
    let output = build.value("both");
    otherwise.push(with(node("Concat", &[Some(x), Some(x)], &[output]), "axis", Attribute::Int(0)));
    let result = build.value("result");
    let choice = with(
        node("If", &[Some(condition)], &[result]),
        "then_branch",
        Attribute::Region(Region { inputs: vec![], nodes: then, outputs: vec![doubled] }),
    );
    let otherwise = Region { inputs: vec![], nodes: otherwise, outputs: vec![output] };
    nodes.push(with(choice, "else_branch", Attribute::Region(otherwise)));
    result
}

#[test]
fn a_condition_of_the_run_decides_values_and_shapes() {
    for (condition, wanted) in [(true, vec![2.0, 4.0]), (false, vec![1.0, 2.0, 1.0, 2.0])] {
        for is_known in [false, true] {
            let mut build = Build::default();
            let x = build.input("x", ElementType::F32, &[Dim::constant(2)]);
            let mut inputs = vec![Tensor::from_values(&[2], &[1f32, 2.0])];
            let flag = if is_known {
                build.constant(Tensor::scalar(condition))
            } else {
                inputs.push(Tensor::scalar(condition));
                build.input("condition", ElementType::Bool, &[])
            };
            let mut nodes = Vec::new();
            let result = branches(&mut build, &mut nodes, flag, x);
            let shape = build.node(&mut nodes, "Shape", &[result]);
            let outputs = build.run(nodes, &[result, shape], inputs).unwrap();
            assert_eq!(scalar_of(&outputs, 0), wanted);
            assert_eq!(scalar_of(&outputs, 1), [wanted.len() as f64]);
        }
    }
}

/// What a loop of the tests takes from the outside.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Bound {
    Constant(i64),
    Input(i64),
    Absent,
}

/// A loop that appends the number of the round to a vector, and stops when ten more reach a limit. Scan outputs: the
/// number, and ten more.
fn appending(bound: Bound, limit: Option<i64>) -> Result<Vec<Tensor>, String> {
    let mut build = Build::default();
    let mut inputs = Vec::new();
    let trip = match bound {
        Bound::Constant(count) => Some(build.constant(Tensor::scalar(count))),
        Bound::Input(count) => {
            inputs.push(Tensor::scalar(count));
            Some(build.input("count", ElementType::I64, &[]))
        }
        Bound::Absent => None,
    };
    let first = build.constant(Tensor::from_i64s(&[7]));
    let (round, condition, vector) = (build.value("round"), build.value("condition"), build.value("vector"));
    let mut body = Vec::new();
    let axes = build.constant(Tensor::from_i64s(&[0]));
    let one = build.node(&mut body, "Unsqueeze", &[round, axes]);
    let longer = build.value("longer");
    body.push(with(node("Concat", &[Some(vector), Some(one)], &[longer]), "axis", Attribute::Int(0)));
    let ten = build.constant(Tensor::scalar(10i64));
    let sum = build.node(&mut body, "Add", &[round, ten]);
    let go_on = match limit {
        None => condition,
        Some(limit) => {
            let limit = build.constant(Tensor::scalar(limit));
            build.node(&mut body, "Less", &[sum, limit])
        }
    };
    let region =
        Region { inputs: vec![round, condition, vector], nodes: body, outputs: vec![go_on, longer, round, sum] };
    let outputs = [build.value("final"), build.value("rounds"), build.value("sums")];
    let looped = node("Loop", &[trip, None, Some(first)], &outputs);
    let nodes = vec![with(looped, "body", Attribute::Region(region))];
    build.run(nodes, &outputs, inputs)
}

#[test]
fn loops_count_and_grow() {
    for bound in [Bound::Constant(4), Bound::Input(4)] {
        let outputs = appending(bound, None).unwrap();
        assert_eq!(scalar_of(&outputs, 0), [7.0, 0.0, 1.0, 2.0, 3.0], "{bound:?}");
        assert_eq!(scalar_of(&outputs, 1), [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(scalar_of(&outputs, 2), [10.0, 11.0, 12.0, 13.0]);
    }
}

#[test]
fn loops_end_by_their_condition() {
    for bound in [Bound::Constant(90), Bound::Input(90), Bound::Absent] {
        let outputs = appending(bound, Some(15)).unwrap();
        assert_eq!(scalar_of(&outputs, 1), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0], "{bound:?}");
        assert_eq!(scalar_of(&outputs, 2).last(), Some(&15.0));
    }
}

#[test]
fn loops_without_rounds_give_what_they_got() {
    for bound in [Bound::Constant(0), Bound::Input(0), Bound::Constant(-3), Bound::Input(i64::MIN)] {
        for limit in [None, Some(15)] {
            let outputs = appending(bound, limit).unwrap();
            assert_eq!(scalar_of(&outputs, 0), [7.0], "{bound:?}");
            assert_eq!(outputs[1].dims, [0]);
        }
    }
}

#[test]
fn loops_without_end_stop_for_lack_of_fuel() {
    assert!(appending(Bound::Absent, None).is_err());
    assert!(appending(Bound::Input(i64::MAX), None).is_err());
}

/// Two carried values that change places in every round.
#[test]
fn carried_values_may_change_places() {
    let mut build = Build::default();
    let count = build.input("count", ElementType::I64, &[]);
    let (a, b) = (build.constant(Tensor::from_i64s(&[1])), build.constant(Tensor::from_i64s(&[2])));
    let (round, condition) = (build.value("round"), build.value("condition"));
    let (first, second) = (build.value("first"), build.value("second"));
    let region = Region {
        inputs: vec![round, condition, first, second],
        nodes: vec![],
        outputs: vec![condition, second, first],
    };
    let outputs = [build.value("x"), build.value("y")];
    let looped = node("Loop", &[Some(count), None, Some(a), Some(b)], &outputs);
    let nodes = vec![with(looped, "body", Attribute::Region(region))];
    let outputs = build.run(nodes, &outputs, vec![Tensor::scalar(3i64)]).unwrap();
    assert_eq!((scalar_of(&outputs, 0), scalar_of(&outputs, 1)), (vec![2.0], vec![1.0]));
}

/// A branch in a loop in a branch.
#[test]
fn control_flow_nests() {
    let mut build = Build::default();
    let outer = build.input("outer", ElementType::Bool, &[]);
    let count = build.input("count", ElementType::I64, &[]);
    let x = build.input("x", ElementType::F32, &[Dim::constant(1)]);
    let (round, condition, carried) = (build.value("round"), build.value("condition"), build.value("carried"));
    let mut body = Vec::new();
    let two = build.constant(Tensor::scalar(2i64));
    let is_early = build.node(&mut body, "Less", &[round, two]);
    let next = branches(&mut build, &mut body, is_early, carried);
    let region = Region { inputs: vec![round, condition, carried], nodes: body, outputs: vec![condition, next] };
    let looped = build.value("looped");
    let then = vec![with(node("Loop", &[Some(count), None, Some(x)], &[looped]), "body", Attribute::Region(region))];
    let mut otherwise = Vec::new();
    let same = build.node(&mut otherwise, "Identity", &[x]);
    let result = build.value("result");
    let choice = with(
        node("If", &[Some(outer)], &[result]),
        "then_branch",
        Attribute::Region(Region { inputs: vec![], nodes: then, outputs: vec![looped] }),
    );
    let otherwise = Region { inputs: vec![], nodes: otherwise, outputs: vec![same] };
    let nodes = vec![with(choice, "else_branch", Attribute::Region(otherwise))];
    let run = |outer: bool| {
        let build = Build { model: build.model.clone() };
        let x = Tensor::from_values(&[1], &[1f32]);
        build.run(nodes.clone(), &[result], vec![Tensor::scalar(outer), Tensor::scalar(4i64), x])
    };
    assert_eq!(scalar_of(&run(true).unwrap(), 0), [4.0; 4]);
    assert_eq!(scalar_of(&run(false).unwrap(), 0), [1.0]);
}

/// Running sums over slices of the second axis, from the back, stacked from the back.
#[test]
fn scans_walk_any_axis_in_both_directions() {
    let mut build = Build::default();
    let length = Dim::symbol(build.model.symbols.fresh("length"));
    let sequence = build.input("sequence", ElementType::F32, &[Dim::constant(2), length]);
    let zero = build.constant(Tensor::from_values(&[2], &[0f32, 0.0]));
    let (state, slice) = (build.value("state"), build.value("slice"));
    let mut body = Vec::new();
    let sum = build.node(&mut body, "Add", &[state, slice]);
    let region = Region { inputs: vec![state, slice], nodes: body, outputs: vec![sum, sum] };
    let outputs = [build.value("last"), build.value("sums")];
    let mut scan = with(node("Scan", &[Some(zero), Some(sequence)], &outputs), "body", Attribute::Region(region));
    for name in ["scan_input_axes", "scan_input_directions", "scan_output_axes", "scan_output_directions"] {
        scan = with(scan, name, Attribute::Ints(vec![1]));
    }
    scan = with(scan, "num_scan_inputs", Attribute::Int(1));
    let values = Tensor::from_values(&[2, 3], &[1f32, 2.0, 3.0, 10.0, 20.0, 30.0]);
    let outputs = build.run(vec![scan], &outputs, vec![values]).unwrap();
    assert_eq!(scalar_of(&outputs, 0), [6.0, 60.0]);
    assert_eq!(scalar_of(&outputs, 1), [6.0, 5.0, 3.0, 60.0, 50.0, 30.0]);
}
