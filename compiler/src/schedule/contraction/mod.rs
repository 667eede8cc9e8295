//! Contractions: matrix products, convolutions, and whatever else is a sum of products of two loads.
//!
//! Of the two operands, *columns* is the one that varies along the last outer axis, the output's contiguous one, whose
//! neighbouring points share a vector; *rows* is the other. A register tile holds `row_tile` points of an axis that only
//! `rows` follows, times a few vectors of columns. The vectors of a tile lie side by side on the column axis; where that is
//! one vector long, as in channel-blocked layouts, they are neighbours on another axis of the columns.

mod relayout;

pub use relayout::relayout;

use super::affine::linear_stride;
use super::tiling::{COLUMN_VECTORS, Tiling};
use super::vector::value_is_vectorizable;
use crate::graph::ElementType::F32;
use crate::loops::{AxisId, BinaryOp, Expr, ExprId, Kernel, ReduceOp, StoreOp};

/// Points of trailing reduction axes that are written out one after another.
const MAX_UNROLLED: i64 = 64;

/// Points up to which trailing reduction axes are written out although they could be loops.
const PREFERRED_UNROLLED: i64 = 9;

/// A kernel seen as a contraction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contraction {
    /// The load that varies along the row axis.
    pub rows: ExprId,
    /// The load that varies along the column axis.
    pub columns: ExprId,
    /// The axis tiled in rows.
    pub row_axis: AxisId,
    /// The last outer axis.
    pub column_axis: AxisId,
    /// Whether the rows vary along the column axis too, as in a depthwise convolution over blocks of channels: a vector of
    /// columns meets a vector of rows, where otherwise it meets one element.
    pub by_lane: bool,
}

/// How the code of a contraction is laid out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ContractionSchedule {
    /// The parts.
    pub contraction: Contraction,
    /// Reduction axes that are loops, outermost first.
    pub looped: Vec<AxisId>,
    /// Trailing reduction axes that are written out, with their extents.
    pub unrolled: Vec<(AxisId, i64)>,
    /// Whether columns may be loaded past the end of the column axis, up to a whole tile.
    pub may_overread: bool,
    /// Rows of a tile.
    pub rows: i64,
    /// Vectors of columns in a tile.
    pub vectors: i64,
    /// The axis on which the vectors of a tile are neighbours, where that is not the column axis.
    pub block_axis: Option<AxisId>,
    /// Whether the rows of a tile lie side by side, so that all tiles must be whole.
    pub packed_rows: bool,
}

/// The contraction in a kernel, if it is one.
pub fn recognize(kernel: &Kernel) -> Option<Contraction> {
    let [reduction] = kernel.reductions.as_slice() else { return None };
    let &column_axis = kernel.outer.last()?;
    if reduction.op != ReduceOp::Sum
        || kernel.type_of(reduction.value) != F32
        || kernel.can_fail()
        || !kernel.is_parallel()
    {
        return None;
    }
    let Expr::Binary(BinaryOp::Mul, a, b) = *kernel.expr(reduction.value) else { return None };
    let is_plain = |id: ExprId| match kernel.expr(id) {
        Expr::Load { parameter, .. } => kernel.parameter(*parameter).element == F32,
        _ => false,
    };
    if a == b || !is_plain(a) || !is_plain(b) {
        return None;
    }
    let dependencies = kernel.dependencies();
    let varies = |id: ExprId, axis: AxisId| dependencies[id.0 as usize].contains(&axis);
    let outer = || kernel.outer.iter().copied().filter(|&axis| axis != column_axis);
    let (rows, columns, by_lane) = match (varies(a, column_axis), varies(b, column_axis)) {
        (false, true) => (a, b, false),
        (true, false) => (b, a, false),
        (true, true) if outer().any(|axis| varies(a, axis) && !varies(b, axis)) => (a, b, true),
        (true, true) => (b, a, true),
        _ => return None,
    };
    let stores_fit = kernel.stores.iter().all(|store| {
        store.guard.is_none()
            && store.op == StoreOp::Set
            && store.axes.is_empty()
            && kernel.parameter(store.parameter).element == F32
            && linear_stride(kernel, store.parameter, &store.index, column_axis).and_then(|stride| stride.as_const())
                == Some(1)
            && value_is_vectorizable(kernel, &dependencies, store.value, column_axis)
    });
    if !stores_fit {
        return None;
    }
    let row_axis = outer()
        .filter(|&axis| varies(rows, axis) && !varies(columns, axis))
        .max_by_key(|&axis| kernel.extent(axis).as_const().unwrap_or(i64::MAX))?;
    Some(Contraction { rows, columns, row_axis, column_axis, by_lane })
}

/// The schedule of a contraction whose operands lie ready: loads without guards that walk memory by fixed strides, and
/// whole tiles of columns side by side.
pub fn schedule_contraction(kernel: &Kernel, tiling: Tiling) -> Option<ContractionSchedule> {
    let contraction = recognize(kernel)?;
    let load = |id: ExprId| match kernel.expr(id) {
        Expr::Load { parameter, index, guard: None } => Some((*parameter, index)),
        _ => None,
    };
    let (rows, columns) = (load(contraction.rows)?, load(contraction.columns)?);
    let stride = |(parameter, index): (_, &Vec<ExprId>), axis| linear_stride(kernel, parameter, index, axis);
    let packed = is_packed(kernel, columns.1, contraction.column_axis, tiling.columns());
    let constant_stride = |operand, axis| stride(operand, axis).and_then(|stride| stride.as_const());
    let contiguous = constant_stride(columns, contraction.column_axis) == Some(1);
    if !packed && !contiguous {
        return None;
    }
    if contraction.by_lane && (packed || constant_stride(rows, contraction.column_axis) != Some(1)) {
        return None;
    }
    let packed_rows = is_packed(kernel, rows.1, contraction.row_axis, tiling.rows(COLUMN_VECTORS));
    if !packed_rows {
        stride(rows, contraction.row_axis)?;
    }
    let mut looped = kernel.reductions[0].axes.clone();
    let mut unrolled = Vec::new();
    let mut points = 1;
    while let Some(&axis) = looped.last() {
        let affine = stride(rows, axis).is_some() && stride(columns, axis).is_some();
        let limit = if affine { PREFERRED_UNROLLED } else { MAX_UNROLLED };
        match kernel.extent(axis).as_const() {
            Some(extent) if extent > 0 && points * extent <= limit => {
                points *= extent;
                unrolled.insert(0, (axis, extent));
                looped.pop();
            }
            _ => break,
        }
    }
    let all_affine = looped.iter().all(|&axis| stride(rows, axis).is_some() && stride(columns, axis).is_some());
    if !all_affine {
        return None;
    }
    let may_overread = packed || !contraction.by_lane && has_slack(kernel, columns.0, columns.1, tiling);
    let extent = |axis| kernel.extent(axis).as_const();
    let is_one_vector = extent(contraction.column_axis) == Some(tiling.lanes);
    let block_axis = if is_one_vector && !packed_rows { block_axis(kernel, &contraction) } else { None };
    let row_extent = extent(contraction.row_axis);
    let (rows, vectors) = match block_axis {
        Some(axis) => tiling.choose(row_extent, extent(axis).unwrap_or(i64::MAX)),
        None if packed_rows => (tiling.rows(COLUMN_VECTORS), COLUMN_VECTORS),
        None if is_one_vector => (tiling.balanced_rows(row_extent, 1), 1),
        None => (tiling.balanced_rows(row_extent, COLUMN_VECTORS), COLUMN_VECTORS),
    };
    Some(ContractionSchedule { contraction, looped, unrolled, may_overread, rows, vectors, block_axis, packed_rows })
}

/// An outer axis of the columns alone on which neighbouring vectors have a fixed distance, in the columns and wherever the
/// results go.
fn block_axis(kernel: &Kernel, contraction: &Contraction) -> Option<AxisId> {
    let dependencies = kernel.dependencies();
    let varies = |id: ExprId, axis: AxisId| dependencies[id.0 as usize].contains(&axis);
    let Expr::Load { parameter, index, .. } = kernel.expr(contraction.columns) else { return None };
    kernel.outer.iter().copied().find(|&axis| {
        axis != contraction.column_axis
            && varies(contraction.columns, axis)
            && !varies(contraction.rows, axis)
            && linear_stride(kernel, *parameter, index, axis).and_then(|stride| stride.as_const()).is_some()
    })
}

/// Whether an index is that of a packed layout: the last dimension is the position within a tile of `axis`.
fn is_packed(kernel: &Kernel, index: &[ExprId], axis: AxisId, tile: i64) -> bool {
    let Some(&last) = index.last() else { return false };
    let Expr::Binary(BinaryOp::Mod, position, size) = kernel.expr(last) else { return false };
    matches!(kernel.expr(*position), Expr::Axis(other) if *other == axis)
        && matches!(kernel.expr(*size), Expr::Const(size) if size.to_i64() == tile)
}

/// Whether the last dimension has room for a whole tile after every point of the column axis.
fn has_slack(kernel: &Kernel, parameter: crate::loops::ParameterId, index: &[ExprId], tiling: Tiling) -> bool {
    let (Some(&last), Some(size)) = (index.last(), kernel.parameter(parameter).shape.last()) else { return false };
    let Some((_, high)) = relayout::range(kernel, last) else { return false };
    size.provably_ge(&(high + tiling.columns()))
}
