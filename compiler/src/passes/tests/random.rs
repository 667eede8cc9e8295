//! Random graphs, control flow, and long models.

use proptest::prelude::*;

use super::super::run;
use super::{model, same};
use crate::graph::parse;
use crate::shape;

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
