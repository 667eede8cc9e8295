//! Merges chains of operators that give the same elements under another shape: Reshape, Flatten, Squeeze and Unsqueeze.

use super::patch::Patch;
use super::site::Site;
use crate::graph::{Dim, Node, Tensor, ValueId};

const VIEWS: &[&str] = &["Reshape", "Flatten", "Squeeze", "Unsqueeze"];

/// One Reshape in the place of two views, or nothing where the second undoes the first.
pub fn rule(site: &mut Site<'_>, node: &Node) -> Option<Patch> {
    if !VIEWS.iter().any(|view| node.is(view)) {
        return None;
    }
    let (input, output) = (node.input(0)?, node.output(0)?);
    let source = site.defined_by(input, VIEWS)?.input(0)?;
    let (before, after) = (site.shape(source)?, site.shape(output)?);
    // Where the numbers of elements are not known to be equal, the views check it.
    if Dim::product(before).is_unknown() || Dim::product(before) != Dim::product(after) {
        return None;
    }
    let patch = Patch::at(node);
    if before == after {
        return patch.replace(node, source);
    }
    reshape(site, patch, node, source)
}

/// A Reshape of `source` to the shape of the node's output, of which at most one dimension is not a number.
fn reshape(site: &mut Site<'_>, mut patch: Patch, node: &Node, source: ValueId) -> Option<Patch> {
    let dims: Vec<i64> = site.shape(node.output(0)?)?.iter().map(|dim| dim.as_const().unwrap_or(-1)).collect();
    if dims.contains(&0) || dims.iter().filter(|&&dim| dim == -1).count() > 1 {
        return None;
    }
    let dims = patch.constant(site, Tensor::from_i64s(&dims));
    let value = patch.add(site, "Reshape", 13, &[source, dims], &[])?;
    patch.replace(node, value)
}
