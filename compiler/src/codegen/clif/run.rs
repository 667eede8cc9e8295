//! The `run` functions of a program: steps as straight code that launches kernels.
//!
//! Long lists of steps are cut into functions of bounded size, each `fn(frame: *mut i64) -> i32` with 0 for success and
//! otherwise the number of a message, from 1.

use std::collections::BTreeSet;
use std::sync::Arc;

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{
    Block, InstBuilder, MemFlagsData, Signature, StackSlot, StackSlotData, StackSlotKind, Value, types,
};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_module::{DataId, FuncId, Linkage, Module, ModuleError};

use super::routines::{POINTER, signature};
use super::{Routines, emit_dim, scalar_type};
use crate::codegen::KernelSet;
use crate::graph::{Dim, SymbolId};
use crate::loops::{Access, Action, BufferId, Kernel, Program, RoutineCall, Step};
use crate::memory::{Location, MemoryPlan, touched};

/// Steps that go into one function.
const STEPS_PER_FUNCTION: usize = 64;

/// Work (points of all axes) from which a kernel is worth sharing among threads.
const PARALLEL_POINTS: i64 = 1 << 15;

/// Why a run can fail; generated code gives the 1-based position in the list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// An index check of a kernel failed.
    Index(String),
    /// A check step failed.
    Check(String),
    /// A stub routine failed.
    Routine(String),
    /// Memory ran out.
    Memory(String),
}

/// What the run functions refer to.
pub struct RunContext<'a> {
    /// The program.
    pub program: &'a Program,
    /// Its memory plan.
    pub plan: &'a MemoryPlan,
    /// Its distinct kernels.
    pub set: &'a KernelSet,
    /// Their functions.
    pub kernels: &'a [FuncId],
    /// Data objects of the constants, by buffer.
    pub constants: &'a dyn Fn(BufferId) -> Option<DataId>,
    /// Stub functions.
    pub routines: &'a mut Routines,
    /// Where functions are declared and defined.
    pub module: &'a mut dyn Module,
    /// Prefix of function symbols.
    pub prefix: &'a str,
    /// Failures so far.
    pub failures: Vec<Failure>,
    /// Functions made so far.
    pub parts: usize,
    /// Steps and ends of blocks so far, as [`lifetimes`](crate::memory::lifetimes) counts.
    pub clock: usize,
}

/// The signature of run functions.
pub fn run_signature(module: &dyn Module) -> Signature {
    signature(module.isa().default_call_conv(), &[POINTER], &[types::I32])
}

impl RunContext<'_> {
    /// Defines a function that runs `steps`; late buffers in `allocated` have memory already.
    pub fn function(&mut self, steps: &[Step], allocated: &mut BTreeSet<BufferId>) -> Result<FuncId, String> {
        let chunks: Vec<&[Step]> = steps.chunks(STEPS_PER_FUNCTION).collect();
        if chunks.len() <= 1 {
            return self.part(&mut |part| part.steps(steps, allocated));
        }
        let functions =
            chunks.into_iter().map(|chunk| self.function(chunk, allocated)).collect::<Result<Vec<_>, String>>()?;
        let mut level = functions;
        while level.len() > 1 {
            level = level
                .chunks(STEPS_PER_FUNCTION)
                .map(|group| self.part(&mut |part| group.iter().try_for_each(|&function| part.call_part(function))))
                .collect::<Result<Vec<_>, String>>()?;
        }
        Ok(level[0])
    }

    /// Defines one function with the given contents.
    fn part(
        &mut self,
        contents: &mut dyn FnMut(&mut Part<'_, '_, '_>) -> Result<(), String>,
    ) -> Result<FuncId, String> {
        let name = format!("{}_part{}", self.prefix, self.parts);
        self.parts += 1;
        let signature = run_signature(self.module);
        let id = self.module.declare_function(&name, Linkage::Local, &signature).map_err(text)?;
        let mut context = self.module.make_context();
        context.func.signature = signature;
        let mut frontend = FunctionBuilderContext::new();
        let builder = FunctionBuilder::new(&mut context.func, &mut frontend);
        let config = self.module.target_config();
        let mut part = Part::begin(self, builder);
        contents(&mut part)?;
        part.finish(config);
        self.module.define_function(id, &mut context).map_err(text)?;
        Ok(id)
    }

    /// Defines the function `fn(frame) -> i64` that computes slot offsets and gives the size of the arena in bytes, or -1
    /// where a size is negative or too large.
    pub fn plan_function(&mut self, name: &str) -> Result<FuncId, String> {
        let signature = signature(self.module.isa().default_call_conv(), &[POINTER], &[types::I64]);
        let (symbols_at, slots, fixed) = (self.plan.symbols_at, &self.plan.slots, self.plan.fixed_bytes);
        self.leaf(name, signature, |builder, frame| {
            let wide = types::F64;
            let mut offset = builder.ins().iconst(types::I64, fixed as i64);
            let mut sane = builder.ins().iconst(types::I8, 1);
            for (word, sizes) in slots {
                let mut greatest = builder.ins().iconst(types::I64, 0);
                for size in sizes {
                    let value = frame_dim(builder, frame, symbols_at, size);
                    let limit = builder.ins().iconst(types::I64, 1 << 46);
                    let fits = builder.ins().icmp(IntCC::UnsignedLessThan, value, limit);
                    let approximate = frame_dim_float(builder, frame, symbols_at, size);
                    let float_limit = builder.ins().f64const(((1u64 << 46) as f64) * 1.001);
                    let fits_float = builder.ins().fcmp(FloatCC::LessThan, approximate, float_limit);
                    debug_assert_eq!(builder.func.dfg.value_type(approximate), wide);
                    sane = builder.ins().band(sane, fits);
                    sane = builder.ins().band(sane, fits_float);
                    let greater = builder.ins().icmp(IntCC::SignedGreaterThan, value, greatest);
                    greatest = builder.ins().select(greater, value, greatest);
                }
                builder.ins().store(MemFlagsData::trusted(), offset, frame, 8 * *word as i32);
                let padded = builder.ins().iadd_imm_s(greatest, 63);
                let aligned = builder.ins().band_imm_s(padded, -64);
                offset = builder.ins().iadd(offset, aligned);
            }
            let insane = builder.ins().iconst(types::I64, -1);
            let result = builder.ins().select(sane, offset, insane);
            builder.ins().return_(&[result]);
        })
    }

    /// Defines the function `fn(frame, out: *mut i64)` that writes the dimensions of all outputs one after another.
    pub fn output_dims_function(&mut self, name: &str) -> Result<FuncId, String> {
        let signature = signature(self.module.isa().default_call_conv(), &[POINTER, POINTER], &[]);
        let (program, symbols_at) = (self.program, self.plan.symbols_at);
        self.leaf(name, signature, |builder, frame| {
            let out = builder.block_params(builder.current_block().expect("the entry block"))[1];
            for (place, dim) in program.outputs.iter().flat_map(|port| &port.shape).enumerate() {
                let value = frame_dim(builder, frame, symbols_at, dim);
                builder.ins().store(MemFlagsData::trusted(), value, out, 8 * place as i32);
            }
            builder.ins().return_(&[]);
        })
    }

    fn leaf(
        &mut self,
        name: &str,
        signature: Signature,
        contents: impl FnOnce(&mut FunctionBuilder<'_>, Value),
    ) -> Result<FuncId, String> {
        let id = self.module.declare_function(name, Linkage::Local, &signature).map_err(text)?;
        let mut context = self.module.make_context();
        context.func.signature = signature;
        let mut frontend = FunctionBuilderContext::new();
        let mut builder = FunctionBuilder::new(&mut context.func, &mut frontend);
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        builder.seal_block(entry);
        let frame = builder.block_params(entry)[0];
        contents(&mut builder, frame);
        builder.finalize(self.module.target_config());
        self.module.define_function(id, &mut context).map_err(text)?;
        Ok(id)
    }
}

fn text(error: ModuleError) -> String {
    match error {
        ModuleError::Compilation(error) => format!("{error:?}"),
        other => other.to_string(),
    }
}

fn frame_dim(builder: &mut FunctionBuilder<'_>, frame: Value, symbols_at: u64, dim: &Dim) -> Value {
    emit_dim(builder, dim, &mut |builder, id| load_symbol(builder, frame, symbols_at, id))
}

fn load_symbol(builder: &mut FunctionBuilder<'_>, frame: Value, symbols_at: u64, id: SymbolId) -> Value {
    builder.ins().load(types::I64, MemFlagsData::trusted(), frame, 8 * (symbols_at as i32 + id.index() as i32))
}

/// The value of a dimension expression in floating point: wrong by rounding, but without overflow.
fn frame_dim_float(builder: &mut FunctionBuilder<'_>, frame: Value, symbols_at: u64, dim: &Dim) -> Value {
    super::dims::emit_dim_float(builder, dim, &mut |builder, id| load_symbol(builder, frame, symbols_at, id))
}

/// One run function under construction.
struct Part<'a, 'b, 'f> {
    context: &'a mut RunContext<'b>,
    builder: FunctionBuilder<'f>,
    frame: Value,
    exit: Block,
    arguments: StackSlot,
    argument_words: u32,
}

impl<'a, 'b, 'f> Part<'a, 'b, 'f> {
    fn begin(context: &'a mut RunContext<'b>, mut builder: FunctionBuilder<'f>) -> Self {
        let entry = builder.create_block();
        let exit = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.append_block_param(exit, types::I32);
        builder.switch_to_block(entry);
        builder.seal_block(entry);
        let frame = builder.block_params(entry)[0];
        let arguments = builder.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, 8, 3));
        Self { context, builder, frame, exit, arguments, argument_words: 1 }
    }

    fn finish(mut self, config: cranelift_codegen::isa::TargetFrontendConfig) {
        let ok = self.builder.ins().iconst(types::I32, 0);
        self.builder.ins().jump(self.exit, &[ok.into()]);
        self.builder.switch_to_block(self.exit);
        self.builder.seal_block(self.exit);
        let code = self.builder.block_params(self.exit)[0];
        self.builder.ins().return_(&[code]);
        self.builder.func.sized_stack_slots[self.arguments].size = 8 * self.argument_words;
        self.builder.finalize(config);
    }

    fn dim(&mut self, dim: &Dim) -> Value {
        frame_dim(&mut self.builder, self.frame, self.context.plan.symbols_at, dim)
    }

    fn set_symbol(&mut self, symbol: SymbolId, value: Value) {
        let word = self.context.plan.symbols_at as i32 + symbol.index() as i32;
        self.builder.ins().store(MemFlagsData::trusted(), value, self.frame, 8 * word);
    }

    /// Leaves with a failure where `condition` is not zero.
    fn fail_if(&mut self, condition: Value, failure: Failure) {
        let failures = &mut self.context.failures;
        let number = failures.iter().position(|known| *known == failure).unwrap_or_else(|| {
            failures.push(failure);
            failures.len() - 1
        });
        let code = self.builder.ins().iconst(types::I32, number as i64 + 1);
        let go_on = self.builder.create_block();
        self.builder.ins().brif(condition, self.exit, &[code.into()], go_on, &[]);
        self.builder.seal_block(go_on);
        self.builder.switch_to_block(go_on);
    }

    fn call_part(&mut self, function: FuncId) -> Result<(), String> {
        let reference = self.context.module.declare_func_in_func(function, self.builder.func);
        let call = self.builder.ins().call(reference, &[self.frame]);
        let code = self.builder.inst_results(call)[0];
        let go_on = self.builder.create_block();
        self.builder.ins().brif(code, self.exit, &[code.into()], go_on, &[]);
        self.builder.seal_block(go_on);
        self.builder.switch_to_block(go_on);
        Ok(())
    }

    fn address(&mut self, buffer: BufferId) -> Result<Value, String> {
        let flags = MemFlagsData::trusted();
        Ok(match self.context.plan.locations[buffer.0 as usize] {
            Location::Pointer(word) => self.builder.ins().load(POINTER, flags, self.frame, 8 * word as i32),
            Location::Arena(offset) => {
                let arena = self.builder.ins().load(POINTER, flags, self.frame, 8);
                self.builder.ins().iadd_imm_s(arena, offset as i64)
            }
            Location::Slot(word) => {
                let arena = self.builder.ins().load(POINTER, flags, self.frame, 8);
                let offset = self.builder.ins().load(types::I64, flags, self.frame, 8 * word as i32);
                self.builder.ins().iadd(arena, offset)
            }
            Location::Constant => {
                let data = (self.context.constants)(buffer).ok_or("a constant has no data")?;
                let value = self.context.module.declare_data_in_func(data, self.builder.func);
                self.builder.ins().symbol_value(POINTER, value)
            }
            Location::Nowhere => return Err("a buffer without memory is used".into()),
        })
    }

    fn steps(&mut self, steps: &[Step], allocated: &mut BTreeSet<BufferId>) -> Result<(), String> {
        for step in steps {
            let label = self.context.program.labels[step.label as usize].clone();
            self.context.clock += 1;
            self.step(step, &label, allocated).map_err(|error| format!("{label}: {error}"))?;
            self.release(allocated)?;
        }
        Ok(())
    }

    /// Frees the late buffers that nobody needs any more.
    fn release(&mut self, allocated: &mut BTreeSet<BufferId>) -> Result<(), String> {
        let plan = self.context.plan;
        for &buffer in plan.dying.get(&self.context.clock).into_iter().flatten() {
            if allocated.remove(&buffer) {
                self.free(buffer)?;
            }
        }
        Ok(())
    }

    fn is_late_pointer(&self, buffer: BufferId) -> Option<u64> {
        match self.context.plan.locations[buffer.0 as usize] {
            Location::Pointer(word) if self.context.plan.late[buffer.0 as usize] => Some(word),
            _ => None,
        }
    }

    /// Gives memory to the late buffers that a step is the first to touch.
    fn allocate(&mut self, step: &Step, label: &str, allocated: &mut BTreeSet<BufferId>) -> Result<(), String> {
        if matches!(step.action, Action::Move { .. }) {
            return Ok(());
        }
        for buffer in touched(&step.action) {
            let Some(word) = self.is_late_pointer(buffer) else { continue };
            let is_input = matches!(self.context.program.buffer(buffer).kind, crate::loops::BufferKind::Input(_));
            if is_input || !allocated.insert(buffer) {
                continue;
            }
            let size = self.context.program.buffer(buffer).bytes();
            let bytes = self.dim(&size);
            if !size.is_const() {
                // What overflows an integer is too large as a float.
                let limit = self.builder.ins().iconst(types::I64, 1 << 46);
                let excess = self.builder.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, bytes, limit);
                let approximate = frame_dim_float(&mut self.builder, self.frame, self.context.plan.symbols_at, &size);
                let limit = self.builder.ins().f64const(((1u64 << 46) as f64) * 1.001);
                let fits = self.builder.ins().fcmp(FloatCC::LessThan, approximate, limit);
                let overflow = self.builder.ins().bxor_imm_u(fits, 1);
                let failed = self.builder.ins().bor(excess, overflow);
                self.fail_if(
                    failed,
                    Failure::Memory(format!("{label}: a tensor is too large, or has a negative size")),
                );
            }
            let function = self.routine("lithify_allocate", &[POINTER, types::I64], &[POINTER])?;
            let call = self.builder.ins().call(function, &[self.frame, bytes]);
            let address = self.builder.inst_results(call)[0];
            let failed = self.builder.ins().icmp_imm_s(IntCC::Equal, address, 0);
            self.fail_if(failed, Failure::Memory(format!("{label}: out of memory")));
            self.builder.ins().store(MemFlagsData::trusted(), address, self.frame, 8 * word as i32);
        }
        Ok(())
    }

    fn free(&mut self, buffer: BufferId) -> Result<(), String> {
        let Some(word) = self.is_late_pointer(buffer) else { return Ok(()) };
        let address = self.builder.ins().load(POINTER, MemFlagsData::trusted(), self.frame, 8 * word as i32);
        let function = self.routine("lithify_free", &[POINTER, POINTER], &[])?;
        self.builder.ins().call(function, &[self.frame, address]);
        let zero = self.builder.ins().iconst(POINTER, 0);
        self.builder.ins().store(MemFlagsData::trusted(), zero, self.frame, 8 * word as i32);
        Ok(())
    }

    fn routine(
        &mut self,
        name: &str,
        parameters: &[cranelift_codegen::ir::Type],
        results: &[cranelift_codegen::ir::Type],
    ) -> Result<cranelift_codegen::ir::FuncRef, String> {
        let id = self.context.routines.declare(self.context.module, name, parameters, results).map_err(text)?;
        Ok(self.context.module.declare_func_in_func(id, self.builder.func))
    }

    fn step(&mut self, step: &Step, label: &str, allocated: &mut BTreeSet<BufferId>) -> Result<(), String> {
        self.allocate(step, label, allocated)?;
        match &step.action {
            Action::Launch { kernel, buffers } => self.launch(kernel, buffers, label),
            Action::Routine(call) => self.call_routine(call, label),
            Action::Bind { symbol, buffer, element } => {
                let storage = self.context.program.buffer(*buffer).element;
                let ty = scalar_type(storage).filter(|ty| ty.is_int()).ok_or("only integers bind symbols")?;
                let address = self.address(*buffer)?;
                let offset = i32::try_from(element * i64::from(ty.bytes())).map_err(|_| "the element is too far")?;
                let flags = MemFlagsData::new().with_notrap();
                let mut value = self.builder.ins().load(ty, flags, address, offset);
                if ty != types::I64 {
                    value = if storage.is_signed() {
                        self.builder.ins().sextend(types::I64, value)
                    } else {
                        self.builder.ins().uextend(types::I64, value)
                    };
                }
                self.set_symbol(*symbol, value);
                Ok(())
            }
            Action::Set { symbol, value } => {
                let value = self.dim(value);
                self.set_symbol(*symbol, value);
                Ok(())
            }
            Action::Check { condition, message } => {
                let value = self.dim(condition);
                let failed = self.builder.ins().icmp_imm_s(IntCC::Equal, value, 0);
                self.fail_if(failed, Failure::Check(format!("{label}: {message}")));
                Ok(())
            }
            Action::If { condition, then, otherwise } => self.branch(condition, then, otherwise, allocated),
            Action::Loop { counter, count, condition, body } => {
                self.repeat(*counter, count, condition, body, allocated)
            }
            Action::Move { from, to } => {
                self.free(*to)?;
                let (Some(source), Some(target)) = (self.is_late_pointer(*from), self.is_late_pointer(*to)) else {
                    return Err("only buffers of late size can be moved".into());
                };
                let address = self.builder.ins().load(POINTER, MemFlagsData::trusted(), self.frame, 8 * source as i32);
                self.builder.ins().store(MemFlagsData::trusted(), address, self.frame, 8 * target as i32);
                let zero = self.builder.ins().iconst(POINTER, 0);
                self.builder.ins().store(MemFlagsData::trusted(), zero, self.frame, 8 * source as i32);
                allocated.insert(*to);
                allocated.remove(from);
                Ok(())
            }
        }
    }

    /// Writes words into the argument area from word `at` on.
    fn pass(&mut self, at: u32, values: &[Value]) -> Value {
        self.argument_words = self.argument_words.max(at + values.len() as u32);
        for (i, &value) in values.iter().enumerate() {
            self.builder.ins().stack_store(POINTER, value, self.arguments, 8 * (at as i32 + i as i32));
        }
        self.builder.ins().stack_addr(POINTER, self.arguments, 8 * at as i32)
    }

    fn launch(&mut self, kernel: &Arc<Kernel>, buffers: &[BufferId], label: &str) -> Result<(), String> {
        let (number, symbols) = self.context.set.use_of(kernel);
        let symbols = symbols.to_vec();
        let mut words = buffers.iter().map(|&buffer| self.address(buffer)).collect::<Result<Vec<_>, _>>()?;
        let count = words.len() as u32;
        words.extend(
            symbols
                .iter()
                .map(|&symbol| load_symbol(&mut self.builder, self.frame, self.context.plan.symbols_at, symbol)),
        );
        let addresses = self.pass(0, &words);
        let sizes = self.builder.ins().iadd_imm_s(addresses, 8 * i64::from(count));
        let extent = match kernel.outer.first() {
            Some(&axis) => self.dim(kernel.extent(axis)),
            None => self.builder.ins().iconst(types::I64, 1),
        };
        let function = self.context.module.declare_func_in_func(self.context.kernels[number], self.builder.func);
        let code = if is_worth_sharing(kernel) {
            let parallel =
                self.routine("lithify_parallel", &[POINTER, POINTER, POINTER, POINTER, types::I64], &[types::I32])?;
            let address = self.builder.ins().func_addr(POINTER, function);
            let call = self.builder.ins().call(parallel, &[self.frame, address, addresses, sizes, extent]);
            self.builder.inst_results(call)[0]
        } else {
            let zero = self.builder.ins().iconst(types::I64, 0);
            let call = self.builder.ins().call(function, &[addresses, sizes, zero, extent]);
            self.builder.inst_results(call)[0]
        };
        if kernel.can_fail() {
            self.fail_if(code, Failure::Index(format!("{label}: an index is out of range")));
        }
        Ok(())
    }

    fn call_routine(&mut self, call: &RoutineCall, label: &str) -> Result<(), String> {
        let buffers: Vec<BufferId> = call.inputs.iter().chain(&call.outputs).copied().collect();
        let mut words = buffers.iter().map(|&buffer| self.address(buffer)).collect::<Result<Vec<_>, _>>()?;
        let count = words.len() as i64;
        words.extend(call.parameters.iter().map(|dim| self.dim(dim)).collect::<Vec<_>>());
        let zero = self.builder.ins().iconst(types::I64, 0);
        words.extend(call.binds.iter().map(|_| zero));
        let addresses = self.pass(0, &words);
        let parameters = self.builder.ins().iadd_imm_s(addresses, 8 * count);
        let function = self.routine(call.routine, &[POINTER, POINTER, POINTER], &[types::I32])?;
        let result = self.builder.ins().call(function, &[self.frame, addresses, parameters]);
        let code = self.builder.inst_results(result)[0];
        self.fail_if(code, Failure::Routine(format!("{label}: the values of its inputs are not valid")));
        for (i, &symbol) in call.binds.iter().enumerate() {
            let word = count as i32 + call.parameters.len() as i32 + i as i32;
            let value = self.builder.ins().stack_load(POINTER, types::I64, self.arguments, 8 * word);
            self.set_symbol(symbol, value);
        }
        Ok(())
    }

    fn branch(
        &mut self,
        condition: &Dim,
        then: &[Step],
        otherwise: &[Step],
        allocated: &mut BTreeSet<BufferId>,
    ) -> Result<(), String> {
        let condition = self.dim(condition);
        let blocks = [self.builder.create_block(), self.builder.create_block()];
        let exit = self.builder.create_block();
        self.builder.ins().brif(condition, blocks[0], &[], blocks[1], &[]);
        let before = allocated.clone();
        for (block, steps) in blocks.into_iter().zip([then, otherwise]) {
            self.builder.switch_to_block(block);
            self.builder.seal_block(block);
            let mut inside = before.clone();
            self.nested(steps, &mut inside)?;
            allocated.extend(inside);
            self.builder.ins().jump(exit, &[]);
        }
        self.builder.switch_to_block(exit);
        self.builder.seal_block(exit);
        self.context.clock += 1;
        Ok(())
    }

    /// Steps of a block: in place when few, else in functions of their own.
    fn nested(&mut self, steps: &[Step], allocated: &mut BTreeSet<BufferId>) -> Result<(), String> {
        if steps.len() <= STEPS_PER_FUNCTION / 4 {
            return self.steps(steps, allocated);
        }
        let function = self.context.function(steps, allocated)?;
        self.call_part(function)
    }

    fn repeat(
        &mut self,
        counter: SymbolId,
        count: &Dim,
        condition: &Dim,
        body: &[Step],
        allocated: &mut BTreeSet<BufferId>,
    ) -> Result<(), String> {
        let zero = self.builder.ins().iconst(types::I64, 0);
        self.set_symbol(counter, zero);
        let (head, block, exit) =
            (self.builder.create_block(), self.builder.create_block(), self.builder.create_block());
        self.builder.ins().jump(head, &[]);
        self.builder.switch_to_block(head);
        let done = load_symbol(&mut self.builder, self.frame, self.context.plan.symbols_at, counter);
        let count = self.dim(count);
        let condition = self.dim(condition);
        let below = self.builder.ins().icmp(IntCC::SignedLessThan, done, count);
        let holds = self.builder.ins().icmp_imm_s(IntCC::NotEqual, condition, 0);
        let go_on = self.builder.ins().band(below, holds);
        self.builder.ins().brif(go_on, block, &[], exit, &[]);
        self.builder.switch_to_block(block);
        self.builder.seal_block(block);
        let mut inside = allocated.clone();
        self.nested(body, &mut inside)?;
        for &buffer in inside.difference(allocated) {
            self.free(buffer)?;
        }
        let done = load_symbol(&mut self.builder, self.frame, self.context.plan.symbols_at, counter);
        let next = self.builder.ins().iadd_imm_s(done, 1);
        self.set_symbol(counter, next);
        self.builder.ins().jump(head, &[]);
        self.builder.seal_block(head);
        self.builder.seal_block(exit);
        self.builder.switch_to_block(exit);
        self.context.clock += 1;
        Ok(())
    }
}

/// Whether threads may share a kernel and its work is not known to be small.
fn is_worth_sharing(kernel: &Kernel) -> bool {
    let packed = kernel.parameters.iter().any(|p| p.access == Access::Write && p.element.bits() < 8);
    let work = Dim::product(kernel.axes.iter().cloned()).as_const();
    kernel.is_parallel() && !packed && !kernel.outer.is_empty() && work.is_none_or(|points| points >= PARALLEL_POINTS)
}
