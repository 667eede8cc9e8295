//! Removes an Expand before an elementwise operator that broadcasts its operands anyway.

use super::patch::Patch;
use super::site::Site;
use crate::graph::{Node, ValueId};
use crate::shape;

/// The operator on what is expanded, if that gives the same shape.
pub fn rule(site: &mut Site<'_>, node: &Node) -> Option<Patch> {
    let by_element = node.is("Where") || shape::find(node).is_ok_and(|operator| operator.is_elementwise());
    if node.version < 7 || node.inputs.len() < 2 || !by_element {
        return None;
    }
    let source = |value: ValueId| site.defined_by(value, &["Expand"])?.input(0);
    let sources: Vec<Option<ValueId>> = node.inputs.iter().map(|input| input.and_then(source)).collect();
    // Where all operands are expanded, one Expand must stay for the shape.
    let kept = if sources.iter().all(Option::is_some) { 1 } else { 0 };
    if sources.iter().flatten().count() <= kept {
        return None;
    }
    let mut inputs = node.inputs.clone();
    for (input, source) in inputs.iter_mut().zip(&sources).skip(kept) {
        *input = source.or(*input);
    }
    let mut patch = Patch::at(node);
    let value = patch.add_like(site, node, &inputs)?;
    patch.replace(node, value)
}
