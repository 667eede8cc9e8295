//! Printing of kernels.

use std::fmt::Write;

use super::scalar::{print_name, print_scalar};
use crate::graph::{Dim, Symbols};
use crate::loops::{Access, AxisId, Expr, ExprId, Kernel, ReductionId, Store, StoreOp};

/// The text form of a kernel whose symbols are those of `symbols`; [`parse_kernel`](super::parse_kernel) reads it back.
/// Kernels that break the rules print too, as long as every name has its definition.
pub fn print_kernel(kernel: &Kernel, symbols: &Symbols) -> String {
    let mut printer = Printer { kernel, symbols, text: String::new(), printed: 0 };
    printer.kernel();
    printer.text
}

/// `[2, n]`
pub fn print_shape(shape: &[Dim], symbols: &Symbols) -> String {
    let dims: Vec<String> = shape.iter().map(|dim| dim.display(symbols).to_string()).collect();
    format!("[{}]", dims.join(", "))
}

struct Printer<'a> {
    kernel: &'a Kernel,
    symbols: &'a Symbols,
    text: String,
    /// Reductions that are printed.
    printed: usize,
}

impl Printer<'_> {
    fn line(&mut self, line: &str) {
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "  {line}");
    }

    fn kernel(&mut self) {
        let kernel = self.kernel;
        let parameters: Vec<String> = kernel
            .parameters
            .iter()
            .enumerate()
            .map(|(place, parameter)| {
                let access = match parameter.access {
                    Access::Read => "read",
                    Access::Write => "write",
                    Access::ReadWrite => "readwrite",
                };
                format!("p{place}: {}{} {access}", parameter.element, print_shape(&parameter.shape, self.symbols))
            })
            .collect();
        let _ = writeln!(self.text, "kernel {}({}) {{", print_name(&kernel.name), parameters.join(", "));
        if !kernel.outer.is_empty() {
            self.line(&format!("outer {}", self.axes(&kernel.outer)));
        }
        for (place, (expr, element)) in kernel.exprs.iter().zip(&kernel.types).enumerate() {
            if let Expr::Reduced(ReductionId(reduction)) = expr {
                self.reductions((*reduction as usize + 1).min(kernel.reductions.len()));
            }
            self.line(&format!("e{place}: {element} = {}", self.expr(expr)));
        }
        self.reductions(kernel.reductions.len());
        kernel.stores.iter().for_each(|store| self.store(store));
        let opened = |axis: &AxisId| {
            let inner = kernel.reductions.iter().map(|reduction| &reduction.axes);
            let stores = kernel.stores.iter().map(|store| &store.axes);
            inner.chain(stores).chain([&kernel.outer]).any(|axes| axes.contains(axis))
        };
        for axis in (0..kernel.axes.len() as u32).map(AxisId).filter(|axis| !opened(axis)) {
            self.line(&format!("unused {}", self.axes(&[axis])));
        }
        self.text.push_str("}\n");
    }

    fn axes(&self, axes: &[AxisId]) -> String {
        let axis = |axis: &AxisId| format!("a{} < {}", axis.0, self.kernel.extent(*axis).display(self.symbols));
        axes.iter().map(axis).collect::<Vec<_>>().join(", ")
    }

    /// Prints the reductions up to `end` that are not printed.
    fn reductions(&mut self, end: usize) {
        while self.printed < end {
            let reduction = &self.kernel.reductions[self.printed];
            let (op, axes) = (reduction.op.name(), self.axes(&reduction.axes));
            self.line(&format!("r{} = {op} over {axes} {{ e{} }}", self.printed, reduction.value.0));
            self.printed += 1;
        }
    }

    fn store(&mut self, store: &Store) {
        let op = match store.op {
            StoreOp::Set => "=",
            StoreOp::Add => "+=",
            StoreOp::Mul => "*=",
            StoreOp::Min => "min=",
            StoreOp::Max => "max=",
        };
        let guard = store.guard.map(|guard| format!(" if e{}", guard.0)).unwrap_or_default();
        let what = format!("p{}{} {op} e{}{guard}", store.parameter.0, index(&store.index), store.value.0);
        if store.axes.is_empty() {
            self.line(&format!("store {what}"));
        } else {
            self.line(&format!("store over {} {{ {what} }}", self.axes(&store.axes)));
        }
    }

    fn expr(&self, expr: &Expr) -> String {
        match expr {
            Expr::Const(scalar) => format!("const {}", print_scalar(*scalar)),
            Expr::Axis(axis) => format!("axis a{}", axis.0),
            Expr::Dim(dim) => format!("dim {}", dim.display(self.symbols)),
            Expr::Load { parameter, index: at, guard } => {
                let guard = guard
                    .map(|(condition, otherwise)| format!(" if e{} else {}", condition.0, print_scalar(otherwise)));
                format!("load p{}{}{}", parameter.0, index(at), guard.unwrap_or_default())
            }
            Expr::Unary(op, a) => format!("{} e{}", op.name(), a.0),
            Expr::Binary(op, a, b) => format!("{} e{} e{}", op.name(), a.0, b.0),
            Expr::Compare(op, a, b) => format!("{} e{} e{}", op.name(), a.0, b.0),
            Expr::Select(condition, a, b) => format!("select e{} e{} e{}", condition.0, a.0, b.0),
            Expr::Cast { to, saturate, value } => {
                format!("cast {to}{} e{}", if *saturate { "" } else { " wrapping" }, value.0)
            }
            Expr::Bitcast(to, value) => format!("bitcast {to} e{}", value.0),
            Expr::Reduced(id) => format!("reduced r{}", id.0),
            Expr::Checked { index, extent } => format!("checked e{} < e{}", index.0, extent.0),
        }
    }
}

fn index(index: &[ExprId]) -> String {
    format!("[{}]", index.iter().map(|id| format!("e{}", id.0)).collect::<Vec<_>>().join(", "))
}
