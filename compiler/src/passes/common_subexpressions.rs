//! Gives equal nodes with equal inputs one result, and equal small constants one value.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::graph::{Attribute, Dim, Model, Node, Region, Tensor, TensorData, Type, ValueId};
use crate::shape;

/// Constants of more elements are not compared.
const MAX_ELEMENTS: usize = 256;

/// Gives the number of nodes whose results are no longer used.
pub fn run(model: &mut Model) -> usize {
    let mut graph = std::mem::take(&mut model.graph);
    let mut pass = Pass {
        outputs: graph.outputs.clone(),
        model,
        seen: HashMap::new(),
        constants: HashMap::new(),
        representatives: HashMap::new(),
        merged: 0,
    };
    pass.outputs.sort_unstable();
    pass.region(&mut graph);
    let merged = pass.merged;
    model.graph = graph;
    merged
}

struct Pass<'a> {
    model: &'a Model,
    /// Outputs of the main graph, which keep their names.
    outputs: Vec<ValueId>,
    /// Nodes by the hash of what decides their results. Only nodes that the present region sees.
    seen: HashMap<u64, Vec<Node>>,
    /// Constants by the hash of their contents.
    constants: HashMap<u64, Vec<ValueId>>,
    /// Which value stands for another.
    representatives: HashMap<ValueId, ValueId>,
    merged: usize,
}

impl Pass<'_> {
    fn region(&mut self, region: &mut Region) {
        let mut visible = Vec::new();
        for node in &mut region.nodes {
            for id in node.inputs.iter_mut().flatten() {
                *id = self.representative(*id);
            }
            node.regions_mut().for_each(|nested| self.region(nested));
            self.node(node, &mut visible);
        }
        for id in &mut region.outputs {
            // The name of a model's output is that of its value; those of other regions have none.
            if self.outputs.binary_search(id).is_err() {
                *id = self.representative(*id);
            }
        }
        for key in visible {
            self.seen.get_mut(&key).map(Vec::pop);
        }
    }

    /// Finds an equal node before this one, or remembers this one.
    fn node(&mut self, node: &Node, visible: &mut Vec<u64>) {
        if node.regions().next().is_some() || shape::find(node).map_or(true, |operator| operator.by_name) {
            return;
        }
        let key = key(node);
        let earlier = self.seen.entry(key).or_default();
        if let Some(earlier) = earlier.iter().find(|earlier| is_equal(earlier, node)) {
            let pairs: Vec<_> =
                node.outputs.iter().zip(&earlier.outputs).filter_map(|(a, b)| Some(((*a)?, *b))).collect();
            if pairs.iter().all(|&(id, other)| other.is_some_and(|other| self.can_merge(id, other))) {
                let already = pairs.iter().all(|(id, _)| self.representatives.contains_key(id));
                self.merged += usize::from(!already);
                self.representatives.extend(pairs.iter().filter_map(|&(id, other)| Some((id, other?))));
            }
            return;
        }
        earlier.push(node.clone());
        visible.push(key);
    }

    /// Whether `other` can be used in the place of `id`: types that mention symbols of their own differ.
    fn can_merge(&self, id: ValueId, other: ValueId) -> bool {
        let (a, b) = (self.model.value(id), self.model.value(other));
        let is_known = |ty: &Type| match ty {
            Type::Tensor(tensor) => tensor.shape.as_ref().is_some_and(|shape| !shape.iter().any(Dim::is_unknown)),
            _ => false,
        };
        let is_output = self.outputs.binary_search(&id).is_ok();
        !is_output && is_known(&a.ty) && a.ty == b.ty && a.known == b.known && a.bound.is_empty() && b.bound.is_empty()
    }

    /// The value that stands for `id`; equal small constants have one.
    fn representative(&mut self, id: ValueId) -> ValueId {
        if let Some(&other) = self.representatives.get(&id) {
            return other;
        }
        let Some(tensor) = self.model.value(id).constant.as_ref() else { return id };
        if tensor.len() > MAX_ELEMENTS {
            return id;
        }
        let candidates = self.constants.entry(hash(|state| tensor_into(tensor, state))).or_default();
        let equal = candidates
            .iter()
            .find(|other| self.model.value(**other).constant.as_ref().is_some_and(|other| other == tensor));
        match equal {
            Some(&other) => {
                self.representatives.insert(id, other);
                other
            }
            None => {
                candidates.push(id);
                id
            }
        }
    }
}

/// The hash of what decides a node's results.
fn key(node: &Node) -> u64 {
    hash(|state| {
        (&node.operator, node.version, &node.inputs, node.outputs.len()).hash(state);
        for (name, value) in &node.attributes {
            name.hash(state);
            attribute_into(value, state);
        }
    })
}

fn hash(content: impl FnOnce(&mut DefaultHasher)) -> u64 {
    let mut state = DefaultHasher::new();
    content(&mut state);
    state.finish()
}

/// Types and regions add nothing: equality decides.
fn attribute_into(attribute: &Attribute, state: &mut DefaultHasher) {
    match attribute {
        Attribute::Float(value) => value.to_bits().hash(state),
        Attribute::Floats(values) => values.iter().for_each(|value| value.to_bits().hash(state)),
        Attribute::Int(value) => value.hash(state),
        Attribute::Ints(values) => values.hash(state),
        Attribute::String(value) => value.hash(state),
        Attribute::Strings(values) => values.hash(state),
        Attribute::Tensor(tensor) => tensor_into(tensor, state),
        Attribute::Tensors(tensors) => tensors.iter().for_each(|tensor| tensor_into(tensor, state)),
        Attribute::Type(_) | Attribute::Types(_) | Attribute::Region(_) | Attribute::Regions(_) => {}
    }
}

fn tensor_into(tensor: &Tensor, state: &mut DefaultHasher) {
    (tensor.element, &tensor.dims).hash(state);
    match &tensor.data {
        TensorData::Strings(strings) => strings.hash(state),
        // Large tensors are told apart by comparing them.
        TensorData::Bytes(bytes) | TensorData::Splat(bytes) => bytes[..bytes.len().min(1024)].hash(state),
    }
}

fn is_equal(a: &Node, b: &Node) -> bool {
    a.operator == b.operator
        && a.version == b.version
        && a.inputs == b.inputs
        && a.outputs.len() == b.outputs.len()
        && a.attributes.len() == b.attributes.len()
        && a.attributes.iter().zip(&b.attributes).all(|((a, x), (b, y))| a == b && is_same_attribute(x, y))
}

/// Equality of contents: 0 is not -0, and a NaN is the NaN of the same bits.
fn is_same_attribute(a: &Attribute, b: &Attribute) -> bool {
    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    match (a, b) {
        (Attribute::Float(a), Attribute::Float(b)) => a.to_bits() == b.to_bits(),
        (Attribute::Floats(a), Attribute::Floats(b)) => bits(a) == bits(b),
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{parse, print};

    fn after(text: &str) -> String {
        let mut model = parse(text).unwrap();
        shape::infer(&mut model).unwrap();
        run(&mut model);
        crate::graph::verify(&model).unwrap();
        print(&model)
    }

    #[test]
    fn random_nodes_without_a_seed_stay_apart() {
        let text = r#"graph "m" {
            "a": ? = RandomNormal-1() {shape = [2]}
            "b": ? = RandomNormal-1() {shape = [2]}
            "c": ? = Add-14("a", "b")
            output "c"
        }"#;
        assert!(after(text).contains(r#"Add-14("a", "b")"#));
    }

    #[test]
    fn zeros_of_either_sign_stay_apart() {
        let text = r#"graph "m" {
            input "x": f32[2]
            "a": ? = LeakyRelu-16("x") {alpha = 0.0}
            "b": ? = LeakyRelu-16("x") {alpha = -0.0}
            "c": ? = Div-14("a", "b")
            output "c"
        }"#;
        assert!(after(text).contains(r#"Div-14("a", "b")"#));
    }

    #[test]
    fn a_region_uses_the_result_of_a_node_around_it_but_not_of_one_beside_it() {
        let text = r#"graph "m" {
            input "c": bool[]
            input "x": f32[2]
            "y": ? = Abs-13("x")
            "z": ? = If-16("c")
              then_branch { "a": ? = Abs-13("x") "b": ? = Neg-13("a") output "b" }
              else_branch { "d": ? = Neg-13("y") output "d" }
            output "z"
        }"#;
        let text = after(text);
        assert!(text.contains(r#""b": f32[2] = Neg-13("y")"#), "{text}");
        assert!(text.contains(r#"output "d""#), "{text}");
    }
}
