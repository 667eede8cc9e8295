//! CausalConvWithState: a depthwise convolution over a sequence that goes on from an earlier one.

use super::window::load_guarded;
use super::{check_equal, check_shape};
use crate::graph::{Dim, Node};
use crate::loops::{CompareOp, ExprId, KernelBuilder, ParameterId, ReduceOp, Scalar, UnaryOp, View};
use crate::ops::{Infer, Lower, Nest, OperatorError, Result};

/// The length of the state: what a window reaches back.
fn state_length(input: &[Dim], weights: &[Dim]) -> Result<Dim> {
    if input.len() == 3 && weights.len() == 3 {
        return Ok(&weights[2] - 1);
    }
    Err(OperatorError::new(format!(
        "input and weights have the ranks {} and {}, expected 3",
        input.len(),
        weights.len()
    )))
}

/// Like the input; the state has one position less than the kernel.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, input, weights) = (ctx.element(0)?, ctx.shape(0)?, ctx.shape(1)?);
    let length = state_length(&input, &weights)?;
    ctx.set(1, element, vec![input[0].clone(), input[1].clone(), length]);
    ctx.set(0, element, input);
    Ok(())
}

/// The state, zeros where there is none, followed by the input.
struct Sequence {
    length: Dim,
    input: (ParameterId, View),
    state: Option<ParameterId>,
}

impl Sequence {
    fn new(nest: &mut Nest, input: &View, state: Option<&View>, length: &Dim) -> Self {
        let state = state.map(|state| nest.read(state));
        Self { length: length.clone(), input: (nest.read(input), input.clone()), state }
    }

    /// The element at a position of a channel.
    fn load(&self, nest: &mut KernelBuilder, channel: &[ExprId], position: ExprId) -> ExprId {
        let (zero, start) = (nest.index(0), nest.dim(&self.length));
        let own = nest.sub(position, start);
        let is_own = nest.compare(CompareOp::Ge, own, zero);
        let fill = Scalar::from_i64(self.input.1.element, 0);
        let value = load_guarded(nest, self.input.0, &[channel, &[own]].concat(), Some(is_own), fill);
        let Some(state) = self.state else { return value };
        let is_earlier = nest.compare(CompareOp::Lt, own, zero);
        let earlier = load_guarded(nest, state, &[channel, &[position]].concat(), Some(is_earlier), fill);
        nest.select(is_own, value, earlier)
    }
}

/// Whether the result is multiplied by its sigmoid.
fn is_gated(node: &Node) -> Result<bool> {
    match node.text_or("activation", "none")? {
        "none" => Ok(false),
        "silu" | "swish" => Ok(true),
        other => Err(OperatorError::new(format!("`activation` is `{other}`, expected none, silu or swish"))),
    }
}

/// One contraction over the taps, and a copy of the sequence's end.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (input, weights) = (ctx.input(0)?, ctx.input(1)?);
    let (bias, state) = (ctx.optional_input(2)?, ctx.optional_input(3)?);
    let length = state_length(&input.shape, &weights.shape)?;
    check_equal(ctx, &weights.shape[0], &input.shape[1], "the weights do not have the channels of the input")?;
    if let Some(state) = &state {
        let expected = [input.shape[0].clone(), input.shape[1].clone(), length.clone()];
        check_shape(ctx, "the state", state, &expected)?;
    }
    if let Some(bias) = &bias {
        check_shape(ctx, "the bias", bias, &input.shape[1..2])?;
    }
    check_equal(ctx, &weights.shape[1], &Dim::ONE, "the weights do not have one input channel each")?;
    let gated = is_gated(ctx.node)?;
    if ctx.wants_output(0) {
        let output = ctx.output(0)?;
        let mut nest = ctx.nest();
        let sequence = Sequence::new(&mut nest, &input, state.as_ref(), &length);
        let w = nest.read(&weights);
        let axes = nest.outer_axes(&output.shape);
        let mut value = nest.reduce(ReduceOp::Sum, &weights.shape[2..], |nest, tap| {
            let position = nest.add(axes[2], tap[0]);
            let value = sequence.load(nest, &axes[..2], position);
            let zero = nest.index(0);
            let weight = nest.load(w, &[axes[1], zero, tap[0]]);
            nest.mul(value, weight)
        });
        if let Some(bias) = bias {
            let bias = nest.read(&bias);
            let bias = nest.load(bias, &axes[1..2]);
            value = nest.add(value, bias);
        }
        if gated {
            let gate = nest.unary(UnaryOp::Sigmoid, value);
            value = nest.mul(value, gate);
        }
        let y = nest.write(&output);
        nest.store(y, &axes, value);
        ctx.launch(nest);
    }
    if ctx.wants_output(1) {
        let output = ctx.output(1)?;
        let mut nest = ctx.nest();
        let sequence = Sequence::new(&mut nest, &input, state.as_ref(), &length);
        let axes = nest.outer_axes(&output.shape);
        let start = nest.dim(&input.shape[2]);
        let position = nest.add(start, axes[2]);
        let value = sequence.load(&mut nest, &axes[..2], position);
        let y = nest.write(&output);
        nest.store(y, &axes, value);
        ctx.launch(nest);
    }
    Ok(())
}
