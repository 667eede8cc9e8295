//! What a rule sees of the model around a node.

use std::collections::{HashMap, HashSet};

use crate::codegen::may_grow;
use crate::graph::{Dim, ElementType, Model, Node, Region, Tensor, TensorType, ValueId};
use crate::shape;

/// Where the node that defines a value stands.
#[derive(Clone, Copy, Debug)]
struct Place {
    level: usize,
    index: usize,
}

/// The model during a walk over its nodes: what has been visited, what values are used, what will be constant.
#[derive(Debug)]
pub struct Site<'m> {
    /// The model; its graph has been taken out.
    pub model: &'m mut Model,
    /// How often each value is used as an input or as the output of a region. Uses by nodes that have become dead count.
    uses: Vec<u32>,
    /// Whether a value is a constant, or will be one when the code generator has folded the program.
    foldable: Vec<bool>,
    definitions: Vec<Option<Place>>,
    /// The visited nodes of the open regions, outermost first.
    levels: Vec<Vec<Node>>,
    /// Values whose places others have taken.
    substitutes: HashMap<ValueId, ValueId>,
    /// Outputs of the main graph, which keep their names.
    outputs: HashSet<ValueId>,
    /// The first thing that a rule did wrong.
    problem: Option<String>,
}

impl<'m> Site<'m> {
    pub(super) fn new(model: &'m mut Model, graph: &Region) -> Self {
        let mut uses = vec![0; model.values.len()];
        count_uses(graph, &mut uses);
        let foldable = model.values.iter().map(|value| value.constant.is_some()).collect();
        let definitions = vec![None; model.values.len()];
        let outputs = graph.outputs.iter().copied().collect();
        Self {
            model,
            uses,
            foldable,
            definitions,
            levels: Vec::new(),
            substitutes: HashMap::new(),
            outputs,
            problem: None,
        }
    }

    /// The node that computes a value, if it is not an input or a constant.
    pub fn definition(&self, id: ValueId) -> Option<&Node> {
        let place = (*self.definitions.get(id.0 as usize)?)?;
        self.levels.get(place.level)?.get(place.index)
    }

    /// The node that computes a value, if it is one of those operators of the default domain.
    pub fn defined_by(&self, id: ValueId, operators: &[&str]) -> Option<Node> {
        self.definition(id).filter(|node| operators.iter().any(|operator| node.is(operator))).cloned()
    }

    /// As [`Site::defined_by`], where the value is used only once, so that the node goes when that use does.
    pub fn only_for(&self, id: ValueId, operators: &[&str]) -> Option<Node> {
        if self.uses(id) == 1 { self.defined_by(id, operators) } else { None }
    }

    /// How often a value is used.
    pub fn uses(&self, id: ValueId) -> u32 {
        self.uses.get(id.0 as usize).copied().unwrap_or(0)
    }

    /// The contents of a constant.
    pub fn constant(&self, id: ValueId) -> Option<&Tensor> {
        self.model.value(id).constant.as_ref()
    }

    /// The one value that all elements of a float or integer constant have.
    pub fn splat(&self, id: ValueId) -> Option<f64> {
        /// Longer constants are not searched.
        const MAX_SEARCHED: usize = 1 << 16;
        let tensor = self.constant(id)?;
        if tensor.is_empty() || tensor.len() > MAX_SEARCHED {
            return None;
        }
        let values = match tensor.floats() {
            Some(values) => values,
            None => tensor.integers()?.into_iter().map(|value| value as f64).collect(),
        };
        values.iter().all(|value| value.to_bits() == values[0].to_bits()).then_some(values[0])
    }

    /// The elements of a small integer tensor, all known at compile time.
    pub fn integers(&self, id: ValueId) -> Option<Vec<i64>> {
        let value = self.model.value(id);
        match &value.known {
            Some(known) => known.iter().map(Dim::as_const).collect(),
            None => value.constant.as_ref()?.integers(),
        }
    }

    /// Whether a value is a constant, or computed from constants by nodes that the code generator will fold.
    pub fn is_foldable(&self, id: ValueId) -> bool {
        self.foldable.get(id.0 as usize).copied().unwrap_or(false) || self.constant(id).is_some()
    }

    /// The tensor type of a value.
    pub fn tensor(&self, id: ValueId) -> Option<&TensorType> {
        self.model.value(id).ty.as_tensor()
    }

    /// The shape of a value, where its rank is known.
    pub fn shape(&self, id: ValueId) -> Option<&[Dim]> {
        self.tensor(id)?.shape.as_deref()
    }

    /// The element type of a value.
    pub fn element(&self, id: ValueId) -> Option<ElementType> {
        Some(self.tensor(id)?.element)
    }

    /// The shape of a value, all of it numbers.
    pub fn static_shape(&self, id: ValueId) -> Option<Vec<i64>> {
        self.shape(id)?.iter().map(Dim::as_const).collect()
    }

    /// Whether a value is of a type in which constants can be combined without a loss that shows.
    pub fn is_precise(&self, id: ValueId) -> bool {
        matches!(self.element(id), Some(ElementType::F32 | ElementType::F64))
    }

    /// Whether a value is an output of the main graph.
    pub fn is_output(&self, id: ValueId) -> bool {
        self.outputs.contains(&id)
    }

    /// A name that no value has.
    pub(super) fn fresh_name(&self, label: &str) -> String {
        format!("{label}@{}", self.model.values.len())
    }

    /// Notes that a rule proposed something impossible.
    pub(super) fn fail(&mut self, problem: String) {
        self.problem.get_or_insert(problem);
    }

    pub(super) fn take_problem(&mut self) -> Option<String> {
        self.problem.take()
    }

    pub(super) fn enter(&mut self) {
        self.levels.push(Vec::new());
    }

    /// Closes the innermost region; gives its nodes.
    pub(super) fn leave(&mut self) -> Vec<Node> {
        self.levels.pop().unwrap_or_default()
    }

    /// What stands in the place of a value.
    pub(super) fn resolve(&self, mut id: ValueId) -> ValueId {
        while let Some(&other) = self.substitutes.get(&id) {
            id = other;
        }
        id
    }

    /// Uses of `old` are uses of `new` from now on.
    pub(super) fn substitute(&mut self, old: ValueId, new: ValueId) {
        self.substitutes.insert(old, new);
        let count = std::mem::take(&mut self.uses_mut()[old.0 as usize]);
        self.uses_mut()[new.0 as usize] += count;
    }

    pub(super) fn has_substitutes(&self) -> bool {
        !self.substitutes.is_empty()
    }

    /// Whether a node of the main graph itself, not of a region in it, defines the value.
    pub(super) fn is_defined_in_main(&self, id: ValueId) -> bool {
        self.definitions.get(id.0 as usize).copied().flatten().is_some_and(|place| place.level == 0)
    }

    /// Makes the node that defines `id` define `new` instead; uses of `id` are uses of `new` from now on. False where no
    /// visited node of an open region defines `id`.
    pub(super) fn rename(&mut self, id: ValueId, new: ValueId) -> bool {
        let Some(place) = self.definitions.get(id.0 as usize).copied().flatten() else { return false };
        let Some(node) = self.levels.get_mut(place.level).and_then(|nodes| nodes.get_mut(place.index)) else {
            return false;
        };
        let Some(slot) = node.outputs.iter_mut().find(|slot| **slot == Some(id)) else { return false };
        *slot = Some(new);
        self.definitions[new.0 as usize] = Some(place);
        let foldable = self.foldable[id.0 as usize];
        self.foldable[new.0 as usize] |= foldable;
        self.substitute(id, new);
        true
    }

    /// The node's inputs are used no more.
    pub(super) fn forget_uses(&mut self, node: &Node) {
        for id in node.inputs.iter().flatten() {
            let count = &mut self.uses_mut()[id.0 as usize];
            *count = count.saturating_sub(1);
        }
    }

    pub(super) fn add_uses(&mut self, node: &Node) {
        for id in node.inputs.iter().flatten() {
            self.uses_mut()[id.0 as usize] += 1;
        }
    }

    fn uses_mut(&mut self) -> &mut Vec<u32> {
        self.uses.resize(self.model.values.len(), 0);
        &mut self.uses
    }

    /// Adds a visited node to the innermost region.
    pub(super) fn push(&mut self, node: Node) {
        self.foldable.resize(self.model.values.len(), false);
        self.definitions.resize(self.model.values.len(), None);
        let foldable = self.will_fold(&node);
        let level = self.levels.len() - 1;
        let index = self.levels[level].len();
        for id in node.outputs.iter().flatten() {
            self.definitions[id.0 as usize] = Some(Place { level, index });
            self.foldable[id.0 as usize] = foldable || self.constant(*id).is_some();
        }
        self.levels[level].push(node);
    }

    /// Whether the code generator will compute a node's outputs at compile time.
    fn will_fold(&self, node: &Node) -> bool {
        let mut inputs = node.inputs.iter().flatten().peekable();
        if inputs.peek().is_none() || node.regions().next().is_some() || !inputs.all(|&id| self.is_foldable(id)) {
            return false;
        }
        if shape::find(node).map_or(true, |operator| operator.by_name) {
            return false;
        }
        let bytes = |ids: &[Option<ValueId>]| {
            ids.iter().flatten().try_fold(0i64, |sum, &id| Some(sum.saturating_add(self.bytes(id)?)))
        };
        let (Some(before), Some(after)) = (bytes(&node.inputs), bytes(&node.outputs)) else { return false };
        may_grow(before, after)
    }

    /// Bytes of a value of static shape.
    fn bytes(&self, id: ValueId) -> Option<i64> {
        let tensor = self.tensor(id)?;
        let len = tensor.len()?.as_const()?;
        i64::try_from(tensor.element.bytes_of(u64::try_from(len).ok()?)?).ok()
    }
}

fn count_uses(region: &Region, uses: &mut [u32]) {
    for node in &region.nodes {
        node.inputs.iter().flatten().for_each(|id| uses[id.0 as usize] += 1);
        node.regions().for_each(|(_, region)| count_uses(region, uses));
    }
    region.outputs.iter().for_each(|id| uses[id.0 as usize] += 1);
}
