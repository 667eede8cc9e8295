//! LayerNormalization and RMSNormalization from means, squares and roots; and the scale and bias after them.

use super::super::patch::Patch;
use super::super::reduction;
use super::super::site::Site;
use crate::graph::{Attribute, Dim, ElementType, Node, Tensor, TensorData, ValueId};

/// A normalization with a scale of ones in the place of the quotient by the deviation.
pub fn rule(site: &mut Site<'_>, node: &Node) -> Option<Patch> {
    let output = node.output(0)?;
    if !site.is_precise(output) {
        return None;
    }
    let (numerator, root) = quotient(site, node)?;
    let root = site.only_for(root, &["Sqrt"])?;
    let (mean, epsilon) = plus_number(site, root.input(0)?)?;
    let mean = site.only_for(mean, &["ReduceMean"])?;
    let axis = trailing(site, &mean)?;
    if square_root_of(site, mean.input(0)?)? != numerator {
        return None;
    }
    let centered = centered(site, numerator, axis);
    let (operator, version, input) = match centered {
        Some(input) => ("LayerNormalization", 17, input),
        None => ("RMSNormalization", 23, numerator),
    };
    if site.tensor(input) != site.tensor(output) {
        return None;
    }
    let dims: Vec<i64> = site.shape(input)?[axis..].iter().map(Dim::as_const).collect::<Option<_>>()?;
    let (element, one) = match site.element(input)? {
        ElementType::F32 => (ElementType::F32, 1f32.to_le_bytes().to_vec()),
        _ => (ElementType::F64, 1f64.to_le_bytes().to_vec()),
    };
    let mut patch = Patch::at(node);
    let ones = patch.constant(site, Tensor { element, dims, data: TensorData::Splat(one.into()) });
    let attributes = [("axis", Attribute::Int(axis as i64)), ("epsilon", Attribute::Float(epsilon as f32))];
    let value = patch.add(site, operator, version, &[input, ones], &attributes)?;
    patch.replace(node, value)
}

/// Numerator and denominator of a quotient, which may be written as a product with a reciprocal.
fn quotient(site: &Site<'_>, node: &Node) -> Option<(ValueId, ValueId)> {
    let (first, second) = (node.input(0)?, node.input(1)?);
    if node.is("Div") {
        return Some((first, second));
    }
    if !node.is("Mul") {
        return None;
    }
    let reciprocal_of = |value: ValueId| {
        let inverse = site.only_for(value, &["Reciprocal", "Div"])?;
        match inverse.input(1) {
            None => inverse.input(0),
            denominator => (site.splat(inverse.input(0)?)? == 1.0).then_some(denominator?),
        }
    };
    match reciprocal_of(second) {
        Some(root) => Some((first, root)),
        None => Some((second, reciprocal_of(first)?)),
    }
}

/// The other operand of a sum with a number, and the number.
fn plus_number(site: &Site<'_>, value: ValueId) -> Option<(ValueId, f64)> {
    let node = site.only_for(value, &["Add"])?;
    let (first, second) = (node.input(0)?, node.input(1)?);
    match site.splat(second) {
        Some(number) => Some((first, number)),
        None => Some((second, site.splat(first)?)),
    }
}

/// The first of the trailing dimensions of which a reduction takes the mean.
fn trailing(site: &Site<'_>, node: &Node) -> Option<usize> {
    let rank = site.shape(node.input(0)?)?.len();
    reduction::of(site, node)?.trailing(rank)
}

/// What is squared.
fn square_root_of(site: &Site<'_>, value: ValueId) -> Option<ValueId> {
    let node = site.only_for(value, &["Mul", "Pow"])?;
    let (first, second) = (node.input(0)?, node.input(1)?);
    let is_square = if node.is("Mul") { first == second } else { site.splat(second)? == 2.0 };
    is_square.then_some(first)
}

/// What a value is the difference of to its mean over the dimensions from `axis` on.
fn centered(site: &Site<'_>, value: ValueId, axis: usize) -> Option<ValueId> {
    let difference = site.defined_by(value, &["Sub"])?;
    let input = difference.input(0)?;
    let mean = site.defined_by(difference.input(1)?, &["ReduceMean"])?;
    (mean.input(0)? == input && trailing(site, &mean)? == axis).then_some(input)
}

/// Lets a normalization scale by the product after it, and add the sum after that.
pub fn affine(site: &mut Site<'_>, node: &Node) -> Option<Patch> {
    let is_scale = node.is("Mul");
    let operators: &[&str] = match is_scale {
        true => &["LayerNormalization", "RMSNormalization"],
        false if node.is("Add") => &["LayerNormalization"],
        false => return None,
    };
    let (first, second) = (node.input(0)?, node.input(1)?);
    let (normalized, operand) = match site.only_for(first, operators) {
        Some(normalization) => (normalization, second),
        None => (site.only_for(second, operators)?, first),
    };
    let (input, output) = (normalized.output(0)?, node.output(0)?);
    let (shape, extents) = (site.shape(operand)?, site.shape(input)?);
    let axis = crate::ops::normalize_axis(normalized.int_or("axis", -1).ok()?, extents.len()).ok()?;
    let fits = shape.len() <= extents.len() - axis && shape.iter().all(Dim::is_const);
    let has_ones = !is_scale || site.splat(normalized.input(1)?) == Some(1.0);
    let is_alone = normalized.outputs[1..].iter().all(Option::is_none) && normalized.input(2).is_none();
    if !fits || !has_ones || !is_alone || site.tensor(input) != site.tensor(output) || !site.is_precise(input) {
        return None;
    }
    let mut inputs = normalized.inputs.clone();
    inputs.resize(if is_scale { 2 } else { 3 }, None);
    inputs[if is_scale { 1 } else { 2 }] = Some(operand);
    let mut patch = Patch::at(node);
    let value = patch.add_like(site, &normalized, &inputs)?;
    patch.replace(node, value)
}
