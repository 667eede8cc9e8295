//! Loop: rounds counted by a trip count, ended by a condition, or both.

use super::append::Growing;
use super::carried::{Carried, State, advance, infer_body};
use super::{check_ports, reads, region, slices, tensor_of, with_region};
use crate::graph::{Dim, ElementType, Model, Region, Tensor, Type, ValueId};
use crate::loops::{Action, View};
use crate::ops::{Infer, Lower, OperatorError, Result};

/// The body's inputs are the number of the round, the condition, and the carried values.
const FIXED: usize = 2;

/// The trip count and the first condition; without a count there is no bound.
fn bounds(trip: Option<Vec<Dim>>, condition: Option<Vec<Dim>>) -> Result<(Dim, Dim)> {
    let one = |known: Option<Vec<Dim>>, otherwise: i64, what: &str| match known.as_deref() {
        None => Ok(Dim::constant(otherwise)),
        Some([value]) => Ok(value.clone()),
        Some(_) => Err(OperatorError::new(format!("the {what} must have one element"))),
    };
    Ok((one(trip, i64::MAX, "trip count")?, one(condition, 1, "condition")?))
}

/// Whether the condition that a round computes is known to hold.
fn goes_on(model: &Model, region: &Region) -> bool {
    let Some(&id) = region.outputs.first() else { return false };
    let value = model.value(id);
    let constant = value.constant.as_ref().and_then(Tensor::integers);
    let known = constant.or_else(|| value.known.as_ref()?.iter().map(Dim::as_const).collect());
    known.is_some_and(|known| known.first().is_some_and(|&condition| condition != 0))
}

/// The shape of a scalar input of the body, which some files declare as a vector of one element.
fn scalar_shape(model: &Model, id: ValueId) -> Vec<Dim> {
    let declared = model.value(id).ty.as_tensor().and_then(|tensor| tensor.shape.clone());
    declared.filter(|shape| *shape == [Dim::ONE]).unwrap_or_default()
}

/// Carried values have the body's types, scan outputs get an axis of the rounds in front.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let trip = if ctx.has_input(0) { Some(ctx.values(0)?) } else { None };
    let first = if ctx.has_input(1) { Some(ctx.values(1)?) } else { None };
    let (count, first) = bounds(trip, first)?;
    let states = ctx.node.inputs.len().saturating_sub(FIXED);
    let mut carried = Vec::new();
    for state in 0..states {
        let initial = (ctx.element(FIXED + state)?, ctx.shape(FIXED + state)?);
        carried.push(Carried { input: FIXED + state, output: 1 + state, initial });
    }
    with_region(ctx, "body", |ctx, region| {
        check_ports(region, FIXED + states, 1 + ctx.node.outputs.len())?;
        if ctx.node.outputs.len() < states {
            return Err(OperatorError::new("there are more carried values than outputs"));
        }
        let known_before = ctx.model.symbols.len();
        let round = Dim::symbol(ctx.model.symbols.fresh("round"));
        infer_body(ctx, region, &carried, &mut |ctx, region| {
            let (number, condition) = (region.inputs[0], region.inputs[1]);
            let shape = scalar_shape(ctx.model, number);
            let value = ctx.model.value_mut(number);
            value.ty = Type::tensor(ElementType::I64, shape);
            value.known = Some(vec![round.clone()]);
            // A round only runs while the condition holds.
            let dims = vec![1; scalar_shape(ctx.model, condition).len()];
            ctx.model.set_constant(condition, Tensor::scalar(true).reshaped(&dims));
        })?;
        let is_counted = goes_on(ctx.model, region) && first.as_const().is_some() && count.as_const() != Some(i64::MAX);
        for state in 0..states {
            let ty = ctx.model.value(region.inputs[FIXED + state]).ty.clone();
            ctx.set_type(state, ty);
        }
        for output in states..ctx.node.outputs.len() {
            let (ty, shape) = tensor_of(ctx.model, region.outputs[1 + output])?;
            let is_fixed = |dim: &Dim| !dim.is_unknown() && dim.symbols().iter().all(|s| s.index() < known_before);
            let rounds = match first.as_const() {
                Some(0) => Dim::ZERO,
                _ if is_counted && shape.iter().all(is_fixed) => count.max(&Dim::ZERO),
                _ => round.clone(),
            };
            let dims = shape.into_iter().map(|dim| if is_fixed(&dim) { dim } else { ctx.fresh("stacked") });
            let dims = std::iter::once(rounds).chain(dims).collect();
            ctx.set(output, ty.element, dims);
        }
        Ok(())
    })
}

/// Where a scan output goes.
enum Stacked {
    /// To its place, by the number of the round.
    Placed(View),
    /// To the end of a list.
    Grown(Growing),
}

/// A loop of the program around the body's steps.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let region = region(ctx.node, "body")?;
    let model = ctx.shared.model;
    let (count, first) = bounds(ctx.known(0), ctx.known(1))?;
    let round = model.value(region.inputs[0]).known.as_ref().and_then(|known| known.first()?.as_symbol());
    let round = round.ok_or_else(|| OperatorError::new("the body was not inferred"))?;
    let states = ctx.node.inputs.len().saturating_sub(FIXED);
    let condition = match goes_on(model, region) {
        true => first,
        false => {
            let symbol = ctx.fresh_symbol("goes_on");
            ctx.set_symbol(symbol, first);
            Dim::symbol(symbol)
        }
    };
    let mut carried = Vec::new();
    for state in 0..states {
        let (inside, result) = (region.inputs[FIXED + state], region.outputs[1 + state]);
        let initial = ctx.input(FIXED + state)?;
        let place = match ctx.wants_output(state) {
            true => ctx.output(state)?,
            false => {
                let (ty, shape) = tensor_of(model, inside)?;
                ctx.temporary(ty.element, &shape)
            }
        };
        carried.push(State::start(ctx, place, &initial, inside, result)?);
    }
    let mut stacked = Vec::new();
    for output in states..ctx.node.outputs.len() {
        if !ctx.wants_output(output) {
            continue;
        }
        let value = region.outputs[1 + output];
        let (_, shape) = ctx.output_type(output)?;
        let place = if shape[0] == Dim::symbol(round) {
            Stacked::Grown(Growing::start(ctx, value, output)?)
        } else {
            let place = ctx.output(output)?;
            slices::begin(ctx, &place)?;
            Stacked::Placed(place)
        };
        stacked.push((output, value, place));
    }
    let body = ctx.block(|ctx| {
        let number = region.inputs[0];
        if reads(region, number) {
            write_round(ctx, number, &Dim::symbol(round))?;
        }
        let steps = ctx.region(region)?;
        ctx.steps.extend(steps);
        for (_, value, place) in &stacked {
            match place {
                Stacked::Placed(place) => {
                    let source = ctx.shared.view(*value)?;
                    slices::write_slice(ctx, &source, place, &[(0, Dim::symbol(round))]);
                }
                Stacked::Grown(list) => list.append(ctx, *value)?,
            }
        }
        if let (Some(symbol), false) = (condition.as_symbol(), goes_on(model, region)) {
            decide(ctx, symbol, region.outputs[0])?;
        }
        advance(ctx, &carried)
    })?;
    ctx.step(Action::Loop { counter: round, count, condition, body });
    for (output, _, place) in &stacked {
        if let Stacked::Grown(list) = place {
            list.finish(ctx, *output)?;
        }
    }
    Ok(())
}

/// Gives the body's first input memory that holds the number of the round.
fn write_round(ctx: &mut Lower<'_, '_>, id: ValueId, round: &Dim) -> Result<()> {
    let (_, shape) = tensor_of(ctx.shared.model, id)?;
    let view = ctx.temporary(ElementType::I64, &shape);
    let mut nest = ctx.nest();
    let target = nest.write(&view);
    let axes = nest.outer_axes(&shape);
    let value = nest.dim(round);
    nest.store(target, &axes, value);
    ctx.launch(nest);
    ctx.shared.views.insert(id, view);
    Ok(())
}

/// Sets the condition of the next round from what this one computed.
fn decide(ctx: &mut Lower<'_, '_>, symbol: crate::graph::SymbolId, id: ValueId) -> Result<()> {
    let value = ctx.shared.model.value(id);
    if let Some([known]) = value.known.as_deref() {
        let known = known.clone();
        ctx.set_symbol(symbol, known);
        return Ok(());
    }
    let buffer = ctx.shared.view(id)?.buffer;
    ctx.step(Action::Bind { symbol, buffer, element: 0 });
    Ok(())
}
