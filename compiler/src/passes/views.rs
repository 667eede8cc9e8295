//! Operators that give the same elements under another shape: Reshape, Flatten, Squeeze and Unsqueeze. Chains of them are
//! merged, their shapes made constants, and they are moved down past elementwise operators, so that these meet what
//! computes their operands.

use super::patch::Patch;
use super::site::Site;
use crate::graph::{Dim, Node, Tensor, ValueId};
use crate::shape;

pub(super) const VIEWS: &[&str] = &["Reshape", "Flatten", "Squeeze", "Unsqueeze"];

fn is_view(node: &Node) -> bool {
    VIEWS.iter().any(|view| node.is(view))
}

/// One Reshape in the place of two views, or nothing where the second undoes the first.
pub fn merge(site: &mut Site<'_>, node: &Node) -> Option<Patch> {
    if !is_view(node) {
        return None;
    }
    let (input, output) = (node.input(0)?, node.output(0)?);
    let source = site.defined_by(input, VIEWS)?.input(0)?;
    let (before, after) = (site.shape(source)?, site.shape(output)?);
    // Where the numbers of elements are not known to be equal, the views check it.
    if Dim::product(before).is_unknown() || Dim::product(before) != Dim::product(after) {
        return None;
    }
    let mut patch = Patch::at(node);
    if before == after {
        return patch.replace(node, source);
    }
    let after = after.to_vec();
    let value = reshape(site, &mut patch, source, &after)?;
    patch.replace(node, value)
}

/// A Reshape to a constant shape in the place of one to a computed shape.
pub fn constant_shape(site: &mut Site<'_>, node: &Node) -> Option<Patch> {
    if !node.is("Reshape") || node.flag_or("allowzero", false).ok()? || site.constant(node.input(1)?).is_some() {
        return None;
    }
    let after = site.shape(node.output(0)?)?.to_vec();
    let mut patch = Patch::at(node);
    let value = reshape(site, &mut patch, node.input(0)?, &after)?;
    patch.replace(node, value)
}

/// A Reshape of `source`: dimensions that are not numbers are those of the source at the same place, all but one.
pub(super) fn reshape(site: &mut Site<'_>, patch: &mut Patch, source: ValueId, after: &[Dim]) -> Option<ValueId> {
    let before = site.shape(source)?;
    if after.iter().any(|dim| dim.is_unknown() || dim.as_const() == Some(0)) {
        return None;
    }
    let dim = |(at, dim): (usize, &Dim)| match dim.as_const() {
        Some(number) => number,
        None if before.get(at) == Some(dim) => 0,
        None => -1,
    };
    let dims: Vec<i64> = after.iter().enumerate().map(dim).collect();
    if dims.iter().filter(|&&dim| dim == -1).count() > 1 {
        return None;
    }
    let dims = patch.constant(site, Tensor::from_i64s(&dims));
    patch.add(site, "Reshape", 13, &[source, dims], &[])
}

/// Moves a view from an operand of an elementwise operator to its result.
pub fn sink(site: &mut Site<'_>, node: &Node) -> Option<Patch> {
    let by_element = node.is("Cast")
        || node.is("Clip")
        || node.version >= 7 && shape::find(node).is_ok_and(|operator| operator.is_elementwise());
    if !by_element {
        return None;
    }
    let after = site.shape(node.output(0)?)?.to_vec();
    let single = |value: &ValueId| site.only_for(*value, VIEWS).filter(|_| site.shape(*value) == Some(&after));
    let view = node.inputs.iter().flatten().find_map(single)?;
    let before = site.shape(view.input(0)?)?.to_vec();
    let mut patch = Patch::at(node);
    let mut inputs = Vec::new();
    for &input in &node.inputs {
        inputs.push(match input {
            None => None,
            Some(value) => Some(seen_before(site, &mut patch, value, &before, &after)?),
        });
    }
    let value = patch.add_like(site, node, &inputs)?;
    if site.shape(value)? != before {
        return None;
    }
    let mut inputs = view.inputs.clone();
    inputs[0] = Some(value);
    let value = patch.add_like(site, &view, &inputs)?;
    patch.replace(node, value)
}

/// An operand in the shape from before the view: another view of the same kind, or a constant.
fn seen_before(
    site: &mut Site<'_>,
    patch: &mut Patch,
    value: ValueId,
    before: &[Dim],
    after: &[Dim],
) -> Option<ValueId> {
    if let Some(view) = site.defined_by(value, VIEWS)
        && site.shape(value)? == after
        && site.shape(view.input(0)?)? == before
    {
        return view.input(0);
    }
    if !site.is_foldable(value) {
        return None;
    }
    let own = site.static_shape(value)?;
    if own.iter().all(|&dim| dim == 1) {
        if own.len() <= before.len() {
            return Some(value);
        }
        let dims = patch.constant(site, Tensor::from_i64s(&[]));
        return patch.add(site, "Reshape", 13, &[value, dims], &[]);
    }
    let places = moved_dimensions(before, after)?;
    let mut dims = vec![1; before.len()];
    for (at, &dim) in own.iter().enumerate().filter(|(_, dim)| **dim != 1) {
        let axis = (at + after.len()).checked_sub(own.len())?;
        dims[places[axis]?] = dim;
    }
    let dims = patch.constant(site, Tensor::from_i64s(&dims));
    patch.add(site, "Reshape", 13, &[value, dims], &[])
}

/// For each dimension after a view that only inserts and removes dimensions of 1, where it was before; `None` for inserted
/// ones. `None` for other views.
pub(super) fn moved_dimensions(before: &[Dim], after: &[Dim]) -> Option<Vec<Option<usize>>> {
    let is_one = |dim: &Dim| dim.as_const() == Some(1);
    let mut old = before.iter().enumerate().filter(|(_, dim)| !is_one(dim));
    let places = after.iter().map(|dim| {
        if is_one(dim) {
            return Some(None);
        }
        old.next().filter(|(_, other)| *other == dim && !dim.is_unknown()).map(|(at, _)| Some(at))
    });
    let places = places.collect::<Option<Vec<_>>>()?;
    old.next().is_none().then_some(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_of_one_come_and_go() {
        let dims = |values: &[i64]| values.iter().copied().map(Dim::constant).collect::<Vec<_>>();
        let places = moved_dimensions(&dims(&[2, 1, 3]), &dims(&[1, 2, 3, 1]));
        assert_eq!(places, Some(vec![None, Some(0), Some(2), None]));
        assert_eq!(moved_dimensions(&dims(&[2, 3]), &dims(&[3, 2])), None);
        assert_eq!(moved_dimensions(&dims(&[2, 3]), &dims(&[2])), None);
    }
}
