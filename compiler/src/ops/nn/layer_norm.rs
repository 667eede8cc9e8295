//! LayerNormalization and RMSNormalization: over the last dimensions, in one kernel with a row a point.

use super::check_fits;
use super::moments::{inverse_deviation, mean, moments, normalize};
use crate::graph::{Dim, ElementType};
use crate::loops::{ExprId, KernelBuilder, ParameterId, View};
use crate::ops::{Infer, Lower, Nest, Result, normalize_axis};

/// Like the input; mean and inverse deviation have 1 for each normalized dimension.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, shape) = (ctx.element(0)?, ctx.shape(0)?);
    let axis = normalize_axis(ctx.node.int_or("axis", -1)?, shape.len())?;
    let stash = ctx.node.element_type("stash_type")?.unwrap_or(ElementType::F32);
    let mut row = shape.clone();
    row[axis..].fill(Dim::ONE);
    ctx.set(1, stash, row.clone());
    ctx.set(2, stash, row);
    ctx.set(0, element, shape);
    Ok(())
}

/// A kernel over the rows of an input.
struct Rows {
    nest: Nest,
    input: View,
    x: ParameterId,
    rows: Vec<ExprId>,
    extents: Vec<Dim>,
}

impl Rows {
    fn new(ctx: &mut Lower<'_, '_>) -> Result<Self> {
        let input = ctx.input(0)?;
        let axis = normalize_axis(ctx.node.int_or("axis", -1)?, input.shape.len())?;
        let mut nest = ctx.nest();
        let x = nest.read(&input);
        let rows = nest.outer_axes(&input.shape[..axis]);
        let extents = input.shape[axis..].to_vec();
        Ok(Self { nest, input, x, rows, extents })
    }

    /// Stores the normalized elements times scale and plus bias, which broadcast.
    fn store(
        &mut self,
        ctx: &mut Lower<'_, '_>,
        normalized: impl FnOnce(&mut KernelBuilder, ExprId) -> ExprId,
    ) -> Result<()> {
        let output = ctx.output(0)?;
        let (scale, bias) = (ctx.optional_input(1)?, ctx.optional_input(2)?);
        for view in scale.iter().chain(&bias) {
            check_fits(ctx, "scale or bias", view, &self.input.shape)?;
        }
        let nest = &mut self.nest;
        let scale = scale.map(|view| (nest.read(&view), view));
        let bias = bias.map(|view| (nest.read(&view), view));
        let y = nest.write(&output);
        let (rows, x, shape, extents) = (&self.rows, self.x, &self.input.shape, &self.extents);
        let compute = self.input.element.compute_type();
        nest.store_over(y, extents, |nest, place| {
            let index = [rows, place].concat();
            let value = nest.load(x, &index);
            let mut value = normalized(nest, value);
            for (is_scale, operand) in [(true, &scale), (false, &bias)] {
                let Some((parameter, view)) = operand else { continue };
                let position = nest.broadcast(&view.shape, &index, shape);
                let operand = nest.load(*parameter, &position);
                let operand = nest.cast(compute, operand);
                value = if is_scale { nest.mul(value, operand) } else { nest.add(value, operand) };
            }
            (index, value)
        });
        Ok(())
    }

    /// Stores a number of each row.
    fn store_row(&mut self, view: &View, value: ExprId) {
        let nest = &mut self.nest;
        let value = nest.cast(view.element.compute_type(), value);
        let target = nest.write(view);
        let mut index = self.rows.clone();
        index.resize(view.shape.len(), nest.index(0));
        nest.store(target, &index, value);
    }
}

/// LayerNormalization: two reductions and a store a row.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let mut rows = Rows::new(ctx)?;
    let (x, row) = (rows.x, rows.rows.clone());
    let (mean, variance) = moments(&mut rows.nest, &rows.extents, |nest, place| nest.load(x, &[&row, place].concat()));
    let inverse = inverse_deviation(&mut rows.nest, ctx.node, variance)?;
    if ctx.wants_output(0) {
        rows.store(ctx, |nest, value| normalize(nest, value, mean, inverse))?;
    }
    for (index, value) in [(1, mean), (2, inverse)] {
        if ctx.wants_output(index) {
            let view = ctx.output(index)?;
            rows.store_row(&view, value);
        }
    }
    ctx.launch(rows.nest);
    Ok(())
}

/// RMSNormalization: one reduction and a store a row.
pub fn lower_root_mean_square(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let mut rows = Rows::new(ctx)?;
    let (x, row) = (rows.x, rows.rows.clone());
    let square = mean(&mut rows.nest, &rows.extents, |nest, place| {
        let value = nest.load(x, &[&row, place].concat());
        nest.mul(value, value)
    });
    let inverse = inverse_deviation(&mut rows.nest, ctx.node, square)?;
    rows.store(ctx, |nest, value| nest.mul(value, inverse))?;
    ctx.launch(rows.nest);
    Ok(())
}
