//! Every problem of a model at once.

use std::collections::BTreeSet;

use crate::error::Error;
use crate::graph::{Model, Node, Region, Type, ValueId};
use crate::loops;
use crate::pipeline::{self, CompileOptions, Observer};
use crate::shape;

/// Everything that keeps a loaded model from being compiled; empty where it compiles.
///
/// Where types cannot be inferred, the nodes that do not depend on those are still lowered, so that their problems are
/// found too.
pub fn problems(model: &mut Model, options: &CompileOptions, observer: &mut dyn Observer) -> Vec<Error> {
    if let Err(errors) = options.target.check() {
        return vec![errors];
    }
    // Inference keeps what it has found: a second one in the pipeline starts from there.
    let mut problems = match shape::infer(model) {
        Ok(()) => {
            let result = pipeline::compile_observed(model, options, observer);
            return result.err().map_or(Vec::new(), |errors| errors.0);
        }
        Err(errors) => errors.0,
    };
    let failed: BTreeSet<String> = problems.iter().filter_map(|error| error.node.clone()).collect();
    if let Err(errors) = loops::lower(&sound_part(model, &failed)) {
        problems.extend(errors.0);
    }
    problems
}

/// The model without outputs, failed nodes, and nodes that use what those compute.
fn sound_part(model: &Model, failed: &BTreeSet<String>) -> Model {
    let mut part = model.clone();
    let mut unsound: BTreeSet<ValueId> = BTreeSet::new();
    let is_unknown = |id: &ValueId| model.value(*id).ty == Type::Unknown;
    part.graph.outputs.clear();
    part.graph.nodes.retain(|node| {
        let depends = used(node).iter().any(|id| unsound.contains(id));
        let outputs: Vec<ValueId> = node.outputs.iter().flatten().copied().collect();
        let sound = !depends && !failed.contains(&shape::describe(node)) && !outputs.iter().any(is_unknown);
        if !sound {
            unsound.extend(outputs);
        }
        sound
    });
    part
}

/// The values that a node reads, in nested regions too.
fn used(node: &Node) -> Vec<ValueId> {
    fn of_region(region: &Region, values: &mut Vec<ValueId>) {
        values.extend(&region.outputs);
        region.nodes.iter().for_each(|node| values.extend(used(node)));
    }
    let mut values: Vec<ValueId> = node.inputs.iter().flatten().copied().collect();
    node.regions().for_each(|(_, region)| of_region(region, &mut values));
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Dim, ElementType, OperatorName};

    fn node(name: &str, operator: &str, inputs: &[ValueId], output: ValueId) -> Node {
        Node {
            name: name.into(),
            operator: OperatorName { domain: String::new(), name: operator.into() },
            version: 18,
            inputs: inputs.iter().copied().map(Some).collect(),
            outputs: vec![Some(output)],
            attributes: Default::default(),
        }
    }

    fn model(operators: [&str; 3]) -> Model {
        let mut model = Model::default();
        let x = model.add_value("x", Type::tensor(ElementType::F32, vec![Dim::constant(2)]));
        let values: Vec<ValueId> = ["a", "b", "c"].map(|name| model.add_value(name, Type::Unknown)).to_vec();
        let nodes = vec![
            node("first", operators[0], &[x], values[0]),
            node("second", operators[1], &[values[0]], values[1]),
            node("third", operators[2], &[x], values[2]),
        ];
        model.graph = Region { inputs: vec![x], nodes, outputs: vec![values[1], values[2]] };
        model
    }

    #[test]
    fn a_model_that_compiles_has_none() {
        let options = CompileOptions::host("m");
        assert_eq!(problems(&mut model(["Relu", "Relu", "Relu"]), &options, &mut ()), []);
    }

    #[test]
    fn all_are_listed_and_none_that_follows() {
        let options = CompileOptions::host("m");
        let found = problems(&mut model(["Nothing", "Relu", "Unheard"]), &options, &mut ());
        let nodes: Vec<_> = found.iter().filter_map(|error| error.node.as_deref()).collect();
        assert_eq!(nodes, ["`first` (Nothing-18)", "`third` (Unheard-18)"]);
    }
}
