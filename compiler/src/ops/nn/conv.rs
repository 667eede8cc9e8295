//! Conv: one contraction over input channels and taps, with the bias in its epilogue.

use super::window::{Short, Window, load_guarded, outputs, spatial};
use super::{check_equal, check_shape};
use crate::graph::{CompareOperator, Dim, Node};
use crate::loops::{BinaryOp, ExprId, KernelBuilder, ParameterId, ReduceOp, Scalar};
use crate::ops::{Infer, Lower, OperatorError, Result};

/// The shape of a convolution of an input of shape `input` with weights of shape `weights`.
pub(super) fn output_shape(ctx: &mut Infer<'_>, input: &[Dim], weights: &[Dim]) -> Result<Vec<Dim>> {
    let window = Window::over(ctx.node, spatial(input)?, taps(ctx.node, input, weights)?, Short::Empty)?;
    let mut shape = vec![input[0].clone(), weights[0].clone()];
    shape.extend(outputs(ctx, window.output)?);
    Ok(shape)
}

/// The taps of the weights, checked against the attributes.
pub(super) fn taps(node: &Node, input: &[Dim], weights: &[Dim]) -> Result<Vec<Dim>> {
    if input.len() < 3 || weights.len() != input.len() {
        return Err(OperatorError::new(format!(
            "input and weights have the ranks {} and {}, expected equal ones of at least 3",
            input.len(),
            weights.len()
        )));
    }
    let taps = &weights[2..];
    let declared = node.ints("kernel_shape")?.unwrap_or_default();
    let differs = |(a, b): (&Dim, &i64)| a.as_const().is_some_and(|a| a != *b);
    if !declared.is_empty() && (declared.len() != taps.len() || taps.iter().zip(declared).any(differs)) {
        return Err(OperatorError::new(format!("`kernel_shape` is {declared:?}, which is not that of the weights")));
    }
    Ok(taps.to_vec())
}

/// The attribute `group`.
pub(super) fn group(node: &Node) -> Result<i64> {
    match node.int_or("group", 1)? {
        group if group > 0 => Ok(group),
        group => Err(OperatorError::new(format!("`group` is {group}, expected a positive number"))),
    }
}

/// The parts of a convolution's index arithmetic.
pub(super) struct Convolution {
    window: Window,
    group: i64,
    input: Vec<Dim>,
    weights: Vec<Dim>,
}

impl Convolution {
    /// The convolution of the node for an input and weights of these shapes; checks that they fit each other.
    pub fn new(ctx: &mut Lower<'_, '_>, input: &[Dim], weights: &[Dim], output: &[Dim]) -> Result<Self> {
        let taps = taps(ctx.node, input, weights)?;
        let window = Window::lowered(ctx, spatial(input)?, taps, Short::Empty, &output[2..])?;
        let group = group(ctx.node)?;
        let channels = &weights[1] * group;
        check_equal(ctx, &input[1], &channels, "the weights do not have the channels of the input")?;
        let rest = weights[0].modulo(&Dim::constant(group)).compare(CompareOperator::Equal, &Dim::ZERO);
        ctx.check(rest, "the output channels are not a multiple of `group`")?;
        Ok(Self { window, group, input: input.to_vec(), weights: weights.to_vec() })
    }

    /// What is summed over: channels of a group, and taps.
    pub fn reduced(&self) -> Vec<Dim> {
        self.weights[1..].to_vec()
    }

    /// How the windows lie over the input.
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// The input channel that a tap reads for an output position.
    pub fn channel(&self, nest: &mut KernelBuilder, output: &[ExprId], tap: &[ExprId]) -> ExprId {
        if self.group == 1 {
            return tap[0];
        }
        let per_group = nest.dim(&self.weights[0].floor_div(&Dim::constant(self.group)));
        let group = nest.binary(BinaryOp::FloorDiv, output[1], per_group);
        let channels = nest.dim(&self.weights[1]);
        let first = nest.mul(group, channels);
        nest.add(first, tap[0])
    }

    /// The input's element for an output position and a tap, `otherwise` in the padding.
    pub fn load_input(
        &self,
        nest: &mut KernelBuilder,
        input: ParameterId,
        output: &[ExprId],
        tap: &[ExprId],
        otherwise: Scalar,
    ) -> ExprId {
        let channel = self.channel(nest, output, tap);
        let (positions, guard) = self.window.positions(nest, &output[2..], &tap[1..], &self.input[2..]);
        let index = [&[output[0], channel], &positions[..]].concat();
        load_guarded(nest, input, &index, guard, otherwise)
    }

    /// The condition that a tap is inside of the input, where it may not be.
    pub fn inside(&self, nest: &mut KernelBuilder, output: &[ExprId], tap: &[ExprId]) -> Option<ExprId> {
        self.window.positions(nest, &output[2..], &tap[1..], &self.input[2..]).1
    }

    /// The weight for an output position and a tap.
    pub fn load_weight(
        &self,
        nest: &mut KernelBuilder,
        weights: ParameterId,
        output: &[ExprId],
        tap: &[ExprId],
    ) -> ExprId {
        nest.load(weights, &[&output[1..2], tap].concat())
    }
}

/// Batch of the input, channels of the weights, and the windows that fit.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, input, weights) = (ctx.element(0)?, ctx.shape(0)?, ctx.shape(1)?);
    let shape = output_shape(ctx, &input, &weights)?;
    ctx.set(0, element, shape);
    Ok(())
}

/// One contraction.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (input, weights, bias) = (ctx.input(0)?, ctx.input(1)?, ctx.optional_input(2)?);
    let (_, shape) = ctx.output_type(0)?;
    let convolution = Convolution::new(ctx, &input.shape, &weights.shape, &shape)?;
    if let Some(bias) = &bias {
        check_shape(ctx, "the bias", bias, &shape[1..2])?;
    }
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let (x, w) = (nest.read(&input), nest.read(&weights));
    let bias = bias.map(|bias| nest.read(&bias));
    let y = nest.write(&output);
    let axes = nest.outer_axes(&output.shape);
    let zero = Scalar::from_i64(input.element, 0);
    let mut value = nest.reduce(ReduceOp::Sum, &convolution.reduced(), |nest, tap| {
        let value = convolution.load_input(nest, x, &axes, tap, zero);
        let weight = convolution.load_weight(nest, w, &axes, tap);
        nest.mul(value, weight)
    });
    if let Some(bias) = bias {
        let bias = nest.load(bias, &axes[1..2]);
        value = nest.add(value, bias);
    }
    nest.store(y, &axes, value);
    ctx.launch(nest);
    Ok(())
}
