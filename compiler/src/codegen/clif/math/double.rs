//! Unevaluated sums of two `f32`: arithmetic with about 48 bits.

use cranelift_codegen::ir::{InstBuilder, Value};

use super::emit::MathBuilder;

/// A value held as high + low, |low| at most half an ulp of high after a normalizing operation.
#[derive(Clone, Copy)]
pub struct Double {
    /// The leading part.
    pub high: Value,
    /// The rest.
    pub low: Value,
}

impl MathBuilder<'_, '_> {
    /// a + b exactly, for any magnitudes.
    pub fn two_sum(&mut self, a: Value, b: Value) -> Double {
        let high = self.add(a, b);
        let b_part = self.sub(high, a);
        let a_part = self.sub(high, b_part);
        let a_rest = self.sub(a, a_part);
        let b_rest = self.sub(b, b_part);
        let low = self.add(a_rest, b_rest);
        Double { high, low }
    }

    /// a + b exactly, for |a| >= |b| or a = 0.
    pub fn fast_two_sum(&mut self, a: Value, b: Value) -> Double {
        let high = self.add(a, b);
        let b_part = self.sub(high, a);
        let low = self.sub(b, b_part);
        Double { high, low }
    }

    /// The upper 12 bits of each significand, and the rest.
    fn split(&mut self, a: Value) -> Double {
        let bits = self.bits(a);
        let bits = self.and_bits(bits, !0xfff);
        let high = self.from_bits(bits);
        let low = self.sub(a, high);
        Double { high, low }
    }

    /// a · b exactly, as long as neither overflows and the product's low part is no denormal.
    pub fn two_product(&mut self, a: Value, b: Value) -> Double {
        let high = self.mul(a, b);
        let low = if self.fma {
            let negated = self.neg(high);
            self.builder.ins().fma(a, b, negated)
        } else {
            let (a, b) = (self.split(a), self.split(b));
            let product = self.mul(a.high, b.high);
            let mut low = self.sub(product, high);
            for (x, y) in [(a.high, b.low), (a.low, b.high), (a.low, b.low)] {
                let product = self.mul(x, y);
                low = self.add(low, product);
            }
            low
        };
        Double { high, low }
    }

    /// The sum of a double and a single value, normalized.
    pub fn double_add(&mut self, a: Double, b: Value) -> Double {
        let sum = self.two_sum(a.high, b);
        let low = self.add(sum.low, a.low);
        self.fast_two_sum(sum.high, low)
    }

    /// The product of a double and a single value, normalized.
    pub fn double_mul(&mut self, a: Double, b: Value) -> Double {
        let product = self.two_product(a.high, b);
        let low = self.mul_add(a.low, b, product.low);
        self.fast_two_sum(product.high, low)
    }
}
