//! The elementwise kernel of one step.

use super::recurrence::Recurrence;
use crate::graph::{Dim, ElementType};
use crate::loops::{CompareOp, ExprId, ParameterId, View};
use crate::ops::{Lower, Nest, Result};

/// A kernel over directions, batch and state.
pub struct Cell<'r> {
    /// The kernel.
    pub nest: Nest,
    recurrence: &'r Recurrence,
    /// Positions: direction, member of the batch, element of the state.
    axes: Vec<ExprId>,
    /// Whether the member of the batch has this step.
    is_valid: Option<ExprId>,
    /// The step's position in the sequence.
    time: ExprId,
    bias: Option<ParameterId>,
    projected: ParameterId,
}

impl<'r> Cell<'r> {
    /// Starts the kernel.
    pub fn new(ctx: &Lower<'_, '_>, recurrence: &'r Recurrence) -> Self {
        let mut nest = ctx.nest();
        let directions = Dim::constant(recurrence.directions.len() as i64);
        let axes = nest.outer_axes(&[directions, recurrence.batch.clone(), recurrence.hidden.clone()]);
        let step = nest.dim(&Dim::symbol(recurrence.counter));
        let length = recurrence.lengths.as_ref().map(|lengths| {
            let parameter = nest.read(lengths);
            nest.load(parameter, &axes[1..2])
        });
        let is_valid = length.map(|length| nest.compare(CompareOp::Lt, step, length));
        let length = length.unwrap_or_else(|| nest.dim(&recurrence.length));
        let one = nest.index(1);
        let last = nest.sub(length, one);
        let mut reversed = nest.sub(last, step);
        if let Some(is_valid) = is_valid {
            // Steps past the end stay where they are, and leave zeros there.
            reversed = nest.select(is_valid, reversed, step);
        }
        let time = match recurrence.directions {
            [false] => step,
            [true] => reversed,
            _ => {
                let is_second = nest.compare(CompareOp::Eq, axes[0], one);
                nest.select(is_second, reversed, step)
            }
        };
        let bias = recurrence.bias.as_ref().map(|bias| nest.read(bias));
        let projected = nest.read(&recurrence.projected);
        Self { nest, recurrence, axes, is_valid, time, bias, projected }
    }

    /// The column of a gate for this element of the state.
    fn column(&mut self, gate: i64) -> ExprId {
        let offset = self.nest.dim(&(&self.recurrence.hidden * gate));
        self.nest.add(self.axes[2], offset)
    }

    /// The input's part of a gate.
    pub fn projected(&mut self, gate: i64) -> ExprId {
        let column = self.column(gate);
        let (time, batch) = (self.time, self.axes[1]);
        let (first, second) = if self.recurrence.is_batch_first { (batch, time) } else { (time, batch) };
        self.nest.load(self.projected, &[self.axes[0], first, second, column])
    }

    /// `value` plus entry `gate` of the biases, of which the recurrence's follow the input's.
    pub fn biased(&mut self, value: ExprId, gate: i64) -> ExprId {
        let Some(bias) = self.bias else { return value };
        let column = self.column(gate);
        let bias = self.nest.load(bias, &[self.axes[0], column]);
        self.nest.add(value, bias)
    }

    /// An element of memory like the state, or of a product with gates from 0 on.
    pub fn load(&mut self, view: &View, gate: i64) -> ExprId {
        let column = self.column(gate);
        let parameter = self.nest.read(view);
        self.nest.load(parameter, &[self.axes[0], self.axes[1], column])
    }

    /// An element of peephole weights.
    pub fn peephole(&mut self, view: &View, gate: i64) -> ExprId {
        let column = self.column(gate);
        let parameter = self.nest.read(view);
        self.nest.load(parameter, &[self.axes[0], column])
    }

    /// Function `index` of the direction, of `value` kept within the node's clip.
    pub fn activate(&mut self, index: usize, value: ExprId) -> ExprId {
        let mut value = value;
        if let Some(clip) = self.recurrence.clip {
            let element = self.recurrence.element;
            let (low, high) = (self.nest.float(element, -f64::from(clip)), self.nest.float(element, clip.into()));
            value = self.nest.max(value, low);
            value = self.nest.min(value, high);
        }
        let functions = &self.recurrence.activations;
        let first = functions[index].apply(&mut self.nest, value);
        match functions.get(index + self.recurrence.per_direction) {
            Some(second) if *second != functions[index] => {
                let second = second.apply(&mut self.nest, value);
                let one = self.nest.index(1);
                let is_second = self.nest.compare(CompareOp::Eq, self.axes[0], one);
                self.nest.select(is_second, second, first)
            }
            _ => first,
        }
    }

    /// Stores a value that is no state.
    pub fn store(&mut self, target: &View, value: ExprId) {
        let parameter = self.nest.write(target);
        self.nest.store(parameter, &self.axes.clone(), value);
    }

    /// Stores the next state, which is the old one where the member of the batch has ended.
    pub fn store_state(&mut self, next: &View, value: ExprId, old: ExprId) {
        let value = self.is_valid.map_or(value, |is_valid| self.nest.select(is_valid, value, old));
        self.store(next, value);
    }

    /// Stores the step's state among all of them, or zero where the member of the batch has ended.
    pub fn store_step(&mut self, all: &View, value: ExprId) {
        let zero = self.nest.float(self.recurrence.element, 0.0);
        let value = self.is_valid.map_or(value, |is_valid| self.nest.select(is_valid, value, zero));
        let parameter = self.nest.write(all);
        let [direction, batch, element] = [self.axes[0], self.axes[1], self.axes[2]];
        let index = match self.recurrence.is_batch_first {
            true => [batch, self.time, direction, element],
            false => [self.time, direction, batch, element],
        };
        self.nest.store(parameter, &index, value);
    }

    /// Runs the kernel, then makes `next` the state.
    pub fn finish(self, ctx: &mut Lower<'_, '_>, states: &[(&View, &View)]) -> Result<()> {
        ctx.launch(self.nest);
        for (next, state) in states {
            ctx.copy(next, state);
        }
        Ok(())
    }

    /// The constant 1.
    pub fn one(&mut self) -> ExprId {
        let element: ElementType = self.recurrence.element;
        self.nest.float(element, 1.0)
    }
}
