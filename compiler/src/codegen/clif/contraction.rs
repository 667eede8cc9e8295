//! Contractions in register tiles.
//!
//! ```text
//! for batch axes, for tiles of columns, for tiles of rows {
//!     accumulators = 0
//!     for looped reduction axes { for written-out points { accumulators += splat(rows[i]) * columns[j] } }
//!     stores of every row and vector of columns, with the accumulator as the reduction's result
//! }
//! ```
//!
//! Row tiles are innermost: a panel of columns stays in the first-level cache while the rows stream past. The builder's
//! order is the schedule, so these functions are compiled without optimization of their own.

use std::collections::HashMap;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_frontend::Variable;

use super::kernel::KernelEmitter;
use crate::graph::{Dim, ElementType};
use crate::loops::{AxisId, BinaryOp, Expr, ExprId, ParameterId, Scalar};
use crate::schedule::contraction::{COLUMN_TILE, COLUMN_VECTORS, ROW_TILE};
use crate::schedule::{ContractionSchedule, linear_stride};

/// The size of one register tile.
#[derive(Clone, Copy)]
struct Tile {
    rows: i64,
    /// Vectors of columns; 0 for a single column in scalar registers.
    vectors: i64,
    /// How many columns are stored, where fewer than the tile has.
    valid: Option<Value>,
}

/// One operand: where it is and how it moves.
struct Operand {
    parameter: ParameterId,
    index: Vec<ExprId>,
}

/// A distance that loads can have as a displacement, several of them together still within 32 bits.
fn displacement(bytes: i64) -> Option<i32> {
    i32::try_from(bytes).ok().filter(|bytes| bytes.unsigned_abs() <= 1 << 29)
}

impl KernelEmitter<'_, '_> {
    /// Emits the whole kernel as register tiles over `begin..end` of the first outer axis.
    pub fn contraction(&mut self, schedule: &ContractionSchedule, begin: Value, end: Value) -> Result<(), String> {
        self.contraction_outer(schedule, 0, begin, end)
    }

    fn axis_range(&mut self, level_axis: AxisId, begin: Value, end: Value) -> (Value, Value) {
        if self.kernel.outer.first() == Some(&level_axis) {
            (begin, end)
        } else {
            let extent = self.kernel.extent(level_axis).clone();
            (self.index(0), self.dim(&extent))
        }
    }

    fn contraction_outer(
        &mut self,
        schedule: &ContractionSchedule,
        level: usize,
        begin: Value,
        end: Value,
    ) -> Result<(), String> {
        let contraction = &schedule.contraction;
        let kernel = self.kernel;
        let Some(&axis) = kernel.outer.get(level) else { return self.column_tiles(schedule, begin, end) };
        if axis == contraction.row_axis || axis == contraction.column_axis {
            return self.contraction_outer(schedule, level + 1, begin, end);
        }
        let (start, stop) = self.axis_range(axis, begin, end);
        self.repeat(start, stop, 1, |emitter, position| {
            emitter.positions[axis.0 as usize] = Some(position);
            emitter.contraction_outer(schedule, level + 1, begin, end)
        })
    }

    fn column_tiles(&mut self, schedule: &ContractionSchedule, begin: Value, end: Value) -> Result<(), String> {
        let axis = schedule.contraction.column_axis;
        let (start, stop) = self.axis_range(axis, begin, end);
        let length = self.builder.ins().isub(stop, start);
        let whole = self.builder.ins().band_imm_s(length, -COLUMN_TILE);
        let middle = self.builder.ins().iadd(start, whole);
        let full = Tile { rows: 0, vectors: COLUMN_VECTORS, valid: None };
        self.repeat(start, middle, COLUMN_TILE, |emitter, position| {
            emitter.positions[axis.0 as usize] = Some(position);
            emitter.row_tiles(schedule, full, begin, end)
        })?;
        // A packed layout has whole tiles from multiples of the tile only, which `start` is when it is 0.
        if schedule.may_overread {
            return self.repeat(middle, stop, COLUMN_TILE, |emitter, position| {
                emitter.positions[axis.0 as usize] = Some(position);
                let valid = emitter.builder.ins().isub(stop, position);
                emitter.row_tiles(schedule, Tile { valid: Some(valid), ..full }, begin, end)
            });
        }
        self.repeat(middle, stop, 1, |emitter, position| {
            emitter.positions[axis.0 as usize] = Some(position);
            emitter.row_tiles(schedule, Tile { rows: 0, vectors: 0, valid: None }, begin, end)
        })
    }

    fn row_tiles(
        &mut self,
        schedule: &ContractionSchedule,
        tile: Tile,
        begin: Value,
        end: Value,
    ) -> Result<(), String> {
        let axis = schedule.contraction.row_axis;
        let (start, stop) = self.axis_range(axis, begin, end);
        let length = self.builder.ins().isub(stop, start);
        let whole = self.builder.ins().band_imm_s(length, -ROW_TILE);
        let middle = self.builder.ins().iadd(start, whole);
        self.repeat(start, middle, ROW_TILE, |emitter, position| {
            emitter.positions[axis.0 as usize] = Some(position);
            emitter.tile(schedule, Tile { rows: ROW_TILE, ..tile })
        })?;
        self.repeat(middle, stop, 1, |emitter, position| {
            emitter.positions[axis.0 as usize] = Some(position);
            emitter.tile(schedule, Tile { rows: 1, ..tile })
        })
    }

    fn load_operand(&self, id: ExprId) -> Result<Operand, String> {
        match self.kernel.expr(id) {
            Expr::Load { parameter, index, .. } => Ok(Operand { parameter: *parameter, index: index.clone() }),
            _ => Err("an operand of a contraction is a load".into()),
        }
    }

    /// The byte address of an operand at the tile's first row and column and reduction position 0.
    fn operand_base(&mut self, operand: &Operand) -> Result<Value, String> {
        let linear = self.linear(operand.parameter, &operand.index)?;
        let bytes = self.builder.ins().ishl_imm_u(linear, 2);
        let base = self.bases[operand.parameter.0 as usize];
        Ok(self.builder.ins().iadd(base, bytes))
    }

    /// Bytes by which an operand moves along an axis.
    fn operand_stride(&mut self, operand: &Operand, axis: AxisId) -> Result<Dim, String> {
        let stride =
            linear_stride(self.kernel, operand.parameter, &operand.index, axis).ok_or("an operand has no stride")?;
        Ok(stride * 4)
    }

    fn tile(&mut self, schedule: &ContractionSchedule, tile: Tile) -> Result<(), String> {
        let contraction = &schedule.contraction;
        let (rows, columns) = (self.load_operand(contraction.rows)?, self.load_operand(contraction.columns)?);
        // Positions of the reduction are 0 in the bases; loops and written-out points move from there.
        let zero = self.index(0);
        for &axis in &self.kernel.reductions[0].axes {
            self.positions[axis.0 as usize] = Some(zero);
        }
        let (row_base, column_base) = (self.operand_base(&rows)?, self.operand_base(&columns)?);
        let row_step = match self.row_step(schedule, &rows)? {
            Ok(bytes) => Ok(bytes),
            Err(dim) => Err(self.dim(&dim)),
        };
        let vector = tile.vectors > 0;
        let width = tile.vectors.max(1);
        let mut accumulators = Vec::new();
        for _ in 0..tile.rows * width {
            let start = self.constant(Scalar::from_i64(ElementType::F32, 0), vector)?;
            accumulators.push(self.declare(start));
        }
        let points = self.points(schedule, &rows, &columns)?;
        let body = Body { tile, row_step, points, accumulators: &accumulators };
        self.reduction_loops(&schedule.looped, (&rows, row_base), (&columns, column_base), &body)?;
        let values: Vec<Value> = accumulators.iter().map(|&variable| self.builder.use_var(variable)).collect();
        self.tile_stores(schedule, tile, &values)
    }

    fn declare(&mut self, start: Value) -> Variable {
        let ty = self.builder.func.dfg.value_type(start);
        let variable = self.builder.declare_var(ty);
        self.builder.def_var(variable, start);
        variable
    }

    /// Bytes from one row of a tile to the next: a number, or a size known at run time.
    fn row_step(&mut self, schedule: &ContractionSchedule, rows: &Operand) -> Result<Result<i64, Dim>, String> {
        let axis = schedule.contraction.row_axis;
        if linear_stride(self.kernel, rows.parameter, &rows.index, axis).is_none() {
            // Packed: the rows of a tile lie side by side.
            return Ok(Ok(4));
        }
        let stride = self.operand_stride(rows, axis)?;
        Ok(stride.as_const().ok_or(stride))
    }

    /// For each written-out reduction point, the bytes from the current position of rows and columns.
    fn points(
        &mut self,
        schedule: &ContractionSchedule,
        rows: &Operand,
        columns: &Operand,
    ) -> Result<Vec<(Shift, Shift)>, String> {
        let count: i64 = schedule.unrolled.iter().map(|(_, extent)| extent).product();
        (0..count)
            .map(|point| {
                let mut rest = point;
                let mut places = HashMap::new();
                for &(axis, extent) in schedule.unrolled.iter().rev() {
                    places.insert(axis, rest % extent);
                    rest /= extent;
                }
                Ok((self.shift(rows, &places)?, self.shift(columns, &places)?))
            })
            .collect()
    }

    /// Bytes by which an operand moves from reduction position 0 to the given places.
    fn shift(&mut self, operand: &Operand, places: &HashMap<AxisId, i64>) -> Result<Shift, String> {
        let shape = self.kernel.parameter(operand.parameter).shape.clone();
        let mut stride = Dim::constant(4);
        let mut total = Dim::constant(0);
        for (dim, &index) in shape.iter().zip(&operand.index).rev() {
            let moved = self.offset(index, places).ok_or("a written-out index is not constant")?;
            total = total + &stride * moved;
            stride = &stride * dim;
        }
        Ok(match total.as_const().and_then(displacement) {
            Some(bytes) => Shift::Bytes(bytes),
            None => Shift::Value(self.dim(&total)),
        })
    }

    /// By how much an index changes when the written-out axes move from 0 to the given places.
    fn offset(&self, id: ExprId, places: &HashMap<AxisId, i64>) -> Option<i64> {
        let varies = places.keys().any(|&axis| self.varies(id, axis));
        if !varies {
            return Some(0);
        }
        self.part(id, places)?.checked_sub(self.part(id, &HashMap::new())?)
    }

    /// The part of an index that is known when the written-out axes are at `places` and every other axis is at 0. Sums keep
    /// parts apart, and under a division or remainder no other axis may stand.
    fn part(&self, id: ExprId, places: &HashMap<AxisId, i64>) -> Option<i64> {
        match self.kernel.expr(id) {
            Expr::Const(scalar) => Some(scalar.to_i64()),
            Expr::Axis(axis) => Some(places.get(axis).copied().unwrap_or(0)),
            Expr::Dim(dim) => Some(dim.as_const().unwrap_or(0)),
            Expr::Binary(op, a, b) => {
                let (x, y) = (self.part(*a, places)?, self.part(*b, places)?);
                match op {
                    BinaryOp::Add => x.checked_add(y),
                    BinaryOp::Sub => x.checked_sub(y),
                    BinaryOp::Mul => x.checked_mul(y),
                    BinaryOp::FloorDiv if y > 0 => Some(x.div_euclid(y)),
                    BinaryOp::Mod if y > 0 => Some(x.rem_euclid(y)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn reduction_loops(
        &mut self,
        axes: &[AxisId],
        rows: (&Operand, Value),
        columns: (&Operand, Value),
        body: &Body<'_>,
    ) -> Result<(), String> {
        let Some((&axis, inner)) = axes.split_first() else { return self.multiply(rows.1, columns.1, body) };
        let (row_stride, column_stride) = (self.operand_stride(rows.0, axis)?, self.operand_stride(columns.0, axis)?);
        let extent = self.kernel.extent(axis).clone();
        let extent = self.dim(&extent);
        let (row, column) = (self.declare(rows.1), self.declare(columns.1));
        let counter = self.declare(extent);
        let (block, exit) = (self.builder.create_block(), self.builder.create_block());
        let any = self.builder.ins().icmp_imm_s(IntCC::SignedGreaterThan, extent, 0);
        self.builder.ins().brif(any, block, &[], exit, &[]);
        self.builder.switch_to_block(block);
        let (row_now, column_now) = (self.builder.use_var(row), self.builder.use_var(column));
        self.reduction_loops(inner, (rows.0, row_now), (columns.0, column_now), body)?;
        let row_next = self.advance(row_now, &row_stride);
        self.builder.def_var(row, row_next);
        let column_next = self.advance(column_now, &column_stride);
        self.builder.def_var(column, column_next);
        let left = self.builder.use_var(counter);
        let left = self.builder.ins().iadd_imm_s(left, -1);
        self.builder.def_var(counter, left);
        let more = self.builder.ins().icmp_imm_s(IntCC::NotEqual, left, 0);
        self.builder.ins().brif(more, block, &[], exit, &[]);
        self.builder.seal_block(block);
        self.builder.seal_block(exit);
        self.builder.switch_to_block(exit);
        Ok(())
    }

    fn advance(&mut self, address: Value, stride: &Dim) -> Value {
        match stride.as_const() {
            Some(bytes) => self.builder.ins().iadd_imm_s(address, bytes),
            None => {
                let bytes = self.dim(stride);
                self.builder.ins().iadd(address, bytes)
            }
        }
    }

    /// The multiply-adds of one iteration of the innermost loop.
    fn multiply(&mut self, row: Value, column: Value, body: &Body<'_>) -> Result<(), String> {
        let Tile { rows, vectors, .. } = body.tile;
        let width = vectors.max(1);
        let vector_type = types::F32.by(self.features.lanes).ok_or("too many lanes")?;
        let mut row_addresses = vec![(row, 0i32); rows as usize];
        for i in 1..rows as usize {
            row_addresses[i] = match body.row_step {
                Ok(bytes) => {
                    let bytes = bytes.wrapping_mul(i as i64);
                    match displacement(bytes) {
                        Some(bytes) => (row, bytes),
                        None => (self.builder.ins().iadd_imm_s(row, bytes), 0),
                    }
                }
                Err(step) => (self.builder.ins().iadd(row_addresses[i - 1].0, step), 0),
            };
        }
        for (row_shift, column_shift) in &body.points {
            let (address, offset) = self.shifted(column, 0, *column_shift);
            let columns: Vec<Value> = (0..width)
                .map(|j| {
                    let ty = if vectors > 0 { vector_type } else { types::F32 };
                    let bytes = offset + (j * 4 * i64::from(self.features.lanes)) as i32;
                    self.builder.ins().load(ty, Self::flags(), address, bytes)
                })
                .collect();
            for (i, &(address, offset)) in row_addresses.iter().enumerate() {
                let (address, offset) = self.shifted(address, offset, *row_shift);
                let scalar = self.builder.ins().load(types::F32, Self::flags(), address, offset);
                let factor = if vectors > 0 { self.builder.ins().splat(vector_type, scalar) } else { scalar };
                for (j, &column) in columns.iter().enumerate() {
                    let variable = body.accumulators[i * width as usize + j];
                    let total = self.builder.use_var(variable);
                    let sum = if self.features.fma {
                        self.builder.ins().fma(factor, column, total)
                    } else {
                        let product = self.builder.ins().fmul(factor, column);
                        self.builder.ins().fadd(total, product)
                    };
                    self.builder.def_var(variable, sum);
                }
            }
        }
        Ok(())
    }

    fn shifted(&mut self, address: Value, offset: i32, shift: Shift) -> (Value, i32) {
        match shift {
            Shift::Bytes(bytes) => match offset.checked_add(bytes) {
                Some(offset) => (address, offset),
                None => (self.builder.ins().iadd_imm_s(address, i64::from(bytes)), offset),
            },
            Shift::Value(bytes) => (self.builder.ins().iadd(address, bytes), offset),
        }
    }

    /// Stores a tile, with the accumulators as results of the reduction.
    fn tile_stores(&mut self, schedule: &ContractionSchedule, tile: Tile, values: &[Value]) -> Result<(), String> {
        let contraction = &schedule.contraction;
        let (row_axis, column_axis) = (contraction.row_axis.0 as usize, contraction.column_axis.0 as usize);
        let (first_row, first_column) = (self.positions[row_axis], self.positions[column_axis]);
        let (Some(first_row), Some(first_column)) = (first_row, first_column) else {
            return Err("a tile has a place".into());
        };
        let lanes = i64::from(self.features.lanes);
        let width = tile.vectors.max(1);
        for (number, &value) in values.iter().enumerate() {
            let (i, j) = (number as i64 / width, number as i64 % width);
            self.positions[row_axis] = Some(self.builder.ins().iadd_imm_s(first_row, i));
            if tile.vectors == 0 || tile.valid.is_none() {
                self.positions[column_axis] = Some(self.builder.ins().iadd_imm_s(first_column, j * lanes));
                self.vector = (tile.vectors > 0).then_some(contraction.column_axis);
                self.store_point(value)?;
                self.vector = None;
                continue;
            }
            let valid = tile.valid.unwrap_or(first_column);
            for lane in 0..lanes {
                let (block, exit) = (self.builder.create_block(), self.builder.create_block());
                let column = j * lanes + lane;
                let inside = self.builder.ins().icmp_imm_s(IntCC::SignedGreaterThan, valid, column);
                self.builder.ins().brif(inside, block, &[], exit, &[]);
                self.builder.switch_to_block(block);
                self.builder.seal_block(block);
                self.positions[column_axis] = Some(self.builder.ins().iadd_imm_s(first_column, column));
                let scalar = self.builder.ins().extractlane(value, lane as u8);
                self.store_point(scalar)?;
                self.builder.ins().jump(exit, &[]);
                self.builder.seal_block(exit);
                self.builder.switch_to_block(exit);
            }
        }
        self.positions[row_axis] = Some(first_row);
        self.positions[column_axis] = Some(first_column);
        Ok(())
    }

    fn store_point(&mut self, value: Value) -> Result<(), String> {
        let kernel = self.kernel;
        self.reduced[0] = Some(value);
        // Values computed before belong to the tile's first row and column.
        let outside = std::mem::replace(&mut self.scopes, vec![HashMap::new()]);
        for store in &kernel.stores {
            self.store(store)?;
        }
        self.scopes = outside;
        Ok(())
    }
}

/// How far a written-out point is from the current position.
#[derive(Clone, Copy)]
enum Shift {
    Bytes(i32),
    Value(Value),
}

/// What the innermost loop needs.
struct Body<'a> {
    tile: Tile,
    row_step: Result<i64, Value>,
    points: Vec<(Shift, Shift)>,
    accumulators: &'a [Variable],
}
