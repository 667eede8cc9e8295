//! Evaluates kernels over dimension expressions instead of numbers.

use std::collections::HashMap;

use super::{Access, AxisId, BinaryOp, BufferId, CompareOp, Expr, ExprId, Kernel, ReduceOp, StoreOp, UnaryOp};
use crate::graph::{CompareOperator, Dim};

/// More points than this are not evaluated: known values are those of small tensors.
const MAX_POINTS: usize = 4096;

/// Runs a kernel on integer buffers whose elements are expressions. `None` where the kernel does something that has no
/// expression, or where an index is not a constant; the contents are then unspecified.
pub fn run(kernel: &Kernel, buffers: &[BufferId], contents: &mut HashMap<BufferId, Vec<Dim>>) -> Option<()> {
    for (parameter, buffer) in kernel.parameters.iter().zip(buffers) {
        let count = Dim::product(parameter.shape.iter().cloned()).as_const()?;
        let len = usize::try_from(count).ok().filter(|&len| len <= MAX_POINTS)?;
        match contents.get(buffer) {
            Some(elements) if elements.len() != len => return None,
            Some(_) => {}
            // Elements that nobody knows; floats are not followed, and nothing that depends on them is.
            None if parameter.access == Access::Read && !parameter.element.is_float() => return None,
            None => {
                contents.insert(*buffer, vec![Dim::constant(0); len]);
            }
        }
    }
    let mut machine =
        Machine { kernel, buffers, contents, axes: vec![0; kernel.axes.len()], reduced: Vec::new(), fuel: MAX_POINTS };
    machine.over(&kernel.outer, &mut |machine| {
        machine.reduced.clear();
        for reduction in &kernel.reductions {
            let mut total: Option<Dim> = None;
            machine.over(&reduction.axes, &mut |machine| {
                let value = machine.value(reduction.value)?;
                total = Some(match total.take() {
                    None => value,
                    Some(total) => combine(reduction.op, &total, &value)?,
                });
                Some(())
            })?;
            let identity = || Dim::constant(reduction.op.identity(kernel.type_of(reduction.value)).to_i64());
            machine.reduced.push(total.unwrap_or_else(identity));
        }
        for store in &kernel.stores {
            machine.over(&store.axes, &mut |machine| {
                if let Some(guard) = store.guard
                    && machine.value(guard)?.as_const()? == 0
                {
                    return Some(());
                }
                let value = machine.value(store.value)?;
                let position = machine.position(store.parameter.0 as usize, &store.index)?;
                let target =
                    machine.contents.get_mut(&machine.buffers[store.parameter.0 as usize])?.get_mut(position)?;
                *target = match store.op {
                    StoreOp::Set => value,
                    StoreOp::Add => &*target + &value,
                    StoreOp::Mul => &*target * &value,
                    StoreOp::Min => target.min(&value),
                    StoreOp::Max => target.max(&value),
                };
                Some(())
            })?;
        }
        Some(())
    })
}

fn combine(op: ReduceOp, a: &Dim, b: &Dim) -> Option<Dim> {
    Some(match op {
        ReduceOp::Sum => a + b,
        ReduceOp::Product => a * b,
        ReduceOp::Min => a.min(b),
        ReduceOp::Max => a.max(b),
        _ => return None,
    })
}

struct Machine<'a> {
    kernel: &'a Kernel,
    buffers: &'a [BufferId],
    contents: &'a mut HashMap<BufferId, Vec<Dim>>,
    axes: Vec<i64>,
    reduced: Vec<Dim>,
    fuel: usize,
}

impl Machine<'_> {
    /// Runs `body` at each point of `axes`.
    fn over(&mut self, axes: &[AxisId], body: &mut dyn FnMut(&mut Self) -> Option<()>) -> Option<()> {
        let Some((axis, inner)) = axes.split_first() else {
            self.fuel = self.fuel.checked_sub(1)?;
            return body(self);
        };
        let extent = self.kernel.extent(*axis).as_const()?;
        for position in 0..extent {
            self.axes[axis.0 as usize] = position;
            self.over(inner, body)?;
        }
        Some(())
    }

    fn position(&mut self, parameter: usize, index: &[ExprId]) -> Option<usize> {
        let mut position = 0;
        for (i, &index) in index.iter().enumerate() {
            let extent = self.kernel.parameters[parameter].shape[i].as_const()?;
            let at = self.value(index)?.as_const().filter(|at| (0..extent).contains(at))?;
            position = position * extent + at;
        }
        usize::try_from(position).ok()
    }

    fn value(&mut self, id: ExprId) -> Option<Dim> {
        self.fuel = self.fuel.checked_sub(1)?;
        Some(match self.kernel.expr(id) {
            Expr::Const(scalar) if !scalar.element.is_float() => Dim::constant(scalar.to_i64()),
            Expr::Axis(axis) => Dim::constant(self.axes[axis.0 as usize]),
            Expr::Dim(dim) => dim.clone(),
            Expr::Load { parameter, index, guard } => {
                if let Some((condition, otherwise)) = guard
                    && self.value(*condition)?.as_const()? == 0
                {
                    return Some(Dim::constant(otherwise.to_i64()));
                }
                let position = self.position(parameter.0 as usize, index)?;
                self.contents.get(&self.buffers[parameter.0 as usize])?.get(position)?.clone()
            }
            Expr::Unary(op, a) => {
                let is_bool = self.kernel.type_of(*a) == crate::graph::ElementType::Bool;
                let a = self.value(*a)?;
                match op {
                    UnaryOp::Neg => -a,
                    UnaryOp::Abs => a.max(&-&a),
                    UnaryOp::Not if is_bool => Dim::constant(1) - a,
                    _ => return None,
                }
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.value(*a)?, self.value(*b)?);
                let is_bool = self.kernel.type_of(id) == crate::graph::ElementType::Bool;
                match op {
                    BinaryOp::Add => a + b,
                    BinaryOp::Sub => a - b,
                    BinaryOp::Mul => a * b,
                    BinaryOp::Div => a.trunc_div(&b),
                    BinaryOp::Rem => a.trunc_rem(&b),
                    BinaryOp::FloorDiv => a.floor_div(&b),
                    BinaryOp::Mod => a.modulo(&b),
                    BinaryOp::Min => a.min(&b),
                    BinaryOp::Max => a.max(&b),
                    BinaryOp::And if is_bool => a * b,
                    BinaryOp::Or if is_bool => a.max(&b),
                    _ => return None,
                }
            }
            Expr::Compare(op, a, b) if !self.kernel.type_of(*a).is_float() => {
                let operator = match op {
                    CompareOp::Eq => CompareOperator::Equal,
                    CompareOp::Ne => CompareOperator::NotEqual,
                    CompareOp::Lt => CompareOperator::Less,
                    CompareOp::Le => CompareOperator::LessEqual,
                    CompareOp::Gt => CompareOperator::Greater,
                    CompareOp::Ge => CompareOperator::GreaterEqual,
                };
                self.value(*a)?.compare(operator, &self.value(*b)?)
            }
            Expr::Select(condition, a, b) => {
                let condition = self.value(*condition)?;
                match condition.as_const() {
                    Some(0) => self.value(*b)?,
                    Some(_) => self.value(*a)?,
                    None => Dim::select(&condition, &self.value(*a)?, &self.value(*b)?),
                }
            }
            Expr::Cast { to, value, .. } if !to.is_float() && !self.kernel.type_of(*value).is_float() => {
                let dim = self.value(*value)?;
                match (to, dim.as_const()) {
                    (_, Some(number)) => Dim::constant(super::Scalar::from_i64(*to, number).to_i64()),
                    (crate::graph::ElementType::Bool, None) => {
                        dim.compare(CompareOperator::NotEqual, &Dim::constant(0))
                    }
                    (_, None) => dim,
                }
            }
            Expr::Reduced(reduction) => self.reduced.get(reduction.0 as usize)?.clone(),
            Expr::Checked { index, .. } => self.value(*index)?,
            _ => return None,
        })
    }
}
