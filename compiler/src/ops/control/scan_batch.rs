//! Scan of operator set 8: a batch of sequences, each as long as an optional input states.

use super::carried::{Carried, State, advance, infer_body};
use super::{check_ports, region, slices, tensor_of, with_region};
use crate::graph::{CompareOperator, Dim, ElementType, Node, Type};
use crate::loops::{Action, Scalar};
use crate::ops::tensor::splat;
use crate::ops::{Infer, Lower, OperatorError, Result};

/// Input 0 holds the lengths; states and sequences follow. Gives the numbers of both.
fn counts(node: &Node) -> Result<(usize, usize)> {
    let count = node.required_int("num_scan_inputs")?;
    let given = node.inputs.len().saturating_sub(1);
    let sequences = usize::try_from(count).ok().filter(|count| (1..=given).contains(count));
    let sequences = sequences
        .ok_or_else(|| OperatorError::new(format!("num_scan_inputs is {count}, which does not fit {given} inputs")))?;
    Ok((given - sequences, sequences))
}

/// A shape without the batch, and for sequences without their axis.
fn inner(shape: Vec<Dim>, axes: usize) -> Result<Vec<Dim>> {
    match shape.len() >= axes {
        true => Ok(shape[axes..].to_vec()),
        false => Err(OperatorError::new("an input lacks the axis of the batch or of the sequence")),
    }
}

/// States have the axis of the batch in front, scan outputs those of the batch and of the sequence.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (states, sequences) = counts(ctx.node)?;
    let mut carried = Vec::new();
    for state in 0..states {
        let initial = (ctx.element(1 + state)?, inner(ctx.shape(1 + state)?, 1)?);
        carried.push(Carried { input: state, output: state, initial });
    }
    let mut slices = Vec::new();
    for index in 1 + states..1 + states + sequences {
        slices.push(Type::tensor(ctx.element(index)?, inner(ctx.shape(index)?, 2)?));
    }
    let outer = ctx.shape(1 + states)?[..2].to_vec();
    with_region(ctx, "body", |ctx, region| {
        check_ports(region, states + sequences, ctx.node.outputs.len())?;
        infer_body(ctx, region, &carried, &mut |ctx, region| {
            for (index, ty) in slices.iter().enumerate() {
                ctx.model.value_mut(region.inputs[states + index]).ty = ty.clone();
            }
        })?;
        for output in 0..ctx.node.outputs.len() {
            let (ty, shape) = tensor_of(ctx.model, region.outputs[output])?;
            let axes = if output < states { &outer[..1] } else { &outer[..] };
            ctx.set(output, ty.element, [axes, &shape].concat());
        }
        Ok(())
    })
}

/// A loop over the batch around a loop over the sequence. What lies beyond the end of a sequence is 0.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (node, region) = (ctx.node, region(ctx.node, "body")?);
    let (states, sequences) = counts(node)?;
    let lengths = ctx.optional_input(0)?;
    let initial = (0..states).map(|state| ctx.input(1 + state)).collect::<Result<Vec<_>>>()?;
    let inputs = (0..sequences).map(|index| ctx.input(1 + states + index)).collect::<Result<Vec<_>>>()?;
    let (batch, length) = (inputs[0].shape[0].clone(), inputs[0].shape[1].clone());
    for (index, view) in initial.iter().chain(&inputs).enumerate() {
        let mut same = view.shape[0].compare(CompareOperator::Equal, &batch);
        if index >= states {
            same = same.min(&view.shape[1].compare(CompareOperator::Equal, &length));
        }
        ctx.check(same, "the states and sequences to scan differ in batch or length")?;
    }
    let mut outputs = Vec::new();
    for output in 0..node.outputs.len() {
        let view = if ctx.wants_output(output) { Some(ctx.output(output)?) } else { None };
        if let Some(view) = &view {
            match lengths.is_some() && output >= states {
                true => splat(ctx, view, Scalar::from_i64(view.element, 0)),
                false => slices::begin(ctx, view)?,
            }
        }
        outputs.push(view);
    }
    let (item, round) = (ctx.fresh_symbol("item"), ctx.fresh_symbol("round"));
    let here = (0, Dim::symbol(item));
    let directions = node.ints("directions")?.map(<[i64]>::to_vec).unwrap_or_default();
    let items = ctx.block(|ctx| {
        let count = match &lengths {
            None => length.clone(),
            Some(lengths) => {
                let own = ctx.temporary(ElementType::I64, &[]);
                slices::read_slice(ctx, lengths, &own, std::slice::from_ref(&here));
                let symbol = ctx.shared.program.symbols.fresh_within("length", i64::MIN, None);
                ctx.step(Action::Bind { symbol, buffer: own.buffer, element: 0 });
                let count = Dim::symbol(symbol);
                let message = "the length of a sequence is out of range";
                ctx.check(count.compare(CompareOperator::GreaterEqual, &Dim::ZERO), message)?;
                ctx.check(count.compare(CompareOperator::LessEqual, &length), message)?;
                count
            }
        };
        let mut carried = Vec::new();
        for (state, view) in initial.iter().enumerate() {
            let (ty, shape) = tensor_of(ctx.shared.model, region.inputs[state])?;
            if shape != view.shape[1..] {
                return Err(OperatorError::new(format!("state {state} changes its shape, which cannot be batched")));
            }
            let (first, place) = (ctx.temporary(ty.element, &shape), ctx.temporary(ty.element, &shape));
            slices::read_slice(ctx, view, &first, std::slice::from_ref(&here));
            carried.push(State::start(ctx, place, &first, region.inputs[state], region.outputs[state])?);
        }
        let rounds = ctx.block(|ctx| {
            for (index, input) in inputs.iter().enumerate() {
                let id = region.inputs[states + index];
                let (ty, shape) = tensor_of(ctx.shared.model, id)?;
                let slice = ctx.temporary(ty.element, &shape);
                let position = match directions.get(index) {
                    Some(1) => &count - 1 - Dim::symbol(round),
                    _ => Dim::symbol(round),
                };
                slices::read_slice(ctx, input, &slice, &[here.clone(), (1, position)]);
                ctx.shared.views.insert(id, slice);
            }
            let steps = ctx.region(region)?;
            ctx.steps.extend(steps);
            for (&value, place) in region.outputs.iter().zip(&outputs).skip(states) {
                let Some(place) = place else { continue };
                let source = ctx.shared.view(value)?;
                slices::write_slice(ctx, &source, place, &[here.clone(), (1, Dim::symbol(round))]);
            }
            advance(ctx, &carried)
        })?;
        ctx.step(Action::Loop { counter: round, count, condition: Dim::ONE, body: rounds });
        for (state, place) in carried.iter().zip(&outputs) {
            if let Some(place) = place {
                slices::write_slice(ctx, &state.place, place, std::slice::from_ref(&here));
            }
        }
        Ok(())
    })?;
    ctx.step(Action::Loop { counter: item, count: batch, condition: Dim::ONE, body: items });
    Ok(())
}
