//! Swish, `x * sigmoid(alpha * x)`, Mish, `x * tanh(softplus(x))`, and HardSwish, `x * clip(x + 3, 0, 6) / 6`.

use super::super::patch::Patch;
use super::super::site::Site;
use super::is_about;
use super::product::{Product, plus};
use crate::graph::{Attribute, Node, ValueId};

/// One operator in the place of the outermost product.
pub fn rule(site: &mut Site<'_>, node: &Node) -> Option<Patch> {
    let product = Product::of(site, node)?;
    let [first, second] = product.factors[..] else { return None };
    [(first, second), (second, first)].into_iter().find_map(|(x, gate)| {
        let mut patch = Patch::at(node);
        let value = if let Some(slope) = sigmoid_slope(site, gate, x).filter(|_| product.number == 1.0) {
            patch.add(site, "Swish", 24, &[x], &[("alpha", Attribute::Float(slope as f32))])?
        } else if product.number == 1.0 && is_mish_gate(site, gate, x) {
            patch.add(site, "Mish", 18, &[x], &[])?
        } else if is_hard_gate(site, gate, x, product.number) {
            patch.add(site, "HardSwish", 14, &[x], &[])?
        } else {
            return None;
        };
        patch.replace(node, value)
    })
}

/// The factor by which `gate` is the sigmoid of a multiple of `x`.
fn sigmoid_slope(site: &Site<'_>, gate: ValueId, x: ValueId) -> Option<f64> {
    let argument = site.only_for(gate, &["Sigmoid"])?.input(0)?;
    if argument == x {
        return Some(1.0);
    }
    let product = Product::of_value(site, argument);
    (product.factors == [x]).then_some(product.number)
}

/// Whether `gate` is `tanh(softplus(x))`.
fn is_mish_gate(site: &Site<'_>, gate: ValueId, x: ValueId) -> bool {
    let softplus = site.only_for(gate, &["Tanh"]).and_then(|tanh| site.only_for(tanh.input(0)?, &["Softplus"]));
    softplus.is_some_and(|softplus| softplus.input(0) == Some(x))
}

/// Whether `gate` times `number` is `clip(x + 3, 0, 6) / 6`.
fn is_hard_gate(site: &Site<'_>, gate: ValueId, x: ValueId, number: f64) -> bool {
    let Some(node) = site.only_for(gate, &["HardSigmoid", "Clip"]) else { return false };
    if node.is("HardSigmoid") {
        let attribute = |name: &str, default: f32| node.float_or(name, default).unwrap_or(f32::NAN).into();
        let fits = is_about(attribute("alpha", 0.2), 1.0 / 6.0) && is_about(attribute("beta", 0.5), 0.5);
        return number == 1.0 && fits && node.input(0) == Some(x);
    }
    let bound = |index: usize, name: &str| match node.input(index) {
        Some(id) => site.splat(id),
        None => node.float(name).ok().flatten().map(f64::from),
    };
    is_about(number, 1.0 / 6.0)
        && bound(1, "min") == Some(0.0)
        && bound(2, "max") == Some(6.0)
        && node.input(0).and_then(|sum| plus(site, sum, 3.0)) == Some(x)
}
