//! Global memory: buffers at virtual addresses.

use std::collections::HashMap;
use std::fmt;

use crate::region::{Refusal, Region};

/// Bits of an address below the number of its buffer.
const OFFSET_BITS: u32 = 40;

/// Buffer numbers that stand for the windows of generic addressing.
const SHARED_BUFFER: u64 = 0xFF_FFFE;
const LOCAL_BUFFER: u64 = 0xFF_FFFF;

/// Generic address of the first byte of shared memory.
pub const SHARED_WINDOW: u64 = SHARED_BUFFER << OFFSET_BITS;
/// Generic address of the first byte of a lane's local memory.
pub const LOCAL_WINDOW: u64 = LOCAL_BUFFER << OFFSET_BITS;

/// Buffer number and offset of an address.
pub fn split(address: u64) -> (u64, u64) {
    (address >> OFFSET_BITS, address & ((1 << OFFSET_BITS) - 1))
}

/// An address in global memory: a buffer's number above its offset, so that no two buffers are neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DevicePtr(pub u64);

impl DevicePtr {
    /// The address `bytes` further on.
    #[must_use]
    pub fn offset(self, bytes: u64) -> Self {
        Self(self.0.wrapping_add(bytes))
    }
}

/// An access from the host that is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryError {
    /// The range does not lie in one live buffer.
    OutOfBounds(DevicePtr, usize),
    /// A byte of the range was never written.
    Uninitialized(DevicePtr, usize),
}

impl fmt::Display for MemoryError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfBounds(at, bytes) => {
                write!(formatter, "{bytes} bytes at {:#x} do not lie in one live buffer", at.0)
            }
            Self::Uninitialized(at, bytes) => {
                write!(formatter, "{bytes} bytes at {:#x} are read, but some were never written", at.0)
            }
        }
    }
}

impl std::error::Error for MemoryError {}

#[derive(Debug)]
struct Buffer {
    region: Region,
    read_only: bool,
}

/// The memory of a device.
#[derive(Debug, Default)]
pub struct Memory {
    buffers: Vec<Option<Buffer>>,
    /// Addresses of the variables of each module launched so far, by the module's number.
    pub(crate) modules: HashMap<u64, Vec<u64>>,
}

impl Memory {
    /// Memory without buffers.
    pub fn new() -> Self {
        Self::default()
    }

    /// A new buffer of bytes that must be written before they are read. Its address is a multiple of every alignment.
    pub fn allocate(&mut self, bytes: usize) -> DevicePtr {
        self.buffers.push(Some(Buffer { region: Region::poisoned(bytes), read_only: false }));
        DevicePtr((self.buffers.len() as u64) << OFFSET_BITS)
    }

    /// Ends the life of the buffer at `pointer`; false when no live buffer starts there.
    pub fn free(&mut self, pointer: DevicePtr) -> bool {
        let (number, offset) = split(pointer.0);
        let slot = usize::try_from(number).ok().and_then(|number| self.buffers.get_mut(number.wrapping_sub(1)));
        offset == 0 && slot.is_some_and(|slot| slot.take().is_some())
    }

    /// A module's variable with its initial bytes.
    pub(crate) fn allocate_variable(&mut self, bytes: &[u8], read_only: bool) -> u64 {
        let mut region = Region::poisoned(bytes.len());
        let written = region.write(0, bytes);
        debug_assert!(written.is_ok(), "the region was made for these bytes");
        self.buffers.push(Some(Buffer { region, read_only }));
        (self.buffers.len() as u64) << OFFSET_BITS
    }

    /// Bytes of the buffer that holds `address`.
    pub(crate) fn buffer_bytes(&self, address: u64) -> Option<usize> {
        self.buffer(split(address).0).map(|buffer| buffer.region.len())
    }

    #[inline]
    fn buffer(&self, number: u64) -> Option<&Buffer> {
        self.buffers.get((number as usize).wrapping_sub(1))?.as_ref()
    }

    /// The region a kernel reads at buffer `number`.
    #[inline]
    pub(crate) fn region(&self, number: u64) -> Option<&Region> {
        self.buffer(number).map(|buffer| &buffer.region)
    }

    /// The region a kernel writes at buffer `number`, and whether that is forbidden.
    #[inline]
    pub(crate) fn region_mut(&mut self, number: u64) -> Option<(&mut Region, bool)> {
        let buffer = self.buffers.get_mut((number as usize).wrapping_sub(1))?.as_mut()?;
        Some((&mut buffer.region, buffer.read_only))
    }

    /// Copies bytes from the host.
    ///
    /// # Errors
    /// [`MemoryError::OutOfBounds`] when the range does not lie in one live buffer.
    pub fn write(&mut self, to: DevicePtr, bytes: &[u8]) -> Result<(), MemoryError> {
        let (number, offset) = split(to.0);
        let error = MemoryError::OutOfBounds(to, bytes.len());
        let Some((region, _)) = self.region_mut(number) else { return Err(error) };
        region.write(offset, bytes).map_err(|_| error)
    }

    /// Copies bytes to the host.
    ///
    /// # Errors
    /// When the range does not lie in one live buffer, or when a byte of it was never written.
    pub fn read(&self, from: DevicePtr, bytes: usize) -> Result<&[u8], MemoryError> {
        let (number, offset) = split(from.0);
        let Some(region) = self.region(number) else { return Err(MemoryError::OutOfBounds(from, bytes)) };
        region.read(offset, bytes).map_err(|refusal| match refusal {
            Refusal::OutOfBounds => MemoryError::OutOfBounds(from, bytes),
            Refusal::Uninitialized => MemoryError::Uninitialized(from, bytes),
        })
    }

    /// Copies singles from the host.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn write_f32(&mut self, to: DevicePtr, values: &[f32]) -> Result<(), MemoryError> {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.write(to, &bytes)
    }

    /// Copies singles to the host.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_f32(&self, from: DevicePtr, count: usize) -> Result<Vec<f32>, MemoryError> {
        let bytes = self.read(from, count * 4)?;
        Ok(bytes.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_apart_and_die() {
        let mut memory = Memory::new();
        let (a, b) = (memory.allocate(8), memory.allocate(8));
        memory.write_f32(a, &[1.0, 2.0]).unwrap();
        assert_eq!(memory.read_f32(a.offset(4), 1), Ok(vec![2.0]));
        assert_eq!(memory.read(a, 9), Err(MemoryError::OutOfBounds(a, 9)));
        assert_eq!(memory.read(b, 1), Err(MemoryError::Uninitialized(b, 1)));
        assert!(memory.free(a) && !memory.free(a));
        assert!(memory.read(a, 1).is_err() && memory.read(DevicePtr(0), 1).is_err());
    }
}
