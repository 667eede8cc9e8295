//! Merges a Concat into the Concat that alone uses it, along the same axis.

use super::patch::Patch;
use super::site::Site;
use crate::graph::{Node, ValueId};
use crate::ops::normalize_axis;

/// One Concat of all the parts.
pub fn rule(site: &mut Site<'_>, node: &Node) -> Option<Patch> {
    if !node.is("Concat") {
        return None;
    }
    let axis = axis(site, node)?;
    let parts = |value: ValueId| {
        let nested = site.only_for(value, &["Concat"])?;
        (self::axis(site, &nested)? == axis).then_some(nested.inputs)
    };
    let mut inputs = Vec::new();
    let mut is_nested = false;
    for &input in &node.inputs {
        match parts(input?) {
            Some(parts) => {
                is_nested = true;
                inputs.extend(parts);
            }
            None => inputs.push(input),
        }
    }
    if !is_nested {
        return None;
    }
    let mut patch = Patch::at(node);
    let value = patch.add_like(site, node, &inputs)?;
    patch.replace(node, value)
}

fn axis(site: &Site<'_>, node: &Node) -> Option<usize> {
    normalize_axis(node.int_or("axis", 1).ok()?, site.shape(node.output(0)?)?.len()).ok()
}
