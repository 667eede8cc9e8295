//! Whether computing a value where it is used costs less than writing and reading it.

use std::collections::BTreeSet;

use super::merge::Launch;
use crate::graph::Dim;
use crate::loops::{AxisId, BinaryOp, BufferId, Expr, ExprId, Kernel, UnaryOp};
use crate::schedule::contraction::recognize;

/// Work of an element, in simple operations, up to which it may be computed a few times over.
const CHEAP: u32 = 4;

/// How many times over.
const REPEATS: i64 = 3;

/// Whether the producer may be computed at each load of the temporary in the consumer.
pub fn pays(producer: Launch<'_>, consumer: Launch<'_>, temporary: BufferId) -> bool {
    let Some(store) = producer.kernel.stores.first() else { return false };
    let work = work(producer.kernel, store.value);
    if recognize(consumer.kernel).is_some() {
        // An operand is loaded by every tile: nothing but another way through memory may stand in a load's place.
        return matches!(producer.kernel.expr(store.value), Expr::Load { guard: None, .. }) && work == 0;
    }
    let elements = Dim::product(producer.kernel.parameter(store.parameter).shape.iter().cloned());
    match evaluations(consumer, temporary, &elements) {
        Some(times) => work == 0 || times <= 1 || work <= CHEAP && times <= REPEATS,
        None => false,
    }
}

/// The operations of an expression, those on indices of other loads included.
fn work(kernel: &Kernel, id: ExprId) -> u32 {
    let mut visited = vec![false; kernel.exprs.len()];
    let mut stack = vec![id];
    let mut total = 0u32;
    while let Some(id) = stack.pop() {
        if std::mem::replace(&mut visited[id.0 as usize], true) {
            continue;
        }
        let expr = kernel.expr(id);
        let is_index = kernel.type_of(id) == crate::graph::ElementType::I64;
        total += match expr {
            Expr::Const(_) | Expr::Axis(_) | Expr::Dim(_) | Expr::Load { guard: None, .. } | Expr::Bitcast(..) => 0,
            Expr::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, ..) if is_index => 0,
            Expr::Binary(BinaryOp::FloorDiv | BinaryOp::Mod | BinaryOp::Div | BinaryOp::Rem, ..) => 4,
            Expr::Binary(BinaryOp::Pow | BinaryOp::Atan2, ..) => 40,
            Expr::Unary(UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Not | UnaryOp::IsNan, _) => 1,
            Expr::Unary(..) => 20,
            _ => 1,
        };
        stack.extend(expr.operands());
    }
    total
}

/// How often each element of the temporary is loaded, at most; `None` where that is not known.
fn evaluations(consumer: Launch<'_>, temporary: BufferId, elements: &Dim) -> Option<i64> {
    let kernel = consumer.kernel;
    let loads: Vec<ExprId> = (0..kernel.exprs.len() as u32)
        .map(ExprId)
        .filter(|&id| {
            matches!(kernel.expr(id), Expr::Load { parameter, .. }
                if consumer.buffers[parameter.0 as usize] == temporary)
        })
        .collect();
    let reductions = kernel.reductions.iter().map(|reduction| (vec![reduction.value], &reduction.axes));
    let stores = kernel.stores.iter().map(|store| {
        let roots = store.index.iter().chain(store.guard.as_ref()).chain([&store.value]);
        (roots.copied().collect(), &store.axes)
    });
    let mut total = 0i64;
    for (roots, axes) in reductions.chain(stores) {
        let reached = reached(kernel, roots);
        for &load in loads.iter().filter(|&&load| reached[load.0 as usize]) {
            let space = kernel.outer.iter().chain(axes).copied().collect();
            total = total.checked_add(times(kernel, load, &space, elements)?)?;
        }
    }
    Some(total)
}

fn reached(kernel: &Kernel, mut stack: Vec<ExprId>) -> Vec<bool> {
    let mut reached = vec![false; kernel.exprs.len()];
    while let Some(id) = stack.pop() {
        if !std::mem::replace(&mut reached[id.0 as usize], true) {
            stack.extend(kernel.expr(id).operands());
        }
    }
    reached
}

/// How often a load over a space of axes meets each element.
fn times(kernel: &Kernel, load: ExprId, space: &BTreeSet<AxisId>, elements: &Dim) -> Option<i64> {
    let product = |axes: &mut dyn Iterator<Item = AxisId>| Dim::product(axes.map(|axis| kernel.extent(axis).clone()));
    let points = product(&mut space.iter().copied());
    if let (Some(points), Some(elements)) = (points.as_const(), elements.as_const()) {
        return Some(if elements > 0 { points.saturating_add(elements - 1) / elements } else { 0 });
    }
    let Expr::Load { index, .. } = kernel.expr(load) else { return None };
    let mut rest = space.clone();
    for &id in index {
        match kernel.expr(id) {
            Expr::Axis(axis) => {
                rest.remove(axis);
            }
            Expr::Const(_) | Expr::Dim(_) => {}
            _ => return None,
        }
    }
    product(&mut rest.into_iter()).as_const()
}
