//! Scan from operator set 9 on: a loop over slices of sequences.

use super::append::Growing;
use super::carried::{Carried, State, advance, infer_body};
use super::{check_ports, region, slices, tensor_of, with_region};
use crate::graph::{CompareOperator, Dim, Node, Type};
use crate::loops::{Action, View};
use crate::ops::{Infer, Lower, OperatorError, Result, normalize_axis};

/// How many inputs are sequences; the others before them are states.
fn sequences(node: &Node) -> Result<usize> {
    let count = node.required_int("num_scan_inputs")?;
    usize::try_from(count).ok().filter(|count| (1..=node.inputs.len()).contains(count)).ok_or_else(|| {
        OperatorError::new(format!("num_scan_inputs is {count}, which does not fit {} inputs", node.inputs.len()))
    })
}

/// Entry `index` of an INTS attribute that may be left out.
fn entry(node: &Node, attribute: &str, index: usize) -> Result<i64> {
    let missing = || OperatorError::new(format!("attribute `{attribute}` has too few entries"));
    node.ints(attribute)?.map_or(Ok(0), |entries| entries.get(index).copied().ok_or_else(missing))
}

/// The axis of each sequence, and its length.
fn lengths(node: &Node, shapes: &[Vec<Dim>]) -> Result<Vec<(usize, Dim)>> {
    let one = |(index, shape): (usize, &Vec<Dim>)| {
        let axis = normalize_axis(entry(node, "scan_input_axes", index)?, shape.len())?;
        Ok((axis, shape[axis].clone()))
    };
    shapes.iter().enumerate().map(one).collect()
}

/// States keep the body's types; scan outputs get an axis of the length of the sequences.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let count = sequences(ctx.node)?;
    let states = ctx.node.inputs.len() - count;
    let shapes = (0..count).map(|index| ctx.shape(states + index)).collect::<Result<Vec<_>>>()?;
    let elements = (0..count).map(|index| ctx.element(states + index)).collect::<Result<Vec<_>>>()?;
    let lengths = lengths(ctx.node, &shapes)?;
    let mut carried = Vec::new();
    for state in 0..states {
        carried.push(Carried { input: state, output: state, initial: (ctx.element(state)?, ctx.shape(state)?) });
    }
    with_region(ctx, "body", |ctx, region| {
        check_ports(region, states + count, ctx.node.outputs.len())?;
        if ctx.node.outputs.len() < states {
            return Err(OperatorError::new("there are more states than outputs"));
        }
        let known_before = ctx.model.symbols.len();
        infer_body(ctx, region, &carried, &mut |ctx, region| {
            for (index, (shape, element)) in shapes.iter().zip(&elements).enumerate() {
                let mut slice = shape.clone();
                slice.remove(lengths[index].0);
                ctx.model.value_mut(region.inputs[states + index]).ty = Type::tensor(*element, slice);
            }
        })?;
        for state in 0..states {
            let ty = ctx.model.value(region.inputs[state]).ty.clone();
            ctx.set_type(state, ty);
        }
        for output in states..ctx.node.outputs.len() {
            let (ty, mut shape) = tensor_of(ctx.model, region.outputs[output])?;
            let axis = normalize_axis(entry(ctx.node, "scan_output_axes", output - states)?, shape.len() + 1)?;
            for dim in &mut shape {
                if dim.is_unknown() || dim.symbols().iter().any(|symbol| symbol.index() >= known_before) {
                    *dim = ctx.fresh("stacked");
                }
            }
            shape.insert(axis, lengths[0].1.clone());
            ctx.set(output, ty.element, shape);
        }
        Ok(())
    })
}

/// Where a scan output goes.
enum Stacked {
    /// To its place on an axis, from the front or from the back.
    Placed(View, usize, bool),
    /// To the end of a list.
    Grown(Growing),
}

/// A loop of the program: slices of the sequences, the body's steps, and the scan outputs.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (node, region) = (ctx.node, region(ctx.node, "body")?);
    let count = sequences(node)?;
    let states = node.inputs.len() - count;
    let inputs = (0..count).map(|index| ctx.input(states + index)).collect::<Result<Vec<_>>>()?;
    let lengths = lengths(node, &inputs.iter().map(|view| view.shape.clone()).collect::<Vec<_>>())?;
    let length = lengths[0].1.clone();
    for (_, other) in &lengths {
        let same = other.compare(CompareOperator::Equal, &length);
        ctx.check(same, "the sequences to scan have different lengths")?;
    }
    let round = ctx.fresh_symbol("round");
    let position = |backward: bool| if backward { &length - 1 - Dim::symbol(round) } else { Dim::symbol(round) };
    let mut carried = Vec::new();
    for state in 0..states {
        let initial = ctx.input(state)?;
        let place = match ctx.wants_output(state) {
            true => ctx.output(state)?,
            false => {
                let (ty, shape) = tensor_of(ctx.shared.model, region.inputs[state])?;
                ctx.temporary(ty.element, &shape)
            }
        };
        carried.push(State::start(ctx, place, &initial, region.inputs[state], region.outputs[state])?);
    }
    let mut stacked = Vec::new();
    for output in states..node.outputs.len() {
        if !ctx.wants_output(output) {
            continue;
        }
        let (value, (_, stack)) = (region.outputs[output], ctx.output_type(output)?);
        let axis = normalize_axis(entry(node, "scan_output_axes", output - states)?, stack.len())?;
        let backward = entry(node, "scan_output_directions", output - states)? != 0;
        let mut slice = stack;
        slice.remove(axis);
        let place = if slice == tensor_of(ctx.shared.model, value)?.1 {
            let place = ctx.output(output)?;
            slices::begin(ctx, &place)?;
            Stacked::Placed(place, axis, backward)
        } else if axis == 0 && !backward {
            Stacked::Grown(Growing::start(ctx, value, output)?)
        } else {
            let message =
                format!("the shape of output {output} is decided by the rounds, which stack it on an inner axis");
            return Err(OperatorError::unsupported(message + " or backward; this is not supported"));
        };
        stacked.push((output, value, place));
    }
    let body = ctx.block(|ctx| {
        for (index, input) in inputs.iter().enumerate() {
            let id = region.inputs[states + index];
            let (ty, shape) = tensor_of(ctx.shared.model, id)?;
            let slice = ctx.temporary(ty.element, &shape);
            let backward = entry(node, "scan_input_directions", index)? != 0;
            slices::read_slice(ctx, input, &slice, &[(lengths[index].0, position(backward))]);
            ctx.shared.views.insert(id, slice);
        }
        let steps = ctx.region(region)?;
        ctx.steps.extend(steps);
        for (_, value, place) in &stacked {
            match place {
                Stacked::Placed(place, axis, backward) => {
                    let source = ctx.shared.view(*value)?;
                    slices::write_slice(ctx, &source, place, &[(*axis, position(*backward))]);
                }
                Stacked::Grown(list) => list.append(ctx, *value)?,
            }
        }
        advance(ctx, &carried)
    })?;
    ctx.step(Action::Loop { counter: round, count: length.clone(), condition: Dim::ONE, body });
    for (output, _, place) in &stacked {
        if let Stacked::Grown(list) = place {
            list.finish(ctx, *output)?;
        }
    }
    Ok(())
}
