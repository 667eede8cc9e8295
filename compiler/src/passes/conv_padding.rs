//! Lets a Conv do the padding of the Pad before it.

use super::patch::Patch;
use super::site::Site;
use crate::graph::{Attribute, Node, ValueId};

/// The Conv with longer pads.
pub fn rule(site: &mut Site<'_>, node: &Node) -> Option<Patch> {
    if !node.is("Conv") {
        return None;
    }
    let pad = site.only_for(node.input(0)?, &["Pad"])?;
    let rank = site.shape(node.input(0)?)?.len();
    let added = pads(site, &pad, rank)?;
    let (before, after) = added.split_at(rank);
    let is_spatial = before[..2].iter().chain(&after[..2]).all(|&pad| pad == 0);
    if !is_spatial || added.iter().any(|&pad| pad < 0) || !pads_zeros(site, &pad) {
        return None;
    }
    let own = match node.text_or("auto_pad", "NOTSET").ok()? {
        "NOTSET" => node.ints("pads").ok()?.map_or(vec![0; 2 * (rank - 2)], <[i64]>::to_vec),
        "VALID" => vec![0; 2 * (rank - 2)],
        _ => return None,
    };
    let sums: Vec<i64> = own
        .iter()
        .zip(before[2..].iter().chain(&after[2..]))
        .map(|(own, added)| own.checked_add(*added))
        .collect::<Option<_>>()?;
    let mut changed = node.clone();
    changed.inputs[0] = pad.input(0);
    changed.attributes.remove("auto_pad");
    changed.attributes.insert("pads".into(), Attribute::Ints(sums));
    let mut patch = Patch::at(node);
    let value = patch.push(site, changed)?;
    patch.replace(node, value)
}

/// What a Pad adds, before and after each dimension.
fn pads(site: &Site<'_>, pad: &Node, rank: usize) -> Option<Vec<i64>> {
    if pad.input(3).is_some() || rank < 3 || pad.text_or("mode", "constant").ok()? != "constant" {
        return None;
    }
    let pads = match pad.input(1) {
        Some(pads) => site.integers(pads)?,
        None => pad.ints("pads").ok()??.to_vec(),
    };
    (pads.len() == 2 * rank).then_some(pads)
}

fn pads_zeros(site: &Site<'_>, pad: &Node) -> bool {
    let is_zero = |id: ValueId| site.splat(id) == Some(0.0);
    pad.input(2).map_or_else(|| pad.float_or("value", 0.0).is_ok_and(|value| value == 0.0), is_zero)
}
