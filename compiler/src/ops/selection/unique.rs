//! Unique: the distinct elements, or slices along an axis, with where they occur and how often.

use super::key;
use crate::graph::{Dim, ElementType, SymbolId};
use crate::loops::{RoutineCall, View};
use crate::ops::{Infer, Lower, OperatorError, Result, normalize_axis};

/// All outputs but the third have a length that only the run knows.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, mut shape) = (ctx.element(0)?, ctx.shape(0)?);
    let distinct = ctx.fresh("distinct");
    let rows = match ctx.node.int("axis")? {
        None => {
            let total = Dim::product(&shape);
            shape = vec![distinct.clone()];
            total
        }
        Some(axis) => {
            let axis = normalize_axis(axis, shape.len())?;
            std::mem::replace(&mut shape[axis], distinct.clone())
        }
    };
    ctx.set(0, element, shape);
    ctx.set(1, ElementType::I64, vec![distinct.clone()]);
    ctx.set(2, ElementType::I64, vec![rows]);
    ctx.set(3, ElementType::I64, vec![distinct]);
    Ok(())
}

/// The number of distinct slices, which inference named.
fn distinct(ctx: &mut Lower<'_, '_>, axis: usize) -> Result<SymbolId> {
    for (output, axis) in [(0, axis), (1, 0), (3, 0)] {
        if ctx.wants_output(output) {
            let (_, shape) = ctx.output_type(output)?;
            return shape[axis].as_symbol().ok_or_else(|| OperatorError::new("the length is decided twice"));
        }
    }
    Ok(ctx.shared.program.symbols.fresh("distinct"))
}

/// A kernel makes rows of keys, a routine groups them, and kernels fetch what the outputs need.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let input = ctx.input(0)?;
    let (axis, input) = match ctx.node.int("axis")? {
        None => (0, View { shape: vec![Dim::product(&input.shape)], ..input }),
        Some(axis) => (normalize_axis(axis, input.shape.len())?, input),
    };
    let rows = input.shape[axis].clone();
    let mut rest = input.shape.clone();
    rest.remove(axis);
    let keys = ctx.temporary(ElementType::I64, &[std::slice::from_ref(&rows), &rest].concat());
    let mut nest = ctx.nest();
    let (source, target) = (nest.read(&input), nest.write(&keys));
    let axes = nest.outer_axes(&keys.shape);
    let mut index = axes[1..].to_vec();
    index.insert(axis, axes[0]);
    let value = nest.load(source, &index);
    let value = key(&mut nest, input.element, value)?;
    nest.store(target, &axes, value);
    ctx.launch(nest);
    let [scratch, first, inverse, counts] =
        [(); 4].map(|()| ctx.temporary(ElementType::I64, std::slice::from_ref(&rows)));
    let symbol = distinct(ctx, axis)?;
    let is_sorted = Dim::constant(i64::from(ctx.node.flag_or("sorted", true)?));
    ctx.routine(RoutineCall {
        routine: "lithify_unique",
        inputs: vec![keys.buffer],
        outputs: [&scratch, &first, &inverse, &counts].map(|view| view.buffer).to_vec(),
        parameters: vec![rows, Dim::product(&rest), is_sorted],
        binds: vec![symbol],
    });
    if ctx.wants_output(0) {
        let target = ctx.output(0)?;
        // Without an axis the input was taken as a vector, as the output is.
        let mut nest = ctx.nest();
        let (source, first, parameter) = (nest.read(&input), nest.read(&first), nest.write(&target));
        let mut index = nest.outer_axes(&target.shape);
        let axes = index.clone();
        index[axis] = nest.load(first, &axes[axis..=axis]);
        let value = nest.load(source, &index);
        nest.store(parameter, &axes, value);
        ctx.launch(nest);
    }
    for (output, source) in [(1, &first), (2, &inverse), (3, &counts)] {
        if ctx.wants_output(output) {
            let target = ctx.output(output)?;
            let mut nest = ctx.nest();
            let (source, parameter) = (nest.read(source), nest.write(&target));
            let axes = nest.outer_axes(&target.shape);
            let value = nest.load(source, &axes);
            nest.store(parameter, &axes, value);
            ctx.launch(nest);
        }
    }
    Ok(())
}
