//! NonZero: the positions of the elements that are not 0, a row for each dimension.

use crate::graph::{Dim, ElementType};
use crate::loops::{CompareOp, RoutineCall};
use crate::ops::{Infer, Lower, OperatorError, Result};

/// As many rows as dimensions, of a length that only the run knows.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let rank = ctx.shape(0)?.len() as i64;
    let found = ctx.fresh("nonzero");
    ctx.set(0, ElementType::I64, vec![Dim::constant(rank), found]);
    Ok(())
}

/// A kernel that marks the elements, a routine that counts the marks, and one that writes their positions.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let input = ctx.input(0)?;
    let (_, shape) = ctx.output_type(0)?;
    let found = shape[1].as_symbol().ok_or_else(|| OperatorError::new("the length is decided twice"))?;
    let flags = ctx.temporary(ElementType::U8, &input.shape);
    let mut nest = ctx.nest();
    let (source, target) = (nest.read(&input), nest.write(&flags));
    let axes = nest.outer_axes(&input.shape);
    let value = nest.load(source, &axes);
    let zero = nest.integer(input.element, 0);
    let flag = nest.compare(CompareOp::Ne, value, zero);
    let flag = nest.cast(ElementType::U8, flag);
    nest.store(target, &axes, flag);
    ctx.launch(nest);
    let total = ctx.named(Dim::product(&input.shape));
    ctx.routine(RoutineCall {
        routine: "lithify_nonzero_count",
        inputs: vec![flags.buffer],
        outputs: Vec::new(),
        parameters: vec![total.clone()],
        binds: vec![found],
    });
    let output = ctx.output(0)?;
    let rank = Dim::constant(input.shape.len() as i64);
    let mut parameters = vec![total, Dim::symbol(found), rank];
    parameters.extend(input.shape.iter().cloned());
    ctx.routine(RoutineCall {
        routine: "lithify_nonzero",
        inputs: vec![flags.buffer],
        outputs: vec![output.buffer],
        parameters,
        binds: Vec::new(),
    });
    Ok(())
}
