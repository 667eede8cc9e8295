//! What a rule proposes to do with a node.

use std::collections::BTreeMap;

use super::site::Site;
use crate::graph::{Attribute, Node, OperatorName, Region, Tensor, Type, ValueId};

/// New nodes in the place of one node, and values that take the place of its outputs.
///
/// The node goes; others that only it used are left to the pass for dead code.
#[derive(Debug)]
pub struct Patch {
    /// Name of the node that goes, for the new ones.
    label: String,
    /// The new nodes, inferred.
    pub(super) nodes: Vec<Node>,
    /// Outputs of the node that goes, and what takes their places.
    pub(super) replaced: Vec<(ValueId, ValueId)>,
}

/// Attributes of a new node.
pub type Attributes<'a> = &'a [(&'a str, Attribute)];

impl Patch {
    /// An empty proposal about `node`.
    pub fn at(node: &Node) -> Self {
        Self { label: node.name.clone(), nodes: Vec::new(), replaced: Vec::new() }
    }

    /// The node gives `value` in the place of its only output.
    pub fn replace(mut self, node: &Node, value: ValueId) -> Option<Self> {
        self.replaced.push((node.output(0)?, value));
        Some(self)
    }

    /// Adds a constant.
    pub fn constant(&self, site: &mut Site<'_>, tensor: Tensor) -> ValueId {
        let name = site.fresh_name(&self.label);
        site.model.add_constant(name, tensor)
    }

    /// Adds a node of the default domain with one output; gives the output. `None` where the node is not possible.
    pub fn add(
        &mut self,
        site: &mut Site<'_>,
        operator: &str,
        version: i64,
        inputs: &[ValueId],
        attributes: Attributes<'_>,
    ) -> Option<ValueId> {
        let attributes: BTreeMap<String, Attribute> =
            attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        self.push(
            site,
            Node {
                name: self.label.clone(),
                operator: OperatorName { domain: String::new(), name: operator.to_owned() },
                version,
                inputs: inputs.iter().copied().map(Some).collect(),
                outputs: vec![None],
                attributes,
            },
        )
    }

    /// Adds a node like `model` with other inputs; gives its only output.
    pub fn add_like(&mut self, site: &mut Site<'_>, model: &Node, inputs: &[Option<ValueId>]) -> Option<ValueId> {
        self.push(site, Node { inputs: inputs.to_vec(), outputs: vec![None], ..model.clone() })
    }

    /// Adds a node whose only output is new.
    pub fn push(&mut self, site: &mut Site<'_>, mut node: Node) -> Option<ValueId> {
        let name = site.fresh_name(&self.label);
        let output = site.model.add_value(name, Type::Unknown);
        node.outputs = vec![Some(output)];
        match crate::shape::infer_node(site.model, &mut node) {
            Ok(()) => {
                self.nodes.push(node);
                Some(output)
            }
            Err(error) => {
                site.fail(format!("a new {} is not possible: {error}", node.operator.name));
                None
            }
        }
    }

    /// Puts the nodes of a region, none of which the model uses elsewhere, into the place of the node.
    pub fn splice(&mut self, region: Region) {
        self.nodes.extend(region.nodes);
    }
}
