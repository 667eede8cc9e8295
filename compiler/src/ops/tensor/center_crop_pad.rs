//! CenterCropPad: the middle of a tensor, or a tensor in the middle of zeros.

use super::{check_nonnegative, data};
use crate::graph::{CompareOperator, Dim};
use crate::loops::{ExprId, Scalar};
use crate::ops::arguments::{Arguments, all_axes, normalize_axes, spread};
use crate::ops::{Infer, Lower, OperatorError, Result};

/// The wanted dimensions, those not named by `axes` unchanged.
fn wanted(ctx: &mut impl Arguments, shape: &[Dim]) -> Result<Vec<Dim>> {
    let values = ctx.elements(1)?;
    let axes = match ctx.argument_node().ints("axes")? {
        Some(axes) => normalize_axes(&axes.iter().copied().map(Dim::constant).collect::<Vec<_>>(), shape.len())?,
        None => all_axes(shape.len()),
    };
    if axes.len() != values.len() {
        return Err(OperatorError::new(format!("there are {} sizes for {} axes", values.len(), axes.len())));
    }
    Ok(spread(&axes, &values, shape))
}

/// The dimensions are data.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, shape) = (ctx.element(0)?, ctx.shape(0)?);
    let dims = wanted(ctx, &shape)?;
    ctx.set(0, element, dims);
    Ok(())
}

/// One load for each element inside of the input. Half of the difference, rounded to zero, goes before.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let input = data(ctx, 0)?;
    let output = ctx.output(0)?;
    check_nonnegative(ctx, &output.shape)?;
    let mut nest = ctx.nest();
    let source = nest.read(&input);
    let target = nest.write(&output);
    let axes = nest.outer_axes(&output.shape);
    let mut index = axes.clone();
    let mut guard: Option<ExprId> = None;
    for (position, (dim, wanted)) in index.iter_mut().zip(input.shape.iter().zip(&output.shape)) {
        if dim == wanted {
            continue;
        }
        let offset = nest.dim(&(dim - wanted).trunc_div(&Dim::constant(2)));
        *position = nest.add(*position, offset);
        if wanted.compare(CompareOperator::LessEqual, dim).as_const() != Some(1) {
            let inside = nest.in_range(*position, dim);
            guard = Some(guard.map_or(inside, |guard| nest.and(guard, inside)));
        }
    }
    let value = match guard {
        None => nest.load(source, &index),
        Some(guard) => nest.load_where(source, &index, guard, Scalar::from_i64(input.element, 0)),
    };
    nest.store(target, &axes, value);
    ctx.launch(nest);
    Ok(())
}
