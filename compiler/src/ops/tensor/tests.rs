//! The forms of the operators that the ONNX suite does not have: old operator sets, and arguments, shapes or nothing
//! known at compile time.

use crate::graph::{Attribute, Dim, ElementType, Model, Node, OperatorName, Tensor, Type, ValueId};
use crate::ops::testing::{Case, Knowledge};

fn count(dims: &[i64]) -> Tensor {
    let values: Vec<i64> = (0..dims.iter().product()).collect();
    Tensor::from_values(dims, &values)
}

fn ints(values: &[i64]) -> Tensor {
    Tensor::from_i64s(values)
}

fn matrix(rows: i64, values: &[i64]) -> Tensor {
    Tensor::from_values(&[rows, values.len() as i64 / rows], values)
}

fn scalar(value: i64) -> Tensor {
    Tensor::scalar(value)
}

#[test]
fn reshape_resolves_zero_and_minus_one() {
    let data = count(&[2, 3, 4]);
    Case::new("Reshape", 13, &[data.clone(), ints(&[0, -1])], 1).gives(&[count(&[2, 12])]);
    Case::new("Reshape", 13, &[data.clone(), ints(&[-1])], 1).gives(&[count(&[24])]);
    Case::new("Reshape", 13, &[data.clone(), ints(&[4, 0, 2])], 1).gives(&[count(&[4, 3, 2])]);
    Case::new("Reshape", 1, std::slice::from_ref(&data), 1).ints("shape", &[6, -1]).gives(&[count(&[6, 4])]);
    Case::new("Reshape", 14, &[count(&[0, 5]), ints(&[3, 0])], 1).int("allowzero", 1).gives(&[count(&[3, 0])]);
    Case::new("Reshape", 13, &[data.clone(), ints(&[5, -1])], 1).fails();
    Case::new("Reshape", 13, &[data.clone(), ints(&[-1, -1])], 1).fails();
    Case::new("Reshape", 13, &[data, ints(&[2, 3])], 1).fails();
}

#[test]
fn squeeze_and_unsqueeze_take_axes_from_either_place() {
    Case::new("Squeeze", 13, &[count(&[1, 3, 1]), ints(&[-1])], 1).gives(&[count(&[1, 3])]);
    Case::new("Squeeze", 13, &[count(&[1, 3, 1]), ints(&[0, 2])], 1).gives(&[count(&[3])]);
    Case::new("Squeeze", 1, &[count(&[1, 3, 1])], 1).ints("axes", &[0]).gives(&[count(&[3, 1])]);
    Case::new("Squeeze", 13, &[count(&[1, 3, 1]), ints(&[1])], 1).fails();
    let known = [Knowledge::All, Knowledge::Arguments, Knowledge::Shapes];
    Case::new("Squeeze", 13, &[count(&[1, 3, 1])], 1).gives_with(&known, &[count(&[3])]);
    Case::new("Unsqueeze", 13, &[count(&[3, 4]), ints(&[3, 0])], 1).gives(&[count(&[1, 3, 4, 1])]);
    Case::new("Unsqueeze", 11, &[count(&[3, 4])], 1).ints("axes", &[-2]).gives(&[count(&[3, 1, 4])]);
    Case::new("Unsqueeze", 13, &[scalar(0), ints(&[0])], 1).gives(&[count(&[1])]);
    Case::new("Unsqueeze", 13, &[count(&[3]), ints(&[1, 1])], 1).fails();
    Case::new("Unsqueeze", 13, &[count(&[3]), ints(&[2])], 1).fails();
}

#[test]
fn slices_follow_numpy() {
    let data = count(&[4, 6]);
    let slice = |starts: &[i64], ends: &[i64], axes: &[i64], steps: &[i64]| {
        Case::new("Slice", 13, &[data.clone(), ints(starts), ints(ends), ints(axes), ints(steps)], 1)
    };
    slice(&[1], &[3], &[0], &[1]).gives(&[matrix(2, &[6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17])]);
    slice(&[-2], &[i64::MAX], &[-1], &[1]).gives(&[matrix(4, &[4, 5, 10, 11, 16, 17, 22, 23])]);
    slice(&[3, -1], &[0, -100], &[0, 1], &[-2, -3]).gives(&[matrix(2, &[23, 20, 11, 8])]);
    slice(&[0], &[-1], &[1], &[4]).gives(&[matrix(4, &[0, 4, 6, 10, 12, 16, 18, 22])]);
    slice(&[3], &[1], &[0], &[1]).gives(&[count(&[0, 6])]);
    slice(&[0], &[1], &[0], &[0]).fails();
    slice(&[0], &[1], &[2], &[1]).fails();
    let old = Case::new("Slice", 1, std::slice::from_ref(&data), 1).ints("starts", &[1]).ints("ends", &[1000]);
    old.clone().gives(&[matrix(3, &(6..24).collect::<Vec<_>>())]);
    old.ints("axes", &[1]).ints("starts", &[5]).gives(&[matrix(4, &[5, 11, 17, 23])]);
}

#[test]
fn pads_lengthen_and_shorten() {
    let data = count(&[3]);
    let pad = |mode: &str, pads: &[i64]| Case::new("Pad", 13, &[data.clone(), ints(pads)], 1).text("mode", mode);
    pad("constant", &[1, 2]).gives(&[ints(&[0, 0, 1, 2, 0, 0])]);
    pad("constant", &[-1, 1]).gives(&[ints(&[1, 2, 0])]);
    pad("reflect", &[2, 2]).gives(&[ints(&[2, 1, 0, 1, 2, 1, 0])]);
    pad("edge", &[2, 1]).gives(&[ints(&[0, 0, 0, 1, 2, 2])]);
    pad("wrap", &[2, 4]).gives(&[ints(&[1, 2, 0, 1, 2, 0, 1, 2, 0])]);
    pad("constant", &[-2, -2]).fails();
    let old = Case::new("Pad", 2, &[count(&[1, 2])], 1).ints("pads", &[0, 1, 1, 0]);
    old.gives(&[matrix(2, &[0, 0, 1, 0, 0, 0])]);
    let axes = Case::new("Pad", 18, &[count(&[2, 2]), ints(&[1, 0]), scalar(9), ints(&[-1])], 1);
    axes.gives(&[matrix(2, &[9, 0, 1, 9, 2, 3])]);
}

#[test]
fn splits_are_equal_unless_told() {
    let (left, right) = (matrix(2, &[0, 1, 4, 5]), matrix(2, &[2, 3, 6, 7]));
    Case::new("Split", 2, &[count(&[2, 4])], 2).int("axis", 1).gives(&[left.clone(), right.clone()]);
    Case::new("Split", 13, &[count(&[2, 4])], 2).int("axis", -1).gives(&[left, right]);
    let parts = [ints(&[0]), ints(&[1, 2])];
    Case::new("Split", 11, &[count(&[3])], 2).ints("split", &[1, 2]).gives(&parts);
    Case::new("Split", 13, &[count(&[3]), ints(&[1, 2])], 2).gives(&parts);
    Case::new("Split", 18, &[count(&[3])], 2).int("num_outputs", 2).gives(&[ints(&[0, 1]), ints(&[2])]);
    Case::new("Split", 13, &[count(&[3]), ints(&[1, 1])], 2).fails();
    Case::new("Split", 13, &[count(&[3])], 2).fails();
}

#[test]
fn repetition_and_ranges_follow_their_arguments() {
    Case::new("Tile", 13, &[ints(&[1, 2]), ints(&[2])], 1).gives(&[ints(&[1, 2, 1, 2])]);
    Case::new("Tile", 1, &[count(&[1, 2]), scalar(2), scalar(0)], 1).gives(&[matrix(2, &[0, 1, 0, 1])]);
    Case::new("Expand", 13, &[count(&[2, 1]), ints(&[3, 1, 2])], 1)
        .gives(&[Tensor::from_values(&[3, 2, 2], &[0i64, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1])]);
    Case::new("Expand", 13, &[count(&[2, 3]), ints(&[2, 2])], 1).fails();
    Case::new("Range", 11, &[scalar(1), scalar(8), scalar(3)], 1).gives(&[ints(&[1, 4, 7])]);
    Case::new("Range", 11, &[scalar(3), scalar(0), scalar(-2)], 1).gives(&[ints(&[3, 1])]);
    Case::new("Range", 11, &[scalar(3), scalar(0), scalar(1)], 1).gives(&[ints(&[])]);
    let floats = [1.0f32, 2.0, 0.25].map(Tensor::scalar);
    Case::new("Range", 11, &floats, 1).gives(&[Tensor::from_values(&[4], &[1.0f32, 1.25, 1.5, 1.75])]);
    let known = [Knowledge::All, Knowledge::Shapes];
    Case::new("ConstantOfShape", 9, &[ints(&[2])], 1).gives_with(&known, &[Tensor::from_values(&[2], &[0f32, 0.0])]);
    Case::new("ConstantOfShape", 9, &[ints(&[-1])], 1).fails();
}

#[test]
fn indices_wrap_and_are_checked() {
    let data = count(&[3, 2]);
    Case::new("Gather", 11, &[data.clone(), ints(&[-1, 0])], 1).gives(&[matrix(2, &[4, 5, 0, 1])]);
    Case::new("Gather", 11, &[data.clone(), scalar(1)], 1).int("axis", 1).gives(&[ints(&[1, 3, 5])]);
    Case::new("Gather", 11, &[data.clone(), ints(&[3])], 1).fails();
    Case::new("GatherElements", 11, &[data.clone(), matrix(1, &[2, -2])], 1).gives(&[matrix(1, &[4, 3])]);
    Case::new("Scatter", 9, &[data.clone(), matrix(1, &[-1, 0]), matrix(1, &[8, 9])], 1)
        .gives(&[matrix(3, &[0, 9, 2, 3, 8, 5])]);
    Case::new("ScatterElements", 16, &[ints(&[1, 2]), ints(&[1, 1]), ints(&[5, 6])], 1)
        .text("reduction", "add")
        .gives(&[ints(&[1, 13])]);
    Case::new("ScatterElements", 16, &[ints(&[1, 2]), ints(&[2]), ints(&[5])], 1).fails();
    Case::new("OneHot", 11, &[ints(&[1, -1, 5]), scalar(2), ints(&[0, 7])], 1).gives(&[matrix(3, &[0, 7, 0, 7, 0, 0])]);
}

#[test]
fn running_sums_know_their_axis_late() {
    let sum = |axis| Case::new("CumSum", 14, &[count(&[2, 3]), scalar(axis)], 1);
    sum(1).gives(&[matrix(2, &[0, 1, 3, 3, 7, 12])]);
    sum(-2).gives(&[matrix(2, &[0, 1, 2, 3, 5, 7])]);
    sum(1).int("reverse", 1).int("exclusive", 1).gives(&[matrix(2, &[3, 2, 0, 9, 5, 0])]);
    sum(2).fails();
}

#[test]
fn conditions_select() {
    let condition = Tensor::from_values(&[3], &[true, false, true]);
    Case::new("Compress", 11, &[count(&[3, 2]), condition.clone()], 1)
        .int("axis", 0)
        .gives(&[matrix(2, &[0, 1, 4, 5])]);
    Case::new("Compress", 11, &[count(&[3, 2]), condition], 1).gives(&[ints(&[0, 2])]);
}

#[test]
fn shapes_are_data() {
    Case::new("Shape", 15, &[count(&[2, 3, 4])], 1).int("start", -2).gives(&[ints(&[3, 4])]);
    Case::new("Shape", 15, &[count(&[2, 3, 4])], 1).int("start", 2).int("end", 1).gives(&[ints(&[])]);
    Case::new("Size", 13, &[count(&[2, 3, 4])], 1).gives(&[scalar(24)]);
}

/// Appends a node with one output and gives the output.
fn append(model: &mut Model, name: &str, inputs: &[ValueId], axis: Option<i64>) -> ValueId {
    let output = model.add_value(format!("value{}", model.values.len()), Type::Unknown);
    model.graph.nodes.push(Node {
        name: name.into(),
        operator: OperatorName { domain: String::new(), name: name.into() },
        version: 17,
        inputs: inputs.iter().copied().map(Some).collect(),
        outputs: vec![Some(output)],
        attributes: axis.map(|axis| ("axis".to_owned(), Attribute::Int(axis))).into_iter().collect(),
    });
    output
}

/// What exporters write to split the last dimension of a tensor of symbolic shape.
#[test]
fn computed_shapes_stay_symbolic() {
    let mut model = Model::default();
    let [batch, length] = ["batch", "length"].map(|name| Dim::symbol(model.symbols.named(name)));
    let shape = vec![batch.clone(), length.clone(), Dim::constant(12)];
    let input = model.add_value("input", Type::tensor(ElementType::F32, shape));
    model.graph.inputs.push(input);
    let [zero, zeros, tail] = [scalar(0), ints(&[0]), ints(&[-1, 3, 4])].map(|tensor| {
        let name = format!("constant{}", model.values.len());
        model.add_constant(name, tensor)
    });
    let dims = append(&mut model, "Shape", &[input], None);
    let first = append(&mut model, "Gather", &[dims, zero], Some(0));
    let first = append(&mut model, "Unsqueeze", &[first, zeros], None);
    let target = append(&mut model, "Concat", &[first, tail], Some(0));
    let heads = append(&mut model, "Reshape", &[input, target], None);
    let turned = append(&mut model, "Transpose", &[heads], None);
    model.graph.outputs.push(turned);
    crate::shape::infer(&mut model).unwrap();
    let shape = model.value(turned).ty.as_tensor().unwrap().shape.clone();
    assert_eq!(shape, Some(vec![Dim::constant(4), Dim::constant(3), length, batch]));
    crate::loops::lower(&model).unwrap();
}

#[test]
fn empty_tensors_and_scalars_are_tensors() {
    Case::new("Transpose", 13, &[count(&[0, 3])], 1).gives(&[count(&[3, 0])]);
    Case::new("Transpose", 13, &[scalar(5)], 1).gives(&[scalar(5)]);
    Case::new("Concat", 13, &[count(&[0, 2]), count(&[1, 2])], 1).int("axis", 0).gives(&[count(&[1, 2])]);
    Case::new("Gather", 13, &[ints(&[4, 5]), scalar(-1)], 1).gives(&[scalar(5)]);
    Case::new("GatherND", 13, &[ints(&[4, 5]), ints(&[1])], 1).gives(&[scalar(5)]);
    Case::new("Slice", 13, &[count(&[0]), ints(&[0]), ints(&[9])], 1).gives(&[count(&[0])]);
    Case::new("CumSum", 14, &[count(&[0, 2]), scalar(0)], 1).gives(&[count(&[0, 2])]);
    Case::new("Flatten", 13, &[count(&[2, 3])], 1).int("axis", -2).gives(&[count(&[1, 6])]);
    Case::new("Where", 16, &[Tensor::scalar(false), ints(&[1, 2]), scalar(7)], 1).gives(&[ints(&[7, 7])]);
}
