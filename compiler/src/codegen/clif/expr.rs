//! Scalar expressions, one value or a vector of neighbouring values at a time.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value, types};

use super::kernel::KernelEmitter;
use super::scalar_type;
use crate::graph::ElementType as E;
use crate::loops::{AxisId, BinaryOp, CompareOp, Expr, ExprId, ReduceOp, Scalar, StoreOp};

impl KernelEmitter<'_, '_> {
    /// Whether an expression's value changes along an axis.
    pub fn varies(&self, id: ExprId, axis: AxisId) -> bool {
        self.dependencies[id.0 as usize].contains(&axis)
    }

    /// The value of an expression: a scalar, or a vector in a vector loop. The scalar form of an expression that varies
    /// along the vector axis is its value in the first lane.
    pub fn operand(&mut self, id: ExprId, vector: bool) -> Result<Value, String> {
        if vector && !self.vector.is_some_and(|axis| self.varies(id, axis)) {
            let scalar = self.operand(id, false)?;
            return Ok(self.splat(self.kernel.type_of(id), scalar));
        }
        let key = (id, vector);
        if let Some(&value) = self.scopes.iter().rev().find_map(|scope| scope.get(&key)) {
            return Ok(value);
        }
        let value = self.emit(id, vector)?;
        self.scopes.last_mut().expect("a scope is open").insert(key, value);
        Ok(value)
    }

    fn splat(&mut self, element: E, scalar: Value) -> Value {
        let lanes = self.features.lanes;
        if element == E::Bool {
            // Bools in lanes are masks of all ones.
            let wide = self.builder.ins().uextend(types::I32, scalar);
            let mask = self.builder.ins().ineg(wide);
            return self.builder.ins().splat(types::I32.by(lanes).expect("few lanes"), mask);
        }
        let ty = self.builder.func.dfg.value_type(scalar);
        self.builder.ins().splat(ty.by(lanes).expect("few lanes"), scalar)
    }

    /// The vector type of a lane type, or the scalar type.
    pub fn type_for(&self, element: E, vector: bool) -> Type {
        let scalar = scalar_type(element).expect("checked when the kernel was begun");
        match vector {
            false => scalar,
            true if element == E::Bool => types::I32.by(self.features.lanes).expect("few lanes"),
            true => scalar.by(self.features.lanes).expect("few lanes"),
        }
    }

    /// A constant.
    pub fn constant(&mut self, scalar: Scalar, vector: bool) -> Result<Value, String> {
        let value = match scalar.element.compute_type() {
            E::F32 => self.builder.ins().f32const(f32::from_bits(scalar.bits as u32)),
            E::F64 => self.builder.ins().f64const(f64::from_bits(scalar.bits)),
            element => {
                let ty = scalar_type(element).ok_or_else(|| format!("no code for element type {element}"))?;
                let mask = u64::MAX >> (64 - ty.bits());
                self.builder.ins().iconst(ty, (scalar.bits & mask) as i64)
            }
        };
        Ok(if vector { self.splat(scalar.element, value) } else { value })
    }

    fn emit(&mut self, id: ExprId, vector: bool) -> Result<Value, String> {
        let kernel = self.kernel;
        let element = kernel.type_of(id);
        match kernel.expr(id) {
            Expr::Const(scalar) => self.constant(*scalar, vector),
            Expr::Axis(axis) => {
                self.positions[axis.0 as usize].ok_or_else(|| "an axis is used outside its loop".into())
            }
            Expr::Dim(dim) => Ok(self.dim(dim)),
            Expr::Load { parameter, index, guard } => {
                if vector {
                    self.load_vector(*parameter, index, *guard)
                } else {
                    self.load_scalar(*parameter, index, *guard)
                }
            }
            Expr::Unary(op, a) => {
                let a_element = kernel.type_of(*a);
                let a = self.operand(*a, vector)?;
                self.unary(*op, a_element, a)
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.operand(*a, vector)?, self.operand(*b, vector)?);
                self.binary(*op, element, a, b)
            }
            Expr::Compare(op, a, b) => {
                let a_element = kernel.type_of(*a);
                let (a, b) = (self.operand(*a, vector)?, self.operand(*b, vector)?);
                Ok(self.compare(*op, a_element, a, b))
            }
            Expr::Select(condition, a, b) => {
                let in_lanes = vector && self.vector.is_some_and(|axis| self.varies(*condition, axis));
                let condition = self.operand(*condition, in_lanes)?;
                let (a, b) = (self.operand(*a, vector)?, self.operand(*b, vector)?);
                Ok(if in_lanes { self.blend(condition, a, b) } else { self.builder.ins().select(condition, a, b) })
            }
            Expr::Cast { to, saturate, value } => {
                let from = kernel.type_of(*value);
                let value = self.operand(*value, vector)?;
                self.cast(from, *to, *saturate, value)
            }
            Expr::Bitcast(to, value) => {
                let value = self.operand(*value, vector)?;
                let ty = self.type_for(*to, vector);
                Ok(if self.builder.func.dfg.value_type(value) == ty {
                    value
                } else {
                    self.builder.ins().bitcast(ty, MemFlagsData::new(), value)
                })
            }
            Expr::Reduced(id) => {
                self.reduced[id.0 as usize].ok_or_else(|| "a reduction is used before it is done".into())
            }
            Expr::Checked { index, extent } => {
                let (index, extent) = (self.operand(*index, false)?, self.operand(*extent, false)?);
                // One unsigned comparison: a negative index is a large one.
                let inside = self.builder.ins().icmp(IntCC::UnsignedLessThan, index, extent);
                let go_on = self.builder.create_block();
                self.builder.ins().brif(inside, go_on, &[], self.fail, &[]);
                self.builder.seal_block(go_on);
                self.builder.switch_to_block(go_on);
                Ok(index)
            }
        }
    }

    /// `a` where the lanes of a mask are ones, `b` elsewhere.
    pub fn blend(&mut self, mask: Value, a: Value, b: Value) -> Value {
        let ty = self.builder.func.dfg.value_type(a);
        let mask = if self.builder.func.dfg.value_type(mask) == ty {
            mask
        } else {
            self.builder.ins().bitcast(ty, MemFlagsData::new(), mask)
        };
        self.builder.ins().bitselect(mask, a, b)
    }

    fn choose(&mut self, condition: Value, a: Value, b: Value) -> Value {
        if self.builder.func.dfg.value_type(a).is_vector() {
            self.blend(condition, a, b)
        } else {
            self.builder.ins().select(condition, a, b)
        }
    }

    /// A comparison: 0 or 1 as a byte, or a mask in lanes.
    pub fn compare(&mut self, op: CompareOp, element: E, a: Value, b: Value) -> Value {
        if element.is_float() {
            let condition = match op {
                CompareOp::Eq => FloatCC::Equal,
                CompareOp::Ne => FloatCC::NotEqual,
                CompareOp::Lt => FloatCC::LessThan,
                CompareOp::Le => FloatCC::LessThanOrEqual,
                CompareOp::Gt => FloatCC::GreaterThan,
                CompareOp::Ge => FloatCC::GreaterThanOrEqual,
            };
            return self.builder.ins().fcmp(condition, a, b);
        }
        let signed = element.is_signed();
        let condition = match (op, signed) {
            (CompareOp::Eq, _) => IntCC::Equal,
            (CompareOp::Ne, _) => IntCC::NotEqual,
            (CompareOp::Lt, true) => IntCC::SignedLessThan,
            (CompareOp::Le, true) => IntCC::SignedLessThanOrEqual,
            (CompareOp::Gt, true) => IntCC::SignedGreaterThan,
            (CompareOp::Ge, true) => IntCC::SignedGreaterThanOrEqual,
            (CompareOp::Lt, false) => IntCC::UnsignedLessThan,
            (CompareOp::Le, false) => IntCC::UnsignedLessThanOrEqual,
            (CompareOp::Gt, false) => IntCC::UnsignedGreaterThan,
            (CompareOp::Ge, false) => IntCC::UnsignedGreaterThanOrEqual,
        };
        self.builder.ins().icmp(condition, a, b)
    }

    /// The lesser or greater value; NaN if either float is.
    pub fn extremum(&mut self, op: CompareOp, element: E, a: Value, b: Value) -> Value {
        let first = self.compare(op, element, a, b);
        let chosen = self.choose(first, a, b);
        if !element.is_float() {
            return chosen;
        }
        // `b` is chosen when either is NaN, so only a NaN in `a` is lost.
        let a_is_nan = self.compare(CompareOp::Ne, element, a, a);
        self.choose(a_is_nan, a, chosen)
    }

    /// One step of a reduction.
    pub fn combine(&mut self, op: ReduceOp, element: E, total: Value, value: Value) -> Result<Value, String> {
        match op {
            ReduceOp::Sum => self.binary(BinaryOp::Add, element, total, value),
            ReduceOp::Product => self.binary(BinaryOp::Mul, element, total, value),
            ReduceOp::Min => self.binary(BinaryOp::Min, element, total, value),
            ReduceOp::Max => self.binary(BinaryOp::Max, element, total, value),
            ReduceOp::And => self.binary(BinaryOp::And, element, total, value),
            ReduceOp::Or => self.binary(BinaryOp::Or, element, total, value),
            ReduceOp::Xor => self.binary(BinaryOp::Xor, element, total, value),
            ReduceOp::ArgMin { .. } | ReduceOp::ArgMax { .. } => Err("positions are reduced by comparison".into()),
        }
    }

    /// What a store leaves in an element that held `old`.
    pub fn update(&mut self, op: StoreOp, element: E, old: Value, value: Value) -> Result<Value, String> {
        match op {
            StoreOp::Set => Ok(value),
            StoreOp::Add => self.binary(BinaryOp::Add, element, old, value),
            StoreOp::Mul => self.binary(BinaryOp::Mul, element, old, value),
            StoreOp::Min => self.binary(BinaryOp::Min, element, old, value),
            StoreOp::Max => self.binary(BinaryOp::Max, element, old, value),
        }
    }
}
