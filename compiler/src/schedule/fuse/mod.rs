//! Fusion: two launches become one, and the tensor between them is never written.
//!
//! A temporary that one kernel writes and one other reads disappears in either of two ways:
//!
//! * *epilogue*: a consumer without reductions that reads the temporary point by point takes the place of the producer's
//!   store. Bias, activation, residual addition and scaling end in the contraction or normalization before them.
//! * *substitution*: a producer without reductions is computed where the consumer loads its result, at the consumer's index.
//!   Elementwise chains become one kernel; transposes and slices become strides of the kernel that reads them.
//!
//! Neither changes a result: the values that are stored are the same expressions of the same numbers. What would make a
//! kernel slower than two is left alone: expressions computed again and again, contractions that would no longer be tiled,
//! kernels that would no longer be vectorized.

mod cost;
mod merge;
#[cfg(test)]
mod tests;
mod uses;

use std::collections::HashMap;
use std::sync::Arc;

use self::merge::{Launch, epilogue, substitute};
use self::uses::Uses;
use super::contraction::recognize;
use super::linear_stride;
use super::vector::choose_vector_axis;
use crate::loops::{Access, Action, BufferId, BufferKind, Expr, ExprId, Kernel, Program, Step};

/// Steps between a producer and its consumer that are looked at for writes to what the producer reads.
const MAX_DISTANCE: usize = 64;

/// The most expressions of a fused kernel.
const MAX_EXPRESSIONS: usize = 512;

/// The most parameters of a fused kernel.
const MAX_PARAMETERS: usize = 24;

/// Fuses the launches of a program, in each block of steps by itself.
pub fn fuse(program: &mut Program) {
    let mentions = uses::mentions(&program.steps);
    let mut steps = std::mem::take(&mut program.steps);
    fuse_block(program, &mentions, &mut steps);
    program.steps = steps;
}

fn fuse_block(program: &Program, mentions: &HashMap<BufferId, usize>, steps: &mut Vec<Step>) {
    for step in steps.iter_mut() {
        match &mut step.action {
            Action::If { then, otherwise, .. } => {
                fuse_block(program, mentions, then);
                fuse_block(program, mentions, otherwise);
            }
            Action::Loop { body, .. } => fuse_block(program, mentions, body),
            _ => {}
        }
    }
    let mut block = Block {
        program,
        uses: Uses::of(steps, mentions),
        steps: std::mem::take(steps).into_iter().map(Some).collect(),
    };
    for place in 0..block.steps.len() {
        while block.fuse_into(place) {}
    }
    *steps = block.steps.into_iter().flatten().collect();
}

struct Block<'p> {
    program: &'p Program,
    uses: Uses,
    /// Steps that are not fused into later ones.
    steps: Vec<Option<Step>>,
}

impl Block<'_> {
    fn launch(&self, place: usize) -> Option<Launch<'_>> {
        match &self.steps.get(place)?.as_ref()?.action {
            Action::Launch { kernel, buffers } => Some(Launch { kernel, buffers }),
            _ => None,
        }
    }

    /// Fuses one producer into the launch at `place`; whether there was one.
    fn fuse_into(&mut self, place: usize) -> bool {
        let Some(consumer) = self.launch(place) else { return false };
        if !is_fusible(consumer.kernel) {
            return false;
        }
        let found = consumer.buffers.iter().find_map(|&temporary| {
            let producer = self.producer(temporary, place)?;
            let (kernel, buffers, epilogue) = self.fused(producer, place, temporary)?;
            Some((producer, kernel, buffers, epilogue))
        });
        let Some((producer, kernel, buffers, is_epilogue)) = found else { return false };
        self.uses.forget(producer);
        self.uses.forget(place);
        self.uses.note(place, &kernel, &buffers);
        let (Some(from), Some(into)) = (self.steps[producer].take(), self.steps[place].as_mut()) else { return false };
        // Messages and profiles name the heavier node.
        if is_epilogue {
            into.label = from.label;
        }
        into.action = Action::Launch { kernel: Arc::new(kernel), buffers };
        true
    }

    /// The step that writes a temporary which only the launch at `place` reads, if it can run there.
    fn producer(&self, temporary: BufferId, place: usize) -> Option<usize> {
        let kind = &self.program.buffer(temporary).kind;
        let (producer, reader) = self.uses.only_link(temporary)?;
        if !matches!(kind, BufferKind::Temporary) || reader != place || producer >= place {
            return None;
        }
        let launch = self.launch(producer)?;
        let consumer = self.launch(place)?;
        let reads = |id: BufferId| launch.reads().any(|other| other == id);
        (is_fusible(launch.kernel) && !consumer.writes().any(reads) && self.can_move(producer, place))
            .then_some(producer)
    }

    /// Whether the launch at `from` gives the same result at the place of the later step `to`.
    fn can_move(&self, from: usize, to: usize) -> bool {
        let Some(launch) = self.launch(from) else { return false };
        let is_fixed = |id: BufferId| {
            matches!(self.program.buffer(id).kind, BufferKind::Input(_) | BufferKind::Constant(_))
                || self.uses.is_written_once(id)
        };
        let unsettled: Vec<BufferId> = launch.reads().filter(|&id| !is_fixed(id)).collect();
        let symbols = launch.kernel.symbols();
        if unsettled.is_empty() && symbols.is_empty() {
            return true;
        }
        to - from <= MAX_DISTANCE
            && self.steps[from + 1..to]
                .iter()
                .flatten()
                .all(|step| !uses::writes_any(step, &unsettled) && !uses::sets_any(step, &symbols))
    }

    fn fused(&self, producer: usize, place: usize, temporary: BufferId) -> Option<(Kernel, Vec<BufferId>, bool)> {
        let (producer, consumer) = (self.launch(producer)?, self.launch(place)?);
        let is_small =
            |kernel: &Kernel| kernel.exprs.len() <= MAX_EXPRESSIONS && kernel.parameters.len() <= MAX_PARAMETERS;
        if let Some((kernel, buffers)) = epilogue(producer, consumer, temporary)
            && is_small(&kernel)
            && keeps_speed(&kernel, producer.kernel, consumer.kernel)
        {
            return Some((kernel, buffers, true));
        }
        if !cost::pays(producer, consumer, temporary) {
            return None;
        }
        let (kernel, buffers) = substitute(producer, consumer, temporary)?;
        (is_small(&kernel) && keeps_speed(&kernel, producer.kernel, consumer.kernel))
            .then_some((kernel, buffers, false))
    }
}

fn is_fusible(kernel: &Kernel) -> bool {
    kernel.is_parallel() && !kernel.can_fail()
}

/// Whether a fused kernel is still tiled or vectorized as its parts are.
fn keeps_speed(fused: &Kernel, producer: &Kernel, consumer: &Kernel) -> bool {
    if recognize(producer).is_some() || recognize(consumer).is_some() {
        return recognize(fused).is_some_and(|contraction| {
            [contraction.rows, contraction.columns].iter().all(|&id| has_strides(fused, id))
        });
    }
    let is_vectorized = |kernel: &Kernel| choose_vector_axis(kernel).is_some();
    is_vectorized(fused) || !is_vectorized(producer) || !is_vectorized(consumer)
}

/// Whether an operand of a contraction walks memory by fixed strides, or is one that gets a border first.
fn has_strides(kernel: &Kernel, id: ExprId) -> bool {
    let Expr::Load { parameter, index, .. } = kernel.expr(id) else { return false };
    let axes = kernel.outer.iter().chain(kernel.reductions.iter().flat_map(|reduction| &reduction.axes));
    axes.into_iter().all(|&axis| linear_stride(kernel, *parameter, index, axis).is_some())
}

/// Whether a parameter is read.
fn is_read(access: Access) -> bool {
    access != Access::Write
}
