//! Operators written as several simpler ones.

use super::{model, same};

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
