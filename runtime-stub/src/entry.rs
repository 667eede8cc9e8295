//! The entry points behind a model's exported functions.

use core::ffi::{c_char, c_void};
use core::slice;

use crate::abi::{DIM_AT_RUN_TIME, Descriptor, FLAG_ALLOCATED, KIND_TENSOR, Options, Port, Status, Value};
use crate::context::Context;
use crate::{cpu, memory};

/// Makes a context of a model.
///
/// # Safety
/// `descriptor` must be generated; `options` null or valid; `out` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lithify_create(
    descriptor: *const Descriptor,
    options: *const Options,
    out: *mut *mut Context,
) -> i32 {
    if out.is_null() {
        return Status::InvalidArgument as i32;
    }
    // SAFETY: the caller's promises.
    unsafe {
        out.write(core::ptr::null_mut());
        let needed = (*descriptor).model.cpu_features;
        if cpu::features() & needed != needed {
            return Status::UnsupportedCpu as i32;
        }
        match Context::create(descriptor, options) {
            Ok(context) => {
                out.write(context);
                Status::Ok as i32
            }
            Err(status) => status as i32,
        }
    }
}

/// Frees a context; null is ignored.
///
/// # Safety
/// `context` must come from [`lithify_create`] and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lithify_destroy(context: *mut Context) {
    if !context.is_null() {
        // SAFETY: the caller's promise.
        unsafe { Context::destroy(context) };
    }
}

/// The message of the context's last failure.
///
/// # Safety
/// `context` must be null or live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lithify_error(context: *const Context) -> *const c_char {
    if context.is_null() {
        return c"no context".as_ptr();
    }
    // SAFETY: the caller's promise.
    unsafe { (*context).message() }
}

/// Frees the data of an output that the library allocated.
///
/// # Safety
/// `value` must be null or a value of an earlier run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lithify_release(_context: *mut Context, value: *mut Value) {
    if value.is_null() {
        return;
    }
    // SAFETY: the flag says that the data came from `memory::allocate`.
    unsafe {
        if (*value).flags & FLAG_ALLOCATED != 0 {
            memory::free((*value).data);
            (*value).data = core::ptr::null_mut();
            (*value).flags &= !FLAG_ALLOCATED;
        }
    }
}

/// Bytes of workspace for inputs of the given dimensions.
///
/// # Safety
/// `context` must be live and `dims` point to `count` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lithify_workspace_bytes(context: *mut Context, dims: *const i64, count: usize) -> i64 {
    if context.is_null() || (dims.is_null() && count > 0) {
        return -1;
    }
    // SAFETY: the caller's promises.
    let call = unsafe { Call::new(context) };
    call.context.clear_message();
    // SAFETY: the caller's promises.
    let mut dims: &[i64] = if count == 0 { &[] } else { unsafe { slice::from_raw_parts(dims, count) } };
    call.forget_symbols();
    for (index, port) in call.inputs().iter().enumerate() {
        let Some((own, rest)) = dims.split_at_checked(port.rank as usize) else { return -1 };
        dims = rest;
        if call.bind(index, port, own).is_err() {
            return -1;
        }
    }
    // SAFETY: the symbols are bound.
    match unsafe { (call.descriptor.plan)(call.context.frame) } {
        bytes if bytes < 0 => -1,
        // Room to align the start.
        bytes => bytes.saturating_add(64),
    }
}

/// Runs the model.
///
/// # Safety
/// `context` must be live and used by one call at a time; the values must be as the C interface states.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lithify_run(
    context: *mut Context,
    inputs: *const Value,
    input_count: usize,
    outputs: *mut Value,
    output_count: usize,
) -> i32 {
    if context.is_null() || (inputs.is_null() && input_count > 0) || (outputs.is_null() && output_count > 0) {
        return Status::InvalidArgument as i32;
    }
    // SAFETY: the caller's promises; null only comes with a count of 0.
    unsafe {
        let mut call = Call::new(context);
        call.context.clear_message();
        let inputs = if input_count == 0 { &[] } else { slice::from_raw_parts(inputs, input_count) };
        let outputs = if output_count == 0 { &mut [] } else { slice::from_raw_parts_mut(outputs, output_count) };
        let result = call.run(inputs, outputs);
        memory::free_blocks(context);
        match result {
            Ok(()) => Status::Ok as i32,
            Err(status) => status as i32,
        }
    }
}

/// One call on a context.
struct Call<'a> {
    context: &'a mut Context,
    descriptor: &'a Descriptor,
}

/// Bytes of `count` packed elements of an ONNX element type.
fn element_bits(element_type: i32) -> u64 {
    match element_type {
        2 | 3 | 9 | 17..=20 | 24 => 8,
        4 | 5 | 10 | 16 => 16,
        1 | 6 | 12 => 32,
        7 | 11 | 13 | 14 => 64,
        8 | 15 => 128,
        21..=23 => 4,
        25 | 26 => 2,
        _ => 8,
    }
}

fn byte_count(element_type: i32, dims: &[i64]) -> Option<u64> {
    if dims.contains(&0) {
        return Some(0);
    }
    let mut count = 1u64;
    for &dim in dims {
        count = count.checked_mul(u64::try_from(dim).ok()?)?;
    }
    Some(count.checked_mul(element_bits(element_type))?.div_ceil(8))
}

impl<'a> Call<'a> {
    /// # Safety
    /// `context` must be live and not used otherwise during `'a`.
    unsafe fn new(context: *mut Context) -> Self {
        // SAFETY: the caller's promise; the descriptor is a constant of the library.
        unsafe {
            let descriptor = &*(*context).descriptor;
            let context = &mut *context;
            *context.frame = core::ptr::from_mut(context) as i64;
            Self { context, descriptor }
        }
    }

    fn inputs(&self) -> &'a [Port] {
        ports(self.descriptor.model.inputs, self.descriptor.model.input_count)
    }

    fn outputs(&self) -> &'a [Port] {
        ports(self.descriptor.model.outputs, self.descriptor.model.output_count)
    }

    fn word(&self, index: u64) -> *mut i64 {
        // The frame has `frame_words` words, and the descriptor's numbers are below that.
        self.context.frame.wrapping_add(index as usize)
    }

    /// Empties the words of buffers: the last run's addresses of late buffers are no longer valid, and generated code
    /// frees what it finds there.
    fn forget_addresses(&self) {
        for index in self.descriptor.pointers_at..self.descriptor.frame_words {
            // SAFETY: a word of the frame.
            unsafe { self.word(index).write(0) };
        }
    }

    fn forget_symbols(&self) {
        for k in 0..self.descriptor.symbol_words {
            // SAFETY: a symbol word of the frame.
            unsafe { self.word(self.descriptor.symbols_at + k).write(-1) };
        }
    }

    /// Checks the dimensions of an input and binds the symbols among them.
    fn bind(&self, index: usize, port: &Port, dims: &[i64]) -> Result<(), (Status, usize, usize, i64)> {
        for (axis, &dim) in dims.iter().enumerate() {
            // SAFETY: a port has `rank` dimensions.
            let declared = unsafe { port.dims.add(axis).read() };
            let expected = match declared {
                DIM_AT_RUN_TIME => dim,
                0.. => declared,
                symbol => {
                    let word = self.word(self.descriptor.symbols_at + (-1 - symbol) as u64);
                    // SAFETY: a symbol word of the frame.
                    unsafe {
                        if word.read() < 0 {
                            word.write(dim);
                        }
                        word.read()
                    }
                }
            };
            if dim != expected || dim < 0 {
                return Err((Status::WrongShape, index, axis, expected));
            }
        }
        Ok(())
    }

    /// A failure that names an input or output: `input NAME: text`.
    fn refuse(&mut self, what: &str, port: &Port, text: &str, status: Status) -> Status {
        self.context.fail(what);
        self.context.append(b" `");
        // SAFETY: port names are C strings.
        unsafe { self.context.append_c(port.name) };
        self.context.append(b"`: ");
        self.context.append(text.as_bytes());
        status
    }

    fn run(&mut self, inputs: &[Value], outputs: &mut [Value]) -> Result<(), Status> {
        self.accept_inputs(inputs)?;
        // SAFETY: the symbols are bound.
        let bytes = unsafe { (self.descriptor.plan)(self.context.frame) };
        let Ok(bytes) = u64::try_from(bytes) else {
            self.context.fail("the shapes of the inputs need more memory than there can be");
            return Err(Status::OutOfMemory);
        };
        self.context.reserve(bytes)?;
        // SAFETY: frame word 1 is the arena.
        unsafe { self.word(1).write(self.context.workspace as i64) };
        self.place_outputs(inputs, outputs)?;
        // SAFETY: everything that the body reads from the frame is in place.
        let code = unsafe { (self.descriptor.body)(self.context.frame) };
        if code != 0 {
            return Err(self.failure(code));
        }
        self.deliver_late_outputs(outputs)
    }

    fn failure(&mut self, code: i32) -> Status {
        let index = (code as usize).wrapping_sub(1);
        if index >= self.descriptor.message_count as usize {
            self.context.fail("the model failed");
            return Status::InvalidValue;
        }
        // SAFETY: the tables have `message_count` entries.
        let (message, status) =
            unsafe { (*self.descriptor.messages.add(index), *self.descriptor.message_codes.add(index)) };
        self.context.fail("");
        // SAFETY: messages are C strings.
        unsafe { self.context.append_c(message) };
        match status {
            7 => Status::OutOfMemory,
            10 => Status::IndexOutOfRange,
            11 => Status::CheckFailed,
            _ => Status::InvalidValue,
        }
    }

    fn accept_inputs(&mut self, inputs: &[Value]) -> Result<(), Status> {
        let ports = self.inputs();
        if inputs.len() != ports.len() {
            self.context.fail("wrong number of inputs: the model has ");
            self.context.append_number(ports.len() as u64);
            return Err(Status::InvalidArgument);
        }
        self.forget_symbols();
        self.forget_addresses();
        for (index, (port, value)) in ports.iter().zip(inputs).enumerate() {
            self.accept_input(index, port, value)?;
        }
        Ok(())
    }

    fn accept_input(&mut self, index: usize, port: &Port, value: &Value) -> Result<(), Status> {
        if value.kind != KIND_TENSOR || value.element_type != port.element_type {
            self.refuse("input", port, "wrong element type: expected ONNX type ", Status::WrongType);
            self.context.append_signed(port.element_type.into());
            return Err(Status::WrongType);
        }
        if value.rank != port.rank || (value.dims.is_null() && value.rank > 0) {
            self.refuse("input", port, "wrong number of dimensions: expected ", Status::WrongRank);
            self.context.append_number(port.rank.into());
            return Err(Status::WrongRank);
        }
        let dims = match value.rank as usize {
            0 => &[],
            // SAFETY: the value has `rank` dimensions.
            rank => unsafe { slice::from_raw_parts(value.dims, rank) },
        };
        if let Err((status, _, axis, expected)) = self.bind(index, port, dims) {
            self.refuse("input", port, "dimension ", status);
            self.context.append_number(axis as u64);
            self.context.append(b" is ");
            self.context.append_signed(dims.get(axis).copied().unwrap_or(-1));
            self.context.append(b", expected ");
            self.context.append_signed(expected);
            return Err(status);
        }
        match byte_count(value.element_type, dims) {
            Some(bytes) if bytes <= value.bytes && (bytes == 0 || !value.data.is_null()) => {}
            _ => {
                return Err(self.refuse(
                    "input",
                    port,
                    "the buffer is smaller than the shape needs",
                    Status::BufferTooSmall,
                ));
            }
        }
        // SAFETY: a pointer word of the frame.
        unsafe { self.word(self.descriptor.pointers_at + index as u64).write(value.data as i64) };
        Ok(())
    }

    fn is_late(&self, index: usize) -> bool {
        // SAFETY: one byte an output.
        unsafe { *self.descriptor.late_outputs.add(index) != 0 }
    }

    /// Writes the dimensions of output `index` into the caller's value; gives the bytes that it needs.
    fn describe(&mut self, index: usize, port: &Port, value: &mut Value, dims_at: usize) -> Result<u64, Status> {
        if value.kind != KIND_TENSOR || value.element_type != port.element_type && value.element_type != 0 {
            self.refuse("output", port, "wrong element type: expected ONNX type ", Status::WrongType);
            self.context.append_signed(port.element_type.into());
            return Err(Status::WrongType);
        }
        if value.dims.is_null() && port.rank > 0 || value.rank < port.rank {
            return Err(self.refuse("output", port, "there is no room for the dimensions", Status::WrongRank));
        }
        let rank = port.rank as usize;
        // Dimensions are computed into the arena's frame tail, which `frame_words` counts.
        let at = self.descriptor.frame_words - self.descriptor.output_rank_total;
        let source = self.word(at).wrapping_add(dims_at);
        // SAFETY: the tail has `output_rank_total` words; the caller's array has room.
        let dims = unsafe { slice::from_raw_parts(source, rank) };
        for (axis, &dim) in dims.iter().enumerate() {
            // SAFETY: checked above.
            unsafe { value.dims.add(axis).write(dim) };
        }
        value.rank = port.rank;
        value.kind = KIND_TENSOR;
        value.element_type = port.element_type;
        let _ = index;
        byte_count(port.element_type, dims)
            .ok_or_else(|| self.refuse("output", port, "the shape is impossible", Status::WrongShape))
    }

    /// Gives the output memory of `bytes` bytes: the caller's, or new.
    fn provide(&mut self, port: &Port, value: &mut Value, bytes: u64) -> Result<(), Status> {
        if value.data.is_null() {
            value.flags &= !FLAG_ALLOCATED;
        }
        if value.data.is_null() && bytes > 0 {
            value.data = usize::try_from(bytes).map_or(core::ptr::null_mut(), memory::allocate);
            if value.data.is_null() {
                return Err(self.refuse("output", port, "out of memory", Status::OutOfMemory));
            }
            value.flags |= FLAG_ALLOCATED;
        } else if value.bytes < bytes {
            self.refuse("output", port, "the buffer is too small: bytes needed: ", Status::BufferTooSmall);
            self.context.append_number(bytes);
            return Err(Status::BufferTooSmall);
        }
        value.bytes = bytes;
        Ok(())
    }

    fn compute_output_dims(&self) {
        let at = self.descriptor.frame_words - self.descriptor.output_rank_total;
        // SAFETY: the frame's tail has room for all dimensions.
        unsafe { (self.descriptor.output_dims)(self.context.frame, self.word(at)) };
    }

    fn place_outputs(&mut self, inputs: &[Value], outputs: &mut [Value]) -> Result<(), Status> {
        let ports = self.outputs();
        if outputs.len() != ports.len() {
            self.context.fail("wrong number of outputs: the model has ");
            self.context.append_number(ports.len() as u64);
            return Err(Status::InvalidArgument);
        }
        self.compute_output_dims();
        let first_word = self.descriptor.pointers_at + inputs.len() as u64;
        let mut dims_at = 0;
        for index in 0..ports.len() {
            let (Some(port), true) = (ports.get(index), index < outputs.len()) else { break };
            if !self.is_late(index) {
                let Some(value) = outputs.get_mut(index) else { break };
                let bytes = self.describe(index, port, value, dims_at)?;
                self.provide(port, value, bytes)?;
                let placed = *value;
                // SAFETY: a pointer word of the frame.
                unsafe { self.word(first_word + index as u64).write(placed.data as i64) };
            }
            // An output of late shape is written after the run, as far as its buffer may reach.
            let others = inputs.iter().chain(outputs.get(..index).unwrap_or_default());
            if outputs.get(index).is_some_and(|placed| others.into_iter().any(|other| overlap(placed, other))) {
                let message = "overlaps an input or another output";
                return Err(self.refuse("output", port, message, Status::OverlappingBuffers));
            }
            dims_at += port.rank as usize;
        }
        Ok(())
    }

    /// Copies outputs whose sizes were decided by the run to the caller.
    fn deliver_late_outputs(&mut self, outputs: &mut [Value]) -> Result<(), Status> {
        let ports = self.outputs();
        if !(0..ports.len()).any(|index| self.is_late(index)) {
            return Ok(());
        }
        self.compute_output_dims();
        let first_word = self.descriptor.pointers_at + u64::from(self.descriptor.model.input_count);
        let mut dims_at = 0;
        for (index, (port, value)) in ports.iter().zip(outputs).enumerate() {
            if self.is_late(index) {
                let bytes = self.describe(index, port, value, dims_at)?;
                self.provide(port, value, bytes)?;
                // SAFETY: the body left the address of its own buffer, of that many bytes, in the frame.
                unsafe {
                    let source = self.word(first_word + index as u64).read() as *const u8;
                    if bytes > 0 {
                        core::ptr::copy_nonoverlapping(source, value.data.cast::<u8>(), bytes as usize);
                    }
                }
            }
            dims_at += port.rank as usize;
        }
        Ok(())
    }
}

fn ports<'a>(first: *const Port, count: u32) -> &'a [Port] {
    if count == 0 {
        return &[];
    }
    // SAFETY: the descriptor's tables are constants of the library with that many entries.
    unsafe { slice::from_raw_parts(first, count as usize) }
}

fn overlap(a: &Value, b: &Value) -> bool {
    if a.data.is_null() || b.data.is_null() {
        return false;
    }
    let (a_start, b_start) = (a.data as usize as u64, b.data as usize as u64);
    a.bytes > 0 && b.bytes > 0 && a_start < b_start.saturating_add(b.bytes) && b_start < a_start.saturating_add(a.bytes)
}

/// The work of [`lithify_parallel`], as its parts see it.
struct Work {
    kernel: Kernel,
    buffers: *const *mut c_void,
    sizes: *const i64,
    failed: core::sync::atomic::AtomicI32,
}

type Kernel = unsafe extern "C" fn(*const *mut c_void, *const i64, i64, i64) -> i32;

unsafe extern "C" fn run_part(data: *mut c_void, begin: i64, end: i64) {
    // SAFETY: `lithify_parallel` passes its own work, which outlives the call.
    unsafe {
        let work = &*data.cast::<Work>();
        if (work.kernel)(work.buffers, work.sizes, begin, end) != 0 {
            work.failed.store(1, core::sync::atomic::Ordering::Relaxed);
        }
    }
}

/// Runs a kernel over `0..count`, on the caller's threads if it gave some; called by generated code.
///
/// # Safety
/// As generated code calls it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lithify_parallel(
    frame: *mut i64,
    kernel: Kernel,
    buffers: *const *mut c_void,
    sizes: *const i64,
    count: i64,
) -> i32 {
    // SAFETY: frame word 0 is the context.
    unsafe {
        let context = &*(*frame as *const Context);
        match context.parallel_for {
            Some(parallel_for) if context.threads > 1 && count > 1 => {
                let mut work = Work { kernel, buffers, sizes, failed: 0.into() };
                let data = core::ptr::from_mut(&mut work).cast();
                parallel_for(context.parallel_user, run_part, data, count);
                work.failed.load(core::sync::atomic::Ordering::Relaxed)
            }
            _ => kernel(buffers, sizes, 0, count),
        }
    }
}
