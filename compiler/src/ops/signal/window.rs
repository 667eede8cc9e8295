//! Windows as sums of cosines.

use crate::graph::{CompareOperator, Dim, ElementType};
use crate::loops::{ExprId, UnaryOp};
use crate::ops::{Infer, Lower, Nest, OperatorError, Result};

/// A vector of the length that input 0 gives.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let size = ctx.values(0)?;
    let size = size.first().cloned().ok_or_else(|| OperatorError::new("the size must be one number"))?;
    let element = ctx.node.element_type("output_datatype")?.unwrap_or(ElementType::F32);
    ctx.set(0, element, vec![size]);
    Ok(())
}

/// BlackmanWindow
pub fn lower_blackman(ctx: &mut Lower<'_, '_>) -> Result<()> {
    lower(ctx, &[0.42, -0.5, 0.08])
}

/// HammingWindow
pub fn lower_hamming(ctx: &mut Lower<'_, '_>) -> Result<()> {
    lower(ctx, &[25.0 / 46.0, -21.0 / 46.0])
}

/// HannWindow
pub fn lower_hann(ctx: &mut Lower<'_, '_>) -> Result<()> {
    lower(ctx, &[0.5, -0.5])
}

/// The sum over i of `factors[i] * cos(2 pi i n / N)`, where N is the length, or one less for symmetric windows.
fn lower(ctx: &mut Lower<'_, '_>, factors: &[f64]) -> Result<()> {
    let is_periodic = ctx.node.flag_or("periodic", true)?;
    let (_, shape) = ctx.output_type(0)?;
    let holds = shape[0].compare(CompareOperator::GreaterEqual, &Dim::ZERO);
    ctx.check(holds, "the size of a window is negative")?;
    let output = ctx.output(0)?;
    let element = if output.element == ElementType::F64 { ElementType::F64 } else { ElementType::F32 };
    let period = if is_periodic { shape[0].clone() } else { &shape[0] - 1 }.max(&Dim::ONE);
    let mut nest = ctx.nest();
    let target = nest.write(&output);
    let axes = nest.outer_axes(&shape);
    let period = nest.dim(&period);
    let (position, period) = (nest.cast(element, axes[0]), nest.cast(element, period));
    let fraction = nest.div(position, period);
    let value = terms(&mut nest, fraction, factors, element);
    let value = nest.cast(output.element.compute_type(), value);
    nest.store(target, &axes, value);
    ctx.launch(nest);
    Ok(())
}

fn terms(nest: &mut Nest, fraction: ExprId, factors: &[f64], element: ElementType) -> ExprId {
    let mut sum = nest.float(element, factors[0]);
    for (index, &factor) in factors.iter().enumerate().skip(1) {
        let turn = nest.float(element, std::f64::consts::TAU * index as f64);
        let angle = nest.mul(turn, fraction);
        let cosine = nest.unary(UnaryOp::Cos, angle);
        let factor = nest.float(element, factor);
        let term = nest.mul(factor, cosine);
        sum = nest.add(sum, term);
    }
    sum
}
