//! The rules of kernels.

use std::collections::BTreeSet;

use super::types;
use crate::graph::ElementType;
use crate::loops::{Access, AxisId, BinaryOp, Expr, ExprId, Kernel, ReductionId, Store, StoreOp};

/// Checks a kernel: operands come earlier and exist, types follow the rules of [`Expr`], axes are used where their loops
/// are open, reductions are used after they are done, and parameters are used as their [`Access`] says.
///
/// # Errors
/// The first broken rule, naming the kernel and the expression, reduction or store.
pub fn verify_kernel(kernel: &Kernel) -> Result<(), String> {
    check(kernel).map_err(|message| format!("kernel {}: {message}", kernel.name))
}

fn check(kernel: &Kernel) -> Result<(), String> {
    if kernel.types.len() != kernel.exprs.len() {
        return Err(format!("{} types for {} expressions", kernel.types.len(), kernel.exprs.len()));
    }
    for (place, reduction) in kernel.reductions.iter().enumerate() {
        exists(reduction.value.0, kernel.exprs.len(), 'e').map_err(|message| format!("r{place}: {message}"))?;
    }
    for (place, expr) in kernel.exprs.iter().enumerate() {
        check_expr(kernel, place, expr).map_err(|message| format!("e{place}: {message}"))?;
    }
    opened(kernel, &[], &kernel.outer).map_err(|message| format!("outer axes: {message}"))?;
    for (place, reduction) in kernel.reductions.iter().enumerate() {
        let scope = || {
            let open = opened(kernel, &kernel.outer, &reduction.axes)?;
            types::reduction(reduction.op, kernel.type_of(reduction.value))?;
            if reduction.op.is_position() && reduction.axes.len() != 1 {
                return Err(format!("a position is sought on one axis, not on {}", reduction.axes.len()));
            }
            in_scope(kernel, &[reduction.value], &open, place)
        };
        scope().map_err(|message| format!("r{place}: {message}"))?;
    }
    for (place, store) in kernel.stores.iter().enumerate() {
        check_store(kernel, store).map_err(|message| format!("store {place}: {message}"))?;
    }
    Ok(())
}

fn exists(id: u32, count: usize, letter: char) -> Result<(), String> {
    if (id as usize) < count { Ok(()) } else { Err(format!("there is no {letter}{id}")) }
}

fn check_expr(kernel: &Kernel, place: usize, expr: &Expr) -> Result<(), String> {
    for operand in expr.operands() {
        if operand.0 as usize >= place {
            return Err(format!("its operand e{} does not come before it", operand.0));
        }
    }
    match expr {
        Expr::Axis(axis) => exists(axis.0, kernel.axes.len(), 'a')?,
        Expr::Load { parameter, .. } => {
            exists(parameter.0, kernel.parameters.len(), 'p')?;
            if kernel.parameter(*parameter).access == Access::Write {
                return Err(format!("p{} is read but declared as only written", parameter.0));
            }
        }
        Expr::Reduced(id) => {
            exists(id.0, kernel.reductions.len(), 'r')?;
            if kernel.reduction(*id).value.0 as usize >= place {
                return Err(format!("the value of r{} does not come before it", id.0));
            }
        }
        _ => {}
    }
    let (declared, found) = (kernel.types[place], types::type_of(kernel, expr)?);
    if declared == found { Ok(()) } else { Err(format!("its type is {found}, not {declared}")) }
}

/// The axes open inside loops over `axes` within loops over `outside`.
fn opened(kernel: &Kernel, outside: &[AxisId], axes: &[AxisId]) -> Result<BTreeSet<AxisId>, String> {
    let mut open: BTreeSet<AxisId> = outside.iter().copied().collect();
    for axis in axes {
        exists(axis.0, kernel.axes.len(), 'a')?;
        if !open.insert(*axis) {
            return Err(format!("a{} is opened within its own loop", axis.0));
        }
    }
    Ok(open)
}

/// Checks what `roots` need: axes that are `open`, and the first `done` reductions.
fn in_scope(kernel: &Kernel, roots: &[ExprId], open: &BTreeSet<AxisId>, done: usize) -> Result<(), String> {
    let mut seen: BTreeSet<ExprId> = BTreeSet::new();
    let mut pending = roots.to_vec();
    while let Some(id) = pending.pop() {
        if !seen.insert(id) {
            continue;
        }
        match kernel.expr(id) {
            Expr::Axis(axis) if !open.contains(axis) => {
                return Err(format!("e{} is the position on a{}, whose loop is not open here", id.0, axis.0));
            }
            Expr::Reduced(ReductionId(reduction)) if *reduction as usize >= done => {
                return Err(format!("e{} is the result of r{reduction}, which is not done here", id.0));
            }
            expr => pending.extend(expr.operands()),
        }
    }
    Ok(())
}

fn check_store(kernel: &Kernel, store: &Store) -> Result<(), String> {
    exists(store.parameter.0, kernel.parameters.len(), 'p')?;
    let roots: Vec<ExprId> = store.index.iter().chain(&store.guard).chain([&store.value]).copied().collect();
    roots.iter().try_for_each(|root| exists(root.0, kernel.exprs.len(), 'e'))?;
    let parameter = kernel.parameter(store.parameter);
    let p = store.parameter.0;
    let op = match store.op {
        StoreOp::Set => None,
        StoreOp::Add => Some(BinaryOp::Add),
        StoreOp::Mul => Some(BinaryOp::Mul),
        StoreOp::Min => Some(BinaryOp::Min),
        StoreOp::Max => Some(BinaryOp::Max),
    };
    match (parameter.access, op) {
        (Access::Read, _) => return Err(format!("p{p} is written but declared as only read")),
        (Access::Write, Some(_)) => return Err(format!("p{p} is updated but declared as only written")),
        _ => {}
    }
    types::indices(kernel, &store.index, parameter.shape.len())?;
    let (value, wanted) = (kernel.type_of(store.value), parameter.element.compute_type());
    if value != wanted {
        return Err(format!("e{} is {value}, but p{p} takes {wanted}", store.value.0));
    }
    if let Some(op) = op {
        types::binary(op, value)?;
    }
    if let Some(guard) = store.guard
        && kernel.type_of(guard) != ElementType::Bool
    {
        return Err(format!("the guard e{} is no bool", guard.0));
    }
    let open = opened(kernel, &kernel.outer, &store.axes)?;
    in_scope(kernel, &roots, &open, kernel.reductions.len())
}
