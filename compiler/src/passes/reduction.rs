//! The arguments of reductions, in the forms of all operator sets.

use super::site::Site;
use crate::graph::Node;
use crate::ops::normalize_axis;

/// What a reduction does with which dimensions.
pub(super) struct Reduction {
    /// The dimensions that are reduced, in ascending order.
    pub axes: Vec<usize>,
    /// Whether they stay, as dimensions of 1.
    pub keeps_dims: bool,
}

impl Reduction {
    /// The first axis, where all dimensions from there on are reduced and stay.
    pub fn trailing(&self, rank: usize) -> Option<usize> {
        let first = *self.axes.first()?;
        (self.keeps_dims && self.axes.len() == rank - first).then_some(first)
    }
}

/// The arguments of a node, where the compiler knows them and they name a dimension.
pub(super) fn of(site: &Site<'_>, node: &Node) -> Option<Reduction> {
    let rank = site.shape(node.input(0)?)?.len();
    let given = match node.input(1) {
        Some(axes) => site.integers(axes)?,
        None => node.ints("axes").ok()?.map(<[i64]>::to_vec).unwrap_or_default(),
    };
    let mut axes = given.iter().map(|&axis| normalize_axis(axis, rank).ok()).collect::<Option<Vec<_>>>()?;
    if axes.is_empty() {
        if node.flag_or("noop_with_empty_axes", false).ok()? {
            return None;
        }
        axes = (0..rank).collect();
    }
    axes.sort_unstable();
    axes.dedup();
    (!axes.is_empty()).then_some(Reduction { axes, keeps_dims: node.flag_or("keepdims", true).ok()? })
}
