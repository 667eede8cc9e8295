//! A kernel over tensors in other layouts.

use std::collections::HashMap;

use super::layout::{self, Layout};
use crate::graph::{Dim, ElementType};
use crate::loops::{AxisId, BinaryOp, Expr, ExprId, Kernel, Scalar};

/// An index as an axis and a constant distance.
pub fn axis_and_offset(kernel: &Kernel, id: ExprId) -> Option<(AxisId, i64)> {
    let constant = |id: ExprId| match kernel.expr(id) {
        Expr::Const(scalar) => Some(scalar.to_i64()),
        Expr::Dim(dim) => dim.as_const(),
        _ => None,
    };
    let moved = |id: ExprId, distance: i64| {
        let (axis, offset) = axis_and_offset(kernel, id)?;
        Some((axis, offset.checked_add(distance)?))
    };
    match kernel.expr(id) {
        Expr::Axis(axis) => Some((*axis, 0)),
        Expr::Binary(BinaryOp::Add, a, b) => match (constant(*a), constant(*b)) {
            (Some(distance), _) => moved(*b, distance),
            (_, Some(distance)) => moved(*a, distance),
            _ => None,
        },
        Expr::Binary(BinaryOp::Sub, a, b) => moved(*a, constant(*b)?.checked_neg()?),
        _ => None,
    }
}

/// The two axes in place of one.
#[derive(Clone, Copy, Debug)]
struct Split {
    block: AxisId,
    within: AxisId,
}

struct Rewriter<'a> {
    old: &'a Kernel,
    new: Kernel,
    size: i64,
    layouts: &'a [Layout],
    splits: HashMap<AxisId, Split>,
    known: HashMap<Expr, ExprId>,
    moved: Vec<Option<ExprId>>,
}

/// The kernel with parameters in the given layouts, one for each parameter, in blocks of `size`. An axis that is an index on a
/// split dimension is split too: an outer one into an axis in its place and the last outer axis, one of a reduction into an
/// axis in its place and the last one of the reduction. Indices are simplified on the way. `None` where the kernel has no such form.
pub fn rewrite(kernel: &Kernel, layouts: &[Layout], size: i64) -> Option<Kernel> {
    let mut new = Kernel { exprs: Vec::new(), types: Vec::new(), reductions: Vec::new(), ..kernel.clone() };
    for (parameter, layout) in new.parameters.iter_mut().zip(layouts) {
        parameter.shape = layout::shape(&parameter.shape, layout, size);
    }
    let mut rewriter =
        Rewriter { old: kernel, new, size, layouts, splits: HashMap::new(), known: HashMap::new(), moved: Vec::new() };
    rewriter.split_axes()?;
    rewriter.run()?;
    Some(rewriter.new)
}

impl Rewriter<'_> {
    fn split_axes(&mut self) -> Option<()> {
        let old = self.old;
        let loads = old.exprs.iter().filter_map(|expr| match expr {
            Expr::Load { parameter, index, .. } => Some((*parameter, index)),
            _ => None,
        });
        for (parameter, index) in loads.chain(old.stores.iter().map(|store| (store.parameter, &store.index))) {
            for &d in &self.layouts[parameter.0 as usize] {
                if let Some((axis, _)) = axis_and_offset(old, index[d]) {
                    self.split(axis);
                }
            }
        }
        let is_split = |axis: &AxisId| self.splits.contains_key(axis);
        let outer: Vec<AxisId> = old.outer.iter().copied().filter(|axis| is_split(axis)).collect();
        if outer.len() > 1 || old.stores.iter().any(|store| store.axes.iter().any(is_split)) {
            return None;
        }
        let mut axes = self.split_list(&old.outer);
        let last = axes.last().copied();
        axes.retain(|&axis| Some(axis) == last || self.new.extent(axis).as_const() != Some(1));
        self.new.outer = axes;
        Some(())
    }

    fn split(&mut self, axis: AxisId) {
        let extent = self.old.extent(axis).as_const();
        if self.splits.contains_key(&axis) || extent.is_none_or(|extent| extent % self.size != 0) {
            return;
        }
        let within = AxisId(self.new.axes.len() as u32);
        self.new.axes.push(Dim::constant(self.size));
        self.new.axes[axis.0 as usize] = Dim::constant(extent.unwrap_or_default() / self.size);
        self.splits.insert(axis, Split { block: axis, within });
    }

    /// The axes with blocks in the place of split ones and the positions within them at the end.
    fn split_list(&self, axes: &[AxisId]) -> Vec<AxisId> {
        let within = axes.iter().filter_map(|axis| self.splits.get(axis)).map(|split| split.within);
        axes.iter().copied().chain(within).collect()
    }

    fn run(&mut self) -> Option<()> {
        let mut reductions = self.old.reductions.iter();
        for (number, expr) in self.old.exprs.iter().enumerate() {
            if let Expr::Reduced(id) = expr {
                // A reduction's value precedes its use.
                while self.new.reductions.len() <= id.0 as usize {
                    self.reduction(reductions.next()?)?;
                }
            }
            let moved = self.expr(expr, self.old.types[number])?;
            self.moved.push(Some(moved));
        }
        for reduction in reductions {
            self.reduction(reduction)?;
        }
        for (place, store) in self.old.stores.iter().enumerate() {
            let index = self.index(store.parameter.0 as usize, &store.index)?;
            let (value, guard) = (self.at(store.value)?, store.guard.map(|guard| self.at(guard)));
            let new = &mut self.new.stores[place];
            (new.index, new.value) = (index, value);
            new.guard = match guard {
                Some(guard) => Some(guard?),
                None => None,
            };
        }
        Some(())
    }

    fn reduction(&mut self, old: &crate::loops::Reduction) -> Option<()> {
        let axes = self.split_list(&old.axes);
        if old.op.is_position() && axes != old.axes {
            return None;
        }
        let value = self.at(old.value)?;
        self.new.reductions.push(crate::loops::Reduction { axes, op: old.op, value });
        Some(())
    }

    fn at(&self, old: ExprId) -> Option<ExprId> {
        self.moved.get(old.0 as usize).copied().flatten()
    }

    fn push(&mut self, expr: Expr, element: ElementType) -> ExprId {
        if let Some(&id) = self.known.get(&expr) {
            return id;
        }
        let id = ExprId(self.new.exprs.len() as u32);
        self.new.exprs.push(expr.clone());
        self.new.types.push(element);
        self.known.insert(expr, id);
        id
    }

    fn number(&mut self, value: i64) -> ExprId {
        self.push(Expr::Const(Scalar::from_i64(ElementType::I64, value)), ElementType::I64)
    }

    fn constant(&self, id: ExprId) -> Option<i64> {
        match self.new.expr(id) {
            Expr::Const(scalar) if scalar.element == ElementType::I64 => Some(scalar.to_i64()),
            _ => None,
        }
    }

    /// Index arithmetic, folded where it is trivial.
    fn arithmetic(&mut self, op: BinaryOp, a: ExprId, b: ExprId) -> ExprId {
        match (op, self.constant(a), self.constant(b)) {
            (BinaryOp::Add, Some(0), _) | (BinaryOp::Mul, Some(1), _) => b,
            (BinaryOp::Add | BinaryOp::Sub, _, Some(0)) => a,
            (BinaryOp::Mul | BinaryOp::FloorDiv, _, Some(1)) => a,
            (BinaryOp::Mul, Some(0), _) | (BinaryOp::Mul, _, Some(0)) => self.number(0),
            (BinaryOp::Add, Some(x), Some(y)) => self.number(x.wrapping_add(y)),
            (BinaryOp::Sub, Some(x), Some(y)) => self.number(x.wrapping_sub(y)),
            (BinaryOp::Mul, Some(x), Some(y)) => self.number(x.wrapping_mul(y)),
            (BinaryOp::FloorDiv, Some(x), Some(y)) if y > 0 => self.number(x.div_euclid(y)),
            (BinaryOp::Mod, Some(x), Some(y)) if y > 0 => self.number(x.rem_euclid(y)),
            _ => self.push(Expr::Binary(op, a, b), ElementType::I64),
        }
    }

    fn position(&mut self, axis: AxisId) -> ExprId {
        if self.new.extent(axis).as_const() == Some(1) {
            return self.number(0);
        }
        self.push(Expr::Axis(axis), ElementType::I64)
    }

    fn expr(&mut self, expr: &Expr, element: ElementType) -> Option<ExprId> {
        Some(match expr {
            Expr::Axis(axis) => match self.splits.get(axis).copied() {
                None => self.position(*axis),
                Some(split) => {
                    let (block, within) = (self.position(split.block), self.position(split.within));
                    let size = self.number(self.size);
                    let first = self.arithmetic(BinaryOp::Mul, block, size);
                    self.arithmetic(BinaryOp::Add, first, within)
                }
            },
            Expr::Dim(dim) => match dim.as_const() {
                Some(value) => self.number(value),
                None => self.push(expr.clone(), element),
            },
            Expr::Load { parameter, index, guard } => {
                let index = self.index(parameter.0 as usize, index)?;
                let guard = match guard {
                    Some((condition, otherwise)) => Some((self.at(*condition)?, *otherwise)),
                    None => None,
                };
                self.push(Expr::Load { parameter: *parameter, index, guard }, element)
            }
            Expr::Binary(BinaryOp::FloorDiv, a, b) if element == ElementType::I64 => {
                // Whole blocks lie in one quotient.
                let divisor = self.at(*b).and_then(|b| self.constant(b));
                match (self.old.expr(*a), divisor) {
                    (Expr::Axis(axis), Some(divisor))
                        if divisor > 0 && divisor % self.size == 0 && self.splits.contains_key(axis) =>
                    {
                        let block = self.position(self.splits[axis].block);
                        let divisor = self.number(divisor / self.size);
                        self.arithmetic(BinaryOp::FloorDiv, block, divisor)
                    }
                    _ => {
                        let (a, b) = (self.at(*a)?, self.at(*b)?);
                        self.arithmetic(BinaryOp::FloorDiv, a, b)
                    }
                }
            }
            Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Mod), a, b)
                if element == ElementType::I64 =>
            {
                let (a, b) = (self.at(*a)?, self.at(*b)?);
                self.arithmetic(*op, a, b)
            }
            other => {
                let moved: Option<Vec<ExprId>> = other.operands().iter().map(|&operand| self.at(operand)).collect();
                let mut moved = moved?.into_iter();
                let expr = other.map_operands(|operand| moved.next().unwrap_or(operand));
                self.push(expr, element)
            }
        })
    }

    /// An index into a parameter in its new layout.
    fn index(&mut self, parameter: usize, old: &[ExprId]) -> Option<Vec<ExprId>> {
        let layout = &self.layouts[parameter];
        let mut index = Vec::new();
        let mut within = vec![None; layout.len()];
        for (d, &id) in old.iter().enumerate() {
            match layout.iter().position(|&other| other == d) {
                None => index.push(self.at(id)?),
                Some(place) => {
                    let (block, rest) = self.parts(id)?;
                    index.push(block);
                    within[place] = Some(rest);
                }
            }
        }
        index.extend(within.into_iter().flatten());
        Some(index)
    }

    /// An index on a split dimension: the block, and the position within it.
    fn parts(&mut self, id: ExprId) -> Option<(ExprId, ExprId)> {
        let size = self.size;
        let zero = self.number(0);
        match self.old.expr(id) {
            Expr::Axis(axis) if self.splits.contains_key(axis) => {
                let split = self.splits[axis];
                return Some((self.position(split.block), self.position(split.within)));
            }
            Expr::Binary(BinaryOp::Add, a, b) => {
                let ((a, x), (b, y)) = (self.parts(*a)?, self.parts(*b)?);
                if x == zero || y == zero {
                    return Some((self.arithmetic(BinaryOp::Add, a, b), self.arithmetic(BinaryOp::Add, x, y)));
                }
            }
            Expr::Binary(BinaryOp::Mul, a, b) => {
                let (a, b) = (self.at(*a)?, self.at(*b)?);
                if let Some(factor) = self.constant(b).filter(|factor| factor % size == 0) {
                    let factor = self.number(factor / size);
                    return Some((self.arithmetic(BinaryOp::Mul, a, factor), zero));
                }
            }
            _ => {}
        }
        let (id, divisor) = (self.at(id)?, self.number(size));
        Some((self.arithmetic(BinaryOp::FloorDiv, id, divisor), self.arithmetic(BinaryOp::Mod, id, divisor)))
    }
}
