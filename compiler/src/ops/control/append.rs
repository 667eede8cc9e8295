//! Scan outputs of loops whose rounds nobody can count beforehand: memory that grows by doubling.

use super::slices;
use super::tensor_of;
use crate::graph::{CompareOperator, Dim, SymbolId, ValueId};
use crate::loops::{Action, View};
use crate::ops::tensor::write_part;
use crate::ops::{Lower, OperatorError, Result};

/// A growing list of elements.
#[derive(Debug)]
pub struct Growing {
    grown: View,
    capacity: SymbolId,
    used: SymbolId,
    /// Dimensions of a round's value that the output knows as symbols of its own.
    open: Vec<(usize, SymbolId)>,
}

impl Growing {
    /// Begins the list whose rounds give `value`, for output `output` of the node, which has the rounds as first axis.
    pub fn start(ctx: &mut Lower<'_, '_>, value: ValueId, output: usize) -> Result<Self> {
        let (element, stacked) = ctx.output_type(output)?;
        let (_, shape) = tensor_of(ctx.shared.model, value)?;
        let mut open = Vec::new();
        for (axis, (dim, inner)) in stacked[1..].iter().zip(&shape).enumerate() {
            if dim != inner {
                let symbol = dim.as_symbol();
                let symbol = symbol.ok_or_else(|| OperatorError::new("a stacked dimension is decided twice"))?;
                open.push((axis, symbol));
                ctx.set_symbol(symbol, Dim::ZERO);
            }
        }
        let (capacity, used) = (ctx.fresh_symbol("capacity"), ctx.fresh_symbol("used"));
        ctx.set_symbol(capacity, Dim::ZERO);
        ctx.set_symbol(used, Dim::ZERO);
        let grown = ctx.temporary(element, &[Dim::symbol(capacity)]);
        slices::begin(ctx, &grown)?;
        Ok(Self { grown, capacity, used, open })
    }

    /// Appends what a round made.
    pub fn append(&self, ctx: &mut Lower<'_, '_>, value: ValueId) -> Result<()> {
        let source = ctx.shared.view(value)?;
        let (_, shape) = tensor_of(ctx.shared.model, value)?;
        let length = ctx.named(Dim::product(&shape));
        let (used, capacity) = (Dim::symbol(self.used), Dim::symbol(self.capacity));
        let needed = ctx.named(&used + &length);
        let grow = ctx.block(|ctx| {
            let larger = ctx.named((&capacity * 2).max(&needed));
            let copy = ctx.temporary(self.grown.element, std::slice::from_ref(&larger));
            let mut nest = ctx.nest();
            let source = nest.read(&self.grown);
            let target = write_part(&mut nest, &copy);
            let position = nest.outer_axis(used.clone());
            let value = nest.load(source, &[position]);
            nest.store(target, &[position], value);
            slices::begin(ctx, &copy)?;
            ctx.launch(nest);
            ctx.step(Action::Move { from: copy.buffer, to: self.grown.buffer });
            ctx.set_symbol(self.capacity, larger);
            Ok(())
        })?;
        let is_full = needed.compare(CompareOperator::Greater, &capacity);
        ctx.step(Action::If { condition: is_full, then: grow, otherwise: Vec::new() });
        let mut nest = ctx.nest();
        let source = nest.read(&View { shape: vec![length.clone()], ..source });
        let target = write_part(&mut nest, &self.grown);
        let position = nest.outer_axis(length);
        let offset = nest.dim(&used);
        let at = nest.add(offset, position);
        let value = nest.load(source, &[position]);
        nest.store(target, &[at], value);
        ctx.launch(nest);
        ctx.set_symbol(self.used, needed);
        for (axis, symbol) in &self.open {
            ctx.set_symbol(*symbol, shape[*axis].clone());
        }
        Ok(())
    }

    /// Copies the list to the node's output `output`.
    pub fn finish(&self, ctx: &mut Lower<'_, '_>, output: usize) -> Result<()> {
        let (_, shape) = ctx.output_type(output)?;
        let length = ctx.named(Dim::product(&shape));
        let used = Dim::symbol(self.used);
        ctx.check(
            length.compare(CompareOperator::Equal, &used),
            "the rounds give values of different shapes to stack",
        )?;
        let target = ctx.output(output)?;
        let mut nest = ctx.nest();
        let source = nest.read(&self.grown);
        let target = nest.write(&View { shape: vec![length.clone()], ..target });
        let position = nest.outer_axis(length);
        let value = nest.load(source, &[position]);
        nest.store(target, &[position], value);
        ctx.launch(nest);
        Ok(())
    }
}
