//! Folds what follows a contraction with constant weights, channel by channel, into the weights and the bias:
//! BatchNormalization, and products, quotients, sums and differences with constants.
//!
//! The new weights are computed by nodes of their own, which are folded like all nodes on constants.

use super::patch::Patch;
use super::site::Site;
use crate::graph::{ElementType, Node, Tensor, ValueId};

/// `x * factor + offset` with a number for each channel; either may be absent.
#[derive(Clone, Copy, Default)]
struct Affine {
    factor: Option<ValueId>,
    offset: Option<ValueId>,
}

/// The contraction with other weights and another bias.
pub fn rule(site: &mut Site<'_>, node: &Node) -> Option<Patch> {
    match node.operator.name.as_str() {
        _ if !node.operator.domain.is_empty() => None,
        "BatchNormalization" => {
            let contraction = Contraction::before(site, node.input(0)?, 1)?;
            let mut patch = Patch::at(node);
            let affine = normalization(site, &mut patch, node, &contraction)?;
            contraction.followed_by(site, patch, affine, node)
        }
        "Mul" | "Div" | "Add" | "Sub" => {
            let (value, constant) = match (node.input(0)?, node.input(1)?) {
                (a, b) if site.is_foldable(b) => (a, b),
                (a, b) if site.is_foldable(a) && matches!(node.operator.name.as_str(), "Mul" | "Add") => (b, a),
                _ => return None,
            };
            let rank = site.shape(node.output(0)?)?.len();
            let contraction = Contraction::before(site, value, 1)
                .or_else(|| Contraction::before(site, value, rank.checked_sub(1)?))?;
            if contraction.node.is("MatMul") && matches!(node.operator.name.as_str(), "Add" | "Sub") {
                return None;
            }
            let mut patch = Patch::at(node);
            let affine = arithmetic(site, &mut patch, node, constant, &contraction)?;
            contraction.followed_by(site, patch, affine, node)
        }
        _ => None,
    }
}

/// What BatchNormalization does in inference.
fn normalization(site: &mut Site<'_>, patch: &mut Patch, node: &Node, contraction: &Contraction) -> Option<Affine> {
    if node.flag_or("training_mode", false).ok()? {
        return None;
    }
    let statistics: Vec<ValueId> = (1..5).map(|index| node.input(index)).collect::<Option<_>>()?;
    let fits = |id: &ValueId| {
        site.is_foldable(*id)
            && site.element(*id) == Some(contraction.element)
            && site.static_shape(*id).is_some_and(|shape| shape == [contraction.channels])
    };
    if !statistics.iter().all(fits) {
        return None;
    }
    let [scale, bias, mean, variance] = statistics[..] else { return None };
    let epsilon = scalar(contraction.element, f64::from(node.float_or("epsilon", 1e-5).ok()?))?;
    let epsilon = patch.constant(site, epsilon);
    let sum = patch.add(site, "Add", 14, &[variance, epsilon], &[])?;
    let deviation = patch.add(site, "Sqrt", 13, &[sum], &[])?;
    let factor = patch.add(site, "Div", 14, &[scale, deviation], &[])?;
    let shift = patch.add(site, "Mul", 14, &[mean, factor], &[])?;
    let offset = patch.add(site, "Sub", 14, &[bias, shift], &[])?;
    Some(Affine { factor: Some(factor), offset: Some(offset) })
}

/// What a product, quotient, sum or difference with a constant does.
fn arithmetic(
    site: &mut Site<'_>,
    patch: &mut Patch,
    node: &Node,
    constant: ValueId,
    contraction: &Contraction,
) -> Option<Affine> {
    let output = contraction.node.output(0)?;
    if node.version < 7 || site.tensor(output) != site.tensor(node.output(0)?) {
        return None;
    }
    let (shape, rank) = (site.static_shape(constant)?, site.shape(output)?.len());
    let axis = (contraction.axis + shape.len()).checked_sub(rank);
    let only_channels = shape.iter().enumerate().all(|(at, &dim)| dim == 1 || Some(at) == axis);
    if !only_channels {
        return None;
    }
    let count: i64 = shape.iter().product();
    let dims = patch.constant(site, Tensor::from_i64s(&[count]));
    let mut vector = patch.add(site, "Reshape", 13, &[constant, dims], &[])?;
    if count != contraction.channels {
        let dims = patch.constant(site, Tensor::from_i64s(&[contraction.channels]));
        vector = patch.add(site, "Expand", 13, &[vector, dims], &[])?;
    }
    Some(match node.operator.name.as_str() {
        "Mul" => Affine { factor: Some(vector), ..Affine::default() },
        "Div" => Affine { factor: Some(patch.add(site, "Reciprocal", 13, &[vector], &[])?), ..Affine::default() },
        "Add" => Affine { offset: Some(vector), ..Affine::default() },
        _ => Affine { offset: Some(patch.add(site, "Neg", 13, &[vector], &[])?), ..Affine::default() },
    })
}

fn scalar(element: ElementType, value: f64) -> Option<Tensor> {
    match element {
        ElementType::F32 => Some(Tensor::scalar(value as f32)),
        ElementType::F64 => Some(Tensor::scalar(value)),
        _ => None,
    }
}

/// A contraction with constant weights.
struct Contraction {
    node: Node,
    element: ElementType,
    /// The output's axis of channels.
    axis: usize,
    channels: i64,
    weights: ValueId,
    /// The shape in which a number for each channel broadcasts to the weights.
    factor_shape: Vec<i64>,
}

impl Contraction {
    /// The contraction that gives `value` and nothing else uses, if `axis` is its axis of channels.
    fn before(site: &Site<'_>, value: ValueId, axis: usize) -> Option<Self> {
        let node = site.only_for(value, &["Conv", "ConvTranspose", "Gemm", "MatMul"])?;
        let weights = node.input(1)?;
        let shape = site.static_shape(weights)?;
        let rank = site.shape(value)?.len();
        let is_plain = |bias: Option<ValueId>| bias.is_none_or(|bias| site.is_foldable(bias));
        // Weights that others use too would be there twice.
        if !site.is_precise(value) || !site.is_foldable(weights) || site.uses(weights) != 1 || !is_plain(node.input(2))
        {
            return None;
        }
        let (own_axis, position) = match node.operator.name.as_str() {
            "Conv" => (1, 0),
            "ConvTranspose" if node.int_or("group", 1).ok()? == 1 => (1, 1),
            "Gemm" if node.float_or("beta", 1.0).ok()? == 1.0 => (1, usize::from(!node.flag_or("transB", false).ok()?)),
            "MatMul" if shape.len() == 2 && rank >= 2 => (rank - 1, 1),
            _ => return None,
        };
        let channels = *shape.get(position)?;
        if own_axis != axis || channels == 0 {
            return None;
        }
        let mut factor_shape = vec![1; shape.len() - position];
        factor_shape[0] = channels;
        Some(Self { element: site.element(value)?, node, axis, channels, weights, factor_shape })
    }

    /// Nodes that do the contraction and what follows it.
    fn followed_by(&self, site: &mut Site<'_>, mut patch: Patch, affine: Affine, last: &Node) -> Option<Patch> {
        let (mut weights, mut bias) = (self.weights, self.node.input(2));
        if let Some(factor) = affine.factor {
            // A product with infinity is not the sum of such products.
            let values = site.constant(factor).and_then(Tensor::floats);
            if values.is_some_and(|values| !values.iter().all(|value| value.is_finite())) {
                return None;
            }
            let dims = patch.constant(site, Tensor::from_i64s(&self.factor_shape));
            let spread = patch.add(site, "Reshape", 13, &[factor, dims], &[])?;
            weights = patch.add(site, "Mul", 14, &[weights, spread], &[])?;
            if let Some(old) = bias {
                bias = Some(patch.add(site, "Mul", 14, &[old, factor], &[])?);
            }
        }
        if let Some(offset) = affine.offset {
            bias = Some(match bias {
                Some(old) => patch.add(site, "Add", 14, &[old, offset], &[])?,
                None => offset,
            });
        }
        let is_product = self.node.is("MatMul");
        let mut inputs = vec![self.node.input(0), Some(weights)];
        if !is_product {
            inputs.extend(bias.map(Some));
        }
        let mut value = patch.add_like(site, &self.node, &inputs)?;
        if let (true, Some(bias)) = (is_product, bias) {
            value = patch.add(site, "Add", 14, &[value, bias], &[])?;
        }
        patch.replace(last, value)
    }
}
