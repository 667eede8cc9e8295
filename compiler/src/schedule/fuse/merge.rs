//! One kernel out of two.

use std::collections::HashMap;

use super::is_read;
use crate::graph::{Dim, ElementType};
use crate::loops::{Access, AxisId, BufferId, Expr, ExprId, Kernel, Parameter, ParameterId, Scalar, Store, StoreOp};

/// A kernel and its arguments.
#[derive(Clone, Copy)]
pub struct Launch<'a> {
    pub kernel: &'a Kernel,
    pub buffers: &'a [BufferId],
}

impl<'a> Launch<'a> {
    /// The buffers read.
    pub fn reads(self) -> impl Iterator<Item = BufferId> + 'a {
        let parameters = self.kernel.parameters.iter().zip(self.buffers);
        parameters.filter(|(parameter, _)| is_read(parameter.access)).map(|(_, &id)| id)
    }

    /// The buffers written.
    pub fn writes(self) -> impl Iterator<Item = BufferId> + 'a {
        let parameters = self.kernel.parameters.iter().zip(self.buffers);
        parameters.filter(|(parameter, _)| parameter.access != Access::Read).map(|(_, &id)| id)
    }

    /// The parameters that are a buffer.
    fn parameters_of(self, id: BufferId) -> impl Iterator<Item = (ParameterId, &'a Parameter)> {
        let all = self.kernel.parameters.iter().enumerate();
        all.filter(move |(place, _)| self.buffers[*place] == id)
            .map(|(place, parameter)| (ParameterId(place as u32), parameter))
    }

    /// The only store, if it writes every element of `temporary` once, in order: element `i` at point `i` of the outer axes
    /// and the store's own.
    fn whole_store(self, temporary: BufferId) -> Option<(&'a Store, Vec<AxisId>)> {
        let [store] = self.kernel.stores.as_slice() else { return None };
        let parameter = self.kernel.parameter(store.parameter);
        let axes: Vec<AxisId> = self.kernel.outer.iter().chain(&store.axes).copied().collect();
        let fits = self.buffers[store.parameter.0 as usize] == temporary
            && store.op == StoreOp::Set
            && store.guard.is_none()
            // Other storage types round.
            && parameter.element == parameter.element.compute_type()
            && is_identity(self.kernel, &store.index, &parameter.shape, &axes);
        fits.then_some((store, axes))
    }
}

fn is_one(dim: &Dim) -> bool {
    dim.as_const() == Some(1)
}

/// Whether an index walks a tensor in order as the axes are walked in order; dimensions and axes of size 1 do not count.
fn is_identity(kernel: &Kernel, index: &[ExprId], shape: &[Dim], axes: &[AxisId]) -> bool {
    let mut axes = axes.iter().filter(|&&axis| !is_one(kernel.extent(axis)));
    let mut dims = index.iter().zip(shape).filter(|(_, dim)| !is_one(dim));
    let pairs = dims.by_ref().all(|(&id, dim)| {
        axes.next().is_some_and(|&axis| {
            matches!(kernel.expr(id), Expr::Axis(other) if *other == axis) && kernel.extent(axis) == dim
        })
    });
    pairs && axes.next().is_none()
}

/// The producer with the consumer's stores in place of its own.
pub fn epilogue(producer: Launch<'_>, consumer: Launch<'_>, temporary: BufferId) -> Option<(Kernel, Vec<BufferId>)> {
    let (store, axes) = producer.whole_store(temporary)?;
    let kernel = consumer.kernel;
    if !kernel.reductions.is_empty() || kernel.stores.iter().any(|store| !store.axes.is_empty()) {
        return None;
    }
    let written = &producer.kernel.parameter(store.parameter).shape;
    for (id, parameter) in consumer.parameters_of(temporary) {
        let sizes = |shape: &[Dim]| shape.iter().filter(|dim| !is_one(dim)).cloned().collect::<Vec<_>>();
        if sizes(written) != sizes(&parameter.shape) {
            return None;
        }
        let in_order = loads_of(kernel, id)
            .all(|(index, guard)| guard.is_none() && is_identity(kernel, index, &parameter.shape, &kernel.outer));
        if !in_order {
            return None;
        }
    }
    let mut merger = Merger::from(producer, Some(store.parameter));
    merger.kernel.stores.clear();
    let value = store.value;
    let inner = store.axes.clone();
    // The consumer's axes are the producer's, in the same order.
    let long = |kernel: &Kernel, axes: &[AxisId]| -> Vec<AxisId> {
        axes.iter().copied().filter(|&axis| !is_one(kernel.extent(axis))).collect()
    };
    let places: HashMap<AxisId, AxisId> =
        long(kernel, &kernel.outer).into_iter().zip(long(producer.kernel, &axes)).collect();
    let moved = merger.append(consumer, |merger, expr| match expr {
        Expr::Axis(axis) => Some(match places.get(axis) {
            Some(&place) => merger.push(Expr::Axis(place), ElementType::I64),
            None => merger.zero(),
        }),
        Expr::Load { parameter, .. } if consumer.buffers[parameter.0 as usize] == temporary => Some(value),
        _ => None,
    });
    merger.stores(consumer, &moved, |store| store.axes.clone_from(&inner));
    Some(merger.finish(producer.kernel, consumer.kernel))
}

/// The consumer with the producer's expression in place of each load of the temporary.
pub fn substitute(producer: Launch<'_>, consumer: Launch<'_>, temporary: BufferId) -> Option<(Kernel, Vec<BufferId>)> {
    let (store, axes) = producer.whole_store(temporary)?;
    if !producer.kernel.reductions.is_empty() {
        return None;
    }
    let written = &producer.kernel.parameter(store.parameter).shape;
    for (id, parameter) in consumer.parameters_of(temporary) {
        let same = parameter.shape == *written;
        if !same || loads_of(consumer.kernel, id).any(|(_, guard)| guard.is_some()) {
            return None;
        }
    }
    let mut merger = Merger::from(consumer, None);
    merger.restart();
    let moved = merger.append(consumer, |merger, expr| {
        let Expr::Load { parameter, index, .. } = expr else { return None };
        if consumer.buffers[parameter.0 as usize] != temporary {
            return None;
        }
        // Operands come before their uses: the index is already expressed in the new kernel.
        let places: HashMap<AxisId, ExprId> = axes
            .iter()
            .filter_map(|&axis| {
                let place = store
                    .index
                    .iter()
                    .position(|&id| matches!(producer.kernel.expr(id), Expr::Axis(other) if *other == axis))?;
                Some((axis, index[place]))
            })
            .collect();
        let inlined = merger.append(producer, |merger, expr| match expr {
            Expr::Axis(axis) => Some(match places.get(axis) {
                Some(&place) => place,
                None => merger.zero(),
            }),
            _ => None,
        });
        Some(inlined[store.value.0 as usize])
    });
    for (place, reduction) in consumer.kernel.reductions.iter().enumerate() {
        merger.kernel.reductions[place].value = moved[reduction.value.0 as usize];
    }
    merger.kernel.stores.clear();
    merger.stores(consumer, &moved, |_| {});
    Some(merger.finish(producer.kernel, consumer.kernel))
}

type Guard = Option<(ExprId, Scalar)>;

fn loads_of(kernel: &Kernel, id: ParameterId) -> impl Iterator<Item = (&[ExprId], Guard)> {
    kernel.exprs.iter().filter_map(move |expr| match expr {
        Expr::Load { parameter, index, guard } if *parameter == id => Some((index.as_slice(), *guard)),
        _ => None,
    })
}

struct Merger {
    kernel: Kernel,
    buffers: Vec<BufferId>,
    known: HashMap<(Expr, ElementType), ExprId>,
}

impl Merger {
    /// Begins with a kernel, of which one parameter may go away.
    fn from(launch: Launch<'_>, removed: Option<ParameterId>) -> Self {
        let kernel = launch.kernel.clone();
        let known = kernel
            .exprs
            .iter()
            .zip(&kernel.types)
            .enumerate()
            .map(|(place, (expr, &element))| ((expr.clone(), element), ExprId(place as u32)))
            .collect();
        let mut merger = Self { kernel, buffers: launch.buffers.to_vec(), known };
        if let Some(removed) = removed {
            // It goes with all that is unused; until then it must not be taken for one that is read.
            merger.kernel.parameters[removed.0 as usize].access = Access::Write;
        }
        merger
    }

    /// Drops the expressions, to add them anew in another order.
    fn restart(&mut self) {
        self.kernel.exprs.clear();
        self.kernel.types.clear();
        self.known.clear();
    }

    fn push(&mut self, expr: Expr, element: ElementType) -> ExprId {
        let key = (expr, element);
        if let Some(&id) = self.known.get(&key) {
            return id;
        }
        let id = ExprId(self.kernel.exprs.len() as u32);
        self.kernel.exprs.push(key.0.clone());
        self.kernel.types.push(element);
        self.known.insert(key, id);
        id
    }

    fn zero(&mut self) -> ExprId {
        self.push(Expr::Const(Scalar::from_i64(ElementType::I64, 0)), ElementType::I64)
    }

    fn parameter(&mut self, parameter: &Parameter, buffer: BufferId) -> ParameterId {
        let known = self
            .kernel
            .parameters
            .iter()
            .zip(&self.buffers)
            .position(|(other, &id)| id == buffer && other == parameter && parameter.access == Access::Read);
        let place = known.unwrap_or_else(|| {
            self.kernel.parameters.push(parameter.clone());
            self.buffers.push(buffer);
            self.buffers.len() - 1
        });
        ParameterId(place as u32)
    }

    /// Adds the expressions of a launch; `replace` decides about those that become something else. Gives where each went.
    fn append(
        &mut self,
        launch: Launch<'_>,
        mut replace: impl FnMut(&mut Self, &Expr) -> Option<ExprId>,
    ) -> Vec<ExprId> {
        let mut moved: Vec<ExprId> = Vec::with_capacity(launch.kernel.exprs.len());
        for (expr, &element) in launch.kernel.exprs.iter().zip(&launch.kernel.types) {
            let mut here = expr.map_operands(|operand| moved[operand.0 as usize]);
            let id = match replace(self, &here) {
                Some(id) => id,
                None => {
                    if let Expr::Load { parameter, .. } = &mut here {
                        let place = parameter.0 as usize;
                        *parameter = self.parameter(&launch.kernel.parameters[place], launch.buffers[place]);
                    }
                    self.push(here, element)
                }
            };
            moved.push(id);
        }
        moved
    }

    fn stores(&mut self, launch: Launch<'_>, moved: &[ExprId], mut change: impl FnMut(&mut Store)) {
        let at = |id: ExprId| moved[id.0 as usize];
        for store in &launch.kernel.stores {
            let place = store.parameter.0 as usize;
            let parameter = self.parameter_to_write(&launch.kernel.parameters[place], launch.buffers[place]);
            let mut store = Store {
                parameter,
                index: store.index.iter().map(|&id| at(id)).collect(),
                value: at(store.value),
                guard: store.guard.map(at),
                ..store.clone()
            };
            change(&mut store);
            self.kernel.stores.push(store);
        }
    }

    /// All stores to one buffer are to one parameter.
    fn parameter_to_write(&mut self, parameter: &Parameter, buffer: BufferId) -> ParameterId {
        let known = self.kernel.parameters.iter().zip(&self.buffers);
        match known.enumerate().find(|(_, (other, id))| **id == buffer && *other == parameter) {
            Some((place, _)) => ParameterId(place as u32),
            None => self.parameter(parameter, buffer),
        }
    }

    /// The kernel without what nothing uses.
    fn finish(self, producer: &Kernel, consumer: &Kernel) -> (Kernel, Vec<BufferId>) {
        let Self { mut kernel, buffers, .. } = self;
        kernel.name = name(&producer.name, &consumer.name);
        let mut used = vec![false; kernel.exprs.len()];
        let mut stack: Vec<ExprId> = kernel.reductions.iter().map(|reduction| reduction.value).collect();
        for store in &kernel.stores {
            stack.extend(store.index.iter().chain(store.guard.as_ref()).chain([&store.value]));
        }
        while let Some(id) = stack.pop() {
            if !std::mem::replace(&mut used[id.0 as usize], true) {
                stack.extend(kernel.expr(id).operands());
            }
        }
        let mut is_parameter = vec![false; kernel.parameters.len()];
        kernel.stores.iter().for_each(|store| is_parameter[store.parameter.0 as usize] = true);
        for (expr, _) in kernel.exprs.iter().zip(&used).filter(|(_, used)| **used) {
            if let Expr::Load { parameter, .. } = expr {
                is_parameter[parameter.0 as usize] = true;
            }
        }
        let parameters = places(&is_parameter);
        let exprs = places(&used);
        let at = |id: ExprId| ExprId(exprs[id.0 as usize]);
        let parameter_at = |id: ParameterId| ParameterId(parameters[id.0 as usize]);
        let mut moved = Vec::new();
        for (expr, _) in kernel.exprs.iter().zip(&used).filter(|(_, used)| **used) {
            let mut expr = expr.map_operands(at);
            if let Expr::Load { parameter, .. } = &mut expr {
                *parameter = parameter_at(*parameter);
            }
            moved.push(expr);
        }
        kernel.exprs = moved;
        kernel.types = kept(&kernel.types, &used);
        kernel.parameters = kept(&kernel.parameters, &is_parameter);
        kernel.reductions.iter_mut().for_each(|reduction| reduction.value = at(reduction.value));
        for store in &mut kernel.stores {
            store.parameter = parameter_at(store.parameter);
            store.index.iter_mut().for_each(|id| *id = at(*id));
            store.value = at(store.value);
            store.guard = store.guard.map(at);
        }
        (kernel, kept(&buffers, &is_parameter))
    }
}

/// Where each kept element goes.
fn places(keep: &[bool]) -> Vec<u32> {
    let count = |next: &mut u32, &keep: &bool| {
        let place = *next;
        *next += u32::from(keep);
        Some(place)
    };
    keep.iter().scan(0, count).collect()
}

fn kept<T: Clone>(all: &[T], keep: &[bool]) -> Vec<T> {
    all.iter().zip(keep).filter(|(_, keep)| **keep).map(|(item, _)| item.clone()).collect()
}

/// A name for people that says what was fused, within bounds.
fn name(producer: &str, consumer: &str) -> String {
    const LONGEST: usize = 48;
    let joined = format!("{producer}_{consumer}");
    if joined.len() <= LONGEST { joined } else { producer.to_owned() }
}
