//! Gelu from its definition, `x/2 * (1 + erf(x/sqrt(2)))`, or from the approximation by the hyperbolic tangent.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

use super::super::patch::Patch;
use super::super::site::Site;
use super::is_about;
use super::product::{Product, plus};
use crate::graph::{Attribute, Node, ValueId};

/// One Gelu in the place of the outermost product.
pub fn rule(site: &mut Site<'_>, node: &Node) -> Option<Patch> {
    let product = Product::of(site, node)?;
    let [first, second] = product.factors[..] else { return None };
    if !is_about(product.number, 0.5) {
        return None;
    }
    let (input, approximate) = [(first, second), (second, first)].into_iter().find_map(|(x, gate)| {
        let inner = plus(site, gate, 1.0)?;
        if let Some(erf) = site.only_for(inner, &["Erf"]) {
            let argument = Product::of_value(site, erf.input(0)?);
            let fits = is_about(argument.number, FRAC_1_SQRT_2) && argument.factors == [x];
            return fits.then_some((x, "none"));
        }
        let tanh = site.only_for(inner, &["Tanh"])?;
        is_cubic(site, tanh.input(0)?, x).then_some((x, "tanh"))
    })?;
    let mut patch = Patch::at(node);
    let attributes = [("approximate", Attribute::String(approximate.into()))];
    let value = patch.add(site, "Gelu", 20, &[input], &attributes)?;
    patch.replace(node, value)
}

/// Whether a value is `sqrt(2/pi) * (x + 0.044715 * x^3)`, the argument of the hyperbolic tangent.
fn is_cubic(site: &Site<'_>, value: ValueId, x: ValueId) -> bool {
    const CUBIC: f64 = 0.044715;
    let argument = Product::of_value(site, value);
    if !is_about(argument.number, FRAC_2_SQRT_PI * FRAC_1_SQRT_2) {
        return false;
    }
    let power = |value: ValueId, exponent: usize| {
        let power = Product::of_value(site, value);
        is_about(power.number, CUBIC) && power.count(x) == exponent && power.factors.len() == exponent
    };
    match argument.factors[..] {
        [sum] => site.only_for(sum, &["Add"]).is_some_and(|sum| match (sum.input(0), sum.input(1)) {
            (Some(a), Some(b)) => (a == x && power(b, 3)) || (b == x && power(a, 3)),
            _ => false,
        }),
        [_, _] => argument.other(x).and_then(|sum| plus(site, sum, 1.0)).is_some_and(|square| power(square, 2)),
        _ => false,
    }
}
