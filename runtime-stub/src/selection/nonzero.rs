//! NonZero.

use core::ffi::c_void;

use super::{count, input, output};

/// How many bytes of buffer 0 are not 0. Parameters: bytes, and the result.
///
/// # Safety
/// As generated code calls it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lithify_nonzero_count(_: *mut i64, buffers: *const *mut c_void, parameters: *mut i64) -> i32 {
    // SAFETY: the caller's promise: the buffer has this size, and there are two parameters.
    unsafe {
        let flags: &[u8] = input(buffers, 0, count(parameters, 0));
        let set = flags.iter().filter(|&&flag| flag != 0).count();
        parameters.add(1).write(set as i64);
    }
    0
}

/// The positions of the bytes of buffer 0 that are not 0: a row for each dimension (`i64`, buffer 1). Parameters: bytes,
/// length of a row, number of dimensions, and the dimensions.
///
/// # Safety
/// As generated code calls it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lithify_nonzero(_: *mut i64, buffers: *const *mut c_void, parameters: *mut i64) -> i32 {
    // SAFETY: the caller's promise: the buffers have these sizes, and each dimension is a parameter.
    unsafe {
        let (total, found, rank) = (count(parameters, 0), count(parameters, 1), count(parameters, 2));
        let flags: &[u8] = input(buffers, 0, total);
        let rows: &mut [i64] = output(buffers, 1, rank * found);
        let set = flags.iter().enumerate().filter(|(_, flag)| **flag != 0);
        for (column, (position, _)) in set.take(found).enumerate() {
            let mut rest = position;
            for axis in (0..rank).rev() {
                let extent = count(parameters, 3 + axis).max(1);
                if let Some(place) = rows.get_mut(axis * found + column) {
                    *place = (rest % extent) as i64;
                }
                rest /= extent;
            }
        }
    }
    0
}
