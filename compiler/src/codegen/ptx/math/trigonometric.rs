//! Trigonometric functions and their inverses.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2, FRAC_PI_4, PI};

use super::Math;
use crate::codegen::ptx::assembly::{Class, Register};

/// What π / 2 exceeds its `f64` by, and what it exceeds the sum of both by.
const FRAC_PI_2_LOW: f64 = 6.123_233_995_736_766e-17;
const FRAC_PI_2_LOWEST: f64 = -1.497_384_904_859_169_8e-33;

/// Up to here π / 2 in three parts is exact enough.
const DIRECT_LIMIT: f64 = 1e5;

/// The bits of 2 / π after the point.
const FRAC_2_PI_BITS: [u64; 19] = [
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_6bab,
];

/// (atan x - x) / x³ in powers of x² on |x| <= tan π/8.
#[allow(clippy::excessive_precision)]
const ATAN: [f64; 12] = [
    -0.3333333333333333,
    0.19999999999999804,
    -0.14285714285659806,
    0.11111111105153429,
    -0.09090908753400499,
    0.07692296372129964,
    -0.06666424833613552,
    0.05878928398517232,
    -0.052304498567092406,
    0.04551573086664191,
    -0.034570044186095536,
    0.016285183029865667,
];

/// ±1 / n! for n = first, first + 2, ...: series of sine and cosine in powers of x².
const fn alternating<const N: usize>(first: u32, mut sign: f64) -> [f64; N] {
    let mut coefficients = [0.0; N];
    let (mut index, mut factorial, mut n) = (0, 1.0, 1);
    while index < N {
        while n < first + 2 * index as u32 {
            n += 1;
            factorial *= n as f64;
        }
        coefficients[index] = sign / factorial;
        sign = -sign;
        index += 1;
    }
    coefficients
}
/// (sin x - x) / x³
const SIN: [f64; 8] = alternating(3, -1.0);
/// (cos x - 1 + x²/2) / x⁴
const COS: [f64; 8] = alternating(4, 1.0);

/// The table of the bits of 2 / π, after one word of zeros, in constant memory.
pub(super) fn table() -> String {
    let words: Vec<String> = [0].iter().chain(&FRAC_2_PI_BITS).map(|word| format!("{word:#018x}")).collect();
    format!("\n.const .align 8 .u64 lithify_two_over_pi[{}] = {{{}}};\n", words.len(), words.join(", "))
}

impl Math<'_> {
    /// r and n with x = n · π/2 + r and |r| <= π/4; n modulo 4 as a 32-bit integer.
    fn reduce(&mut self, x: Register) -> (Register, Register) {
        let (r, n) = (self.assembly.fresh(Class::Double), self.assembly.fresh(Class::Word));
        let magnitude = self.abs(x);
        let direct = self.compare("leu", magnitude, DIRECT_LIMIT);
        let (large, done) = (self.assembly.label(), self.assembly.label());
        self.assembly.line(format_args!("@!{direct} bra {large}"));
        let quotient = self.mul(x, FRAC_2_PI);
        let whole = self.round(quotient);
        self.assembly.emit_to(n, "cvt.rni.s32.f64", &[whole.into()]);
        let rest = self.fma(whole, -FRAC_PI_2, x);
        let rest = self.fma(whole, -FRAC_PI_2_LOW, rest);
        let rest = self.fma(whole, -FRAC_PI_2_LOWEST, rest);
        self.assembly.assign(r, rest);
        self.assembly.line(format_args!("bra {done}"));
        self.assembly.place(&large);
        self.reduce_large(x, r, n);
        self.assembly.place(&done);
        (r, n)
    }

    /// The same by exact multiplication with those bits of 2 / π that matter.
    fn reduce_large(&mut self, x: Register, r: Register, n: Register) {
        self.library.uses_table = true;
        let magnitude = self.abs(x);
        let bits = self.bits_of(magnitude);
        let biased = self.long("shr.u64", bits, 52);
        let fraction = self.long("and.b64", bits, (1i64 << 52) - 1);
        let digits = self.long("or.b64", fraction, 1i64 << 52);
        // x = digits · 2^(biased - 1075). Bits of 2/π whose products are multiples of 4 are left out: what follows starts
        // at bit biased - 1076, counted from 1, and the table has 64 zeros in front.
        let first = self.long("sub.s64", biased, 1076 - 63);
        let word = self.long("shr.u64", first, 6);
        let shift = self.long("and.b64", first, 63);
        let shift = self.assembly.unary(Class::Word, "cvt.u32.u64", shift);
        let back = self.assembly.binary(Class::Word, "sub.s32", 64, shift);
        let base = self.assembly.fresh(Class::Long);
        self.assembly.line(format_args!("mov.u64 {base}, lithify_two_over_pi"));
        let offset = self.long("shl.b64", word, 3);
        let address = self.long("add.s64", base, offset);
        let words: Vec<Register> = (0..4)
            .map(|place| {
                let word = self.assembly.fresh(Class::Long);
                self.assembly.line(format_args!("ld.const.u64 {word}, [{address}+{}]", 8 * place));
                word
            })
            .collect();
        let aligned: Vec<Register> = (0..3)
            .map(|place| {
                let high = self.long("shl.b64", words[place], shift);
                let low = self.long("shr.u64", words[place + 1], back);
                self.long("or.b64", high, low)
            })
            .collect();
        // The low 192 bits of the product; it counts units of 2^-190.
        let low = self.long("mul.lo.u64", digits, aligned[2]);
        let carried = self.long("mul.hi.u64", digits, aligned[2]);
        let middle = self.long("mul.lo.u64", digits, aligned[1]);
        let middle = self.long("add.u64", middle, carried);
        let wrapped = self.assembly.binary(Class::Predicate, "setp.lt.u64", middle, carried);
        let carry = self.assembly.select(Class::Long, wrapped, 1, 0);
        let carried = self.long("mul.hi.u64", digits, aligned[1]);
        let high = self.long("mul.lo.u64", digits, aligned[0]);
        let high = self.long("add.u64", high, carried);
        let high = self.long("add.u64", high, carry);
        // The two leading bits are the quadrant, the rest a fraction that is taken between -1/2 and 1/2.
        let part = self.long("shr.u64", middle, 62);
        let top = self.long("shl.b64", high, 2);
        let top = self.long("or.b64", top, part);
        let part = self.long("shr.u64", low, 62);
        let next = self.long("shl.b64", middle, 2);
        let next = self.long("or.b64", next, part);
        let quadrant = self.long("shr.u64", high, 62);
        let round = self.long("shr.u64", top, 63);
        let quadrant = self.long("add.u64", quadrant, round);
        let quadrant = self.assembly.unary(Class::Word, "cvt.u32.u64", quadrant);
        let leading = self.assembly.unary(Class::Double, "cvt.rn.f64.s64", top);
        let back = self.assembly.unary(Class::Long, "cvt.rni.s64.f64", leading);
        let lost = self.long("sub.s64", top, back);
        let lost = self.assembly.unary(Class::Double, "cvt.rn.f64.s64", lost);
        let trailing = self.assembly.unary(Class::Double, "cvt.rn.f64.u64", next);
        let unit = (1.0 / f64::from(1u32 << 31)) / f64::from(1u32 << 31) / 4.0;
        let lost = self.fma(trailing, unit, lost);
        let product = self.mul(leading, FRAC_PI_2);
        let negated = self.neg(product);
        let error = self.fma(leading, FRAC_PI_2, negated);
        let error = self.fma(leading, FRAC_PI_2_LOW, error);
        let error = self.fma(lost, FRAC_PI_2, error);
        let sum = self.add(product, error);
        let rest = self.mul(sum, unit);
        let negative = self.compare("lt", x, 0.0);
        let opposite = self.neg(rest);
        let rest = self.select(negative, opposite, rest);
        let infinite = self.compare("eq", magnitude, f64::INFINITY);
        let rest = self.select(infinite, f64::NAN, rest);
        self.assembly.assign(r, rest);
        let opposite = self.assembly.unary(Class::Word, "neg.s32", quadrant);
        let quadrant = self.assembly.select(Class::Word, negative, opposite, quadrant);
        self.assembly.assign(n, quadrant);
    }

    /// Sine and cosine of a reduced argument.
    fn reduced_sin_cos(&mut self, r: Register) -> (Register, Register) {
        let z = self.mul(r, r);
        let p = self.polynomial(z, &SIN);
        let cube = self.mul(z, r);
        let sine = self.fma(cube, p, r);
        let p = self.polynomial(z, &COS);
        let square = self.mul(z, z);
        let tail = self.mul(square, p);
        let head = self.fma(z, -0.5, 1.0);
        // What rounding took from the head.
        let rest = self.sub(1.0, head);
        let rest = self.fma(z, -0.5, rest);
        let tail = self.add(tail, rest);
        let cosine = self.add(head, tail);
        (sine, cosine)
    }

    fn bit(&mut self, n: Register, mask: i32) -> Register {
        let bit = self.assembly.binary(Class::Word, "and.b32", n, mask);
        self.assembly.binary(Class::Predicate, "setp.ne.s32", bit, 0)
    }

    pub(super) fn sin(&mut self, x: Register) -> Register {
        let (r, n) = self.reduce(x);
        let (sine, cosine) = self.reduced_sin_cos(r);
        let odd = self.bit(n, 1);
        let value = self.select(odd, cosine, sine);
        let negative = self.bit(n, 2);
        let opposite = self.neg(value);
        self.select(negative, opposite, value)
    }

    pub(super) fn cos(&mut self, x: Register) -> Register {
        let (r, n) = self.reduce(x);
        let (sine, cosine) = self.reduced_sin_cos(r);
        let odd = self.bit(n, 1);
        let value = self.select(odd, sine, cosine);
        let next = self.assembly.binary(Class::Word, "add.s32", n, 1);
        let negative = self.bit(next, 2);
        let opposite = self.neg(value);
        self.select(negative, opposite, value)
    }

    pub(super) fn tan(&mut self, x: Register) -> Register {
        let (r, n) = self.reduce(x);
        let (sine, cosine) = self.reduced_sin_cos(r);
        let odd = self.bit(n, 1);
        let opposite = self.neg(cosine);
        let numerator = self.select(odd, opposite, sine);
        let denominator = self.select(odd, sine, cosine);
        self.div(numerator, denominator)
    }

    pub(super) fn atan(&mut self, x: Register) -> Register {
        let a = self.abs(x);
        let (steep, middle) =
            (self.compare("gt", a, 2.414_213_562_373_095), self.compare("gt", a, 0.414_213_562_373_095));
        let (below, above) = (self.sub(a, 1.0), self.add(a, 1.0));
        let numerator = self.select(middle, below, a);
        let denominator = self.select(middle, above, 1.0);
        let numerator = self.select(steep, -1.0, numerator);
        let denominator = self.select(steep, a, denominator);
        let t = self.div(numerator, denominator);
        let base = self.select(middle, FRAC_PI_4, 0.0);
        let base = self.select(steep, FRAC_PI_2, base);
        let rest = self.select(middle, FRAC_PI_2_LOW / 2.0, 0.0);
        let rest = self.select(steep, FRAC_PI_2_LOW, rest);
        let z = self.mul(t, t);
        let p = self.polynomial(z, &ATAN);
        let cube = self.mul(z, t);
        let angle = self.fma(cube, p, t);
        let angle = self.add(angle, rest);
        let angle = self.add(base, angle);
        self.copy_sign(angle, x)
    }

    pub(super) fn asin(&mut self, x: Register) -> Register {
        let (below, above) = (self.sub(1.0, x), self.add(x, 1.0));
        let product = self.mul(below, above);
        let root = self.sqrt(product);
        let quotient = self.div(x, root);
        self.call("atan", &[quotient])
    }

    pub(super) fn acos(&mut self, x: Register) -> Register {
        let (below, above) = (self.sub(1.0, x), self.add(x, 1.0));
        let quotient = self.div(below, above);
        let root = self.sqrt(quotient);
        let half = self.call("atan", &[root]);
        self.add(half, half)
    }

    /// The angle of the point (x, y).
    pub(super) fn atan2(&mut self, y: Register, x: Register) -> Register {
        let (height, width) = (self.abs(y), self.abs(x));
        let steep = self.compare("gt", height, width);
        let numerator = self.select(steep, width, height);
        let denominator = self.select(steep, height, width);
        let quotient = self.div(numerator, denominator);
        let equal = self.compare("eq", height, width);
        let quotient = self.select(equal, 1.0, quotient);
        let zero = self.compare("eq", height, 0.0);
        let quotient = self.select(zero, 0.0, quotient);
        let angle = self.call("atan", &[quotient]);
        let complement = self.sub(FRAC_PI_2, angle);
        let angle = self.select(steep, complement, angle);
        let bits = self.bits_of(x);
        let left = self.assembly.binary(Class::Predicate, "setp.lt.s64", bits, 0);
        let supplement = self.sub(PI, angle);
        let angle = self.select(left, supplement, angle);
        let angle = self.copy_sign(angle, y);
        // NaN in either is in the sum.
        let sum = self.add(height, width);
        let defined = self.compare("eq", sum, sum);
        self.select(defined, angle, sum)
    }
}
