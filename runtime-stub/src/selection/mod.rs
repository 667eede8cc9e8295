//! Routines whose results depend on the data in ways that no loop expresses: sorting and selecting.
//!
//! Generated code turns elements of any type into 64-bit keys of the same order, so that one routine serves all types.
//! Every routine has the form of [`Routine`]; the memory it works in is the caller's.

pub mod nonzero;
pub mod sort;
pub mod suppression;
pub mod top_k;
pub mod unique;

pub use nonzero::{lithify_nonzero, lithify_nonzero_count};
pub use suppression::lithify_non_max_suppression;
pub use top_k::lithify_top_k;
pub use unique::lithify_unique;

use core::ffi::c_void;
use core::slice;

/// A routine that generated code calls with the frame, the addresses of inputs and outputs, and parameters, of which it
/// fills the last ones. It gives 0, or another number where the parameters make no sense.
pub type Routine = unsafe extern "C" fn(*mut i64, *const *mut c_void, *mut i64) -> i32;

/// Parameter `index` as a count; 0 where it is negative.
///
/// # Safety
/// There must be that many parameters.
unsafe fn count(parameters: *const i64, index: usize) -> usize {
    // SAFETY: the caller's promise.
    usize::try_from(unsafe { parameters.add(index).read() }).unwrap_or(0)
}

/// The first `len` elements of buffer `index`.
///
/// # Safety
/// There must be that many buffers; this one must hold `len` aligned elements that nobody writes during `'a`.
unsafe fn input<'a, T>(buffers: *const *mut c_void, index: usize, len: usize) -> &'a [T] {
    if len == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(buffers.add(index).read().cast(), len) }
}

/// As [`input`], to write.
///
/// # Safety
/// As for [`input`]; nobody else uses the buffer during `'a`.
unsafe fn output<'a, T>(buffers: *const *mut c_void, index: usize, len: usize) -> &'a mut [T] {
    if len == 0 {
        return &mut [];
    }
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts_mut(buffers.add(index).read().cast(), len) }
}
