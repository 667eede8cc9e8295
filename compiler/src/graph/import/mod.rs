//! From protobuf messages to the graph form: names become values, functions are inlined, nodes are put in order.

mod attributes;
mod functions;
mod order;
mod scope;
mod types;

use std::collections::{BTreeMap, BTreeSet};

use super::{Dim, Model, Node, OperatorName, Region, Type, ValueId};
use crate::error::{Error, Stage};
use crate::proto;
use crate::proto::onnx::{GraphProto, NodeProto};
use functions::Functions;
use scope::Scope;

/// What the user fixes at compile time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// Sizes of symbolic dimensions by name.
    pub dims: BTreeMap<String, i64>,
    /// Shapes of inputs by name.
    pub input_shapes: BTreeMap<String, Vec<i64>>,
}

/// Nodes that inlining may make in all.
const MAX_NODES: usize = 200_000;

/// Inlined functions within one another.
const MAX_FUNCTION_DEPTH: usize = 32;

/// Builds the graph form of a loaded model.
///
/// # Errors
/// Where names, types or attributes are inconsistent; the message names the node or value.
pub fn import(source: &proto::Model, options: &ImportOptions) -> Result<Model, Error> {
    let mut model = Model { name: source.graph().name().to_owned(), ..Model::default() };
    for import in &source.proto.opset_import {
        let domain = normalize_domain(import.domain());
        model.operator_sets.insert(domain, import.version());
    }
    let strings = [
        ("producer_name", source.proto.producer_name()),
        ("producer_version", source.proto.producer_version()),
        ("domain", source.proto.domain()),
    ];
    for (key, value) in strings.into_iter().filter(|(_, value)| !value.is_empty()) {
        model.metadata.insert(key.to_owned(), value.to_owned());
    }
    for entry in &source.proto.metadata_props {
        model.metadata.insert(entry.key().to_owned(), entry.value().to_owned());
    }
    let functions = Functions::of(&source.proto.functions)?;
    let versions = model.operator_sets.clone();
    let mut importer =
        Importer { source, options, functions: &functions, model: &mut model, nodes: 0, named_dims: BTreeSet::new() };
    let mut scope = Scope::default();
    let graph = importer.graph(source.graph(), &mut scope, &Place { versions: &versions, depth: 0 }, true)?;
    let named = importer.named_dims;
    if let Some(name) = options.dims.keys().find(|name| !named.contains(*name)) {
        let known: Vec<&str> = named.iter().map(String::as_str).collect();
        return Err(fail(format!("--dim names `{name}`; the model's symbolic dimensions are [{}]", known.join(", "))));
    }
    model.graph = graph;
    Ok(model)
}

/// The default domain has two spellings.
fn normalize_domain(domain: &str) -> String {
    if domain == "ai.onnx" { String::new() } else { domain.to_owned() }
}

fn fail(message: impl Into<String>) -> Error {
    Error::new(Stage::Graph, message)
}

/// Where in the nesting of functions a node stands.
struct Place<'a> {
    versions: &'a BTreeMap<String, i64>,
    depth: usize,
}

struct Importer<'a> {
    source: &'a proto::Model,
    options: &'a ImportOptions,
    functions: &'a Functions<'a>,
    model: &'a mut Model,
    nodes: usize,
    /// Names of the symbolic dimensions that declared types have.
    named_dims: BTreeSet<String>,
}

impl Importer<'_> {
    fn graph(&mut self, graph: &GraphProto, scope: &mut Scope, place: &Place<'_>, main: bool) -> Result<Region, Error> {
        scope.enter();
        let mut region = Region::default();
        for tensor in &graph.initializer {
            let value = self.source.tensor(tensor).map_err(|error| Error::new(Stage::Load, error.to_string()))?;
            let constant =
                types::tensor(value).map_err(|error| fail(format!("initializer `{}`: {error}", tensor.name())))?;
            let id = self.model.add_constant(tensor.name(), constant);
            scope.define(tensor.name(), id).map_err(fail)?;
        }
        for sparse in &graph.sparse_initializer {
            let name = sparse.values.as_ref().map_or("", |values| values.name());
            let value =
                self.source.sparse_tensor(sparse).map_err(|error| Error::new(Stage::Load, error.to_string()))?;
            let constant =
                types::tensor(value).map_err(|error| fail(format!("sparse initializer `{name}`: {error}")))?;
            let id = self.model.add_constant(name, constant);
            scope.define(name, id).map_err(fail)?;
        }
        for input in &graph.input {
            // An initializer of the same name is the input's value.
            if scope.defined_here(input.name()).is_some() {
                continue;
            }
            let mut ty = match &input.r#type {
                Some(proto) => {
                    self.declared_type(proto).map_err(|error| fail(format!("input `{}`: {error}", input.name())))?
                }
                None if main => return Err(fail(format!("input `{}` has no type", input.name()))),
                None => Type::Unknown,
            };
            if main {
                self.fix_shape(input.name(), &mut ty)?;
            }
            let id = self.model.add_value(input.name(), ty);
            scope.define(input.name(), id).map_err(fail)?;
            region.inputs.push(id);
        }
        if main {
            self.check_options(&region)?;
        }
        region.nodes = self.nodes(&graph.node, scope, place)?;
        for output in &graph.output {
            let id = scope.find(output.name());
            region.outputs.push(id.ok_or_else(|| fail(format!("output `{}` is computed by no node", output.name())))?);
        }
        scope.leave();
        Ok(region)
    }

    fn nodes(&mut self, protos: &[NodeProto], scope: &mut Scope, place: &Place<'_>) -> Result<Vec<Node>, Error> {
        let mut nodes = Vec::with_capacity(protos.len());
        for index in order::definition_order(protos, scope).map_err(fail)? {
            self.node(&protos[index], scope, place, &mut nodes)?;
        }
        Ok(nodes)
    }

    fn node(
        &mut self,
        proto: &NodeProto,
        scope: &mut Scope,
        place: &Place<'_>,
        nodes: &mut Vec<Node>,
    ) -> Result<(), Error> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(fail(format!("the model has more than {MAX_NODES} nodes once its functions are inlined")));
        }
        if let Some(function) = self.functions.find(proto) {
            return self.inline(proto, function, scope, place, nodes);
        }
        let operator = OperatorName { domain: normalize_domain(proto.domain()), name: proto.op_type().to_owned() };
        let name = node_name(proto);
        let at = |message: String| fail(message).at(format!("`{name}` ({})", operator.name));
        let version = place
            .versions
            .get(&operator.domain)
            .copied()
            .or_else(|| self.model.operator_sets.get(&operator.domain).copied());
        let version = match version {
            Some(version) => version,
            // Files of the first years import nothing.
            None if operator.domain.is_empty() && self.model.operator_sets.is_empty() => 1,
            None if operator.domain == "com.microsoft" => 1,
            None => {
                let domain = if operator.domain.is_empty() { "ai.onnx" } else { &operator.domain };
                return Err(at(format!("the model does not import the operator set of domain {domain}")));
            }
        };
        let inputs = proto
            .input
            .iter()
            .map(|input| match input.as_str() {
                "" => Ok(None),
                input => scope
                    .find(input)
                    .map(Some)
                    .ok_or_else(|| at(format!("input `{input}` is computed by no earlier node"))),
            })
            .collect::<Result<Vec<_>, _>>()?;
        let mut attributes = BTreeMap::new();
        for attribute in &proto.attribute {
            let value = self
                .attribute(attribute, scope, place)
                .map_err(|error| error.at(format!("`{name}` ({})", operator.name)))?;
            attributes.insert(attribute.name().to_owned(), value);
        }
        let mut outputs = Vec::with_capacity(proto.output.len());
        for output in &proto.output {
            outputs.push(if output.is_empty() {
                None
            } else {
                let id = self.model.add_value(output.as_str(), Type::Unknown);
                scope.define(output, id).map_err(at)?;
                Some(id)
            });
        }
        nodes.push(Node { name, operator, version, inputs, outputs, attributes });
        Ok(())
    }

    /// Applies `--input-shape` and `--dim` to an input's type.
    fn fix_shape(&mut self, name: &str, ty: &mut Type) -> Result<(), Error> {
        let Some(shape) = self.options.input_shapes.get(name) else { return Ok(()) };
        let Type::Tensor(tensor) = ty else {
            return Err(fail(format!("input `{name}` is not a tensor and takes no shape")));
        };
        if let Some(declared) = &tensor.shape {
            let fits = declared.len() == shape.len()
                && declared
                    .iter()
                    .zip(shape)
                    .all(|(declared, &given)| declared.as_const().is_none_or(|size| size == given));
            if !fits {
                let shown: Vec<String> =
                    declared.iter().map(|dim| dim.display(&self.model.symbols).to_string()).collect();
                return Err(fail(format!(
                    "--input-shape for `{name}` does not fit the declared shape [{}]",
                    shown.join(", ")
                )));
            }
        }
        tensor.shape = Some(shape.iter().map(|&dim| Dim::constant(dim)).collect());
        Ok(())
    }

    fn check_options(&self, region: &Region) -> Result<(), Error> {
        let names: Vec<&str> = region.inputs.iter().map(|&id| self.model.value(id).name.as_str()).collect();
        if let Some(name) = self.options.input_shapes.keys().find(|name| !names.contains(&name.as_str())) {
            return Err(fail(format!("--input-shape names `{name}`; the inputs are {}", names.join(", "))));
        }
        Ok(())
    }
}

/// The node's own name, or one made from its first output.
fn node_name(proto: &NodeProto) -> String {
    if !proto.name().is_empty() {
        return proto.name().to_owned();
    }
    proto.output.iter().find(|output| !output.is_empty()).cloned().unwrap_or_else(|| proto.op_type().to_owned())
}

/// The value of a name, or an error that says it is missing.
fn required(scope: &Scope, name: &str) -> Result<ValueId, String> {
    scope.find(name).ok_or_else(|| format!("`{name}` is computed by no earlier node"))
}
