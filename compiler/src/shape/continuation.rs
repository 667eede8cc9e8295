//! Graphs whose rank depends on data.
//!
//! Exporters write a squeeze of a symbolic dimension as an If that gives a tensor of one rank or of another. No type
//! describes such a value, but each graph alone has one. So what follows the If is moved into it, once for each graph: as
//! if the rest of the computation had been written twice.

use std::collections::HashMap;

use crate::graph::{Attribute, Model, Node, Region, ValueId};

/// Values of a model up to which continuations are copied: Ifs in a row double what follows them again and again.
const MAX_VALUES: usize = 1 << 17;

/// Moves all nodes after the If at `index` into both of its graphs. The If, then the last node of the region, gives what
/// the region gives. Changes nothing and returns false where nothing follows, or too much.
pub(super) fn move_into_branches(model: &mut Model, region: &mut Region, index: usize) -> bool {
    let added: usize = region.nodes[index + 1..].iter().map(values_of).sum();
    if index + 1 == region.nodes.len() || model.values.len().saturating_add(2 * added) > MAX_VALUES {
        return false;
    }
    let tail = region.nodes.split_off(index + 1);
    let choice = &mut region.nodes[index];
    let outputs = outputs_of(choice, &tail, &region.outputs);
    let results = std::mem::take(&mut choice.outputs);
    for attribute in choice.attributes.values_mut() {
        let Attribute::Region(branch) = attribute else { continue };
        let pairs = results.iter().zip(&branch.outputs);
        let mut names: HashMap<ValueId, ValueId> =
            pairs.filter_map(|(outer, &inner)| outer.map(|outer| (outer, inner))).collect();
        branch.nodes.extend(tail.iter().map(|node| copy(model, node, &mut names)));
        branch.outputs = outputs.iter().map(|id| names[id]).collect();
    }
    choice.outputs = outputs.into_iter().map(Some).collect();
    true
}

/// The outputs of the region that the If or a node after it defines, each once.
fn outputs_of(choice: &Node, tail: &[Node], outputs: &[ValueId]) -> Vec<ValueId> {
    let mut rest: Vec<ValueId> =
        std::iter::once(choice).chain(tail).flat_map(|node| node.outputs.iter().flatten().copied()).collect();
    rest.sort_unstable();
    rest.retain(|id| outputs.contains(id));
    rest.dedup();
    rest
}

/// How many values a node defines, in its regions too.
fn values_of(node: &Node) -> usize {
    let nested = |region: &Region| region.inputs.len() + region.nodes.iter().map(values_of).sum::<usize>();
    node.outputs.len() + node.regions().map(|(_, region)| nested(region)).sum::<usize>()
}

/// The node with other values in place of those in `names`, and new ones for all that it defines.
fn copy(model: &mut Model, node: &Node, names: &mut HashMap<ValueId, ValueId>) -> Node {
    let mut node = node.clone();
    rename(&mut node.inputs, names);
    for region in node.regions_mut() {
        define(model, region.inputs.iter_mut(), names);
        region.nodes = region.nodes.iter().map(|inner| copy(model, inner, names)).collect();
        for id in &mut region.outputs {
            *id = names.get(id).copied().unwrap_or(*id);
        }
    }
    define(model, node.outputs.iter_mut().flatten(), names);
    node
}

fn rename(ids: &mut [Option<ValueId>], names: &HashMap<ValueId, ValueId>) {
    for id in ids.iter_mut().flatten() {
        *id = names.get(id).copied().unwrap_or(*id);
    }
}

fn define<'a>(model: &mut Model, ids: impl Iterator<Item = &'a mut ValueId>, names: &mut HashMap<ValueId, ValueId>) {
    for id in ids {
        let mut value = model.value(*id).clone();
        value.name = format!("{}@{}", value.name, model.values.len());
        model.values.push(value);
        let new = ValueId(model.values.len() as u32 - 1);
        names.insert(*id, new);
        *id = new;
    }
}
