//! LSTM: an input gate, an output gate, a forget gate and a cell gate, in that order.

use super::cell::Cell;
use super::recurrence::Recurrence;
pub use super::recurrence::infer;
use crate::graph::{CompareOperator, Dim};
use crate::loops::{ExprId, View};
use crate::ops::{Lower, OperatorError, Result};

const INPUT: i64 = 0;
const OUTPUT: i64 = 1;
const FORGET: i64 = 2;
const CELL: i64 = 3;
const GATES: i64 = 4;

/// For each step one contraction, and one kernel over the states.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let recurrence = Recurrence::new(ctx, GATES, &["Sigmoid", "Tanh", "Tanh"])?;
    let couples = ctx.node.flag_or("input_forget", false)?;
    let peepholes = peepholes(ctx, &recurrence)?;
    let (state, memory) = (recurrence.state(ctx, 5)?, recurrence.state(ctx, 6)?);
    let (next, next_memory) = (recurrence.scratch(ctx), recurrence.scratch(ctx));
    let all = recurrence.all_states(ctx)?;
    recurrence.repeat(ctx, |ctx| {
        let gates = recurrence.product(ctx, &state, INPUT, GATES);
        let mut cell = Cell::new(ctx, &recurrence);
        let (old, old_memory) = (cell.load(&state, 0), cell.load(&memory, 0));
        // Peephole weights are in the order input, output, forget, which is that of the gates.
        let gate = |cell: &mut Cell<'_>, gate: i64, memory: Option<ExprId>| {
            let (input, own) = (cell.projected(gate), cell.load(&gates, gate));
            let sum = cell.nest.add(input, own);
            let sum = cell.biased(sum, gate);
            let sum = cell.biased(sum, GATES + gate);
            match (&peepholes, memory) {
                (Some(peepholes), Some(memory)) => {
                    let weight = cell.peephole(peepholes, gate);
                    let product = cell.nest.mul(weight, memory);
                    cell.nest.add(sum, product)
                }
                _ => sum,
            }
        };
        let input = gate(&mut cell, INPUT, Some(old_memory));
        let input = cell.activate(0, input);
        let forget = if couples {
            let one = cell.one();
            cell.nest.sub(one, input)
        } else {
            let forget = gate(&mut cell, FORGET, Some(old_memory));
            cell.activate(0, forget)
        };
        let candidate = gate(&mut cell, CELL, None);
        let candidate = cell.activate(1, candidate);
        let (kept, added) = (cell.nest.mul(forget, old_memory), cell.nest.mul(input, candidate));
        let new_memory = cell.nest.add(kept, added);
        let output = gate(&mut cell, OUTPUT, Some(new_memory));
        let output = cell.activate(0, output);
        let shown = cell.activate(2, new_memory);
        let value = cell.nest.mul(output, shown);
        cell.store_state(&next, value, old);
        cell.store_state(&next_memory, new_memory, old_memory);
        if let Some(all) = &all {
            cell.store_step(all, value);
        }
        cell.finish(ctx, &[(&next, &state), (&next_memory, &memory)])
    })?;
    recurrence.finish(ctx, &state, 1)?;
    recurrence.finish(ctx, &memory, 2)
}

/// The peephole weights, `[directions, 3 * hidden]`.
fn peepholes(ctx: &mut Lower<'_, '_>, recurrence: &Recurrence) -> Result<Option<View>> {
    let Some(view) = ctx.optional_input(7)? else { return Ok(None) };
    let [directions, rows] = view.shape.as_slice() else {
        return Err(OperatorError::new("the peephole weights are not of rank 2"));
    };
    let wanted = Dim::constant(recurrence.directions.len() as i64);
    for (a, b) in [(directions, &wanted), (rows, &(&recurrence.hidden * 3))] {
        let fits = a.compare(CompareOperator::Equal, b);
        ctx.check(fits, "the peephole weights do not fit the directions and the state size")?;
    }
    Ok(Some(view))
}
