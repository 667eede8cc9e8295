//! Channel-blocked layouts: tensors `[N, C, ...]` as `[N, C / b, ..., b]`, with a vector of channels side by side.
//!
//! A convolution over such tensors loads one element of its input for a whole vector of outputs, whatever its taps, strides and
//! sizes are, and its weights lie in the order in which they are used. So convolutions with constant weights write this
//! layout, what follows them channel by channel keeps it, and everything else sees a plain copy. Constants are brought into
//! their layouts at compile time.

mod layout;
mod rewrite;
#[cfg(test)]
mod tests;
mod uses;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use self::layout::Layout;
use self::rewrite::{axis_and_offset, rewrite};
use self::uses::Uses;
use super::Tiling;
use super::affine::linear_stride;
use crate::graph::Dim;
use crate::graph::ElementType::F32;
use crate::loops::{
    Access, Action, AxisId, BinaryOp, BufferId, BufferKind, Expr, Kernel, Parameter, Program, ReduceOp, Step, Store,
    StoreOp,
};

/// The dimension of channels.
const CHANNELS: usize = 1;

/// Brings the tensors of convolutions into blocks of as many channels as a vector has lanes.
pub fn block_channels(program: &mut Program, tiling: Tiling) {
    let uses = Uses::of(program);
    let steps = std::mem::take(&mut program.steps);
    let mut pass = Pass { program, uses, size: tiling.lanes, blocks: 0 };
    let steps = pass.block(steps);
    pass.program.steps = steps;
}

struct Pass<'p> {
    program: &'p mut Program,
    uses: Uses,
    size: i64,
    /// Blocks of steps entered so far, which numbers them as [`Uses`] does.
    blocks: usize,
}

/// What is known of the buffers at a point of one block of steps.
#[derive(Default)]
struct State {
    /// The blocked form of a buffer, and the shape that both are seen under.
    blocked: HashMap<BufferId, (BufferId, Vec<Dim>)>,
    /// Copies of constants in the layout that a kernel needs.
    constants: HashMap<(BufferId, Layout), BufferId>,
    /// Buffers of which only the blocked form is written.
    absent: HashSet<BufferId>,
    /// Buffers that are written in the plain layout.
    plain: HashSet<BufferId>,
}

/// A kernel that writes one tensor channel by channel.
struct ByChannel<'k> {
    store: &'k Store,
    axis: AxisId,
}

impl Pass<'_> {
    fn block(&mut self, steps: Vec<Step>) -> Vec<Step> {
        let number = self.blocks;
        self.blocks += 1;
        let writers = writers(&steps);
        let mut state = State::default();
        let mut result = Vec::with_capacity(steps.len());
        for step in steps {
            let label = step.label;
            let action = match step.action {
                Action::Launch { kernel, buffers } => {
                    let simple = rewrite(&kernel, &vec![Layout::new(); kernel.parameters.len()], self.size);
                    let simple = simple.as_ref().unwrap_or(&kernel);
                    let launched =
                        self.blocked_launch(simple, &buffers, number, &writers, label, &mut state, &mut result);
                    if launched.is_none() {
                        self.plain_launch(kernel, buffers, label, &mut state, &mut result);
                    }
                    continue;
                }
                Action::If { condition, then, otherwise } => {
                    Action::If { condition, then: self.block(then), otherwise: self.block(otherwise) }
                }
                Action::Loop { counter, count, condition, body } => {
                    Action::Loop { counter, count, condition, body: self.block(body) }
                }
                other => other,
            };
            result.push(Step { label, action });
        }
        result
    }

    /// The launch over plain tensors, with copies of those that are not there before it.
    fn plain_launch(
        &mut self,
        kernel: Arc<Kernel>,
        buffers: Vec<BufferId>,
        label: u32,
        state: &mut State,
        steps: &mut Vec<Step>,
    ) {
        for (parameter, &id) in kernel.parameters.iter().zip(&buffers) {
            // Also where it is written: other launches may have written other parts.
            self.unblock(id, label, state, steps);
            if parameter.access == Access::Write {
                state.plain.insert(id);
            }
        }
        steps.push(Step { label, action: Action::Launch { kernel, buffers } });
    }

    fn unblock(&self, id: BufferId, label: u32, state: &mut State, steps: &mut Vec<Step>) {
        if state.absent.remove(&id)
            && let Some((blocked, shape)) = state.blocked.get(&id)
        {
            let copy = layout::copy(shape, &vec![CHANNELS], self.size, true);
            steps.push(launch(label, copy, vec![*blocked, id]));
        }
    }

    /// The launch over blocked tensors, if it is one that should have them.
    #[expect(clippy::too_many_arguments, reason = "what a step needs")]
    fn blocked_launch(
        &mut self,
        kernel: &Kernel,
        buffers: &[BufferId],
        block: usize,
        writers: &HashMap<BufferId, Vec<Arc<Kernel>>>,
        label: u32,
        state: &mut State,
        steps: &mut Vec<Step>,
    ) -> Option<()> {
        let written = by_channel(kernel, self.size)?;
        let target = buffers[written.store.parameter.0 as usize];
        let own =
            self.uses.is_local(target, block) && matches!(self.program.buffer(target).kind, BufferKind::Temporary);
        let all_by_channel = || {
            writers.get(&target).is_some_and(|all| {
                let shape = &kernel.parameter(written.store.parameter).shape;
                all.iter().all(|other| {
                    by_channel(other, self.size).is_some_and(|by| other.parameter(by.store.parameter).shape == *shape)
                })
            })
        };
        let is_shared = writers.get(&target).is_none_or(|all| all.len() > 1);
        if state.plain.contains(&target) || is_shared && !(own && all_by_channel()) {
            return None;
        }
        // The parts of one tensor go the same way.
        let is_begun = state.absent.contains(&target);
        if !is_begun
            && !self.is_convolution(kernel, &written, buffers)
            && !self.follows(kernel, &written, buffers, state)
        {
            return None;
        }
        let layouts = self.layouts(kernel, &written, buffers, block, state);
        let kernel_in_blocks = rewrite(kernel, &layouts, self.size)?;
        let mut new_buffers = buffers.to_vec();
        for (place, layout) in layouts.iter().enumerate() {
            let (parameter, id) = (&kernel.parameters[place], buffers[place]);
            if parameter.access == Access::Write {
                continue;
            }
            new_buffers[place] = match &self.program.buffer(id).kind {
                _ if layout.is_empty() => {
                    self.unblock(id, label, state, steps);
                    id
                }
                BufferKind::Constant(_) => self.constant(id, parameter, layout, label, state, steps),
                _ => self.blocked_form(id, parameter, label, state, steps),
            };
        }
        let parameter = kernel.parameter(written.store.parameter);
        let is_known = state.blocked.contains_key(&target);
        let blocked = self.form_of(target, parameter, state);
        new_buffers[written.store.parameter.0 as usize] = blocked;
        steps.push(launch(label, kernel_in_blocks, new_buffers));
        if !is_known {
            state.absent.insert(target);
        }
        if !own {
            self.unblock(target, label, state, steps);
        }
        Some(())
    }

    /// The buffer of a tensor's blocked form, new where there is none yet.
    fn form_of(&mut self, id: BufferId, parameter: &Parameter, state: &mut State) -> BufferId {
        if let Some((blocked, _)) = state.blocked.get(&id) {
            return *blocked;
        }
        let shape = layout::shape(&parameter.shape, &vec![CHANNELS], self.size);
        let blocked = self.program.add_buffer(F32, shape, BufferKind::Temporary);
        state.blocked.insert(id, (blocked, parameter.shape.clone()));
        blocked
    }

    /// The blocked form of a tensor that is read, copied from the plain one where needed.
    fn blocked_form(
        &mut self,
        id: BufferId,
        parameter: &Parameter,
        label: u32,
        state: &mut State,
        steps: &mut Vec<Step>,
    ) -> BufferId {
        let is_known = state.blocked.contains_key(&id);
        let blocked = self.form_of(id, parameter, state);
        if !is_known {
            let copy = layout::copy(&parameter.shape, &vec![CHANNELS], self.size, false);
            steps.push(launch(label, copy, vec![id, blocked]));
        }
        blocked
    }

    fn constant(
        &mut self,
        id: BufferId,
        parameter: &Parameter,
        layout: &Layout,
        label: u32,
        state: &mut State,
        steps: &mut Vec<Step>,
    ) -> BufferId {
        if let Some(&known) = state.constants.get(&(id, layout.clone())) {
            return known;
        }
        let shape = layout::shape(&parameter.shape, layout, self.size);
        let copy = self.program.add_buffer(F32, shape, BufferKind::Temporary);
        steps.push(launch(label, layout::copy(&parameter.shape, layout, self.size, false), vec![id, copy]));
        state.constants.insert((id, layout.clone()), copy);
        copy
    }

    /// Whether the kernel sums products with weights that are constants and differ by output channel.
    fn is_convolution(&self, kernel: &Kernel, written: &ByChannel<'_>, buffers: &[BufferId]) -> bool {
        let [reduction] = kernel.reductions.as_slice() else { return false };
        let Expr::Binary(BinaryOp::Mul, a, b) = *kernel.expr(reduction.value) else { return false };
        reduction.op == ReduceOp::Sum
            && [a, b].into_iter().any(|id| match kernel.expr(id) {
                Expr::Load { parameter, index, guard: None } => {
                    let weights = self.program.buffer(buffers[parameter.0 as usize]);
                    matches!(weights.kind, BufferKind::Constant(_))
                        && index.len() >= 3
                        && axis_and_offset(kernel, index[0]) == Some((written.axis, 0))
                }
                _ => false,
            })
    }

    /// Whether the kernel reads a tensor that is there in blocks, and each such tensor channel by channel.
    fn follows(&self, kernel: &Kernel, written: &ByChannel<'_>, buffers: &[BufferId], state: &State) -> bool {
        let mut any = false;
        for expr in &kernel.exprs {
            let Expr::Load { parameter, index, .. } = expr else { continue };
            let id = buffers[parameter.0 as usize];
            let Some((_, shape)) = state.blocked.get(&id) else { continue };
            let fits =
                *shape == kernel.parameter(*parameter).shape && self.reads_by_channel(kernel, index, written.axis);
            if !fits && state.absent.contains(&id) {
                return false;
            }
            any |= fits;
        }
        any
    }

    fn reads_by_channel(&self, kernel: &Kernel, index: &[crate::loops::ExprId], axis: AxisId) -> bool {
        index
            .get(CHANNELS)
            .and_then(|&id| axis_and_offset(kernel, id))
            .is_some_and(|(other, offset)| other == axis && offset % self.size == 0)
    }

    /// The layout that each parameter should have.
    fn layouts(
        &self,
        kernel: &Kernel,
        written: &ByChannel<'_>,
        buffers: &[BufferId],
        block: usize,
        state: &State,
    ) -> Vec<Layout> {
        let mut layouts = vec![Layout::new(); kernel.parameters.len()];
        layouts[written.store.parameter.0 as usize] = vec![CHANNELS];
        // Tensors first: they decide which reduced axes are in blocks.
        for (place, &id) in buffers.iter().enumerate() {
            let parameter = &kernel.parameters[place];
            let is_tensor = parameter.element == F32
                && parameter.access == Access::Read
                && parameter.shape.len() > 2
                && layout::fits(&parameter.shape, &vec![CHANNELS], self.size);
            let is_here = match state.blocked.get(&id) {
                Some((_, shape)) => *shape == parameter.shape,
                None => match self.program.buffer(id).kind {
                    BufferKind::Input(_) => true,
                    BufferKind::Temporary => self.uses.is_local(id, block),
                    _ => false,
                },
            };
            if is_tensor && is_here && self.moves_by_channel(kernel, place) {
                layouts[place] = vec![CHANNELS];
            }
        }
        let reduced: Vec<AxisId> = (0..layouts.len())
            .filter(|&place| !layouts[place].is_empty())
            .flat_map(|place| accesses(kernel, place))
            .filter_map(|index| axis_and_offset(kernel, index[CHANNELS]))
            .map(|(axis, _)| axis)
            .filter(|&axis| axis != written.axis && kernel.extent(axis).as_const().is_some_and(|n| n % self.size == 0))
            .collect();
        for (place, &id) in buffers.iter().enumerate() {
            if matches!(self.program.buffer(id).kind, BufferKind::Constant(_)) {
                layouts[place] = self.constant_layout(kernel, place, written.axis, &reduced);
            }
        }
        layouts
    }

    /// Whether every index of a parameter on the channels is an axis, a group of channels and an axis, or a constant.
    fn moves_by_channel(&self, kernel: &Kernel, place: usize) -> bool {
        let mut indices = accesses(kernel, place).peekable();
        indices.peek().is_some()
            && indices.all(|index| match kernel.expr(index[CHANNELS]) {
                Expr::Binary(BinaryOp::Add, group, axis) => {
                    axis_and_offset(kernel, index[CHANNELS]).is_some_and(|(_, offset)| offset % self.size == 0)
                        || matches!(kernel.expr(*group), Expr::Binary(BinaryOp::Mul, ..))
                            && matches!(kernel.expr(*axis), Expr::Axis(axis) if self.is_whole(kernel, *axis))
                }
                _ => axis_and_offset(kernel, index[CHANNELS])
                    .is_some_and(|(axis, offset)| offset % self.size == 0 && self.is_whole(kernel, axis)),
            })
    }

    fn is_whole(&self, kernel: &Kernel, axis: AxisId) -> bool {
        kernel.extent(axis).as_const().is_some_and(|extent| extent % self.size == 0)
    }

    /// Constants whose neighbours on the channel axis are far apart: reduced axes in blocks first, the channels last.
    fn constant_layout(&self, kernel: &Kernel, place: usize, channels: AxisId, reduced: &[AxisId]) -> Layout {
        let parameter = &kernel.parameters[place];
        let mut layout = Layout::new();
        let mut indices = accesses(kernel, place);
        let (Some(index), None) = (indices.next(), indices.next()) else { return layout };
        let id = crate::loops::ParameterId(place as u32);
        let stride = linear_stride(kernel, id, index, channels).and_then(|stride| stride.as_const());
        if parameter.element != F32 || matches!(stride, Some(0 | 1)) {
            return layout;
        }
        for axis in reduced.iter().chain([&channels]) {
            let dim = index.iter().position(|&id| axis_and_offset(kernel, id) == Some((*axis, 0)));
            match dim {
                Some(dim) if !layout.contains(&dim) => layout.push(dim),
                Some(_) => {}
                None if axis == &channels => return Layout::new(),
                None => {}
            }
        }
        if layout::fits(&parameter.shape, &layout, self.size) { layout } else { Layout::new() }
    }
}

/// The indices of all loads of a parameter.
fn accesses(kernel: &Kernel, place: usize) -> impl Iterator<Item = &Vec<crate::loops::ExprId>> {
    kernel.exprs.iter().filter_map(move |expr| match expr {
        Expr::Load { parameter, index, .. } if parameter.0 as usize == place => Some(index),
        _ => None,
    })
}

/// The kernel as one that writes whole vectors of channels of a tensor, if it is one.
fn by_channel(kernel: &Kernel, size: i64) -> Option<ByChannel<'_>> {
    let [store] = kernel.stores.as_slice() else { return None };
    let parameter = kernel.parameter(store.parameter);
    let (axis, offset) = axis_and_offset(kernel, *store.index.get(CHANNELS)?)?;
    let fits = store.op == StoreOp::Set
        && store.guard.is_none()
        && store.axes.is_empty()
        && parameter.element == F32
        && parameter.access == Access::Write
        && parameter.shape.len() > 2
        && layout::fits(&parameter.shape, &vec![CHANNELS], size)
        && kernel.is_parallel()
        && !kernel.can_fail()
        && kernel.outer.contains(&axis)
        && kernel.extent(axis).as_const().is_some_and(|extent| extent % size == 0)
        && offset % size == 0;
    fits.then_some(ByChannel { store, axis })
}

/// The kernels that write each buffer, in this block of steps.
fn writers(steps: &[Step]) -> HashMap<BufferId, Vec<Arc<Kernel>>> {
    let mut writers: HashMap<BufferId, Vec<Arc<Kernel>>> = HashMap::new();
    for step in steps {
        let Action::Launch { kernel, buffers } = &step.action else { continue };
        for (parameter, &id) in kernel.parameters.iter().zip(buffers) {
            if parameter.access != Access::Read {
                writers.entry(id).or_default().push(kernel.clone());
            }
        }
    }
    writers
}

fn launch(label: u32, kernel: Kernel, buffers: Vec<BufferId>) -> Step {
    Step { label, action: Action::Launch { kernel: Arc::new(kernel), buffers } }
}
