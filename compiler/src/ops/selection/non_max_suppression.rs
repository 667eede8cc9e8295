//! NonMaxSuppression: boxes of high scores that do not overlap much.

use crate::graph::{Dim, ElementType, Tensor};
use crate::loops::{BufferKind, RoutineCall, View};
use crate::ops::{Infer, Lower, OperatorError, Result};

/// Rows of batch, class and box, as many as only the run knows.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    if (ctx.shape(0)?.len(), ctx.shape(1)?.len()) != (3, 3) {
        return Err(OperatorError::new("boxes and scores must have three dimensions"));
    }
    if (ctx.element(0)?, ctx.element(1)?) != (ElementType::F32, ElementType::F32) {
        return Err(OperatorError::new("boxes and scores must be f32"));
    }
    if ctx.has_input(2) {
        ctx.values(2)?;
    }
    let selected = ctx.fresh("selected");
    ctx.set(0, ElementType::I64, vec![selected, Dim::constant(3)]);
    Ok(())
}

/// A routine that selects into memory for the greatest selection, and a copy of what it found.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    use crate::graph::CompareOperator::Equal;
    let (boxes, scores) = (ctx.input(0)?, ctx.input(1)?);
    let [batches, classes, count] = <[Dim; 3]>::try_from(scores.shape.clone())
        .map_err(|_| OperatorError::new("the scores must have three dimensions"))?;
    for (dim, wanted) in boxes.shape.iter().zip([&batches, &count, &Dim::constant(4)]) {
        ctx.check(dim.compare(Equal, wanted), "the shapes of boxes and scores do not fit each other")?;
    }
    let limit = match ctx.known(2).as_deref() {
        None if !ctx.has_input(2) => Dim::ZERO,
        Some([limit]) => limit.clone(),
        _ => return Err(OperatorError::new("the number of boxes to select must have one element")),
    };
    let limit = ctx.named(limit.max(&Dim::ZERO).min(&count));
    let (boxes, scores) = (aligned(ctx, boxes), aligned(ctx, scores));
    let overlap = number(ctx, 3)?;
    let threshold = number(ctx, 4)?;
    let rows = Dim::product([&batches, &classes, &limit]);
    let found = ctx.temporary(ElementType::I64, &[rows, Dim::constant(3)]);
    let scratch = ctx.temporary(ElementType::I64, std::slice::from_ref(&count));
    let (_, shape) = ctx.output_type(0)?;
    let selected = shape[0].as_symbol().ok_or_else(|| OperatorError::new("the length is decided twice"))?;
    let flag = |flag: bool| Dim::constant(i64::from(flag));
    let is_centered = flag(ctx.node.int_or("center_point_box", 0)? != 0);
    let has_threshold = flag(ctx.has_input(4));
    ctx.routine(RoutineCall {
        routine: "lithify_non_max_suppression",
        inputs: [&boxes, &scores, &overlap, &threshold].map(|view| view.buffer).to_vec(),
        outputs: vec![found.buffer, scratch.buffer],
        parameters: vec![batches, classes, count, limit, is_centered, has_threshold],
        binds: vec![selected],
    });
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let (source, target) = (nest.read(&found), nest.write(&output));
    let axes = nest.outer_axes(&output.shape);
    let value = nest.load(source, &axes);
    nest.store(target, &axes, value);
    ctx.launch(nest);
    Ok(())
}

/// The memory of a number that may be left out.
fn number(ctx: &mut Lower<'_, '_>, index: usize) -> Result<View> {
    let view = match ctx.optional_input(index)? {
        Some(view) => view,
        None => ctx.constant_view(Tensor::scalar(0f32)),
    };
    let is_one = Dim::product(&view.shape).as_const() == Some(1);
    match is_one && view.element == ElementType::F32 {
        true => Ok(aligned(ctx, view)),
        false => Err(OperatorError::new(format!("input {index} must be one f32"))),
    }
}

/// The same contents at an aligned address: inputs of the model may lie anywhere.
fn aligned(ctx: &mut Lower<'_, '_>, view: View) -> View {
    match ctx.shared.program.buffer(view.buffer).kind {
        BufferKind::Input(_) => {
            let copy = ctx.temporary(view.element, &view.shape);
            ctx.copy(&view, &copy);
            copy
        }
        _ => view,
    }
}
