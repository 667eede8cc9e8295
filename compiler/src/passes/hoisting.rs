//! Moves nodes that read constants only out of the graphs of control flow, so that they are folded like those of the main
//! graph.

use std::collections::HashSet;

use crate::codegen::may_grow;
use crate::graph::{Model, Node, Region, ValueId};
use crate::shape;

/// Gives the number of nodes moved.
pub fn run(model: &mut Model) -> usize {
    let mut graph = std::mem::take(&mut model.graph);
    let mut pass = Pass { model, moved: HashSet::new() };
    let mut nodes = Vec::with_capacity(graph.nodes.len());
    for mut node in std::mem::take(&mut graph.nodes) {
        node.regions_mut().for_each(|region| pass.drain(region, &mut nodes));
        nodes.push(node);
    }
    graph.nodes = nodes;
    // Each moved node has one output.
    let moved = pass.moved.len();
    model.graph = graph;
    moved
}

struct Pass<'a> {
    model: &'a Model,
    /// What moved nodes give.
    moved: HashSet<ValueId>,
}

impl Pass<'_> {
    fn drain(&mut self, region: &mut Region, target: &mut Vec<Node>) {
        let mut stay = Vec::with_capacity(region.nodes.len());
        for mut node in std::mem::take(&mut region.nodes) {
            if self.can_move(&node) {
                self.moved.extend(node.outputs.iter().flatten());
                target.push(node);
                continue;
            }
            node.regions_mut().for_each(|nested| self.drain(nested, target));
            stay.push(node);
        }
        region.nodes = stay;
    }

    /// Whether a node reads constants only, cannot fail, and is small enough to be folded.
    fn can_move(&self, node: &Node) -> bool {
        const CANNOT_FAIL: &[&str] =
            &["Cast", "Concat", "DequantizeLinear", "Reshape", "Squeeze", "Transpose", "Unsqueeze"];
        let is_safe = CANNOT_FAIL.iter().any(|operator| node.is(operator))
            || shape::find(node).is_ok_and(|operator| operator.is_elementwise() && !operator.by_name);
        let is_constant = |id: &ValueId| self.moved.contains(id) || self.model.value(*id).constant.is_some();
        let mut inputs = node.inputs.iter().flatten().peekable();
        let [Some(output)] = node.outputs[..] else { return false };
        if !is_safe || inputs.peek().is_none() || !inputs.all(is_constant) || is_constant(&output) {
            return false;
        }
        let bytes = |id: ValueId| {
            let tensor = self.model.value(id).ty.as_tensor()?;
            let len = u64::try_from(tensor.len()?.as_const()?).ok()?;
            i64::try_from(tensor.element.bytes_of(len)?).ok()
        };
        let before: Option<i64> = node.inputs.iter().flatten().try_fold(0i64, |sum, &id| sum.checked_add(bytes(id)?));
        matches!((before, bytes(output)), (Some(before), Some(after)) if may_grow(before, after))
    }
}
