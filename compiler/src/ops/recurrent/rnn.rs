//! RNN: `H = f(X W + H R + b)`.

use super::cell::Cell;
use super::recurrence::Recurrence;
pub use super::recurrence::infer;
use crate::ops::{Lower, Result};

/// For each step one contraction, and one kernel over the state.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let recurrence = Recurrence::new(ctx, 1, &["Tanh"])?;
    let state = recurrence.state(ctx, 5)?;
    let next = recurrence.scratch(ctx);
    let all = recurrence.all_states(ctx)?;
    recurrence.repeat(ctx, |ctx| {
        let product = recurrence.product(ctx, &state, 0, 1);
        let mut cell = Cell::new(ctx, &recurrence);
        let (input, own) = (cell.projected(0), cell.load(&product, 0));
        let sum = cell.nest.add(input, own);
        let sum = cell.biased(sum, 0);
        let sum = cell.biased(sum, 1);
        let value = cell.activate(0, sum);
        let old = cell.load(&state, 0);
        cell.store_state(&next, value, old);
        if let Some(all) = &all {
            cell.store_step(all, value);
        }
        cell.finish(ctx, &[(&next, &state)])
    })?;
    recurrence.finish(ctx, &state, 1)
}
