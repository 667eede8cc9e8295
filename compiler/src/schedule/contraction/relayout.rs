//! Brings the operands of contractions into layouts that tiles walk with fixed strides.
//!
//! * A constant operand, or one whose column axis is not contiguous, is *packed*: tiles of the axis become the last
//!   dimension. Packing a constant happens at compile time.
//! * The input of a convolution is *padded*: a copy with the border written out, so that no load needs a guard, and, for a
//!   column stride of s, with columns sorted by their remainder modulo s, so that a tile's columns lie side by side.

use std::sync::Arc;

use super::{COLUMN_VECTORS, Contraction, Tiling, recognize};
use crate::graph::{Dim, ElementType};
use crate::loops::{
    Access, Action, AxisId, BinaryOp, BufferId, BufferKind, CompareOp, Expr, ExprId, Kernel, KernelBuilder,
    ParameterId, Program, Scalar, Step,
};

/// An index as a sum of multiples of axes and a size: `sum of factor * axis + rest`.
struct Affine {
    terms: Vec<(AxisId, i64)>,
    rest: Dim,
}

fn affine(kernel: &Kernel, id: ExprId) -> Option<Affine> {
    match kernel.expr(id) {
        Expr::Const(scalar) => Some(Affine { terms: Vec::new(), rest: Dim::constant(scalar.to_i64()) }),
        Expr::Dim(dim) => Some(Affine { terms: Vec::new(), rest: dim.clone() }),
        Expr::Axis(axis) => Some(Affine { terms: vec![(*axis, 1)], rest: Dim::constant(0) }),
        Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) => {
            let (mut a, b) = (affine(kernel, *a)?, affine(kernel, *b)?);
            let sign = if *op == BinaryOp::Add { 1 } else { -1 };
            for (axis, factor) in b.terms {
                match a.terms.iter_mut().find(|(other, _)| *other == axis) {
                    Some((_, total)) => *total = total.checked_add(sign * factor)?,
                    None => a.terms.push((axis, sign * factor)),
                }
            }
            a.rest = a.rest + b.rest * sign;
            Some(a)
        }
        Expr::Binary(BinaryOp::Mul, a, b) => {
            let (a, b) = (affine(kernel, *a)?, affine(kernel, *b)?);
            let (mut sum, factor) = match (a.terms.is_empty().then(|| a.rest.as_const()).flatten(), b.rest.as_const()) {
                (Some(factor), _) => (b, factor),
                (None, Some(factor)) if b.terms.is_empty() => (a, factor),
                _ => return None,
            };
            for (_, total) in &mut sum.terms {
                *total = total.checked_mul(factor)?;
            }
            sum.rest = sum.rest * factor;
            Some(sum)
        }
        _ => None,
    }
}

/// The least and greatest value of an affine index over the whole iteration space.
pub(super) fn range(kernel: &Kernel, id: ExprId) -> Option<(Dim, Dim)> {
    let Affine { terms, rest } = affine(kernel, id)?;
    let (mut low, mut high) = (rest.clone(), rest);
    for (axis, factor) in terms {
        let reach = (kernel.extent(axis) - &Dim::constant(1)) * factor;
        if factor < 0 { low = low + reach } else { high = high + reach }
    }
    Some((low, high))
}

/// Rewrites the launches of contractions so that their operands lie ready, with copies before them where needed.
pub fn relayout(program: &mut Program, tiling: Tiling) {
    let steps = std::mem::take(&mut program.steps);
    program.steps = rewrite(program, steps, tiling);
}

fn rewrite(program: &mut Program, steps: Vec<Step>, tiling: Tiling) -> Vec<Step> {
    let mut result = Vec::with_capacity(steps.len());
    for step in steps {
        let label = step.label;
        let action = match step.action {
            Action::Launch { kernel, mut buffers } => {
                let kernel = match recognize(&kernel) {
                    Some(_) => Arc::new(ready(program, (*kernel).clone(), &mut buffers, label, &mut result, tiling)),
                    None => kernel,
                };
                Action::Launch { kernel, buffers }
            }
            Action::If { condition, then, otherwise } => Action::If {
                condition,
                then: rewrite(program, then, tiling),
                otherwise: rewrite(program, otherwise, tiling),
            },
            Action::Loop { counter, count, condition, body } => {
                Action::Loop { counter, count, condition, body: rewrite(program, body, tiling) }
            }
            other => other,
        };
        result.push(Step { label, action });
    }
    result
}

fn ready(
    program: &mut Program,
    mut kernel: Kernel,
    buffers: &mut [BufferId],
    label: u32,
    steps: &mut Vec<Step>,
    tiling: Tiling,
) -> Kernel {
    for rows in [true, false] {
        let Some(contraction) = recognize(&kernel) else { return kernel };
        let layout = if rows {
            row_layout(program, &kernel, &contraction, buffers, tiling)
        } else {
            column_layout(program, &kernel, &contraction, buffers, tiling)
        };
        let Some(Layout { parameter, shape, index, copy, kernel: rewritten }) = layout else { continue };
        kernel = rewritten;
        let source = buffers[parameter.0 as usize];
        let target = program.add_buffer(ElementType::F32, shape.clone(), BufferKind::Temporary);
        kernel.parameters[parameter.0 as usize].shape = shape;
        for expr in &mut kernel.exprs {
            if let Expr::Load { parameter: other, index: old, guard } = expr
                && *other == parameter
            {
                old.clone_from(&index);
                *guard = None;
            }
        }
        order_operands(&mut kernel);
        buffers[parameter.0 as usize] = target;
        steps.push(Step { label, action: Action::Launch { kernel: Arc::new(copy), buffers: vec![source, target] } });
    }
    kernel
}

/// A new layout of one parameter: its shape and index, the kernel that makes it, and the contraction with the index's
/// expressions added.
struct Layout {
    parameter: ParameterId,
    shape: Vec<Dim>,
    index: Vec<ExprId>,
    copy: Kernel,
    kernel: Kernel,
}

type Load<'a> = (ParameterId, &'a Vec<ExprId>, Option<(ExprId, Scalar)>);

/// The load, if its parameter is loaded nowhere else in the kernel.
fn sole_load(kernel: &Kernel, id: ExprId) -> Option<Load<'_>> {
    let Expr::Load { parameter, index, guard } = kernel.expr(id) else { return None };
    let loads =
        kernel.exprs.iter().filter(|expr| matches!(expr, Expr::Load { parameter: other, .. } if other == parameter));
    (loads.count() == 1).then_some((*parameter, index, *guard))
}

fn is_constant(program: &Program, buffer: BufferId) -> bool {
    matches!(program.buffer(buffer).kind, BufferKind::Constant(_))
}

fn row_layout(
    program: &Program,
    kernel: &Kernel,
    contraction: &Contraction,
    buffers: &[BufferId],
    tiling: Tiling,
) -> Option<Layout> {
    let (parameter, index, guard) = sole_load(kernel, contraction.rows)?;
    if let Some(guard) = guard {
        return bordered(kernel, parameter, index, guard);
    }
    if contraction.by_lane || !is_constant(program, buffers[parameter.0 as usize]) {
        return None;
    }
    packed(kernel, parameter, index, contraction.row_axis, tiling.rows(COLUMN_VECTORS))
}

fn column_layout(
    program: &Program,
    kernel: &Kernel,
    contraction: &Contraction,
    buffers: &[BufferId],
    tiling: Tiling,
) -> Option<Layout> {
    let (parameter, index, guard) = sole_load(kernel, contraction.columns)?;
    let axis = contraction.column_axis;
    let alone = index.iter().any(|&id| matches!(kernel.expr(id), Expr::Axis(other) if *other == axis));
    let contiguous =
        super::linear_stride(kernel, parameter, index, axis).and_then(|stride| stride.as_const()) == Some(1);
    if guard.is_none() && contiguous && !is_constant(program, buffers[parameter.0 as usize]) || contraction.by_lane {
        return None;
    }
    if guard.is_none() && alone {
        return packed(kernel, parameter, index, axis, tiling.columns());
    }
    padded(kernel, parameter, index, guard, axis, tiling.columns())
}

/// The layout in which tiles of `axis`, which is one dimension of the parameter, come last.
fn packed(kernel: &Kernel, parameter: ParameterId, index: &[ExprId], axis: AxisId, tile: i64) -> Option<Layout> {
    let at = index.iter().position(|&id| matches!(kernel.expr(id), Expr::Axis(other) if *other == axis))?;
    let shape = &kernel.parameter(parameter).shape;
    let size = Dim::constant(tile);
    let mut new_shape = vec![shape[at].ceil_div(&size)];
    new_shape.extend(shape.iter().enumerate().filter(|(d, _)| *d != at).map(|(_, dim)| dim.clone()));
    new_shape.push(size.clone());

    let mut copy = KernelBuilder::new("pack");
    let source = copy.parameter(ElementType::F32, shape, Access::Read);
    let target = copy.parameter(ElementType::F32, &new_shape, Access::Write);
    let axes = copy.outer_axes(&new_shape);
    let tile_value = copy.index(tile);
    let first = copy.mul(axes[0], tile_value);
    let position = copy.add(first, axes[axes.len() - 1]);
    let mut from: Vec<ExprId> = axes[1..axes.len() - 1].to_vec();
    from.insert(at, position);
    let extent = copy.dim(&shape[at]);
    let inside = copy.compare(CompareOp::Lt, position, extent);
    let value = copy.load_where(source, &from, inside, Scalar::from_i64(ElementType::F32, 0));
    copy.store(target, &axes, value);

    let mut rewritten = kernel.clone();
    let tile_id = append(&mut rewritten, Expr::Const(Scalar::from_i64(ElementType::I64, tile)));
    let block = append(&mut rewritten, Expr::Binary(BinaryOp::FloorDiv, index[at], tile_id));
    let within = append(&mut rewritten, Expr::Binary(BinaryOp::Mod, index[at], tile_id));
    let mut new_index = vec![block];
    new_index.extend(index.iter().enumerate().filter(|(d, _)| *d != at).map(|(_, &id)| id));
    new_index.push(within);
    Some(Layout { parameter, shape: new_shape, index: new_index, copy: copy.finish(), kernel: rewritten })
}

/// The dimensions that a guard compares with their bounds; `None` where it checks anything else.
fn guarded_dims(kernel: &Kernel, parameter: ParameterId, guard: ExprId, index: &[ExprId]) -> Option<Vec<bool>> {
    let shape = &kernel.parameter(parameter).shape;
    let is_bound = |id: ExprId, bound: &Dim| match kernel.expr(id) {
        Expr::Const(scalar) => bound.as_const() == Some(scalar.to_i64()),
        Expr::Dim(dim) => dim == bound,
        _ => false,
    };
    let mut guarded = vec![false; index.len()];
    let mut stack = vec![guard];
    while let Some(id) = stack.pop() {
        match kernel.expr(id) {
            Expr::Binary(BinaryOp::And, a, b) => stack.extend([*a, *b]),
            Expr::Compare(op @ (CompareOp::Ge | CompareOp::Lt), a, b) => {
                let dim = index.iter().position(|id| id == a)?;
                let lower = *op == CompareOp::Ge;
                let bound = if lower { Dim::constant(0) } else { shape[dim].clone() };
                if !is_bound(*b, &bound) {
                    return None;
                }
                guarded[dim] = true;
            }
            Expr::Const(scalar) if scalar.bits != 0 => {}
            _ => return None,
        }
    }
    Some(guarded)
}

/// The layout with everything that a guarded load reaches beyond the tensor written out around it.
fn bordered(
    kernel: &Kernel,
    parameter: ParameterId,
    index: &[ExprId],
    (guard, otherwise): (ExprId, Scalar),
) -> Option<Layout> {
    let shape = kernel.parameter(parameter).shape.clone();
    let guarded = guarded_dims(kernel, parameter, guard, index)?;
    let mut rewritten = kernel.clone();
    let (mut new_shape, mut new_index, mut lows) = (shape.clone(), index.to_vec(), vec![None; index.len()]);
    for d in (0..index.len()).filter(|&d| guarded[d]) {
        let (low, high) = range(kernel, index[d])?;
        let low_id = append(&mut rewritten, Expr::Dim(low.clone()));
        new_shape[d] = high - &low + 1;
        new_index[d] = append(&mut rewritten, Expr::Binary(BinaryOp::Sub, index[d], low_id));
        lows[d] = Some(low);
    }
    let mut copy = KernelBuilder::new("pad");
    let source = copy.parameter(ElementType::F32, &shape, Access::Read);
    let target = copy.parameter(ElementType::F32, &new_shape, Access::Write);
    let axes = copy.outer_axes(&new_shape);
    let mut from = axes.clone();
    let mut inside: Option<ExprId> = None;
    for (d, low) in lows.iter().enumerate() {
        let Some(low) = low else { continue };
        let low = copy.dim(low);
        from[d] = copy.add(axes[d], low);
        let fits = copy.in_range(from[d], &shape[d]);
        inside = Some(match inside {
            None => fits,
            Some(inside) => copy.and(inside, fits),
        });
    }
    let value = copy.load_where(source, &from, inside?, otherwise);
    copy.store(target, &axes, value);
    Some(Layout { parameter, shape: new_shape, index: new_index, copy: copy.finish(), kernel: rewritten })
}

fn padded(
    kernel: &Kernel,
    parameter: ParameterId,
    index: &[ExprId],
    guard: Option<(ExprId, Scalar)>,
    axis: AxisId,
    slack: i64,
) -> Option<Layout> {
    let shape = kernel.parameter(parameter).shape.clone();
    let guarded = match guard {
        Some((guard, _)) => guarded_dims(kernel, parameter, guard, index)?,
        None => vec![false; index.len()],
    };
    let forms = index.iter().map(|&id| affine(kernel, id)).collect::<Option<Vec<_>>>();
    let last = index.len() - 1;
    // The column axis must be in the last dimension alone, moving forward.
    for d in 0..index.len() {
        let moves = match &forms {
            Some(forms) => forms[d].terms.iter().any(|(other, factor)| *other == axis && *factor != 0),
            None => return None,
        };
        if moves != (d == last) {
            return None;
        }
    }
    let forms = forms?;
    let stride = forms[last].terms.iter().find(|(other, _)| *other == axis)?.1;
    if stride < 1 {
        return None;
    }
    let mut rewritten = kernel.clone();
    let mut new_shape = Vec::new();
    let mut new_index = Vec::new();
    let mut lows = Vec::new();
    for d in 0..index.len() {
        if d != last && !guarded[d] {
            new_shape.push(shape[d].clone());
            new_index.push(index[d]);
            lows.push(Dim::constant(0));
            continue;
        }
        let (low, high) = range(kernel, index[d])?;
        let low_id = append(&mut rewritten, Expr::Dim(low.clone()));
        let shifted = append(&mut rewritten, Expr::Binary(BinaryOp::Sub, index[d], low_id));
        if d != last {
            new_shape.push(high - &low + 1);
            new_index.push(shifted);
        } else if stride == 1 {
            new_shape.push(high - &low + 1 + slack);
            new_index.push(shifted);
        } else {
            // shifted = stride * column + others; split by remainder.
            let stride_dim = Dim::constant(stride);
            new_shape.push(stride_dim.clone());
            new_shape.push((high - &low).floor_div(&stride_dim) + 1 + slack);
            let column = append(&mut rewritten, Expr::Axis(axis));
            let factor = append(&mut rewritten, Expr::Const(Scalar::from_i64(ElementType::I64, stride)));
            let part = append(&mut rewritten, Expr::Binary(BinaryOp::Mul, column, factor));
            let others = append(&mut rewritten, Expr::Binary(BinaryOp::Sub, shifted, part));
            let phase = append(&mut rewritten, Expr::Binary(BinaryOp::Mod, others, factor));
            let ahead = append(&mut rewritten, Expr::Binary(BinaryOp::FloorDiv, others, factor));
            let place = append(&mut rewritten, Expr::Binary(BinaryOp::Add, column, ahead));
            new_index.extend([phase, place]);
        }
        lows.push(low);
    }

    let mut copy = KernelBuilder::new("pad");
    let source = copy.parameter(ElementType::F32, &shape, Access::Read);
    let target = copy.parameter(ElementType::F32, &new_shape, Access::Write);
    let axes = copy.outer_axes(&new_shape);
    let mut from = Vec::new();
    let mut inside: Option<ExprId> = None;
    for d in 0..index.len() {
        let mut position = axes[d];
        if d == last && stride > 1 {
            let factor = copy.index(stride);
            let scaled = copy.mul(axes[d + 1], factor);
            position = copy.add(scaled, axes[d]);
        }
        if d == last || guarded[d] {
            let low = copy.dim(&lows[d]);
            position = copy.add(position, low);
            let fits = copy.in_range(position, &shape[d]);
            inside = Some(match inside {
                None => fits,
                Some(inside) => copy.and(inside, fits),
            });
        }
        from.push(position);
    }
    let otherwise = guard.map_or(Scalar::from_i64(ElementType::F32, 0), |(_, otherwise)| otherwise);
    let value = copy.load_where(source, &from, inside?, otherwise);
    copy.store(target, &axes, value);
    Some(Layout { parameter, shape: new_shape, index: new_index, copy: copy.finish(), kernel: rewritten })
}

/// Adds an expression, or finds an equal one.
fn append(kernel: &mut Kernel, expr: Expr) -> ExprId {
    if let Some(known) = kernel.exprs.iter().position(|known| *known == expr) {
        return ExprId(known as u32);
    }
    kernel.exprs.push(expr);
    kernel.types.push(ElementType::I64);
    ExprId(kernel.exprs.len() as u32 - 1)
}

/// Puts the expressions in an order in which operands precede their uses, after loads got later expressions as indices.
fn order_operands(kernel: &mut Kernel) {
    let mut order = Vec::with_capacity(kernel.exprs.len());
    let mut place = vec![None; kernel.exprs.len()];
    for root in 0..kernel.exprs.len() {
        visit(kernel, root, &mut order, &mut place);
    }
    let map = |id: ExprId| place[id.0 as usize].expect("every expression was visited");
    kernel.exprs = order.iter().map(|&old: &usize| kernel.exprs[old].map_operands(map)).collect();
    kernel.types = order.iter().map(|&old| kernel.types[old]).collect();
    for reduction in &mut kernel.reductions {
        reduction.value = map(reduction.value);
    }
    for store in &mut kernel.stores {
        store.value = map(store.value);
        store.guard = store.guard.map(map);
        store.index.iter_mut().for_each(|id| *id = map(*id));
    }
}

fn visit(kernel: &Kernel, root: usize, order: &mut Vec<usize>, place: &mut [Option<ExprId>]) {
    let mut stack = vec![(root, false)];
    while let Some((id, expanded)) = stack.pop() {
        if place[id].is_some() {
            continue;
        }
        if expanded {
            place[id] = Some(ExprId(order.len() as u32));
            order.push(id);
        } else {
            stack.push((id, true));
            stack.extend(kernel.exprs[id].operands().iter().map(|operand| (operand.0 as usize, false)));
        }
    }
}
