//! Memory from libc, aligned to 64 bytes.

use core::ffi::c_void;

use crate::context::Context;

unsafe extern "C" {
    fn malloc(bytes: usize) -> *mut c_void;
    #[link_name = "free"]
    fn libc_free(memory: *mut c_void);
    fn memset(memory: *mut c_void, byte: i32, bytes: usize) -> *mut c_void;
}

/// Bytes before an aligned block in which the address to free stands.
const HEADER: usize = 64;

/// A block that lives until the end of a run; its contents follow after `HEADER` bytes.
#[derive(Debug)]
#[repr(C)]
pub struct Block {
    previous: *mut Block,
    next: *mut Block,
}

/// Memory aligned to 64 bytes, or null.
pub fn allocate(bytes: usize) -> *mut c_void {
    let Some(total) = bytes.checked_add(2 * HEADER) else { return core::ptr::null_mut() };
    // SAFETY: malloc accepts any size.
    let raw = unsafe { malloc(total) };
    if raw.is_null() {
        return raw;
    }
    let skip = HEADER + (raw as usize).wrapping_neg() % HEADER;
    let aligned = raw.cast::<u8>().wrapping_add(skip);
    // SAFETY: at least HEADER bytes of the block precede `aligned`.
    unsafe { aligned.cast::<*mut c_void>().sub(1).write(raw) };
    aligned.cast()
}

/// Like [`allocate`], filled with zeros.
pub fn allocate_zeroed(bytes: usize) -> *mut c_void {
    let memory = allocate(bytes);
    if !memory.is_null() {
        // SAFETY: the block has that many bytes.
        unsafe { memset(memory, 0, bytes) };
    }
    memory
}

/// Frees what [`allocate`] gave; null is ignored.
///
/// # Safety
/// `memory` must be null or come from [`allocate`], and is not used afterwards.
pub unsafe fn free(memory: *mut c_void) {
    if !memory.is_null() {
        // SAFETY: `allocate` wrote the address there.
        unsafe { libc_free(memory.cast::<*mut c_void>().sub(1).read()) };
    }
}

/// Allocates memory for the rest of the run; called by generated code. Null when memory runs out or `bytes` is negative.
///
/// # Safety
/// `frame` must be the frame of a running context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lithify_allocate(frame: *mut i64, bytes: i64) -> *mut c_void {
    let Some(total) = usize::try_from(bytes).ok().and_then(|bytes| bytes.checked_add(HEADER)) else {
        return core::ptr::null_mut();
    };
    let block = allocate(total).cast::<Block>();
    if block.is_null() {
        return core::ptr::null_mut();
    }
    // SAFETY: frame word 0 is the context, which nobody else uses during the run; the block is new.
    unsafe {
        let context = *frame as *mut Context;
        let head = (*context).blocks;
        block.write(Block { previous: core::ptr::null_mut(), next: head });
        if !head.is_null() {
            (*head).previous = block;
        }
        (*context).blocks = block;
    }
    block.cast::<u8>().wrapping_add(HEADER).cast()
}

/// Frees what [`lithify_allocate`] gave, before the end of the run; null is ignored.
///
/// # Safety
/// `frame` must be the frame of a running context, `memory` null or a live block of this run.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lithify_free(frame: *mut i64, memory: *mut c_void) {
    if memory.is_null() {
        return;
    }
    let block = memory.cast::<u8>().wrapping_sub(HEADER).cast::<Block>();
    // SAFETY: the caller's promise; the list links are those that `lithify_allocate` made.
    unsafe {
        let context = *frame as *mut Context;
        let Block { previous, next } = block.read();
        if previous.is_null() {
            (*context).blocks = next;
        } else {
            (*previous).next = next;
        }
        if !next.is_null() {
            (*next).previous = previous;
        }
        free(block.cast());
    }
}

/// Frees all blocks of a run.
///
/// # Safety
/// `context` must be valid; no block is used afterwards.
pub(crate) unsafe fn free_blocks(context: *mut Context) {
    // SAFETY: the list holds live blocks only.
    unsafe {
        let mut block = (*context).blocks;
        (*context).blocks = core::ptr::null_mut();
        while !block.is_null() {
            let next = (*block).next;
            free(block.cast());
            block = next;
        }
    }
}
