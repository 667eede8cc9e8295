//! If whose graphs have less in common than a type.

use super::{Build, node, scalar_of, with};
use crate::graph::{Attribute, Dim, ElementType, Node, Region, Tensor, ValueId};

fn choice(condition: ValueId, result: ValueId, then: Region, otherwise: Region) -> Node {
    let node = with(node("If", &[Some(condition)], &[result]), "then_branch", Attribute::Region(then));
    with(node, "else_branch", Attribute::Region(otherwise))
}

/// A graph without inputs of one node.
fn graph(build: &mut Build, name: &str, inputs: &[ValueId]) -> Region {
    let mut nodes = Vec::new();
    let output = build.node(&mut nodes, name, inputs);
    Region { inputs: vec![], nodes, outputs: vec![output] }
}

fn run(build: &Build, nodes: &[Node], outputs: &[ValueId], condition: bool) -> Result<Vec<Tensor>, String> {
    let build = Build { model: build.model.clone() };
    let x = Tensor::from_values(&[1, 3], &[1f32, 2.0, 3.0]);
    build.run(nodes.to_vec(), outputs, vec![Tensor::scalar(condition), x])
}

fn condition_and_matrix() -> (Build, ValueId, ValueId) {
    let mut build = Build::default();
    let condition = build.input("condition", ElementType::Bool, &[]);
    let x = build.input("x", ElementType::F32, &[Dim::constant(1), Dim::constant(3)]);
    (build, condition, x)
}

/// As exporters write a squeeze of a dimension that may be 1: rank 1 or 2, and then a sum over all of it.
#[test]
fn graphs_of_different_ranks_take_what_follows_into_them() {
    let (mut build, condition, x) = condition_and_matrix();
    let (then, otherwise) = (graph(&mut build, "Squeeze", &[x]), graph(&mut build, "Identity", &[x]));
    let result = build.value("result");
    let mut nodes = vec![choice(condition, result, then, otherwise)];
    let doubled = build.node(&mut nodes, "Add", &[result, result]);
    let rank = build.node(&mut nodes, "Shape", &[doubled]);
    let rank = build.node(&mut nodes, "Size", &[rank]);
    let sum = build.node(&mut nodes, "ReduceSum", &[doubled]);
    let axes = build.constant(Tensor::from_i64s(&[-1]));
    let flat = build.node(&mut nodes, "Reshape", &[sum, axes]);
    for (condition, wanted) in [(true, 1.0), (false, 2.0)] {
        let outputs = run(&build, &nodes, &[flat, rank], condition).unwrap();
        assert_eq!((scalar_of(&outputs, 0), scalar_of(&outputs, 1)), (vec![12.0], vec![wanted]));
    }
}

#[test]
fn ranks_that_differ_to_the_end_are_refused() {
    let (mut build, condition, x) = condition_and_matrix();
    let (then, otherwise) = (graph(&mut build, "Squeeze", &[x]), graph(&mut build, "Identity", &[x]));
    let result = build.value("result");
    let nodes = vec![choice(condition, result, then, otherwise)];
    let error = run(&build, &nodes, &[result], true).unwrap_err();
    assert!(error.contains("different ranks"), "{error}");
}

/// Two in a row: what follows the second is written four times.
#[test]
fn choices_of_rank_may_follow_one_another() {
    let (mut build, condition, x) = condition_and_matrix();
    let mut nodes = Vec::new();
    let mut value = x;
    for name in ["first", "second"] {
        let axes = build.constant(Tensor::from_i64s(&[0]));
        let (then, otherwise) =
            (graph(&mut build, "Unsqueeze", &[value, axes]), graph(&mut build, "Identity", &[value]));
        value = build.value(name);
        nodes.push(choice(condition, value, then, otherwise));
    }
    let shape = build.node(&mut nodes, "Shape", &[value]);
    let rank = build.node(&mut nodes, "Size", &[shape]);
    for (condition, wanted) in [(true, 4.0), (false, 2.0)] {
        assert_eq!(scalar_of(&run(&build, &nodes, &[rank], condition).unwrap(), 0), [wanted]);
    }
}

#[test]
fn a_graph_that_cannot_run_fails_only_when_it_is_picked() {
    for faulty_is_then in [false, true] {
        let (mut build, condition, x) = condition_and_matrix();
        // A matrix of one row times itself.
        let (faulty, sound) = (graph(&mut build, "MatMul", &[x, x]), graph(&mut build, "Identity", &[x]));
        let result = build.value("result");
        let (then, otherwise) = if faulty_is_then { (faulty, sound) } else { (sound, faulty) };
        let nodes = vec![choice(condition, result, then, otherwise)];
        let error = run(&build, &nodes, &[result], faulty_is_then).unwrap_err();
        assert!(error.contains("cannot run") && error.contains("MatMul"), "{error}");
        assert_eq!(scalar_of(&run(&build, &nodes, &[result], !faulty_is_then).unwrap(), 0), [1.0, 2.0, 3.0]);
    }
}

#[test]
fn graphs_that_cannot_run_both_are_an_error_of_the_model() {
    let (mut build, condition, x) = condition_and_matrix();
    let (then, otherwise) = (graph(&mut build, "MatMul", &[x, x]), graph(&mut build, "MatMul", &[x, x]));
    let result = build.value("result");
    let nodes = vec![choice(condition, result, then, otherwise)];
    assert!(run(&build, &nodes, &[result], true).is_err());
}

#[test]
fn an_operator_that_is_not_supported_is_an_error_wherever_it_stands() {
    let (mut build, condition, x) = condition_and_matrix();
    let (then, otherwise) = (graph(&mut build, "NoSuchOperator", &[x]), graph(&mut build, "Identity", &[x]));
    let result = build.value("result");
    let nodes = vec![choice(condition, result, then, otherwise)];
    let error = run(&build, &nodes, &[result], false).unwrap_err();
    assert!(error.contains("NoSuchOperator"), "{error}");
}

#[test]
fn a_condition_may_be_a_matrix_of_one_element() {
    for wanted in [true, false] {
        let mut build = Build::default();
        let condition = build.input("condition", ElementType::Bool, &[Dim::constant(1), Dim::constant(1)]);
        let x = build.input("x", ElementType::F32, &[Dim::constant(1)]);
        let (then, otherwise) = (graph(&mut build, "Neg", &[x]), graph(&mut build, "Identity", &[x]));
        let result = build.value("result");
        let nodes = vec![choice(condition, result, then, otherwise)];
        let inputs = vec![Tensor::from_values(&[1, 1], &[wanted]), Tensor::from_values(&[1], &[1f32])];
        let outputs = build.run(nodes, &[result], inputs).unwrap();
        assert_eq!(scalar_of(&outputs, 0), [if wanted { -1.0 } else { 1.0 }]);
    }
}
