//! Kernels, one point after another.

use super::arithmetic::{binary, bitcast, cast, compare, unary};
use super::{Fault, Fuel, Number, storage};
use crate::graph::{Dim, ElementType, SymbolId};
use crate::loops::verify::verify_kernel;
use crate::loops::{
    AxisId, BinaryOp, CompareOp, Expr, ExprId, Kernel, ParameterId, ReduceOp, Reduction, Store, StoreOp,
};

/// Values of symbols.
pub type SymbolValues<'a> = dyn Fn(SymbolId) -> Option<i64> + 'a;

/// Runs a kernel on little-endian packed buffers, one a parameter.
///
/// # Errors
/// See [`Fault`]; the buffers then hold what was stored so far.
pub fn interpret_kernel(
    kernel: &Kernel,
    buffers: &mut [Vec<u8>],
    symbols: &SymbolValues<'_>,
    fuel: &mut Fuel,
) -> Result<(), Fault> {
    let slots: Vec<usize> = (0..buffers.len()).collect();
    interpret_in(kernel, buffers, &slots, symbols, fuel)
}

/// The same with each parameter's place in `memory`.
pub(super) fn interpret_in(
    kernel: &Kernel,
    memory: &mut [Vec<u8>],
    slots: &[usize],
    symbols: &SymbolValues<'_>,
    fuel: &mut Fuel,
) -> Result<(), Fault> {
    verify_kernel(kernel).map_err(Fault::Invalid)?;
    let fault = |message: String| Fault::Invalid(format!("kernel {}: {message}", kernel.name));
    let value_of = |dim: &Dim| dim.evaluate(symbols).map_err(|error| fault(error.to_string()));
    if slots.len() != kernel.parameters.len() {
        return Err(fault(format!("{} buffers for {} parameters", slots.len(), kernel.parameters.len())));
    }
    let mut shapes = Vec::new();
    for (position, (parameter, &slot)) in kernel.parameters.iter().zip(slots).enumerate() {
        let shape: Vec<i64> = parameter.shape.iter().map(value_of).collect::<Result<_, _>>()?;
        let count = shape.iter().try_fold(1i64, |count, &dim| count.checked_mul(dim));
        let needed = count.and_then(|count| storage::bytes_of(parameter.element, count));
        if !storage::is_supported(parameter.element) || needed.is_none() {
            return Err(fault(format!("p{position} is {}{shape:?}, which has no memory form", parameter.element)));
        }
        let length = memory.get(slot).map(Vec::len);
        if length != needed {
            let (length, needed) = (length.unwrap_or(0), needed.unwrap_or(0));
            return Err(fault(format!("p{position} needs {needed} bytes and has {length}")));
        }
        shapes.push(shape);
    }
    let mut dims = vec![0; kernel.exprs.len()];
    for (dim, expr) in dims.iter_mut().zip(&kernel.exprs) {
        if let Expr::Dim(expression) = expr {
            *dim = value_of(expression)?;
        }
    }
    let extents: Vec<i64> = kernel.axes.iter().map(value_of).collect::<Result<_, _>>()?;
    let mut machine = Machine {
        kernel,
        memory,
        slots,
        shapes,
        extents,
        dims,
        positions: vec![0; kernel.axes.len()],
        reduced: Vec::new(),
        values: vec![Number::bool(false); kernel.exprs.len()],
        fuel,
    };
    let reductions: Vec<(&Reduction, Vec<ExprId>)> =
        kernel.reductions.iter().map(|reduction| (reduction, needed(kernel, &[reduction.value]))).collect();
    let stores: Vec<StorePlan> = kernel.stores.iter().map(|store| StorePlan::new(kernel, store)).collect();
    machine.over(&kernel.outer, &mut |machine| {
        machine.reduced.clear();
        for (reduction, exprs) in &reductions {
            let result = machine.reduce(reduction, exprs)?;
            machine.reduced.push(result);
        }
        stores.iter().try_for_each(|plan| machine.over(&plan.store.axes, &mut |machine| machine.store(plan)))
    })
}

/// The expressions that `roots` need, operands first.
fn needed(kernel: &Kernel, roots: &[ExprId]) -> Vec<ExprId> {
    let mut marked = vec![false; kernel.exprs.len()];
    roots.iter().for_each(|root| marked[root.0 as usize] = true);
    for place in (0..marked.len()).rev() {
        if marked[place] {
            kernel.exprs[place].operands().iter().for_each(|operand| marked[operand.0 as usize] = true);
        }
    }
    (0..marked.len()).filter(|&place| marked[place]).map(|place| ExprId(place as u32)).collect()
}

struct StorePlan<'a> {
    store: &'a Store,
    guard: Vec<ExprId>,
    value: Vec<ExprId>,
}

impl<'a> StorePlan<'a> {
    fn new(kernel: &Kernel, store: &'a Store) -> Self {
        let guard: Vec<ExprId> = store.guard.into_iter().collect();
        let roots: Vec<ExprId> = store.index.iter().copied().chain([store.value]).collect();
        Self { store, guard: needed(kernel, &guard), value: needed(kernel, &roots) }
    }
}

struct Machine<'a> {
    kernel: &'a Kernel,
    memory: &'a mut [Vec<u8>],
    slots: &'a [usize],
    shapes: Vec<Vec<i64>>,
    extents: Vec<i64>,
    /// Values of [`Expr::Dim`]s, by expression.
    dims: Vec<i64>,
    positions: Vec<i64>,
    reduced: Vec<Number>,
    /// Values of the expressions evaluated last, by expression.
    values: Vec<Number>,
    fuel: &'a mut Fuel,
}

impl Machine<'_> {
    /// Runs `body` at each point of `axes`.
    fn over(&mut self, axes: &[AxisId], body: &mut dyn FnMut(&mut Self) -> Result<(), Fault>) -> Result<(), Fault> {
        let Some((axis, inner)) = axes.split_first() else { return body(self) };
        for position in 0..self.extents[axis.0 as usize] {
            self.fuel.spend(1)?;
            self.positions[axis.0 as usize] = position;
            self.over(inner, body)?;
        }
        Ok(())
    }

    fn value(&self, id: ExprId) -> Number {
        self.values[id.0 as usize]
    }

    fn evaluate(&mut self, exprs: &[ExprId]) -> Result<(), Fault> {
        self.fuel.spend(exprs.len() as u64)?;
        for &id in exprs {
            self.values[id.0 as usize] = self.expr(id)?;
        }
        Ok(())
    }

    fn reduce(&mut self, reduction: &Reduction, exprs: &[ExprId]) -> Result<Number, Fault> {
        let element = self.kernel.type_of(reduction.value);
        let identity = Number::from_scalar(reduction.op.identity(element));
        if let ReduceOp::ArgMin { last } | ReduceOp::ArgMax { last } = reduction.op {
            let least = matches!(reduction.op, ReduceOp::ArgMin { .. });
            let &[axis] = reduction.axes.as_slice() else {
                return Err(Fault::Invalid(format!("kernel {}: a position on several axes", self.kernel.name)));
            };
            let mut best: Option<(Number, i64)> = None;
            self.over(&reduction.axes, &mut |machine| {
                machine.evaluate(exprs)?;
                let value = machine.value(reduction.value);
                let takes = match best {
                    None => true,
                    Some((held, _)) if held.is_nan() || value.is_nan() => value.is_nan() && (last || !held.is_nan()),
                    Some((held, _)) => {
                        let op = if least { CompareOp::Lt } else { CompareOp::Gt };
                        compare(op, value, held)? || (last && compare(CompareOp::Eq, value, held)?)
                    }
                };
                if takes {
                    best = Some((value, machine.positions[axis.0 as usize]));
                }
                Ok(())
            })?;
            return Ok(Number::index(best.map_or(0, |(_, position)| position)));
        }
        let op = match reduction.op {
            ReduceOp::Sum => BinaryOp::Add,
            ReduceOp::Product => BinaryOp::Mul,
            ReduceOp::Min => BinaryOp::Min,
            ReduceOp::Max => BinaryOp::Max,
            ReduceOp::And => BinaryOp::And,
            ReduceOp::Or => BinaryOp::Or,
            _ => BinaryOp::Xor,
        };
        let wide = element == ElementType::F32 && matches!(op, BinaryOp::Add | BinaryOp::Mul);
        let widened = |value: Number| if wide { Number::F64(value.to_f64()) } else { value };
        let mut total = widened(identity);
        self.over(&reduction.axes, &mut |machine| {
            machine.evaluate(exprs)?;
            total = binary(op, total, widened(machine.value(reduction.value)))?;
            Ok(())
        })?;
        Ok(if wide { Number::F32(total.to_f64() as f32) } else { total })
    }

    fn store(&mut self, plan: &StorePlan<'_>) -> Result<(), Fault> {
        let store = plan.store;
        self.evaluate(&plan.guard)?;
        if store.guard.is_some_and(|guard| !self.value(guard).is_true()) {
            return Ok(());
        }
        self.evaluate(&plan.value)?;
        let position = self.position(store.parameter, &store.index, true)?;
        let mut value = self.value(store.value);
        let op = match store.op {
            StoreOp::Set => None,
            StoreOp::Add => Some(BinaryOp::Add),
            StoreOp::Mul => Some(BinaryOp::Mul),
            StoreOp::Min => Some(BinaryOp::Min),
            StoreOp::Max => Some(BinaryOp::Max),
        };
        if let Some(op) = op {
            value = binary(op, self.load(store.parameter, position)?, value)?;
        }
        let element = self.kernel.parameter(store.parameter).element;
        if value.element() != element.compute_type() {
            return Err(self.invalid(format!("{} is stored to {element}", value.element())));
        }
        let memory = &mut self.memory[self.slots[store.parameter.0 as usize]];
        match storage::store(element, memory, position, value) {
            Some(()) => Ok(()),
            None => Err(self.invalid(format!("no memory at element {position}"))),
        }
    }

    fn load(&self, parameter: ParameterId, position: usize) -> Result<Number, Fault> {
        let memory = &self.memory[self.slots[parameter.0 as usize]];
        storage::load(self.kernel.parameter(parameter).element, memory, position)
            .ok_or_else(|| self.invalid(format!("no memory at element {position}")))
    }

    fn invalid(&self, message: String) -> Fault {
        Fault::Invalid(format!("kernel {}: {message}", self.kernel.name))
    }

    /// The position of an element in its buffer.
    fn position(&self, parameter: ParameterId, index: &[ExprId], store: bool) -> Result<usize, Fault> {
        let shape = &self.shapes[parameter.0 as usize];
        let index: Vec<i64> = index.iter().map(|&id| self.value(id).to_i64()).collect();
        if index.len() != shape.len() || index.iter().zip(shape).any(|(at, extent)| !(0..*extent).contains(at)) {
            let kernel = self.kernel.name.clone();
            return Err(Fault::OutOfRange { kernel, parameter: parameter.0, store, index, shape: shape.clone() });
        }
        // Within the shape, whose product fits.
        Ok(index.iter().zip(shape).fold(0, |position, (at, extent)| position * extent + at) as usize)
    }

    fn expr(&self, id: ExprId) -> Result<Number, Fault> {
        Ok(match self.kernel.expr(id) {
            Expr::Const(scalar) => Number::from_scalar(*scalar),
            Expr::Axis(axis) => Number::index(self.positions[axis.0 as usize]),
            Expr::Dim(_) => Number::index(self.dims[id.0 as usize]),
            Expr::Load { guard: Some((condition, otherwise)), .. } if !self.value(*condition).is_true() => {
                Number::from_scalar(*otherwise)
            }
            Expr::Load { parameter, index, .. } => self.load(*parameter, self.position(*parameter, index, false)?)?,
            Expr::Unary(op, a) => unary(*op, self.value(*a))?,
            Expr::Binary(op, a, b) => binary(*op, self.value(*a), self.value(*b))?,
            Expr::Compare(op, a, b) => Number::bool(compare(*op, self.value(*a), self.value(*b))?),
            Expr::Select(condition, a, b) => self.value(if self.value(*condition).is_true() { *a } else { *b }),
            Expr::Cast { to, saturate, value } => cast(*to, *saturate, self.value(*value))?,
            Expr::Bitcast(to, value) => bitcast(*to, self.value(*value))?,
            Expr::Reduced(id) => match self.reduced.get(id.0 as usize) {
                Some(&value) => value,
                None => return Err(self.invalid(format!("r{} is used before it is reduced", id.0))),
            },
            Expr::Checked { index, extent } => {
                let (index, extent) = (self.value(*index).to_i64(), self.value(*extent).to_i64());
                if !(0..extent).contains(&index) {
                    return Err(Fault::Check(format!(
                        "kernel {}: index {index} is not in 0..{extent}",
                        self.kernel.name
                    )));
                }
                Number::index(index)
            }
        })
    }
}
