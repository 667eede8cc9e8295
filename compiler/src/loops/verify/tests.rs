use super::*;
use crate::graph::{Dim, ElementType as E, Symbols};
use crate::loops::{
    Access, Action, AxisId, BinaryOp, BufferKind, Expr, ExprId, Kernel, KernelBuilder, Port, Program, ReduceOp, Scalar,
    Step, StoreOp,
};

/// Sums the rows of x and stores the sums over a row each.
fn row_sums() -> Kernel {
    let mut b = KernelBuilder::new("rows");
    let x = b.parameter(E::F16, &[2.into(), 3.into()], Access::Read);
    let y = b.parameter(E::F16, &[2.into(), 3.into()], Access::Write);
    let row = b.outer_axis(2);
    let sum = b.reduce(ReduceOp::Sum, &[3.into()], |b, at| b.load(x, &[row, at[0]]));
    b.store_over(y, &[3.into()], |_, at| (vec![row, at[0]], sum));
    b.finish()
}

fn broken(change: impl FnOnce(&mut Kernel)) -> String {
    let mut kernel = row_sums();
    assert_eq!(verify_kernel(&kernel), Ok(()));
    change(&mut kernel);
    verify_kernel(&kernel).expect_err("the kernel is broken")
}

#[test]
fn broken_kernels_are_refused() {
    let place = |kernel: &Kernel, expr: &Expr| kernel.exprs.iter().position(|e| e == expr).expect("is there") as u32;
    type Change = fn(&mut Kernel);
    let cases: [(Change, &str); 13] = [
        (|k| k.types[0] = E::I32, "its type is i64, not i32"),
        (|k| k.types.truncate(1), "types for"),
        (|k| k.stores[0].axes.clear(), "whose loop is not open here"),
        (|k| k.outer.clear(), "whose loop is not open here"),
        (|k| k.outer.push(AxisId(0)), "opened within its own loop"),
        (|k| k.outer.push(AxisId(9)), "there is no a9"),
        (|k| k.parameters[0].access = Access::Write, "p0 is read but declared as only written"),
        (|k| k.parameters[1].access = Access::Read, "p1 is written but declared as only read"),
        (|k| k.stores[0].op = StoreOp::Add, "updated but declared as only written"),
        (|k| k.stores[0].index.truncate(1), "1 indices for rank 2"),
        (|k| k.parameters[1].element = E::F64, "p1 takes f64"),
        (|k| k.reductions[0].op = ReduceOp::And, "and is not defined for f32"),
        (|k| k.stores[0].value = ExprId(77), "there is no e77"),
    ];
    for (change, expected) in cases {
        let error = broken(change);
        assert!(error.starts_with("kernel rows: ") && error.contains(expected), "{error}");
    }
    let error = broken(|kernel| {
        let load = place(kernel, &Expr::Reduced(crate::loops::ReductionId(0)));
        kernel.exprs[load as usize] = Expr::Binary(BinaryOp::Add, ExprId(load), ExprId(0));
    });
    assert!(error.contains("does not come before it"), "{error}");
    let error = broken(|kernel| {
        kernel.exprs.push(Expr::Const(Scalar { element: E::I32, bits: 0xffff_ffff }));
        kernel.types.push(E::I32);
    });
    assert!(error.contains("is no i32"), "{error}");
}

#[test]
fn programs_are_checked_in_order() {
    let mut symbols = Symbols::new();
    let n = symbols.named("n");
    let shape = vec![Dim::constant(2), Dim::constant(3)];
    let mut program = Program { symbols, labels: vec!["the model".into()], ..Program::default() };
    let port = |name: &str| Port { name: name.into(), element: E::F16, shape: shape.clone() };
    (program.inputs, program.outputs) = (vec![port("x")], vec![port("y")]);
    let x = program.add_buffer(E::F16, shape.clone(), BufferKind::Input(0));
    let y = program.add_buffer(E::F16, shape.clone(), BufferKind::Output(0));
    let t = program.add_buffer(E::F16, vec![5.into()], BufferKind::Temporary);
    let kernel = std::sync::Arc::new(row_sums());
    let launch = |buffers: &[crate::loops::BufferId]| Step {
        label: 0,
        action: Action::Launch { kernel: kernel.clone(), buffers: buffers.to_vec() },
    };
    let set = Step { label: 0, action: Action::Set { symbol: n, value: Dim::symbol(n) } };
    let choice = |then, otherwise| Step { label: 0, action: Action::If { condition: Dim::ONE, then, otherwise } };
    let fail =
        |condition: i64| Step { label: 0, action: Action::Check { condition: condition.into(), message: "no".into() } };
    let cases = [
        (vec![launch(&[x, y])], None),
        (vec![], Some("output `y` is never written")),
        (vec![launch(&[x])], Some("1 buffers for 2 parameters")),
        (vec![launch(&[y, t])], Some("b1 is read before it is written")),
        (vec![launch(&[x, t])], Some("p1 has 6 elements, but b2 has 5")),
        (vec![launch(&[y, x])], Some("b1 is read before it is written")),
        (vec![launch(&[x, x])], Some("given for two parameters")),
        (vec![set], Some("at the model: n has no value here")),
        (vec![choice(vec![launch(&[x, y])], vec![launch(&[x, y])])], None),
        (vec![choice(vec![launch(&[x, y])], vec![])], Some("output `y` is never written")),
        (vec![choice(vec![launch(&[x, y])], vec![fail(0)])], None),
        (vec![choice(vec![fail(0)], vec![launch(&[x, y])])], None),
        (vec![choice(vec![fail(0)], vec![fail(1)])], Some("output `y` is never written")),
        (vec![choice(vec![fail(0)], vec![fail(0)])], None),
    ];
    for (steps, expected) in cases {
        program.steps = steps;
        match (verify_program(&program), expected) {
            (Ok(()), None) => {}
            (Err(error), Some(expected)) => assert!(error.contains(expected), "{error}"),
            (result, expected) => panic!("{result:?} instead of {expected:?}"),
        }
    }
}
