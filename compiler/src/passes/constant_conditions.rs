//! Puts the graph that an If of known condition picks into the place of the If.

use super::patch::Patch;
use super::site::Site;
use crate::graph::{Attribute, Node};

/// The nodes of the picked graph.
pub fn rule(site: &mut Site<'_>, node: &Node) -> Option<Patch> {
    if !node.is("If") {
        return None;
    }
    let condition = site.integers(node.input(0)?)?;
    let [condition] = condition[..] else { return None };
    let picked = if condition != 0 { "then_branch" } else { "else_branch" };
    let Some(Attribute::Region(region)) = node.attributes.get(picked) else { return None };
    if region.outputs.len() != node.outputs.len() {
        return None;
    }
    let mut patch = Patch::at(node);
    patch.splice(region.clone());
    for (index, (outer, &inner)) in node.outputs.iter().zip(&region.outputs).enumerate() {
        let Some(outer) = *outer else { continue };
        let is_own = region.nodes.iter().any(|node| node.outputs.contains(&Some(inner)));
        let is_first = !region.outputs[..index].contains(&inner);
        // An output of the model needs a node of its own.
        let value = if site.is_output(outer) && !(is_own && is_first) {
            patch.add(site, "Identity", 13, &[inner], &[])?
        } else {
            inner
        };
        patch.replaced.push((outer, value));
    }
    Some(patch)
}
