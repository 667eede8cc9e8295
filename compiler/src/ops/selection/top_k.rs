//! TopK: the greatest or least elements along an axis, with their positions. Of equal elements the first come first.

use super::key;
use crate::graph::{CompareOperator, Dim, ElementType};
use crate::loops::{BinaryOp, RoutineCall, View};
use crate::ops::{Infer, Lower, OperatorError, Result, normalize_axis};

/// The number of elements wanted: an attribute at first, an input later.
fn wanted(version: i64, attribute: Option<i64>, known: impl FnOnce() -> Result<Vec<Dim>>) -> Result<Dim> {
    if version < 10 {
        return attribute.map(Dim::constant).ok_or_else(|| OperatorError::new("attribute `k` is missing"));
    }
    match <[Dim; 1]>::try_from(known()?) {
        Ok([count]) => Ok(count),
        Err(_) => Err(OperatorError::new("K must have one element")),
    }
}

/// The axis gets the wanted length.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, mut shape) = (ctx.element(0)?, ctx.shape(0)?);
    let axis = normalize_axis(ctx.node.int_or("axis", -1)?, shape.len())?;
    let attribute = ctx.node.int("k")?;
    let count = wanted(ctx.node.version, attribute, || ctx.values(1))?;
    if let (Some(count), Some(length)) = (count.as_const(), shape[axis].as_const())
        && !(0..=length).contains(&count)
    {
        return Err(OperatorError::new(format!("K is {count}, the axis has {length} elements")));
    }
    shape[axis] = count;
    ctx.set(0, element, shape.clone());
    ctx.set(1, ElementType::I64, shape);
    Ok(())
}

/// A kernel makes keys with the axis last, a routine finds the positions, and kernels fetch the elements.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let input = ctx.input(0)?;
    let axis = normalize_axis(ctx.node.int_or("axis", -1)?, input.shape.len())?;
    let attribute = ctx.node.int("k")?;
    let unknown = || OperatorError::unknown("K is not known");
    let count = wanted(ctx.node.version, attribute, || ctx.known(1).ok_or_else(unknown))?;
    let length = input.shape[axis].clone();
    ctx.check(count.compare(CompareOperator::GreaterEqual, &Dim::ZERO), "K is negative")?;
    ctx.check(count.compare(CompareOperator::LessEqual, &length), "K is greater than the length of the axis")?;
    let mut rows = input.shape.clone();
    rows.remove(axis);
    let keys = ctx.temporary(ElementType::I64, &[&rows[..], std::slice::from_ref(&length)].concat());
    let mut nest = ctx.nest();
    let (source, target) = (nest.read(&input), nest.write(&keys));
    let axes = nest.outer_axes(&keys.shape);
    let mut index = axes[..axes.len() - 1].to_vec();
    index.insert(axis, axes[axes.len() - 1]);
    let value = nest.load(source, &index);
    let mut value = key(&mut nest, input.element, value)?;
    if !ctx.node.flag_or("largest", true)? {
        let ones = nest.index(-1);
        value = nest.binary(BinaryOp::Xor, value, ones);
    }
    nest.store(target, &axes, value);
    ctx.launch(nest);
    let positions = ctx.temporary(ElementType::I64, &[&rows[..], std::slice::from_ref(&count)].concat());
    ctx.routine(RoutineCall {
        routine: "lithify_top_k",
        inputs: vec![keys.buffer],
        outputs: vec![positions.buffer],
        parameters: vec![Dim::product(&rows), length, count],
        binds: Vec::new(),
    });
    for output in 0..2 {
        if ctx.wants_output(output) {
            let target = ctx.output(output)?;
            fetch(ctx, (output == 0).then_some(&input), &positions, &target, axis);
        }
    }
    Ok(())
}

/// Copies the elements at the positions, or the positions themselves.
fn fetch(ctx: &mut Lower<'_, '_>, source: Option<&View>, positions: &View, target: &View, axis: usize) {
    let mut nest = ctx.nest();
    let (found, target_parameter) = (nest.read(positions), nest.write(target));
    let axes = nest.outer_axes(&target.shape);
    let mut row = axes.clone();
    let place = row.remove(axis);
    row.push(place);
    let mut value = nest.load(found, &row);
    if let Some(source) = source {
        let source = nest.read(source);
        let mut index = axes.clone();
        index[axis] = value;
        value = nest.load(source, &index);
    }
    nest.store(target_parameter, &axes, value);
    ctx.launch(nest);
}
