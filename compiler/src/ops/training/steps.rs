//! Adagrad, Adam and Momentum: one elementwise kernel for each tensor.

use crate::graph::{CompareOperator, Dim, ElementType};
use crate::loops::{BinaryOp, CompareOp, ExprId, UnaryOp, View};
use crate::ops::{Infer, Lower, Nest, OperatorError, Result};

/// Inputs are the rate, the count of updates, then for each role (value, gradient, states) one of every tensor. Outputs
/// are the same without rate, count and gradients.
fn infer(ctx: &mut Infer<'_>, roles: usize) -> Result<()> {
    let count = tensors(ctx.node.inputs.len(), roles)?;
    for role in 0..roles - 1 {
        for tensor in 0..count {
            let (element, shape) = (ctx.element(2 + tensor)?, ctx.shape(2 + tensor)?);
            if !element.is_float() {
                return Err(OperatorError::new(format!("a tensor is of type {element}, expected a float type")));
            }
            ctx.set(role * count + tensor, element, shape);
        }
    }
    Ok(())
}

fn tensors(inputs: usize, roles: usize) -> Result<usize> {
    match inputs.checked_sub(2) {
        Some(rest) if rest > 0 && rest % roles == 0 => Ok(rest / roles),
        _ => Err(OperatorError::new(format!("there are {inputs} inputs, expected 2 and {roles} for each tensor"))),
    }
}

/// Types of Adagrad's outputs.
pub fn infer_adagrad(ctx: &mut Infer<'_>) -> Result<()> {
    infer(ctx, 3)
}

/// Types of Adam's outputs.
pub fn infer_adam(ctx: &mut Infer<'_>) -> Result<()> {
    infer(ctx, 4)
}

/// Types of Momentum's outputs.
pub fn infer_momentum(ctx: &mut Infer<'_>) -> Result<()> {
    infer(ctx, 3)
}

/// The new value and states of an element.
type Step<'s> = &'s dyn Fn(&mut Nest, Element<'_>) -> Vec<ExprId>;

/// What a step starts from.
struct Element<'e> {
    /// The rate.
    rate: ExprId,
    /// The count of updates.
    count: ExprId,
    /// Value, gradient with regularization, states.
    roles: &'e [ExprId],
}

fn lower(ctx: &mut Lower<'_, '_>, roles: usize, step: Step<'_>) -> Result<()> {
    let count = tensors(ctx.node.inputs.len(), roles)?;
    let decay = ctx.node.float_or("norm_coefficient", 0.0)?;
    let scalar = |view: View| View { shape: Vec::new(), ..view };
    let (rate, updates) = (ctx.input(0)?, ctx.input(1)?);
    for view in [&rate, &updates] {
        let size = Dim::product(view.shape.iter().cloned());
        ctx.check(size.compare(CompareOperator::Equal, &Dim::ONE), "rate and count of updates must be scalars")?;
    }
    let (rate, updates) = (scalar(rate), scalar(updates));
    for tensor in 0..count {
        let inputs = (0..roles).map(|role| ctx.input(2 + role * count + tensor)).collect::<Result<Vec<View>>>()?;
        let shape = inputs[0].shape.clone();
        let element = inputs[0].element.compute_type();
        for input in &inputs {
            if input.shape.len() != shape.len() || input.element.compute_type() != element {
                return Err(OperatorError::new("a gradient or state is not of the type and rank of its tensor"));
            }
            for (a, b) in input.shape.iter().zip(&shape) {
                ctx.check(a.compare(CompareOperator::Equal, b), "a gradient or state is not like its tensor")?;
            }
        }
        let mut outputs = Vec::new();
        for role in 0..roles - 1 {
            let index = role * count + tensor;
            outputs.push(if ctx.wants_output(index) { Some(ctx.output(index)?) } else { None });
        }
        let mut nest = ctx.nest();
        let parameters: Vec<_> = inputs.iter().map(|input| nest.read(input)).collect();
        let (rate, updates) = (nest.read(&rate), nest.read(&updates));
        let targets: Vec<_> = outputs.iter().map(|output| output.as_ref().map(|view| nest.write(view))).collect();
        let axes = nest.outer_axes(&shape);
        let mut values: Vec<ExprId> = parameters.iter().map(|&parameter| nest.load(parameter, &axes)).collect();
        let (rate, updates) = (nest.load(rate, &[]), nest.load(updates, &[]));
        let (rate, updates) = (nest.cast(element, rate), nest.cast(element, updates));
        let decay = nest.float(element, decay.into());
        let pull = nest.mul(decay, values[0]);
        values[1] = nest.add(pull, values[1]);
        let results = step(&mut nest, Element { rate, count: updates, roles: &values });
        for (target, value) in targets.into_iter().zip(results) {
            if let Some(target) = target {
                nest.store(target, &axes, value);
            }
        }
        ctx.launch(nest);
    }
    Ok(())
}

fn constant(nest: &mut Nest, like: ExprId, value: f64) -> ExprId {
    let element: ElementType = nest.type_of(like);
    nest.float(element, value)
}

/// `factor * a + rest * b`
fn blend(nest: &mut Nest, factor: f64, a: ExprId, rest: f64, b: ExprId) -> ExprId {
    let (factor, rest) = (constant(nest, a, factor), constant(nest, a, rest));
    let (a, b) = (nest.mul(factor, a), nest.mul(rest, b));
    nest.add(a, b)
}

/// The sum of squared gradients scales the rate.
pub fn lower_adagrad(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let decay = f64::from(ctx.node.float_or("decay_factor", 0.0)?);
    let epsilon = f64::from(ctx.node.float_or("epsilon", 1e-6)?);
    lower(ctx, 3, &|nest, element| {
        let [value, gradient, total] = [element.roles[0], element.roles[1], element.roles[2]];
        let one = constant(nest, value, 1.0);
        let slowed = blend(nest, decay, element.count, 1.0, one);
        let rate = nest.div(element.rate, slowed);
        let square = nest.mul(gradient, gradient);
        let total = nest.add(total, square);
        let root = nest.unary(UnaryOp::Sqrt, total);
        let epsilon = constant(nest, value, epsilon);
        let divisor = nest.add(root, epsilon);
        let step = nest.mul(rate, gradient);
        let step = nest.div(step, divisor);
        vec![nest.sub(value, step), total]
    })
}

/// Running means of gradients and of their squares.
pub fn lower_adam(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let alpha = f64::from(ctx.node.float_or("alpha", 0.9)?);
    let beta = f64::from(ctx.node.float_or("beta", 0.999)?);
    let epsilon = f64::from(ctx.node.float_or("epsilon", 1e-6)?);
    let shrinking = f64::from(ctx.node.float_or("norm_coefficient_post", 0.0)?);
    lower(ctx, 4, &|nest, element| {
        let [value, gradient, mean, square_mean] = [0, 1, 2, 3].map(|role: usize| element.roles[role]);
        let mean = blend(nest, alpha, mean, 1.0 - alpha, gradient);
        let square = nest.mul(gradient, gradient);
        let square_mean = blend(nest, beta, square_mean, 1.0 - beta, square);
        let root = nest.unary(UnaryOp::Sqrt, square_mean);
        let epsilon = constant(nest, value, epsilon);
        let divisor = nest.add(root, epsilon);
        let [one, zero] = [1.0, 0.0].map(|number| constant(nest, value, number));
        let [alpha_rest, beta_rest] = [alpha, beta].map(|factor| {
            let factor = constant(nest, value, factor);
            let power = nest.binary(BinaryOp::Pow, factor, element.count);
            nest.sub(one, power)
        });
        let correction = nest.unary(UnaryOp::Sqrt, beta_rest);
        let corrected = nest.mul(element.rate, correction);
        let corrected = nest.div(corrected, alpha_rest);
        let is_later = nest.compare(CompareOp::Gt, element.count, zero);
        let rate = nest.select(is_later, corrected, element.rate);
        let step = nest.mul(rate, mean);
        let step = nest.div(step, divisor);
        let moved = nest.sub(value, step);
        let kept = constant(nest, value, 1.0 - shrinking);
        vec![nest.mul(kept, moved), mean, square_mean]
    })
}

/// A decaying sum of gradients.
pub fn lower_momentum(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let alpha = f64::from(ctx.node.float_or("alpha", 0.0)?);
    let beta = f64::from(ctx.node.float_or("beta", 1.0)?);
    let looks_ahead = match ctx.node.text_or("mode", "standard")? {
        "standard" => false,
        "nesterov" => true,
        other => return Err(OperatorError::new(format!("`mode` is `{other}`, expected `standard` or `nesterov`"))),
    };
    lower(ctx, 3, &|nest, element| {
        let [value, gradient, momentum] = [element.roles[0], element.roles[1], element.roles[2]];
        let [one, zero, beta] = [1.0, 0.0, beta].map(|number| constant(nest, value, number));
        let is_later = nest.compare(CompareOp::Gt, element.count, zero);
        let beta = nest.select(is_later, beta, one);
        let share = nest.mul(beta, gradient);
        let momentum = blend(nest, alpha, momentum, 1.0, share);
        let direction = if looks_ahead { blend(nest, alpha, momentum, 1.0, gradient) } else { momentum };
        let step = nest.mul(element.rate, direction);
        vec![nest.sub(value, step), momentum]
    })
}
