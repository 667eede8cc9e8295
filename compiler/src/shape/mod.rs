//! Shape inference: the types of all values, and the elements of small integer tensors.

mod constants;
mod continuation;
mod known;

use crate::error::{Error, Errors, Stage};
use crate::graph::{Model, Node, Region, Type};
use crate::ops::{self, Fault, Infer, OperatorError};

/// What is wrong with a node.
type Problem = (Error, Fault);

/// Infers the types of all values of the model. Every node that fails on its own account is reported.
pub fn infer(model: &mut Model) -> Result<(), Errors> {
    let mut errors = Vec::new();
    let mut graph = std::mem::take(&mut model.graph);
    infer_region(model, &mut graph, &mut errors);
    model.graph = graph;
    let first = errors.first().cloned();
    let mut own: Vec<Error> =
        errors.into_iter().filter(|(_, fault)| *fault != Fault::Follows).map(|(error, _)| error).collect();
    if own.is_empty() {
        own.extend(first.map(|(error, _)| error));
    }
    if own.is_empty() { Ok(()) } else { Err(Errors(own)) }
}

/// Infers a region nested in the node that is being inferred. The problem that weighs most is the node's: one of the
/// compiler before one of the model, and that before what only follows.
pub(crate) fn infer_nested(model: &mut Model, region: &mut Region) -> ops::Result<()> {
    let mut errors = Vec::new();
    infer_region(model, region, &mut errors);
    let weight = |fault: Fault| match fault {
        Fault::Unsupported | Fault::Disagreement => 0,
        Fault::Invalid => 1,
        Fault::Follows => 2,
    };
    match errors.into_iter().min_by_key(|(_, fault)| weight(*fault)) {
        None => Ok(()),
        Some((error, Fault::Disagreement)) => Err(OperatorError::unsupported(error.to_string())),
        Some((error, fault)) => Err(OperatorError { message: error.to_string(), fault }),
    }
}

fn infer_region(model: &mut Model, region: &mut Region, errors: &mut Vec<Problem>) {
    let mut index = 0;
    while index < region.nodes.len() {
        match infer_node(model, &mut region.nodes[index]) {
            Err(error)
                if error.fault == Fault::Disagreement && continuation::move_into_branches(model, region, index) =>
            {
                continue;
            }
            Err(error) => {
                let place = describe(&region.nodes[index]);
                errors.push((Error::new(Stage::Shape, error.message).at(place), error.fault));
            }
            Ok(()) => {}
        }
        index += 1;
    }
}

/// Infers one node. Values that a model file or a caller declared are refined, not contradicted silently: the operator's
/// rule wins where both know a type.
pub fn infer_node(model: &mut Model, node: &mut Node) -> ops::Result<()> {
    let operator = find(node)?;
    for (index, input) in node.inputs.iter().enumerate() {
        if let Some(id) = input
            && model.value(*id).ty == Type::Unknown
        {
            let name = &model.value(*id).name;
            return Err(OperatorError::unknown(format!("the type of input {index} (`{name}`) is not known")));
        }
    }
    operator.infer(&mut Infer { model, node })?;
    known::propagate(model, node);
    constants::fold(model, node);
    Ok(())
}

/// The operator of a node.
pub fn find(node: &Node) -> ops::Result<&'static ops::Operator> {
    let (domain, name) = (node.operator.domain.as_str(), node.operator.name.as_str());
    ops::find(domain, name, node.version).ok_or_else(|| {
        let shown = if domain.is_empty() { "ai.onnx" } else { domain };
        OperatorError::unsupported(format!(
            "operator {name} of domain {shown} is not supported at operator set {}",
            node.version
        ))
    })
}

/// A node as messages name it: `name (Operator-version)`.
pub fn describe(node: &Node) -> String {
    let domain = if node.operator.domain.is_empty() { String::new() } else { format!("{}::", node.operator.domain) };
    format!("`{}` ({domain}{}-{})", node.name, node.operator.name, node.version)
}
