//! Models compute the same before and after all passes, as the interpreter of the loops sees them.

use proptest::prelude::*;

use super::run;
use crate::graph::{Model, Tensor, parse, print, verify};
use crate::loops::interpret::{Fuel, interpret_program, no_routines};
use crate::{loops, shape};

/// Outputs for inputs that depend on their names and places only. Symbolic dimensions are 3.
fn outputs(model: &Model) -> Vec<Tensor> {
    let inputs = model.graph.inputs.iter().map(|&id| {
        let shape = model.value(id).ty.as_tensor().unwrap().shape.clone().unwrap();
        let dims: Vec<i64> = shape.iter().map(|dim| dim.as_const().unwrap_or(3)).collect();
        let count: i64 = dims.iter().product();
        let value = |at: i64| ((at * 37 + i64::from(id.0) * 11) % 23 - 11) as f32 * 0.17;
        Tensor::from_values(&dims, &(0..count).map(value).collect::<Vec<f32>>())
    });
    let inputs: Vec<Tensor> = inputs.collect();
    let program = loops::lower(model).unwrap();
    loops::verify::verify_program(&program).unwrap();
    interpret_program(&program, inputs, &no_routines, &mut Fuel::new(1 << 24)).unwrap()
}

/// Runs a model with and without passes; gives the names of the operators that are left, in order.
#[track_caller]
fn same(text: &str) -> Vec<String> {
    let mut model = parse(text).unwrap();
    shape::infer(&mut model).unwrap();
    let wanted = outputs(&model);
    let names =
        |model: &Model| -> Vec<String> { model.graph.outputs.iter().map(|&id| model.value(id).name.clone()).collect() };
    let names_before = names(&model);
    run(&mut model).unwrap();
    verify(&model).unwrap();
    assert_eq!(names(&model), names_before);
    let got = outputs(&model);
    for (got, wanted) in got.iter().zip(&wanted) {
        assert_eq!(got.dims, wanted.dims, "{text}");
        let pairs = got.floats().unwrap().into_iter().zip(wanted.floats().unwrap());
        for (at, (got, wanted)) in pairs.enumerate() {
            let close = (got - wanted).abs() <= 1e-5 * wanted.abs().max(1.0) || got.is_nan() && wanted.is_nan();
            assert!(close || got == wanted, "element {at} is {got} instead of {wanted} in\n{text}\n{}", print(&model));
        }
    }
    model.graph.nodes.iter().map(|node| node.operator.name.clone()).collect()
}

/// A constant with elements of both signs, none of them 0.
fn weights(name: &str, dims: &[i64]) -> String {
    let count: i64 = dims.iter().product();
    let elements: Vec<String> = (0..count).map(|at| format!("{}", ((at * 29) % 17 - 8) as f32 * 0.11 + 0.05)).collect();
    format!("const \"{name}\": f32{dims:?} = [{}]\n", elements.join(", "))
}

fn model(constants: &[(&str, &[i64])], body: &str) -> String {
    let constants: String = constants.iter().map(|(name, dims)| weights(name, dims)).collect();
    format!("graph \"m\" {{\n{constants}{body}\n}}")
}

const STATISTICS: &str = r#"
    const "variance": f32[4] = [0.5, 1, 2, 0.25]
    const "mean": f32[4] = [0.1, -0.2, 0.3, 0]
    const "scale": f32[4] = [1, 2, -1, 0.5]
    const "shift": f32[4] = [0, 1, -1, 0.5]"#;

#[test]
fn batch_normalization_goes_into_convolutions() {
    for (weights, group) in [(&[4, 2, 3, 3], 1), (&[4, 1, 3, 3], 2)] {
        let body = format!(
            r#"{STATISTICS}
            input "x": f32[n, 2, 5, 5]
            "c": ? = Conv-11("x", "w", "b") {{group = {group}}}
            "y": ? = BatchNormalization-15("c", "scale", "shift", "mean", "variance")
            output "y""#
        );
        let left = same(&model(&[("w", weights), ("b", &[4])], &body));
        assert_eq!(left.last().unwrap(), "Conv");
        assert!(!left.contains(&"BatchNormalization".to_owned()));
    }
    let body = format!(
        r#"{STATISTICS}
        input "x": f32[2, 3, 4]
        "c": ? = ConvTranspose-11("x", "w")
        "y": ? = BatchNormalization-9("c", "scale", "shift", "mean", "variance")
        output "y""#
    );
    assert_eq!(same(&model(&[("w", &[3, 4, 2])], &body)).last().unwrap(), "ConvTranspose");
}

#[test]
fn arithmetic_with_channels_goes_into_contractions() {
    let body = r#"
        input "x": f32[n, 2, 5, 5]
        const "two": f32[] = [2]
        "c": ? = Conv-11("x", "w")
        "d": ? = Mul-14("c", "factor")
        "e": ? = Add-14("offset", "d")
        "f": ? = Div-14("e", "two")
        "y": ? = Sub-14("f", "factor")
        output "y""#;
    let left = same(&model(&[("w", &[4, 2, 3, 3]), ("factor", &[4, 1, 1]), ("offset", &[1, 4, 1, 1])], body));
    assert_eq!(left.last().unwrap(), "Conv");
    let body = r#"
        input "x": f32[n, 2]
        "c": ? = Gemm-13("x", "w", "b") {transB = 1}
        "d": ? = Mul-14("c", "factor")
        "y": ? = Add-14("d", "offset")
        "p": ? = MatMul-13("x", "v")
        "q": ? = Mul-14("p", "factor")
        output "y"
        output "q""#;
    let left =
        same(&model(&[("w", &[4, 2]), ("v", &[2, 4]), ("b", &[4]), ("factor", &[4]), ("offset", &[1, 4])], body));
    assert!(!left.contains(&"Add".to_owned()), "{left:?}");
}

#[test]
fn what_broadcasts_a_contraction_stays() {
    let body = r#"
        input "x": f32[1, 2, 1, 1]
        "c": ? = Conv-11("x", "w")
        "y": ? = Mul-14("c", "plane")
        output "y""#;
    let left = same(&model(&[("w", &[4, 2, 1, 1]), ("plane", &[3, 3])], body));
    assert_eq!(left, ["Conv", "Mul"]);
}

#[test]
fn transposes_of_channels_last_models_cancel() {
    let body = r#"
        input "x": f32[n, 6, 6, 2]
        const "pads": i64[8] = [0, 1, 2, 0, 0, 1, 0, 0]
        const "axes": i64[2] = [1, 2]
        "a": ? = Transpose-13("x") {perm = [0, 3, 1, 2]}
        "b": ? = Conv-11("a", "w")
        "c": ? = Transpose-13("b") {perm = [0, 2, 3, 1]}
        "d": ? = Add-14("c", "bias")
        "e": ? = Relu-14("d")
        "f": ? = Pad-13("e", "pads")
        "g": ? = Concat-13("f", "f") {axis = 3}
        "h": ? = Transpose-13("g") {perm = [0, 3, 1, 2]}
        "i": ? = Conv-11("h", "v")
        "j": ? = Transpose-13("i") {perm = [0, 2, 3, 1]}
        "y": ? = ReduceMean-18("j", "axes") {keepdims = 0}
        output "y""#;
    let left = same(&model(&[("w", &[4, 2, 3, 3]), ("v", &[3, 8, 3, 3]), ("bias", &[4])], body));
    assert_eq!(left.iter().filter(|name| *name == "Transpose").count(), 1, "{left:?}");
}

#[test]
fn transposes_go_into_gemm_and_past_softmax() {
    let body = r#"
        input "x": f32[4, n]
        input "z": f32[5, 4]
        "a": ? = Transpose-13("x")
        "b": ? = Transpose-13("z")
        "c": ? = Gemm-13("a", "b")
        "d": ? = Transpose-13("z")
        "e": ? = Softmax-13("d") {axis = 0}
        "f": ? = Transpose-13("e")
        output "c"
        output "f""#;
    assert_eq!(same(&model(&[], body)), ["Gemm", "Softmax"]);
}

#[test]
fn normalizations_are_recognized() {
    let body = r#"
        input "x": f32[n, 5, 8]
        const "two": f32[] = [2]
        const "epsilon": f32[] = [0.001]
        "mean": ? = ReduceMean-13("x") {axes = [-1]}
        "d": ? = Sub-14("x", "mean")
        "square": ? = Pow-13("d", "two")
        "variance": ? = ReduceMean-13("square") {axes = [2]}
        "sum": ? = Add-14("variance", "epsilon")
        "deviation": ? = Sqrt-13("sum")
        "normalized": ? = Div-14("d", "deviation")
        "scaled": ? = Mul-14("normalized", "gamma")
        "y": ? = Add-14("beta", "scaled")
        output "y""#;
    assert_eq!(same(&model(&[("gamma", &[8]), ("beta", &[8])], body)), ["LayerNormalization"]);
    let body = r#"
        input "x": f32[n, 5, 8]
        const "epsilon": f32[] = [0.001]
        "square": ? = Mul-14("x", "x")
        "variance": ? = ReduceMean-13("square") {axes = [-1]}
        "sum": ? = Add-14("epsilon", "variance")
        "deviation": ? = Sqrt-13("sum")
        "inverse": ? = Reciprocal-13("deviation")
        "normalized": ? = Mul-14("x", "inverse")
        "y": ? = Mul-14("gamma", "normalized")
        output "y""#;
    assert_eq!(same(&model(&[("gamma", &[8])], body)), ["RMSNormalization"]);
}

#[test]
fn activations_are_recognized() {
    let exact = r#"
        input "x": f32[n, 7]
        const "root": f32[] = [1.4142135]
        const "one": f32[] = [1]
        const "half": f32[] = [0.5]
        "a": ? = Div-14("x", "root")
        "b": ? = Erf-13("a")
        "c": ? = Add-14("b", "one")
        "d": ? = Mul-14("x", "c")
        "y": ? = Mul-14("d", "half")
        output "y""#;
    assert_eq!(same(&model(&[], exact)), ["Gelu"]);
    let approximate = r#"
        input "x": f32[n, 7]
        const "three": f32[] = [3]
        const "cubic": f32[] = [0.044715]
        const "root": f32[] = [0.7978846]
        const "one": f32[] = [1]
        const "half": f32[] = [0.5]
        "cube": ? = Pow-13("x", "three")
        "a": ? = Mul-14("cube", "cubic")
        "b": ? = Add-14("x", "a")
        "c": ? = Mul-14("root", "b")
        "d": ? = Tanh-13("c")
        "e": ? = Add-14("one", "d")
        "f": ? = Mul-14("half", "x")
        "y": ? = Mul-14("f", "e")
        output "y""#;
    assert_eq!(same(&model(&[], approximate)), ["Gelu"]);
    let swish = r#"
        input "x": f32[n, 7]
        const "slope": f32[] = [1.702]
        "a": ? = Mul-14("x", "slope")
        "b": ? = Sigmoid-13("a")
        "y": ? = Mul-14("b", "x")
        output "y""#;
    assert_eq!(same(&model(&[], swish)), ["Swish"]);
    let hard = r#"
        input "x": f32[n, 7]
        const "three": f32[] = [3]
        const "zero": f32[] = [0]
        const "six": f32[] = [6]
        "a": ? = Add-14("x", "three")
        "b": ? = Clip-13("a", "zero", "six")
        "c": ? = Mul-14("x", "b")
        "y": ? = Div-14("c", "six")
        output "y""#;
    assert_eq!(same(&model(&[], hard)), ["HardSwish"]);
    let softmax = r#"
        input "x": f32[n, 7]
        const "axis": i64[1] = [-1]
        "a": ? = ReduceMax-13("x") {axes = [1]}
        "b": ? = Sub-14("x", "a")
        "c": ? = Exp-13("b")
        "d": ? = ReduceSum-13("c", "axis")
        "y": ? = Div-14("c", "d")
        output "y""#;
    assert_eq!(same(&model(&[], softmax)), ["Softmax"]);
}

#[test]
fn attention_needs_one_transpose_and_one_factor() {
    let body = r#"
        input "q": f32[n, m, 6]
        input "k": f32[n, m, 6]
        input "v": f32[n, m, 6]
        const "heads": i64[4] = [0, 0, 2, 3]
        const "together": i64[3] = [0, 0, 6]
        const "scale": f32[] = [0.57735026]
        "qh": ? = Reshape-13("q", "heads")
        "kh": ? = Reshape-13("k", "heads")
        "vh": ? = Reshape-13("v", "heads")
        "qt": ? = Transpose-13("qh") {perm = [0, 2, 1, 3]}
        "kt": ? = Transpose-13("kh") {perm = [0, 2, 3, 1]}
        "vt": ? = Transpose-13("vh") {perm = [0, 2, 1, 3]}
        "qs": ? = Mul-14("qt", "scale")
        "ks": ? = Mul-14("kt", "scale")
        "scores": ? = MatMul-13("qs", "ks")
        "weights": ? = Softmax-13("scores") {axis = -1}
        "mixed": ? = MatMul-13("weights", "vt")
        "back": ? = Transpose-13("mixed") {perm = [0, 2, 1, 3]}
        "y": ? = Reshape-13("back", "together")
        output "y""#;
    let left = same(&model(&[], body));
    let count = |name: &str| left.iter().filter(|other| *other == name).count();
    assert_eq!((count("Transpose"), count("Mul"), count("Einsum")), (1, 1, 2), "{left:?}");
    let plain = r#"
        input "x": f32[2, 3, 4]
        input "z": f32[2, 4, 5]
        "a": ? = MatMul-13("x", "z")
        "b": ? = Transpose-13("a") {perm = [1, 0, 2]}
        output "b""#;
    assert_eq!(same(&model(&[], plain)), ["Einsum"]);
}

#[test]
fn chains_of_bounds_are_one() {
    let body = r#"
        input "x": f32[n, 7]
        const "zero": f32[] = [0]
        const "half": f32[] = [0.5]
        const "one": f32[] = [1]
        "a": ? = Relu-14("x")
        "b": ? = Clip-13("a", _, "one")
        "y": ? = Clip-13("b", "half")
        "c": ? = Clip-13("x", "zero")
        "z": ? = Relu-14("c")
        output "y"
        output "z""#;
    assert_eq!(same(&model(&[], body)), ["Clip", "Relu"]);
}

#[test]
fn a_convolution_pads_itself() {
    let body = r#"
        input "x": f32[n, 2, 5, 5]
        const "pads": i64[8] = [0, 0, 1, 2, 0, 0, 0, 1]
        "a": ? = Pad-13("x", "pads")
        "y": ? = Conv-11("a", "w") {pads = [1, 0, 1, 0], strides = [2, 2]}
        output "y""#;
    assert_eq!(same(&model(&[("w", &[4, 2, 3, 3])], body)), ["Conv"]);
}

#[test]
fn views_merge() {
    let body = r#"
        input "x": f32[n, 2, 6]
        const "first": i64[4] = [0, 1, 3, -1]
        const "axes": i64[1] = [1]
        "a": ? = Reshape-13("x", "first")
        "b": ? = Squeeze-13("a", "axes")
        "c": ? = Flatten-13("b")
        "d": ? = Unsqueeze-13("x", "axes")
        "e": ? = Squeeze-13("d", "axes")
        "f": ? = Neg-13("e")
        output "c"
        output "f""#;
    assert_eq!(same(&model(&[], body)), ["Reshape", "Neg"]);
}

#[test]
fn views_and_transposes_leave_the_way_of_arithmetic() {
    let body = r#"
        input "x": f32[n, 5, 2]
        const "one": i64[1] = [1]
        const "two": i64[1] = [2]
        const "shape": i64[2] = [-1, 4]
        "a": ? = Unsqueeze-13("x", "one")
        "b": ? = Transpose-13("a") {perm = [0, 3, 1, 2]}
        "c": ? = Conv-11("b", "w")
        "d": ? = Squeeze-13("c", "two")
        "e": ? = Add-14("d", "bias")
        "f": ? = Relu-14("e")
        "g": ? = Transpose-13("f") {perm = [0, 2, 1]}
        "h": ? = Unsqueeze-13("g", "one")
        "i": ? = Transpose-13("h") {perm = [0, 3, 1, 2]}
        "j": ? = Conv-11("i", "v")
        "k": ? = Transpose-13("j") {perm = [0, 2, 3, 1]}
        "l": ? = Squeeze-13("k", "one")
        "m": ? = Reshape-13("l", "shape")
        "y": ? = Tanh-13("m")
        output "y""#;
    let left = same(&model(&[("w", &[4, 2, 1, 3]), ("v", &[4, 4, 1, 2]), ("bias", &[1, 4, 1])], body));
    assert_eq!(left.iter().filter(|name| *name == "Transpose").count(), 2, "{left:?}");
    assert!(!left.contains(&"Add".to_owned()), "{left:?}");
}

#[test]
fn factors_before_contractions_go_into_weights() {
    let body = r#"
        input "x": f32[n, 2, 5, 5]
        const "half": f32[] = [0.5]
        "a": ? = Mul-14("x", "half")
        "b": ? = Conv-11("a", "w") {pads = [1, 1, 1, 1]}
        "c": ? = Mul-14("channels", "b")
        "d": ? = Relu-14("c")
        "e": ? = Mul-14("d", "channels")
        "y": ? = Conv-11("e", "u")
        "f": ? = Mul-14("y", "columns")
        "g": ? = MatMul-13("f", "v")
        output "g""#;
    let constants: &[(&str, &[i64])] =
        &[("w", &[4, 2, 3, 3]), ("u", &[3, 4, 1, 1]), ("v", &[5, 2]), ("channels", &[4, 1, 1]), ("columns", &[1, 5])];
    let left = same(&model(constants, body));
    assert_eq!(left.iter().filter(|name| *name != "Mul").collect::<Vec<_>>(), ["Conv", "Relu", "Conv", "MatMul"]);
}

#[test]
fn a_transpose_between_padding_and_convolution_moves() {
    let body = r#"
        input "x": f32[n, 5, 5, 2]
        const "pads": i64[8] = [0, 1, 2, 0, 0, 0, 1, 0]
        "a": ? = Pad-13("x", "pads")
        "b": ? = Transpose-13("a") {perm = [0, 3, 1, 2]}
        "y": ? = Conv-11("b", "w")
        output "y""#;
    assert_eq!(same(&model(&[("w", &[4, 2, 3, 3])], body)), ["Transpose", "Conv"]);
}

#[test]
fn a_view_between_padding_and_convolution_moves() {
    let body = r#"
        input "x": f32[n, 2, 5]
        const "pads": i64[6] = [0, 0, 1, 0, 0, 2]
        const "two": i64[1] = [2]
        "a": ? = Pad-13("x", "pads")
        "b": ? = Unsqueeze-13("a", "two")
        "y": ? = Conv-11("b", "w")
        output "y""#;
    assert_eq!(same(&model(&[("w", &[4, 2, 1, 3])], body)), ["Reshape", "Conv"]);
}

#[test]
fn small_transposes_stay_before_what_broadcasts_them() {
    let body = r#"
        input "x": f32[2, n]
        "a": ? = Transpose-13("x")
        "y": ? = Mul-14("a", "planes")
        output "y""#;
    assert_eq!(same(&model(&[("planes", &[5, 1, 2])], body)), ["Transpose", "Mul"]);
}

#[test]
fn operands_broadcast_by_themselves_and_concats_are_flat() {
    let body = r#"
        input "x": f32[n, 2, 5]
        input "z": f32[5]
        "s": ? = Shape-13("x")
        "a": ? = Expand-13("z", "s")
        "b": ? = Expand-13("z", "s")
        "c": ? = Neg-13("b")
        "d": ? = Add-14("x", "a")
        "e": ? = Concat-13("d", "c") {axis = 1}
        "f": ? = Concat-13("x", "e", "x") {axis = -2}
        "g": ? = Mul-14("a", "b")
        output "f"
        output "g""#;
    let left = same(&model(&[], body));
    assert_eq!(left.iter().filter(|name| *name == "Concat").count(), 1, "{left:?}");
}

#[test]
fn carried_values_change_places() {
    let body = r#"
        input "x": f32[3]
        input "z": f32[3]
        const "count": i64[] = [3]
        const "yes": bool[] = [1]
        const "half": f32[] = [0.5]
        "u": ?, "v": ?, "w": ? = Loop-16("count", "yes", "x", "z")
          body {
            input "i": i64[]
            input "c": bool[]
            input "p": f32[3]
            input "q": f32[3]
            "d": ? = Identity-16("c")
            "r": ? = Identity-16("q")
            "s": ? = Identity-16("p")
            "t": ? = Mul-14("half", "half")
            "k": ? = Add-14("p", "t")
            output "d"
            output "r"
            output "s"
            output "k"
          }
        output "u"
        output "v"
        output "w""#;
    assert_eq!(same(&model(&[], body)), ["Loop"]);
}

#[test]
fn long_models_take_linear_time() {
    let count = 8000;
    let mut body = String::from("input \"v0\": f32[2, 3, 4]\nconst \"one\": f32[] = [1]\nconst \"two\": f32[] = [2]\n");
    for at in 0..count {
        let operator = match at % 5 {
            0 => "Transpose-13(\"vA\") {perm = [0, 2, 1]}",
            1 => "Mul-14(\"vA\", \"one\")",
            2 => "Relu-14(\"vA\")",
            3 => "Transpose-13(\"vA\") {perm = [0, 2, 1]}",
            _ => "Tanh-13(\"vA\")",
        };
        body += &format!("\"v{}\": ? = {}\n", at + 1, operator.replace("vA", &format!("v{at}")));
    }
    let mut model = parse(&model(&[], &format!("{body}output \"v{count}\""))).unwrap();
    shape::infer(&mut model).unwrap();
    let start = std::time::Instant::now();
    run(&mut model).unwrap();
    assert_eq!(model.graph.nodes.len(), 2 * count / 5);
    // Quadratic work would take minutes.
    assert!(start.elapsed() < std::time::Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn shapes_that_follow_from_the_input_are_constants() {
    let body = r#"
        input "x": f32[n, m, 12]
        const "heads": i64[2] = [3, 4]
        const "zero": i64[1] = [0]
        const "two": i64[1] = [2]
        "s": ? = Shape-13("x")
        "t": ? = Slice-13("s", "zero", "two")
        "u": ? = Concat-13("t", "heads") {axis = 0}
        "a": ? = Reshape-13("x", "u")
        "y": ? = Neg-13("a")
        output "y""#;
    assert_eq!(same(&model(&[], body)), ["Neg", "Reshape"]);
}

/// A step that makes a tensor of three dimensions, of the sizes 2, 3 and 4 in some order, from earlier ones.
fn step(kind: usize, a: usize, b: usize, argument: usize, index: usize) -> String {
    const ORDERS: [&str; 6] = ["[0, 1, 2]", "[0, 2, 1]", "[1, 0, 2]", "[1, 2, 0]", "[2, 0, 1]", "[2, 1, 0]"];
    let order = ORDERS[argument % 6];
    let unary = ["Relu-14", "Abs-13", "Tanh-13", "Neg-13", "Sigmoid-13", "Identity-13"][argument % 6];
    let constant = ["zero", "one", "two", "row"][argument % 4];
    let (y, a, b) = (format!("\"v{index}\""), format!("\"v{a}\""), format!("\"v{b}\""));
    match kind {
        0 | 1 => format!("{y}: ? = Transpose-13({a}) {{perm = {order}}}\n"),
        2 => format!("{y}: ? = {unary}({a})\n"),
        3 => format!("{y}: ? = Mul-14({a}, \"{constant}\")\n"),
        4 => format!("{y}: ? = Add-14(\"{constant}\", {a})\n"),
        5 => format!("{y}: ? = Clip-13({a}, \"zero\", \"{}\")\n", ["one", "two"][argument % 2]),
        6 => format!("{y}: ? = Softmax-13({a}) {{axis = {}}}\n", argument % 3),
        7 => format!("{y}: ? = Div-14({a}, \"two\")\n"),
        8 => format!(
            "\"m{index}\": ? = ReduceMax-13({a}) {{axes = [{}]}}\n{y}: ? = Sub-14({a}, \"m{index}\")\n",
            argument % 3
        ),
        9 => format!(
            "\"f{index}\": ? = Reshape-13({b}, \"flat\")\n\"s{index}\": ? = Shape-13({a})\n{y}: ? = Reshape-13(\"f{index}\", \"s{index}\")\n"
        ),
        10 => format!(
            "\"f{index}\": ? = Reshape-13({b}, \"flat\")\n\"s{index}\": ? = Shape-13({a})\n\"g{index}\": ? = Reshape-13(\"f{index}\", \"s{index}\")\n{y}: ? = Add-14({a}, \"g{index}\")\n"
        ),
        _ => format!(
            "\"p{index}\": ? = Pow-13({a}, \"two\")\n\"q{index}\": ? = Sigmoid-13({a})\n\"r{index}\": ? = Mul-14({a}, \"q{index}\")\n{y}: ? = Max-13(\"p{index}\", \"r{index}\")\n"
        ),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn random_graphs_compute_the_same(steps in prop::collection::vec((0..12usize, any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..12usize), 1..14), symbolic in any::<bool>()) {
        let mut text = format!("graph \"m\" {{\ninput \"v0\": f32[2, {}, 4]\n", if symbolic { "n" } else { "3" });
        text += "const \"zero\": f32[] = [0]\nconst \"one\": f32[1] = [1]\nconst \"two\": f32[] = [2]\nconst \"row\": f32[1, 1] = [0.75]\nconst \"flat\": i64[1] = [-1]\n";
        for (at, (kind, a, b, argument)) in steps.iter().enumerate() {
            text += &step(*kind, a.index(at + 1), b.index(at + 1), *argument, at + 1);
        }
        text += &format!("output \"v{}\"\noutput \"v{}\"\n}}", steps.len(), steps.len() / 2);
        let output_is_input = steps.len() / 2 == 0;
        let text = if output_is_input { text.replace("output \"v0\"\n", "") } else { text };
        same(&text);
    }
}
