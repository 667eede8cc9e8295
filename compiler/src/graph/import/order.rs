//! Puts nodes in an order in which definitions precede uses.

use std::collections::{HashMap, VecDeque};

use super::scope::Scope;
use crate::proto::onnx::{AttributeProto, GraphProto, NodeProto};

/// The positions of `nodes` in an order in which every value is defined before its use. The file's own order is kept
/// where it has that property, as the format demands.
pub(super) fn definition_order(nodes: &[NodeProto], scope: &Scope) -> Result<Vec<usize>, String> {
    let mut producer = HashMap::new();
    for (index, node) in nodes.iter().enumerate() {
        for output in node.output.iter().filter(|output| !output.is_empty()) {
            if producer.insert(output.as_str(), index).is_some() {
                return Err(format!("`{output}` is computed by two nodes"));
            }
        }
    }
    let mut waits = vec![0usize; nodes.len()];
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    let mut in_order = true;
    for (index, node) in nodes.iter().enumerate() {
        let mut names = Vec::new();
        used_names(node, &mut names);
        for name in names {
            let Some(&source) = producer.get(name) else { continue };
            if scope.defined_here(name).is_some() {
                continue;
            }
            waits[index] += 1;
            users[source].push(index);
            in_order &= source < index;
        }
    }
    if in_order {
        return Ok((0..nodes.len()).collect());
    }
    let mut ready: VecDeque<usize> = (0..nodes.len()).filter(|&index| waits[index] == 0).collect();
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(index) = ready.pop_front() {
        order.push(index);
        for &user in &users[index] {
            waits[user] -= 1;
            if waits[user] == 0 {
                ready.push_back(user);
            }
        }
    }
    match (0..nodes.len()).find(|&index| waits[index] > 0) {
        None => Ok(order),
        Some(index) => Err(format!(
            "node `{}` ({}) depends on its own result: the graph has a cycle",
            nodes[index].name(),
            nodes[index].op_type()
        )),
    }
}

/// The names that a node uses, those its nested graphs take from outside included.
fn used_names<'a>(node: &'a NodeProto, names: &mut Vec<&'a str>) {
    names.extend(node.input.iter().map(String::as_str).filter(|name| !name.is_empty()));
    for attribute in &node.attribute {
        for graph in graphs(attribute) {
            graph.node.iter().for_each(|node| used_names(node, names));
            names.extend(graph.output.iter().map(|output| output.name()));
        }
    }
}

fn graphs(attribute: &AttributeProto) -> impl Iterator<Item = &GraphProto> {
    attribute.g.as_deref().into_iter().chain(&attribute.graphs)
}
