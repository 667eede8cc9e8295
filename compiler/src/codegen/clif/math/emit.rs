//! The builder that the expansions of this folder write through.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::immediates::Ieee32;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value, types};
use cranelift_frontend::FunctionBuilder;

/// Emits arithmetic on `f32` and `i32` values of one lane count into a function.
///
/// A lane count of 1 works on scalars. Conditions are `i8` scalars or `i32` lane masks, as `fcmp` and `icmp` give them.
/// Constants are splatted where they are used. Every sequence is straight-line code.
pub struct MathBuilder<'a, 'b> {
    /// The function written to.
    pub builder: &'a mut FunctionBuilder<'b>,
    /// Lanes of every value.
    pub lanes: u32,
    /// Whether the target has a fused multiply-add instruction; without, `mul_add` rounds twice.
    pub fma: bool,
}

impl<'a, 'b> MathBuilder<'a, 'b> {
    /// A builder for values with as many lanes as `like`.
    pub fn like(builder: &'a mut FunctionBuilder<'b>, like: Value, fma: bool) -> Self {
        let lanes = builder.func.dfg.value_type(like).lane_count();
        Self { builder, lanes, fma }
    }

    /// The type of the `f32` values.
    pub fn float_type(&self) -> Type {
        types::F32.by(self.lanes).expect("lane counts are small powers of two")
    }

    /// The type of the `i32` values.
    pub fn int_type(&self) -> Type {
        types::I32.by(self.lanes).expect("lane counts are small powers of two")
    }

    /// A float constant in every lane.
    pub fn float(&mut self, value: f32) -> Value {
        let scalar = self.builder.ins().f32const(Ieee32::with_bits(value.to_bits()));
        let ty = self.float_type();
        if self.lanes == 1 { scalar } else { self.builder.ins().splat(ty, scalar) }
    }

    /// An integer constant in every lane.
    pub fn int(&mut self, value: i32) -> Value {
        let scalar = self.builder.ins().iconst(types::I32, i64::from(value as u32));
        let ty = self.int_type();
        if self.lanes == 1 { scalar } else { self.builder.ins().splat(ty, scalar) }
    }

    /// a + b.
    pub fn add(&mut self, a: Value, b: Value) -> Value {
        self.builder.ins().fadd(a, b)
    }

    /// a - b.
    pub fn sub(&mut self, a: Value, b: Value) -> Value {
        self.builder.ins().fsub(a, b)
    }

    /// a · b.
    pub fn mul(&mut self, a: Value, b: Value) -> Value {
        self.builder.ins().fmul(a, b)
    }

    /// a / b.
    pub fn div(&mut self, a: Value, b: Value) -> Value {
        self.builder.ins().fdiv(a, b)
    }

    /// a + constant.
    pub fn add_const(&mut self, a: Value, b: f32) -> Value {
        let b = self.float(b);
        self.add(a, b)
    }

    /// a · constant.
    pub fn mul_const(&mut self, a: Value, b: f32) -> Value {
        let b = self.float(b);
        self.mul(a, b)
    }

    /// a · b + c, rounded once with a fused multiply-add and twice without.
    pub fn mul_add(&mut self, a: Value, b: Value, c: Value) -> Value {
        if self.fma {
            self.builder.ins().fma(a, b, c)
        } else {
            let product = self.mul(a, b);
            self.add(product, c)
        }
    }

    /// c - a · b, rounded as by [`mul_add`](Self::mul_add).
    pub fn negated_mul_add(&mut self, a: Value, b: Value, c: Value) -> Value {
        if self.fma {
            let negated = self.neg(a);
            self.builder.ins().fma(negated, b, c)
        } else {
            let product = self.mul(a, b);
            self.sub(c, product)
        }
    }

    /// The polynomial with these coefficients, the constant one first, by Horner's rule.
    pub fn polynomial(&mut self, x: Value, coefficients: &[f32]) -> Value {
        let (&last, rest) = coefficients.split_last().expect("a polynomial has a coefficient");
        let mut sum = self.float(last);
        for &coefficient in rest.iter().rev() {
            let coefficient = self.float(coefficient);
            sum = self.mul_add(sum, x, coefficient);
        }
        sum
    }

    /// Square root.
    pub fn sqrt(&mut self, a: Value) -> Value {
        self.builder.ins().sqrt(a)
    }

    /// -a.
    pub fn neg(&mut self, a: Value) -> Value {
        self.builder.ins().fneg(a)
    }

    /// |a|.
    pub fn abs(&mut self, a: Value) -> Value {
        self.builder.ins().fabs(a)
    }

    /// `magnitude` with its sign flipped where `sign` is negative.
    pub fn flip_sign(&mut self, magnitude: Value, sign: Value) -> Value {
        let sign = self.bits(sign);
        let sign = self.and_bits(sign, i32::MIN);
        let magnitude = self.bits(magnitude);
        let bits = self.builder.ins().bxor(magnitude, sign);
        self.from_bits(bits)
    }

    /// The bits of floats.
    pub fn bits(&mut self, a: Value) -> Value {
        let ty = self.int_type();
        self.builder.ins().bitcast(ty, MemFlagsData::new(), a)
    }

    /// The floats with these bits.
    pub fn from_bits(&mut self, a: Value) -> Value {
        let ty = self.float_type();
        self.builder.ins().bitcast(ty, MemFlagsData::new(), a)
    }

    /// Integer a + b.
    pub fn add_int(&mut self, a: Value, b: Value) -> Value {
        self.builder.ins().iadd(a, b)
    }

    /// Integer a - b.
    pub fn sub_int(&mut self, a: Value, b: Value) -> Value {
        self.builder.ins().isub(a, b)
    }

    /// Integer a + constant.
    pub fn add_int_const(&mut self, a: Value, b: i32) -> Value {
        let b = self.int(b);
        self.builder.ins().iadd(a, b)
    }

    /// Bitwise a & constant.
    pub fn and_bits(&mut self, a: Value, mask: i32) -> Value {
        let mask = self.int(mask);
        self.builder.ins().band(a, mask)
    }

    /// Bitwise a | b.
    pub fn or(&mut self, a: Value, b: Value) -> Value {
        self.builder.ins().bor(a, b)
    }

    /// Bitwise a & b, also of conditions.
    pub fn and(&mut self, a: Value, b: Value) -> Value {
        self.builder.ins().band(a, b)
    }

    /// Bitwise a ^ b, also of conditions.
    pub fn xor(&mut self, a: Value, b: Value) -> Value {
        self.builder.ins().bxor(a, b)
    }

    /// Integers shifted to the left.
    pub fn shift_left(&mut self, a: Value, count: u32) -> Value {
        let count = self.builder.ins().iconst(types::I32, i64::from(count));
        self.builder.ins().ishl(a, count)
    }

    /// Integers shifted to the right, zeros coming in.
    pub fn shift_right(&mut self, a: Value, count: u32) -> Value {
        let count = self.builder.ins().iconst(types::I32, i64::from(count));
        self.builder.ins().ushr(a, count)
    }

    /// Integers shifted to the right, the sign coming in.
    pub fn shift_right_signed(&mut self, a: Value, count: u32) -> Value {
        let count = self.builder.ins().iconst(types::I32, i64::from(count));
        self.builder.ins().sshr(a, count)
    }

    /// Floats of signed integers.
    pub fn float_of_int(&mut self, a: Value) -> Value {
        let ty = self.float_type();
        self.builder.ins().fcvt_from_sint(ty, a)
    }

    /// Condition of a comparison of floats.
    pub fn compare(&mut self, condition: FloatCC, a: Value, b: Value) -> Value {
        self.builder.ins().fcmp(condition, a, b)
    }

    /// Condition of a comparison of floats with a constant.
    pub fn compare_const(&mut self, condition: FloatCC, a: Value, b: f32) -> Value {
        let b = self.float(b);
        self.builder.ins().fcmp(condition, a, b)
    }

    /// Condition of a comparison of integers.
    pub fn compare_int(&mut self, condition: IntCC, a: Value, b: Value) -> Value {
        self.builder.ins().icmp(condition, a, b)
    }

    /// Condition of a comparison of integers with a constant.
    pub fn compare_int_const(&mut self, condition: IntCC, a: Value, b: i32) -> Value {
        let b = self.int(b);
        self.builder.ins().icmp(condition, a, b)
    }

    /// `a` where the condition holds and `b` elsewhere; both floats, or both integers.
    pub fn select(&mut self, condition: Value, a: Value, b: Value) -> Value {
        if self.lanes == 1 {
            return self.builder.ins().select(condition, a, b);
        }
        let ty = self.builder.func.dfg.value_type(a);
        let mask = if ty == self.int_type() {
            condition
        } else {
            self.builder.ins().bitcast(ty, MemFlagsData::new(), condition)
        };
        self.builder.ins().bitselect(mask, a, b)
    }

    /// The lesser of the two; where either is NaN, `b`.
    pub fn min(&mut self, a: Value, b: Value) -> Value {
        let less = self.compare(FloatCC::LessThan, a, b);
        self.select(less, a, b)
    }

    /// The greater of the two; where either is NaN, `b`.
    pub fn max(&mut self, a: Value, b: Value) -> Value {
        let less = self.compare(FloatCC::LessThan, b, a);
        self.select(less, a, b)
    }

    /// `a` limited to the range; NaN stays.
    pub fn clamp(&mut self, a: Value, low: f32, high: f32) -> Value {
        let low = self.float(low);
        let a = self.max(low, a);
        let high = self.float(high);
        self.min(high, a)
    }

    /// 2^n for the integers n + 127 held in the low bits of `biased`: 0 < n + 127 < 255.
    pub fn power_of_two(&mut self, biased: Value) -> Value {
        let bits = self.shift_left(biased, 23);
        self.from_bits(bits)
    }
}
