//! Removes nodes that give their input: by name, or for the arguments that they have.
//!
//! What is left is the input to the last bit, but for the sign of a zero where 0 is added.

use super::patch::Patch;
use super::site::Site;
use crate::graph::{Dim, Node, ValueId};

/// Puts the input that a node gives into the place of its output.
pub fn rule(site: &mut Site<'_>, node: &Node) -> Option<Patch> {
    let value = given(site, node)?;
    // A node that broadcasts its input, or decides its shape in the run, is more than that.
    same_shape(site, value, node.output(0)?).then(|| Patch::at(node).replace(node, value))?
}

fn same_shape(site: &Site<'_>, a: ValueId, b: ValueId) -> bool {
    let is_known = site.shape(a).is_none_or(|shape| !shape.iter().any(Dim::is_unknown));
    is_known && site.model.value(a).ty == site.model.value(b).ty
}

/// The input that the node gives, if the shapes are equal.
fn given(site: &Site<'_>, node: &Node) -> Option<ValueId> {
    if !node.operator.domain.is_empty() {
        return None;
    }
    let (first, second) = (node.input(0), node.input(1));
    let is = |operand: Option<ValueId>, number: f64| operand.and_then(|id| site.splat(id)) == Some(number);
    let all = |operand: Option<ValueId>, number: i64| {
        operand.and_then(|id| site.integers(id)).is_some_and(|values| values.iter().all(|&value| value == number))
    };
    let gives_first = match node.operator.name.as_str() {
        // Types and shapes decide.
        "Identity" | "Cast" | "CastLike" | "Reshape" | "Flatten" | "Unsqueeze" | "Expand" => true,
        "Squeeze" => second.is_some() || node.attributes.contains_key("axes") || is_static(site, first?),
        "Dropout" => node.input(2).is_none() || all(node.input(2), 0),
        "Concat" | "Sum" | "Max" | "Min" | "Mean" => node.inputs.len() == 1,
        "Split" => node.outputs.len() == 1,
        "Transpose" => node.ints("perm").ok()?.map_or(site.shape(first?)?.len() < 2, |order| order.is_sorted()),
        "Pad" => match second {
            Some(_) => all(second, 0),
            None => node.ints("pads").ok().flatten().is_some_and(|pads| pads.iter().all(|&pad| pad == 0)),
        },
        // As many elements in steps of 1: all of them, in their order.
        "Slice" => node.input(4).is_none() || all(node.input(4), 1),
        "Tile" => node.version >= 6 && all(second, 1),
        "Clip" => {
            second.is_none()
                && node.input(2).is_none()
                && !["min", "max"].iter().any(|bound| node.attributes.contains_key(*bound))
        }
        "Mul" if is(first, 1.0) => return second,
        "Add" if is(first, 0.0) || is(first, -0.0) => return second,
        "Mul" | "Div" => is(second, 1.0),
        "Add" | "Sub" => is(second, 0.0),
        "Pow" => is(second, 1.0),
        "Where" => {
            let condition = site.splat(first?)?;
            return if condition == 0.0 { node.input(2) } else { second };
        }
        _ => false,
    };
    if gives_first { first } else { None }
}

fn is_static(site: &Site<'_>, id: ValueId) -> bool {
    site.shape(id).is_some_and(|shape| shape.iter().all(Dim::is_const))
}
