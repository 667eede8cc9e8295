//! The C interface of every library that lithify produces, and the descriptor that generated code hands to the stub.
//!
//! The structures from [`Value`] to [`Model`] are public C structures (`lithify_value` and so on in the generated
//! header). They are append-only: a field, once published, keeps its place and meaning.

use core::ffi::{c_char, c_void};

use crate::context::Context;

/// Version of this interface.
pub const ABI_VERSION: u32 = 1;

/// `lithify_value.kind` of a tensor.
pub const KIND_TENSOR: u32 = 0;

/// `lithify_value.flags`: the data was allocated by the library and must be given back with `release`.
pub const FLAG_ALLOCATED: u32 = 1;

/// A port dimension that is decided at run time and has no name.
pub const DIM_AT_RUN_TIME: i64 = i64::MIN;

/// What a call returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum Status {
    /// Success.
    Ok = 0,
    /// A null pointer, or a wrong number of inputs or outputs.
    InvalidArgument = 1,
    /// A kind or element type is not the model's.
    WrongType = 2,
    /// A number of dimensions is not the model's.
    WrongRank = 3,
    /// A dimension is not the model's, or two that must be equal are not.
    WrongShape = 4,
    /// A buffer holds fewer bytes than its shape needs.
    BufferTooSmall = 5,
    /// An output overlaps an input or another output.
    OverlappingBuffers = 6,
    /// Memory could not be allocated.
    OutOfMemory = 7,
    /// The caller's workspace is too small.
    WorkspaceTooSmall = 8,
    /// The processor lacks instructions that the library was compiled for.
    UnsupportedCpu = 9,
    /// An index in a tensor is out of range.
    IndexOutOfRange = 10,
    /// A condition of the model on its inputs does not hold.
    CheckFailed = 11,
    /// An operator cannot work with the values of its inputs.
    InvalidValue = 12,
    /// The options or the interface are of another version.
    VersionMismatch = 13,
}

/// `lithify_value`: an input or output of a call.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Value {
    /// What it is: [`KIND_TENSOR`]; other kinds are reserved.
    pub kind: u32,
    /// Element type, numbered as ONNX does.
    pub element_type: i32,
    /// The elements, row-major; may be unaligned. Null for an output lets the library allocate.
    pub data: *mut c_void,
    /// Input: bytes at `data`. Output: room at `data`; afterwards the bytes written.
    pub bytes: u64,
    /// The dimensions. Output: room for `rank` of them, filled afterwards.
    pub dims: *mut i64,
    /// Number of dimensions.
    pub rank: u32,
    /// [`FLAG_ALLOCATED`].
    pub flags: u32,
    /// Reserved for sequences, optionals and maps.
    pub items: *mut Value,
    /// Reserved for sequences, optionals and maps.
    pub count: u64,
}

/// `lithify_port`: what the model says of an input or output.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Port {
    /// Name in the model.
    pub name: *const c_char,
    /// Kind, as in [`Value::kind`].
    pub kind: u32,
    /// Element type, numbered as ONNX does.
    pub element_type: i32,
    /// Dimensions: a size, or `-1 - k` for symbol `k`, or [`DIM_AT_RUN_TIME`].
    pub dims: *const i64,
    /// Number of dimensions.
    pub rank: u32,
    /// Reserved, 0.
    pub reserved: u32,
}

/// Runs `task(data, begin, end)` for parts that make up `0..count`, perhaps at once, and returns when all are done.
pub type ParallelFor = unsafe extern "C" fn(
    user: *mut c_void,
    task: unsafe extern "C" fn(*mut c_void, i64, i64),
    data: *mut c_void,
    count: i64,
);

/// `lithify_options`: how a context is made. A null pointer stands for all defaults.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Options {
    /// `sizeof(lithify_options)`, so that the library knows which fields the caller knows.
    pub size: usize,
    /// Memory for intermediate results, or null to let the library allocate it.
    pub workspace: *mut c_void,
    /// Bytes at `workspace`.
    pub workspace_bytes: u64,
    /// Threads to use; 0 and 1 mean the caller's alone.
    pub threads: u32,
    /// Reserved, 0.
    pub reserved: u32,
    /// The caller's threads, or null.
    pub parallel_for: Option<ParallelFor>,
    /// First argument of `parallel_for`.
    pub parallel_user: *mut c_void,
}

/// `lithify_model`: everything a host needs to use a model that it does not know.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Model {
    /// [`ABI_VERSION`].
    pub abi_version: u32,
    /// `sizeof(lithify_model)`.
    pub size: u32,
    /// The model's name.
    pub name: *const c_char,
    /// How the library was built, as JSON.
    pub build: *const c_char,
    /// Number of inputs.
    pub input_count: u32,
    /// Number of outputs.
    pub output_count: u32,
    /// The inputs.
    pub inputs: *const Port,
    /// The outputs.
    pub outputs: *const Port,
    /// Names of the symbols that input dimensions bind.
    pub symbols: *const *const c_char,
    /// Number of symbols.
    pub symbol_count: u32,
    /// Reserved, 0.
    pub reserved: u32,
    /// Processor features that the code needs: see [`crate::cpu`].
    pub cpu_features: u64,
    /// Makes a context. One context serves one call at a time; contexts are independent of each other.
    pub create: unsafe extern "C" fn(*const Options, *mut *mut Context) -> i32,
    /// Frees a context.
    pub destroy: unsafe extern "C" fn(*mut Context),
    /// Runs the model.
    pub run: unsafe extern "C" fn(*mut Context, *const Value, usize, *mut Value, usize) -> i32,
    /// What the last call on the context failed for; empty after success.
    pub error: unsafe extern "C" fn(*const Context) -> *const c_char,
    /// Bytes of workspace for inputs of the given dimensions, all inputs' one after another; negative if they do not fit
    /// the model.
    pub workspace_bytes: unsafe extern "C" fn(*mut Context, *const i64, usize) -> i64,
    /// Gives back the data of an output that the library allocated.
    pub release: unsafe extern "C" fn(*mut Context, *mut Value),
}

/// What generated code tells the stub. Not part of the C interface.
#[derive(Debug)]
#[repr(C)]
pub struct Descriptor {
    /// The public table.
    pub model: Model,
    /// Runs all steps: 0, or the number of a message from 1.
    pub body: unsafe extern "C" fn(frame: *mut i64) -> i32,
    /// Computes slot offsets from the symbols and gives the bytes of the arena, or -1 where sizes are impossible.
    pub plan: unsafe extern "C" fn(frame: *mut i64) -> i64,
    /// Writes the dimensions of all outputs one after another.
    pub output_dims: unsafe extern "C" fn(frame: *mut i64, out: *mut i64),
    /// Words of the frame. Word 0 is the context, word 1 the arena.
    pub frame_words: u64,
    /// Frame word of symbol 0.
    pub symbols_at: u64,
    /// Number of symbol words in the frame, at least the public symbols.
    pub symbol_words: u64,
    /// Frame word of the first input's address; the outputs' follow.
    pub pointers_at: u64,
    /// Dimensions of all outputs together.
    pub output_rank_total: u64,
    /// For each output, 1 if its dimensions are known only after the run.
    pub late_outputs: *const u8,
    /// Messages of failures.
    pub messages: *const *const c_char,
    /// [`Status`] of each message.
    pub message_codes: *const i32,
    /// Number of messages.
    pub message_count: u64,
}

// SAFETY: the table points to constants only.
unsafe impl Sync for Descriptor {}
// SAFETY: the table points to constants only.
unsafe impl Sync for Model {}
// SAFETY: the table points to constants only.
unsafe impl Send for Model {}
