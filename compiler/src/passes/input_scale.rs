//! Folds a product with constants before a contraction with constant weights into the weights.

use super::patch::Patch;
use super::site::Site;
use crate::graph::{Node, Tensor, ValueId};

/// The contraction of the unscaled input with scaled weights.
pub fn rule(site: &mut Site<'_>, node: &Node) -> Option<Patch> {
    let is_convolution = node.is("Conv");
    if !is_convolution && !node.is("MatMul") {
        return None;
    }
    let product = site.only_for(node.input(0)?, &["Mul"])?;
    let (input, factor) = match (product.input(0)?, product.input(1)?) {
        (a, b) if site.is_foldable(b) => (a, b),
        (a, b) if site.is_foldable(a) => (b, a),
        _ => return None,
    };
    let weights = node.input(1)?;
    let (shape, rank) = (site.static_shape(weights)?, site.shape(input)?.len());
    let usable = site.is_precise(input) && site.is_foldable(weights) && site.uses(weights) == 1;
    let alike = site.tensor(input) == site.tensor(node.input(0)?) && product.version >= 7;
    // A product with infinity is not the sum of such products.
    let is_finite = site.constant(factor)?.floats()?.iter().all(|value| value.is_finite());
    if !usable || !alike || !is_finite || shape.len() < 2 || (!is_convolution && shape.len() != 2) {
        return None;
    }
    let dims = factor_shape(site, node, factor, rank, shape.len())?;
    let mut patch = Patch::at(node);
    let dims = patch.constant(site, Tensor::from_i64s(&dims));
    let spread = patch.add(site, "Reshape", 13, &[factor, dims], &[])?;
    let weights = patch.add(site, "Mul", 14, &[weights, spread], &[])?;
    let mut inputs = node.inputs.clone();
    (inputs[0], inputs[1]) = (Some(input), Some(weights));
    let value = patch.add_like(site, node, &inputs)?;
    patch.replace(node, value)
}

/// The shape in which the factor broadcasts to the weights: it is one number, or one for each channel that is summed over.
fn factor_shape(site: &Site<'_>, node: &Node, factor: ValueId, rank: usize, weights_rank: usize) -> Option<Vec<i64>> {
    let own = site.static_shape(factor)?;
    let count: i64 = own.iter().product();
    if count == 1 {
        return Some(vec![1; weights_rank]);
    }
    let (axis, position) = match node.is("Conv") {
        true if node.int_or("group", 1).ok()? == 1 => (1, 1),
        true => return None,
        false => (rank - 1, weights_rank - 2),
    };
    let at = (axis + own.len()).checked_sub(rank)?;
    if own.get(at) != Some(&count) {
        return None;
    }
    let mut dims = vec![1; weights_rank];
    dims[position] = count;
    Some(dims)
}
