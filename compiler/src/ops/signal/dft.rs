//! DFT: the discrete Fourier transform along an axis, by its definition.

use super::twiddles::Twiddles;
use crate::graph::{CompareOperator, Dim, ElementType};
use crate::loops::{CompareOp, ExprId, KernelBuilder, ReduceOp, View};
use crate::ops::arguments::{Arguments, normalize_axes, spread};
use crate::ops::{Infer, Lower, OperatorError, Result};

/// The parts of a transform.
struct Transform {
    /// Where it runs along, which may be known to the run only.
    axis: Dim,
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
    let one = |values: Vec<Dim>| {
        values.into_iter().next().ok_or_else(|| OperatorError::new("axis and length must be one number each"))
    };
    let axis = if node.version < 20 {
        Dim::constant(node.int_or("axis", 1)?)
    } else if node.input(2).is_none() {
        Dim::constant(-2)
    } else {
        one(ctx.elements(2)?)?
    };
    let axis = one(normalize_axes(&[axis], rank)?)?;
    if axis.as_const() == Some(rank as i64 - 1) {
        return Err(OperatorError::new("the last dimension holds real and imaginary parts and cannot be transformed"));
    }
    let own = part(shape, &axis, CompareOperator::Equal);
    let length = if ctx.argument_node().input(1).is_some() {
        one(ctx.elements(1)?)?
    } else if is_inverse && is_onesided {
        (&own - 1) * 2
    } else {
        own
    };
    Ok(Transform { axis, length, is_inverse, is_onesided })
}

/// The product of those signal dimensions that stand before, at or after the axis.
fn part(shape: &[Dim], axis: &Dim, which: CompareOperator) -> Dim {
    Dim::product(shape[..shape.len() - 1].iter().enumerate().map(|(position, dim)| {
        let is_part = Dim::constant(position as i64).compare(which, axis);
        Dim::select(&is_part, dim, &Dim::ONE)
    }))
}

impl Transform {
    /// The shape of the output.
    fn output(&self, shape: &[Dim]) -> Vec<Dim> {
        let two = Dim::constant(2);
        let is_half = self.is_onesided && !self.is_inverse;
        let length = if is_half { self.length.floor_div(&two) + 1 } else { self.length.clone() };
        let mut shape = spread(std::slice::from_ref(&self.axis), &[length], shape);
        let last = shape.len() - 1;
        shape[last] = if self.is_onesided && self.is_inverse { Dim::ONE } else { two };
        shape
    }
}

/// The input's shape with the transform's length, half of it where the other half follows; complex, except that a
/// one-sided inverse gives real numbers.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, shape) = (ctx.element(0)?, ctx.shape(0)?);
    let output = transform(ctx, &shape)?.output(&shape);
    let output = output.into_iter().map(|dim| ctx.short(dim, "transformed")).collect();
    ctx.set(0, element, output);
    Ok(())
}

/// Tables of cosines and sines, and a kernel with a sum for the real and one for the imaginary parts.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let input = ctx.input(0)?;
    let transform = transform(ctx, &input.shape)?;
    ctx.check_axes(std::slice::from_ref(&transform.axis), input.shape.len() - 1)?;
    let (_, declared) = ctx.output_type(0)?;
    for (target, dim) in declared.iter().zip(transform.output(&input.shape)) {
        ctx.decide(target, dim)?;
    }
    let Transform { axis, length, is_inverse, is_onesided } = transform;
    let length = ctx.named(length);
    let holds = length.compare(CompareOperator::Greater, &Dim::ZERO);
    ctx.check(holds, "the length of a transform must be positive")?;
    let last = input.shape.len() - 1;
    let is_complex = match input.shape[last].as_const() {
        Some(1) => false,
        Some(2) => true,
        _ => return Err(OperatorError::unsupported("the last dimension must be 1 or 2, and known at compile time")),
    };
    let output = ctx.output(0)?;
    let twiddles = Twiddles::new(ctx, &length);
    let (input, output) = (rows(ctx, input, &axis), rows(ctx, output, &axis));
    let element = ElementType::F64;
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
    let term = |nest: &mut KernelBuilder, at: ExprId, is_real: bool| -> ExprId {
        let position = twiddles.position(nest, outer[1], at);
        let (cosine, mut sine) = (nest.load(cosines, &[position]), nest.load(sines, &[position]));
        if is_inverse {
            let zero = nest.float(element, 0.0);
            sine = nest.sub(zero, sine);
        }
        // (r + ji)(cos - j sin)
        let r = nest.load(source, &[outer[0], at, outer[2], real]);
        let r = nest.cast(element, r);
        let own = if is_real { nest.mul(r, cosine) } else { nest.mul(r, sine) };
        let mut value = own;
        if is_complex {
            let i = nest.load(source, &[outer[0], at, outer[2], imaginary]);
            let i = nest.cast(element, i);
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
        let mut value = nest.reduce(ReduceOp::Sum, std::slice::from_ref(&used), |nest, at| term(nest, at[0], is_real));
        if is_inverse {
            let size = nest.dim(&length);
            let size = nest.cast(element, size);
            value = nest.div(value, size);
        }
        let value = nest.cast(output.element.compute_type(), value);
        nest.store(target, &[outer[0], outer[1], outer[2], index], value);
    }
    ctx.launch(nest);
    Ok(())
}

/// A tensor as four dimensions: before the axis, the axis, after it, and the parts of a number.
fn rows(ctx: &mut Lower<'_, '_>, view: View, axis: &Dim) -> View {
    let orders = [CompareOperator::Less, CompareOperator::Equal, CompareOperator::Greater];
    let mut shape = Vec::new();
    for order in orders {
        let dim = part(&view.shape, axis, order);
        shape.push(if axis.is_const() { dim } else { ctx.named(dim) });
    }
    shape.push(view.shape[view.shape.len() - 1].clone());
    View { shape, ..view }
}
