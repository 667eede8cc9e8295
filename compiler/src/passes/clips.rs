//! Merges chains of Relu and Clip with constant bounds.

use super::patch::Patch;
use super::site::Site;
use crate::graph::{ElementType, Node, Tensor, ValueId};

/// One Clip in the place of two operators.
pub fn rule(site: &mut Site<'_>, node: &Node) -> Option<Patch> {
    let last = bounds(site, node)?;
    let before = site.only_for(node.input(0)?, &["Relu", "Clip"])?;
    let first = bounds(site, &before)?;
    let source = before.input(0)?;
    let clamp = |value: f64| value.max(last.0).min(last.1);
    let (lower, upper) = (clamp(first.0), clamp(first.1));
    let mut patch = Patch::at(node);
    let value = if (lower, upper) == (0.0, f64::INFINITY) {
        patch.add(site, "Relu", 14, &[source], &[])?
    } else {
        let element = site.element(source)?;
        let bounds = [constant(site, &patch, element, lower)?, constant(site, &patch, element, upper)?];
        patch.add(site, "Clip", 13, &[source, bounds[0], bounds[1]], &[])?
    };
    patch.replace(node, value)
}

fn constant(site: &mut Site<'_>, patch: &Patch, element: ElementType, value: f64) -> Option<ValueId> {
    let tensor = match element {
        ElementType::F32 => Tensor::scalar(value as f32),
        ElementType::F64 => Tensor::scalar(value),
        _ => return None,
    };
    Some(patch.constant(site, tensor))
}

/// The bounds between which a node keeps its input, where they are constants and the lower one is not greater.
fn bounds(site: &Site<'_>, node: &Node) -> Option<(f64, f64)> {
    if !site.is_precise(node.input(0)?) {
        return None;
    }
    if node.is("Relu") {
        return Some((0.0, f64::INFINITY));
    }
    if !node.is("Clip") {
        return None;
    }
    let bound = |index: usize, name: &str, default: f64| match node.input(index) {
        Some(id) => site.splat(id),
        None => Some(node.float(name).ok()?.map_or(default, f64::from)),
    };
    let bounds = (bound(1, "min", f64::NEG_INFINITY)?, bound(2, "max", f64::INFINITY)?);
    (bounds.0 <= bounds.1).then_some(bounds)
}
