//! Unary and binary operations of scalar expressions.

use cranelift_codegen::ir::{InstBuilder, Value, types};

use super::kernel::KernelEmitter;
use super::math;
use super::operations;
use super::scalar_type;
use crate::graph::ElementType as E;
use crate::loops::{BinaryOp, CompareOp, Scalar, UnaryOp};

impl KernelEmitter<'_, '_> {
    /// An operation on one operand of type `element`.
    pub fn unary(&mut self, op: UnaryOp, element: E, a: Value) -> Result<Value, String> {
        let vector = self.builder.func.dfg.value_type(a).is_vector();
        if op == UnaryOp::IsNan {
            return Ok(self.compare(CompareOp::Ne, element, a, a));
        }
        if !element.is_float() {
            return self.integer_unary(op, element, a, vector);
        }
        Ok(match op {
            UnaryOp::Neg => self.builder.ins().fneg(a),
            UnaryOp::Abs => self.builder.ins().fabs(a),
            UnaryOp::Floor => self.builder.ins().floor(a),
            UnaryOp::Ceil => self.builder.ins().ceil(a),
            UnaryOp::Round => self.builder.ins().nearest(a),
            UnaryOp::Trunc => self.builder.ins().trunc(a),
            UnaryOp::Sqrt => self.builder.ins().sqrt(a),
            UnaryOp::Sign => {
                let zero = self.constant(Scalar::from_i64(element, 0), vector)?;
                let (one, minus_one) = (
                    self.constant(Scalar::from_i64(element, 1), vector)?,
                    self.constant(Scalar::from_i64(element, -1), vector)?,
                );
                let (positive, negative) =
                    (self.compare(CompareOp::Gt, element, a, zero), self.compare(CompareOp::Lt, element, a, zero));
                // Zero and NaN stay as they are.
                let result = self.pick(positive, one, a);
                self.pick(negative, minus_one, result)
            }
            _ => {
                if math::inline_unary(op) == math::Inline::Always
                    && let Some(result) = math::unary(&mut self.builder, op, a, self.features.fma)
                {
                    return Ok(result);
                }
                return self.call_math(op.name(), element, &[a]);
            }
        })
    }

    fn pick(&mut self, condition: Value, a: Value, b: Value) -> Value {
        if self.builder.func.dfg.value_type(a).is_vector() {
            self.blend(condition, a, b)
        } else {
            self.builder.ins().select(condition, a, b)
        }
    }

    fn integer_unary(&mut self, op: UnaryOp, element: E, a: Value, vector: bool) -> Result<Value, String> {
        Ok(match op {
            UnaryOp::Neg => self.builder.ins().ineg(a),
            UnaryOp::Abs if element.is_signed() => self.builder.ins().iabs(a),
            UnaryOp::Not if element == E::Bool && !vector => self.builder.ins().bxor_imm_u(a, 1),
            UnaryOp::Not => self.builder.ins().bnot(a),
            UnaryOp::Sign => {
                let zero = self.constant(Scalar::from_i64(element, 0), vector)?;
                let one = self.constant(Scalar::from_i64(element, 1), vector)?;
                let positive = self.compare(CompareOp::Ne, element, a, zero);
                let result = self.pick(positive, one, zero);
                if !element.is_signed() {
                    return Ok(result);
                }
                let minus_one = self.constant(Scalar::from_i64(element, -1), vector)?;
                let negative = self.compare(CompareOp::Lt, element, a, zero);
                self.pick(negative, minus_one, result)
            }
            UnaryOp::Abs | UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Round | UnaryOp::Trunc => a,
            _ => return Err(format!("{} has no integer form", op.name())),
        })
    }

    /// Calls a stub function on every lane.
    pub fn call_math(&mut self, name: &str, element: E, operands: &[Value]) -> Result<Value, String> {
        let function = self.import(&format!("lithify_{name}_{element}"))?;
        let ty = self.builder.func.dfg.value_type(operands[0]);
        if !ty.is_vector() {
            let call = self.builder.ins().call(function, operands);
            return Ok(self.builder.inst_results(call)[0]);
        }
        let mut result = operands[0];
        for lane in 0..self.features.lanes as u8 {
            let scalars: Vec<Value> =
                operands.iter().map(|&operand| self.builder.ins().extractlane(operand, lane)).collect();
            let call = self.builder.ins().call(function, &scalars);
            let value = self.builder.inst_results(call)[0];
            result = self.builder.ins().insertlane(result, value, lane);
        }
        Ok(result)
    }

    /// An operation on two operands of type `element`.
    pub fn binary(&mut self, op: BinaryOp, element: E, a: Value, b: Value) -> Result<Value, String> {
        match op {
            BinaryOp::Min => return Ok(self.extremum(CompareOp::Lt, element, a, b)),
            BinaryOp::Max => return Ok(self.extremum(CompareOp::Gt, element, a, b)),
            _ => {}
        }
        if element.is_float() { self.float_binary(op, element, a, b) } else { self.integer_binary(op, element, a, b) }
    }

    fn float_binary(&mut self, op: BinaryOp, element: E, a: Value, b: Value) -> Result<Value, String> {
        Ok(match op {
            BinaryOp::Add => self.builder.ins().fadd(a, b),
            BinaryOp::Sub => self.builder.ins().fsub(a, b),
            BinaryOp::Mul => self.builder.ins().fmul(a, b),
            BinaryOp::Div => self.builder.ins().fdiv(a, b),
            BinaryOp::FloorDiv => {
                let quotient = self.builder.ins().fdiv(a, b);
                self.builder.ins().floor(quotient)
            }
            BinaryOp::Pow | BinaryOp::Rem | BinaryOp::Mod | BinaryOp::Atan2 => {
                if let Some(result) = math::binary(&mut self.builder, op, a, b, self.features.fma) {
                    return Ok(result);
                }
                return self.call_math(op.name(), element, &[a, b]);
            }
            _ => return Err(format!("{} has no float form", op.name())),
        })
    }

    fn integer_binary(&mut self, op: BinaryOp, element: E, a: Value, b: Value) -> Result<Value, String> {
        let signed = element.is_signed();
        let builder = &mut self.builder;
        Ok(match op {
            BinaryOp::Add => builder.ins().iadd(a, b),
            BinaryOp::Sub => builder.ins().isub(a, b),
            BinaryOp::Mul if builder.func.dfg.value_type(a) == types::I8 => {
                let (a, b) = (builder.ins().uextend(types::I32, a), builder.ins().uextend(types::I32, b));
                let product = builder.ins().imul(a, b);
                builder.ins().ireduce(types::I8, product)
            }
            BinaryOp::Mul => builder.ins().imul(a, b),
            BinaryOp::And => builder.ins().band(a, b),
            BinaryOp::Or => builder.ins().bor(a, b),
            BinaryOp::Xor => builder.ins().bxor(a, b),
            BinaryOp::Div => operations::div(builder, a, b, signed),
            BinaryOp::Rem => operations::rem(builder, a, b, signed),
            BinaryOp::FloorDiv => operations::floor_div(builder, a, b, signed),
            BinaryOp::Mod => operations::floor_mod(builder, a, b, signed),
            BinaryOp::ShiftLeft | BinaryOp::ShiftRight => {
                let ty = builder.func.dfg.value_type(a);
                let shifted = match (op, signed) {
                    (BinaryOp::ShiftLeft, _) => builder.ins().ishl(a, b),
                    (_, true) => builder.ins().sshr(a, b),
                    (_, false) => builder.ins().ushr(a, b),
                };
                let width = builder.ins().iconst(ty, i64::from(ty.bits()));
                let inside = builder.ins().icmp(cranelift_codegen::ir::condcodes::IntCC::UnsignedLessThan, b, width);
                let zero = builder.ins().iconst(ty, 0);
                builder.ins().select(inside, shifted, zero)
            }
            BinaryOp::Pow => {
                // In 64 bits: the low bits of a product depend on low bits alone.
                let ty = scalar_type(element).ok_or("no code for the type")?;
                let function = self.import(if signed { "lithify_pow_i64" } else { "lithify_pow_u64" })?;
                let (a, b) = (self.widen(a, signed), self.widen(b, signed));
                let call = self.builder.ins().call(function, &[a, b]);
                let result = self.builder.inst_results(call)[0];
                if ty == types::I64 { result } else { self.builder.ins().ireduce(ty, result) }
            }
            BinaryOp::Min | BinaryOp::Max | BinaryOp::Atan2 => {
                return Err(format!("{} has no integer form", op.name()));
            }
        })
    }

    /// An integer in 64 bits.
    pub fn widen(&mut self, value: Value, signed: bool) -> Value {
        match self.builder.func.dfg.value_type(value) {
            types::I64 => value,
            _ if signed => self.builder.ins().sextend(types::I64, value),
            _ => self.builder.ins().uextend(types::I64, value),
        }
    }
}
