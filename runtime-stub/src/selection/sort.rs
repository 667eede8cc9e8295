//! Sorting without memory of its own and without panics.

/// Element `index`; 0 beyond the end.
fn at(items: &[i64], index: usize) -> i64 {
    items.get(index).copied().unwrap_or(0)
}

/// Exchanges two elements.
fn swap(items: &mut [i64], a: usize, b: usize) {
    let (first, second) = (at(items, a), at(items, b));
    if let Some(item) = items.get_mut(a) {
        *item = second;
    }
    if let Some(item) = items.get_mut(b) {
        *item = first;
    }
}

/// Moves the root down until it comes after both of its children, in a heap whose root comes last.
fn sift(items: &mut [i64], mut root: usize, end: usize, precedes: &impl Fn(i64, i64) -> bool) {
    loop {
        let mut child = 2 * root + 1;
        if child >= end {
            return;
        }
        if child + 1 < end && precedes(at(items, child), at(items, child + 1)) {
            child += 1;
        }
        if !precedes(at(items, root), at(items, child)) {
            return;
        }
        swap(items, root, child);
        root = child;
    }
}

/// Makes a heap whose root comes last.
fn heapify(items: &mut [i64], precedes: &impl Fn(i64, i64) -> bool) {
    for root in (0..items.len() / 2).rev() {
        sift(items, root, items.len(), precedes);
    }
}

/// Sorts by a strict order; items that are equal in it end in any order.
pub fn sort(items: &mut [i64], precedes: &impl Fn(i64, i64) -> bool) {
    heapify(items, precedes);
    for end in (1..items.len()).rev() {
        swap(items, 0, end);
        sift(items, 0, end, precedes);
    }
}

/// Fills `first` with the numbers below `count` that come first, in order.
pub fn select(first: &mut [i64], count: usize, precedes: &impl Fn(i64, i64) -> bool) {
    for (index, item) in first.iter_mut().enumerate() {
        *item = index as i64;
    }
    heapify(first, precedes);
    for candidate in first.len()..count {
        if !first.is_empty() && precedes(candidate as i64, at(first, 0)) {
            if let Some(root) = first.first_mut() {
                *root = candidate as i64;
            }
            sift(first, 0, first.len(), precedes);
        }
    }
    sort(first, precedes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selects_and_sorts() {
        let keys = [3i64, -1, 3, 7, 0, 7];
        let precedes = |a: i64, b: i64| {
            let (x, y) = (keys[a as usize], keys[b as usize]);
            x > y || x == y && a < b
        };
        for count in 0..=keys.len() {
            let mut first = [0; 6];
            select(&mut first[..count], keys.len(), &precedes);
            assert_eq!(first[..count], [3, 5, 0, 2, 4, 1][..count]);
        }
    }
}
