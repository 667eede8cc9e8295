//! Walks over the nodes of a model, asks a rule at each, and applies what it proposes.

use std::collections::HashSet;

use super::patch::Patch;
use super::site::Site;
use crate::graph::{Model, Node, Region, Type, ValueId};

/// Proposes what to do with a node, from what defines its inputs. The node's regions have been walked over before.
pub type Rule = fn(&mut Site<'_>, &Node) -> Option<Patch>;

/// Applies the rule everywhere, once over all nodes in order; gives the number of accepted patches.
///
/// # Errors
/// In debug builds, where the rule proposed a node that cannot be.
pub fn run(model: &mut Model, rule: Rule) -> Result<usize, String> {
    let graph = std::mem::take(&mut model.graph);
    let mut walk = Walk { site: Site::new(model, &graph), rule, accepted: 0 };
    let mut graph = walk.region(graph);
    if walk.site.has_substitutes() {
        resolve(&walk.site, &mut graph);
    }
    let (accepted, problem) = (walk.accepted, walk.site.take_problem());
    model.graph = graph;
    match problem {
        Some(problem) if cfg!(debug_assertions) => Err(problem),
        _ => Ok(accepted),
    }
}

struct Walk<'m> {
    site: Site<'m>,
    rule: Rule,
    accepted: usize,
}

impl Walk<'_> {
    fn region(&mut self, mut region: Region) -> Region {
        self.site.enter();
        for mut node in std::mem::take(&mut region.nodes) {
            for slot in node.inputs.iter_mut().flatten() {
                *slot = self.site.resolve(*slot);
            }
            for nested in node.regions_mut() {
                *nested = self.region(std::mem::take(nested));
            }
            let patch = (self.rule)(&mut self.site, &node);
            if !patch.is_some_and(|patch| self.apply(&node, patch)) {
                self.site.push(node);
            }
        }
        region.nodes = self.site.leave();
        for id in &mut region.outputs {
            *id = self.site.resolve(*id);
        }
        region
    }

    /// Applies a patch if it is sound; gives whether it is.
    fn apply(&mut self, node: &Node, mut patch: Patch) -> bool {
        let site = &mut self.site;
        for (_, new) in &mut patch.replaced {
            *new = site.resolve(*new);
        }
        let fresh: HashSet<ValueId> =
            patch.nodes.iter().flat_map(|node| node.outputs.iter().flatten().copied()).collect();
        let is_replaced = |id: &ValueId| patch.replaced.iter().any(|(old, _)| old == id);
        let goes = |id: &ValueId| is_replaced(id) || (site.uses(*id) == 0 && !site.is_output(*id));
        let fits = |&(old, new): &(ValueId, ValueId)| can_replace(site, old, new, fresh.contains(&new));
        if !node.outputs.iter().flatten().all(goes) || !patch.replaced.iter().all(fits) {
            return false;
        }
        for node in &patch.nodes {
            site.add_uses(node);
        }
        site.forget_uses(node);
        for node in patch.nodes {
            site.push(node);
        }
        for (old, new) in patch.replaced {
            take_place(site, old, new, fresh.contains(&new));
        }
        self.accepted += 1;
        true
    }
}

/// Whether `new` can stand for `old`: a value of the same type of which as much is known.
fn can_replace(site: &Site<'_>, old: ValueId, new: ValueId, is_fresh: bool) -> bool {
    let (before, after) = (site.model.value(old), site.model.value(new));
    if old == new || before.ty != after.ty || before.ty == Type::Unknown || !after.bound.is_empty() {
        return false;
    }
    if is_fresh {
        return true;
    }
    let as_known = before.known.is_none() || before.known == after.known;
    let as_constant = before.constant.is_none() || after.constant.is_some();
    // An output of the main graph keeps its name, so the node that defines the other value has to define it.
    let can_be_output = !site.is_output(old) || (!site.is_output(new) && site.is_defined_in_main(new));
    before.bound.is_empty() && as_known && as_constant && can_be_output
}

/// Puts `new` into the place of `old`. A new value takes its identity, so that what is known of the old one stays.
fn take_place(site: &mut Site<'_>, old: ValueId, new: ValueId, is_fresh: bool) {
    if !is_fresh && !site.is_output(old) {
        return site.substitute(old, new);
    }
    let (constant, known) = {
        let value = site.model.value(new);
        (value.constant.clone(), value.known.clone())
    };
    if site.rename(new, old) {
        let value = site.model.value_mut(old);
        value.constant = value.constant.take().or(constant);
        value.known = value.known.take().or(known);
    } else {
        site.substitute(old, site.resolve(new));
    }
}

/// Puts the values that took others' places wherever those are used.
fn resolve(site: &Site<'_>, region: &mut Region) {
    for node in &mut region.nodes {
        for slot in node.inputs.iter_mut().flatten() {
            *slot = site.resolve(*slot);
        }
        node.regions_mut().for_each(|region| resolve(site, region));
    }
    for id in &mut region.outputs {
        *id = site.resolve(*id);
    }
}
