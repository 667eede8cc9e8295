//! Attention: softmax of scaled products of queries and keys, times values.

use super::heads::{HeadShape, Heads};
use super::mask::Mask;
use crate::graph::{CompareOperator, Dim, ElementType};
use crate::loops::{BinaryOp, CompareOp, ExprId, KernelBuilder, ReduceOp, UnaryOp, View};
use crate::ops::{Infer, Lower, Nest, OperatorError, Result};

/// The output is like the query with the value's head size; then keys and values with the past ones, and the scores.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let element = ctx.element(0)?;
    if !element.is_float() {
        return Err(OperatorError::new(format!("the query is of type {element}, expected a float type")));
    }
    let query = HeadShape::new(ctx.node, &ctx.shape(0)?, "q_num_heads")?;
    let mut key = HeadShape::new(ctx.node, &ctx.shape(1)?, "kv_num_heads")?;
    let mut value = HeadShape::new(ctx.node, &ctx.shape(2)?, "kv_num_heads")?;
    let value_element = ctx.element(2)?;
    let output = HeadShape { size: value.size.clone(), ..query.clone() };
    if ctx.has_input(4) {
        let past = ctx.shape(4)?;
        let length = past.get(2).ok_or_else(|| OperatorError::new("the past keys are not of rank 4"))?;
        key.length = &key.length + length;
        value.length = key.length.clone();
    }
    ctx.set(0, element, output.dims());
    ctx.set(1, element, key.apart());
    ctx.set(2, value_element, value.apart());
    ctx.set(3, element, vec![query.batch, query.heads, query.length, key.length]);
    Ok(())
}

/// What output 3 shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Product,
    Capped,
    Masked,
    Probability,
}

/// Keys and values joined to past ones, a contraction to scores with mask in its epilogue, softmax over rows, and a
/// contraction with values. Scores are computed in `f32` at least, whatever `softmax_precision` asks for.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let inputs = [ctx.input(0)?, ctx.input(1)?, ctx.input(2)?];
    let element = inputs[0].element;
    if inputs.iter().any(|input| input.element.compute_type() != element.compute_type()) {
        return Err(OperatorError::new("query, key and value are of different types"));
    }
    let [query, key, value] = inputs;
    let query = Heads::new(ctx, query, "q_num_heads")?;
    let key = Heads::new(ctx, key, "kv_num_heads")?;
    let value = Heads::new(ctx, value, "kv_num_heads")?;
    let past = ctx.optional_input(4)?.map(|view| view.shape.get(2).cloned().unwrap_or(Dim::ZERO));
    let key = joined(ctx, key, 4, 1)?;
    let value = joined(ctx, value, 5, 2)?;
    for (a, b) in [
        (&query.shape.size, &key.shape.size),
        (&query.shape.batch, &key.shape.batch),
        (&query.shape.batch, &value.shape.batch),
        (&key.shape.length, &value.shape.length),
        (&key.shape.heads, &value.shape.heads),
    ] {
        ctx.check(a.compare(CompareOperator::Equal, b), "the shapes of query, key and value do not fit each other")?;
    }
    let rest = query.shape.heads.modulo(&key.shape.heads).compare(CompareOperator::Equal, &Dim::ZERO);
    ctx.check(rest, "the heads of the query are not a multiple of those of the key")?;
    let mask = Mask::new(ctx, &query.shape, past.as_ref(), &key.shape.length)?;
    let extents = vec![
        query.shape.batch.clone(),
        query.shape.heads.clone(),
        query.shape.length.clone(),
        key.shape.length.clone(),
    ];
    let wide = element.compute_type();
    let scores = ctx.temporary(wide, &extents);
    let shown = match ctx.node.int_or("qk_matmul_output_mode", 0)? {
        0 => Shown::Product,
        1 => Shown::Capped,
        2 => Shown::Masked,
        3 => Shown::Probability,
        other => return Err(OperatorError::new(format!("`qk_matmul_output_mode` is {other}, expected 0 to 3"))),
    };
    let exposed = if ctx.wants_output(3) { Some(ctx.output(3)?) } else { None };
    score(ctx, &query, &key, &mask, &scores, exposed.as_ref().filter(|_| shown != Shown::Probability), shown)?;
    let probabilities = match exposed {
        Some(exposed) if shown == Shown::Probability => exposed,
        _ => ctx.temporary(wide, &extents),
    };
    softmax(ctx, &scores, &probabilities);
    weigh(ctx, &query.shape, &probabilities, &value)
}

/// The tensor with what came before it, as output `output` where that is wanted.
fn joined(ctx: &mut Lower<'_, '_>, own: Heads, past: usize, output: usize) -> Result<Heads> {
    let past = ctx.optional_input(past)?;
    if past.is_none() && !ctx.wants_output(output) {
        return Ok(own);
    }
    let mut shape = HeadShape { is_packed: false, ..own.shape.clone() };
    let before = match &past {
        Some(view) => {
            let before = HeadShape::new(ctx.node, &view.shape, "kv_num_heads")?;
            for (a, b) in [(&before.batch, &shape.batch), (&before.heads, &shape.heads), (&before.size, &shape.size)] {
                ctx.check(a.compare(CompareOperator::Equal, b), "past keys or values do not fit the new ones")?;
            }
            before.length
        }
        None => Dim::ZERO,
    };
    shape.length = &shape.length + &before;
    let target =
        if ctx.wants_output(output) { ctx.output(output)? } else { ctx.temporary(own.view.element, &shape.apart()) };
    let target = Heads::within(target, shape);
    let mut nest = ctx.nest();
    let source = nest.read(&own.view);
    let past = past.map(|view| nest.read(&view));
    let parameter = nest.write(&target.view);
    let axes = nest.outer_axes(&target.view.shape);
    let value = match past {
        None => own.load(&mut nest, source, [axes[0], axes[1], axes[2], axes[3]]),
        Some(past) => {
            let length = nest.dim(&before);
            let is_past = nest.compare(CompareOp::Lt, axes[2], length);
            let is_new = nest.compare(CompareOp::Ge, axes[2], length);
            let position = nest.sub(axes[2], length);
            let zero = crate::loops::Scalar::from_i64(own.view.element, 0);
            let old = nest.load_where(past, &axes, is_past, zero);
            let new = own.load_where(&mut nest, source, [axes[0], axes[1], position, axes[3]], is_new);
            nest.select(is_past, old, new)
        }
    };
    nest.store(parameter, &axes, value);
    ctx.launch(nest);
    Ok(target)
}

/// The key's or value's head that a query's head uses.
fn shared_head(nest: &mut KernelBuilder, head: ExprId, query: &HeadShape, other: &HeadShape) -> ExprId {
    if query.heads == other.heads {
        return head;
    }
    let group = nest.dim(&query.heads.floor_div(&other.heads));
    nest.binary(BinaryOp::FloorDiv, head, group)
}

fn score(
    ctx: &mut Lower<'_, '_>,
    query: &Heads,
    key: &Heads,
    mask: &Mask,
    scores: &View,
    exposed: Option<&View>,
    shown: Shown,
) -> Result<()> {
    let (scale, cap) = (ctx.node.float("scale")?, ctx.node.float_or("softcap", 0.0)?);
    let mut nest = ctx.nest();
    let (left, right) = (nest.read(&query.view), nest.read(&key.view));
    let target = nest.write(scores);
    let exposed = exposed.map(|view| nest.write(view));
    let axes = nest.outer_axes(&scores.shape);
    let head = shared_head(&mut nest, axes[1], &query.shape, &key.shape);
    let product = nest.reduce(ReduceOp::Sum, std::slice::from_ref(&query.shape.size), |nest, element| {
        let a = query.load(nest, left, [axes[0], axes[1], axes[2], element[0]]);
        let b = key.load(nest, right, [axes[0], head, axes[3], element[0]]);
        nest.mul(a, b)
    });
    let wide = nest.type_of(product);
    let factor = match (scale, query.shape.size.as_const()) {
        (Some(scale), _) => nest.float(wide, scale.into()),
        (None, Some(size)) => nest.float(wide, 1.0 / (size as f64).sqrt()),
        (None, None) => {
            let size = nest.dim(&query.shape.size);
            let size = nest.cast(wide, size);
            let root = nest.unary(UnaryOp::Sqrt, size);
            let one = nest.float(wide, 1.0);
            nest.div(one, root)
        }
    };
    let product = nest.mul(product, factor);
    let capped = if cap == 0.0 { product } else { capped(&mut nest, product, cap) };
    let masked = mask.apply(&mut nest, capped, &axes, &scores.shape);
    nest.store(target, &axes, masked);
    if let Some(exposed) = exposed {
        let value = match shown {
            Shown::Product => product,
            Shown::Capped => capped,
            Shown::Masked | Shown::Probability => masked,
        };
        nest.store(exposed, &axes, value);
    }
    ctx.launch(nest);
    Ok(())
}

/// `cap * tanh(value / cap)`
fn capped(nest: &mut Nest, value: ExprId, cap: f32) -> ExprId {
    let element = nest.type_of(value);
    let cap = nest.float(element, cap.into());
    let ratio = nest.div(value, cap);
    let bent = nest.unary(UnaryOp::Tanh, ratio);
    nest.mul(cap, bent)
}

/// Rows of which every key is masked become zeros.
fn softmax(ctx: &mut Lower<'_, '_>, scores: &View, probabilities: &View) {
    let element: ElementType = scores.element;
    let mut nest = ctx.nest();
    let (source, target) = (nest.read(scores), nest.write(probabilities));
    let outer = nest.outer_axes(&scores.shape[..3]);
    let keys = [scores.shape[3].clone()];
    let load = |nest: &mut KernelBuilder, key: ExprId| nest.load(source, &[outer[0], outer[1], outer[2], key]);
    let greatest = nest.reduce(ReduceOp::Max, &keys, |nest, key| load(nest, key[0]));
    let (lowest, zero) = (nest.float(element, f64::NEG_INFINITY), nest.float(element, 0.0));
    let is_masked = nest.compare(CompareOp::Eq, greatest, lowest);
    let shift = nest.select(is_masked, zero, greatest);
    let sum = nest.reduce(ReduceOp::Sum, &keys, |nest, key| {
        let score = load(nest, key[0]);
        let difference = nest.sub(score, shift);
        nest.unary(UnaryOp::Exp, difference)
    });
    let one = nest.float(element, 1.0);
    let divisor = nest.select(is_masked, one, sum);
    nest.store_over(target, &keys, |nest, key| {
        let score = load(nest, key[0]);
        let difference = nest.sub(score, shift);
        let power = nest.unary(UnaryOp::Exp, difference);
        (vec![outer[0], outer[1], outer[2], key[0]], nest.div(power, divisor))
    });
    ctx.launch(nest);
}

/// The sum of values weighted by probabilities.
fn weigh(ctx: &mut Lower<'_, '_>, query: &HeadShape, probabilities: &View, value: &Heads) -> Result<()> {
    let shape = HeadShape { size: value.shape.size.clone(), ..query.clone() };
    let output = Heads::within(ctx.output(0)?, shape);
    let mut nest = ctx.nest();
    let (left, right, target) = (nest.read(probabilities), nest.read(&value.view), nest.write(&output.view));
    let axes = nest.outer_axes(&output.shape.apart());
    let head = shared_head(&mut nest, axes[1], query, &value.shape);
    let sum = nest.reduce(ReduceOp::Sum, std::slice::from_ref(&value.shape.length), |nest, key| {
        let weight = nest.load(left, &[axes[0], axes[1], axes[2], key[0]]);
        let element = value.load(nest, right, [axes[0], head, key[0], axes[3]]);
        nest.mul(weight, element)
    });
    nest.store(target, &output.index([axes[0], axes[1], axes[2], axes[3]]), sum);
    ctx.launch(nest);
    Ok(())
}
