//! Lets a Conv do the padding of the Pad before it, also through a Transpose or a view between them.

use super::patch::Patch;
use super::site::Site;
use super::transposes;
use super::views::{VIEWS, moved_dimensions, reshape};
use crate::graph::{Attribute, Dim, Node, ValueId};

/// The Conv with longer pads.
pub fn rule(site: &mut Site<'_>, node: &Node) -> Option<Patch> {
    if !node.is("Conv") {
        return None;
    }
    let rank = site.shape(node.input(0)?)?.len();
    let (pad, between) = padding(site, node.input(0)?)?;
    let added = between.places(site, &pads(site, &pad)?, node)?;
    let (before, after) = added.split_at(rank);
    if rank < 3 {
        return None;
    }
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
    let mut patch = Patch::at(node);
    let mut changed = node.clone();
    changed.inputs[0] = Some(between.without(site, &mut patch, pad.input(0)?, node, &added)?);
    changed.attributes.remove("auto_pad");
    changed.attributes.insert("pads".into(), Attribute::Ints(sums));
    let value = patch.push(site, changed)?;
    patch.replace(node, value)
}

/// What stands between a Pad and a Conv.
enum Between {
    Nothing,
    Transpose(Node),
    /// A view that only inserts and removes dimensions of 1; for each of its dimensions, the Pad's.
    View(Vec<Option<usize>>),
}

/// The Pad that a value comes from, if nothing else uses it.
fn padding(site: &Site<'_>, value: ValueId) -> Option<(Node, Between)> {
    if let Some(pad) = site.only_for(value, &["Pad"]) {
        return Some((pad, Between::Nothing));
    }
    let node = site.only_for(value, &[VIEWS, &["Transpose"]].concat())?;
    let padded = node.input(0)?;
    let pad = site.only_for(padded, &["Pad"])?;
    let between = match node.is("Transpose") {
        true => Between::Transpose(node),
        false => Between::View(moved_dimensions(site.shape(padded)?, site.shape(value)?)?),
    };
    Some((pad, between))
}

impl Between {
    /// What the Pad adds, before and after each dimension of the Conv's input.
    fn places(&self, site: &Site<'_>, pads: &[i64], node: &Node) -> Option<Vec<i64>> {
        let half = pads.len() / 2;
        let (before, after) = pads.split_at(half);
        let places: Vec<Option<usize>> = match self {
            Self::Nothing => return Some(pads.to_vec()),
            Self::Transpose(transpose) => transposes::order(site, transpose)?.into_iter().map(Some).collect(),
            Self::View(places) => places.clone(),
        };
        let is_lost = |axis: &usize| !places.contains(&Some(*axis)) && (before[*axis], after[*axis]) != (0, 0);
        if places.len() != site.shape(node.input(0)?)?.len() || (0..half).any(|axis| is_lost(&axis)) {
            return None;
        }
        let side = |pads: &[i64]| places.iter().map(|place| place.map_or(0, |place| pads[place])).collect::<Vec<_>>();
        Some([side(before), side(after)].concat())
    }

    /// The Conv's input without the padding.
    fn without(
        &self,
        site: &mut Site<'_>,
        patch: &mut Patch,
        source: ValueId,
        node: &Node,
        added: &[i64],
    ) -> Option<ValueId> {
        match self {
            Self::Nothing => Some(source),
            Self::Transpose(transpose) => patch.add_like(site, transpose, &[Some(source)]),
            Self::View(_) => {
                let (before, after) = added.split_at(added.len() / 2);
                let padded = site.shape(node.input(0)?)?.iter().zip(before.iter().zip(after));
                let dims: Vec<Dim> = padded.map(|(dim, (before, after))| dim - *before - *after).collect();
                reshape(site, patch, source, &dims)
            }
        }
    }
}

/// What a Pad adds, before and after each dimension.
fn pads(site: &Site<'_>, pad: &Node) -> Option<Vec<i64>> {
    if pad.input(3).is_some() || pad.text_or("mode", "constant").ok()? != "constant" {
        return None;
    }
    let pads = match pad.input(1) {
        Some(pads) => site.integers(pads)?,
        None => pad.ints("pads").ok()??.to_vec(),
    };
    (pads.len() == 2 * site.shape(pad.input(0)?)?.len()).then_some(pads)
}

fn pads_zeros(site: &Site<'_>, pad: &Node) -> bool {
    let is_zero = |id: ValueId| site.splat(id) == Some(0.0);
    pad.input(2).map_or_else(|| pad.float_or("value", 0.0).is_ok_and(|value| value == 0.0), is_zero)
}
