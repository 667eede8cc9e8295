//! TopK.

use core::ffi::c_void;

use super::{count, input, output, sort};

/// For each row of keys (`i64`, buffer 0) the positions (`i64`, buffer 1) of the greatest, greatest first, of equal ones
/// the first first. Parameters: rows, keys in a row, positions in a row.
///
/// # Safety
/// As generated code calls it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lithify_top_k(_: *mut i64, buffers: *const *mut c_void, parameters: *mut i64) -> i32 {
    // SAFETY: the caller's promise: the buffers have these sizes.
    let (keys, positions, length, wanted) = unsafe {
        let (rows, length, wanted) = (count(parameters, 0), count(parameters, 1), count(parameters, 2));
        if wanted > length {
            return 1;
        }
        if rows == 0 || wanted == 0 {
            return 0;
        }
        let keys: &[i64] = input(buffers, 0, rows * length);
        (keys, output::<i64>(buffers, 1, rows * wanted), length, wanted)
    };
    for (keys, positions) in keys.chunks_exact(length).zip(positions.chunks_exact_mut(wanted)) {
        let key = |position: i64| keys.get(position as usize).copied().unwrap_or(i64::MIN);
        sort::select(positions, length, &|a, b| {
            let (x, y) = (key(a), key(b));
            x > y || x == y && a < b
        });
    }
    0
}
