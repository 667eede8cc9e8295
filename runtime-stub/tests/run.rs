//! Runs a hand-made model through the stub: `y = 2x` for `x` of shape `[n, 2]`, and `z`, the positive elements of `x`.

#![allow(clippy::undocumented_unsafe_blocks, reason = "the whole file stands in for generated code and a C program")]

use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use lithify_runtime_stub::abi::*;
use lithify_runtime_stub::context::Context;
use lithify_runtime_stub::cpu;
use lithify_runtime_stub::entry::*;
use lithify_runtime_stub::memory::{lithify_allocate, lithify_free};

const SYMBOLS_AT: usize = 2;
const POINTERS_AT: usize = 4;

unsafe extern "C" fn double(buffers: *const *mut c_void, _sizes: *const i64, begin: i64, end: i64) -> i32 {
    for point in begin as usize..end as usize {
        unsafe {
            let (x, y) = ((*buffers).cast::<f32>(), (*buffers.add(1)).cast::<f32>());
            y.add(point).write(2.0 * x.add(point).read_unaligned());
        }
    }
    0
}

unsafe extern "C" fn body(frame: *mut i64) -> i32 {
    unsafe {
        assert_eq!(*frame.add(1) % 64, 0);
        let count = 2 * *frame.add(SYMBOLS_AT);
        let x = *frame.add(POINTERS_AT) as *mut c_void;
        let workspace = *frame.add(1) as *mut u8;
        ptr::write_bytes(workspace, 0xaa, 4 * count as usize);
        let buffers = [x, *frame.add(POINTERS_AT + 1) as *mut c_void];
        if lithify_parallel(frame, double, buffers.as_ptr(), ptr::null(), count) != 0 {
            return 2;
        }
        let read = |i: i64| x.cast::<f32>().add(i as usize).read_unaligned();
        if count > 0 && read(0) == -99.0 {
            return 1;
        }
        let scratch = lithify_allocate(frame, 100);
        let positive: Vec<f32> = (0..count).map(read).filter(|&x| x > 0.0).collect();
        *frame.add(SYMBOLS_AT + 1) = positive.len() as i64;
        let z = lithify_allocate(frame, 4 * positive.len() as i64);
        lithify_free(frame, scratch);
        if z.is_null() {
            return 2;
        }
        ptr::copy_nonoverlapping(positive.as_ptr().cast(), z.cast::<u8>(), 4 * positive.len());
        *frame.add(POINTERS_AT + 2) = z as i64;
    }
    0
}

unsafe extern "C" fn plan(frame: *mut i64) -> i64 {
    let n = unsafe { *frame.add(SYMBOLS_AT) };
    if n > 1 << 40 { -1 } else { 8 * n }
}

unsafe extern "C" fn output_dims(frame: *mut i64, out: *mut i64) {
    unsafe {
        *out = *frame.add(SYMBOLS_AT);
        *out.add(1) = 2;
        *out.add(2) = *frame.add(SYMBOLS_AT + 1);
    }
}

unsafe extern "C" fn create(options: *const Options, context: *mut *mut Context) -> i32 {
    unsafe { lithify_create(&MODEL, options, context) }
}

const fn port(name: &'static CStr, dims: &'static [i64]) -> Port {
    Port {
        name: name.as_ptr(),
        kind: KIND_TENSOR,
        element_type: 1,
        dims: dims.as_ptr(),
        rank: dims.len() as u32,
        reserved: 0,
    }
}

/// Constants that point to constants.
struct Fixed<T>(T);
// SAFETY: nothing is ever written.
unsafe impl<T> Sync for Fixed<T> {}

static SYMBOLS: Fixed<[*const c_char; 2]> = Fixed([c"n".as_ptr(), c"m".as_ptr()]);
static MESSAGES: Fixed<[*const c_char; 2]> =
    Fixed([c"pick (Gather): an index is out of range".as_ptr(), c"out of memory".as_ptr()]);
static INPUTS: Fixed<[Port; 1]> = Fixed([port(c"x", &[-1, 2])]);
static OUTPUTS: Fixed<[Port; 2]> = Fixed([port(c"y", &[-1, 2]), port(c"z", &[DIM_AT_RUN_TIME])]);

static MODEL: Descriptor = Descriptor {
    model: Model {
        abi_version: ABI_VERSION,
        size: size_of::<Model>() as u32,
        name: c"test".as_ptr(),
        build: c"{}".as_ptr(),
        input_count: 1,
        output_count: 2,
        inputs: INPUTS.0.as_ptr(),
        outputs: OUTPUTS.0.as_ptr(),
        symbols: SYMBOLS.0.as_ptr(),
        symbol_count: 2,
        reserved: 0,
        cpu_features: 0,
        create,
        destroy: lithify_destroy,
        run: lithify_run,
        error: lithify_error,
        workspace_bytes: lithify_workspace_bytes,
        release: lithify_release,
    },
    body,
    plan,
    output_dims,
    frame_words: 8 + 3,
    symbols_at: SYMBOLS_AT as u64,
    symbol_words: 2,
    pointers_at: POINTERS_AT as u64,
    output_rank_total: 3,
    late_outputs: [0u8, 1].as_ptr(),
    messages: MESSAGES.0.as_ptr(),
    message_codes: [Status::IndexOutOfRange as i32, Status::OutOfMemory as i32].as_ptr(),
    message_count: 2,
};

fn defaults() -> Options {
    // SAFETY: zero is valid for all fields.
    Options { size: size_of::<Options>(), ..unsafe { std::mem::zeroed() } }
}

fn context(options: &Options) -> *mut Context {
    let mut context = ptr::null_mut();
    assert_eq!(unsafe { create(options, &mut context) }, 0);
    context
}

fn value(data: *mut f32, bytes: usize, dims: &mut [i64]) -> Value {
    Value {
        kind: KIND_TENSOR,
        element_type: 1,
        data: data.cast(),
        bytes: bytes as u64,
        dims: dims.as_mut_ptr(),
        rank: dims.len() as u32,
        flags: 0,
        items: ptr::null_mut(),
        count: 0,
    }
}

/// Runs with outputs `y` and `z` in the given places; gives status and message.
fn run(context: *mut Context, x: &mut [f32], y: &mut [f32], z: &mut [f32]) -> (i32, String) {
    let rows = x.len() as i64 / 2;
    run_values(
        context,
        value(x.as_mut_ptr(), 4 * x.len(), &mut [rows, 2]),
        &mut [value(y.as_mut_ptr(), 4 * y.len(), &mut [0, 0]), value(z.as_mut_ptr(), 4 * z.len(), &mut [0])],
    )
}

fn run_values(context: *mut Context, x: Value, outputs: &mut [Value]) -> (i32, String) {
    unsafe {
        let status = lithify_run(context, &x, 1, outputs.as_mut_ptr(), outputs.len());
        let message = CStr::from_ptr(lithify_error(context)).to_str().unwrap().to_owned();
        (status, message)
    }
}

#[test]
fn outputs_of_early_and_late_shape() {
    let context = context(&defaults());
    let (mut y, mut z) = ([0.0; 4], [0.0; 4]);
    assert_eq!(run(context, &mut [1.0, -2.0, 3.0, 4.0], &mut y, &mut z), (0, String::new()));
    assert_eq!((y, z), ([2.0, -4.0, 6.0, 8.0], [1.0, 3.0, 4.0, 0.0]));

    let mut dims = [[7; 2]; 2];
    let [y_dims, z_dims] = &mut dims;
    let mut outputs = [value(ptr::null_mut(), 0, y_dims), value(ptr::null_mut(), 0, z_dims)];
    let mut data = [5.0, 6.0];
    let x = value(data.as_mut_ptr(), 8, &mut [1, 2]);
    assert_eq!(run_values(context, x, &mut outputs).0, 0);
    assert_eq!((outputs[0].rank, outputs[0].bytes, outputs[1].rank, outputs[1].bytes), (2, 8, 1, 8));
    assert_eq!(unsafe { *outputs[1].data.cast::<[f32; 2]>() }, [5.0, 6.0]);
    for output in &mut outputs {
        assert_eq!(output.flags, FLAG_ALLOCATED);
        unsafe { lithify_release(context, output) };
        assert!(output.data.is_null() && output.flags == 0);
    }
    assert_eq!(dims, [[1, 2], [2, 7]]);
    unsafe { lithify_destroy(context) };
}

#[test]
fn empty_inputs_and_outputs() {
    let context = context(&defaults());
    assert_eq!(run(context, &mut [], &mut [], &mut []).0, 0);
    unsafe { lithify_destroy(context) };
}

#[test]
fn wrong_values_are_refused_with_a_message() {
    let context = context(&defaults());
    let mut data = [1.0f32, 2.0, 3.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let base = data.as_mut_ptr();
    let at = |i: usize| base.wrapping_add(i);
    let good = |dims: &mut [i64]| value(base, 16, dims);
    let outputs = |y: Value, z: Value| [y, z];
    let mut y_dims = [0; 2];
    let mut z_dims = [0; 1];
    let y = value(at(4), 16, &mut y_dims);
    let z = value(at(8), 16, &mut z_dims);
    let check = |x: Value, mut outputs: [Value; 2], status: Status, part: &str| {
        let (actual, message) = run_values(context, x, &mut outputs);
        assert_eq!(actual, status as i32, "{message}");
        assert!(message.contains(part), "{message}");
    };
    check(good(&mut [2, 3]), outputs(y, z), Status::WrongShape, "dimension 1 is 3, expected 2");
    check(good(&mut [-2, 2]), outputs(y, z), Status::WrongShape, "dimension 0 is -2");
    check(good(&mut [2]), outputs(y, z), Status::WrongRank, "expected 2");
    check(good(&mut [3, 2]), outputs(y, z), Status::BufferTooSmall, "x");
    check(Value { element_type: 11, ..good(&mut [2, 2]) }, outputs(y, z), Status::WrongType, "type 1");
    check(Value { kind: 1, ..good(&mut [2, 2]) }, outputs(y, z), Status::WrongType, "x");
    check(Value { data: ptr::null_mut(), ..good(&mut [2, 2]) }, outputs(y, z), Status::BufferTooSmall, "x");
    check(good(&mut [2, 2]), outputs(Value { element_type: 7, ..y }, z), Status::WrongType, "y");
    check(good(&mut [2, 2]), outputs(Value { bytes: 15, ..y }, z), Status::BufferTooSmall, "y");
    check(good(&mut [2, 2]), outputs(Value { rank: 1, ..y }, z), Status::WrongRank, "y");
    check(good(&mut [2, 2]), outputs(y, Value { bytes: 12, ..z }), Status::BufferTooSmall, "z");
    check(good(&mut [2, 2]), outputs(Value { data: at(3).cast(), ..y }, z), Status::OverlappingBuffers, "y");
    check(good(&mut [2, 2]), outputs(y, Value { data: at(7).cast(), ..z }), Status::OverlappingBuffers, "z");
    check(good(&mut [2, 2]), outputs(y, Value { data: at(1).cast(), ..z }), Status::OverlappingBuffers, "z");
    unsafe { base.write(-99.0) };
    check(good(&mut [2, 2]), outputs(y, z), Status::IndexOutOfRange, "pick (Gather): an index is out of range");
    let (status, message) = run_values(context, good(&mut [2, 2]), &mut [y]);
    assert_eq!(status, Status::InvalidArgument as i32, "{message}");
    unsafe { lithify_destroy(context) };
}

#[test]
fn the_caller_may_own_the_workspace() {
    let any = context(&defaults());
    let needed = |dims: &[i64]| unsafe { lithify_workspace_bytes(any, dims.as_ptr(), dims.len()) };
    let bytes = needed(&[3, 2]);
    assert!((24..=128).contains(&bytes));
    assert!(needed(&[3, 3]) < 0 && needed(&[3]) < 0);
    let mut workspace = vec![0u8; 256];
    let options = Options { workspace: workspace.as_mut_ptr().cast(), workspace_bytes: bytes as u64, ..defaults() };
    let own = context(&options);
    assert_eq!(run(own, &mut [0.0; 6], &mut [0.0; 6], &mut []).0, 0);
    let (status, message) = run(own, &mut [0.0; 60], &mut [0.0; 60], &mut []);
    assert_eq!(status, Status::WorkspaceTooSmall as i32, "{message}");
    unsafe {
        lithify_destroy(own);
        lithify_destroy(any);
    }
}

unsafe extern "C" fn backwards(
    user: *mut c_void,
    task: unsafe extern "C" fn(*mut c_void, i64, i64),
    data: *mut c_void,
    count: i64,
) {
    let first = unsafe { *user.cast::<i64>() };
    for i in (first..count).rev() {
        unsafe { task(data, i, i + 1) };
    }
}

#[test]
fn loops_are_shared_through_the_callers_function() {
    let mut first = 0i64;
    let options =
        Options { parallel_for: Some(backwards), parallel_user: (&raw mut first).cast(), threads: 3, ..defaults() };
    let context = context(&options);
    let mut x: Vec<f32> = (0..10).map(|i| -(i as f32)).collect();
    let mut y = [0.0; 10];
    assert_eq!(run(context, &mut x, &mut y, &mut []).0, 0);
    assert!(x.iter().zip(y).all(|(x, y)| 2.0 * x == y));
    unsafe { lithify_destroy(context) };
}

#[test]
fn creation_is_refused() {
    let mut context = ptr::null_mut();
    let future: [usize; 40] = std::array::from_fn(|i| if i == 0 { 320 } else { usize::from(i == 39) });
    let mut old = [0usize; 3];
    old[0] = 24;
    unsafe {
        let refused = create(future.as_ptr().cast(), &mut context);
        assert_eq!(refused, Status::VersionMismatch as i32);
        assert_eq!(create([1usize].as_ptr().cast(), &mut context), Status::VersionMismatch as i32);
        let mut model = ptr::read(&MODEL);
        model.model.cpu_features = cpu::features() | 1 << 63;
        assert_eq!(lithify_create(&model, ptr::null(), &mut context), Status::UnsupportedCpu as i32);
        assert!(context.is_null());
        assert_eq!(create(old.as_ptr().cast(), &mut context), 0);
        lithify_destroy(context);
        lithify_destroy(ptr::null_mut());
        assert!(!CStr::from_ptr(lithify_error(ptr::null())).is_empty());
    }
}
