//! The elements of small integer tensors, as expressions over symbolic dimensions.
//!
//! A node whose inputs' elements are all known is lowered on its own, and its kernels are evaluated over [`Dim`] instead of
//! numbers. So every operator that lowers to kernels propagates known values without a rule of its own.

use std::collections::HashMap;

use crate::graph::{Dim, ElementType, Model, Node, Tensor, TensorData, ValueId};
use crate::loops::{Action, BufferId, BufferKind, Scalar, symbolic};
use crate::ops::{Lower, Lowering};

/// Sets the known elements of the node's outputs where they follow from those of its inputs.
pub(super) fn propagate(model: &mut Model, node: &Node) {
    if !node.outputs.iter().flatten().all(|&id| is_small(model, id)) || !inputs_are_known(model, node) {
        return;
    }
    if node.outputs.iter().flatten().all(|&id| model.value(id).known.is_some()) {
        return;
    }
    let Some(results) = evaluate(model, node) else { return };
    for (id, known) in node.outputs.iter().flatten().zip(results) {
        fold(model, *id, &known);
        model.value_mut(*id).known = Some(known);
    }
}

/// Makes a value of which all elements are numbers a constant.
fn fold(model: &mut Model, id: ValueId, known: &[Dim]) {
    let Some(numbers) = known.iter().map(Dim::as_const).collect::<Option<Vec<i64>>>() else { return };
    let Some(tensor) = model.value(id).ty.as_tensor() else { return };
    let Some(dims) = tensor.shape.iter().flatten().map(Dim::as_const).collect::<Option<Vec<i64>>>() else { return };
    let element = tensor.element;
    if element.bits() < 8 || dims.iter().product::<i64>() != numbers.len() as i64 {
        return;
    }
    let bytes: Vec<u8> = numbers
        .iter()
        .flat_map(|&number| Scalar::from_i64(element, number).bits.to_le_bytes().into_iter().take(element.bits() / 8))
        .collect();
    model.value_mut(id).constant = Some(Tensor { element, dims, data: TensorData::Bytes(bytes.into()) });
}

/// Whether a value is an integer or bool tensor of rank 0 or 1 with few elements.
fn is_small(model: &Model, id: ValueId) -> bool {
    let Some(tensor) = model.value(id).ty.as_tensor() else { return false };
    let integral = tensor.element.is_integer() || tensor.element == ElementType::Bool;
    let small = |dim: &Dim| dim.as_const().is_some_and(|len| len <= Model::MAX_KNOWN as i64);
    integral && tensor.shape.as_ref().is_some_and(|shape| shape.len() <= 1 && shape.iter().all(small))
}

fn inputs_are_known(model: &Model, node: &Node) -> bool {
    node.regions().next().is_none()
        && node.inputs.iter().flatten().all(|&id| {
            let value = model.value(id);
            value.known.is_some() || value.constant.as_ref().is_some_and(|tensor| tensor.len() <= 4 * Model::MAX_KNOWN)
        })
}

fn evaluate(model: &Model, node: &Node) -> Option<Vec<Vec<Dim>>> {
    let operator = super::find(node).ok()?;
    let mut shared = Lowering::new(model);
    let mut contents = HashMap::new();
    for &id in node.inputs.iter().flatten() {
        let value = model.value(id);
        let known = match (&value.known, &value.constant) {
            (Some(known), _) => known.clone(),
            (None, Some(tensor)) => tensor.integers()?.into_iter().map(Dim::constant).collect(),
            (None, None) => return None,
        };
        let tensor = value.ty.as_tensor()?;
        let buffer = shared.program.add_buffer(tensor.element, tensor.shape.clone()?, BufferKind::Temporary);
        let view = shared.program.view(buffer);
        shared.views.insert(id, view);
        contents.insert(buffer, known);
    }
    let mut steps = Vec::new();
    operator.lower(&mut Lower { shared: &mut shared, node, steps: &mut steps, label: 0 }).ok()?;
    for (index, buffer) in shared.program.buffers.iter().enumerate() {
        if let BufferKind::Constant(tensor) = &buffer.kind
            && let Some(integers) = tensor.integers()
        {
            contents.insert(BufferId(index as u32), integers.into_iter().map(Dim::constant).collect());
        }
    }
    for step in &steps {
        match &step.action {
            Action::Launch { kernel, buffers } => symbolic::run(kernel, buffers, &mut contents)?,
            Action::Check { .. } => {}
            _ => return None,
        }
    }
    let result = |id: &ValueId| {
        let view = shared.views.get(id)?;
        // Elsewhere the output is the same memory under another element type.
        let same_element = shared.program.buffer(view.buffer).element == view.element;
        if same_element { contents.get(&view.buffer).cloned() } else { None }
    };
    node.outputs.iter().flatten().map(result).collect()
}
