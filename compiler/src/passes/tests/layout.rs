//! Transposes, views, padding and broadcasting.

use super::{model, same};

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
