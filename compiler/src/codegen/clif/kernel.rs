//! The loop nest of a kernel.

use std::collections::HashMap;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    Block, FuncRef, Function, InstBuilder, MemFlagsData, Signature, UserExternalName, UserFuncName, Value, types,
};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};

use super::contraction::TilePoint;
use super::routines::{POINTER, signature};
use super::{Features, Routines, emit_dim, scalar_type};
use crate::graph::{Dim, SymbolId};
use crate::loops::{AxisId, ExprId, Kernel, ReduceOp, Reduction, Store};
use crate::schedule::{Schedule, VectorAxis, inner_store_is_vectorizable, reduction_is_vectorizable};

/// The signature of every kernel.
pub fn kernel_signature(convention: CallConv) -> Signature {
    signature(convention, &[POINTER, POINTER, types::I64, types::I64], &[types::I32])
}

/// Writes one kernel.
pub(super) struct KernelEmitter<'a, 'f> {
    pub builder: FunctionBuilder<'f>,
    pub kernel: &'a Kernel,
    pub features: Features,
    pub routines: &'a Routines,
    /// Base address of each parameter.
    pub bases: Vec<Value>,
    /// Position on each axis whose loop is open; under vectorization the position of the first lane.
    pub positions: Vec<Option<Value>>,
    /// The axis whose points are in lanes, inside a vector loop.
    pub vector: Option<AxisId>,
    /// What each expression depends on.
    pub dependencies: Vec<std::collections::BTreeSet<AxisId>>,
    /// Results of finished reductions; vectors under outer vectorization.
    pub reduced: Vec<Option<Value>>,
    /// Values already computed, innermost scope last. The flag tells vector from scalar forms.
    pub scopes: Vec<HashMap<(ExprId, bool), Value>>,
    /// The point of a register tile that is being stored.
    pub tile_point: Option<TilePoint>,
    /// Where failed index checks go.
    pub fail: Block,
    imported: HashMap<String, FuncRef>,
    sizes: Value,
    symbols: &'a [SymbolId],
    config: TargetFrontendConfig,
}

/// Builds the function of a kernel. `symbols` is the order of the sizes that the caller passes.
///
/// # Errors
/// Where the kernel uses types or routines that have no code; the message says which.
pub fn build_kernel(
    kernel: &Kernel,
    schedule: &Schedule,
    symbols: &[SymbolId],
    features: Features,
    routines: &Routines,
    (convention, config): (CallConv, TargetFrontendConfig),
) -> Result<Function, String> {
    for &element in &kernel.types {
        scalar_type(element).ok_or_else(|| format!("no code for element type {element}"))?;
    }
    let mut function = Function::with_name_signature(UserFuncName::user(0, 0), kernel_signature(convention));
    let mut context = FunctionBuilderContext::new();
    let mut builder = FunctionBuilder::new(&mut function, &mut context);
    let entry = builder.create_block();
    let fail = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    builder.seal_block(entry);
    let [buffers, sizes, begin, end] = *builder.block_params(entry) else {
        return Err("a kernel has four parameters".into());
    };
    let flags = MemFlagsData::trusted();
    let bases =
        (0..kernel.parameters.len()).map(|i| builder.ins().load(POINTER, flags, buffers, 8 * i as i32)).collect();
    let mut emitter = KernelEmitter {
        builder,
        kernel,
        features,
        routines,
        bases,
        positions: vec![None; kernel.axes.len()],
        vector: None,
        dependencies: kernel.dependencies(),
        reduced: vec![None; kernel.reductions.len()],
        scopes: vec![HashMap::new()],
        tile_point: None,
        fail,
        imported: HashMap::new(),
        sizes,
        symbols,
        config,
    };
    match &schedule.contraction {
        Some(contraction) => emitter.contraction(contraction, begin, end)?,
        None => emitter.outer(schedule, 0, begin, end)?,
    }
    emitter.finish();
    Ok(function)
}

impl KernelEmitter<'_, '_> {
    fn finish(mut self) {
        let ok = self.builder.ins().iconst(types::I32, 0);
        self.builder.ins().return_(&[ok]);
        self.builder.switch_to_block(self.fail);
        self.builder.seal_block(self.fail);
        let failed = self.builder.ins().iconst(types::I32, 1);
        self.builder.ins().return_(&[failed]);
        self.builder.finalize(self.config);
    }

    /// A constant index.
    pub fn index(&mut self, value: i64) -> Value {
        self.builder.ins().iconst(types::I64, value)
    }

    /// The value of a dimension expression.
    pub fn dim(&mut self, dim: &Dim) -> Value {
        let (sizes, symbols) = (self.sizes, self.symbols);
        emit_dim(&mut self.builder, dim, &mut |builder, id| {
            let place = symbols.iter().position(|&symbol| symbol == id).expect("kernel symbols are passed") as i32;
            builder.ins().load(types::I64, MemFlagsData::trusted(), sizes, 8 * place)
        })
    }

    /// A reference to a stub function.
    pub fn import(&mut self, name: &str) -> Result<FuncRef, String> {
        if let Some(&reference) = self.imported.get(name) {
            return Ok(reference);
        }
        let (id, signature) = self.routines.get(name).ok_or_else(|| format!("stub function {name} is not declared"))?;
        let function = &mut self.builder.func;
        let signature = function.import_signature(signature.clone());
        let name_ref = function.declare_imported_user_function(UserExternalName { namespace: 0, index: id.as_u32() });
        let reference = function.import_function(cranelift_codegen::ir::ExtFuncData {
            name: cranelift_codegen::ir::ExternalName::user(name_ref),
            signature,
            colocated: false,
            patchable: false,
        });
        self.imported.insert(name.to_owned(), reference);
        Ok(reference)
    }

    /// Emits `for position in (start..end).step_by(step) { body }`.
    pub(super) fn repeat(
        &mut self,
        start: Value,
        end: Value,
        step: i64,
        body: impl FnOnce(&mut Self, Value) -> Result<(), String>,
    ) -> Result<(), String> {
        let (block, exit) = (self.builder.create_block(), self.builder.create_block());
        let position = self.builder.append_block_param(block, types::I64);
        let any = self.builder.ins().icmp(IntCC::SignedLessThan, start, end);
        self.builder.ins().brif(any, block, &[start.into()], exit, &[]);
        self.builder.switch_to_block(block);
        self.scopes.push(HashMap::new());
        body(self, position)?;
        self.scopes.pop();
        let next = self.builder.ins().iadd_imm_s(position, step);
        let more = self.builder.ins().icmp(IntCC::SignedLessThan, next, end);
        self.builder.ins().brif(more, block, &[next.into()], exit, &[]);
        self.builder.seal_block(block);
        self.builder.seal_block(exit);
        self.builder.switch_to_block(exit);
        Ok(())
    }

    /// Where the vector part of `start..end` ends: the last multiple of the lane count from `start`.
    fn vector_end(&mut self, start: Value, end: Value) -> Value {
        let length = self.builder.ins().isub(end, start);
        let whole = self.builder.ins().band_imm_s(length, -i64::from(self.features.lanes));
        self.builder.ins().iadd(start, whole)
    }

    /// Emits a loop on `axis`, in vectors and a scalar rest if wanted.
    fn along(
        &mut self,
        axis: AxisId,
        (start, end): (Value, Value),
        vector: bool,
        body: &mut dyn FnMut(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut rest = start;
        if vector {
            rest = self.vector_end(start, end);
            self.repeat(start, rest, self.features.lanes.into(), |emitter, position| {
                emitter.positions[axis.0 as usize] = Some(position);
                emitter.vector = Some(axis);
                body(emitter)?;
                emitter.vector = None;
                Ok(())
            })?;
        }
        self.repeat(rest, end, 1, |emitter, position| {
            emitter.positions[axis.0 as usize] = Some(position);
            body(emitter)
        })
    }

    fn outer(&mut self, schedule: &Schedule, level: usize, begin: Value, end: Value) -> Result<(), String> {
        let Some(&axis) = self.kernel.outer.get(level) else { return self.point(schedule) };
        let range =
            if level == 0 { (begin, end) } else { (self.index(0), self.dim(&self.kernel.extent(axis).clone())) };
        let vector = schedule.vector == Some(VectorAxis::Outer(axis));
        self.along(axis, range, vector, &mut |emitter| emitter.outer(schedule, level + 1, begin, end))
    }

    /// One point (or one vector of points) of the outer axes.
    fn point(&mut self, schedule: &Schedule) -> Result<(), String> {
        let kernel = self.kernel;
        let inner = schedule.vector == Some(VectorAxis::Inner);
        for (index, reduction) in kernel.reductions.iter().enumerate() {
            let vector = inner && reduction_is_vectorizable(kernel, reduction);
            let value = if reduction.op.is_position() {
                self.position_reduction(reduction)?
            } else {
                self.value_reduction(reduction, vector)?
            };
            self.reduced[index] = Some(value);
        }
        for store in &kernel.stores {
            let vector = inner && inner_store_is_vectorizable(kernel, store);
            self.store_over(store, &store.axes, vector)?;
        }
        Ok(())
    }

    fn store_over(&mut self, store: &Store, axes: &[AxisId], vector: bool) -> Result<(), String> {
        let Some((&axis, inner)) = axes.split_first() else { return self.store(store) };
        let range = (self.index(0), self.dim(&self.kernel.extent(axis).clone()));
        let vector_here = vector && inner.is_empty();
        self.along(axis, range, vector_here, &mut |emitter| emitter.store_over(store, inner, vector))
    }

    /// Runs `body` at each point of `axes`, the last one in vectors if wanted.
    fn over(
        &mut self,
        axes: &[AxisId],
        vector: bool,
        body: &mut dyn FnMut(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        let Some((&axis, inner)) = axes.split_first() else { return body(self) };
        let range = (self.index(0), self.dim(&self.kernel.extent(axis).clone()));
        let vector_here = vector && inner.is_empty();
        self.along(axis, range, vector_here, &mut |emitter| emitter.over(inner, vector, body))
    }

    /// A sum, product, least or greatest value. When the last axis is in lanes, these keep partial results that are
    /// combined at the end.
    fn value_reduction(&mut self, reduction: &Reduction, vector: bool) -> Result<Value, String> {
        let element = self.kernel.type_of(reduction.value);
        let identity = reduction.op.identity(element);
        let outer_vector = self.vector;
        let is_vector = |emitter: &Self| emitter.vector.is_some_and(|axis| emitter.varies(reduction.value, axis));
        let start = self.constant(identity, is_vector(self))?;
        let single = self.variable(start);
        let lanes = if vector {
            let start = self.constant(identity, true)?;
            Some(self.variable(start))
        } else {
            None
        };
        self.scopes.push(HashMap::new());
        self.over(&reduction.axes, vector, &mut |emitter| {
            let in_lanes = emitter.vector != outer_vector;
            let target = lanes.filter(|_| in_lanes).unwrap_or(single);
            let value =
                emitter.operand(reduction.value, emitter.vector.is_some() && (in_lanes || is_vector(emitter)))?;
            let total = emitter.builder.use_var(target);
            let combined = emitter.combine(reduction.op, element, total, value)?;
            emitter.builder.def_var(target, combined);
            Ok(())
        })?;
        self.scopes.pop();
        let mut total = self.builder.use_var(single);
        if let Some(lanes) = lanes {
            let vector = self.builder.use_var(lanes);
            for lane in 0..self.features.lanes {
                let value = self.builder.ins().extractlane(vector, lane as u8);
                total = self.combine(reduction.op, element, total, value)?;
            }
        }
        Ok(total)
    }

    fn variable(&mut self, start: Value) -> Variable {
        let ty = self.builder.func.dfg.value_type(start);
        let variable = self.builder.declare_var(ty);
        self.builder.def_var(variable, start);
        variable
    }

    /// The position of the least or greatest value, in scalar code.
    fn position_reduction(&mut self, reduction: &Reduction) -> Result<Value, String> {
        let &[axis] = reduction.axes.as_slice() else { return Err("a position is sought on one axis".into()) };
        let element = self.kernel.type_of(reduction.value);
        let start = self.constant(reduction.op.identity(element), false)?;
        let best = self.variable(start);
        let zero = self.index(0);
        let place = self.variable(zero);
        self.scopes.push(HashMap::new());
        self.over(&reduction.axes, false, &mut |emitter| {
            let value = emitter.operand(reduction.value, false)?;
            let (current, held) = (emitter.builder.use_var(best), emitter.builder.use_var(place));
            let position = emitter.positions[axis.0 as usize].expect("the axis is open");
            let better = emitter.is_better(reduction.op, element, value, current, position);
            let value = emitter.builder.ins().select(better, value, current);
            let position = emitter.builder.ins().select(better, position, held);
            emitter.builder.def_var(best, value);
            emitter.builder.def_var(place, position);
            Ok(())
        })?;
        self.scopes.pop();
        Ok(self.builder.use_var(place))
    }

    fn is_better(
        &mut self,
        op: ReduceOp,
        element: crate::graph::ElementType,
        value: Value,
        best: Value,
        position: Value,
    ) -> Value {
        use crate::loops::CompareOp as C;
        let (strict, loose, last) = match op {
            ReduceOp::ArgMin { last } => (C::Lt, C::Le, last),
            ReduceOp::ArgMax { last } => (C::Gt, C::Ge, last),
            _ => unreachable!("only positions are compared"),
        };
        let compare = if last { loose } else { strict };
        let mut better = self.compare(compare, element, value, best);
        if element.is_float() {
            // A NaN wins over every number; over another NaN only when the last is wanted.
            let value_nan = self.compare(C::Ne, element, value, value);
            let best_number = self.compare(C::Eq, element, best, best);
            let wins = if last { value_nan } else { self.builder.ins().band(value_nan, best_number) };
            better = self.builder.ins().bor(better, wins);
        }
        // The first element is taken even when it equals the starting value.
        let first = self.builder.ins().icmp_imm_s(IntCC::Equal, position, 0);
        self.builder.ins().bor(better, first)
    }
}
