//! Compress: the slices along an axis that a condition selects.

use super::data;
use crate::graph::{Dim, ElementType};
use crate::loops::{Action, ReduceOp, StoreOp, View};
use crate::ops::{Infer, Lower, OperatorError, Result, normalize_axis};

/// The axis gets a length that only the run knows; without an axis the tensor is taken as a vector.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, mut shape) = (ctx.element(0)?, ctx.shape(0)?);
    let selected = ctx.fresh("selected");
    match ctx.node.int("axis")? {
        None => shape = vec![selected],
        Some(axis) => {
            let axis = normalize_axis(axis, shape.len())?;
            shape[axis] = selected;
        }
    }
    ctx.set(0, element, shape);
    Ok(())
}

/// Kernels for the number of selected slices, the place of each, and the copy of those that are selected. A condition
/// that is shorter than the axis selects nothing beyond its end.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (input, condition) = (data(ctx, 0)?, ctx.input(1)?);
    let (_, shape) = ctx.output_type(0)?;
    let (axis, input) = match ctx.node.int("axis")? {
        None => (0, View { shape: vec![Dim::product(&input.shape)], ..input }),
        Some(axis) => (normalize_axis(axis, input.shape.len())?, input),
    };
    let symbol = shape[axis].as_symbol().ok_or_else(|| OperatorError::new("the length is decided twice"))?;
    let [given] = &condition.shape[..] else {
        return Err(OperatorError::new("the condition must be a vector"));
    };
    let length = given.min(&input.shape[axis]);

    let count = ctx.temporary(ElementType::I64, &[]);
    let mut nest = ctx.nest();
    let flags = nest.read(&condition);
    let target = nest.write(&count);
    let total = nest.reduce(ReduceOp::Sum, std::slice::from_ref(&length), |nest, axes| {
        let flag = nest.load(flags, axes);
        nest.cast(ElementType::I64, flag)
    });
    nest.store(target, &[], total);
    ctx.launch(nest);
    ctx.step(Action::Bind { symbol, buffer: count.buffer, element: 0 });

    // The first place is 0; each other is the one before, moved on if the slice before was selected.
    let places = ctx.temporary(ElementType::I64, std::slice::from_ref(&length));
    let mut nest = ctx.nest();
    let target = nest.write(&places);
    let position = nest.outer_axis(length.min(&Dim::ONE));
    let zero = nest.index(0);
    nest.store(target, &[position], zero);
    ctx.launch(nest);
    let mut nest = ctx.nest();
    let flags = nest.read(&condition);
    let target = nest.read_write(&places);
    let before = nest.outer_axis((&length - 1).max(&Dim::ZERO));
    let one = nest.index(1);
    let position = nest.add(before, one);
    let (place, flag) = (nest.load(target, &[before]), nest.load(flags, &[before]));
    let moved = nest.cast(ElementType::I64, flag);
    let place = nest.add(place, moved);
    nest.store(target, &[position], place);
    ctx.launch(nest);

    let output = ctx.output(0)?;
    let mut extents = input.shape.clone();
    extents[axis] = length;
    let mut nest = ctx.nest();
    let (source, flags, places) = (nest.read(&input), nest.read(&condition), nest.read(&places));
    let target = super::write_part(&mut nest, &output);
    let axes = nest.outer_axes(&extents);
    let (flag, place) = (nest.load(flags, &[axes[axis]]), nest.load(places, &[axes[axis]]));
    let value = nest.load(source, &axes);
    let mut index = axes.clone();
    index[axis] = place;
    nest.update(target, &index, value, Some(flag), StoreOp::Set);
    ctx.launch(nest);
    Ok(())
}
