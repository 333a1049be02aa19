//! Eigenvalues and eigenvectors of symmetric matrices, by rotations of pairs of rows and columns.

use super::{ACROSS, Matrices, Share, fence, named, shared};
use crate::engine::opencl::code::Action;
use crate::engine::opencl::kernels::{KernelScope, KernelWriter};
use crate::kernel::BufferId;
use crate::source::plan::BufferPlan;

/// Turns the symmetric part of a matrix until it is diagonal, and the columns of the identity, as rows, the same way.
const EIGEN: &str = "\
__local T sums[EACH * LANES], all_cosines[EACH * PAIRS], all_sines[EACH * PAIRS];
__local T all_values[EACH * TILE];
__local int all_lows[EACH * PAIRS], all_highs[EACH * PAIRS];
ITEMS
const int across = lane % ACROSS, down = lane / ACROSS, last = ((int)n - 1) | 1, pairs = (last + 1) / 2;
__local T *cosines = all_cosines + slot * PAIRS, *sines = all_sines + slot * PAIRS;
__local T *values = all_values + slot * TILE;
__local int *lows = all_lows + slot * PAIRS, *highs = all_highs + slot * PAIRS;
BEGINNING
T most = 0;
for (int row = down; row < n; row += DOWN) {
    for (int column = across; column < n; column += ACROSS) {
        const T own = FROM[(matrix * n + row) * n + column], turned = FROM[(matrix * n + column) * n + row];
        const T x = own * HALF + turned * HALF, size = fabs(x);
        if (size > most || isnan(size)) most = size;
        a[row * apart + column] = x;
        if (before) v[row * apart + column] = row == column;
    }
}
sums[id] = most;
MOST
const T largest = sums[slot * LANES], unit = largest == 0 ? 1 : largest;
const bool is_finite = unit - unit == 0;
for (int row = down; row < n; row += DOWN) {
    for (int column = across; column < n; column += ACROSS) a[row * apart + column] /= unit;
}
SWEEPS
for (int own = lane; own < n; own += LANES) values[own] = a[own * apart + own];
barrier(CLK_LOCAL_MEM_FENCE);
if (number < count) {
    for (int own = lane; own < n; own += LANES) {
        const T value = values[own];
        RANK
        const long to = matrix * (before + 1) * n + rank;
        TO[to + before * n] = is_finite ? value * unit : NOT_A_NUMBER;
        T most = 0, sign = 1;
        for (int row = 0; row < before; row++) {
            const T x = v[own * apart + row];
            if (fabs(x) > most) {
                most = fabs(x);
                sign = x < 0 ? -1 : 1;
            }
        }
        for (int row = 0; row < before; row++) {
            TO[to + row * n] = is_finite ? sign * v[own * apart + row] : NOT_A_NUMBER;
        }
    }
}
";

/// Rotations of all pairs, then those of rows and columns, two of each at once.
const ROUND: &str = "\
for (int pair = lane; pair < pairs; pair += LANES) {
    PAIR
    const T lower = a[low * apart + low], upper = a[high * apart + high], common = a[low * apart + high];
    ROTATION
    lows[pair] = low;
    highs[pair] = high;
    cosines[pair] = cosine;
    sines[pair] = sine;
    if (low != high && fabs(common) > PRECISION) atomic_or(&is_moving, 1);
}
barrier(FENCE);
for (int at = lane; at < pairs * pairs; at += LANES) {
    const int up = at / pairs, side = at % pairs;
    const int column = lows[side], other = highs[side];
    const long row = lows[up] * apart, other_row = highs[up] * apart;
    const T x = a[row + column], y = a[row + other], z = a[other_row + column], w = a[other_row + other];
    const T left = cosines[side] * x - sines[side] * y, right = cosines[side] * y + sines[side] * x;
    const T left_below = cosines[side] * z - sines[side] * w, right_below = cosines[side] * w + sines[side] * z;
    a[row + column] = cosines[up] * left - sines[up] * left_below;
    a[row + other] = cosines[up] * right - sines[up] * right_below;
    a[other_row + column] = cosines[up] * left_below + sines[up] * left;
    a[other_row + other] = cosines[up] * right_below + sines[up] * right;
}
for (int at = lane; at < pairs * (int)before; at += LANES) {
    const int pair = at / (int)n, row = at % (int)n;
    const long own = lows[pair] * apart + row, other = highs[pair] * apart + row;
    const T x = v[own], y = v[other];
    v[own] = cosines[pair] * x - sines[pair] * y;
    v[other] = cosines[pair] * y + sines[pair] * x;
}
barrier(FENCE);";

/// A small matrix and its vectors are in local memory meanwhile.
const SMALL: &str = "\
__local T all_a[EACH * TILE * PITCH];
__local T all_v[EACH * TILE_OF_VECTORS];
__local T *a = all_a + slot * (TILE * PITCH), *v = all_v + slot * TILE_OF_VECTORS;
const int apart = PITCH;";

const LARGE: &str = "\
__global T *a = WORK + matrix * (n + before) * n, *v = a + n * n;
const long apart = n;";

impl KernelWriter {
    /// Nothing where a matrix has so many columns that their rotations have no place in local memory.
    pub(super) fn eigh(
        &mut self,
        scope: &mut KernelScope<'_>,
        plan: &mut BufferPlan<'_>,
        has_vectors: bool,
        matrices: Matrices,
        [from, to]: [BufferId; 2],
    ) -> Option<Vec<Action>> {
        let Matrices { dtype, count, rows: n, .. } = matrices;
        let before = if has_vectors { n } else { 0 };
        let (tile, pairs) = (n.next_power_of_two(), n.div_ceil(2).next_power_of_two());
        let square = tile.saturating_mul(tile + 1);
        let vectors = if has_vectors { square } else { 1 };
        let local = |share: Share, elements: usize| {
            let each = elements.saturating_add(share.lanes + 2 * pairs + tile).saturating_mul(dtype.bytes());
            each.saturating_add(8 * pairs).saturating_mul(share.matrices).saturating_add(4)
        };
        let small = self.share(pairs.saturating_mul(n), count);
        let is_small = local(small, square.saturating_add(vectors)) <= self.limits.local;
        let share = if is_small { small } else { self.panel_share() };
        if local(share, 0) > self.limits.local {
            return None;
        }
        let work = (!is_small).then(|| {
            let elements = count * (n + before) * n;
            scope.add(plan.memory(dtype, elements), dtype, elements)
        });
        let written: Vec<BufferId> = [to].into_iter().chain(work).collect();
        let operands = scope.operands(&[from], &written);
        let mut words = shared(share, tile, if is_small { ACROSS } else { share.lanes });
        words.extend(named(&operands, [("FROM", from), ("TO", to), ("WORK", work.unwrap_or(to))]));
        words.extend([("PAIRS", pairs.to_string()), ("TILE_OF_VECTORS", vectors.to_string())]);
        words.extend(self.rotation_words(dtype, n));
        words.push(fence(is_small));
        let beginning = if is_small { SMALL } else { LARGE };
        let template = self.rotating(EIGEN, beginning, ROUND, "x < value");
        let word = if has_vectors { "eigh" } else { "eigh_values" };
        let numbers = ["n", "count", "before"];
        let kernel = self.matrix_kernel((word, &template), operands, &numbers, (dtype, share), &words);
        let numbers = [n, count, before].map(|number| number as i64);
        Some(vec![kernel.launch(count.div_ceil(share.matrices), numbers.to_vec())])
    }
}
