//! Puts cheaper operators in the places of expensive ones: products for small powers, and a product for a division by a
//! power of two, which is exact.

use super::patch::Patch;
use super::site::Site;
use crate::graph::{ElementType, Node, Tensor};

/// The cheaper nodes.
pub fn rule(site: &mut Site<'_>, node: &Node) -> Option<Patch> {
    let is_power = node.is("Pow");
    if node.version < 7 || !(is_power || node.is("Div")) {
        return None;
    }
    let (input, output) = (node.input(0)?, node.output(0)?);
    let number = site.splat(node.input(1)?)?;
    if !site.is_precise(input) || site.tensor(input) != site.tensor(output) {
        return None;
    }
    let mut patch = Patch::at(node);
    let value = if is_power {
        if number != 2.0 && number != 3.0 {
            return None;
        }
        let square = patch.add(site, "Mul", 14, &[input, input], &[])?;
        if number == 2.0 { square } else { patch.add(site, "Mul", 14, &[square, input], &[])? }
    } else {
        let inverse = match site.element(input)? {
            ElementType::F32 => Tensor::scalar(exact_inverse_f32(number as f32)?),
            _ => Tensor::scalar(exact_inverse_f64(number)?),
        };
        let inverse = patch.constant(site, inverse);
        patch.add(site, "Mul", 14, &[input, inverse], &[])?
    };
    patch.replace(node, value)
}

/// `1 / value`, where it has no rounding error and neither number is subnormal.
fn exact_inverse_f32(value: f32) -> Option<f32> {
    let is_power_of_two = value.is_normal() && value.to_bits() & ((1 << 23) - 1) == 0;
    Some(1.0 / value).filter(|inverse| is_power_of_two && inverse.is_normal())
}

/// As [`exact_inverse_f32`].
fn exact_inverse_f64(value: f64) -> Option<f64> {
    let is_power_of_two = value.is_normal() && value.to_bits() & ((1 << 52) - 1) == 0;
    Some(1.0 / value).filter(|inverse| is_power_of_two && inverse.is_normal())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_powers_of_two_have_an_exact_inverse() {
        assert_eq!(exact_inverse_f32(8.0), Some(0.125));
        assert_eq!(exact_inverse_f64(-0.5), Some(-2.0));
        for number in [3.0, 0.0, f32::INFINITY, f32::NAN, f32::MIN_POSITIVE / 2.0, 1.7014118e38] {
            assert_eq!(exact_inverse_f32(number), None, "{number}");
        }
    }
}
