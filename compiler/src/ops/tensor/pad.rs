//! Pad: dimensions lengthened or, with negative numbers, shortened at both ends.

use super::{check_nonnegative, data};
use crate::graph::{CompareOperator, Dim, Node};
use crate::loops::{BinaryOp, CompareOp, ExprId, Scalar};
use crate::ops::arguments::{Arguments, all_axes, normalize_axes, spread};
use crate::ops::{Infer, Lower, Nest, OperatorError, Result};

/// Where elements beside the input come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Constant,
    Reflect,
    Edge,
    Wrap,
}

fn mode(node: &Node) -> Result<Mode> {
    Ok(match node.text_or("mode", "constant")? {
        "constant" => Mode::Constant,
        "reflect" => Mode::Reflect,
        "edge" => Mode::Edge,
        "wrap" => Mode::Wrap,
        other => {
            return Err(OperatorError::new(format!("`mode` is `{other}`, expected constant, reflect, edge or wrap")));
        }
    })
}

/// Axes, and what is added before and after each dimension. An attribute (`paddings` in operator set 1, then `pads`)
/// before operator set 11, an input from then on.
fn pads(ctx: &mut impl Arguments, rank: usize) -> Result<(Vec<Dim>, Vec<Dim>, Vec<Dim>)> {
    let name = if ctx.argument_node().version < 2 { "paddings" } else { "pads" };
    let pads = ctx.required_integers(name, 1)?;
    let axes = match ctx.integers("axes", 3)? {
        Some(axes) => normalize_axes(&axes, rank)?,
        None => all_axes(rank),
    };
    if pads.len() != 2 * axes.len() {
        return Err(OperatorError::new(format!("there are {} pads for {} axes", pads.len(), axes.len())));
    }
    let (before, after) = pads.split_at(axes.len());
    let none = vec![Dim::ZERO; rank];
    let (before, after) = (spread(&axes, before, &none), spread(&axes, after, &none));
    Ok((axes, before, after))
}

/// Each dimension grows by its two numbers.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, shape) = (ctx.element(0)?, ctx.shape(0)?);
    let (_, before, after) = pads(ctx, shape.len())?;
    let dims: Vec<Dim> =
        shape.iter().zip(before.iter().zip(&after)).map(|(dim, (a, b))| ctx.short(dim + a + b, "padded")).collect();
    if dims.iter().any(|dim| dim.as_const().is_some_and(|dim| dim < 0)) {
        return Err(OperatorError::new("the pads take away more than there is"));
    }
    ctx.set(0, element, dims);
    Ok(())
}

/// One load for each element, at a position that the mode derives.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let input = data(ctx, 0)?;
    let mode = mode(ctx.node)?;
    let (axes, before, after) = pads(ctx, input.shape.len())?;
    ctx.check_axes(&axes, input.shape.len())?;
    let (_, dims) = ctx.output_type(0)?;
    for ((target, dim), (a, b)) in dims.iter().zip(&input.shape).zip(before.iter().zip(&after)) {
        // The symbol of the output counts as non-negative, so the check is on what it is set to.
        let length = dim + a + b;
        ctx.decide(target, length.clone())?;
        check_nonnegative(ctx, &[length])?;
    }
    let output = ctx.output(0)?;
    let padding = if mode == Mode::Constant { ctx.optional_input(2)? } else { None };
    let mut nest = ctx.nest();
    let source = nest.read(&input);
    let target = nest.write(&output);
    let positions = nest.outer_axes(&output.shape);
    let mut index = Vec::new();
    let mut guard: Option<ExprId> = None;
    for (axis, &position) in positions.iter().enumerate() {
        let (dim, is_padded) = (&input.shape[axis], output.shape[axis] != input.shape[axis]);
        if !is_padded && before[axis] == Dim::ZERO {
            index.push(position);
            continue;
        }
        let start = nest.dim(&before[axis]);
        let position = nest.sub(position, start);
        if mode == Mode::Constant {
            let inside = nest.in_range(position, dim);
            guard = Some(guard.map_or(inside, |guard| nest.and(guard, inside)));
            index.push(position);
        } else {
            index.push(fold(&mut nest, mode, position, dim));
        }
    }
    let value = match guard {
        None => nest.load(source, &index),
        Some(guard) => {
            let otherwise = match &padding {
                Some(_) => Scalar::from_i64(input.element, 0),
                None => Scalar::from_f64(input.element, f64::from(ctx.node.float_or("value", 0.0)?)),
            };
            let value = nest.load_where(source, &index, guard, otherwise);
            match &padding {
                None => value,
                Some(view) => {
                    let parameter = nest.read(view);
                    let zeros = vec![nest.index(0); view.shape.len()];
                    let padding = nest.load(parameter, &zeros);
                    nest.select(guard, value, padding)
                }
            }
        }
    };
    nest.store(target, &positions, value);
    if mode != Mode::Constant {
        for (from, to) in input.shape.iter().zip(&output.shape).filter(|(from, to)| from != to) {
            let some = from.compare(CompareOperator::Greater, &Dim::ZERO);
            let none = to.compare(CompareOperator::LessEqual, &Dim::ZERO);
            ctx.check(some.max(&none), "a dimension without elements cannot be padded in this mode")?;
        }
    }
    ctx.launch(nest);
    Ok(())
}

/// The position inside of the input that a position before or after it repeats.
fn fold(nest: &mut Nest, mode: Mode, position: ExprId, dim: &Dim) -> ExprId {
    let extent = nest.dim(dim);
    match mode {
        Mode::Constant => position,
        Mode::Wrap => nest.binary(BinaryOp::Mod, position, extent),
        Mode::Edge => {
            let (zero, last) = (nest.index(0), nest.dim(&(dim - 1)));
            let position = nest.max(position, zero);
            nest.min(position, last)
        }
        // There and back again, without repeating the ends.
        Mode::Reflect => {
            let period = nest.dim(&(dim * 2 - 2));
            let position = nest.binary(BinaryOp::Mod, position, period);
            let is_forth = nest.compare(CompareOp::Lt, position, extent);
            let back = nest.sub(period, position);
            nest.select(is_forth, position, back)
        }
    }
}
