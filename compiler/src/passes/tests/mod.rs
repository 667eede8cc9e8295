//! Models compute the same before and after all passes, as the interpreter of the loops sees them.

mod arithmetic;
mod layout;
mod random;
mod recognition;

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
