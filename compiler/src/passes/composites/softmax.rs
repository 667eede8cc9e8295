//! Softmax from exponentials of the differences to the maximum, and their sum.

use super::super::patch::Patch;
use super::super::reduction;
use super::super::site::Site;
use crate::graph::{Attribute, Node};

/// One Softmax in the place of the quotient.
pub fn rule(site: &mut Site<'_>, node: &Node) -> Option<Patch> {
    if !node.is("Div") || !site.is_precise(node.output(0)?) {
        return None;
    }
    let (powers, total) = (node.input(0)?, node.input(1)?);
    let sum = site.only_for(total, &["ReduceSum"])?;
    let exponential = site.defined_by(powers, &["Exp"])?;
    let difference = site.only_for(exponential.input(0)?, &["Sub"])?;
    let greatest = site.only_for(difference.input(1)?, &["ReduceMax"])?;
    let source = difference.input(0)?;
    if site.uses(powers) != 2 || sum.input(0) != Some(powers) || greatest.input(0) != Some(source) {
        return None;
    }
    let (summed, compared) = (reduction::of(site, &sum)?, reduction::of(site, &greatest)?);
    let ([axis], true, true) = (&summed.axes[..], summed.keeps_dims, compared.keeps_dims) else { return None };
    if compared.axes != [*axis] {
        return None;
    }
    let mut patch = Patch::at(node);
    let value = patch.add(site, "Softmax", 13, &[source], &[("axis", Attribute::Int(*axis as i64))])?;
    patch.replace(node, value)
}
