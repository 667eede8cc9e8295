//! Results that may take the place of an operand.

use crate::loops::{Access, AxisId, BufferId, Expr, ExprId, Kernel, ParameterId, Store, StoreOp};

/// The operands of a launch in whose memory its result may be written: the kernel reads no element of theirs after it has
/// written there. Pairs of result and operand.
pub fn pairs(kernel: &Kernel, buffers: &[BufferId]) -> Vec<(BufferId, BufferId)> {
    let [store] = kernel.stores.as_slice() else { return Vec::new() };
    let result = kernel.parameter(store.parameter);
    let writes_in_order = kernel.is_parallel()
        && store.op == StoreOp::Set
        && store.guard.is_none()
        && result.element.bits() >= 8
        && is_injective(kernel, store);
    if !writes_in_order {
        return Vec::new();
    }
    let in_store = reached(kernel, store);
    let place = |id: ParameterId| buffers[id.0 as usize];
    (0..kernel.parameters.len() as u32)
        .map(ParameterId)
        .filter(|&id| {
            let parameter = kernel.parameter(id);
            let once = buffers.iter().filter(|&&other| other == place(id)).count() == 1;
            once && parameter.access == Access::Read
                && parameter.element == result.element
                && parameter.shape == result.shape
                && follows(kernel, store, id, &in_store)
        })
        .map(|id| (place(store.parameter), place(id)))
        .collect()
}

/// Whether each point of the outer axes stores elements of its own.
fn is_injective(kernel: &Kernel, store: &Store) -> bool {
    kernel.outer.iter().all(|&axis| {
        kernel.extent(axis).as_const() == Some(1)
            || store.index.iter().any(|&id| matches!(kernel.expr(id), Expr::Axis(other) if *other == axis))
    })
}

/// The expressions that the store evaluates; those that only reductions do are evaluated before.
fn reached(kernel: &Kernel, store: &Store) -> Vec<bool> {
    let mut reached = vec![false; kernel.exprs.len()];
    let mut stack = vec![store.value];
    stack.extend(&store.index);
    while let Some(id) = stack.pop() {
        if !std::mem::replace(&mut reached[id.0 as usize], true) {
            stack.extend(kernel.expr(id).operands());
        }
    }
    reached
}

/// Whether every load of a parameter meets an element that the same point writes: in the store the very element, before it
/// any of the point's row.
fn follows(kernel: &Kernel, store: &Store, parameter: ParameterId, in_store: &[bool]) -> bool {
    let is_axis_of = |id: ExprId, axes: &[AxisId]| matches!(kernel.expr(id), Expr::Axis(axis) if axes.contains(axis));
    let reduced: Vec<AxisId> = kernel.reductions.iter().flat_map(|reduction| reduction.axes.clone()).collect();
    kernel.exprs.iter().enumerate().all(|(place, expr)| match expr {
        Expr::Load { parameter: other, index, .. } if *other == parameter => {
            let mut pairs = index.iter().zip(&store.index);
            match in_store[place] {
                true => pairs.all(|(load, store)| load == store),
                false => pairs.all(|(&load, &target)| {
                    load == target || is_axis_of(load, &reduced) && is_axis_of(target, &store.axes)
                }),
            }
        }
        _ => true,
    })
}

#[cfg(test)]
mod tests {
    use super::pairs;
    use crate::graph::Symbols;
    use crate::loops::BufferId;
    use crate::loops::text::parse_kernel;

    fn operands(text: &str) -> Vec<u32> {
        let kernel = parse_kernel(text, &mut Symbols::new()).unwrap();
        let buffers: Vec<BufferId> = (0..kernel.parameters.len() as u32).map(BufferId).collect();
        pairs(&kernel, &buffers).into_iter().map(|(_, operand)| operand.0).collect()
    }

    #[test]
    fn an_element_may_be_replaced_by_what_is_computed_from_it() {
        let text = "kernel add(p0: f32[4, 8] read, p1: f32[8] read, p2: f32[4, 8] write) {
            outer a0 < 4, a1 < 8
            e0: i64 = axis a0
            e1: i64 = axis a1
            e2: f32 = load p0[e0, e1]
            e3: f32 = load p1[e1]
            e4: f32 = add e2 e3
            store p2[e0, e1] = e4
        }";
        assert_eq!(operands(text), [0]);
    }

    #[test]
    fn a_row_may_be_replaced_after_its_reductions() {
        let text = "kernel center(p0: f32[4, 8] read, p1: f32[4, 8] write) {
            outer a0 < 4
            e0: i64 = axis a0
            e1: i64 = axis a1
            e2: f32 = load p0[e0, e1]
            r0 = sum over a1 < 8 { e2 }
            e3: f32 = reduced r0
            e4: i64 = axis a2
            e5: f32 = load p0[e0, e4]
            e6: f32 = sub e5 e3
            store over a2 < 8 { p1[e0, e4] = e6 }
        }";
        assert_eq!(operands(text), [0]);
    }

    #[test]
    fn what_another_point_reads_stays() {
        let text = "kernel transpose(p0: f32[4, 4] read, p1: f32[4, 4] write) {
            outer a0 < 4, a1 < 4
            e0: i64 = axis a0
            e1: i64 = axis a1
            e2: f32 = load p0[e1, e0]
            store p1[e0, e1] = e2
        }";
        assert!(operands(text).is_empty());
        let text = "kernel square(p0: f32[4, 4] read, p1: f32[4, 4] write) {
            outer a0 < 4, a1 < 4
            e0: i64 = axis a0
            e1: i64 = axis a1
            e2: i64 = axis a2
            e3: f32 = load p0[e0, e2]
            e4: f32 = load p0[e2, e1]
            e5: f32 = mul e3 e4
            r0 = sum over a2 < 4 { e5 }
            e6: f32 = reduced r0
            store p1[e0, e1] = e6
        }";
        assert!(operands(text).is_empty());
    }
}
