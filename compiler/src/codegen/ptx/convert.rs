//! Conversions between element types, and between storage and compute types.

use super::assembly::{Class, Register};
use super::kernel::{KernelEmitter, scalar_type};
use crate::graph::ElementType as E;
use crate::loops::{CompareOp, Scalar};

impl KernelEmitter<'_> {
    /// A value of compute type `from` converted to `to`; the result has the compute type of `to`.
    pub fn cast(&mut self, from: E, to: E, saturate: bool, value: Register) -> Result<Register, String> {
        let compute = to.compute_type();
        if to == E::Bool {
            if from == E::Bool {
                return Ok(value);
            }
            let zero = Self::literal(Scalar::from_i64(from, 0));
            let holds = self.compare(CompareOp::Ne, from, value, zero)?;
            return Ok(self.bool(holds));
        }
        let (class, target) = scalar_type(compute)?;
        let (_, source) = scalar_type(from)?;
        let result = match (from.is_float(), compute.is_float()) {
            (true, true) if from == compute => value,
            (true, true) if compute == E::F64 => self.assembly.unary(class, "cvt.f64.f32", value),
            (true, true) => self.assembly.unary(class, "cvt.rn.f32.f64", value),
            (true, false) => return self.float_to_integer(from, to, value),
            (false, true) => self.assembly.unary(class, &format!("cvt.rn.{target}.{source}"), value),
            (false, false) => {
                let same = match (value.class, class) {
                    (Class::Word, Class::Long) => self.widen(from, value),
                    (Class::Long, Class::Word) => self.assembly.unary(class, "cvt.u32.u64", value),
                    _ => value,
                };
                return Ok(self.wrap(to, same));
            }
        };
        if to == compute {
            return Ok(result);
        }
        let code = self.narrow(to, saturate, result)?;
        self.widen_float(to, code)
    }

    /// Truncates and saturates; NaN gives 0.
    fn float_to_integer(&mut self, from: E, to: E, value: Register) -> Result<Register, String> {
        let (class, target) = scalar_type(to.compute_type())?;
        let (_, source) = scalar_type(from)?;
        let mut result = self.assembly.unary(class, &format!("cvt.rzi.{target}.{source}"), value);
        if to.bits() < 32 {
            let (low, high) = (Scalar::lowest(to), Scalar::highest(to));
            result = self.assembly.binary(class, &format!("max.{target}"), result, low.bits as i64);
            result = self.assembly.binary(class, &format!("min.{target}"), result, high.bits as i64);
        }
        let number = self.compare(CompareOp::Eq, from, value, value)?;
        Ok(self.assembly.select(class, number, result, 0))
    }

    /// The compute form of the code of an element: what lies in memory, in 16 bits for `f16`, else in 32.
    pub fn widen_float(&mut self, element: E, code: Register) -> Result<Register, String> {
        match element {
            E::F16 => Ok(self.assembly.unary(Class::Single, "cvt.f32.f16", code)),
            E::BF16 => {
                let bits = self.assembly.binary(Class::Word, "shl.b32", code, 16);
                Ok(self.assembly.bits(Class::Single, bits))
            }
            _ => self.widen_byte_float(element, code),
        }
    }

    /// The code of the narrow float nearest to an `f32`, in 16 bits for `f16`, else in 32.
    pub fn narrow(&mut self, element: E, saturate: bool, value: Register) -> Result<Register, String> {
        match element {
            E::F16 => Ok(self.assembly.unary(Class::Half, "cvt.rn.f16.f32", value)),
            _ => self.narrow_by_bits(element, saturate, value),
        }
    }
}
