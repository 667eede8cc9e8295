//! Contractions in register tiles.
//!
//! ```text
//! for blocks of columns, for batch axes, for tiles of columns, for tiles of rows {
//!     accumulators = 0
//!     for looped reduction axes { for written-out points { accumulators += splat(rows[i]) * columns[j] } }
//!     stores of every row and vector of columns, with the accumulator as the reduction's result
//! }
//! ```
//!
//! Row tiles are innermost and blocks of columns outermost: a panel of columns stays in the cache while the rows stream
//! past. The builder's order is the schedule, so these functions are compiled without optimization of their own.

mod epilogue;
mod reduction;

use cranelift_codegen::ir::{InstBuilder, Value};

use super::kernel::KernelEmitter;
use crate::loops::AxisId;
use crate::schedule::ContractionSchedule;

pub(super) use self::epilogue::TilePoint;

/// The size of one register tile.
#[derive(Clone, Copy)]
struct Tile {
    rows: i64,
    /// Vectors of columns; 0 for a single column in scalar registers.
    vectors: i64,
    /// How many columns are stored, where fewer than the tile has.
    valid: Option<Value>,
}

/// A distance that loads can have as a displacement, several of them together still within 32 bits.
fn displacement(bytes: i64) -> Option<i32> {
    i32::try_from(bytes).ok().filter(|bytes| bytes.unsigned_abs() <= 1 << 29)
}

impl KernelEmitter<'_, '_> {
    /// Emits the whole kernel as register tiles over `begin..end` of the first outer axis.
    pub fn contraction(&mut self, schedule: &ContractionSchedule, begin: Value, end: Value) -> Result<(), String> {
        let range = (begin, end);
        match schedule.block_axis {
            Some(axis) => self.block_tiles(schedule, axis, range),
            None => self.contraction_outer(schedule, 0, Tile { rows: 0, vectors: 0, valid: None }, range),
        }
    }

    /// Where the loop over an axis starts and ends: a call walks a part of the first outer axis, and all of the others.
    fn axis_range(&mut self, axis: AxisId, range: (Value, Value)) -> (Value, Value) {
        if self.kernel.outer.first() == Some(&axis) {
            range
        } else {
            let extent = self.kernel.extent(axis).clone();
            (self.index(0), self.dim(&extent))
        }
    }

    /// Loops over whatever is not tiled, from `level` on.
    fn contraction_outer(
        &mut self,
        schedule: &ContractionSchedule,
        level: usize,
        tile: Tile,
        range: (Value, Value),
    ) -> Result<(), String> {
        let contraction = &schedule.contraction;
        let Some(&axis) = self.kernel.outer.get(level) else {
            return match schedule.block_axis {
                Some(_) => self.row_tiles(schedule, tile, range),
                None => self.column_tiles(schedule, range),
            };
        };
        if [Some(contraction.row_axis), Some(contraction.column_axis), schedule.block_axis].contains(&Some(axis)) {
            return self.contraction_outer(schedule, level + 1, tile, range);
        }
        let (start, stop) = self.axis_range(axis, range);
        self.repeat(start, stop, 1, |emitter, position| {
            emitter.positions[axis.0 as usize] = Some(position);
            emitter.contraction_outer(schedule, level + 1, tile, range)
        })
    }

    /// Tiles whose vectors are neighbours on an axis of their own.
    fn block_tiles(
        &mut self,
        schedule: &ContractionSchedule,
        axis: AxisId,
        range: (Value, Value),
    ) -> Result<(), String> {
        let zero = self.index(0);
        self.positions[schedule.contraction.column_axis.0 as usize] = Some(zero);
        let sizes = sizes(schedule.vectors, self.known_extent(axis), false);
        let (mut start, stop) = self.axis_range(axis, range);
        for size in sizes {
            start = self.tiles(start, stop, size, |emitter, position| {
                emitter.positions[axis.0 as usize] = Some(position);
                let tile = Tile { rows: 0, vectors: size, valid: None };
                emitter.contraction_outer(schedule, 0, tile, range)
            })?;
        }
        Ok(())
    }

    fn column_tiles(&mut self, schedule: &ContractionSchedule, range: (Value, Value)) -> Result<(), String> {
        let axis = schedule.contraction.column_axis;
        let (start, stop) = self.axis_range(axis, range);
        let width = schedule.vectors * i64::from(self.features.lanes);
        let full = Tile { rows: 0, vectors: schedule.vectors, valid: None };
        let middle = self.tiles(start, stop, width, |emitter, position| {
            emitter.positions[axis.0 as usize] = Some(position);
            emitter.row_tiles(schedule, full, range)
        })?;
        if self.known_extent(axis).is_some_and(|extent| extent % width == 0) {
            return Ok(());
        }
        // A packed layout has whole tiles from multiples of the tile only, which `start` is when it is 0.
        if schedule.may_overread {
            return self.repeat(middle, stop, width, |emitter, position| {
                emitter.positions[axis.0 as usize] = Some(position);
                let valid = emitter.builder.ins().isub(stop, position);
                emitter.row_tiles(schedule, Tile { valid: Some(valid), ..full }, range)
            });
        }
        self.repeat(middle, stop, 1, |emitter, position| {
            emitter.positions[axis.0 as usize] = Some(position);
            emitter.row_tiles(schedule, Tile { rows: 0, vectors: 0, valid: None }, range)
        })
    }

    fn row_tiles(&mut self, schedule: &ContractionSchedule, tile: Tile, range: (Value, Value)) -> Result<(), String> {
        let axis = schedule.contraction.row_axis;
        let (mut start, stop) = self.axis_range(axis, range);
        for rows in sizes(schedule.rows, self.known_extent(axis), schedule.packed_rows) {
            start = self.tiles(start, stop, rows, |emitter, position| {
                emitter.positions[axis.0 as usize] = Some(position);
                emitter.tile(schedule, Tile { rows, ..tile })
            })?;
        }
        Ok(())
    }

    /// The extent of an axis all of which every call walks, where it is a constant.
    fn known_extent(&self, axis: AxisId) -> Option<i64> {
        if self.kernel.outer.first() == Some(&axis) { None } else { self.kernel.extent(axis).as_const() }
    }

    /// Emits `body` for whole tiles of `size` from `start` on; gives where the rest starts.
    fn tiles(
        &mut self,
        start: Value,
        stop: Value,
        size: i64,
        body: impl FnOnce(&mut Self, Value) -> Result<(), String>,
    ) -> Result<Value, String> {
        if size == 1 {
            self.repeat(start, stop, 1, body)?;
            return Ok(stop);
        }
        let length = self.builder.ins().isub(stop, start);
        let rest = if size.count_ones() == 1 {
            self.builder.ins().band_imm_s(length, size - 1)
        } else {
            let size = self.index(size);
            self.builder.ins().srem(length, size)
        };
        let middle = self.builder.ins().isub(stop, rest);
        self.repeat(start, middle, size, body)?;
        Ok(middle)
    }
}

/// The sizes of tiles that cover an axis one after another, each as often as it still fits. Of an extent that is known the
/// last ones are what the first leave; otherwise they halve.
fn sizes(most: i64, extent: Option<i64>, packed: bool) -> Vec<i64> {
    let mut sizes = vec![most];
    match extent {
        _ if packed => sizes.extend((most > 1).then_some(1)),
        Some(extent) => {
            let rest = extent % most;
            if extent < most {
                sizes = vec![extent.max(1)];
            } else if rest > 0 {
                sizes.push(rest);
            }
        }
        None => {
            let mut size = most / 2;
            while size > 0 {
                sizes.push(size);
                size /= 2;
            }
        }
    }
    sizes
}
