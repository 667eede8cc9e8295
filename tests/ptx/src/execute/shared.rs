//! Shared memory with a shadow that finds races.
//!
//! Time is the number of barriers completed. A warp that takes part in a barrier then knows everything the other
//! participants did before it; an access by another warp that is not known, where one of the two writes, is a race.
//! Exact when all warps meet at every barrier; where only some meet, reads older than the last one are forgotten.

use crate::fault::FaultReason;
use crate::region::Region;

/// Stands for "some atomic" where a warp's number is expected.
const ATOMIC: u32 = 32;

/// The last accesses to a few bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Shadow {
    write_time: u32,
    write_line: u32,
    writer: u32,
    read_time: u32,
    read_line: u32,
    readers: u32,
}

/// How an access touches memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Touch {
    Read,
    Write,
    Atomic,
}

/// The shared memory of a block.
#[derive(Debug)]
pub struct Shared {
    /// Its bytes.
    pub region: Region,
    shadow: Vec<Shadow>,
    /// Logarithm of the bytes that an entry of the shadow stands for.
    grain_bits: u32,
    check: bool,
    /// Time starts at 1; 0 in a shadow stands for never.
    now: u32,
    /// For each warp, from when on the accesses of each other warp, and of atomics, are not known to it.
    unknown_since: Vec<[u32; 33]>,
}

impl Shared {
    /// Poisoned shared memory. `grain` is the smallest access of the kernel.
    pub fn new(bytes: u32, grain: u32, warps: u32, check: bool) -> Self {
        let entries = if check { bytes.div_ceil(grain) as usize } else { 0 };
        Self {
            region: Region::poisoned(bytes as usize),
            shadow: vec![Shadow::default(); entries],
            grain_bits: grain.trailing_zeros(),
            check,
            now: 1,
            unknown_since: vec![[1; 33]; warps as usize],
        }
    }

    /// Forgets everything, for the next block.
    pub fn reset(&mut self) {
        self.region.poison();
        self.shadow.fill(Shadow::default());
        self.now = 1;
        self.unknown_since.fill([1; 33]);
    }

    /// These warps have met at a barrier.
    pub fn meet(&mut self, warps: u32) {
        self.now += 1;
        for (warp, known) in self.unknown_since.iter_mut().enumerate() {
            if warps >> warp & 1 == 1 {
                for (other, time) in known.iter_mut().enumerate() {
                    if other == ATOMIC as usize || warps >> other & 1 == 1 {
                        *time = self.now;
                    }
                }
            }
        }
    }

    /// Records an access within bounds.
    #[inline]
    pub fn touch(&mut self, warp: u32, offset: u64, bytes: u32, touch: Touch, line: u32) -> Result<(), FaultReason> {
        if !self.check {
            return Ok(());
        }
        let known = &self.unknown_since[warp as usize];
        let first = offset as usize >> self.grain_bits;
        let last = (offset as usize + bytes as usize - 1) >> self.grain_bits;
        for (index, entry) in self.shadow[first..=last].iter_mut().enumerate() {
            // A repeated read: a write in between would have been reported.
            if touch == Touch::Read && entry.read_time == self.now && entry.readers >> warp & 1 == 1 {
                continue;
            }
            let race = |other: u32, other_line: u32| {
                let address = ((first + index) << self.grain_bits) as u64;
                let other_warp = (other != ATOMIC).then_some(other);
                Err(FaultReason::Race { address, write: touch != Touch::Read, other_warp, other_line })
            };
            let own = entry.writer == warp || (entry.writer == ATOMIC && touch == Touch::Atomic);
            if !own && entry.write_time >= known[entry.writer as usize] {
                return race(entry.writer, entry.write_line);
            }
            if touch == Touch::Read {
                if entry.read_time != self.now {
                    (entry.readers, entry.read_time) = (0, self.now);
                }
                entry.readers |= 1 << warp;
                entry.read_line = line;
                continue;
            }
            let others = entry.readers & !(1 << warp);
            if others != 0 {
                for other in (0..32).filter(|other| others >> other & 1 == 1) {
                    if entry.read_time >= known[other as usize] {
                        return race(other, entry.read_line);
                    }
                }
            }
            entry.writer = if touch == Touch::Atomic { ATOMIC } else { warp };
            (entry.write_time, entry.write_line) = (self.now, line);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_without_a_barrier_between_are_races() {
        let mut shared = Shared::new(64, 4, 2, true);
        shared.touch(0, 8, 4, Touch::Write, 10).unwrap();
        shared.touch(0, 8, 4, Touch::Read, 11).unwrap();
        let race = shared.touch(1, 0, 16, Touch::Read, 12).unwrap_err();
        assert_eq!(race, FaultReason::Race { address: 8, write: false, other_warp: Some(0), other_line: 10 });
        shared.meet(0b11);
        shared.touch(1, 0, 16, Touch::Read, 12).unwrap();
        assert!(shared.touch(0, 8, 4, Touch::Write, 13).is_err());
        shared.meet(0b11);
        shared.touch(0, 8, 4, Touch::Write, 13).unwrap();
    }

    #[test]
    fn atomics_race_only_with_plain_accesses() {
        let mut shared = Shared::new(64, 4, 3, true);
        shared.touch(0, 0, 4, Touch::Atomic, 1).unwrap();
        shared.touch(1, 0, 4, Touch::Atomic, 1).unwrap();
        assert!(shared.touch(2, 0, 4, Touch::Read, 2).is_err());
        shared.meet(0b111);
        shared.touch(2, 0, 4, Touch::Read, 2).unwrap();
    }

    #[test]
    fn a_barrier_of_two_warps_says_nothing_to_a_third() {
        let mut shared = Shared::new(64, 4, 3, true);
        shared.touch(0, 0, 4, Touch::Write, 1).unwrap();
        shared.meet(0b011);
        shared.touch(1, 0, 4, Touch::Read, 2).unwrap();
        assert!(shared.touch(2, 0, 4, Touch::Read, 3).is_err());
    }
}
