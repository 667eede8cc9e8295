//! Resolves operands and checks their types.

use super::Decoder;
use super::names::Binding;
use crate::error::Error;
use crate::memory::LOCAL_WINDOW;
use crate::operation::{Access, Constant, PredicateSource, SINK, Special};
use crate::statement::{Operand, Space};
use crate::types::Type;

fn special(name: &str) -> Option<Special> {
    let axis = |suffix: &str| ["x", "y", "z"].iter().position(|axis| *axis == suffix);
    if let Some((base, suffix)) = name.split_once('.') {
        let axis = axis(suffix)?;
        return Some(match base {
            "%tid" => Special::ThreadIndex(axis),
            "%ntid" => Special::BlockSize(axis),
            "%ctaid" => Special::BlockIndex(axis),
            "%nctaid" => Special::GridSize(axis),
            _ => return None,
        });
    }
    Some(match name {
        "%laneid" => Special::Lane,
        "%warpid" => Special::Warp,
        "%nwarpid" => Special::WarpCount,
        "%lanemask_eq" => Special::LanesEqual,
        "%lanemask_lt" => Special::LanesBelow,
        "%lanemask_le" => Special::LanesUpTo,
        "%lanemask_gt" => Special::LanesAbove,
        "%lanemask_ge" => Special::LanesFrom,
        _ => return None,
    })
}

impl Decoder<'_> {
    /// Exactly `N` operands.
    pub(super) fn exactly<'o, const N: usize>(&self, operands: &'o [Operand]) -> Result<&'o [Operand; N], Error> {
        match operands.try_into() {
            Ok(array) => Ok(array),
            Err(_) => self.error(format!("{} operands given, {N} needed", operands.len())),
        }
    }

    /// A predicate by its name.
    pub(super) fn predicate(&self, name: &str) -> Result<u32, Error> {
        match self.lookup(name) {
            Some(Binding::Predicate(index)) => Ok(index),
            Some(_) => self.error(format!("{name} is not a predicate")),
            None => self.error(format!("{name} is not declared")),
        }
    }

    /// A predicate that may be negated.
    pub(super) fn predicate_source(&self, operand: &Operand) -> Result<PredicateSource, Error> {
        match operand {
            Operand::Name(name) => Ok((self.predicate(name)?, false)),
            Operand::Not(name) => Ok((self.predicate(name)?, true)),
            _ => self.error("expected a predicate"),
        }
    }

    fn register(&self, name: &str) -> Result<(u32, Type), Error> {
        match self.lookup(name) {
            Some(Binding::Register(index, kind)) => Ok((index, kind)),
            Some(_) => self.error(format!("{name} is not a register of a value")),
            None => self.error(format!("{name} is not declared")),
        }
    }

    /// A destination of exactly the instruction's size.
    pub(super) fn destination(&self, operand: &Operand, kind: Type) -> Result<u32, Error> {
        let Operand::Name(name) = operand else { return self.error("expected a register as the destination") };
        let (index, declared) = self.register(name)?;
        if !kind.accepts(declared) {
            return self.error(format!("{name} is declared {declared:?}, but the instruction writes {kind:?}"));
        }
        Ok(index)
    }

    /// A register that may be wider than the instruction's type, as loads, stores, and conversions allow; its type.
    pub(super) fn wide_register(&self, operand: &Operand, kind: Type) -> Result<(u32, Type), Error> {
        let Operand::Name(name) = operand else { return self.error("expected a register") };
        let (index, declared) = self.register(name)?;
        if declared.bytes() < kind.bytes() || (kind.is_float() && !kind.accepts(declared)) {
            return self.error(format!("{name} is declared {declared:?}, which does not hold {kind:?}"));
        }
        Ok((index, declared))
    }

    /// A register, special register, or literal of exactly the instruction's type.
    pub(super) fn source(&mut self, operand: &Operand, kind: Type) -> Result<u32, Error> {
        match operand {
            Operand::Name(name) => {
                if let Some(Binding::Register(index, declared)) = self.lookup(name) {
                    if !kind.accepts(declared) {
                        return self
                            .error(format!("{name} is declared {declared:?}, but the instruction reads {kind:?}"));
                    }
                    return Ok(index);
                }
                if let Some(special) = special(name) {
                    if kind.bytes() != 4 || kind.is_float() {
                        return self.error(format!("{name} has 32 bits, but the instruction reads {kind:?}"));
                    }
                    return Ok(self.constant(Constant::Special(special)));
                }
                if name == "WARP_SZ" {
                    return Ok(self.constant(Constant::Bits(32)));
                }
                let (index, _) = self.register(name)?;
                Ok(index)
            }
            Operand::Integer(value) if !kind.is_float() => Ok(self.constant(Constant::Bits(value & kind.mask()))),
            Operand::Float(value) if matches!(kind, Type::F32 | Type::B32) => {
                Ok(self.constant(Constant::Bits(u64::from((*value as f32).to_bits()))))
            }
            Operand::Float(value) if matches!(kind, Type::F64 | Type::B64) => {
                Ok(self.constant(Constant::Bits(value.to_bits())))
            }
            _ => self.error(format!("this operand is not of type {kind:?}")),
        }
    }

    /// An integer known from the text.
    pub(super) fn literal(&self, operand: &Operand) -> Result<u64, Error> {
        match operand {
            Operand::Integer(value) => Ok(*value),
            _ => self.error("expected an integer literal"),
        }
    }

    /// The register that holds the address of a variable plus an offset, and the variable's space.
    pub(super) fn address_of(&mut self, name: &str, offset: i64) -> Result<(u32, Space), Error> {
        let at = |start: u32| Constant::Bits(u64::from(start).wrapping_add_signed(offset));
        let (constant, space) = match self.lookup(name) {
            Some(Binding::Shared(start)) => (at(start), Space::Shared),
            Some(Binding::DynamicShared(align)) => (Constant::DynamicShared { align, offset }, Space::Shared),
            Some(Binding::Local(start)) => (at(start), Space::Local),
            Some(Binding::Parameter(start)) => (at(start), Space::Parameter),
            // The lane's own memory plays the parameters of calls.
            Some(Binding::Argument(start)) => (at(start), Space::Local),
            Some(Binding::Global(index, space)) => (Constant::Global(index), space),
            Some(_) => return self.error(format!("{name} is not a variable")),
            None => return self.error(format!("{name} is not declared")),
        };
        Ok((self.constant(constant), space))
    }

    /// The memory operand of an access in `space`.
    pub(super) fn access(&mut self, operand: &Operand, space: Space, bytes: u32, count: u32) -> Result<Access, Error> {
        let Operand::Address(base, offset) = operand else { return self.error("expected an address in brackets") };
        let mut access = Access { space, base: 0, offset: *offset, bytes, count };
        match base.as_deref().map(|name| (name, self.lookup(name))) {
            None => access.base = self.constant(Constant::Bits(0)),
            Some((name, Some(Binding::Register(index, kind)))) => {
                // Addresses of shared, local, and parameter memory fit 32 bits.
                let narrow = kind.bytes() == 4 && !matches!(space, Space::Global | Space::Generic | Space::Constant);
                if kind.bytes() != 8 && !narrow {
                    return self.error(format!("{name} is declared {kind:?}, which does not hold an address"));
                }
                access.base = index;
            }
            Some((name, _)) => {
                let moved = matches!(self.lookup(name), Some(Binding::Global(..)));
                let (register, found) = self.address_of(name, if moved { 0 } else { *offset })?;
                if !moved {
                    access.offset = 0;
                }
                access.base = register;
                let expected =
                    if found == Space::Local && space == Space::Parameter { Space::Parameter } else { found };
                if space != expected {
                    return self.error(format!("{name} lies in {found:?} memory, but the access is to {space:?}"));
                }
                access.space = found;
            }
        }
        if access.space == Space::Shared {
            self.kernel.shared_grain = self.kernel.shared_grain.min(bytes);
        }
        Ok(access)
    }

    /// The one to four registers of a vector or scalar operand; `_` is allowed where a value is dropped.
    pub(super) fn registers(
        &mut self,
        operand: &Operand,
        kind: Type,
        count: u32,
        load: bool,
    ) -> Result<[u32; 4], Error> {
        let single = std::slice::from_ref(operand);
        let list = match operand {
            Operand::Vector(list) => list.as_slice(),
            _ => single,
        };
        if list.len() != count as usize {
            return self.error(format!("a vector of {count} is needed, {} given", list.len()));
        }
        let mut registers = [SINK; 4];
        for (slot, operand) in registers.iter_mut().zip(list) {
            *slot = match operand {
                Operand::Name(name) if name == "_" && load => SINK,
                Operand::Name(name) if matches!(self.lookup(name), Some(Binding::Register(..))) => {
                    self.wide_register(operand, kind)?.0
                }
                _ if load => return self.error("expected registers as destinations"),
                _ => self.source(operand, kind)?,
            };
        }
        Ok(registers)
    }

    /// Bytes between the start of a space and its generic address.
    pub(super) fn window(space: Space) -> u64 {
        match space {
            Space::Shared => crate::memory::SHARED_WINDOW,
            Space::Local => LOCAL_WINDOW,
            _ => 0,
        }
    }
}
