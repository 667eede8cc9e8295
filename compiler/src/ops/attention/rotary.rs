//! RotaryEmbedding: pairs of a head's elements rotated by an angle that depends on the position.

use super::heads::{HeadShape, Heads};
use crate::graph::{CompareOperator, Dim, ElementType};
use crate::loops::{BinaryOp, CompareOp, ExprId, View};
use crate::ops::{Infer, Lower, Nest, OperatorError, Result};

/// The input's type.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let (element, shape) = (ctx.element(0)?, ctx.shape(0)?);
    HeadShape::new(ctx.node, &shape, "num_heads")?;
    ctx.set(0, element, shape);
    Ok(())
}

/// One elementwise kernel. The partner of an element is half a rotated part away, or its neighbour.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (input, cosines, sines) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
    let positions = ctx.optional_input(3)?;
    let is_interleaved = ctx.node.flag_or("interleaved", false)?;
    let input = Heads::new(ctx, input, "num_heads")?;
    let rotated = match ctx.node.int_or("rotary_embedding_dim", 0)? {
        0 => input.shape.size.clone(),
        size => Dim::constant(size),
    };
    let half = rotated.floor_div(&Dim::constant(2));
    let rank = if positions.is_some() { 2 } else { 3 };
    for cache in [&cosines, &sines] {
        if cache.shape.len() != rank || cache.element != input.view.element {
            return Err(OperatorError::new(format!("the caches must be of rank {rank} and of the input's type")));
        }
        let fits = cache.shape[rank - 1].compare(CompareOperator::Equal, &half);
        ctx.check(fits, "the caches have not half as many columns as elements are rotated")?;
    }
    if positions.as_ref().is_some_and(|positions| positions.shape.len() != 2) {
        return Err(OperatorError::new("the position ids are not of rank 2"));
    }
    let output = Heads::within(ctx.output(0)?, input.shape.clone());
    let mut nest = ctx.nest();
    let (source, target) = (nest.read(&input.view), nest.write(&output.view));
    let axes = nest.outer_axes(&input.shape.apart());
    let [batch, head, position, element] = [axes[0], axes[1], axes[2], axes[3]];
    let own = input.load(&mut nest, source, [batch, head, position, element]);
    let (zero, one, two) = (nest.index(0), nest.index(1), nest.index(2));
    let (half_size, size) = (nest.dim(&half), nest.dim(&rotated));
    let (pair, is_second, partner) = if is_interleaved {
        let pair = nest.binary(BinaryOp::FloorDiv, element, two);
        let rest = nest.binary(BinaryOp::Mod, element, two);
        let is_second = nest.compare(CompareOp::Eq, rest, one);
        let (before, after) = (nest.sub(element, one), nest.add(element, one));
        (pair, is_second, nest.select(is_second, before, after))
    } else {
        let is_second = nest.compare(CompareOp::Ge, element, half_size);
        let (before, after) = (nest.sub(element, half_size), nest.add(element, half_size));
        (nest.select(is_second, before, element), is_second, nest.select(is_second, before, after))
    };
    let is_rotated = nest.compare(CompareOp::Lt, element, size);
    // What is not rotated must not read past the end of its head or of the caches.
    let partner = nest.select(is_rotated, partner, element);
    let pair = nest.select(is_rotated, pair, zero);
    let row = match &positions {
        Some(view) => {
            let parameter = nest.read(view);
            let row = nest.load(parameter, &[batch, position]);
            let row = nest.cast(ElementType::I64, row);
            vec![nest.wrapped(row, &cosines.shape[0])]
        }
        None => vec![batch, position],
    };
    let [cosine, sine] = [&cosines, &sines].map(|cache| entry(&mut nest, cache, &row, pair));
    let other = input.load(&mut nest, source, [batch, head, position, partner]);
    let (straight, across) = (nest.mul(cosine, own), nest.mul(sine, other));
    let (sum, difference) = (nest.add(straight, across), nest.sub(straight, across));
    let turned = nest.select(is_second, sum, difference);
    let value = nest.select(is_rotated, turned, own);
    nest.store(target, &output.index([batch, head, position, element]), value);
    ctx.launch(nest);
    Ok(())
}

fn entry(nest: &mut Nest, cache: &View, row: &[ExprId], pair: ExprId) -> ExprId {
    let parameter = nest.read(cache);
    let index = [row, &[pair]].concat();
    nest.load(parameter, &index)
}
