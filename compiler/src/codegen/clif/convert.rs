//! Conversions between element types, and between storage and compute types.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};

use super::kernel::KernelEmitter;
use super::math::MathBuilder;
use super::scalar_type;
use crate::graph::ElementType as E;
use crate::loops::{CompareOp, Scalar};

impl KernelEmitter<'_, '_> {
    /// A value of compute type `from` converted to `to`; the result has the compute type of `to`.
    pub fn cast(&mut self, from: E, to: E, saturate: bool, value: Value) -> Result<Value, String> {
        let vector = self.builder.func.dfg.value_type(value).is_vector();
        let compute = to.compute_type();
        if to == E::Bool {
            if from == E::Bool {
                return Ok(value);
            }
            let zero = self.constant(Scalar::from_i64(from, 0), vector)?;
            return Ok(self.compare(CompareOp::Ne, from, value, zero));
        }
        let result = if from == E::Bool && vector {
            let one = self.constant(Scalar::from_i64(compute, 1), true)?;
            let ty = self.builder.func.dfg.value_type(one);
            let mask = if ty.lane_type().is_float() {
                self.builder.ins().bitcast(ty, MemFlagsData::new(), value)
            } else {
                value
            };
            self.builder.ins().band(mask, one)
        } else {
            match (from.is_float(), compute.is_float()) {
                (true, true) => self.float_to_float(from, compute, value),
                (true, false) => self.float_to_integer(from, compute, value)?,
                (false, true) => self.integer_to_float(from, compute, value),
                (false, false) => self.integer_to_integer(from, compute, value),
            }
        };
        if to == compute {
            return Ok(result);
        }
        if compute == E::F32 {
            // Rounded to the narrow type and back.
            let raw = self.narrow(to, saturate, result)?;
            return self.decode(to, raw);
        }
        // A sub-byte integer keeps its low bits, sign-extended if signed.
        let unused = 8 - to.bits() as i64;
        let high = self.builder.ins().ishl_imm_u(result, unused);
        Ok(if to.is_signed() {
            self.builder.ins().sshr_imm_u(high, unused)
        } else {
            self.builder.ins().ushr_imm_u(high, unused)
        })
    }

    fn float_to_float(&mut self, from: E, to: E, value: Value) -> Value {
        match (from, to) {
            (E::F32, E::F64) => self.builder.ins().fpromote(types::F64, value),
            (E::F64, E::F32) => self.builder.ins().fdemote(types::F32, value),
            _ => value,
        }
    }

    fn float_to_integer(&mut self, _from: E, to: E, value: Value) -> Result<Value, String> {
        let ty = self.builder.func.dfg.value_type(value);
        if ty.is_vector() {
            return Ok(self.builder.ins().fcvt_to_sint_sat(ty.as_int(), value));
        }
        let target = scalar_type(to).ok_or_else(|| format!("no code for element type {to}"))?;
        let wide = if target.bits() < 32 { types::I32 } else { target };
        let converted = if to.is_signed() {
            self.builder.ins().fcvt_to_sint_sat(wide, value)
        } else {
            self.builder.ins().fcvt_to_uint_sat(wide, value)
        };
        if target.bits() >= 32 {
            return Ok(converted);
        }
        let (low, high) = (Scalar::lowest(to).to_i64(), Scalar::highest(to).to_i64());
        let (low, high) = (self.builder.ins().iconst(wide, low & 0xffff_ffff), self.builder.ins().iconst(wide, high));
        let condition = if to.is_signed() { IntCC::SignedLessThan } else { IntCC::UnsignedLessThan };
        let below = self.builder.ins().icmp(condition, converted, low);
        let converted = self.builder.ins().select(below, low, converted);
        let above = self.builder.ins().icmp(condition, high, converted);
        let converted = self.builder.ins().select(above, high, converted);
        Ok(self.builder.ins().ireduce(target, converted))
    }

    fn integer_to_float(&mut self, from: E, to: E, value: Value) -> Value {
        let ty = self.builder.func.dfg.value_type(value);
        if ty.is_vector() {
            let float = types::F32.by(ty.lane_count()).expect("few lanes");
            return self.builder.ins().fcvt_from_sint(float, value);
        }
        let target = scalar_type(to).expect("floats have types");
        let value = if ty.bits() >= 32 {
            value
        } else if from.is_signed() {
            self.builder.ins().sextend(types::I32, value)
        } else {
            self.builder.ins().uextend(types::I32, value)
        };
        if from.is_signed() {
            self.builder.ins().fcvt_from_sint(target, value)
        } else {
            self.builder.ins().fcvt_from_uint(target, value)
        }
    }

    fn integer_to_integer(&mut self, from: E, to: E, value: Value) -> Value {
        let ty = self.builder.func.dfg.value_type(value);
        if ty.is_vector() {
            return value;
        }
        let target = scalar_type(to).expect("checked when the kernel was begun");
        match target.bits().cmp(&ty.bits()) {
            std::cmp::Ordering::Less => self.builder.ins().ireduce(target, value),
            std::cmp::Ordering::Equal => value,
            std::cmp::Ordering::Greater if from.is_signed() => self.builder.ins().sextend(target, value),
            std::cmp::Ordering::Greater => self.builder.ins().uextend(target, value),
        }
    }

    /// The compute form of an element as it lies in memory.
    pub fn decode(&mut self, element: E, raw: Value) -> Result<Value, String> {
        match element {
            E::I4 | E::I2 => {
                let unused = 8 - element.bits() as i64;
                let high = self.builder.ins().ishl_imm_u(raw, unused);
                Ok(self.builder.ins().sshr_imm_u(high, unused))
            }
            E::U4 | E::U2 => Ok(raw),
            other if other.is_float() && other.bits() < 32 => self.widen_float(other, raw),
            _ => Ok(raw),
        }
    }

    /// The form in memory of a value of the compute type of `element`. An infinity stays one where the type has it:
    /// what shall saturate has been cast before.
    pub fn encode(&mut self, element: E, value: Value) -> Result<Value, String> {
        if element.is_float() && element.bits() < 32 { self.narrow(element, false, value) } else { Ok(value) }
    }

    fn widen_float(&mut self, element: E, raw: Value) -> Result<Value, String> {
        let code = self.builder.ins().uextend(types::I32, raw);
        let mut math = MathBuilder::like(&mut self.builder, code, self.features.fma);
        math.widen(element, code).ok_or_else(|| format!("{element} is no narrow float"))
    }

    /// The bits of a narrow float nearest to an `f32`.
    fn narrow(&mut self, element: E, saturate: bool, value: Value) -> Result<Value, String> {
        let mut math = MathBuilder::like(&mut self.builder, value, self.features.fma);
        let code = math.narrow(element, saturate, value).ok_or_else(|| format!("{element} is no narrow float"))?;
        let ty = if element.bits() == 16 { types::I16 } else { types::I8 };
        Ok(self.builder.ins().ireduce(ty, code))
    }
}
