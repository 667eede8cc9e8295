//! Removes nodes whose results nobody needs: not used, or known as constants.
//!
//! A node is also needed for the symbols that it brings into the model, where a later type or known element mentions them.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::graph::{Dim, Model, Node, Region, SymbolId, Type, ValueId};

/// Gives the number of removed nodes.
pub fn run(model: &mut Model) -> usize {
    let mut graph = std::mem::take(&mut model.graph);
    let mut liveness = Liveness::new(model, &graph);
    graph.outputs.iter().for_each(|&id| liveness.need(id));
    liveness.region(&mut graph);
    let removed = liveness.removed;
    model.graph = graph;
    removed
}

struct Liveness<'a> {
    model: &'a Model,
    values: HashSet<ValueId>,
    /// The node, in the order of [`Liveness::number`], that brings a symbol into the model.
    origins: HashMap<SymbolId, usize>,
    /// Nodes that bring in needed symbols.
    origins_needed: BTreeSet<usize>,
    /// The number after that of the last node that has not been looked at.
    next: usize,
    removed: usize,
}

impl<'a> Liveness<'a> {
    fn new(model: &'a Model, graph: &Region) -> Self {
        let mut liveness = Self {
            model,
            values: HashSet::new(),
            origins: HashMap::new(),
            origins_needed: BTreeSet::new(),
            next: 0,
            removed: 0,
        };
        // What the inputs' types mention is there from the beginning, as if of a node that is none.
        graph.inputs.iter().for_each(|&id| liveness.originate(id, usize::MAX));
        liveness.number(graph);
        liveness
    }

    /// Numbers the nodes, a node before those in its regions, and notes the first that mentions each symbol.
    fn number(&mut self, region: &Region) {
        for node in &region.nodes {
            let number = self.next;
            self.next += 1;
            // Symbols that bind the elements of an input were made for this node, but that input's node binds them.
            node.inputs.iter().flatten().for_each(|&id| self.originate(id, number));
            for (_, nested) in node.regions() {
                nested.inputs.iter().for_each(|&id| self.originate(id, number));
                self.number(nested);
            }
            node.outputs.iter().flatten().for_each(|&id| self.originate(id, number));
        }
    }

    fn originate(&mut self, id: ValueId, number: usize) {
        let origins = &mut self.origins;
        mentions(self.model, id, &mut |symbol| {
            origins.entry(symbol).or_insert(number);
        });
    }

    /// The value, and the symbols that describe it, are needed.
    fn need(&mut self, id: ValueId) {
        if !self.values.insert(id) {
            return;
        }
        let (origins, needed) = (&self.origins, &mut self.origins_needed);
        mentions(self.model, id, &mut |symbol| {
            if let Some(&origin) = origins.get(&symbol).filter(|&&origin| origin != usize::MAX) {
                needed.insert(origin);
            }
        });
    }

    /// Looks at the nodes from the last to the first: what a node needs, earlier ones give.
    fn region(&mut self, region: &mut Region) {
        let mut kept = Vec::with_capacity(region.nodes.len());
        for mut node in std::mem::take(&mut region.nodes).into_iter().rev() {
            let count = count(&node);
            let first = self.next - count;
            if !self.is_needed(&node, first..self.next) {
                self.next = first;
                self.removed += count;
                continue;
            }
            node.outputs.iter().flatten().for_each(|&id| self.need(id));
            for nested in reversed(&mut node) {
                nested.outputs.iter().for_each(|&id| self.need(id));
                self.region(nested);
                nested.inputs.iter().for_each(|&id| self.need(id));
            }
            node.inputs.iter().flatten().for_each(|&id| self.need(id));
            self.next = first;
            kept.push(node);
        }
        kept.reverse();
        region.nodes = kept;
    }

    fn is_needed(&self, node: &Node, numbers: std::ops::Range<usize>) -> bool {
        let is_constant = |id: &ValueId| self.model.value(*id).constant.is_some();
        let mut outputs = node.outputs.iter().flatten();
        // A constant's node has nothing to do in a run.
        outputs.any(|id| self.values.contains(id) && !is_constant(id))
            || self.origins_needed.range(numbers).next().is_some()
    }
}

/// The node's regions, the last first.
fn reversed(node: &mut Node) -> Vec<&mut Region> {
    let mut regions: Vec<&mut Region> = node.regions_mut().collect();
    regions.reverse();
    regions
}

/// Nodes of which this node consists, itself included.
fn count(node: &Node) -> usize {
    1 + node.regions().flat_map(|(_, region)| &region.nodes).map(count).sum::<usize>()
}

/// Tells of each symbol that a value's type or known elements mention, or that the run binds to its elements.
fn mentions(model: &Model, id: ValueId, tell: &mut dyn FnMut(SymbolId)) {
    fn of_type(ty: &Type, tell: &mut dyn FnMut(SymbolId)) {
        match ty {
            Type::Tensor(tensor) => tensor.shape.iter().flatten().for_each(|dim| of_dim(dim, tell)),
            Type::Sequence(inner) | Type::Optional(inner) | Type::Map(_, inner) => of_type(inner, tell),
            Type::Unknown => {}
        }
    }
    fn of_dim(dim: &Dim, tell: &mut dyn FnMut(SymbolId)) {
        if !dim.is_const() {
            dim.symbols().into_iter().for_each(tell);
        }
    }
    let value = model.value(id);
    of_type(&value.ty, tell);
    value.known.iter().flatten().for_each(|dim| of_dim(dim, tell));
    value.bound.iter().for_each(|&symbol| tell(symbol));
}
