//! Merges neighbouring outer axes that every access walks as one.
//!
//! An axis pair `(p, q)` becomes one axis of extent `p * q` where each index that mentions either is exactly `[.., p, q, ..]`
//! on two neighbouring dimensions of which the second has the extent of `q`. Long axes vectorize and tile better.

use std::sync::Arc;

use super::{Action, AxisId, Expr, ExprId, Kernel, Program, Step};
use crate::graph::Dim;

/// Collapses the kernels of all steps.
pub fn collapse_all(program: &mut Program) {
    fn block(steps: &mut [Step]) {
        for step in steps {
            match &mut step.action {
                Action::Launch { kernel, .. } => *kernel = Arc::new(collapse(kernel)),
                Action::If { then, otherwise, .. } => {
                    block(then);
                    block(otherwise);
                }
                Action::Loop { body, .. } => block(body),
                _ => {}
            }
        }
    }
    block(&mut program.steps);
}

/// The kernel with as few outer axes as its accesses allow; the parameters' shapes change with them.
pub fn collapse(kernel: &Kernel) -> Kernel {
    let mut kernel = kernel.clone();
    let mut level = 0;
    while level + 1 < kernel.outer.len() {
        let (p, q) = (kernel.outer[level], kernel.outer[level + 1]);
        match collapse_pair(&kernel, p, q) {
            Some(merged) => kernel = merged,
            None => level += 1,
        }
    }
    kernel
}

/// For each parameter, the dimension at which the pair stands in all its accesses.
fn places(kernel: &Kernel, p: AxisId, q: AxisId) -> Option<Vec<Option<usize>>> {
    let is = |id: ExprId, axis: AxisId| matches!(kernel.expr(id), Expr::Axis(other) if *other == axis);
    let mut places: Vec<Option<Option<usize>>> = vec![None; kernel.parameters.len()];
    let loads = kernel.exprs.iter().filter_map(|expr| match expr {
        Expr::Load { parameter, index, .. } => Some((*parameter, index)),
        _ => None,
    });
    let stores = kernel.stores.iter().map(|store| (store.parameter, &store.index));
    for (parameter, index) in loads.chain(stores) {
        let place = index.iter().position(|&id| is(id, p));
        if let Some(at) = place {
            let follows = index.get(at + 1).is_some_and(|&id| is(id, q));
            let fits = kernel.parameter(parameter).shape.get(at + 1) == Some(kernel.extent(q));
            let first_fits = kernel.parameter(parameter).shape[at] == *kernel.extent(p);
            if !follows || !fits || !first_fits {
                return None;
            }
        }
        match &mut places[parameter.0 as usize] {
            Some(known) if *known != place => return None,
            known => *known = Some(place),
        }
    }
    // The axes may occur nowhere but in those positions.
    for expr in &kernel.exprs {
        let allowed = match expr {
            Expr::Load { parameter, .. } => places[parameter.0 as usize].flatten(),
            _ => None,
        };
        let index_len = if let Expr::Load { index, .. } = expr { index.len() } else { 0 };
        for (position, operand) in expr.operands().into_iter().enumerate() {
            let mentions = is(operand, p) || is(operand, q);
            let in_place = position < index_len && allowed.is_some_and(|at| position == at || position == at + 1);
            if mentions && !in_place {
                return None;
            }
        }
    }
    for store in &kernel.stores {
        let at = places[store.parameter.0 as usize].flatten();
        for (position, &id) in store.index.iter().enumerate() {
            let in_place = at.is_some_and(|at| position == at || position == at + 1);
            if (is(id, p) || is(id, q)) && !in_place {
                return None;
            }
        }
        let elsewhere = [Some(store.value), store.guard];
        if elsewhere.into_iter().flatten().any(|id| is(id, p) || is(id, q)) {
            return None;
        }
    }
    if kernel.reductions.iter().any(|reduction| is(reduction.value, p) || is(reduction.value, q)) {
        return None;
    }
    Some(places.into_iter().map(Option::flatten).collect())
}

fn collapse_pair(kernel: &Kernel, p: AxisId, q: AxisId) -> Option<Kernel> {
    let places = places(kernel, p, q)?;
    let mut merged = kernel.clone();
    merged.axes[p.0 as usize] = kernel.extent(p) * kernel.extent(q);
    merged.axes[q.0 as usize] = Dim::constant(1);
    merged.outer.retain(|&axis| axis != q);
    for (parameter, place) in merged.parameters.iter_mut().zip(&places) {
        if let Some(at) = *place {
            let second = parameter.shape.remove(at + 1);
            parameter.shape[at] = &parameter.shape[at] * &second;
        }
    }
    for expr in &mut merged.exprs {
        match expr {
            Expr::Load { parameter, index, .. } => {
                if let Some(at) = places[parameter.0 as usize] {
                    index.remove(at + 1);
                }
            }
            // No longer used; a constant keeps the list well-formed.
            Expr::Axis(axis) if *axis == q => *expr = Expr::Dim(Dim::constant(0)),
            _ => {}
        }
    }
    for store in &mut merged.stores {
        if let Some(at) = places[store.parameter.0 as usize] {
            store.index.remove(at + 1);
        }
    }
    Some(merged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::ElementType::F32;
    use crate::loops::{Access, KernelBuilder};

    #[test]
    fn an_elementwise_kernel_becomes_one_loop() {
        let shape = [Dim::constant(2), Dim::constant(3), Dim::constant(5)];
        let mut builder = KernelBuilder::new("neg");
        let (x, y) = (builder.parameter(F32, &shape, Access::Read), builder.parameter(F32, &shape, Access::Write));
        let axes = builder.outer_axes(&shape);
        let value = builder.load(x, &axes);
        builder.store(y, &axes, value);
        let kernel = collapse(&builder.finish());
        assert_eq!(kernel.outer.len(), 1);
        assert_eq!(kernel.parameters[0].shape, [Dim::constant(30)]);
    }

    #[test]
    fn a_transposed_access_keeps_both_axes() {
        let (a, b) = (Dim::constant(2), Dim::constant(3));
        let mut builder = KernelBuilder::new("transpose");
        let x = builder.parameter(F32, &[b.clone(), a.clone()], Access::Read);
        let y = builder.parameter(F32, &[a.clone(), b.clone()], Access::Write);
        let axes = builder.outer_axes(&[a, b]);
        let value = builder.load(x, &[axes[1], axes[0]]);
        builder.store(y, &axes, value);
        assert_eq!(collapse(&builder.finish()).outer.len(), 2);
    }
}
