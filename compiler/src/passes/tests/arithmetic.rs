//! Arithmetic that goes into weights and bounds.

use super::{model, same};

/// Statistics of four channels.
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
