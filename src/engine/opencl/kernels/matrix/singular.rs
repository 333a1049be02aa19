//! Singular values and vectors, by rotations of pairs of columns (Hestenes, 1958).

use super::{Matrices, Share, fence, named, shared};
use crate::engine::opencl::code::Action;
use crate::engine::opencl::kernels::{KernelScope, KernelWriter};
use crate::kernel::BufferId;
use crate::operation::MatrixOperation;
use crate::source::plan::BufferPlan;

/// Items for each pair of columns, at most.
const ALONG: usize = 8;

/// Turns the columns of a matrix, which has no more columns than rows, until all are orthogonal, and those of the identity the same
/// way. Both are stored as rows. Of a matrix with more columns than rows it is the transpose.
const SINGULAR: &str = "\
__local T sums[EACH * LANES], uppers[EACH * LANES], commons[EACH * LANES], all_values[EACH * TILE];
ITEMS
const int along = lane % ALONG, line = lane / ALONG, last = ((int)n - 1) | 1, pairs = (last + 1) / 2;
__local T *values = all_values + slot * TILE;
BEGINNING
T most = 0;
for (long at = lane; at < n * length; at += LANES) {
    const T x = FROM[matrix * n * length + at], size = fabs(x);
    if (size > most || isnan(size)) most = size;
    if (is_wide) work[at / length * apart + at % length] = x;
    else work[at % n * apart + at / n] = x;
}
sums[id] = most;
MOST
const T largest = sums[slot * LANES], unit = largest == 0 ? 1 : largest;
const bool is_finite = unit - unit == 0;
for (long at = lane; at < n * length; at += LANES) work[at / length * apart + at % length] /= unit;
for (long at = lane; at < n * before; at += LANES) v[at / n * beside + at % n] = at / n == at % n;
SWEEPS
for (int own = lane; own < n; own += LANES) {
    T sum = 0;
    for (int row = 0; row < length; row++) sum += work[own * apart + row] * work[own * apart + row];
    values[own] = sqrt(sum);
}
barrier(CLK_LOCAL_MEM_FENCE);
if (number < count) {
    for (int own = lane; own < n; own += LANES) {
        const T value = values[own];
        RANK
        VALUES[matrix * n + rank] = is_finite ? value * unit : NOT_A_NUMBER;
        for (int row = 0; row < before; row++) RIGHT[(matrix * n + row) * n + rank] = v[own * beside + row];
        if (before) {
            for (int row = 0; row < length; row++) SORTED[(matrix * length + row) * n + rank] = work[own * apart + row];
        }
    }
}
";

/// Each pair is turned by a few items.
const ROUND: &str = "\
for (int base = 0; base < pairs; base += LINES) {
    // Items without a pair do the last one's work, and turn nothing.
    const int pair = min(base + line, pairs - 1);
    PAIR
    T lower = 0, upper = 0, common = 0;
    for (int row = along; row < length; row += ALONG) {
        const T x = work[low * apart + row], y = work[high * apart + row];
        lower += x * x;
        upper += y * y;
        common += x * y;
    }
    sums[id] = lower;
    uppers[id] = upper;
    commons[id] = common;
    barrier(FENCE);
    for (int distance = ALONG / 2; distance > 0; distance /= 2) {
        if (along < distance) {
            sums[id] += sums[id + distance];
            uppers[id] += uppers[id + distance];
            commons[id] += commons[id + distance];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    lower = sums[id - along];
    upper = uppers[id - along];
    common = commons[id - along];
    ROTATION
    if (base + line < pairs && low != high) {
        if (fabs(common) > PRECISION * length * sqrt(lower) * sqrt(upper)) atomic_or(&is_moving, 1);
        for (int row = along; row < length; row += ALONG) {
            const T x = work[low * apart + row], y = work[high * apart + row];
            work[low * apart + row] = cosine * x - sine * y;
            work[high * apart + row] = cosine * y + sine * x;
        }
        for (int row = along; row < before; row += ALONG) {
            const T x = v[low * beside + row], y = v[high * beside + row];
            v[low * beside + row] = cosine * x - sine * y;
            v[high * beside + row] = cosine * y + sine * x;
        }
    }
    barrier(FENCE);
}";

/// A small matrix and its vectors are in local memory meanwhile.
const SMALL: &str = "\
__local T all_work[EACH * TILE * APART], all_v[EACH * TILE_OF_VECTORS];
__local T *work = all_work + slot * (TILE * APART), *v = all_v + slot * TILE_OF_VECTORS;
const int apart = APART, beside = PITCH;";

const LARGE: &str = "\
__global T *work = WORK + matrix * (length + before) * n, *v = work + n * length;
const long apart = length, beside = n;";

/// The vectors of a matrix from its columns' own factorisation: columns that are 0 have no direction but that of reflections. The
/// largest element of each vector of the longer side is positive.
const VECTORS: &str = "\
const long matrix = item / n, column = item % n, rows = length + n + 1;
const T value = VALUES[item];
const bool is_finite = !isnan(value);
__global const T *q = FACTORS + matrix * (length + n) * n + column;
const T first = q[(length + column) * n] < 0 ? -1 : 1;
T most = 0, sign = 1;
for (long row = 0; row < length; row++) {
    const T x = first * q[row * n];
    if (fabs(x) > most) {
        most = fabs(x);
        sign = x < 0 ? -1 : 1;
    }
}
__global T *to = TO + matrix * rows * n + column;
const long left = is_wide ? n + 1 : 0, right = is_wide ? 0 : length + 1;
for (long row = 0; row < length; row++) to[(left + row) * n] = is_finite ? sign * first * q[row * n] : NOT_A_NUMBER;
to[(is_wide ? n : length) * n] = value;
for (long row = 0; row < n; row++) {
    to[(right + row) * n] = is_finite ? sign * RIGHT[(matrix * n + row) * n + column] : NOT_A_NUMBER;
}
";

impl KernelWriter {
    /// Nothing where a matrix has so many columns that their values have no place in local memory.
    pub(super) fn svd(
        &mut self,
        scope: &mut KernelScope<'_>,
        plan: &mut BufferPlan<'_>,
        has_vectors: bool,
        matrices: Matrices,
        [from, to]: [BufferId; 2],
    ) -> Option<Vec<Action>> {
        let Matrices { dtype, count, rows, columns } = matrices;
        let (length, n, is_wide) = (rows.max(columns), rows.min(columns), rows < columns);
        let before = if has_vectors { n } else { 0 };
        let tile = n.next_power_of_two();
        let apart = length.next_multiple_of(2) + 1;
        let vectors = if has_vectors { tile.saturating_mul(tile + 1) } else { 1 };
        let local = |share: Share, elements: usize| {
            let each = elements.saturating_add(3 * share.lanes + tile).saturating_mul(dtype.bytes());
            each.saturating_mul(share.matrices).saturating_add(4)
        };
        let small = self.share(n.saturating_mul(ALONG), count);
        let is_small = local(small, tile.saturating_mul(apart).saturating_add(vectors)) <= self.limits.local;
        let share = if is_small { small } else { self.panel_share() };
        if local(share, 0) > self.limits.local {
            return None;
        }
        let mut memory = |size: usize| scope.add(plan.memory(dtype, count * size), dtype, count * size);
        let work = (!is_small).then(|| memory((length + before) * n));
        let [sorted, values, right, factors] = match has_vectors {
            true => [length * n, n, n * n, (length + n) * n].map(memory),
            false => [to; 4],
        };
        let written: Vec<BufferId> = [sorted, values, right].into_iter().chain(work).collect();
        let operands = scope.operands(&[from], &written);
        let along = ALONG.min(share.lanes);
        let mut words = shared(share, tile, along);
        words.extend(named(&operands, [("FROM", from), ("SORTED", sorted), ("VALUES", values), ("RIGHT", right)]));
        words.extend(named(&operands, [("WORK", work.unwrap_or(values))]));
        words.extend([("APART", apart), ("TILE_OF_VECTORS", vectors)].map(|(word, number)| (word, number.to_string())));
        words.extend(
            [("ALONG", along), ("LINES", share.lanes / along)].map(|(word, number)| (word, number.to_string())),
        );
        words.extend(self.rotation_words(dtype, n));
        words.push(fence(is_small));
        let template = self.rotating(SINGULAR, if is_small { SMALL } else { LARGE }, ROUND, "x > value");
        let word = if has_vectors { "svd" } else { "svd_values" };
        let numbers = ["n", "length", "count", "before", "is_wide"];
        let kernel = self.matrix_kernel((word, &template), operands, &numbers, (dtype, share), &words);
        let numbers = [n, length, count, before, usize::from(is_wide)].map(|number| number as i64);
        let mut actions = vec![kernel.launch(count.div_ceil(share.matrices), numbers.to_vec())];
        if has_vectors {
            let turned = Matrices { dtype, count, rows: length, columns: n };
            actions.extend(self.qr(scope, plan, MatrixOperation::Qr, turned, [sorted, factors]));
            let operands = scope.operands(&[factors, values, right], &[to]);
            let words = named(&operands, [("FACTORS", factors), ("VALUES", values), ("RIGHT", right), ("TO", to)]);
            let numbers = ["n", "length", "is_wide"];
            let vectors = self.element_kernel(("vectors", VECTORS), operands, &numbers, dtype, &words);
            actions.push(vectors.launch(count * n, &[n, length, usize::from(is_wide)]));
        }
        Some(actions)
    }
}
