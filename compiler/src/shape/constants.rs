//! Small results that depend on constants only, computed while types are inferred.
//!
//! Later shape rules need them: pads, scales and axes often come from chains of operators on constants. Large results are
//! left to the code generator's folding, which runs native code.

use crate::graph::{Dim, Model, Node, Region, Tensor, Type};
use crate::loops::interpret::{Fuel, interpret_program, no_routines};

/// Elements of all inputs and outputs together up to which a node is computed here.
const MAX_ELEMENTS: i64 = 4096;

/// Steps that computing one node may take.
const MAX_STEPS: u64 = 1 << 18;

/// Makes the node's outputs constants where its inputs are and all are small.
pub(super) fn fold(model: &mut Model, node: &Node) {
    let outputs: Vec<_> = node.outputs.iter().flatten().copied().collect();
    if node.inputs.iter().flatten().next().is_none()
        || node.regions().next().is_some()
        || outputs.iter().all(|&id| model.value(id).constant.is_some())
        || !is_small(model, node)
    {
        return;
    }
    let Some(results) = compute(model, node) else { return };
    for (id, tensor) in outputs.into_iter().zip(results) {
        let value = model.value_mut(id);
        if value.known.is_none() && tensor.dims.len() <= 1 && tensor.len() <= Model::MAX_KNOWN {
            value.known = tensor.integers().map(|numbers| numbers.into_iter().map(Dim::constant).collect());
        }
        value.constant = Some(tensor);
    }
}

fn is_small(model: &Model, node: &Node) -> bool {
    let mut total = 0i64;
    for &id in node.inputs.iter().flatten() {
        let Some(tensor) = &model.value(id).constant else { return false };
        total = total.saturating_add(tensor.len() as i64);
    }
    for &id in node.outputs.iter().flatten() {
        let len = model.value(id).ty.as_tensor().and_then(|tensor| tensor.len()).and_then(|len| len.as_const());
        let Some(len) = len else { return false };
        total = total.saturating_add(len);
    }
    total <= MAX_ELEMENTS
}

/// Lowers the node in a model of its own and interprets it.
fn compute(model: &Model, node: &Node) -> Option<Vec<Tensor>> {
    let mut alone = Model { symbols: model.symbols.clone(), ..Model::default() };
    let mut node = node.clone();
    for slot in node.inputs.iter_mut().flatten() {
        let value = model.value(*slot).clone();
        *slot = alone.add_constant(value.name, value.constant?);
    }
    let mut outputs = Vec::new();
    for slot in node.outputs.iter_mut().flatten() {
        let Type::Tensor(_) = model.value(*slot).ty else { return None };
        *slot = alone.add_value("", model.value(*slot).ty.clone());
        outputs.push(*slot);
    }
    alone.graph = Region { inputs: Vec::new(), nodes: vec![node], outputs };
    let program = crate::loops::lower(&alone).ok()?;
    interpret_program(&program, Vec::new(), &no_routines, &mut Fuel::new(MAX_STEPS)).ok()
}
