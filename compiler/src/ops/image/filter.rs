//! The weights of neighbouring elements in interpolation.

use super::coordinates::number;
use crate::graph::Dim;
use crate::loops::{CompareOp, ExprId, KernelBuilder, UnaryOp};

/// A filter over the distance from a position.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Filter {
    /// Over 1 to both sides, a hat.
    Linear,
    /// Over 2 to both sides, Keys' cubic with the given coefficient.
    Cubic(f64),
}

impl Filter {
    /// How far the filter reaches.
    pub fn support(self) -> i64 {
        match self {
            Self::Linear => 1,
            Self::Cubic(_) => 2,
        }
    }

    /// The first tap relative to the floor of the position, and the number of taps, for a filter stretched by
    /// 1 / `shrink` where that is above 1. The shrink is a number, or the ratio of two sizes.
    pub fn taps(self, shrink: &Shrink) -> (Dim, Dim) {
        let first = match shrink {
            Shrink::None => Dim::constant(1 - self.support()),
            Shrink::Factor(factor) => Dim::constant((-(self.support() as f32) / factor.min(1.0)).floor() as i64 + 1),
            Shrink::Ratio(output, input) => {
                let reach = (input * -self.support()).floor_div(output);
                reach.min(&Dim::constant(-self.support())) + 1
            }
        };
        let count = 2 - &first * 2;
        (first, count)
    }

    /// The weight at a distance, an `f32`.
    pub fn weight(self, nest: &mut KernelBuilder, distance: ExprId) -> ExprId {
        let distance = nest.unary(UnaryOp::Abs, distance);
        let (zero, one) = (number(nest, 0.0), number(nest, 1.0));
        match self {
            Self::Linear => {
                let weight = nest.sub(one, distance);
                nest.max(weight, zero)
            }
            Self::Cubic(a) => {
                // ((a + 2) d - (a + 3)) d d + 1 up to 1, ((a d - 5 a) d + 8 a) d - 4 a up to 2.
                let near = polynomial(nest, distance, &[a + 2.0, -(a + 3.0), 0.0, 1.0]);
                let far = polynomial(nest, distance, &[a, -5.0 * a, 8.0 * a, -4.0 * a]);
                let two = number(nest, 2.0);
                let is_near = nest.compare(CompareOp::Le, distance, one);
                let is_far = nest.compare(CompareOp::Lt, distance, two);
                let far = nest.select(is_far, far, zero);
                nest.select(is_near, near, far)
            }
        }
    }
}

/// By how much an axis gets shorter, where the filter is to be stretched with it.
#[derive(Clone, Debug)]
pub enum Shrink {
    /// The filter is not stretched.
    None,
    /// A number.
    Factor(f32),
    /// The first size by the second.
    Ratio(Dim, Dim),
}

fn polynomial(nest: &mut KernelBuilder, x: ExprId, coefficients: &[f64]) -> ExprId {
    let mut value = number(nest, coefficients[0]);
    for &coefficient in &coefficients[1..] {
        let product = nest.mul(value, x);
        value = if coefficient == 0.0 {
            product
        } else {
            let coefficient = number(nest, coefficient);
            nest.add(product, coefficient)
        };
    }
    value
}
