//! Unique.

use core::ffi::c_void;

use super::{count, input, output, sort};

/// Finds equal rows of keys (`i64`, buffer 0). Fills, all `i64` and as long as there are rows: buffer 1, scratch; buffer 2,
/// for each distinct row its first occurrence; buffer 3, for each row the number of its distinct row; buffer 4, for each
/// distinct row its occurrences. Parameters: rows, keys in a row, whether distinct rows are in ascending order rather than
/// in order of occurrence, and as result how many there are.
///
/// # Safety
/// As generated code calls it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lithify_unique(_: *mut i64, buffers: *const *mut c_void, parameters: *mut i64) -> i32 {
    // SAFETY: the caller's promise: the buffers have these sizes, and there are four parameters.
    unsafe {
        let (rows, width) = (count(parameters, 0), count(parameters, 1));
        let is_sorted = parameters.add(2).read() != 0;
        let mut groups = Groups {
            keys: input(buffers, 0, rows * width),
            width,
            order: output(buffers, 1, rows),
            first: output(buffers, 2, rows),
            inverse: output(buffers, 3, rows),
            counts: output(buffers, 4, rows),
        };
        let mut distinct = groups.by_value();
        if !is_sorted {
            distinct = groups.by_occurrence();
        }
        parameters.add(3).write(distinct as i64);
    }
    0
}

struct Groups<'a> {
    keys: &'a [i64],
    width: usize,
    order: &'a mut [i64],
    first: &'a mut [i64],
    inverse: &'a mut [i64],
    counts: &'a mut [i64],
}

/// Stores a value where the index is in range, as all are.
fn put(items: &mut [i64], index: i64, value: i64) {
    if let Some(item) = usize::try_from(index).ok().and_then(|index| items.get_mut(index)) {
        *item = value;
    }
}

impl Groups<'_> {
    /// Numbers the distinct rows in ascending order; gives how many there are.
    fn by_value(&mut self) -> usize {
        for (index, place) in self.order.iter_mut().enumerate() {
            *place = index as i64;
        }
        let (keys, width) = (self.keys, self.width);
        let row = |index: i64| {
            let start = (index as usize).saturating_mul(width);
            keys.get(start..start.saturating_add(width)).unwrap_or_default()
        };
        sort::sort(self.order, &|a, b| match row(a).cmp(row(b)) {
            core::cmp::Ordering::Equal => a < b,
            order => order.is_lt(),
        });
        let (mut group, mut previous, mut occurrences) = (-1, -1, 0);
        for &index in self.order.iter() {
            if group < 0 || row(index) != row(previous) {
                group += 1;
                occurrences = 0;
                put(self.first, group, index);
            }
            occurrences += 1;
            put(self.counts, group, occurrences);
            put(self.inverse, index, group);
            previous = index;
        }
        (group + 1) as usize
    }

    /// Numbers the distinct rows anew, in order of occurrence.
    fn by_occurrence(&mut self) -> usize {
        // The order is no longer needed: it takes the new number of each group.
        self.order.fill(-1);
        let mut next = 0;
        for (index, group) in self.inverse.iter_mut().enumerate() {
            let Some(number) = self.order.get_mut(*group as usize) else { continue };
            if *number < 0 {
                *number = next;
                put(self.first, next, index as i64);
                put(self.counts, next, 0);
                next += 1;
            }
            *group = *number;
            if let Some(count) = self.counts.get_mut(*group as usize) {
                *count += 1;
            }
        }
        next as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unique(keys: &mut [i64], width: usize, is_sorted: bool) -> [alloc::vec::Vec<i64>; 3] {
        let rows = keys.len() / width;
        let mut memory: [alloc::vec::Vec<i64>; 4] = core::array::from_fn(|_| alloc::vec![9; rows]);
        let mut buffers = alloc::vec![keys.as_mut_ptr().cast()];
        buffers.extend(memory.iter_mut().map(|memory| memory.as_mut_ptr().cast::<c_void>()));
        let mut parameters = [rows as i64, width as i64, i64::from(is_sorted), -1];
        // SAFETY: the buffers are as long as the parameters say.
        let status = unsafe { lithify_unique(core::ptr::null_mut(), buffers.as_ptr(), parameters.as_mut_ptr()) };
        assert_eq!(status, 0);
        let [_, mut first, inverse, mut counts] = memory;
        first.truncate(parameters[3] as usize);
        counts.truncate(parameters[3] as usize);
        [first, inverse, counts]
    }

    #[test]
    fn numbers_rows_by_value_or_occurrence() {
        let [first, inverse, counts] = unique(&mut [2, 1, 1, 3, 4, 3], 1, true);
        assert_eq!(
            (&first[..], &inverse[..], &counts[..]),
            (&[1, 0, 3, 4][..], &[1, 0, 0, 2, 3, 2][..], &[2, 1, 2, 1][..])
        );
        let [first, inverse, counts] = unique(&mut [2, 1, 1, 3, 4, 3], 1, false);
        assert_eq!(
            (&first[..], &inverse[..], &counts[..]),
            (&[0, 1, 3, 4][..], &[0, 1, 1, 2, 3, 2][..], &[1, 2, 2, 1][..])
        );
        let [first, inverse, _] = unique(&mut [1, 1, 0, 1, 1, 1], 2, true);
        assert_eq!((&first[..], &inverse[..]), (&[1, 0][..], &[1, 0, 1][..]));
        assert_eq!(unique(&mut [], 1, false)[0], []);
    }
}
