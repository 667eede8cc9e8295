//! GRU: an update gate, a reset gate and a hidden gate, in that order.

use super::cell::Cell;
use super::recurrence::Recurrence;
pub use super::recurrence::infer;
use crate::loops::{ExprId, View};
use crate::ops::{Lower, Result};

const UPDATE: i64 = 0;
const RESET: i64 = 1;
const HIDDEN: i64 = 2;
const GATES: i64 = 3;

/// For each step: the products of the state with the weights, and one kernel over the state. Without
/// `linear_before_reset` the reset state is a product's operand of its own.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let recurrence = Recurrence::new(ctx, GATES, &["Sigmoid", "Tanh"])?;
    let resets_after = ctx.node.flag_or("linear_before_reset", false)?;
    let state = recurrence.state(ctx, 5)?;
    let (next, reset) = (recurrence.scratch(ctx), recurrence.scratch(ctx));
    let all = recurrence.all_states(ctx)?;
    recurrence.repeat(ctx, |ctx| {
        let gates = recurrence.product(ctx, &state, UPDATE, if resets_after { GATES } else { 2 });
        let hidden = if resets_after { None } else { Some(reset_product(ctx, &recurrence, &gates, &state, &reset)) };
        let mut cell = Cell::new(ctx, &recurrence);
        let update = gate(&mut cell, &gates, UPDATE);
        let old = cell.load(&state, 0);
        let own = match &hidden {
            Some(product) => {
                let own = cell.load(product, 0);
                cell.biased(own, GATES + HIDDEN)
            }
            None => {
                let reset = gate(&mut cell, &gates, RESET);
                let own = cell.load(&gates, HIDDEN);
                let own = cell.biased(own, GATES + HIDDEN);
                cell.nest.mul(reset, own)
            }
        };
        let input = cell.projected(HIDDEN);
        let input = cell.biased(input, HIDDEN);
        let sum = cell.nest.add(input, own);
        let candidate = cell.activate(1, sum);
        let one = cell.one();
        let rest = cell.nest.sub(one, update);
        let (new_part, old_part) = (cell.nest.mul(rest, candidate), cell.nest.mul(update, old));
        let value = cell.nest.add(new_part, old_part);
        cell.store_state(&next, value, old);
        if let Some(all) = &all {
            cell.store_step(all, value);
        }
        cell.finish(ctx, &[(&next, &state)])
    })?;
    recurrence.finish(ctx, &state, 1)
}

/// An update or reset gate.
fn gate(cell: &mut Cell<'_>, gates: &View, gate: i64) -> ExprId {
    let (input, own) = (cell.projected(gate), cell.load(gates, gate));
    let sum = cell.nest.add(input, own);
    let sum = cell.biased(sum, gate);
    let sum = cell.biased(sum, GATES + gate);
    cell.activate(0, sum)
}

/// The product of the reset state with the hidden gate's weights.
fn reset_product(ctx: &mut Lower<'_, '_>, recurrence: &Recurrence, gates: &View, state: &View, reset: &View) -> View {
    let mut cell = Cell::new(ctx, recurrence);
    let factor = gate(&mut cell, gates, RESET);
    let old = cell.load(state, 0);
    let value = cell.nest.mul(factor, old);
    cell.store(reset, value);
    ctx.launch(cell.nest);
    recurrence.product(ctx, reset, HIDDEN, 1)
}
