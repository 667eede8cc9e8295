//! DFT: the discrete Fourier transform along an axis, by its definition.

use super::twiddles::Twiddles;
use crate::graph::{CompareOperator, Dim};
use crate::loops::{CompareOp, ExprId, KernelBuilder, ReduceOp, View};
use crate::ops::arguments::Arguments;
use crate::ops::{Infer, Lower, OperatorError, Result, normalize_axis};

/// The parts of a transform.
struct Transform {
    axis: usize,
    length: Dim,
    is_inverse: bool,
    is_onesided: bool,
}

/// Reads the node for an input of shape `shape`. The axis is an attribute before operator set 20, an input from then on.
fn transform(ctx: &mut impl Arguments, shape: &[Dim]) -> Result<Transform> {
    let rank = shape.len();
    if rank < 2 {
        return Err(OperatorError::new(format!("the input is of rank {rank}, expected at least 2")));
    }
    let node = ctx.argument_node();
    let (is_inverse, is_onesided) = (node.flag_or("inverse", false)?, node.flag_or("onesided", false)?);
    let axis = if node.version < 20 {
        node.int_or("axis", 1)?
    } else if node.input(2).is_none() {
        -2
    } else {
        let axis = ctx.elements(2)?.first().and_then(Dim::as_const);
        axis.ok_or_else(|| OperatorError::new("the axis must be known at compile time; make it an initializer"))?
    };
    let axis = normalize_axis(axis, rank)?;
    if axis + 1 == rank {
        return Err(OperatorError::new("the last dimension holds real and imaginary parts and cannot be transformed"));
    }
    let length = if ctx.argument_node().input(1).is_some() {
        ctx.elements(1)?.into_iter().next().ok_or_else(|| OperatorError::new("the length must be one number"))?
    } else if is_inverse && is_onesided {
        (&shape[axis] - 1) * 2
    } else {
        shape[axis].clone()
    };
    Ok(Transform { axis, length, is_inverse, is_onesided })
}

/// The input's shape with the transform's length, half of it where the other half follows; complex, except that a
/// one-sided inverse gives real numbers.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, mut shape) = (ctx.element(0)?, ctx.shape(0)?);
    let transform = transform(ctx, &shape)?;
    let is_half = transform.is_onesided && !transform.is_inverse;
    let two = Dim::constant(2);
    shape[transform.axis] = if is_half { transform.length.floor_div(&two) + 1 } else { transform.length };
    let last = shape.len() - 1;
    shape[last] = if transform.is_onesided && transform.is_inverse { Dim::ONE } else { two };
    ctx.set(0, element, shape);
    Ok(())
}

/// Tables of cosines and sines, and a kernel with a sum for the real and one for the imaginary parts.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let input = ctx.input(0)?;
    let Transform { axis, length, is_inverse, is_onesided } = transform(ctx, &input.shape)?;
    let holds = length.compare(CompareOperator::Greater, &Dim::ZERO);
    ctx.check(holds, "the length of a transform must be positive")?;
    let last = input.shape.len() - 1;
    let is_complex = match input.shape[last].as_const() {
        Some(1) => false,
        Some(2) => true,
        _ => return Err(OperatorError::new("the last dimension must be 1 or 2, and known at compile time")),
    };
    let output = ctx.output(0)?;
    let twiddles = Twiddles::new(ctx, input.element, &length);
    let rows = |view: View| {
        let product = |dims: &[Dim]| Dim::product(dims.iter().cloned());
        let (before, after) = (product(&view.shape[..axis]), product(&view.shape[axis + 1..last]));
        let shape = vec![before, view.shape[axis].clone(), after, view.shape[last].clone()];
        View { shape, ..view }
    };
    let (input, output) = (rows(input), rows(output));
    let element = input.element.compute_type();
    // A one-sided spectrum stands for its mirror image too.
    let mirrors = is_inverse && is_onesided;
    let mut used = input.shape[1].min(&length);
    if mirrors {
        used = used.min(&(length.floor_div(&Dim::constant(2)) + 1));
    }
    let mut nest = ctx.nest();
    let (source, target) = (nest.read(&input), nest.write(&output));
    let (cosines, sines) = twiddles.read(&mut nest);
    let outer = nest.outer_axes(&output.shape[..3]);
    let (real, imaginary) = (nest.index(0), nest.index(1));
    let part = |nest: &mut KernelBuilder, at: ExprId, is_real: bool| -> ExprId {
        let position = twiddles.position(nest, outer[1], at);
        let (cosine, mut sine) = (nest.load(cosines, &[position]), nest.load(sines, &[position]));
        if is_inverse {
            let zero = nest.float(element, 0.0);
            sine = nest.sub(zero, sine);
        }
        // (r + ji)(cos - j sin)
        let r = nest.load(source, &[outer[0], at, outer[2], real]);
        let own = if is_real { nest.mul(r, cosine) } else { nest.mul(r, sine) };
        let mut value = own;
        if is_complex {
            let i = nest.load(source, &[outer[0], at, outer[2], imaginary]);
            let other = if is_real { nest.mul(i, sine) } else { nest.mul(i, cosine) };
            value = if is_real { nest.add(own, other) } else { nest.sub(other, own) };
        } else if !is_real {
            let zero = nest.float(element, 0.0);
            value = nest.sub(zero, own);
        }
        if mirrors {
            let (zero, two, size) = (nest.index(0), nest.index(2), nest.dim(&length));
            let double = nest.mul(at, two);
            let (is_first, is_middle) =
                (nest.compare(CompareOp::Eq, at, zero), nest.compare(CompareOp::Eq, double, size));
            let twice = nest.add(value, value);
            let rest = nest.select(is_middle, value, twice);
            value = nest.select(is_first, value, rest);
        }
        value
    };
    for (index, is_real) in [(real, true), (imaginary, false)].into_iter().take(if mirrors { 1 } else { 2 }) {
        let mut value = nest.reduce(ReduceOp::Sum, std::slice::from_ref(&used), |nest, at| part(nest, at[0], is_real));
        if is_inverse {
            let size = nest.dim(&length);
            let size = nest.cast(element, size);
            value = nest.div(value, size);
        }
        nest.store(target, &[outer[0], outer[1], outer[2], index], value);
    }
    ctx.launch(nest);
    Ok(())
}
