//! CausalConvWithState: a depthwise convolution over a sequence and what came before it.

use crate::graph::{CompareOperator, Dim};
use crate::loops::{CompareOp, ExprId, KernelBuilder, ParameterId, ReduceOp, Scalar, UnaryOp, View};
use crate::ops::{Infer, Lower, OperatorError, Result};

fn ranks(input: &[Dim], weights: &[Dim]) -> Result<()> {
    if input.len() != 3 || weights.len() != 3 {
        return Err(OperatorError::new(format!(
            "input and weights have the ranks {} and {}, expected 3",
            input.len(),
            weights.len()
        )));
    }
    Ok(())
}

/// The input's type, and the positions that the next sequence needs.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, input, weights) = (ctx.element(0)?, ctx.shape(0)?, ctx.shape(1)?);
    ranks(&input, &weights)?;
    let state = vec![input[0].clone(), input[1].clone(), &weights[2] - 1];
    ctx.set(0, element, input);
    ctx.set(1, element, state);
    Ok(())
}

/// The sequence with the past before it.
struct Sequence {
    past: Option<ParameterId>,
    input: ParameterId,
    before: Dim,
    zero: Scalar,
}

impl Sequence {
    /// The element at a position that counts from the first of the past.
    fn load(&self, nest: &mut KernelBuilder, batch: ExprId, channel: ExprId, position: ExprId) -> ExprId {
        let before = nest.dim(&self.before);
        let (is_past, is_new) =
            (nest.compare(CompareOp::Lt, position, before), nest.compare(CompareOp::Ge, position, before));
        let offset = nest.sub(position, before);
        let new = nest.load_where(self.input, &[batch, channel, offset], is_new, self.zero);
        match self.past {
            Some(past) => {
                let old = nest.load_where(past, &[batch, channel, position], is_past, self.zero);
                nest.select(is_past, old, new)
            }
            None => new,
        }
    }
}

/// One kernel for the output, and one for the state.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (input, weights) = (ctx.input(0)?, ctx.input(1)?);
    let (bias, past) = (ctx.optional_input(2)?, ctx.optional_input(3)?);
    ranks(&input.shape, &weights.shape)?;
    let before = &weights.shape[2] - 1;
    let mut equal = vec![(weights.shape[0].clone(), input.shape[1].clone()), (weights.shape[1].clone(), Dim::ONE)];
    if let Some(past) = &past {
        ranks(&past.shape, &weights.shape)?;
        let wanted = [input.shape[0].clone(), input.shape[1].clone(), before.clone()];
        equal.extend(past.shape.iter().cloned().zip(wanted));
    }
    if let Some(bias) = &bias {
        if bias.shape.len() != 1 {
            return Err(OperatorError::new("the bias is not a vector"));
        }
        equal.push((bias.shape[0].clone(), input.shape[1].clone()));
    }
    for (a, b) in equal {
        ctx.check(a.compare(CompareOperator::Equal, &b), "weights, bias and past state do not fit the input")?;
    }
    let is_gated = match ctx.node.text_or("activation", "none")? {
        "none" => false,
        "silu" | "swish" => true,
        other => {
            return Err(OperatorError::new(format!("`activation` is `{other}`, expected `none`, `silu` or `swish`")));
        }
    };
    let sequence = |nest: &mut crate::ops::Nest, input: &View, past: &Option<View>| Sequence {
        input: nest.read(input),
        past: past.as_ref().map(|past| nest.read(past)),
        before: before.clone(),
        zero: Scalar::from_i64(input.element, 0),
    };
    if ctx.wants_output(0) {
        let output = ctx.output(0)?;
        let mut nest = ctx.nest();
        let sequence = sequence(&mut nest, &input, &past);
        let kernel = nest.read(&weights);
        let bias = bias.map(|bias| nest.read(&bias));
        let target = nest.write(&output);
        let axes = nest.outer_axes(&output.shape);
        let zero = nest.index(0);
        let mut value = nest.reduce(ReduceOp::Sum, &weights.shape[2..], |nest, tap| {
            let position = nest.add(axes[2], tap[0]);
            let element = sequence.load(nest, axes[0], axes[1], position);
            let weight = nest.load(kernel, &[axes[1], zero, tap[0]]);
            nest.mul(element, weight)
        });
        if let Some(bias) = bias {
            let bias = nest.load(bias, &axes[1..2]);
            value = nest.add(value, bias);
        }
        if is_gated {
            let gate = nest.unary(UnaryOp::Sigmoid, value);
            value = nest.mul(value, gate);
        }
        nest.store(target, &axes, value);
        ctx.launch(nest);
    }
    if ctx.wants_output(1) {
        let state = ctx.output(1)?;
        let mut nest = ctx.nest();
        let sequence = sequence(&mut nest, &input, &past);
        let target = nest.write(&state);
        let axes = nest.outer_axes(&state.shape);
        let length = nest.dim(&input.shape[2]);
        let position = nest.add(length, axes[2]);
        let value = sequence.load(&mut nest, axes[0], axes[1], position);
        nest.store(target, &axes, value);
        ctx.launch(nest);
    }
    Ok(())
}
