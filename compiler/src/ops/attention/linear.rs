//! LinearAttention: a state of outer products of keys and values, read with queries.

use super::heads::{HeadShape, Heads};
use crate::graph::{CompareOperator, Dim, SymbolId};
use crate::loops::{Action, BinaryOp, ExprId, KernelBuilder, ReduceOp, UnaryOp, View};
use crate::ops::{Infer, Lower, Nest, OperatorError, Result};

/// The output has the query's heads with the size of the value's; the state is a matrix for each head of the key.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let element = ctx.element(0)?;
    if !element.is_float() {
        return Err(OperatorError::new(format!("the query is of type {element}, expected a float type")));
    }
    let query = HeadShape::new(ctx.node, &ctx.shape(0)?, "q_num_heads")?;
    let key = HeadShape::new(ctx.node, &ctx.shape(1)?, "kv_num_heads")?;
    let value = HeadShape::new(ctx.node, &ctx.shape(2)?, "kv_num_heads")?;
    let state_element = if ctx.has_input(3) { ctx.element(3)? } else { element };
    let state = vec![key.batch, key.heads, key.size, value.size.clone()];
    ctx.set(0, element, HeadShape { size: value.size, ..query }.dims());
    ctx.set(1, state_element, state);
    Ok(())
}

/// The parts of a node.
struct Recurrence {
    query: Heads,
    key: Heads,
    value: Heads,
    /// Logarithms of decays: for each head, or for each element of a key.
    decay: Option<Heads>,
    /// Rates of updates: for each head, or for all.
    rate: Option<Heads>,
    /// Whether an update replaces what the state gives for the key.
    corrects: bool,
    counter: SymbolId,
}

/// A loop over positions: what the state gives for the key, the new state, and what it gives for the query.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (decays, corrects) = match ctx.node.text_or("update_rule", "gated_delta")? {
        "linear" => (false, false),
        "gated" => (true, false),
        "delta" => (false, true),
        "gated_delta" => (true, true),
        other => {
            return Err(OperatorError::new(format!(
                "`update_rule` is `{other}`, expected `linear`, `gated`, `delta` or `gated_delta`"
            )));
        }
    };
    let (query, key, value) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
    let query = Heads::new(ctx, query, "q_num_heads")?;
    let key = Heads::new(ctx, key, "kv_num_heads")?;
    let value = Heads::new(ctx, value, "kv_num_heads")?;
    let decay = if decays { Some(ctx.input(4)?) } else { None };
    let decay = decay.map(|view| Heads::new(ctx, view, "kv_num_heads")).transpose()?;
    let rate = if corrects { Some(ctx.input(5)?) } else { None };
    let rate = rate.map(|view| rates(view, &key.shape)).transpose()?;
    check(ctx, &query, &key, &value, decay.as_ref(), rate.as_ref())?;
    let counter = ctx.shared.program.symbols.fresh("position");
    let recurrence = Recurrence { query, key, value, decay, rate, corrects, counter };

    let wide = recurrence.key.view.element.compute_type();
    let KeyShape { batch, heads, keys, values } = recurrence.shape();
    let shape = [batch.clone(), heads.clone(), keys, values.clone()];
    let (state, next) = (ctx.temporary(wide, &shape), ctx.temporary(wide, &shape));
    let given = ctx.temporary(wide, &[batch, heads, values]);
    start(ctx, &state)?;
    let output = if ctx.wants_output(0) { Some(output(ctx, &recurrence)?) } else { None };
    let mut body = Vec::new();
    let mut round = Lower { shared: &mut *ctx.shared, node: ctx.node, steps: &mut body, label: ctx.label };
    if recurrence.corrects {
        recurrence.recall(&mut round, &state, &given);
    }
    recurrence.update(&mut round, &state, &given, &next);
    round.copy(&next, &state);
    if let Some(output) = &output {
        recurrence.answer(&mut round, &state, output)?;
    }
    let count = recurrence.key.shape.length.clone();
    ctx.step(Action::Loop { counter, count, condition: Dim::ONE, body });
    if ctx.wants_output(1) {
        let last = ctx.output(1)?;
        let mut nest = ctx.nest();
        let (source, target) = (nest.read(&state), nest.write(&last));
        let axes = nest.outer_axes(&last.shape);
        let value = nest.load(source, &axes);
        nest.store(target, &axes, value);
        ctx.launch(nest);
    }
    Ok(())
}

/// Rates as heads of one element; a single one counts for all heads.
fn rates(view: View, key: &HeadShape) -> Result<Heads> {
    let [batch, length, heads] = view.shape.as_slice() else {
        return Err(OperatorError::new("`beta` is not of rank 3"));
    };
    let heads = if heads.as_const() == Some(1) { Dim::ONE } else { key.heads.clone() };
    let shape = HeadShape { batch: batch.clone(), heads, length: length.clone(), size: Dim::ONE, is_packed: true };
    Ok(Heads::within(view, shape))
}

fn check(
    ctx: &mut Lower<'_, '_>,
    query: &Heads,
    key: &Heads,
    value: &Heads,
    decay: Option<&Heads>,
    rate: Option<&Heads>,
) -> Result<()> {
    let mut equal =
        vec![(query.shape.size.clone(), key.shape.size.clone()), (value.shape.heads.clone(), key.shape.heads.clone())];
    for other in [Some(query), Some(value), decay, rate].into_iter().flatten() {
        equal.push((other.shape.batch.clone(), key.shape.batch.clone()));
        equal.push((other.shape.length.clone(), key.shape.length.clone()));
        if other.view.element.compute_type() != key.view.element.compute_type() {
            return Err(OperatorError::new("the inputs are of different types"));
        }
    }
    equal.push((query.shape.heads.modulo(&key.shape.heads), Dim::ZERO));
    for (a, b) in equal {
        ctx.check(a.compare(CompareOperator::Equal, &b), "the shapes of the inputs do not fit each other")?;
    }
    if let Some(decay) = decay {
        let size = &decay.shape.size;
        let fits = size.compare(CompareOperator::Equal, &key.shape.size);
        ctx.check(fits.max(&size.compare(CompareOperator::Equal, &Dim::ONE)), "`decay` does not fit the key")?;
    }
    Ok(())
}

/// The state before the first position.
fn start(ctx: &mut Lower<'_, '_>, state: &View) -> Result<()> {
    let past = ctx.optional_input(3)?;
    if let Some(past) = &past {
        if past.shape.len() != 4 || past.element.compute_type() != state.element {
            return Err(OperatorError::new("the past state is not of rank 4 and of the type of the key"));
        }
        for (a, b) in past.shape.iter().zip(&state.shape) {
            ctx.check(a.compare(CompareOperator::Equal, b), "the past state does not fit key and value")?;
        }
    }
    let mut nest = ctx.nest();
    let source = past.map(|past| nest.read(&past));
    let target = nest.write(state);
    let axes = nest.outer_axes(&state.shape);
    let value = match source {
        Some(source) => nest.load(source, &axes),
        None => nest.float(state.element, 0.0),
    };
    nest.store(target, &axes, value);
    ctx.launch(nest);
    Ok(())
}

/// Memory of the output, filled at once so that it lives through the loop.
fn output(ctx: &mut Lower<'_, '_>, recurrence: &Recurrence) -> Result<Heads> {
    let view = ctx.output(0)?;
    let mut nest = ctx.nest();
    let target = nest.write(&view);
    let axes = nest.outer_axes(&view.shape);
    let zero = nest.float(view.element, 0.0);
    nest.store(target, &axes, zero);
    ctx.launch(nest);
    let shape = HeadShape { size: recurrence.value.shape.size.clone(), ..recurrence.query.shape.clone() };
    Ok(Heads::within(view, shape))
}

struct KeyShape {
    batch: Dim,
    heads: Dim,
    keys: Dim,
    values: Dim,
}

impl Recurrence {
    fn shape(&self) -> KeyShape {
        KeyShape {
            batch: self.key.shape.batch.clone(),
            heads: self.key.shape.heads.clone(),
            keys: self.key.shape.size.clone(),
            values: self.value.shape.size.clone(),
        }
    }

    fn position(&self, nest: &mut KernelBuilder) -> ExprId {
        nest.dim(&Dim::symbol(self.counter))
    }

    /// The factor of the state's row for element `key` of the key.
    fn factor(
        &self,
        nest: &mut Nest,
    ) -> Option<impl Fn(&mut KernelBuilder, ExprId, ExprId, ExprId) -> ExprId + use<'_>> {
        let decay = self.decay.as_ref()?;
        let parameter = nest.read(&decay.view);
        Some(move |nest: &mut KernelBuilder, batch: ExprId, head: ExprId, key: ExprId| {
            let element = if decay.shape.size.as_const() == Some(1) { nest.index(0) } else { key };
            let position = self.position(nest);
            let logarithm = decay.load(nest, parameter, [batch, head, position, element]);
            nest.unary(UnaryOp::Exp, logarithm)
        })
    }

    /// What the decayed state gives for the key: `[batch, heads, values]`.
    fn recall(&self, ctx: &mut Lower<'_, '_>, state: &View, given: &View) {
        let mut nest = ctx.nest();
        let (source, keys, target) = (nest.read(state), nest.read(&self.key.view), nest.write(given));
        let factor = self.factor(&mut nest);
        let axes = nest.outer_axes(&given.shape);
        let position = self.position(&mut nest);
        let value = nest.reduce(ReduceOp::Sum, &state.shape[2..3], |nest, key| {
            let element = self.key.load(nest, keys, [axes[0], axes[1], position, key[0]]);
            let row = nest.load(source, &[axes[0], axes[1], key[0], axes[2]]);
            let row = match &factor {
                Some(factor) => {
                    let factor = factor(nest, axes[0], axes[1], key[0]);
                    nest.mul(factor, row)
                }
                None => row,
            };
            nest.mul(element, row)
        });
        nest.store(target, &axes, value);
        ctx.launch(nest);
    }

    /// The decayed state plus the outer product of key and value, or of what the value lacks.
    fn update(&self, ctx: &mut Lower<'_, '_>, state: &View, given: &View, next: &View) {
        let mut nest = ctx.nest();
        let source = nest.read(state);
        let (keys, values) = (nest.read(&self.key.view), nest.read(&self.value.view));
        let given = self.corrects.then(|| nest.read(given));
        let rate = self.rate.as_ref().map(|rate| (rate, nest.read(&rate.view)));
        let factor = self.factor(&mut nest);
        let target = nest.write(next);
        let axes = nest.outer_axes(&next.shape);
        let [batch, head, row, column] = [axes[0], axes[1], axes[2], axes[3]];
        let position = self.position(&mut nest);
        let mut old = nest.load(source, &axes);
        if let Some(factor) = &factor {
            let factor = factor(&mut nest, batch, head, row);
            old = nest.mul(factor, old);
        }
        let key = self.key.load(&mut nest, keys, [batch, head, position, row]);
        let mut value = self.value.load(&mut nest, values, [batch, head, position, column]);
        if let Some(given) = given {
            let given = nest.load(given, &[batch, head, column]);
            value = nest.sub(value, given);
        }
        if let Some((rate, parameter)) = rate {
            let zero = nest.index(0);
            let own = if rate.shape.heads.as_const() == Some(1) { zero } else { head };
            let rate = rate.load(&mut nest, parameter, [batch, own, position, zero]);
            value = nest.mul(rate, value);
        }
        let product = nest.mul(key, value);
        let sum = nest.add(old, product);
        nest.store(target, &axes, sum);
        ctx.launch(nest);
    }

    /// What the state gives for the query.
    fn answer(&self, ctx: &mut Lower<'_, '_>, state: &View, output: &Heads) -> Result<()> {
        let scale = ctx.node.float_or("scale", 0.0)?;
        let mut nest = ctx.nest();
        let (source, queries) = (nest.read(state), nest.read(&self.query.view));
        let target = nest.write(&output.view);
        let axes =
            nest.outer_axes(&[output.shape.batch.clone(), output.shape.heads.clone(), output.shape.size.clone()]);
        let position = self.position(&mut nest);
        let head = if self.query.shape.heads == self.key.shape.heads {
            axes[1]
        } else {
            let group = nest.dim(&self.query.shape.heads.floor_div(&self.key.shape.heads));
            nest.binary(BinaryOp::FloorDiv, axes[1], group)
        };
        let sum = nest.reduce(ReduceOp::Sum, &state.shape[2..3], |nest, key| {
            let query = self.query.load(nest, queries, [axes[0], axes[1], position, key[0]]);
            let row = nest.load(source, &[axes[0], head, key[0], axes[2]]);
            nest.mul(query, row)
        });
        let wide = nest.type_of(sum);
        let factor = if scale == 0.0 {
            let size = nest.dim(&self.query.shape.size);
            let size = nest.cast(wide, size);
            let root = nest.unary(UnaryOp::Sqrt, size);
            let one = nest.float(wide, 1.0);
            nest.div(one, root)
        } else {
            nest.float(wide, scale.into())
        };
        let value = nest.mul(sum, factor);
        nest.store(target, &output.index([axes[0], axes[1], position, axes[2]]), value);
        ctx.launch(nest);
        Ok(())
    }
}
