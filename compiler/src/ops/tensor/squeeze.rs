//! Squeeze and Unsqueeze: dimensions of 1 removed or inserted.

use super::{alias, alias_as};
use crate::graph::{CompareOperator, Dim};
use crate::ops::arguments::{Arguments, constant_axes};
use crate::ops::{Infer, Lower, OperatorError, Result};

/// Squeeze: `axes` is an attribute before operator set 13 and an input from then on; without it, every dimension of 1
/// goes. A dimension that only the run knows is then taken to be another.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let shape = ctx.shape(0)?;
    let dims = match ctx.axes("axes", 1, shape.len())? {
        None => shape.into_iter().filter(|dim| dim.as_const() != Some(1)).collect(),
        Some(axes) => match constant_axes(&axes) {
            Some(axes) => {
                for &axis in &axes {
                    if let Some(dim) = shape[axis].as_const().filter(|&dim| dim != 1) {
                        return Err(OperatorError::new(format!("dimension {axis} to be removed is {dim}, not 1")));
                    }
                }
                (0..shape.len()).filter(|axis| !axes.contains(axis)).map(|axis| shape[axis].clone()).collect()
            }
            None if axes.len() > shape.len() => return Err(OperatorError::new("there are more axes than dimensions")),
            None => (axes.len()..shape.len()).map(|_| ctx.fresh("squeezed")).collect(),
        },
    };
    alias_as(ctx, dims)
}

/// Squeeze: the output is the input's memory.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let shape = ctx.input(0)?.shape;
    let removed: Vec<Dim> = match ctx.axes("axes", 1, shape.len())? {
        None => {
            for dim in shape.iter().filter(|dim| dim.as_const() != Some(1)) {
                let message = "a dimension not known at compile time is 1; give the operator its axes";
                ctx.check(dim.compare(CompareOperator::NotEqual, &Dim::ONE), message)?;
            }
            return alias(ctx);
        }
        Some(axes) => match constant_axes(&axes) {
            Some(axes) => axes.into_iter().map(|axis| shape[axis].clone()).collect(),
            None => {
                let flags = ctx.axis_flags(&axes, shape.len())?;
                let (_, output) = ctx.output_type(0)?;
                for (position, target) in output.iter().enumerate() {
                    let dim = kept(&shape, &flags, position);
                    set(ctx, target, dim)?;
                }
                flags.iter().zip(&shape).map(|(flag, dim)| Dim::select(flag, dim, &Dim::ONE)).collect()
            }
        },
    };
    for dim in removed {
        ctx.check(dim.compare(CompareOperator::Equal, &Dim::ONE), "a dimension to be removed is not 1")?;
    }
    alias(ctx)
}

/// Unsqueeze: `axes` count in the output; an attribute before operator set 13, an input from then on.
pub fn infer_unsqueeze(ctx: &mut Infer<'_>) -> Result<()> {
    let shape = ctx.shape(0)?;
    let count = ctx.required_integers("axes", 1)?.len();
    let rank = shape.len() + count;
    let axes = ctx.axes("axes", 1, rank)?.unwrap_or_default();
    let dims = match constant_axes(&axes) {
        Some(axes) => {
            let mut kept = shape.into_iter();
            let dim = |axis| if axes.contains(&axis) { Some(Dim::ONE) } else { kept.next() };
            (0..rank).filter_map(dim).collect()
        }
        None => (0..rank).map(|_| ctx.fresh("unsqueezed")).collect(),
    };
    alias_as(ctx, dims)
}

/// Unsqueeze: the output is the input's memory.
pub fn lower_unsqueeze(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let shape = ctx.input(0)?.shape;
    let (_, output) = ctx.output_type(0)?;
    let axes = ctx.axes("axes", 1, output.len())?.unwrap_or_default();
    if constant_axes(&axes).is_none() {
        let flags = ctx.axis_flags(&axes, output.len())?;
        for (position, target) in output.iter().enumerate() {
            // The dimension of the input that stands here unless a new one does.
            let source = Dim::constant(position as i64) - Dim::sum(&flags[..position]);
            let dim = pick(&shape, &source);
            set(ctx, target, Dim::select(&flags[position], &Dim::ONE, &dim))?;
        }
    }
    alias(ctx)
}

/// The dimension at a position that only the run knows; 0 outside.
fn pick(shape: &[Dim], position: &Dim) -> Dim {
    Dim::sum(shape.iter().enumerate().map(|(i, dim)| {
        let here = position.compare(CompareOperator::Equal, &Dim::constant(i as i64));
        here * dim
    }))
}

/// The `position`-th dimension whose flag is 0.
fn kept(shape: &[Dim], flags: &[Dim], position: usize) -> Dim {
    Dim::sum(shape.iter().enumerate().map(|(i, dim)| {
        let before = Dim::constant(i as i64) - Dim::sum(&flags[..i]);
        let here = before.compare(CompareOperator::Equal, &Dim::constant(position as i64));
        here * (1 - &flags[i]) * dim
    }))
}

fn set(ctx: &mut Lower<'_, '_>, target: &Dim, value: Dim) -> Result<()> {
    let symbol = target.as_symbol().ok_or_else(|| OperatorError::new("a dimension is decided twice"))?;
    ctx.set_symbol(symbol, value);
    Ok(())
}
