//! Merges transposes, and moves them down past operators that do not care about the order of dimensions, to where two
//! cancel. Exports of channels-last models are full of pairs.

use super::patch::Patch;
use super::reduction;
use super::site::Site;
use super::views::{VIEWS, moved_dimensions, reshape};
use crate::graph::{Attribute, Dim, Node, Tensor, ValueId};
use crate::shape;

/// A transpose further down, or gone.
pub fn rule(site: &mut Site<'_>, node: &Node) -> Option<Patch> {
    if !node.operator.domain.is_empty() {
        return None;
    }
    match node.operator.name.as_str() {
        "Transpose" => merge(site, node).or_else(|| as_view(site, node)),
        name if VIEWS.contains(&name) => past_view(site, node),
        "Gemm" => into_gemm(site, node),
        "Concat" => past_concat(site, node),
        "Pad" => past_pad(site, node),
        "Softmax" | "LogSoftmax" if node.version >= 13 => past_softmax(site, node),
        name if name.starts_with("Reduce") => past_reduction(site, node),
        "Cast" | "Clip" => past_elementwise(site, node),
        _ if node.version >= 7 && shape::find(node).is_ok_and(|operator| operator.is_elementwise()) => {
            past_elementwise(site, node)
        }
        _ => None,
    }
}

/// The order of dimensions that a Transpose gives: dimension i of the output is dimension `order[i]` of the input.
pub(super) fn order(site: &Site<'_>, node: &Node) -> Option<Vec<usize>> {
    let rank = site.shape(node.input(0)?)?.len();
    match node.ints("perm").ok()? {
        None => Some((0..rank).rev().collect()),
        Some(order) => order.iter().map(|&axis| crate::ops::normalize_axis(axis, rank).ok()).collect(),
    }
}

/// The input of the transpose that gives `value`, and its order.
fn transposed(site: &Site<'_>, value: ValueId) -> Option<(ValueId, Vec<usize>)> {
    let node = site.defined_by(value, &["Transpose"])?;
    Some((node.input(0)?, order(site, &node)?))
}

fn attribute(order: &[usize]) -> (&'static str, Attribute) {
    ("perm", Attribute::Ints(order.iter().map(|&axis| axis as i64).collect()))
}

/// Puts a transpose of `value` into the place of the node.
fn finish(site: &mut Site<'_>, mut patch: Patch, node: &Node, value: ValueId, order: &[usize]) -> Option<Patch> {
    let value =
        if order.is_sorted() { value } else { patch.add(site, "Transpose", 13, &[value], &[attribute(order)])? };
    patch.replace(node, value)
}

/// Two transposes are one, or none.
fn merge(site: &mut Site<'_>, node: &Node) -> Option<Patch> {
    let (source, first) = transposed(site, node.input(0)?)?;
    let second = order(site, node)?;
    let both: Vec<usize> = second.iter().map(|&axis| first.get(axis).copied()).collect::<Option<_>>()?;
    finish(site, Patch::at(node), node, source, &both)
}

/// A transpose that moves dimensions of 1 only is a view.
fn as_view(site: &mut Site<'_>, node: &Node) -> Option<Patch> {
    let (input, order) = (node.input(0)?, order(site, node)?);
    let shape = site.shape(input)?;
    let is_one = |axis: usize| shape[axis].as_const() == Some(1);
    if !order.iter().filter(|&&axis| !is_one(axis)).is_sorted() {
        return None;
    }
    let after: Vec<Dim> = order.iter().map(|&axis| shape[axis].clone()).collect();
    let mut patch = Patch::at(node);
    let value = reshape(site, &mut patch, input, &after)?;
    patch.replace(node, value)
}

/// A view that only inserts and removes dimensions of 1.
fn past_view(site: &mut Site<'_>, node: &Node) -> Option<Patch> {
    let (input, output) = (node.input(0)?, node.output(0)?);
    let (source, order) = only_transposed(site, input)?;
    let after = site.shape(output)?.to_vec();
    let places = moved_dimensions(site.shape(input)?, &after)?;
    // The dimensions after the view in the order of the source, an inserted one before the one that follows it.
    let mut sorted: Vec<(usize, bool, usize)> = Vec::new();
    let mut following = order.len();
    for (axis, place) in places.iter().enumerate().rev() {
        following = place.map_or(following, |place| order[place]);
        sorted.push((following, place.is_some(), axis));
    }
    sorted.sort_unstable();
    let dims: Vec<Dim> = sorted.iter().map(|&(.., axis)| after[axis].clone()).collect();
    let mut order = vec![0; after.len()];
    sorted.iter().enumerate().for_each(|(position, &(.., axis))| order[axis] = position);
    let mut patch = Patch::at(node);
    let value = reshape(site, &mut patch, source, &dims)?;
    finish(site, patch, node, value, &order)
}

/// Gemm reads either matrix in either order.
fn into_gemm(site: &mut Site<'_>, node: &Node) -> Option<Patch> {
    let mut changed = node.clone();
    let mut found = false;
    for (index, name) in [(0, "transA"), (1, "transB")] {
        if let Some((source, order)) = node.input(index).and_then(|value| transposed(site, value))
            && order == [1, 0]
        {
            let flag = node.flag_or(name, false).ok()?;
            changed.attributes.insert(name.into(), Attribute::Int(i64::from(!flag)));
            changed.inputs[index] = Some(source);
            found = true;
        }
    }
    if !found {
        return None;
    }
    let mut patch = Patch::at(node);
    let value = patch.push(site, changed)?;
    patch.replace(node, value)
}

/// Operands that are transposed alike, or constants, which are transposed back.
fn past_elementwise(site: &mut Site<'_>, node: &Node) -> Option<Patch> {
    let output = node.output(0)?;
    let rank = site.shape(output)?.len();
    let order = common_order(site, &node.inputs)?;
    // A transpose of less than the result costs less where it is.
    let is_whole = |value: &ValueId| transposed(site, *value).is_some() && site.shape(*value) == site.shape(output);
    if order.len() != rank || !node.inputs.iter().flatten().any(is_whole) {
        return None;
    }
    let mut patch = Patch::at(node);
    let mut inputs = Vec::new();
    for input in &node.inputs {
        inputs.push(match *input {
            None => None,
            Some(value) => match transposed(site, value) {
                Some((source, _)) => Some(source),
                None => Some(transposed_back(site, &mut patch, value, &order)?),
            },
        });
    }
    let value = patch.add_like(site, node, &inputs)?;
    finish(site, patch, node, value, &order)
}

/// The order in which all operands that are transposed are so. At least one transpose must go when its operand does.
fn common_order(site: &Site<'_>, inputs: &[Option<ValueId>]) -> Option<Vec<usize>> {
    let mut common: Option<Vec<usize>> = None;
    let mut saves = false;
    for &value in inputs.iter().flatten() {
        match transposed(site, value) {
            Some((_, order)) if common.as_ref().is_none_or(|common| *common == order) => {
                let here = inputs.iter().filter(|input| **input == Some(value)).count();
                saves |= site.uses(value) as usize == here;
                common = Some(order);
            }
            Some(_) => return None,
            None if site.is_foldable(value) => {}
            None => return None,
        }
    }
    common.filter(|_| saves)
}

/// A constant operand of which the transpose broadcasts as `value` does.
fn transposed_back(site: &mut Site<'_>, patch: &mut Patch, value: ValueId, order: &[usize]) -> Option<ValueId> {
    let shape = site.static_shape(value)?;
    if shape.iter().all(|&dim| dim == 1) && shape.len() <= order.len() {
        return Some(value);
    }
    let mut dims = vec![1; order.len().checked_sub(shape.len())?];
    dims.extend(&shape);
    let dims = patch.constant(site, Tensor::from_i64s(&dims));
    let whole = patch.add(site, "Reshape", 13, &[value, dims], &[])?;
    let mut back = vec![0; order.len()];
    order.iter().enumerate().for_each(|(position, &axis)| back[axis] = position);
    patch.add(site, "Transpose", 13, &[whole], &[attribute(&back)])
}

fn past_concat(site: &mut Site<'_>, node: &Node) -> Option<Patch> {
    let order = common_order(site, &node.inputs)?;
    let axis = crate::ops::normalize_axis(node.int_or("axis", 1).ok()?, order.len()).ok()?;
    let sources = node.inputs.iter().map(|value| Some(Some(transposed(site, (*value)?)?.0)));
    let sources: Vec<Option<ValueId>> = sources.collect::<Option<_>>()?;
    let mut changed = Node { inputs: sources, ..node.clone() };
    changed.attributes.insert("axis".into(), Attribute::Int(order[axis] as i64));
    let mut patch = Patch::at(node);
    let value = patch.push(site, changed)?;
    finish(site, patch, node, value, &order)
}

fn past_pad(site: &mut Site<'_>, node: &Node) -> Option<Patch> {
    let (source, order) = only_transposed(site, node.input(0)?)?;
    if node.version < 11 || node.input(3).is_some() {
        return None;
    }
    let pads = site.integers(node.input(1)?)?;
    let rank = order.len();
    if pads.len() != 2 * rank {
        return None;
    }
    let mut moved = vec![0; 2 * rank];
    for (position, &axis) in order.iter().enumerate() {
        moved[axis] = pads[position];
        moved[rank + axis] = pads[rank + position];
    }
    let mut patch = Patch::at(node);
    let pads = patch.constant(site, Tensor::from_i64s(&moved));
    let mut inputs = node.inputs.clone();
    (inputs[0], inputs[1]) = (Some(source), Some(pads));
    let value = patch.add_like(site, node, &inputs)?;
    finish(site, patch, node, value, &order)
}

fn past_softmax(site: &mut Site<'_>, node: &Node) -> Option<Patch> {
    let (source, order) = only_transposed(site, node.input(0)?)?;
    let axis = crate::ops::normalize_axis(node.int_or("axis", -1).ok()?, order.len()).ok()?;
    let mut changed = Node { inputs: vec![Some(source)], ..node.clone() };
    changed.attributes.insert("axis".into(), Attribute::Int(order[axis] as i64));
    let mut patch = Patch::at(node);
    let value = patch.push(site, changed)?;
    finish(site, patch, node, value, &order)
}

fn past_reduction(site: &mut Site<'_>, node: &Node) -> Option<Patch> {
    let (source, order) = only_transposed(site, node.input(0)?)?;
    let reduction = reduction::of(site, node)?;
    let axes: Vec<i64> = reduction.axes.iter().map(|&axis| order[axis] as i64).collect();
    let mut patch = Patch::at(node);
    let mut changed = Node { inputs: vec![Some(source)], ..node.clone() };
    if node.attributes.contains_key("axes") || node.input(1).is_none() {
        changed.attributes.insert("axes".into(), Attribute::Ints(axes));
    } else {
        let axes = patch.constant(site, Tensor::from_i64s(&axes));
        changed.inputs.push(Some(axes));
    }
    let value = patch.push(site, changed)?;
    if reduction.keeps_dims {
        return finish(site, patch, node, value, &order);
    }
    // The dimensions that stay, in the order of the source, are numbered anew.
    let kept: Vec<usize> =
        (0..order.len()).filter(|axis| !reduction.axes.contains(axis)).map(|axis| order[axis]).collect();
    let order: Vec<usize> = kept.iter().map(|axis| kept.iter().filter(|other| *other < axis).count()).collect();
    finish(site, patch, node, value, &order)
}

/// As [`transposed`], where nothing else uses the value.
fn only_transposed(site: &Site<'_>, value: ValueId) -> Option<(ValueId, Vec<usize>)> {
    if site.uses(value) == 1 { transposed(site, value) } else { None }
}
