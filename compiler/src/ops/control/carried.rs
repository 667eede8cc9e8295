//! Values that a loop carries from round to round, and the inference of loop bodies.

use super::tensor_of;
use crate::graph::{Dim, Model, Region, SymbolId, Type, ValueId};
use crate::loops::{Action, View};
use crate::ops::{Infer, Lower, OperatorError, Result};

/// Loops within one another; each level may be inferred a few times for every time that the level around it is.
const MAX_DEPTH: usize = 6;

/// A carried value of a body: its place among the body's inputs and outputs, and the shape before the first round.
#[derive(Debug)]
pub struct Carried {
    /// Position among the body's inputs.
    pub input: usize,
    /// Position among the body's outputs.
    pub output: usize,
    /// Type before the first round.
    pub initial: (crate::graph::ElementType, Vec<Dim>),
}

/// Infers a body. Dimensions of carried values that a round may change become symbols: the body is inferred with the
/// shapes of the first round, and again until every dimension stays as it is or is a symbol. `prepare` states what is
/// known of the other inputs.
///
/// The types of carried values are then those of the body's inputs.
pub fn infer_body(
    ctx: &mut Infer<'_>,
    region: &mut Region,
    carried: &[Carried],
    prepare: &mut dyn FnMut(&mut Infer<'_>, &Region),
) -> Result<()> {
    if depth(region) > MAX_DEPTH {
        return Err(OperatorError::unsupported(format!(
            "loops within one another more than {MAX_DEPTH} deep are not supported"
        )));
    }
    let mut shapes: Vec<Vec<Dim>> = carried.iter().map(|carried| carried.initial.1.clone()).collect();
    for pass in 0.. {
        forget(ctx.model, region);
        for (carried, shape) in carried.iter().zip(&shapes) {
            let id = region.inputs[carried.input];
            ctx.model.value_mut(id).ty = Type::tensor(carried.initial.0, shape.clone());
        }
        prepare(ctx, region);
        ctx.infer_region(region)?;
        let mut has_changed = false;
        for (carried, shape) in carried.iter().zip(&mut shapes) {
            let id = region.outputs[carried.output];
            let (ty, result) = tensor_of(ctx.model, id)?;
            let name = &ctx.model.value(id).name;
            if ty.element != carried.initial.0 {
                let (before, after) = (carried.initial.0, ty.element);
                return Err(OperatorError::new(format!(
                    "carried value `{name}` is {before} at first and {after} then"
                )));
            }
            if result.len() != shape.len() {
                let (before, after) = (shape.len(), result.len());
                return Err(OperatorError::new(format!(
                    "carried value `{name}` has the rank {before} at first and {after} then"
                )));
            }
            for (axis, dim) in result.iter().enumerate() {
                let is_open = shape[axis] != carried.initial.1[axis];
                if !is_open && *dim != shape[axis] {
                    shape[axis] = ctx.fresh("carried");
                    has_changed = true;
                }
            }
        }
        if !has_changed {
            break;
        }
        if pass >= 2 {
            // Dimensions that change one after another are not followed further: all are left open.
            for (carried, shape) in carried.iter().zip(&mut shapes) {
                for (dim, first) in shape.iter_mut().zip(&carried.initial.1) {
                    if dim == first {
                        *dim = ctx.fresh("carried");
                    }
                }
            }
        }
    }
    Ok(())
}

fn depth(region: &Region) -> usize {
    let nested = region.nodes.iter().flat_map(|node| {
        let level = usize::from(matches!(node.operator.name.as_str(), "Loop" | "Scan"));
        node.regions().map(move |(_, region)| level + depth(region))
    });
    nested.max().unwrap_or(0)
}

/// Removes what an earlier inference found in a region.
fn forget(model: &mut Model, region: &Region) {
    for &id in &region.inputs {
        let value = model.value_mut(id);
        (value.known, value.constant) = (None, None);
        value.bound.clear();
    }
    for node in &region.nodes {
        for &id in node.outputs.iter().flatten() {
            let value = model.value_mut(id);
            (value.ty, value.known, value.constant) = (Type::Unknown, None, None);
            value.bound.clear();
        }
        node.regions().for_each(|(_, nested)| forget(model, nested));
    }
}

/// A carried value of a loop under construction.
#[derive(Debug)]
pub struct State {
    /// Its memory, under the shape of the body's input.
    pub place: View,
    /// The value that a round makes of it.
    pub result: ValueId,
}

impl State {
    /// Takes memory for the carried value `inside`, sets its open dimensions from `initial`, and copies the contents.
    pub fn start(
        ctx: &mut Lower<'_, '_>,
        place: View,
        initial: &View,
        inside: ValueId,
        result: ValueId,
    ) -> Result<Self> {
        for (dim, first) in place.shape.iter().zip(&initial.shape) {
            ctx.decide(dim, first.clone())?;
        }
        ctx.copy(initial, &place);
        ctx.shared.views.insert(inside, place.clone());
        Ok(Self { place, result })
    }
}

/// Makes the results of a round the carried values of the next.
pub fn advance(ctx: &mut Lower<'_, '_>, states: &[State]) -> Result<()> {
    // What is read from another carried value's memory must be read before that is written.
    let mut staged: Vec<(View, &State)> = Vec::new();
    let mut direct: Vec<(View, &State)> = Vec::new();
    let mut dims: Vec<(SymbolId, Dim)> = Vec::new();
    for state in states {
        let source = ctx.shared.view(state.result)?;
        let (_, shape) = tensor_of(ctx.shared.model, state.result)?;
        let mut next = Vec::with_capacity(shape.len());
        let mut is_open = false;
        for (dim, value) in state.place.shape.iter().zip(shape) {
            if *dim == value {
                next.push(value);
                continue;
            }
            let open = dim.as_symbol().ok_or_else(|| OperatorError::new("a carried dimension is decided twice"))?;
            let symbol = ctx.fresh_symbol("next");
            ctx.set_symbol(symbol, value);
            dims.push((open, Dim::symbol(symbol)));
            next.push(Dim::symbol(symbol));
            is_open = true;
        }
        if source.buffer == state.place.buffer {
            continue;
        }
        let is_state = states.iter().any(|other| other.place.buffer == source.buffer);
        // Memory whose size can change is replaced, other memory is written again.
        if is_open || is_state {
            let copy = ctx.temporary(state.place.element, &next);
            ctx.copy(&source, &copy);
            staged.push((copy, state));
        } else {
            direct.push((source, state));
        }
    }
    for (source, state) in &direct {
        ctx.copy(source, &state.place);
    }
    for (copy, state) in &staged {
        if copy.shape == state.place.shape {
            ctx.copy(copy, &state.place);
        } else {
            ctx.step(Action::Move { from: copy.buffer, to: state.place.buffer });
        }
    }
    for (symbol, value) in dims {
        ctx.set_symbol(symbol, value);
    }
    Ok(())
}
