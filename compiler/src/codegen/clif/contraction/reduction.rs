//! The reduction of a register tile: addresses that move by fixed strides, and multiply-adds.

use std::collections::HashMap;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_frontend::Variable;

use super::{Tile, displacement};
use crate::codegen::clif::kernel::KernelEmitter;
use crate::graph::{Dim, ElementType};
use crate::loops::{AxisId, BinaryOp, Expr, ExprId, ParameterId, Scalar};
use crate::schedule::{ContractionSchedule, linear_stride};

/// One operand: where it is and how it moves.
struct Operand {
    parameter: ParameterId,
    index: Vec<ExprId>,
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
    /// Bytes from one vector of columns to the next.
    vector_step: i64,
    /// Whether rows are loaded in vectors too.
    by_lane: bool,
    points: Vec<(Shift, Shift)>,
    accumulators: &'a [Variable],
}
impl KernelEmitter<'_, '_> {
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

    pub(super) fn tile(&mut self, schedule: &ContractionSchedule, tile: Tile) -> Result<(), String> {
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
        let lane_bytes = 4 * i64::from(self.features.lanes);
        let vector_step = match schedule.block_axis {
            Some(axis) => {
                self.operand_stride(&columns, axis)?.as_const().ok_or("a block of columns without a stride")?
            }
            None => lane_bytes,
        };
        let by_lane = contraction.by_lane;
        let body = Body { tile, row_step, vector_step, by_lane, points, accumulators: &accumulators };
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
                    let (address, offset) = match displacement(j * body.vector_step) {
                        Some(bytes) => self.shifted(address, offset, Shift::Bytes(bytes)),
                        None => (self.builder.ins().iadd_imm_s(address, j * body.vector_step), offset),
                    };
                    self.builder.ins().load(ty, Self::flags(), address, offset)
                })
                .collect();
            for (i, &(address, offset)) in row_addresses.iter().enumerate() {
                let (address, offset) = self.shifted(address, offset, *row_shift);
                let splat = if body.by_lane {
                    None
                } else {
                    let scalar = self.builder.ins().load(types::F32, Self::flags(), address, offset);
                    Some(if vectors > 0 { self.builder.ins().splat(vector_type, scalar) } else { scalar })
                };
                for (j, &column) in columns.iter().enumerate() {
                    let factor = match splat {
                        Some(factor) => factor,
                        None => {
                            let bytes = j as i32 * 4 * self.features.lanes as i32;
                            let (address, offset) = self.shifted(address, offset, Shift::Bytes(bytes));
                            let ty = if vectors > 0 { vector_type } else { types::F32 };
                            self.builder.ins().load(ty, Self::flags(), address, offset)
                        }
                    };
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
}
