//! NonMaxSuppression.

use core::ffi::c_void;

use super::{count, input, output, sort};

/// Selects boxes of high scores that do not overlap much, class by class.
///
/// Buffers: boxes (`f32`, batches x boxes x 4), scores (`f32`, batches x classes x boxes), the greatest overlap (`f32`), the
/// score to exceed (`f32`), the selection (`i64`, rows of batch, class and box), scratch (`i64`, one a box). Parameters:
/// batches, classes, boxes, boxes to select in a class, whether boxes are given by center and size, whether the score to
/// exceed counts, and as result the number of rows.
///
/// # Safety
/// As generated code calls it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lithify_non_max_suppression(
    _: *mut i64,
    buffers: *const *mut c_void,
    parameters: *mut i64,
) -> i32 {
    // SAFETY: the caller's promise: the buffers have these sizes, and there are seven parameters.
    unsafe {
        let (batches, classes, boxes) = (count(parameters, 0), count(parameters, 1), count(parameters, 2));
        let limit = count(parameters, 3).min(boxes);
        let is_centered = parameters.add(4).read() != 0;
        let threshold = match parameters.add(5).read() {
            0 => None,
            _ => input::<f32>(buffers, 3, 1).first().copied(),
        };
        let overlap = input::<f32>(buffers, 2, 1).first().copied().unwrap_or(0.0);
        let all_boxes: &[f32] = input(buffers, 0, batches * boxes * 4);
        let all_scores: &[f32] = input(buffers, 1, batches * classes * boxes);
        let rows: &mut [i64] = output(buffers, 4, 3 * batches * classes * limit);
        let order: &mut [i64] = output(buffers, 5, boxes);
        let mut selected = 0;
        for (batch, class) in (0..batches).flat_map(|batch| (0..classes).map(move |class| (batch, class))) {
            let scores = all_scores.get((batch * classes + class) * boxes..).unwrap_or_default();
            let corners = all_boxes.get(batch * boxes * 4..).unwrap_or_default();
            let task = Class { corners, scores, is_centered, overlap };
            let candidates = task.candidates(order, threshold);
            let mut kept = 0;
            for index in 0..candidates {
                if kept == limit {
                    break;
                }
                let Some(&candidate) = order.get(index) else { break };
                // What is kept stands at the front of the order.
                if task.is_suppressed(candidate, order.get(..kept).unwrap_or_default()) {
                    continue;
                }
                if let Some(place) = order.get_mut(kept) {
                    *place = candidate;
                }
                kept += 1;
                if let Some(row) = rows.get_mut(3 * selected..3 * selected + 3) {
                    for (place, value) in row.iter_mut().zip([batch as i64, class as i64, candidate]) {
                        *place = value;
                    }
                    selected += 1;
                }
            }
        }
        parameters.add(6).write(selected as i64);
    }
    0
}

struct Class<'a> {
    corners: &'a [f32],
    scores: &'a [f32],
    is_centered: bool,
    overlap: f32,
}

impl Class<'_> {
    /// Puts the boxes that exceed the threshold in order of descending score; gives how many there are.
    fn candidates(&self, order: &mut [i64], threshold: Option<f32>) -> usize {
        let (boxes, mut found) = (order.len(), 0);
        let score = |index: i64| self.scores.get(index as usize).copied().unwrap_or(f32::NEG_INFINITY);
        for index in 0..boxes as i64 {
            if threshold.is_none_or(|threshold| score(index) > threshold) {
                if let Some(place) = order.get_mut(found) {
                    *place = index;
                }
                found += 1;
            }
        }
        if let Some(order) = order.get_mut(..found) {
            sort::sort(order, &|a, b| match score(a).total_cmp(&score(b)) {
                core::cmp::Ordering::Equal => a < b,
                order => order.is_gt(),
            });
        }
        found
    }

    /// The least and greatest coordinates on both axes.
    fn bounds(&self, index: i64) -> [f32; 4] {
        let start = (index as usize).saturating_mul(4);
        let coordinate = |k: usize| self.corners.get(start.saturating_add(k)).copied().unwrap_or(0.0);
        let [a, b, c, d] = [coordinate(0), coordinate(1), coordinate(2), coordinate(3)];
        if self.is_centered {
            return [a - c / 2.0, b - d / 2.0, a + c / 2.0, b + d / 2.0];
        }
        [a.min(c), b.min(d), a.max(c), b.max(d)]
    }

    fn is_suppressed(&self, candidate: i64, kept: &[i64]) -> bool {
        let a = self.bounds(candidate);
        kept.iter().any(|&other| overlap(a, self.bounds(other)) > self.overlap)
    }
}

/// Intersection over union; -1 where the boxes do not meet or one is empty.
fn overlap([a0, a1, a2, a3]: [f32; 4], [b0, b1, b2, b3]: [f32; 4]) -> f32 {
    let (height, width) = (a2.min(b2) - a0.max(b0), a3.min(b3) - a1.max(b1));
    let (first, second) = ((a2 - a0) * (a3 - a1), (b2 - b0) * (b3 - b1));
    if height <= 0.0 || width <= 0.0 || first <= 0.0 || second <= 0.0 {
        return -1.0;
    }
    let common = height * width;
    common / (first + second - common)
}
