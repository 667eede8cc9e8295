//! Bytes that know which of them were written.

/// A range of memory with one "was written" bit a byte.
#[derive(Clone, Debug, Default)]
pub struct Region {
    data: Vec<u8>,
    written: Vec<u64>,
}

/// Why an access to a region is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The access ends beyond the region.
    OutOfBounds,
    /// A byte was never written.
    Uninitialized,
}

impl Region {
    /// A region of poison.
    pub fn poisoned(bytes: usize) -> Self {
        Self { data: vec![0; bytes], written: vec![0; bytes.div_ceil(64)] }
    }

    /// Bytes in the region.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Forgets every byte.
    pub fn poison(&mut self) {
        self.written.fill(0);
    }

    fn check_bounds(&self, offset: u64, bytes: usize) -> Result<usize, Refusal> {
        let end = offset.checked_add(bytes as u64).ok_or(Refusal::OutOfBounds)?;
        if end > self.data.len() as u64 { Err(Refusal::OutOfBounds) } else { Ok(offset as usize) }
    }

    /// Reads a value of 1, 2, 4 or 8 bytes at an offset aligned to its size.
    #[inline]
    pub fn load(&self, offset: u64, bytes: u32) -> Result<u64, Refusal> {
        let at = self.check_bounds(offset, bytes as usize)?;
        let needed = (1u64 << bytes) - 1;
        if (self.written[at / 64] >> (at % 64)) & needed != needed {
            return Err(Refusal::Uninitialized);
        }
        let tail = &self.data[at..];
        Ok(match bytes {
            1 => u64::from(tail[0]),
            2 => u64::from(u16::from_le_bytes([tail[0], tail[1]])),
            4 => u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]])),
            _ => tail.first_chunk::<8>().map_or(0, |chunk| u64::from_le_bytes(*chunk)),
        })
    }

    /// Writes a value of 1, 2, 4 or 8 bytes at an offset aligned to its size.
    #[inline]
    pub fn store(&mut self, offset: u64, bytes: u32, value: u64) -> Result<(), Refusal> {
        let at = self.check_bounds(offset, bytes as usize)?;
        self.written[at / 64] |= ((1u64 << bytes) - 1) << (at % 64);
        let tail = &mut self.data[at..];
        match bytes {
            1 => tail[0] = value as u8,
            2 => tail[..2].copy_from_slice(&(value as u16).to_le_bytes()),
            4 => tail[..4].copy_from_slice(&(value as u32).to_le_bytes()),
            _ => tail[..8].copy_from_slice(&value.to_le_bytes()),
        }
        Ok(())
    }

    /// Reads bytes of any number and alignment.
    pub fn read(&self, offset: u64, bytes: usize) -> Result<&[u8], Refusal> {
        let at = self.check_bounds(offset, bytes)?;
        if (at..at + bytes).any(|byte| self.written[byte / 64] >> (byte % 64) & 1 == 0) {
            return Err(Refusal::Uninitialized);
        }
        Ok(&self.data[at..at + bytes])
    }

    /// Writes bytes of any number and alignment.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Refusal> {
        let at = self.check_bounds(offset, bytes.len())?;
        self.data[at..at + bytes.len()].copy_from_slice(bytes);
        for byte in at..at + bytes.len() {
            self.written[byte / 64] |= 1 << (byte % 64);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_and_poison_are_exact() {
        let mut region = Region::poisoned(70);
        assert_eq!(region.load(0, 4), Err(Refusal::Uninitialized));
        region.store(64, 4, 0x0102_0304).unwrap();
        assert_eq!(region.load(64, 4), Ok(0x0102_0304));
        assert_eq!(region.load(66, 2), Ok(0x0102));
        assert_eq!(region.load(64, 8), Err(Refusal::OutOfBounds));
        assert_eq!(region.load(u64::MAX - 1, 2), Err(Refusal::OutOfBounds));
        region.write(3, &[7; 6]).unwrap();
        assert_eq!(region.read(3, 6), Ok(&[7u8; 6][..]));
        assert_eq!(region.read(2, 6), Err(Refusal::Uninitialized));
        region.poison();
        assert_eq!(region.load(64, 1), Err(Refusal::Uninitialized));
    }
}
