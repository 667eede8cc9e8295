//! MaxPool, AveragePool and LpPool: one reduction over a window of each channel.

use super::norm_power;
use super::window::{Short, Window, kernel_shape, load_guarded, outputs, spatial};
use crate::graph::{Dim, ElementType};
use crate::loops::{BinaryOp, CompareOp, ExprId, KernelBuilder, ReduceOp, Scalar, UnaryOp, View};
use crate::ops::{Infer, Lower, OperatorError, Result};

/// Batch and channels of the input, and the windows that fit. The second output, of MaxPool, is positions.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, input) = (ctx.element(0)?, ctx.shape(0)?);
    let window = Window::over(ctx.node, spatial(&input)?, kernel_shape(ctx.node, input.len() - 2)?, Short::OneWindow)?;
    let mut shape = input[..2].to_vec();
    shape.extend(outputs(ctx, window.output)?);
    ctx.set(1, ElementType::I64, shape.clone());
    ctx.set(0, element, shape);
    Ok(())
}

fn window(ctx: &mut Lower<'_, '_>, input: &View, output: usize) -> Result<Window> {
    let kernel = kernel_shape(ctx.node, input.shape.len() - 2)?;
    let (_, shape) = ctx.output_type(output)?;
    Window::lowered(ctx, spatial(&input.shape)?, kernel, Short::OneWindow, &shape[2..])
}

/// MaxPool: the greatest value, and where it is in the flattened input. NaN counts as greatest.
pub fn lower_max(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let input = ctx.input(0)?;
    let first = if ctx.wants_output(0) { 0 } else { 1 };
    let window = window(ctx, &input, first)?;
    let output = if ctx.wants_output(0) { Some(ctx.output(0)?) } else { None };
    let indices = if ctx.wants_output(1) { Some(ctx.output(1)?) } else { None };
    let is_column_major = ctx.node.flag_or("storage_order", false)?;
    let Some(shape) = output.as_ref().or(indices.as_ref()).map(|view| view.shape.clone()) else { return Ok(()) };
    let mut nest = ctx.nest();
    let x = nest.read(&input);
    let axes = nest.outer_axes(&shape);
    let dims = &input.shape[2..];
    let lowest = Scalar::lowest(input.element);
    let load = |nest: &mut KernelBuilder, tap: &[ExprId]| {
        let (positions, guard) = window.positions(nest, &axes[2..], tap, dims);
        let value = load_guarded(nest, x, &[&axes[..2], &positions[..]].concat(), guard, lowest);
        (value, positions, guard)
    };
    let greatest = nest.reduce(ReduceOp::Max, &window.kernel, |nest, tap| load(nest, tap).0);
    if let Some(output) = &output {
        let y = nest.write(output);
        nest.store(y, &axes, greatest);
    }
    if let Some(indices) = &indices {
        // The first position in the plane where the value is: the least one.
        let place = nest.reduce(ReduceOp::Min, &window.kernel, |nest, tap| {
            let (value, positions, guard) = load(nest, tap);
            let mut found = nest.compare(CompareOp::Eq, value, greatest);
            if input.element.is_float() {
                let is_nan = nest.unary(UnaryOp::IsNan, value);
                found = nest.binary(BinaryOp::Or, found, is_nan);
            }
            if let Some(guard) = guard {
                found = nest.and(found, guard);
            }
            let place = ravel(nest, &positions, dims);
            let none = nest.index(i64::MAX);
            nest.select(found, place, none)
        });
        let place = if is_column_major { transposed(&mut nest, place, dims) } else { place };
        let plane = ravel(&mut nest, &axes[..2], &input.shape[..2]);
        let size = nest.dim(&Dim::product(dims));
        let start = nest.mul(plane, size);
        let value = nest.add(start, place);
        let target = nest.write(indices);
        nest.store(target, &axes, value);
    }
    ctx.launch(nest);
    Ok(())
}

/// The position in a flattened row-major tensor.
pub(super) fn ravel(nest: &mut KernelBuilder, index: &[ExprId], dims: &[Dim]) -> ExprId {
    let mut flat = nest.index(0);
    for (&position, dim) in index.iter().zip(dims) {
        let extent = nest.dim(dim);
        let outer = nest.mul(flat, extent);
        flat = nest.add(outer, position);
    }
    flat
}

/// The index into a tensor of the given dimensions of a position in its flattened form; the first is not wrapped.
pub(super) fn unravel(nest: &mut KernelBuilder, flat: ExprId, dims: &[Dim]) -> Vec<ExprId> {
    let mut rest = flat;
    let mut index = Vec::new();
    for dim in dims.iter().skip(1).rev() {
        let extent = nest.dim(dim);
        index.push(nest.binary(BinaryOp::Mod, rest, extent));
        rest = nest.binary(BinaryOp::FloorDiv, rest, extent);
    }
    index.push(rest);
    index.reverse();
    index
}

/// The column-major position of a row-major one.
fn transposed(nest: &mut KernelBuilder, place: ExprId, dims: &[Dim]) -> ExprId {
    let mut index = unravel(nest, place, dims);
    index.reverse();
    let dims: Vec<Dim> = dims.iter().rev().cloned().collect();
    ravel(nest, &index, &dims)
}

/// AveragePool: the sum over a window by the number of its taps, those in the padding counted where
/// `count_include_pad` is set. Taps beyond the padding never count.
pub fn lower_average(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let input = ctx.input(0)?;
    if !input.element.is_float() {
        return Err(OperatorError::new(format!("the input is {}, expected a float type", input.element)));
    }
    let window = window(ctx, &input, 0)?;
    let includes_padding = ctx.node.flag_or("count_include_pad", false)?;
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let (x, y) = (nest.read(&input), nest.write(&output));
    let axes = nest.outer_axes(&output.shape);
    let dims = &input.shape[2..];
    let zero = Scalar::from_i64(input.element, 0);
    let sum = nest.reduce(ReduceOp::Sum, &window.kernel, |nest, tap| {
        let (positions, guard) = window.positions(nest, &axes[2..], tap, dims);
        load_guarded(nest, x, &[&axes[..2], &positions[..]].concat(), guard, zero)
    });
    let mut count = nest.index(1);
    for axis in 0..dims.len() {
        let taps = counted_taps(&mut nest, &window, axis, axes[2 + axis], &dims[axis], includes_padding);
        count = nest.mul(count, taps);
    }
    let one = nest.index(1);
    let count = nest.max(count, one);
    let count = nest.cast(input.element.compute_type(), count);
    let value = nest.div(sum, count);
    nest.store(y, &axes, value);
    ctx.launch(nest);
    Ok(())
}

/// How many taps of the window at `output` count along an axis.
fn counted_taps(
    nest: &mut KernelBuilder,
    window: &Window,
    axis: usize,
    output: ExprId,
    dim: &Dim,
    includes_padding: bool,
) -> ExprId {
    let kernel = nest.dim(&window.kernel[axis]);
    if !window.is_padded(axis) {
        return kernel;
    }
    let (zero, last) = (nest.index(0), nest.index(window.dilations[axis] - 1));
    let dilation = nest.index(window.dilations[axis]);
    let start = window.position(nest, axis, output, zero);
    // Taps are at start + tap * dilation; those below the end are the first ceil((end - start) / dilation).
    let end = if includes_padding { dim + &window.after[axis] } else { dim.clone() };
    let end = nest.dim(&end);
    let room = nest.sub(end, start);
    let room = nest.add(room, last);
    let below = nest.binary(BinaryOp::FloorDiv, room, dilation);
    let below = nest.min(below, kernel);
    if includes_padding {
        return below;
    }
    let missing = nest.sub(zero, start);
    let missing = nest.max(missing, zero);
    let missing = nest.add(missing, last);
    let first = nest.binary(BinaryOp::FloorDiv, missing, dilation);
    let count = nest.sub(below, first);
    nest.max(count, zero)
}

/// LpPool: the p-norm over a window.
pub fn lower_norm(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let input = ctx.input(0)?;
    let window = window(ctx, &input, 0)?;
    let power = norm_power(ctx.node)?;
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let (x, y) = (nest.read(&input), nest.write(&output));
    let axes = nest.outer_axes(&output.shape);
    let zero = Scalar::from_i64(input.element, 0);
    let sum = nest.reduce(ReduceOp::Sum, &window.kernel, |nest, tap| {
        let (positions, guard) = window.positions(nest, &axes[2..], tap, &input.shape[2..]);
        let value = load_guarded(nest, x, &[&axes[..2], &positions[..]].concat(), guard, zero);
        power.raise(nest, value)
    });
    let value = power.root(&mut nest, sum);
    nest.store(y, &axes, value);
    ctx.launch(nest);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::graph::Tensor;
    use crate::ops::testing::Case;

    #[test]
    fn an_input_shorter_than_one_window_gives_one() {
        let pool = |name, dims: &[i64], values: &[f32]| {
            let case = Case::new(name, 12, &[Tensor::from_values(dims, values)], 1);
            case.ints("kernel_shape", &[2, 2]).ints("strides", &[2, 2])
        };
        let row = [1.0, 3.0, 2.0, -4.0, 9.0];
        pool("MaxPool", &[1, 1, 1, 5], &row).gives(&[Tensor::from_values(&[1, 1, 1, 2], &[3f32, 2.0])]);
        pool("AveragePool", &[1, 1, 1, 5], &row).gives(&[Tensor::from_values(&[1, 1, 1, 2], &[2f32, -1.0])]);
    }

    #[test]
    fn an_input_shorter_than_a_window_by_a_stride_gives_nothing() {
        let case = Case::new("MaxPool", 12, &[Tensor::from_values(&[1, 1, 1], &[1f32])], 1);
        case.ints("kernel_shape", &[2]).gives(&[Tensor::from_values(&[1, 1, 0], &[0f32; 0])]);
    }
}
