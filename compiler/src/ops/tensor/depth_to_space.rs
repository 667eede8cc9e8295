//! DepthToSpace and SpaceToDepth: channels to blocks of pixels and back.

use super::transpose::permute;
use super::{check_equal, data};
use crate::graph::{Dim, Node};
use crate::loops::View;
use crate::ops::{Infer, Lower, OperatorError, Result};

fn block(node: &Node) -> Result<i64> {
    let size = node.required_int("blocksize")?;
    if (1..=i64::from(i16::MAX)).contains(&size) {
        Ok(size)
    } else {
        Err(OperatorError::new(format!("`blocksize` is {size}")))
    }
}

/// Whether the channels of a block stand together (mode CRD) instead of the blocks of all channels (mode DCR).
fn channels_first(node: &Node) -> Result<bool> {
    match node.text_or("mode", "DCR")? {
        "DCR" => Ok(false),
        "CRD" => Ok(true),
        other => Err(OperatorError::new(format!("`mode` is `{other}`, expected DCR or CRD"))),
    }
}

fn image(ctx: &Infer<'_>) -> Result<[Dim; 4]> {
    let shape = ctx.shape(0)?;
    let rank = shape.len();
    shape.try_into().map_err(|_| OperatorError::new(format!("the input must have the rank 4 and has the rank {rank}")))
}

fn divide(dim: &Dim, divisor: i64) -> Dim {
    dim.floor_div(&Dim::constant(divisor))
}

/// DepthToSpace: block times block channels become one.
pub fn infer_depth(ctx: &mut Infer<'_>) -> Result<()> {
    let size = block(ctx.node)?;
    let [n, c, h, w] = image(ctx)?;
    let element = ctx.element(0)?;
    ctx.set(0, element, vec![n, divide(&c, size * size), h * size, w * size]);
    Ok(())
}

/// SpaceToDepth: one channel becomes block times block channels.
pub fn infer_space(ctx: &mut Infer<'_>) -> Result<()> {
    let size = block(ctx.node)?;
    let [n, c, h, w] = image(ctx)?;
    let element = ctx.element(0)?;
    ctx.set(0, element, vec![n, c * (size * size), divide(&h, size), divide(&w, size)]);
    Ok(())
}

/// DepthToSpace: a transposition of tensors of rank 6.
pub fn lower_depth(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let size = block(ctx.node)?;
    let channels_first = channels_first(ctx.node)?;
    let input = data(ctx, 0)?;
    let output = ctx.output(0)?;
    let (depth, space) = (input.shape.clone(), output.shape.clone());
    let message = "the channels are not a multiple of the block";
    check_equal(ctx, &depth[1], &(&space[1] * (size * size)), message)?;
    let deep = with_blocks_in_channels(&input, &depth, &space, size, channels_first);
    let wide = with_blocks_in_space(&output, &depth, &space, size);
    // The output is N, C, H, row, W, column.
    permute(ctx, &deep, &wide, if channels_first { &[0, 1, 4, 2, 5, 3] } else { &[0, 3, 4, 1, 5, 2] });
    Ok(())
}

/// SpaceToDepth: the reverse.
pub fn lower_space(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let size = block(ctx.node)?;
    let channels_first = channels_first(ctx.node)?;
    let input = data(ctx, 0)?;
    let output = ctx.output(0)?;
    let (space, depth) = (input.shape.clone(), output.shape.clone());
    for (wide, narrow) in space[2..].iter().zip(&depth[2..]) {
        check_equal(ctx, wide, &(narrow * size), "height or width is not a multiple of the block")?;
    }
    let wide = with_blocks_in_space(&input, &depth, &space, size);
    let deep = with_blocks_in_channels(&output, &depth, &space, size, channels_first);
    permute(ctx, &wide, &deep, if channels_first { &[0, 1, 3, 5, 2, 4] } else { &[0, 3, 5, 1, 2, 4] });
    Ok(())
}

/// N, C, row, column, H, W or N, row, column, C, H, W.
fn with_blocks_in_channels(view: &View, depth: &[Dim], space: &[Dim], size: i64, channels_first: bool) -> View {
    let size = Dim::constant(size);
    let (n, c, h, w) = (depth[0].clone(), space[1].clone(), depth[2].clone(), depth[3].clone());
    let shape =
        if channels_first { vec![n, c, size.clone(), size, h, w] } else { vec![n, size.clone(), size, c, h, w] };
    View { shape, ..view.clone() }
}

/// N, C, H, row, W, column.
fn with_blocks_in_space(view: &View, depth: &[Dim], space: &[Dim], size: i64) -> View {
    let size = Dim::constant(size);
    let shape = vec![depth[0].clone(), space[1].clone(), depth[2].clone(), size.clone(), depth[3].clone(), size];
    View { shape, ..view.clone() }
}
