//! The stores of a register tile.

use std::collections::HashMap;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, StackSlotData, StackSlotKind, Value};

use super::{Tile, displacement};
use crate::codegen::clif::kernel::KernelEmitter;
use crate::codegen::clif::routines::POINTER;
use crate::loops::{AxisId, BinaryOp, Expr, ExprId, ParameterId};
use crate::schedule::{ContractionSchedule, linear_stride};

/// Operations after the reduction up to which accumulators stay in registers.
const LIGHT_EPILOGUE: usize = 12;

/// A point of a register tile: accesses there have the address of the tile's first point and a displacement.
pub struct TilePoint {
    /// The axes of the tile, and how far the point is from the first on each.
    moves: [(AxisId, i64); 2],
    /// The positions of the first point.
    first: Vec<Option<Value>>,
    /// Addresses at the first point.
    anchors: HashMap<(ParameterId, Vec<ExprId>), Value>,
}

impl KernelEmitter<'_, '_> {
    /// Stores a tile, with the accumulators as results of the reduction.
    pub(super) fn tile_stores(
        &mut self,
        schedule: &ContractionSchedule,
        tile: Tile,
        values: &[Value],
    ) -> Result<(), String> {
        if tile.vectors > 0
            && let Some(valid) = tile.valid
        {
            return self.partial_stores(schedule, tile, valid, values);
        }
        let contraction = &schedule.contraction;
        let lanes = i64::from(self.features.lanes);
        let (vector_axis, step) = match schedule.block_axis {
            Some(axis) => (axis, 1),
            None => (contraction.column_axis, lanes),
        };
        let first = self.positions.clone();
        let moves = [(contraction.row_axis, 0), (vector_axis, 0)];
        let outside = std::mem::replace(&mut self.scopes, vec![HashMap::new()]);
        self.tile_point = Some(TilePoint { moves, first: first.clone(), anchors: HashMap::new() });
        self.vector = (tile.vectors > 0).then_some(contraction.column_axis);
        let width = tile.vectors.max(1);
        let shared = self.shared_loads(contraction.row_axis);
        let parked = if self.epilogue_size() > LIGHT_EPILOGUE { Some(self.park(values)?) } else { None };
        for j in 0..width {
            self.scopes.push(HashMap::new());
            for i in 0..tile.rows {
                self.move_to(&first, [(contraction.row_axis, i), (vector_axis, j * step)]);
                if i == 0 {
                    for &id in &shared {
                        self.operand(id, self.vector.is_some_and(|axis| self.varies(id, axis)))?;
                    }
                }
                let number = i * width + j;
                let value = values[number as usize];
                let value = match parked {
                    Some(address) => {
                        let ty = self.builder.func.dfg.value_type(value);
                        self.builder.ins().load(ty, Self::flags(), address, number as i32 * ty.bytes() as i32)
                    }
                    None => value,
                };
                self.store_point(value)?;
            }
            self.scopes.pop();
        }
        self.vector = None;
        self.tile_point = None;
        self.scopes = outside;
        self.positions = first;
        Ok(())
    }

    /// Puts accumulators on the stack. Where the epilogue needs many registers this ends their lives with the reduction's
    /// loop, which else gets some of the spills.
    fn park(&mut self, values: &[Value]) -> Result<Value, String> {
        let ty =
            values.first().map(|&value| self.builder.func.dfg.value_type(value)).ok_or("a tile has accumulators")?;
        let bytes = ty.bytes() * values.len() as u32;
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, ty.bytes().trailing_zeros() as u8);
        let slot = self.builder.create_sized_stack_slot(slot);
        let address = self.builder.ins().stack_addr(POINTER, slot, 0);
        for (number, &value) in values.iter().enumerate() {
            self.builder.ins().store(Self::flags(), value, address, number as i32 * ty.bytes() as i32);
        }
        Ok(address)
    }

    /// The operations between the accumulators and what is stored.
    fn epilogue_size(&self) -> usize {
        let kernel = self.kernel;
        let mut visited = vec![false; kernel.exprs.len()];
        let mut stack: Vec<ExprId> = kernel.stores.iter().map(|store| store.value).collect();
        let mut size = 0;
        while let Some(id) = stack.pop() {
            if std::mem::replace(&mut visited[id.0 as usize], true) {
                continue;
            }
            size += match kernel.expr(id) {
                // Expanded into many instructions.
                Expr::Unary(..) | Expr::Binary(BinaryOp::Pow, ..) => LIGHT_EPILOGUE,
                Expr::Load { .. } => continue,
                _ => 1,
            };
            stack.extend(kernel.expr(id).operands());
        }
        size
    }

    /// Loads in the values of stores that are the same for all rows of a tile.
    fn shared_loads(&self, row_axis: AxisId) -> Vec<ExprId> {
        let kernel = self.kernel;
        let mut visited = vec![false; kernel.exprs.len()];
        let mut stack: Vec<ExprId> = kernel.stores.iter().map(|store| store.value).collect();
        let mut found = Vec::new();
        while let Some(id) = stack.pop() {
            if std::mem::replace(&mut visited[id.0 as usize], true) {
                continue;
            }
            match kernel.expr(id) {
                Expr::Load { .. } if !self.varies(id, row_axis) => found.push(id),
                Expr::Load { .. } => {}
                other => stack.extend(other.operands()),
            }
        }
        found
    }

    fn move_to(&mut self, first: &[Option<Value>], moves: [(AxisId, i64); 2]) {
        for (axis, distance) in moves {
            let place = axis.0 as usize;
            self.positions[place] = match first[place] {
                Some(position) if distance != 0 => Some(self.builder.ins().iadd_imm_s(position, distance)),
                position => position,
            };
        }
        if let Some(point) = &mut self.tile_point {
            point.moves = moves;
        }
    }

    /// Stores a tile of which the last columns do not exist, column by column.
    fn partial_stores(
        &mut self,
        schedule: &ContractionSchedule,
        tile: Tile,
        valid: Value,
        values: &[Value],
    ) -> Result<(), String> {
        let contraction = &schedule.contraction;
        let lanes = i64::from(self.features.lanes);
        let first = self.positions.clone();
        for (number, &value) in values.iter().enumerate() {
            let (i, j) = (number as i64 / tile.vectors, number as i64 % tile.vectors);
            for lane in 0..lanes {
                let (block, exit) = (self.builder.create_block(), self.builder.create_block());
                let column = j * lanes + lane;
                let inside = self.builder.ins().icmp_imm_s(IntCC::SignedGreaterThan, valid, column);
                self.builder.ins().brif(inside, block, &[], exit, &[]);
                self.builder.switch_to_block(block);
                self.builder.seal_block(block);
                self.move_to(&first, [(contraction.row_axis, i), (contraction.column_axis, column)]);
                let scalar = self.builder.ins().extractlane(value, lane as u8);
                let outside = std::mem::replace(&mut self.scopes, vec![HashMap::new()]);
                self.store_point(scalar)?;
                self.scopes = outside;
                self.builder.ins().jump(exit, &[]);
                self.builder.seal_block(exit);
                self.builder.switch_to_block(exit);
            }
        }
        self.positions = first;
        Ok(())
    }

    fn store_point(&mut self, value: Value) -> Result<(), String> {
        let kernel = self.kernel;
        self.reduced[0] = Some(value);
        self.scopes.push(HashMap::new());
        for store in &kernel.stores {
            self.store(store)?;
        }
        self.scopes.pop();
        Ok(())
    }

    /// The address and displacement of an element at a point of a tile, where the distance from the tile's first point is a
    /// constant.
    pub fn place_in_tile(&mut self, parameter: ParameterId, index: &[ExprId]) -> Result<Option<(Value, i32)>, String> {
        let Some(point) = &self.tile_point else { return Ok(None) };
        let bytes = (self.kernel.parameter(parameter).element.bits() / 8) as i64;
        let mut total = 0i64;
        for &(axis, distance) in point.moves.iter().filter(|(_, distance)| *distance != 0) {
            let stride = linear_stride(self.kernel, parameter, index, axis).and_then(|stride| stride.as_const());
            let moved = stride.and_then(|stride| stride.checked_mul(distance * bytes)?.checked_add(total));
            let Some(moved) = moved else { return Ok(None) };
            total = moved;
        }
        let Some(offset) = displacement(total) else { return Ok(None) };
        let key = (parameter, index.to_vec());
        if let Some(&anchor) = point.anchors.get(&key) {
            return Ok(Some((anchor, offset)));
        }
        let Some(mut point) = self.tile_point.take() else { return Ok(None) };
        let here = std::mem::replace(&mut self.positions, point.first.clone());
        let scopes = std::mem::replace(&mut self.scopes, vec![HashMap::new()]);
        let linear = self.linear(parameter, index)?;
        let anchor = self.address(parameter, linear);
        self.scopes = scopes;
        self.positions = here;
        point.anchors.insert(key, anchor);
        self.tile_point = Some(point);
        Ok(Some((anchor, offset)))
    }
}
