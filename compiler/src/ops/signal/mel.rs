//! MelWeightMatrix: triangles over linear frequencies, evenly spaced in mel.

use crate::graph::{CompareOperator, Dim, ElementType};
use crate::loops::{BinaryOp, CompareOp, ExprId, UnaryOp, View};
use crate::ops::{Infer, Lower, Nest, OperatorError, Result};

/// Frequencies of the spectrum, and bands.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let one = |values: Vec<Dim>| {
        values
            .into_iter()
            .next()
            .ok_or_else(|| OperatorError::new("bands and transform length must be one number each"))
    };
    let (bands, length) = (one(ctx.values(0)?)?, one(ctx.values(1)?)?);
    let element = ctx.node.element_type("output_datatype")?.unwrap_or(ElementType::F32);
    ctx.set(0, element, vec![length.floor_div(&Dim::constant(2)) + 1, bands]);
    Ok(())
}

/// One kernel, which finds the edges of each triangle anew.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let mut scalars = Vec::new();
    for index in 0..5 {
        let view = ctx.input(index)?;
        let size = Dim::product(view.shape.iter().cloned());
        ctx.check(size.compare(CompareOperator::Equal, &Dim::ONE), "every input must be a scalar")?;
        scalars.push(View { shape: Vec::new(), ..view });
    }
    let (_, shape) = ctx.output_type(0)?;
    for dim in &shape {
        let holds = dim.compare(CompareOperator::GreaterEqual, &Dim::ZERO);
        ctx.check(holds, "a dimension of the output is negative")?;
    }
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let target = nest.write(&output);
    let axes = nest.outer_axes(&output.shape);
    let [bands, length, rate, low, high] = [0, 1, 2, 3, 4].map(|index: usize| {
        let parameter = nest.read(&scalars[index]);
        let value = nest.load(parameter, &[]);
        nest.cast(ElementType::F64, value)
    });
    let (low, high) = (mel(&mut nest, low), mel(&mut nest, high));
    let (one, two) = (number(&mut nest, 1.0), number(&mut nest, 2.0));
    let range = nest.sub(high, low);
    let points = nest.add(bands, two);
    let step = nest.div(range, points);
    let length = nest.add(length, one);
    let band = nest.cast(ElementType::F64, axes[1]);
    let edges = [0.0, 1.0, 2.0].map(|offset| {
        let offset = number(&mut nest, offset);
        let index = nest.add(band, offset);
        let distance = nest.mul(index, step);
        let position = nest.add(low, distance);
        let frequency = hertz(&mut nest, position);
        let scaled = nest.mul(length, frequency);
        let bin = nest.div(scaled, rate);
        nest.unary(UnaryOp::Floor, bin)
    });
    let [left, centre, right] = edges;
    let bin = nest.cast(ElementType::F64, axes[0]);
    let zero = number(&mut nest, 0.0);
    let rising = slope(&mut nest, (left, bin), (left, centre));
    let falling = slope(&mut nest, (bin, right), (centre, right));
    let (at_left, at_centre) = (nest.compare(CompareOp::Ge, bin, left), nest.compare(CompareOp::Le, bin, centre));
    let is_rising = nest.and(at_left, at_centre);
    let (past_centre, at_right) = (nest.compare(CompareOp::Gt, bin, centre), nest.compare(CompareOp::Lt, bin, right));
    let is_falling = nest.and(past_centre, at_right);
    let is_peak = nest.compare(CompareOp::Eq, bin, centre);
    let value = nest.select(is_falling, falling, zero);
    let value = nest.select(is_rising, rising, value);
    let value = nest.select(is_peak, one, value);
    let value = nest.cast(output.element, value);
    nest.store(target, &axes, value);
    ctx.launch(nest);
    Ok(())
}

fn number(nest: &mut Nest, value: f64) -> ExprId {
    nest.float(ElementType::F64, value)
}

/// The length of one interval over that of another.
fn slope(nest: &mut Nest, part: (ExprId, ExprId), whole: (ExprId, ExprId)) -> ExprId {
    let (part, whole) = (nest.sub(part.1, part.0), nest.sub(whole.1, whole.0));
    nest.binary(BinaryOp::Div, part, whole)
}

/// Mel from hertz: `2595 log10(1 + f / 700)`.
fn mel(nest: &mut Nest, frequency: ExprId) -> ExprId {
    let (scale, factor) = (number(nest, 700.0), number(nest, 2595.0 / std::f64::consts::LN_10));
    let ratio = nest.div(frequency, scale);
    let logarithm = nest.unary(UnaryOp::Log1p, ratio);
    nest.mul(factor, logarithm)
}

/// Hertz from mel.
fn hertz(nest: &mut Nest, mel: ExprId) -> ExprId {
    let (scale, factor) = (number(nest, 700.0), number(nest, std::f64::consts::LN_10 / 2595.0));
    let exponent = nest.mul(mel, factor);
    let power = nest.unary(UnaryOp::Expm1, exponent);
    nest.mul(scale, power)
}
