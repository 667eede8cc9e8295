//! STFT: Fourier transforms of windowed frames of a signal.

use super::twiddles::Twiddles;
use crate::graph::{CompareOperator, Dim, ElementType};
use crate::loops::{ExprId, KernelBuilder, ReduceOp};
use crate::ops::arguments::Arguments;
use crate::ops::{Infer, Lower, OperatorError, Result};

/// Step and length of frames. A signal of rank 2 is real: batch and samples.
fn frames(ctx: &mut impl Arguments, signal: &[Dim], window: Option<&[Dim]>) -> Result<(Dim, Dim)> {
    if !matches!(signal.len(), 2 | 3) {
        return Err(OperatorError::new(format!("the signal is of rank {}, expected 2 or 3", signal.len())));
    }
    let one = |values: Vec<Dim>| {
        values.into_iter().next().ok_or_else(|| OperatorError::new("step and length of frames must be one number each"))
    };
    let step = one(ctx.elements(1)?)?;
    let length = match (ctx.argument_node().input(3).is_some(), window) {
        (true, _) => one(ctx.elements(3)?)?,
        (false, Some([length])) => length.clone(),
        (false, Some(_)) => return Err(OperatorError::new("the window is not a vector")),
        (false, None) => signal[1].clone(),
    };
    Ok((step, length))
}

/// Batch, frames, frequencies, and the two parts.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, signal) = (ctx.element(0)?, ctx.shape(0)?);
    let window = if ctx.has_input(2) { Some(ctx.shape(2)?) } else { None };
    let (step, length) = frames(ctx, &signal, window.as_deref())?;
    let two = Dim::constant(2);
    let count = (&signal[1] - &length).floor_div(&step) + 1;
    let bins = if ctx.node.flag_or("onesided", true)? { length.floor_div(&two) + 1 } else { length };
    ctx.set(0, element, vec![signal[0].clone(), count, bins, two]);
    Ok(())
}

/// Tables of cosines and sines, and a kernel with a sum for the real and one for the imaginary parts.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (mut signal, window) = (ctx.input(0)?, ctx.optional_input(2)?);
    let (step, length) = frames(ctx, &signal.shape, window.as_ref().map(|view| &view.shape[..]))?;
    if signal.shape.len() == 2 {
        signal.shape.push(Dim::ONE);
    }
    let holds = step.min(&length).compare(CompareOperator::Greater, &Dim::ZERO);
    ctx.check(holds, "step and length of frames must be positive")?;
    let holds = signal.shape[1].compare(CompareOperator::GreaterEqual, &length);
    ctx.check(holds, "the signal is shorter than a frame")?;
    if let Some(window) = &window {
        let fits = match window.shape.as_slice() {
            [size] => size.compare(CompareOperator::Equal, &length),
            _ => Dim::ZERO,
        };
        ctx.check(fits, "the window is not as long as a frame")?;
        if window.element != signal.element {
            return Err(OperatorError::new("signal and window are of different types"));
        }
    }
    let is_complex = match signal.shape[2].as_const() {
        Some(1) => false,
        Some(2) => true,
        _ => return Err(OperatorError::unsupported("the last dimension must be 1 or 2, and known at compile time")),
    };
    let output = ctx.output(0)?;
    let twiddles = Twiddles::new(ctx, &length);
    let element = ElementType::F64;
    let mut nest = ctx.nest();
    let (source, target) = (nest.read(&signal), nest.write(&output));
    let window = window.map(|window| nest.read(&window));
    let (cosines, sines) = twiddles.read(&mut nest);
    let outer = nest.outer_axes(&output.shape[..3]);
    let (real, imaginary) = (nest.index(0), nest.index(1));
    let step = nest.dim(&step);
    let start = nest.mul(outer[1], step);
    let part = |nest: &mut KernelBuilder, at: ExprId, is_real: bool| -> ExprId {
        let turn = twiddles.position(nest, outer[2], at);
        let (cosine, sine) = (nest.load(cosines, &[turn]), nest.load(sines, &[turn]));
        let position = nest.add(start, at);
        // (r + ji)(cos - j sin)
        let r = nest.load(source, &[outer[0], position, real]);
        let r = nest.cast(element, r);
        let own = if is_real { nest.mul(r, cosine) } else { nest.mul(r, sine) };
        let value = if is_complex {
            let i = nest.load(source, &[outer[0], position, imaginary]);
            let i = nest.cast(element, i);
            let other = if is_real { nest.mul(i, sine) } else { nest.mul(i, cosine) };
            if is_real { nest.add(own, other) } else { nest.sub(other, own) }
        } else if is_real {
            own
        } else {
            let zero = nest.float(element, 0.0);
            nest.sub(zero, own)
        };
        match window {
            Some(window) => {
                let weight = nest.load(window, &[at]);
                let weight = nest.cast(element, weight);
                nest.mul(value, weight)
            }
            None => value,
        }
    };
    for (index, is_real) in [(real, true), (imaginary, false)] {
        let value = nest.reduce(ReduceOp::Sum, std::slice::from_ref(&length), |nest, at| part(nest, at[0], is_real));
        let value = nest.cast(output.element.compute_type(), value);
        nest.store(target, &[outer[0], outer[1], outer[2], index], value);
    }
    ctx.launch(nest);
    Ok(())
}
