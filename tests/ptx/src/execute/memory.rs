//! Loads and stores of a warp.

use super::Block;
use super::shared::Touch;
use super::warp::Warp;
use crate::fault::{FaultReason, Stop};
use crate::lanes::LANES;
use crate::memory::{LOCAL_WINDOW, SHARED_WINDOW, split};
use crate::operation::{Access, SINK};
use crate::region::Refusal;
use crate::statement::Space;

/// The lanes of a mask, lowest first.
pub fn lanes_of(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let lane = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            lane
        })
    })
}

fn name(space: Space) -> &'static str {
    match space {
        Space::Generic | Space::Global => "global",
        Space::Constant => "constant",
        Space::Shared => "shared",
        Space::Local => "local",
        Space::Parameter => "parameter",
    }
}

impl Block<'_> {
    /// Warps have met at a barrier.
    pub(super) fn meet(&mut self, warps: u32) {
        self.stats.barriers += 1;
        self.shared.meet(warps);
    }
}

impl Warp<'_> {
    /// Address of a lane's access, with the space a generic one lies in; checked for alignment.
    #[inline]
    pub(super) fn locate(&self, access: &Access, lane: usize) -> Result<(Space, u64), Stop> {
        let address = self.registers[access.base as usize][lane].wrapping_add_signed(access.offset);
        let bytes = access.bytes * access.count;
        let (space, address) = match access.space {
            Space::Generic => match split(address).0 << 40 {
                SHARED_WINDOW => (Space::Shared, address - SHARED_WINDOW),
                LOCAL_WINDOW => (Space::Local, address - LOCAL_WINDOW),
                _ => (Space::Global, address),
            },
            space => (space, address),
        };
        if address & u64::from(bytes - 1) != 0 {
            let reason = FaultReason::Misaligned { space: name(space), address, bytes };
            return Err(Stop { lane: lane as u32, reason });
        }
        Ok((space, address))
    }

    #[cold]
    pub(super) fn refuse(
        &self,
        refusal: Refusal,
        space: Space,
        address: u64,
        access: &Access,
        lane: usize,
        block: &Block<'_>,
    ) -> Stop {
        let available = match space {
            Space::Shared => block.shared.region.len(),
            Space::Local => self.kernel.local_bytes as usize,
            Space::Parameter => block.parameters.len(),
            _ => block.memory.buffer_bytes(address).unwrap_or(0),
        };
        let bytes = access.bytes * access.count;
        let space = name(space);
        let reason = match refusal {
            Refusal::OutOfBounds => FaultReason::OutOfBounds { space, address, bytes, available },
            Refusal::Uninitialized => FaultReason::UninitializedMemory { space, address },
        };
        Stop { lane: lane as u32, reason }
    }

    /// Offset in the warp's local memory of a lane's address.
    pub(super) fn local_offset(&self, address: u64, bytes: u32, lane: usize) -> Result<u64, Refusal> {
        if address.checked_add(u64::from(bytes)).is_none_or(|end| end > u64::from(self.kernel.local_bytes)) {
            return Err(Refusal::OutOfBounds);
        }
        Ok(lane as u64 * self.local_stride + address)
    }

    pub(super) fn load(
        &mut self,
        access: &Access,
        d: &[u32; 4],
        sign: Option<u32>,
        active: u32,
        line: u32,
        block: &mut Block<'_>,
    ) -> Result<(), Stop> {
        self.need(access.base, active)?;
        let count = access.count as usize;
        let total = access.bytes * access.count;
        let mut values = [0; 4];
        let values = &mut values[..count];
        // The same address is another place for each lane in local memory.
        let shareable = !matches!(access.space, Space::Local | Space::Generic);
        // No lane accesses the last byte of the address space: its buffers are the windows, which are small.
        let mut addresses = [u64::MAX; LANES];
        for lane in lanes_of(active) {
            let address = self.registers[access.base as usize][lane];
            addresses[lane] = address;
            // Lanes often share addresses with a neighbour or with the other half of the warp: what was read and
            // checked once is copied.
            let twin = if lane > 0 && addresses[lane - 1] == address { lane - 1 } else { lane & 15 };
            if twin != lane && addresses[twin] == address && shareable {
                for register in &mut self.loaded[..count] {
                    register[lane] = register[twin];
                }
                continue;
            }
            let (space, address) = self.locate(access, lane)?;
            let loaded = match space {
                Space::Shared => block.shared.region.load(address, access.bytes, values),
                Space::Parameter => block.parameters.load(address, access.bytes, values),
                Space::Local => self
                    .local_offset(address, total, lane)
                    .and_then(|offset| self.local.load(offset, access.bytes, values)),
                _ => {
                    let (number, offset) = split(address);
                    match block.memory.region(number) {
                        Some(region) => region.load(offset, access.bytes, values),
                        None => Err(Refusal::OutOfBounds),
                    }
                }
            };
            if let Err(refusal) = loaded {
                return Err(self.refuse(refusal, space, address, access, lane, block));
            }
            for (register, value) in self.loaded.iter_mut().zip(&*values) {
                register[lane] = *value;
            }
            if space == Space::Shared {
                let touched = block.shared.touch(self.index, address, total, Touch::Read, line);
                touched.map_err(|reason| Stop { lane: lane as u32, reason })?;
            }
        }
        for (index, &register) in d.iter().enumerate().take(count) {
            if register == SINK {
                continue;
            }
            let mut value = self.loaded[index];
            if let Some(bits) = sign {
                let shift = 64 - 8 * access.bytes;
                for lane in value.iter_mut() {
                    *lane = ((*lane << shift) as i64 >> shift) as u64 & (u64::MAX >> (64 - bits));
                }
            }
            self.put(register, &value, active);
        }
        Ok(())
    }

    pub(super) fn store(
        &mut self,
        access: &Access,
        sources: &[u32; 4],
        active: u32,
        line: u32,
        block: &mut Block<'_>,
    ) -> Result<(), Stop> {
        self.need(access.base, active)?;
        let count = access.count as usize;
        let total = access.bytes * access.count;
        for &source in &sources[..count] {
            self.need(source, active)?;
        }
        for lane in lanes_of(active) {
            let (space, address) = self.locate(access, lane)?;
            let mut values = [0; 4];
            for (value, &source) in values.iter_mut().zip(&sources[..count]) {
                *value = self.registers[source as usize][lane];
            }
            let values = &values[..count];
            let stored = match space {
                Space::Shared => block.shared.region.store(address, access.bytes, values),
                Space::Local => self
                    .local_offset(address, total, lane)
                    .and_then(|offset| self.local.store(offset, access.bytes, values)),
                Space::Parameter => Err(Refusal::OutOfBounds),
                _ => {
                    let (number, offset) = split(address);
                    match block.memory.region_mut(number) {
                        Some((_, true)) => {
                            let reason = FaultReason::ReadOnly { address };
                            return Err(Stop { lane: lane as u32, reason });
                        }
                        Some((region, false)) => region.store(offset, access.bytes, values),
                        None => Err(Refusal::OutOfBounds),
                    }
                }
            };
            if let Err(refusal) = stored {
                return Err(self.refuse(refusal, space, address, access, lane, block));
            }
            if space == Space::Shared {
                let touched = block.shared.touch(self.index, address, total, Touch::Write, line);
                touched.map_err(|reason| Stop { lane: lane as u32, reason })?;
            }
        }
        Ok(())
    }
}
