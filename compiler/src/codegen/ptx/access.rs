//! Loads and stores.

use std::collections::HashMap;

use super::assembly::{Class, Register};
use super::kernel::KernelEmitter;
use crate::graph::ElementType as E;
use crate::loops::{Access, BinaryOp, ExprId, ParameterId, Scalar, Store, StoreOp};

/// The register class of an element as it lies in memory, and the type of the access; sub-byte elements are read by
/// the byte.
fn storage_type(element: E) -> Result<(Class, &'static str), String> {
    Ok(match element {
        E::F32 => (Class::Single, "f32"),
        E::F64 => (Class::Double, "f64"),
        E::F16 => (Class::Half, "b16"),
        E::I64 | E::U64 => (Class::Long, "u64"),
        E::I32 | E::U32 => (Class::Word, "u32"),
        E::I16 => (Class::Word, "s16"),
        E::U16 | E::BF16 => (Class::Word, "u16"),
        E::I8 => (Class::Word, "s8"),
        other if other.bits() <= 8 => (Class::Word, "u8"),
        _ => return Err(format!("there is no GPU code for element type {element}")),
    })
}

impl KernelEmitter<'_> {
    /// The position of an element in its buffer.
    fn linear(&mut self, parameter: ParameterId, index: &[ExprId]) -> Result<Register, String> {
        let kernel = self.kernel;
        let mut total: Option<Register> = None;
        for (dim, &index) in kernel.parameter(parameter).shape.iter().zip(index) {
            let position = self.value(index)?;
            total = Some(match total {
                None => position,
                Some(total) => {
                    let size = self.dim(dim)?;
                    self.assembly.emit(Class::Long, "mad.lo.s64", &[total.into(), size.into(), position.into()])
                }
            });
        }
        Ok(total.unwrap_or_else(|| self.assembly.constant(Class::Long, 0)))
    }

    /// The address of an element, and for elements that share a byte the shift to its bits there.
    fn address(&mut self, parameter: ParameterId, linear: Register) -> (Register, Option<Register>) {
        let base = self.bases[parameter.0 as usize];
        let bits = self.kernel.parameter(parameter).element.bits() as u32;
        if bits >= 8 {
            let operands = [linear.into(), (bits / 8).into(), base.into()];
            return (self.assembly.emit(Class::Long, "mad.lo.s64", &operands), None);
        }
        let per_byte = 8 / bits;
        let byte = self.assembly.binary(Class::Long, "shr.s64", linear, per_byte.trailing_zeros());
        let address = self.assembly.binary(Class::Long, "add.s64", base, byte);
        let low = self.assembly.unary(Class::Word, "cvt.u32.u64", linear);
        let lane = self.assembly.binary(Class::Word, "and.b32", low, per_byte - 1);
        (address, Some(self.assembly.binary(Class::Word, "mul.lo.u32", lane, bits)))
    }

    /// The element at an index, in its compute type.
    pub fn load(
        &mut self,
        parameter: ParameterId,
        index: &[ExprId],
        guard: Option<(ExprId, Scalar)>,
    ) -> Result<Register, String> {
        let linear = self.linear(parameter, index)?;
        let Some((condition, otherwise)) = guard else { return self.load_at(parameter, linear, None) };
        let condition = self.value(condition)?;
        let holds = self.predicate(condition);
        let value = self.load_at(parameter, linear, Some(holds))?;
        Ok(self.assembly.select(value.class, holds, value, Self::literal(otherwise)))
    }

    /// The element at a linear position; where `condition` does not hold memory is not touched.
    fn load_at(
        &mut self,
        parameter: ParameterId,
        linear: Register,
        condition: Option<Register>,
    ) -> Result<Register, String> {
        let element = self.kernel.parameter(parameter).element;
        let (class, kind) = storage_type(element)?;
        let (address, shift) = self.address(parameter, linear);
        let raw = self.assembly.fresh(class);
        match condition {
            None => self.assembly.line(format_args!("ld.global.{kind} {raw}, [{address}]")),
            Some(condition) => {
                match class {
                    Class::Single => self.assembly.assign(raw, 0f32),
                    Class::Double => self.assembly.assign(raw, 0f64),
                    _ => self.assembly.assign(raw, 0),
                }
                self.assembly.line(format_args!("@{condition} ld.global.{kind} {raw}, [{address}]"));
            }
        }
        let raw = match shift {
            Some(shift) => {
                let opcode = if element.is_signed() { "bfe.s32" } else { "bfe.u32" };
                let bits = element.bits() as u32;
                self.assembly.emit(Class::Word, opcode, &[raw.into(), shift.into(), bits.into()])
            }
            None => raw,
        };
        if element.is_float() && element.bits() < 32 { self.widen_float(element, raw) } else { Ok(raw) }
    }

    /// One store at the current point.
    pub fn store(&mut self, store: &Store) -> Result<(), String> {
        let Some(guard) = store.guard else { return self.store_always(store) };
        let guard = self.value(guard)?;
        let holds = self.predicate(guard);
        let skip = self.assembly.label();
        self.assembly.line(format_args!("@!{holds} bra {skip}"));
        self.scopes.push(HashMap::new());
        self.store_always(store)?;
        self.scopes.pop();
        self.assembly.place(&skip);
        Ok(())
    }

    fn store_always(&mut self, store: &Store) -> Result<(), String> {
        let parameter = self.kernel.parameter(store.parameter);
        let element = parameter.element;
        let linear = self.linear(store.parameter, &store.index)?;
        let mut value = self.value(store.value)?;
        let op = match store.op {
            StoreOp::Set => None,
            StoreOp::Add => Some(BinaryOp::Add),
            StoreOp::Mul => Some(BinaryOp::Mul),
            StoreOp::Min => Some(BinaryOp::Min),
            StoreOp::Max => Some(BinaryOp::Max),
        };
        if let Some(op) = op {
            let old = self.load_at(store.parameter, linear, None)?;
            value = self.binary(op, element.compute_type(), old, value)?;
        }
        let (_, kind) = storage_type(element)?;
        if element.is_float() && element.bits() < 32 {
            value = self.narrow(element, false, value)?;
        }
        let (address, shift) = self.address(store.parameter, linear);
        if let Some(shift) = shift {
            value = self.merge(element, parameter.access, address, shift, value);
        }
        self.assembly.line(format_args!("st.global.{kind} [{address}], {value}"));
        Ok(())
    }

    /// The byte at `address` with the bits of one element replaced.
    fn merge(&mut self, element: E, access: Access, address: Register, shift: Register, value: Register) -> Register {
        let old = self.assembly.constant(Class::Word, 0);
        if access == Access::ReadWrite {
            self.assembly.line(format_args!("ld.global.u8 {old}, [{address}]"));
        } else {
            // The first element of a byte clears the others: fresh memory has no contents.
            let later = self.assembly.binary(Class::Predicate, "setp.ne.u32", shift, 0);
            self.assembly.line(format_args!("@{later} ld.global.u8 {old}, [{address}]"));
        }
        let bits = element.bits() as u32;
        let operands = [value.into(), old.into(), shift.into(), bits.into()];
        self.assembly.emit(Class::Word, "bfi.b32", &operands)
    }
}
