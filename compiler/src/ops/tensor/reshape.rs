//! Reshape and Flatten: the same elements under another shape.

use super::{alias, alias_as, check_nonnegative};
use crate::graph::{CompareOperator, Dim};
use crate::ops::arguments::Arguments;
use crate::ops::{Infer, Lower, OperatorError, Result};

/// The requested dimensions, with 0 resolved to the input's unless `allowzero` is set; -1 stays.
fn requested(node_allows_zero: bool, input: &[Dim], shape: &[Dim]) -> Result<Vec<Dim>> {
    let mut dims = Vec::with_capacity(shape.len());
    for (position, dim) in shape.iter().enumerate() {
        let copied = input.get(position);
        dims.push(match (dim.as_const(), copied) {
            (Some(0), None) if !node_allows_zero => {
                return Err(OperatorError::new(format!(
                    "dimension {position} of the shape is 0, to be copied from the input, whose rank is {}",
                    input.len()
                )));
            }
            (Some(0), Some(copied)) if !node_allows_zero => copied.clone(),
            (Some(..=-2), _) => {
                return Err(OperatorError::new(format!("dimension {position} of the shape is below -1")));
            }
            (None, Some(copied)) if !node_allows_zero && !is_size(dim, input) => {
                Dim::select(&dim.compare(CompareOperator::Equal, &Dim::ZERO), copied, dim)
            }
            _ => dim.clone(),
        });
    }
    Ok(dims)
}

/// Whether a requested dimension is a size as it stands: a number, or an expression that is never negative, as every
/// dimension of the input is.
fn is_size(dim: &Dim, input: &[Dim]) -> bool {
    dim.is_const() || dim.is_nonnegative() || input.contains(dim)
}

/// The dimension that -1 stands for: `total` elements by those of the other dimensions.
fn remaining<'a>(total: &Dim, others: impl Iterator<Item = &'a Dim>) -> Dim {
    // Cancelling common factors keeps the expression short; where one is 0, the check of the element counts decides.
    let product = Dim::product(others);
    total.divide_exact(&product).unwrap_or_else(|| total.floor_div(&product))
}

/// Reshape: the shape is an attribute in operator set 1 and an input later.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let input = ctx.shape(0)?;
    let shape = ctx.required_integers("shape", 1)?;
    let mut dims = requested(ctx.node.flag_or("allowzero", false)?, &input, &shape)?;
    let total = Dim::product(&input);
    if dims.iter().all(|dim| is_size(dim, &input)) {
        let inferred: Vec<usize> = (0..dims.len()).filter(|&i| dims[i].as_const() == Some(-1)).collect();
        match inferred[..] {
            [] => {}
            [position] => {
                let others = dims.iter().enumerate().filter(|&(i, _)| i != position).map(|(_, dim)| dim);
                dims[position] = remaining(&total, others);
            }
            _ => return Err(OperatorError::new("more than one dimension of the shape is -1")),
        }
        if let (Some(before), Some(after)) = (total.as_const(), Dim::product(&dims).as_const())
            && before != after
        {
            return Err(OperatorError::new(format!("{before} elements do not fill a shape of {after} elements")));
        }
    } else {
        // Only the run knows which dimension is -1.
        dims = (0..dims.len()).map(|_| ctx.fresh("reshaped")).collect();
    }
    alias_as(ctx, dims)
}

/// The output is the input's memory.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let input = ctx.input(0)?;
    let (_, output) = ctx.output_type(0)?;
    let shape = ctx.required_integers("shape", 1)?;
    let dims = requested(ctx.node.flag_or("allowzero", false)?, &input.shape, &shape)?;
    let total = Dim::product(&input.shape);
    if !dims.iter().all(|dim| is_size(dim, &input.shape)) {
        let dims: Vec<Dim> = dims.into_iter().map(|dim| ctx.named(dim)).collect();
        let flags: Vec<Dim> = dims.iter().map(|dim| dim.compare(CompareOperator::Equal, &Dim::constant(-1))).collect();
        let count = ctx.named(Dim::sum(&flags));
        let at_most_one = count.compare(CompareOperator::LessEqual, &Dim::ONE);
        ctx.check(at_most_one, "more than one dimension of the shape is -1")?;
        let product = dims.iter().zip(&flags).fold(Dim::ONE, |product, (dim, flag)| {
            let factor = Dim::select(flag, &Dim::ONE, dim);
            ctx.named(product * factor)
        });
        let rest = ctx.named(total.floor_div(&product));
        for ((dim, flag), output) in dims.iter().zip(&flags).zip(&output) {
            let symbol = output.as_symbol().ok_or_else(|| OperatorError::new("the shape is decided twice"))?;
            ctx.set_symbol(symbol, Dim::select(flag, &rest, dim));
            // The symbol is taken to be at least 0 wherever it is used, so the check is on what it was set to.
            let value = Dim::select(flag, &rest, dim);
            ctx.check(
                value.compare(CompareOperator::GreaterEqual, &Dim::ZERO),
                "a dimension of the shape is negative",
            )?;
        }
    }
    check_nonnegative(ctx, &output)?;
    let same = total.compare(CompareOperator::Equal, &Dim::product(&output));
    ctx.check(same, "the number of elements does not fit the new shape")?;
    ctx.alias_output(0, input)
}

/// Flatten: a matrix of the dimensions before and from `axis` on.
pub fn infer_flatten(ctx: &mut Infer<'_>) -> Result<()> {
    let shape = ctx.shape(0)?;
    let axis = ctx.node.int_or("axis", 1)?;
    let axis = if axis == shape.len() as i64 { shape.len() } else { ctx.axis(axis, shape.len())? };
    let (rows, columns) = shape.split_at(axis);
    alias_as(ctx, vec![Dim::product(rows), Dim::product(columns)])
}

/// Flatten: the output is the input's memory.
pub fn lower_flatten(ctx: &mut Lower<'_, '_>) -> Result<()> {
    alias(ctx)
}
