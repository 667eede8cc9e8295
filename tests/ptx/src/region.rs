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

    /// Reads `values.len()` values of 1, 2, 4 or 8 bytes, 16 bytes at most, at an offset aligned to all of them.
    #[inline(always)]
    pub fn load(&self, offset: u64, bytes: u32, values: &mut [u64]) -> Result<(), Refusal> {
        let total = bytes as usize * values.len();
        let at = self.check_bounds(offset, total)?;
        let needed = (1u64 << total) - 1;
        if (self.written[at / 64] >> (at % 64)) & needed != needed {
            return Err(Refusal::Uninitialized);
        }
        let source = &self.data[at..at + total];
        match bytes {
            1 => source.iter().zip(values).for_each(|(byte, value)| *value = u64::from(*byte)),
            2 => source
                .as_chunks()
                .0
                .iter()
                .zip(values)
                .for_each(|(chunk, value)| *value = u64::from(u16::from_le_bytes(*chunk))),
            4 => source
                .as_chunks()
                .0
                .iter()
                .zip(values)
                .for_each(|(chunk, value)| *value = u64::from(u32::from_le_bytes(*chunk))),
            _ => {
                source.as_chunks().0.iter().zip(values).for_each(|(chunk, value)| *value = u64::from_le_bytes(*chunk));
            }
        }
        Ok(())
    }

    /// Writes values of 1, 2, 4 or 8 bytes, 16 bytes at most, at an offset aligned to all of them.
    #[inline(always)]
    pub fn store(&mut self, offset: u64, bytes: u32, values: &[u64]) -> Result<(), Refusal> {
        let total = bytes as usize * values.len();
        let at = self.check_bounds(offset, total)?;
        self.written[at / 64] |= ((1u64 << total) - 1) << (at % 64);
        let target = self.data[at..at + total].chunks_exact_mut(bytes as usize);
        for (chunk, value) in target.zip(values) {
            match bytes {
                1 => chunk[0] = *value as u8,
                2 => chunk.copy_from_slice(&(*value as u16).to_le_bytes()),
                4 => chunk.copy_from_slice(&(*value as u32).to_le_bytes()),
                _ => chunk.copy_from_slice(&value.to_le_bytes()),
            }
        }
        Ok(())
    }

    /// The words of `written` that a range of bytes has bits in, with the masks of those bits.
    fn words(at: usize, bytes: usize) -> impl Iterator<Item = (usize, u64)> {
        let end = at + bytes;
        (at / 64..end.div_ceil(64)).map(move |word| {
            let first = at.max(word * 64) - word * 64;
            let last = end.min(word * 64 + 64) - word * 64;
            (word, if last <= first { 0 } else { (u64::MAX >> (64 - (last - first))) << first })
        })
    }

    /// Reads bytes of any number and alignment.
    pub fn read(&self, offset: u64, bytes: usize) -> Result<&[u8], Refusal> {
        let at = self.check_bounds(offset, bytes)?;
        if Self::words(at, bytes).any(|(word, mask)| self.written[word] & mask != mask) {
            return Err(Refusal::Uninitialized);
        }
        Ok(&self.data[at..at + bytes])
    }

    /// Writes bytes of any number and alignment.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Refusal> {
        let at = self.check_bounds(offset, bytes.len())?;
        self.data[at..at + bytes.len()].copy_from_slice(bytes);
        for (word, mask) in Self::words(at, bytes.len()) {
            self.written[word] |= mask;
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
        let load = |region: &Region, offset, bytes| {
            let mut value = [0];
            region.load(offset, bytes, &mut value).map(|()| value[0])
        };
        assert_eq!(load(&region, 0, 4), Err(Refusal::Uninitialized));
        region.store(64, 2, &[0x0304, 0x0102]).unwrap();
        assert_eq!(load(&region, 64, 4), Ok(0x0102_0304));
        assert_eq!(load(&region, 66, 2), Ok(0x0102));
        assert_eq!(load(&region, 64, 8), Err(Refusal::OutOfBounds));
        assert_eq!(load(&region, u64::MAX - 1, 2), Err(Refusal::OutOfBounds));
        region.write(3, &[7; 6]).unwrap();
        assert_eq!(region.read(3, 6), Ok(&[7u8; 6][..]));
        assert_eq!(region.read(2, 6), Err(Refusal::Uninitialized));
        region.poison();
        assert_eq!(load(&region, 64, 1), Err(Refusal::Uninitialized));
        region.write(0, &[1; 70]).unwrap();
        assert!(region.read(0, 70).is_ok() && region.read(1, 0).is_ok());
    }
}
