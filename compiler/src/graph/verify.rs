//! The rules that every model keeps, and a check of them.
//!
//! * Each value is defined once: as an input of a region, as an output of a node, or as a constant that no node computes.
//! * A value is defined before it is used, in the region of the use or in one around it.
//! * Constants have the type and the shape of their contents.

use super::{Dim, Model, Node, Region, Value, ValueId};

/// Checks the rules; gives the first one that is broken.
///
/// # Errors
/// What is wrong, naming the value or node.
pub fn verify(model: &Model) -> Result<(), String> {
    for value in &model.values {
        constant(value)?;
    }
    let mut verifier = Verifier { model, state: vec![State::Undefined; model.values.len()] };
    verifier.region(&model.graph)
}

/// Checks that a constant's type is that of its contents.
fn constant(value: &Value) -> Result<(), String> {
    let Some(tensor) = &value.constant else { return Ok(()) };
    let ty = value.ty.as_tensor().ok_or_else(|| format!("constant `{}` is not a tensor", value.name))?;
    let shape = ty.shape.iter().flatten().map(Dim::as_const);
    if ty.element == tensor.element && ty.shape.is_some() && shape.eq(tensor.dims.iter().map(|&dim| Some(dim))) {
        return Ok(());
    }
    Err(format!(
        "constant `{}` has contents of type {}{:?}, which is not its own",
        value.name, tensor.element, tensor.dims
    ))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Undefined,
    Visible,
    /// Defined in a region that has been left.
    Hidden,
}

struct Verifier<'a> {
    model: &'a Model,
    state: Vec<State>,
}

impl Verifier<'_> {
    fn region(&mut self, region: &Region) -> Result<(), String> {
        let mut defined = Vec::new();
        for &id in &region.inputs {
            self.define(id, "a region", &mut defined)?;
        }
        for node in &region.nodes {
            self.node(node, &mut defined)?;
        }
        for &id in &region.outputs {
            self.used(id, "a region's output")?;
        }
        for id in defined {
            self.state[id.0 as usize] = State::Hidden;
        }
        Ok(())
    }

    fn node(&mut self, node: &Node, defined: &mut Vec<ValueId>) -> Result<(), String> {
        for &id in node.inputs.iter().flatten() {
            self.used(id, &node.name)?;
        }
        for (_, region) in node.regions() {
            self.region(region)?;
        }
        for &id in node.outputs.iter().flatten() {
            self.define(id, &node.name, defined)?;
        }
        Ok(())
    }

    fn define(&mut self, id: ValueId, place: &str, defined: &mut Vec<ValueId>) -> Result<(), String> {
        let state = self.state.get_mut(id.0 as usize);
        let state = state.ok_or_else(|| format!("`{place}` defines value {}, which is not in the table", id.0))?;
        if *state != State::Undefined {
            return Err(format!("`{}` is defined a second time, by `{place}`", self.model.value(id).name));
        }
        *state = State::Visible;
        defined.push(id);
        Ok(())
    }

    fn used(&self, id: ValueId, place: &str) -> Result<(), String> {
        let state = self.state.get(id.0 as usize);
        let state = state.ok_or_else(|| format!("`{place}` uses value {}, which is not in the table", id.0))?;
        let value = self.model.value(id);
        match state {
            State::Visible => Ok(()),
            _ if value.constant.is_some() => Ok(()),
            State::Undefined => Err(format!("`{place}` uses `{}` before it is defined", value.name)),
            State::Hidden => Err(format!("`{place}` uses `{}` outside of the region that defines it", value.name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::parse;

    #[test]
    fn a_sound_model_passes() {
        let text = r#"graph "m" {
            input "x": f32[2]
            "y": ? = Relu-14("x")
            "c": ? = If-16("cond") then_branch { output "y" } else_branch { "z": ? = Abs-13("y") output "z" }
            const "cond": bool[] = [1]
            output "c"
        }"#;
        assert_eq!(verify(&parse(text).unwrap()), Ok(()));
    }

    #[test]
    fn definitions_precede_uses() {
        let mut model =
            parse(r#"graph "m" { input "x": f32[2] "y": ? = Relu-14("x") "z": ? = Abs-13("y") output "z" }"#).unwrap();
        model.graph.nodes.swap(0, 1);
        assert_eq!(verify(&model).unwrap_err(), "`z` uses `y` before it is defined");
    }

    #[test]
    fn a_value_is_defined_once() {
        let mut model = parse(r#"graph "m" { input "x": f32[2] "y": ? = Relu-14("x") output "y" }"#).unwrap();
        let again = model.graph.nodes[0].clone();
        model.graph.nodes.push(again);
        assert_eq!(verify(&model).unwrap_err(), "`y` is defined a second time, by `y`");
    }

    #[test]
    fn what_a_region_defines_stays_inside() {
        let text = r#"graph "m" {
            input "c": bool[]
            input "x": f32[2]
            "y": ? = If-16("c") then_branch { "z": ? = Abs-13("x") output "z" } else_branch { output "x" }
            "w": ? = Relu-14("x")
            output "w"
        }"#;
        let mut model = parse(text).unwrap();
        let inner = model.values.iter().position(|value| value.name == "z").unwrap();
        model.graph.outputs = vec![ValueId(inner as u32)];
        assert_eq!(verify(&model).unwrap_err(), "`a region's output` uses `z` outside of the region that defines it");
        let text = r#"graph "m" { const "c": f32[1] = [1] "y": ? = Abs-13("c") output "y" output "c" }"#;
        assert_eq!(verify(&parse(text).unwrap()), Ok(()));
    }
}
