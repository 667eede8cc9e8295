//! Clip: elements kept between two bounds.

use super::{Infer, Lower, Operator, OperatorError, Result};
use crate::graph::Dim;
use crate::loops::{ExprId, View};

/// The operator.
pub static OPERATORS: &[Operator] = &[Operator::new("Clip", infer, lower)];

/// The input's type.
fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, shape) = (ctx.element(0)?, ctx.shape(0)?);
    if !element.is_float() && !element.is_integer() {
        return Err(OperatorError::new(format!("elements of type {element} have no order")));
    }
    ctx.set(0, element, shape);
    Ok(())
}

/// One elementwise kernel. The bounds are attributes before operator set 11, and inputs from then on; either may be absent.
/// Where the lower one is greater, the upper one wins. NaN passes through.
fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let input = ctx.input(0)?;
    let bounds = [bound(ctx, 1)?, bound(ctx, 2)?];
    let attributes = [ctx.node.float("min")?, ctx.node.float("max")?];
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let source = nest.read(&input);
    let target = nest.write(&output);
    let axes = nest.outer_axes(&output.shape);
    let mut value = nest.load(source, &axes);
    for (is_upper, (view, attribute)) in bounds.into_iter().zip(attributes).enumerate() {
        let bound: Option<ExprId> = match (view, attribute) {
            (Some(view), _) => {
                let parameter = nest.read(&view);
                Some(nest.load(parameter, &[]))
            }
            (None, Some(attribute)) => Some(nest.float(input.element, attribute.into())),
            (None, None) => None,
        };
        value = match bound {
            Some(bound) if is_upper == 1 => nest.min(value, bound),
            Some(bound) => nest.max(value, bound),
            None => value,
        };
    }
    nest.store(target, &axes, value);
    ctx.launch(nest);
    Ok(())
}

/// A bound as a scalar of the input's type.
fn bound(ctx: &mut Lower<'_, '_>, index: usize) -> Result<Option<View>> {
    let Some(view) = ctx.optional_input(index)? else { return Ok(None) };
    if view.element != ctx.input(0)?.element {
        return Err(OperatorError::new(format!("input {index} is not of the type of the elements")));
    }
    let count = Dim::product(view.shape.iter().cloned());
    ctx.check(count.compare(crate::graph::CompareOperator::Equal, &Dim::ONE), "a bound must be one number")?;
    Ok(Some(View { shape: Vec::new(), ..view }))
}
