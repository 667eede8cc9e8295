//! Atomics of a warp, lane after lane.

use super::Block;
use super::memory::lanes_of;
use super::shared::Touch;
use super::warp::Warp;
use crate::fault::{FaultReason, Stop};
use crate::lanes::{LANES, Lane};
use crate::memory::split;
use crate::operation::{Access, AtomicFunction};
use crate::region::Refusal;
use crate::statement::Space;
use crate::types::Type;

/// The value an atomic leaves behind.
pub fn apply(function: AtomicFunction, kind: Type, old: u64, b: u64, c: u64) -> u64 {
    use AtomicFunction as F;
    let signed = |bits: u64| if kind.bytes() == 4 { i64::from(bits as i32) } else { bits as i64 };
    let less = if kind.is_signed() { signed(b) < signed(old) } else { b < old };
    let value = match (function, kind) {
        (F::Add, Type::F32) => (f32::get(old) + f32::get(b)).put(),
        (F::Add, Type::F64) => (f64::get(old) + f64::get(b)).put(),
        (F::Add, _) => old.wrapping_add(b),
        (F::Min, _) => {
            if less {
                b
            } else {
                old
            }
        }
        (F::Max, _) => {
            if less {
                old
            } else {
                b
            }
        }
        (F::And, _) => old & b,
        (F::Or, _) => old | b,
        (F::Xor, _) => old ^ b,
        (F::Exchange, _) => b,
        (F::CompareAndSwap, _) => {
            if old == b {
                c
            } else {
                old
            }
        }
        (F::Increment, _) => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        (F::Decrement, _) => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
    };
    value & kind.mask()
}

impl Warp<'_> {
    #[allow(clippy::too_many_arguments)]
    pub(super) fn atomic(
        &mut self,
        access: &Access,
        function: AtomicFunction,
        kind: Type,
        d: Option<u32>,
        [b, c]: [u32; 2],
        active: u32,
        line: u32,
        block: &mut Block<'_>,
    ) -> Result<(), Stop> {
        self.need(access.base, active)?;
        let mut out = [0; LANES];
        for lane in lanes_of(active) {
            let (space, address) = self.locate(access, lane)?;
            let (b, c) = (self.registers[b as usize][lane], self.registers[c as usize][lane]);
            let (region, offset) = match space {
                Space::Shared => (Some(&mut block.shared.region), address),
                Space::Global => {
                    let (number, offset) = split(address);
                    match block.memory.region_mut(number) {
                        Some((_, true)) => {
                            return Err(Stop { lane: lane as u32, reason: FaultReason::ReadOnly { address } });
                        }
                        found => (found.map(|(region, _)| region), offset),
                    }
                }
                _ => (None, address),
            };
            let result = region.ok_or(Refusal::OutOfBounds).and_then(|region| {
                let mut old = [0];
                region.load(offset, access.bytes, &mut old)?;
                region.store(offset, access.bytes, &[apply(function, kind, old[0], b, c)])?;
                Ok(old[0])
            });
            out[lane] = result.map_err(|refusal| self.refuse(refusal, space, address, access, lane, block))?;
            if space == Space::Shared {
                let touched = block.shared.touch(self.index, address, access.bytes, Touch::Atomic, line);
                touched.map_err(|reason| Stop { lane: lane as u32, reason })?;
            }
        }
        if let Some(d) = d {
            self.put(d, &out, active);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions() {
        use AtomicFunction as F;
        assert_eq!(apply(F::Min, Type::S32, 5, 0xFFFF_FFFF, 0), 0xFFFF_FFFF);
        assert_eq!(apply(F::Min, Type::U32, 5, 0xFFFF_FFFF, 0), 5);
        assert_eq!(apply(F::Add, Type::U32, 0xFFFF_FFFF, 2, 0), 1);
        assert_eq!(apply(F::CompareAndSwap, Type::B32, 7, 7, 9), 9);
        assert_eq!(apply(F::CompareAndSwap, Type::B32, 6, 7, 9), 6);
        assert_eq!(apply(F::Increment, Type::U32, 3, 3, 0), 0);
        assert_eq!(apply(F::Decrement, Type::U32, 0, 3, 0), 3);
    }
}
