//! Model-local functions, inlined where they are called.

use std::collections::{BTreeMap, HashMap};

use super::scope::Scope;
use super::{Importer, MAX_FUNCTION_DEPTH, Place, fail, node_name, normalize_domain, required};
use crate::error::Error;
use crate::graph::{Node, Type};
use crate::proto::onnx::{AttributeProto, FunctionProto, NodeProto};

type Key = (String, String, String);

/// The functions of a model by domain, name and overload.
pub(super) struct Functions<'a> {
    by_name: HashMap<Key, &'a FunctionProto>,
}

impl<'a> Functions<'a> {
    pub fn of(functions: &'a [FunctionProto]) -> Result<Self, Error> {
        let mut by_name = HashMap::new();
        for function in functions {
            let key = (normalize_domain(function.domain()), function.name().to_owned(), function.overload().to_owned());
            if by_name.insert(key, function).is_some() {
                return Err(fail(format!(
                    "function `{}` of domain `{}` is defined twice",
                    function.name(),
                    function.domain()
                )));
            }
        }
        Ok(Self { by_name })
    }

    /// The function that a node calls.
    pub fn find(&self, node: &NodeProto) -> Option<&'a FunctionProto> {
        if self.by_name.is_empty() {
            return None;
        }
        let key = (normalize_domain(node.domain()), node.op_type().to_owned(), node.overload().to_owned());
        self.by_name.get(&key).copied()
    }
}

impl Importer<'_> {
    /// Puts a function's nodes in place of the node that calls it.
    pub(super) fn inline(
        &mut self,
        call: &NodeProto,
        function: &FunctionProto,
        scope: &mut Scope,
        place: &Place<'_>,
        nodes: &mut Vec<Node>,
    ) -> Result<(), Error> {
        let name = node_name(call);
        let at = |message: String| fail(message).at(format!("`{name}` ({})", call.op_type()));
        if place.depth >= MAX_FUNCTION_DEPTH {
            return Err(at(format!(
                "functions call each other more than {MAX_FUNCTION_DEPTH} deep, perhaps without end"
            )));
        }
        if call.input.len() > function.input.len() || call.output.len() > function.output.len() {
            return Err(at("the call passes more inputs or outputs than the function has".into()));
        }
        let arguments = call
            .input
            .iter()
            .map(|input| if input.is_empty() { Ok(None) } else { required(scope, input).map(Some) })
            .collect::<Result<Vec<_>, String>>()
            .map_err(at)?;
        // A function sees its parameters only.
        let mut inner = Scope::default();
        inner.enter();
        for (parameter, argument) in function.input.iter().zip(&arguments) {
            if let Some(id) = argument {
                inner.define(parameter, *id).map_err(at)?;
            }
        }
        let mut attributes: BTreeMap<&str, &AttributeProto> =
            function.attribute_proto.iter().map(|attribute| (attribute.name(), attribute)).collect();
        attributes.extend(call.attribute.iter().map(|attribute| (attribute.name(), attribute)));
        let mut versions = place.versions.clone();
        versions
            .extend(function.opset_import.iter().map(|import| (normalize_domain(import.domain()), import.version())));
        let absent: Vec<&str> =
            function.input.iter().map(String::as_str).filter(|input| inner.find(input).is_none()).collect();
        let body: Vec<NodeProto> =
            function.node.iter().map(|node| substitute(node, &attributes, &absent, &name)).collect();
        let inlined = self.nodes(&body, &mut inner, &Place { versions: &versions, depth: place.depth + 1 })?;
        nodes.extend(inlined);
        for (parameter, output) in function.output.iter().zip(&call.output).filter(|(_, output)| !output.is_empty()) {
            let id = match inner.find(parameter) {
                Some(id) => id,
                None => return Err(at(format!("the function does not compute its output `{parameter}`"))),
            };
            scope.define(output, id).map_err(at)?;
            let value = self.model.value_mut(id);
            if value.ty == Type::Unknown {
                value.name = output.clone();
            }
        }
        Ok(())
    }
}

/// A node of a function's body with the call's attributes in place of references to them, and inputs that the call leaves
/// out left out. A reference to an attribute that the call does not give makes the node's attribute absent.
fn substitute(
    node: &NodeProto,
    attributes: &BTreeMap<&str, &AttributeProto>,
    absent: &[&str],
    call: &str,
) -> NodeProto {
    let mut node = node.clone();
    node.name = Some(format!("{call}/{}", node_name(&node)));
    for input in &mut node.input {
        if absent.contains(&input.as_str()) {
            input.clear();
        }
    }
    node.attribute = node
        .attribute
        .into_iter()
        .filter_map(|mut attribute| {
            if attribute.ref_attr_name().is_empty() {
                let graphs = attribute.g.iter_mut().map(|graph| &mut **graph).chain(attribute.graphs.iter_mut());
                for graph in graphs {
                    for inner in &mut graph.node {
                        *inner = substitute(inner, attributes, absent, call);
                    }
                }
                return Some(attribute);
            }
            let given = attributes.get(attribute.ref_attr_name())?;
            Some(AttributeProto { name: attribute.name.take(), ..(*given).clone() })
        })
        .collect();
    node
}
