//! Joins the numbers by which both operands of a product are scaled: attention with a root of the scale on either side.

use super::patch::Patch;
use super::site::Site;
use crate::graph::{Node, Tensor, ValueId};

/// The product of the first operand, scaled by both numbers, and the second one as it is.
pub fn rule(site: &mut Site<'_>, node: &Node) -> Option<Patch> {
    if !node.is("MatMul") {
        return None;
    }
    let (left, first) = scaled(site, node.input(0)?)?;
    let (right, second) = scaled(site, node.input(1)?)?;
    let mut patch = Patch::at(node);
    let both = patch.add(site, "Mul", 14, &[first, second], &[])?;
    // Neither number may hide an overflow of the other.
    if !site.constant(both)?.floats()?.iter().all(|value| value.is_normal()) {
        return None;
    }
    let left = patch.add(site, "Mul", 14, &[left, both], &[])?;
    let value = patch.add_like(site, node, &[Some(left), Some(right)])?;
    patch.replace(node, value)
}

/// What is scaled by which number, if `value` is such a product and nothing else uses it.
fn scaled(site: &Site<'_>, value: ValueId) -> Option<(ValueId, ValueId)> {
    let product = site.only_for(value, &["Mul"])?;
    let (a, b) = (product.input(0)?, product.input(1)?);
    let is_number = |id: ValueId| site.constant(id).is_some_and(|tensor: &Tensor| tensor.len() == 1);
    let (operand, number) = if is_number(b) { (a, b) } else { (b, a) };
    let fits = is_number(number) && site.is_precise(value) && site.tensor(operand) == site.tensor(value);
    (fits && product.version >= 7).then_some((operand, number))
}
