//! What the recurrent operators share: shapes, the input's part of the gates, states, and the loop over steps.

use super::activations::{Activation, activations};
use crate::graph::{CompareOperator, Dim, ElementType, Node, SymbolId};
use crate::loops::{Action, ReduceOp, View};
use crate::ops::{Infer, Lower, OperatorError, Result};

/// The directions that the node runs in: whether each is from the last step to the first.
fn directions(node: &Node) -> Result<&'static [bool]> {
    match node.text_or("direction", "forward")? {
        "forward" => Ok(&[false]),
        "reverse" => Ok(&[true]),
        "bidirectional" => Ok(&[false, true]),
        other => Err(OperatorError::new(format!(
            "`direction` is `{other}`, expected `forward`, `reverse` or `bidirectional`"
        ))),
    }
}

fn ranked<const N: usize>(shape: &[Dim], what: &str) -> Result<[Dim; N]> {
    let rank = shape.len();
    shape.to_vec().try_into().map_err(|_| OperatorError::new(format!("{what} is of rank {rank}, expected {N}")))
}

/// The types of the outputs: all states of H, the last one, and for LSTM the last of C.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let element = ctx.element(0)?;
    if !element.is_float() {
        return Err(OperatorError::new(format!("the input is of type {element}, expected a float type")));
    }
    let [first, second, _] = ranked(&ctx.shape(0)?, "the input")?;
    let [_, _, hidden] = ranked(&ctx.shape(2)?, "the recurrence weights")?;
    let count = Dim::constant(directions(ctx.node)?.len() as i64);
    let is_batch_first = ctx.node.flag_or("layout", false)?;
    let (all, last) = if is_batch_first {
        (vec![first.clone(), second, count.clone(), hidden.clone()], vec![first, count, hidden])
    } else {
        (vec![first, count.clone(), second.clone(), hidden.clone()], vec![count, second, hidden])
    };
    ctx.set(0, element, all);
    ctx.set(1, element, last.clone());
    ctx.set(2, element, last);
    Ok(())
}

/// The parts of a recurrent node.
pub struct Recurrence {
    /// Element type.
    pub element: ElementType,
    /// Whether each direction is reversed.
    pub directions: &'static [bool],
    /// Whether the batch comes before the steps, and before the directions.
    pub is_batch_first: bool,
    /// Number of steps.
    pub length: Dim,
    /// Size of the batch.
    pub batch: Dim,
    /// Size of the state.
    pub hidden: Dim,
    /// The biases of input and recurrence, `[directions, 2 * gates * hidden]`.
    pub bias: Option<View>,
    /// Steps of each member of the batch, `[batch]` in `i64`.
    pub lengths: Option<View>,
    /// The input's part of the gates, under the input's order of batch and steps.
    pub projected: View,
    /// How many functions one direction has.
    pub per_direction: usize,
    /// The functions of all directions.
    pub activations: Vec<Activation>,
    /// Bound of what activations are applied to.
    pub clip: Option<f32>,
    /// The current step.
    pub counter: SymbolId,
    recurrent: View,
}

impl Recurrence {
    /// Reads the node, and computes the input's part of `gates` gates.
    pub fn new(ctx: &mut Lower<'_, '_>, gates: i64, functions: &[&str]) -> Result<Self> {
        let (input, weights, recurrent) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        let (bias, lengths) = (ctx.optional_input(3)?, ctx.optional_input(4)?);
        let directions = directions(ctx.node)?;
        let is_batch_first = ctx.node.flag_or("layout", false)?;
        let [first, second, size] = ranked(&input.shape, "the input")?;
        let [weight_directions, weight_rows, weight_size] = ranked(&weights.shape, "the weights")?;
        let [recurrent_directions, recurrent_rows, hidden] = ranked(&recurrent.shape, "the recurrence weights")?;
        let count = Dim::constant(directions.len() as i64);
        let rows = &hidden * gates;
        let mut equal = vec![
            (weight_directions, count.clone()),
            (recurrent_directions, count.clone()),
            (weight_rows, rows.clone()),
            (recurrent_rows, rows.clone()),
            (weight_size, size.clone()),
        ];
        if let Some(bias) = &bias {
            let [bias_directions, bias_size] = ranked(&bias.shape, "the bias")?;
            equal.extend([(bias_directions, count.clone()), (bias_size, &rows * 2)]);
        }
        let (length, batch) =
            if is_batch_first { (second.clone(), first.clone()) } else { (first.clone(), second.clone()) };
        if let Some(lengths) = &lengths {
            let [members] = ranked(&lengths.shape, "the sequence lengths")?;
            equal.push((members, batch.clone()));
        }
        for (a, b) in equal {
            let fits = a.compare(CompareOperator::Equal, &b);
            ctx.check(fits, "weights, bias and sequence lengths do not fit the input, the directions and each other")?;
        }
        let lengths = lengths.map(|lengths| checked_lengths(ctx, &lengths, &length));
        let points = Dim::product([&first, &second]);
        let projected = project(ctx, &input, &weights, &points, &size, &count, &rows);
        let projected = View { shape: vec![count.clone(), first, second, rows.clone()], ..projected };
        let recurrent = transposed(ctx, &recurrent, &count, &hidden, &rows);
        Ok(Self {
            element: input.element,
            directions,
            is_batch_first,
            length,
            batch,
            hidden,
            bias,
            lengths,
            projected,
            per_direction: functions.len(),
            activations: activations(ctx.node, functions, directions.len())?,
            clip: ctx.node.float("clip")?.filter(|&clip| clip > 0.0),
            counter: ctx.shared.program.symbols.fresh("step"),
            recurrent,
        })
    }

    /// The shape of a state: directions, batch, `rows`.
    fn state_shape(&self, rows: Dim) -> Vec<Dim> {
        vec![Dim::constant(self.directions.len() as i64), self.batch.clone(), rows]
    }

    /// Memory for one value for each element of the state.
    pub fn scratch(&self, ctx: &mut Lower<'_, '_>) -> View {
        ctx.temporary(self.element, &self.state_shape(self.hidden.clone()))
    }

    /// A state that starts with the contents of input `index`, or zeros.
    pub fn state(&self, ctx: &mut Lower<'_, '_>, index: usize) -> Result<View> {
        let initial = ctx.optional_input(index)?;
        let state = self.scratch(ctx);
        let mut nest = ctx.nest();
        let source = match initial {
            Some(view) => {
                let shape = self.outer_order(state.shape.clone());
                if view.shape.len() != shape.len() {
                    return Err(OperatorError::new(format!("the initial state of input {index} is not of rank 3")));
                }
                for (a, b) in view.shape.iter().zip(&shape) {
                    let fits = a.compare(CompareOperator::Equal, b);
                    ctx.check(fits, "an initial state does not fit directions, batch and state size")?;
                }
                Some(nest.read(&view))
            }
            None => None,
        };
        let target = nest.write(&state);
        let axes = nest.outer_axes(&state.shape);
        let value = match source {
            Some(source) => nest.load(source, &self.outer_order(axes.clone())),
            None => nest.float(self.element, 0.0),
        };
        nest.store(target, &axes, value);
        ctx.launch(nest);
        Ok(state)
    }

    /// Directions, batch and rows in the order of the node's inputs and outputs.
    fn outer_order<T>(&self, mut items: Vec<T>) -> Vec<T> {
        if self.is_batch_first {
            items.swap(0, 1);
        }
        items
    }

    /// Copies a state to an output, if anybody wants it.
    pub fn finish(&self, ctx: &mut Lower<'_, '_>, state: &View, output: usize) -> Result<()> {
        if !ctx.wants_output(output) {
            return Ok(());
        }
        let output = ctx.output(output)?;
        let mut nest = ctx.nest();
        let (source, target) = (nest.read(state), nest.write(&output));
        let axes = nest.outer_axes(&output.shape);
        let value = nest.load(source, &self.outer_order(axes.clone()));
        nest.store(target, &axes, value);
        ctx.launch(nest);
        Ok(())
    }

    /// Memory of all states as output 0, if anybody wants them. It is filled at once, so that it lives through the loop.
    pub fn all_states(&self, ctx: &mut Lower<'_, '_>) -> Result<Option<View>> {
        if !ctx.wants_output(0) {
            return Ok(None);
        }
        let output = ctx.output(0)?;
        let mut nest = ctx.nest();
        let target = nest.write(&output);
        let axes = nest.outer_axes(&output.shape);
        let zero = nest.float(self.element, 0.0);
        nest.store(target, &axes, zero);
        ctx.launch(nest);
        Ok(Some(output))
    }

    /// The state times the recurrence weights of `count` gates from `first` on: `[directions, batch, count * hidden]`.
    pub fn product(&self, ctx: &mut Lower<'_, '_>, state: &View, first: i64, count: i64) -> View {
        let target = ctx.temporary(self.element, &self.state_shape(&self.hidden * count));
        let mut nest = ctx.nest();
        let (left, right, output) = (nest.read(state), nest.read(&self.recurrent), nest.write(&target));
        let axes = nest.outer_axes(&target.shape);
        let offset = nest.dim(&(&self.hidden * first));
        let column = nest.add(axes[2], offset);
        let value = nest.reduce(ReduceOp::Sum, std::slice::from_ref(&self.hidden), |nest, k| {
            let state = nest.load(left, &[axes[0], axes[1], k[0]]);
            let weight = nest.load(right, &[axes[0], k[0], column]);
            nest.mul(state, weight)
        });
        nest.store(output, &axes, value);
        ctx.launch(nest);
        target
    }

    /// Runs what `body` adds once for each step.
    pub fn repeat(&self, ctx: &mut Lower<'_, '_>, body: impl FnOnce(&mut Lower<'_, '_>) -> Result<()>) -> Result<()> {
        let mut steps = Vec::new();
        body(&mut Lower { shared: &mut *ctx.shared, node: ctx.node, steps: &mut steps, label: ctx.label })?;
        ctx.step(Action::Loop { counter: self.counter, count: self.length.clone(), condition: Dim::ONE, body: steps });
        Ok(())
    }
}

/// The lengths as `i64`, each checked to be at most the number of steps.
fn checked_lengths(ctx: &mut Lower<'_, '_>, lengths: &View, length: &Dim) -> View {
    let target = ctx.temporary(ElementType::I64, &lengths.shape);
    let mut nest = ctx.nest();
    let (source, output) = (nest.read(lengths), nest.write(&target));
    let axes = nest.outer_axes(&lengths.shape);
    let value = nest.load(source, &axes);
    let value = nest.cast(ElementType::I64, value);
    let value = nest.checked(value, &(length + 1));
    nest.store(output, &axes, value);
    ctx.launch(nest);
    target
}

/// The input of every step and member of the batch times the weights: `[directions, points, rows]`.
fn project(
    ctx: &mut Lower<'_, '_>,
    input: &View,
    weights: &View,
    points: &Dim,
    size: &Dim,
    directions: &Dim,
    rows: &Dim,
) -> View {
    let target = ctx.temporary(input.element, &[directions.clone(), points.clone(), rows.clone()]);
    let mut nest = ctx.nest();
    let left = nest.read(&View { shape: vec![points.clone(), size.clone()], ..input.clone() });
    let (right, output) = (nest.read(weights), nest.write(&target));
    let axes = nest.outer_axes(&target.shape);
    let value = nest.reduce(ReduceOp::Sum, std::slice::from_ref(size), |nest, k| {
        let input = nest.load(left, &[axes[1], k[0]]);
        let weight = nest.load(right, &[axes[0], axes[2], k[0]]);
        nest.mul(input, weight)
    });
    nest.store(output, &axes, value);
    ctx.launch(nest);
    target
}

/// The recurrence weights as `[directions, hidden, rows]`. It is done once, before the loop, or at compile time.
fn transposed(ctx: &mut Lower<'_, '_>, weights: &View, directions: &Dim, hidden: &Dim, rows: &Dim) -> View {
    let target = ctx.temporary(weights.element, &[directions.clone(), hidden.clone(), rows.clone()]);
    let mut nest = ctx.nest();
    let (source, output) = (nest.read(weights), nest.write(&target));
    let axes = nest.outer_axes(&target.shape);
    let value = nest.load(source, &[axes[0], axes[2], axes[1]]);
    nest.store(output, &axes, value);
    ctx.launch(nest);
    target
}
