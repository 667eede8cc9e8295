//! Reductions: by one thread, or by all threads of a block through shared memory.

use std::collections::HashMap;

use super::assembly::{Class, Register};
use super::kernel::{KernelEmitter, scalar_type};
use super::mapping::Mapping;
use super::module::BLOCK_THREADS;
use crate::graph::ElementType;
use crate::loops::{BinaryOp, ReduceOp, Reduction};

impl KernelEmitter<'_> {
    /// The result of a reduction; every thread of a block has it.
    pub fn reduce(&mut self, reduction: &Reduction) -> Result<Register, String> {
        if reduction.op.is_position() {
            return self.reduce_position(reduction);
        }
        let element = self.kernel.type_of(reduction.value);
        let op = match reduction.op {
            ReduceOp::Sum => BinaryOp::Add,
            ReduceOp::Product => BinaryOp::Mul,
            ReduceOp::Min => BinaryOp::Min,
            ReduceOp::Max => BinaryOp::Max,
            ReduceOp::And => BinaryOp::And,
            ReduceOp::Or => BinaryOp::Or,
            _ => BinaryOp::Xor,
        };
        let start = self.constant(reduction.op.identity(element))?;
        let total = self.assembly.fresh(start.class);
        self.assembly.assign(total, start);
        self.scopes.push(HashMap::new());
        self.over_inner(&reduction.axes, &mut |emitter| {
            let value = emitter.value(reduction.value)?;
            let sum = emitter.binary(op, element, total, value)?;
            emitter.assembly.assign(total, sum);
            Ok(())
        })?;
        self.scopes.pop();
        if self.mapping == Mapping::Blocks { self.combine_block(op, element, total) } else { Ok(total) }
    }

    /// Combines what the threads of a block have: halves of them in turn, so that the order is always the same.
    fn combine_block(&mut self, op: BinaryOp, element: ElementType, total: Register) -> Result<Register, String> {
        let (class, _) = scalar_type(element)?;
        let kind = class.name();
        let base = self.assembly.fresh(Class::Long);
        self.assembly.line(format_args!("mov.u64 {base}, partial"));
        let address = self.assembly.fresh(Class::Long);
        let thread = self.thread;
        self.assembly.emit_to(address, "mad.lo.s64", &[thread.into(), 8.into(), base.into()]);
        self.assembly.line(format_args!("st.shared.{kind} [{address}], {total}"));
        self.assembly.line("bar.sync 0");
        let mut half = BLOCK_THREADS / 2;
        while half > 0 {
            let skip = self.assembly.label();
            let idle = self.assembly.binary(Class::Predicate, "setp.ge.s64", thread, half);
            self.assembly.line(format_args!("@{idle} bra {skip}"));
            let other = self.assembly.fresh(class);
            self.assembly.line(format_args!("ld.shared.{kind} {other}, [{address}+{}]", 8 * half));
            let sum = self.binary(op, element, total, other)?;
            self.assembly.assign(total, sum);
            self.assembly.line(format_args!("st.shared.{kind} [{address}], {total}"));
            self.assembly.place(&skip);
            self.assembly.line("bar.sync 0");
            half /= 2;
        }
        let result = self.assembly.fresh(class);
        self.assembly.line(format_args!("ld.shared.{kind} {result}, [partial]"));
        // Nobody writes to the shared memory again before all have read.
        self.assembly.line("bar.sync 0");
        Ok(result)
    }

    /// The position of the least or greatest value; each thread looks at all of them.
    fn reduce_position(&mut self, reduction: &Reduction) -> Result<Register, String> {
        let &[axis] = reduction.axes.as_slice() else { return Err("a position is sought on one axis".into()) };
        let element = self.kernel.type_of(reduction.value);
        let (class, kind) = scalar_type(element)?;
        let (ordered, last) = match reduction.op {
            ReduceOp::ArgMin { last } => ("lt", last),
            ReduceOp::ArgMax { last } => ("gt", last),
            _ => return Err("a reduction gives no position".into()),
        };
        let start = self.constant(reduction.op.identity(element))?;
        let best = self.assembly.fresh(class);
        self.assembly.assign(best, start);
        let place = self.assembly.constant(Class::Long, 0);
        self.scopes.push(HashMap::new());
        self.over(&reduction.axes, &mut |emitter| {
            let value = emitter.value(reduction.value)?;
            let position = emitter.positions[axis.0 as usize].ok_or("the axis is not open")?;
            let assembly = &mut emitter.assembly;
            let mut better = assembly.binary(Class::Predicate, &format!("setp.{ordered}.{kind}"), value, best);
            let mut also = |assembly: &mut super::assembly::Assembly, other: Register| {
                better = assembly.binary(Class::Predicate, "or.pred", better, other);
            };
            // The first element is taken even when it equals the starting value.
            let first = assembly.binary(Class::Predicate, "setp.eq.s64", position, 0);
            also(assembly, first);
            if last {
                let equal = assembly.binary(Class::Predicate, &format!("setp.eq.{kind}"), value, best);
                also(assembly, equal);
            }
            if element.is_float() {
                // NaN wins over every number, and over another NaN only when the last is wanted.
                let nan = assembly.binary(Class::Predicate, &format!("setp.nan.{kind}"), value, value);
                let number = assembly.binary(Class::Predicate, &format!("setp.num.{kind}"), best, best);
                let wins = if last { nan } else { assembly.binary(Class::Predicate, "and.pred", nan, number) };
                also(assembly, wins);
            }
            let taken = assembly.select(class, better, value, best);
            assembly.assign(best, taken);
            let taken = assembly.select(Class::Long, better, position, place);
            assembly.assign(place, taken);
            Ok(())
        })?;
        self.scopes.pop();
        Ok(place)
    }
}
