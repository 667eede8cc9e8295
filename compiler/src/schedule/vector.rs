//! The choice of the axis whose neighbouring points share vector registers.

use std::collections::BTreeSet;

use super::linear_stride;
use crate::graph::ElementType as E;
use crate::loops::{AxisId, BinaryOp, Expr, ExprId, Kernel, ReduceOp, StoreOp, UnaryOp};

/// A vector axis and its place in the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VectorAxis {
    /// The last outer axis: each lane computes a whole point.
    Outer(AxisId),
    /// The last axes of reductions and stores: lanes share the work of a point. The axes are all that may be vectorized.
    Inner,
}

/// The vector axis of a kernel, if its accesses and operations allow one.
pub fn choose_vector_axis(kernel: &Kernel) -> Option<VectorAxis> {
    if !kernel.is_parallel() {
        return None;
    }
    let dependencies = kernel.dependencies();
    let stores_inner = kernel.stores.iter().any(|store| !store.axes.is_empty());
    let outer = kernel.outer.last().copied().filter(|_| !stores_inner);
    if let Some(axis) = outer
        && is_long(kernel, axis)
        && kernel.stores.iter().all(|store| store_is_vectorizable(kernel, &dependencies, store, axis, true))
        && kernel.reductions.iter().all(|reduction| {
            !reduction.op.is_position() && value_is_vectorizable(kernel, &dependencies, reduction.value, axis)
        })
    {
        return Some(VectorAxis::Outer(axis));
    }
    let reduction = kernel.reductions.iter().any(|reduction| reduction_is_vectorizable(kernel, reduction));
    let store = kernel.stores.iter().any(|store| inner_store_is_vectorizable(kernel, store));
    (reduction || store).then_some(VectorAxis::Inner)
}

/// Whether the last axis of a reduction may be vectorized.
pub fn reduction_is_vectorizable(kernel: &Kernel, reduction: &crate::loops::Reduction) -> bool {
    let Some(&axis) = reduction.axes.last() else { return false };
    matches!(reduction.op, ReduceOp::Sum | ReduceOp::Product | ReduceOp::Min | ReduceOp::Max)
        && is_long(kernel, axis)
        && kernel.type_of(reduction.value).bits() == 32
        && value_is_vectorizable(kernel, &kernel.dependencies(), reduction.value, axis)
}

/// Whether the last inner axis of a store may be vectorized.
pub fn inner_store_is_vectorizable(kernel: &Kernel, store: &crate::loops::Store) -> bool {
    let Some(&axis) = store.axes.last() else { return false };
    is_long(kernel, axis) && store_is_vectorizable(kernel, &kernel.dependencies(), store, axis, false)
}

fn is_long(kernel: &Kernel, axis: AxisId) -> bool {
    kernel.extent(axis).as_const().is_none_or(|extent| extent >= 4)
}

fn store_is_vectorizable(
    kernel: &Kernel,
    dependencies: &[BTreeSet<AxisId>],
    store: &crate::loops::Store,
    axis: AxisId,
    outer: bool,
) -> bool {
    store.guard.is_none()
        && store.op == StoreOp::Set
        && (outer || store.axes.last() == Some(&axis))
        && is_lane_type(kernel.parameter(store.parameter).element)
        && linear_stride(kernel, store.parameter, &store.index, axis).and_then(|stride| stride.as_const()) == Some(1)
        && value_is_vectorizable(kernel, dependencies, store.value, axis)
}

fn is_lane_type(element: E) -> bool {
    matches!(element, E::F32 | E::I32 | E::U32)
}

/// Whether neighbouring values of an expression along `axis` can be computed in the lanes of a vector.
pub(super) fn value_is_vectorizable(
    kernel: &Kernel,
    dependencies: &[BTreeSet<AxisId>],
    id: ExprId,
    axis: AxisId,
) -> bool {
    let mut visited = vec![false; kernel.exprs.len()];
    let mut stack = vec![id];
    while let Some(id) = stack.pop() {
        if std::mem::replace(&mut visited[id.0 as usize], true) || !dependencies[id.0 as usize].contains(&axis) {
            continue;
        }
        let element = kernel.type_of(id);
        let expr = kernel.expr(id);
        if !(is_lane_type(element) || element == E::Bool)
            || !operation_is_vectorizable(kernel, dependencies, expr, axis)
        {
            return false;
        }
        match expr {
            Expr::Load { .. } | Expr::Reduced(_) => {}
            other => stack.extend(other.operands()),
        }
    }
    true
}

fn operation_is_vectorizable(kernel: &Kernel, dependencies: &[BTreeSet<AxisId>], expr: &Expr, axis: AxisId) -> bool {
    let is_float = |id: &ExprId| kernel.type_of(*id) == E::F32;
    match expr {
        Expr::Load { parameter, index, guard } => {
            let varies = |id: &ExprId| dependencies[id.0 as usize].contains(&axis);
            is_lane_type(kernel.parameter(*parameter).element)
                && guard.is_none_or(|(condition, _)| !varies(&condition))
                && linear_stride(kernel, *parameter, index, axis).is_some()
        }
        // A reduction that depends on the axis is itself vectorized over it.
        Expr::Reduced(_) => true,
        Expr::Unary(op, a) => match op {
            UnaryOp::Not => kernel.type_of(*a) == E::Bool || !is_float(a),
            UnaryOp::Neg | UnaryOp::Abs => true,
            _ => is_float(a),
        },
        Expr::Binary(op, a, _) => match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Min | BinaryOp::Max | BinaryOp::Mul => {
                kernel.type_of(*a) != E::Bool
            }
            BinaryOp::Div | BinaryOp::Pow => is_float(a),
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => true,
            _ => false,
        },
        Expr::Compare(_, a, _) => kernel.type_of(*a) != E::Bool && is_lane_type(kernel.type_of(*a)),
        Expr::Select(..) => true,
        Expr::Cast { to, value, .. } => {
            matches!(
                (kernel.type_of(*value), to),
                (E::Bool, E::F32 | E::I32) | (E::I32, E::F32) | (E::F32, E::I32) | (E::F32 | E::I32, E::Bool)
            )
        }
        _ => false,
    }
}
