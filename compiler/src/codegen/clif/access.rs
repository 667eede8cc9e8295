//! Loads and stores.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, StackSlotData, StackSlotKind, Type, Value, types};

use super::kernel::KernelEmitter;
use super::routines::POINTER;
use crate::graph::ElementType;
use crate::loops::{ExprId, ParameterId, Scalar, Store, StoreOp};
use crate::schedule::linear_stride;

impl KernelEmitter<'_, '_> {
    /// Flags of accesses to the caller's buffers, which may be unaligned.
    pub fn flags() -> MemFlagsData {
        MemFlagsData::new().with_notrap()
    }

    /// The position of an element in its buffer, from the scalar forms of the indices.
    pub fn linear(&mut self, parameter: ParameterId, index: &[ExprId]) -> Result<Value, String> {
        let shape = &self.kernel.parameter(parameter).shape;
        let mut total: Option<Value> = None;
        for (dim, &index) in shape.iter().zip(index) {
            let position = self.operand(index, false)?;
            total = Some(match total {
                None => position,
                Some(total) => {
                    let size = self.dim(dim);
                    let scaled = self.builder.ins().imul(total, size);
                    self.builder.ins().iadd(scaled, position)
                }
            });
        }
        Ok(total.unwrap_or_else(|| self.index(0)))
    }

    /// The address of the element at a linear position.
    pub fn address(&mut self, parameter: ParameterId, linear: Value) -> Value {
        let base = self.bases[parameter.0 as usize];
        let bytes = (self.kernel.parameter(parameter).element.bits() / 8) as i64;
        let offset =
            if bytes == 1 { linear } else { self.builder.ins().ishl_imm_u(linear, i64::from(bytes.trailing_zeros())) };
        self.builder.ins().iadd(base, offset)
    }

    /// The address of the element at an index, and a displacement from it; for elements of whole bytes.
    fn place(&mut self, parameter: ParameterId, index: &[ExprId]) -> Result<(Value, i32), String> {
        if let Some(place) = self.place_in_tile(parameter, index)? {
            return Ok(place);
        }
        let linear = self.linear(parameter, index)?;
        Ok((self.address(parameter, linear), 0))
    }

    /// Zeroed bytes on the stack.
    fn dummy_address(&mut self) -> Value {
        let slot = self.builder.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, 64, 6));
        self.builder.ins().stack_addr(POINTER, slot, 0)
    }

    /// The scalar element at an index.
    pub fn load_scalar(
        &mut self,
        parameter: ParameterId,
        index: &[ExprId],
        guard: Option<(ExprId, Scalar)>,
    ) -> Result<Value, String> {
        let element = self.kernel.parameter(parameter).element;
        if guard.is_none() && element.bits() >= 8 {
            let (address, offset) = self.place(parameter, index)?;
            let raw = self.builder.ins().load(storage_type(element)?, Self::flags(), address, offset);
            return self.decode(element, raw);
        }
        let linear = self.linear(parameter, index)?;
        let Some((condition, otherwise)) = guard else { return self.load_at(parameter, linear, None) };
        let condition = self.operand(condition, false)?;
        let value = self.load_at(parameter, linear, Some(condition))?;
        let otherwise = self.constant(otherwise, false)?;
        Ok(self.builder.ins().select(condition, value, otherwise))
    }

    /// Loads one element at a linear position and converts it to its compute type. Where `condition` does not hold the
    /// value is meaningless, but memory of the buffer is not touched.
    fn load_at(&mut self, parameter: ParameterId, linear: Value, condition: Option<Value>) -> Result<Value, String> {
        let element = self.kernel.parameter(parameter).element;
        let bits = element.bits();
        let (unit, lane) = if bits < 8 {
            let shift = (8 / bits as i64).trailing_zeros();
            let unit = self.builder.ins().sshr_imm_u(linear, i64::from(shift));
            (unit, Some(self.builder.ins().band_imm_s(linear, 8 / bits as i64 - 1)))
        } else {
            (linear, None)
        };
        let mut address = if bits < 8 {
            let base = self.bases[parameter.0 as usize];
            self.builder.ins().iadd(base, unit)
        } else {
            self.address(parameter, unit)
        };
        if let Some(condition) = condition {
            let dummy = self.dummy_address();
            address = self.builder.ins().select(condition, address, dummy);
        }
        let raw = self.builder.ins().load(storage_type(element)?, Self::flags(), address, 0);
        match lane {
            None => self.decode(element, raw),
            Some(lane) => {
                let shift = self.builder.ins().imul_imm_s(lane, bits as i64);
                let shift = self.builder.ins().ireduce(types::I8, shift);
                let shifted = self.builder.ins().ushr(raw, shift);
                let narrow = self.builder.ins().band_imm_s(shifted, (1 << bits) - 1);
                self.decode(element, narrow)
            }
        }
    }

    /// The elements at an index whose vector axis is in lanes.
    pub fn load_vector(
        &mut self,
        parameter: ParameterId,
        index: &[ExprId],
        guard: Option<(ExprId, Scalar)>,
    ) -> Result<Value, String> {
        let axis = self.vector.ok_or("a vector load outside a vector loop")?;
        let element = self.kernel.parameter(parameter).element;
        let stride = linear_stride(self.kernel, parameter, index, axis).ok_or("a vector load without a stride")?;
        let (mut address, mut offset) = self.place(parameter, index)?;
        let lane_type = storage_type(element)?;
        let vector_type = lane_type.by(self.features.lanes).ok_or("too many lanes")?;
        let condition = guard.map(|(condition, _)| self.operand(condition, false)).transpose()?;
        let contiguous = stride.as_const() == Some(1);
        let byte_stride = if contiguous {
            None
        } else {
            let stride = self.dim(&stride);
            Some(self.builder.ins().imul_imm_s(stride, (element.bits() / 8) as i64))
        };
        let mut step = byte_stride;
        if let Some(condition) = condition {
            let dummy = self.dummy_address();
            let exact = self.builder.ins().iadd_imm_s(address, i64::from(std::mem::take(&mut offset)));
            address = self.builder.ins().select(condition, exact, dummy);
            let zero = self.index(0);
            step = step.map(|step| self.builder.ins().select(condition, step, zero));
        }
        let value = match step {
            None => self.builder.ins().load(vector_type, Self::flags(), address, offset),
            Some(step) => {
                let address = self.builder.ins().iadd_imm_s(address, i64::from(offset));
                self.gather(lane_type, vector_type, address, step)
            }
        };
        match (condition, guard) {
            (Some(condition), Some((_, otherwise))) => {
                let otherwise = self.constant(otherwise, true)?;
                Ok(self.builder.ins().select(condition, value, otherwise))
            }
            _ => Ok(value),
        }
    }

    fn gather(&mut self, lane_type: Type, vector_type: Type, mut address: Value, step: Value) -> Value {
        let first = self.builder.ins().load(lane_type, Self::flags(), address, 0);
        let mut vector = self.builder.ins().scalar_to_vector(vector_type, first);
        for lane in 1..self.features.lanes {
            address = self.builder.ins().iadd(address, step);
            let value = self.builder.ins().load(lane_type, Self::flags(), address, 0);
            vector = self.builder.ins().insertlane(vector, value, lane as u8);
        }
        vector
    }

    /// Emits one store at the current point.
    pub fn store(&mut self, store: &Store) -> Result<(), String> {
        let element = self.kernel.parameter(store.parameter).element;
        if self.vector.is_some() {
            let (address, offset) = self.place(store.parameter, &store.index)?;
            let value = self.operand(store.value, true)?;
            self.builder.ins().store(Self::flags(), value, address, offset);
            return Ok(());
        }
        let Some(guard) = store.guard else { return self.store_scalar(store, element) };
        let guard = self.operand(guard, false)?;
        let (block, exit) = (self.builder.create_block(), self.builder.create_block());
        self.builder.ins().brif(guard, block, &[], exit, &[]);
        self.builder.switch_to_block(block);
        self.builder.seal_block(block);
        self.scopes.push(Default::default());
        self.store_scalar(store, element)?;
        self.scopes.pop();
        self.builder.ins().jump(exit, &[]);
        self.builder.seal_block(exit);
        self.builder.switch_to_block(exit);
        Ok(())
    }

    fn store_scalar(&mut self, store: &Store, element: ElementType) -> Result<(), String> {
        let linear = self.linear(store.parameter, &store.index)?;
        let mut value = self.operand(store.value, false)?;
        let compute = element.compute_type();
        if store.op != StoreOp::Set {
            let old = self.load_at(store.parameter, linear, None)?;
            value = self.update(store.op, compute, old, value)?;
        }
        let raw = self.encode(element, value)?;
        let bits = element.bits();
        if bits >= 8 {
            let address = self.address(store.parameter, linear);
            self.builder.ins().store(Self::flags(), raw, address, 0);
            return Ok(());
        }
        // Elements that share a byte: the others keep their bits.
        let per_byte = 8 / bits as i64;
        let unit = self.builder.ins().sshr_imm_u(linear, i64::from(per_byte.trailing_zeros()));
        let lane = self.builder.ins().band_imm_s(linear, per_byte - 1);
        let shift = self.builder.ins().imul_imm_s(lane, bits as i64);
        let shift = self.builder.ins().ireduce(types::I8, shift);
        let base = self.bases[store.parameter.0 as usize];
        let address = self.builder.ins().iadd(base, unit);
        let old = self.builder.ins().load(types::I8, Self::flags(), address, 0);
        let mask = self.builder.ins().iconst(types::I8, (1 << bits) - 1);
        let narrow = self.builder.ins().band(raw, mask);
        let (place, narrow) = (self.builder.ins().ishl(mask, shift), self.builder.ins().ishl(narrow, shift));
        let kept = self.builder.ins().band_not(old, place);
        // The first element of a byte clears the whole byte, so that padding bits of fresh memory are zero.
        let first = self.builder.ins().icmp_imm_s(IntCC::Equal, lane, 0);
        let zero = self.builder.ins().iconst(types::I8, 0);
        let in_place = self.kernel.parameter(store.parameter).access == crate::loops::Access::ReadWrite;
        let kept = if in_place { kept } else { self.builder.ins().select(first, zero, kept) };
        let merged = self.builder.ins().bor(kept, narrow);
        self.builder.ins().store(Self::flags(), merged, address, 0);
        Ok(())
    }
}

/// The CLIF type of an element in memory; sub-byte elements are read by the byte.
fn storage_type(element: ElementType) -> Result<Type, String> {
    Ok(match element.bits() {
        32 if element.is_float() => types::F32,
        64 if element == ElementType::F64 => types::F64,
        2 | 4 | 8 => types::I8,
        16 => types::I16,
        32 => types::I32,
        64 if element.is_integer() => types::I64,
        _ => return Err(format!("no code for element type {element}")),
    })
}
