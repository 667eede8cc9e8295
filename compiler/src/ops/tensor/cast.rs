//! Cast and CastLike: conversion between element types.

use super::data;
use crate::graph::{ElementType, Node};
use crate::loops::{BinaryOp, ExprId};
use crate::ops::{Infer, Lower, Nest, OperatorError, Result};

/// Cast: to the type that an attribute names, by number, or by name in operator set 1.
pub fn infer(ctx: &mut Infer<'_>) -> Result<()> {
    let to = match ctx.node.bytes("to") {
        Ok(Some(name)) => named_type(name)?,
        _ => ctx.node.element_type("to")?.ok_or_else(|| OperatorError::new("attribute `to` is missing"))?,
    };
    set(ctx, to)
}

/// CastLike: to the type of the second input.
pub fn infer_like(ctx: &mut Infer<'_>) -> Result<()> {
    let to = ctx.element(1)?;
    set(ctx, to)
}

fn set(ctx: &mut Infer<'_>, to: ElementType) -> Result<()> {
    let shape = ctx.shape(0)?;
    if ctx.element(0)? == to {
        return super::alias_as(ctx, shape);
    }
    ctx.set(0, to, shape);
    Ok(())
}

/// Both: one conversion for each element, or nothing between equal types.
pub fn lower(ctx: &mut Lower<'_, '_>) -> Result<()> {
    let (to, _) = ctx.output_type(0)?;
    if ctx.input(0)?.element == to {
        return super::alias(ctx);
    }
    if to == ElementType::String {
        return Err(OperatorError::unsupported("conversion to strings is not supported"));
    }
    let input = data(ctx, 0)?;
    let output = ctx.output(0)?;
    let mut nest = ctx.nest();
    let source = nest.read(&input);
    let target = nest.write(&output);
    let axes = nest.outer_axes(&output.shape);
    let value = nest.load(source, &axes);
    let value = convert(&mut nest, ctx.node, to, value)?;
    nest.store(target, &axes, value);
    ctx.launch(nest);
    Ok(())
}

/// The conversion as the node's attributes ask for it.
fn convert(nest: &mut Nest, node: &Node, to: ElementType, value: ExprId) -> Result<ExprId> {
    let saturate = node.flag_or("saturate", true)?;
    let from = nest.type_of(value);
    let value = if to.is_integer() && to.bits() < 8 && from.is_float() {
        // Values out of range wrap as those of an integer type would.
        nest.cast(ElementType::I32, value)
    } else if to == ElementType::F8E8M0 {
        let rounding = node.text_or("round_mode", "up")?;
        to_power_of_two(nest, rounding, saturate, value)?
    } else {
        value
    };
    Ok(nest.cast_with(to, saturate, value))
}

/// An `f32` rounded to a power of two by working on its bits: `up` adds all of the mantissa before cutting it off,
/// `nearest` half of it.
fn to_power_of_two(nest: &mut Nest, rounding: &str, saturate: bool, value: ExprId) -> Result<ExprId> {
    const MANTISSA: i64 = 0x7f_ffff;
    let addend = match rounding {
        "up" => MANTISSA,
        "down" => 0,
        "nearest" => 0x40_0000,
        other => return Err(OperatorError::new(format!("`round_mode` is `{other}`, expected up, down or nearest"))),
    };
    let single = nest.cast(ElementType::F32, value);
    let bits = nest.bitcast(ElementType::U32, single);
    let addend = nest.integer(ElementType::U32, addend);
    let mask = nest.integer(ElementType::U32, !MANTISSA & 0xffff_ffff);
    let raised = nest.add(bits, addend);
    let cut = nest.binary(BinaryOp::And, raised, mask);
    let rounded = nest.bitcast(ElementType::F32, cut);
    let rounded = if saturate {
        let highest = nest.float(ElementType::F32, 2f64.powi(127));
        nest.min(rounded, highest)
    } else {
        rounded
    };
    // NaN has no exponent to round.
    let is_nan = nest.unary(crate::loops::UnaryOp::IsNan, single);
    Ok(nest.select(is_nan, single, rounded))
}

/// The element types as operator set 1 names them.
fn named_type(name: &[u8]) -> Result<ElementType> {
    Ok(match name {
        b"FLOAT" => ElementType::F32,
        b"DOUBLE" => ElementType::F64,
        b"FLOAT16" => ElementType::F16,
        b"INT8" => ElementType::I8,
        b"INT16" => ElementType::I16,
        b"INT32" => ElementType::I32,
        b"INT64" => ElementType::I64,
        b"UINT8" => ElementType::U8,
        b"UINT16" => ElementType::U16,
        b"UINT32" => ElementType::U32,
        b"UINT64" => ElementType::U64,
        b"BOOL" => ElementType::Bool,
        other => {
            let other = String::from_utf8_lossy(other);
            return Err(OperatorError::new(format!("attribute `to` is `{other}`, which is not an element type")));
        }
    })
}
