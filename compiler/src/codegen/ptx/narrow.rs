//! Floats narrower than 32 bits by integer arithmetic.

use super::assembly::{Class, Operand, Register};
use super::kernel::KernelEmitter;
use crate::codegen::clif::math::{NarrowFormat, NarrowSpecials};
use crate::graph::ElementType as E;

impl KernelEmitter<'_> {
    fn word(&mut self, opcode: &str, a: impl Into<Operand>, b: impl Into<Operand>) -> Register {
        self.assembly.binary(Class::Word, opcode, a, b)
    }

    /// `a` where the comparison of two signed words holds, else `b`.
    fn word_where(
        &mut self,
        (comparison, left, right): (&str, Register, i32),
        a: impl Into<Operand>,
        b: impl Into<Operand>,
    ) -> Register {
        let holds = self.assembly.binary(Class::Predicate, &format!("setp.{comparison}.s32"), left, right);
        self.assembly.select(Class::Word, holds, a, b)
    }

    /// The code nearest to an `f32`, ties to even; see the formats for what lies beyond.
    pub fn narrow_by_bits(&mut self, element: E, saturate: bool, value: Register) -> Result<Register, String> {
        let bits = self.assembly.bits(Class::Word, value);
        let magnitude = self.word("and.b32", bits, i32::MAX);
        if element == E::F8E8M0 {
            return Ok(self.narrow_to_exponent(saturate, magnitude));
        }
        let format = NarrowFormat::of(element).ok_or_else(|| format!("{element} is no narrow float"))?;
        let dropped = 23 - format.fraction;
        // Half less one, and one more where the last bit kept is odd.
        let last = self.word("shr.u32", magnitude, dropped);
        let odd = self.word("and.b32", last, 1);
        let rounded = self.word("add.s32", magnitude, (1 << (dropped - 1)) - 1);
        let rounded = self.word("add.s32", rounded, odd);
        let code = self.word("shr.u32", rounded, dropped);
        let mut code = self.word("sub.s32", code, (127 - format.bias) << format.fraction);
        if format.bias != 127 {
            // Added to a number whose ulp is the least denormal, the sum holds the code in its low bits.
            let step = 24 - format.bias - format.fraction as i32;
            let anchor = f32::from_bits(((step + 127) as u32) << 23);
            let absolute = self.assembly.bits(Class::Single, magnitude);
            let sum = self.assembly.binary(Class::Single, "add.rn.f32", absolute, anchor);
            let sum = self.assembly.bits(Class::Word, sum);
            let denormal = self.word("sub.s32", sum, anchor.to_bits());
            code = self.word_where(("lt", magnitude, (128 - format.bias) << 23), denormal, code);
        }
        let limit = if saturate && format.saturates { format.max } else { format.beyond };
        let code = self.word_where(("gt", code, format.max), limit, code);
        let code = self.word_where(("gt", magnitude, 0x7f80_0000), format.nan, code);
        let sign = self.word("shr.u32", bits, 32 - format.bits);
        let mut sign = self.word("and.b32", sign, format.sign());
        if format.specials == NarrowSpecials::MinusZeroNan {
            sign = self.word_where(("eq", code, 0), 0, sign);
            sign = self.word_where(("eq", code, format.nan), 0, sign);
        }
        Ok(self.word("xor.b32", code, sign))
    }

    /// The exponent of the least power of two not below a magnitude, with bias 127; 255 for infinities and NaN.
    fn narrow_to_exponent(&mut self, saturate: bool, magnitude: Register) -> Register {
        let rounded = self.word("add.s32", magnitude, 0x7f_ffff);
        let mut code = self.word("shr.u32", rounded, 23);
        if saturate {
            code = self.word_where(("gt", code, 0xfe), 0xfe, code);
        }
        self.word_where(("ge", magnitude, 0x7f80_0000), 0xff, code)
    }

    /// The `f32` of a code of at most 8 bits.
    pub fn widen_byte_float(&mut self, element: E, code: Register) -> Result<Register, String> {
        if element == E::F8E8M0 {
            // 2^-127 is a denormal, and 255 stands for NaN.
            let bits = self.word("shl.b32", code, 23);
            let bits = self.word_where(("eq", code, 0), 0x40_0000, bits);
            let bits = self.word_where(("eq", code, 0xff), 0x7fc0_0000, bits);
            return Ok(self.assembly.bits(Class::Single, bits));
        }
        let format = NarrowFormat::of(element).ok_or_else(|| format!("{element} is no narrow float"))?;
        let magnitude = self.word("and.b32", code, format.sign() - 1);
        let shifted = self.word("shl.b32", magnitude, 23 - format.fraction);
        let unscaled = self.assembly.bits(Class::Single, shifted);
        let scale = f32::from_bits(((254 - format.bias) as u32) << 23);
        let scaled = self.assembly.binary(Class::Single, "mul.rn.f32", unscaled, scale);
        let mut bits = self.assembly.bits(Class::Word, scaled);
        match format.specials {
            NarrowSpecials::Infinity => {
                let special = self.word("or.b32", shifted, 0x7f80_0000);
                bits = self.word_where(("gt", magnitude, format.max), special, bits);
            }
            NarrowSpecials::HighestNan => bits = self.word_where(("eq", magnitude, format.nan), 0x7fc0_0000, bits),
            NarrowSpecials::MinusZeroNan => bits = self.word_where(("eq", code, format.nan), 0x7fc0_0000, bits),
            NarrowSpecials::Finite => {}
        }
        let sign = self.word("and.b32", code, format.sign());
        let sign = self.word("shl.b32", sign, 32 - format.bits);
        let bits = self.word("or.b32", bits, sign);
        Ok(self.assembly.bits(Class::Single, bits))
    }
}
