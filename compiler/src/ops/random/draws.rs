//! The distributions.

use super::generator::Generator;
use crate::graph::{Dim, ElementType};
use crate::loops::{CompareOp, ExprId, ReduceOp, UnaryOp, View};
use crate::ops::{Infer, Lower, Nest, OperatorError, Result};

/// The attributes `shape` and `dtype`.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let shape = ctx.node.ints("shape")?.ok_or_else(|| OperatorError::new("attribute `shape` is missing"))?;
    if let Some(dim) = shape.iter().find(|dim| **dim < 0) {
        return Err(OperatorError::new(format!("`shape` has the negative dimension {dim}")));
    }
    let shape = shape.iter().copied().map(Dim::constant).collect();
    let element = ctx.node.element_type("dtype")?.unwrap_or(ElementType::F32);
    ctx.set(0, element, shape);
    Ok(())
}

/// The input's shape, and its type unless `dtype` says otherwise.
pub fn infer_like(ctx: &mut Infer<'_>) -> Result<()> {
    let shape = ctx.shape(0)?;
    let element = ctx.node.element_type("dtype")?.map_or_else(|| ctx.element(0), Ok)?;
    ctx.set(0, element, shape);
    Ok(())
}

/// A row of samples for each row of the input.
pub fn infer_multinomial(ctx: &mut Infer<'_>) -> Result<()> {
    let shape = ctx.shape(0)?;
    let [batch, _] = shape.as_slice() else {
        return Err(OperatorError::new(format!("the input is of rank {}, expected 2", shape.len())));
    };
    let count = ctx.node.int_or("sample_size", 1)?;
    if count < 0 {
        return Err(OperatorError::new(format!("`sample_size` is {count}, expected at least 0")));
    }
    let element = ctx.node.element_type("dtype")?.unwrap_or(ElementType::I32);
    ctx.set(0, element, vec![batch.clone(), Dim::constant(count)]);
    Ok(())
}

/// The type in which numbers for elements of `element` are drawn.
fn drawn(element: ElementType) -> ElementType {
    if element == ElementType::F64 { ElementType::F64 } else { ElementType::F32 }
}

/// A kernel over all elements of the output as one row.
fn flat(
    ctx: &mut Lower<'_, '_>,
    value: impl FnOnce(&mut Nest, Generator, ExprId, ElementType) -> ExprId,
) -> Result<()> {
    let generator = Generator::of(ctx.node)?;
    let output = ctx.output(0)?;
    let element = output.element;
    let row = View { shape: vec![Dim::product(output.shape.iter().cloned())], ..output };
    let mut nest = ctx.nest();
    let target = nest.write(&row);
    let axes = nest.outer_axes(&row.shape);
    let value = value(&mut nest, generator, axes[0], drawn(element));
    let value = nest.cast(element.compute_type(), value);
    nest.store(target, &axes, value);
    ctx.launch(nest);
    Ok(())
}

/// RandomUniform and RandomUniformLike
pub fn lower_uniform(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (low, high) = (f64::from(ctx.node.float_or("low", 0.0)?), f64::from(ctx.node.float_or("high", 1.0)?));
    flat(ctx, |nest, generator, position, element| {
        let unit = generator.uniform(nest, position, element);
        let (range, low) = (nest.float(element, high - low), nest.float(element, low));
        let scaled = nest.mul(unit, range);
        nest.add(scaled, low)
    })
}

/// RandomNormal and RandomNormalLike
pub fn lower_normal(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (mean, scale) = (ctx.node.float_or("mean", 0.0)?, ctx.node.float_or("scale", 1.0)?);
    flat(ctx, |nest, generator, position, element| {
        let value = generator.normal(nest, position, element);
        let (scale, mean) = (nest.float(element, scale.into()), nest.float(element, mean.into()));
        let scaled = nest.mul(value, scale);
        nest.add(scaled, mean)
    })
}

/// Bernoulli: 1 with the probability that the input has.
pub fn lower_bernoulli(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let input = ctx.input(0)?;
    let row = View { shape: vec![Dim::product(input.shape.iter().cloned())], ..input };
    flat(ctx, |nest, generator, position, element| {
        let parameter = nest.read(&row);
        let probability = nest.load(parameter, &[position]);
        let probability = nest.cast(element, probability);
        let unit = generator.uniform(nest, position, element);
        let happens = nest.compare(CompareOp::Lt, unit, probability);
        let (one, zero) = (nest.float(element, 1.0), nest.float(element, 0.0));
        nest.select(happens, one, zero)
    })
}

/// Multinomial: the class with the greatest sum of its log-probability and a number of Gumbel's distribution.
pub fn lower_multinomial(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let input = ctx.input(0)?;
    let generator = Generator::of(ctx.node)?;
    let output = ctx.output(0)?;
    let element = drawn(input.element);
    let mut nest = ctx.nest();
    let (source, target) = (nest.read(&input), nest.write(&output));
    let axes = nest.outer_axes(&output.shape);
    let (samples, classes) = (nest.dim(&output.shape[1]), nest.dim(&input.shape[1]));
    let row = nest.mul(axes[0], samples);
    let row = nest.add(row, axes[1]);
    let first = nest.mul(row, classes);
    let class = nest.reduce(ReduceOp::ArgMax { last: false }, &input.shape[1..2], |nest, class| {
        let score = nest.load(source, &[axes[0], class[0]]);
        let score = nest.cast(element, score);
        let position = nest.add(first, class[0]);
        let unit = generator.uniform(nest, position, element);
        let logarithm = nest.unary(UnaryOp::Log, unit);
        let negated = nest.unary(UnaryOp::Neg, logarithm);
        let twice = nest.unary(UnaryOp::Log, negated);
        nest.sub(score, twice)
    });
    let class = nest.cast(output.element, class);
    nest.store(target, &axes, class);
    ctx.launch(nest);
    Ok(())
}
