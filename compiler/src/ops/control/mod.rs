//! Control flow: operators with graphs as attributes become branches and loops of the program.

mod append;
mod branch;
mod carried;
mod scan;
mod scan_batch;
mod slices;
#[cfg(test)]
mod tests;
mod trip;

use super::{Infer, Lower, Operator, OperatorError, Result};
use crate::graph::{Attribute, Dim, Model, Node, Region, TensorType, ValueId};

/// The operators of this family.
pub static OPERATORS: &[Operator] = &[
    Operator::new("If", branch::infer, branch::lower),
    Operator::new("Loop", trip::infer, trip::lower),
    Operator::new("Scan", scan_batch::infer, scan_batch::lower).until(9),
    Operator::new("Scan", scan::infer, scan::lower).since(9),
];

/// Calls `body` with a graph attribute taken out of the node, and puts it back.
fn with_region<T>(
    ctx: &mut Infer<'_>,
    attribute: &str,
    body: impl FnOnce(&mut Infer<'_>, &mut Region) -> Result<T>,
) -> Result<T> {
    match ctx.node.attributes.remove(attribute) {
        Some(Attribute::Region(mut region)) => {
            let result = body(ctx, &mut region);
            ctx.node.attributes.insert(attribute.into(), Attribute::Region(region));
            result
        }
        _ => Err(OperatorError::new(format!("the graph `{attribute}` is missing"))),
    }
}

/// A graph attribute that must be there.
fn region<'a>(node: &'a Node, attribute: &str) -> Result<&'a Region> {
    node.region(attribute)?.ok_or_else(|| OperatorError::new(format!("the graph `{attribute}` is missing")))
}

/// Checks that a body has the inputs and outputs that its node needs.
fn check_ports(region: &Region, inputs: usize, outputs: usize) -> Result<()> {
    if region.inputs.len() != inputs || region.outputs.len() != outputs {
        return Err(OperatorError::new(format!(
            "the body has {} inputs and {} outputs, where {inputs} and {outputs} are needed",
            region.inputs.len(),
            region.outputs.len()
        )));
    }
    Ok(())
}

/// The tensor type of a value of known rank.
fn tensor_of(model: &Model, id: ValueId) -> Result<(TensorType, Vec<Dim>)> {
    let value = model.value(id);
    let tensor = value.ty.as_tensor().ok_or_else(|| {
        let kind = "is not a tensor of known type, which control flow does not support yet";
        OperatorError::unsupported(format!("`{}` {kind}", value.name))
    })?;
    let shape = tensor.shape.clone();
    let shape = shape.ok_or_else(|| OperatorError::unknown(format!("the rank of `{}` is not known", value.name)))?;
    Ok((tensor.clone(), shape))
}

/// Whether any node of the region, or of regions inside it, reads the value.
fn reads(region: &Region, id: ValueId) -> bool {
    region.outputs.contains(&id)
        || region
            .nodes
            .iter()
            .any(|node| node.inputs.contains(&Some(id)) || node.regions().any(|(_, nested)| reads(nested, id)))
}

impl<'a> Lower<'a, '_> {
    /// The steps that `contents` adds, as a block of their own.
    fn block(&mut self, contents: impl FnOnce(&mut Lower<'a, '_>) -> Result<()>) -> Result<Vec<crate::loops::Step>> {
        let mut steps = Vec::new();
        contents(&mut Lower { shared: &mut *self.shared, node: self.node, steps: &mut steps, label: self.label })?;
        Ok(steps)
    }

    /// A new symbol of the program, at least 0.
    fn fresh_symbol(&mut self, prefix: &str) -> crate::graph::SymbolId {
        self.shared.program.symbols.fresh(prefix)
    }
}
