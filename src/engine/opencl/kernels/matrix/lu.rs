//! The factorisation P A = L U, with partial pivoting.

use super::triangular::{Sides, SystemLayout};
use super::update::{Change, Product};
use super::{ACROSS, ITEMS, Matrices, Strides, TILE, composed, named, shared};
use crate::engine::opencl::code::Action;
use crate::engine::opencl::kernels::{KernelScope, KernelWriter};
use crate::kernel::BufferId;
use crate::shape::DType;
use crate::source::plan::BufferPlan;

/// The matrix, and the numbers of its rows beside it.
const START: &str = "\
const long column = item % (n + 1), row = item / (n + 1);
TO[item] = column == n ? row % m : FROM[item - row];
";

/// Eliminates the columns of a panel, one after the other: the row with the largest element, or with the first NaN, changes places
/// with the one at the diagonal, and is taken out of those below. Other columns of the matrix stay as they are.
const PANEL: &str = "\
__local T uppers[EACH * TILE], lowers[EACH * TILE], sizes[EACH * LANES];
__local int places[EACH * LANES];
ITEMS
const long first = matrix * m * (n + 1);
const int rows = m - start;
__local T *upper = uppers + slot * TILE, *lower = lowers + slot * TILE;
BEGINNING
for (int step = 0; step < min((int)width, rows); step++) {
    T most = -1;
    int place = INT_MAX;
    for (int row = step + lane; row < rows; row += LANES) {
        const T size = fabs(panel[row * apart + step]);
        if (size > most || (isnan(size) && !isnan(most))) {
            most = size;
            place = row;
        }
    }
    sizes[id] = most;
    places[id] = place;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
        if (lane < distance) {
            const T size = sizes[id + distance];
            const bool is_first = places[id + distance] < places[id];
            const bool is_nan = isnan(size), is_own_nan = isnan(sizes[id]);
            const bool is_larger = size > sizes[id] || (size == sizes[id] && is_first);
            if (is_nan ? !is_own_nan || is_first : !is_own_nan && is_larger) {
                sizes[id] = size;
                places[id] = places[id + distance];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const int pivot = places[slot * LANES];
    for (int column = lane; column < width; column += LANES) {
        upper[column] = panel[pivot * apart + column];
        lower[column] = panel[step * apart + column];
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const T diagonal = upper[step];
    for (int row = step + lane; row < rows; row += LANES) {
        if (row == pivot && pivot != step) {
            for (int column = 0; column < width; column++) panel[row * apart + column] = lower[column];
        }
        if (row == step) {
            for (int column = 0; column < width; column++) panel[row * apart + column] = upper[column];
        } else if (diagonal != 0) {
            // A column of zeros has nothing to eliminate.
            const T factor = panel[row * apart + step] / diagonal;
            panel[row * apart + step] = factor;
            for (int column = step + 1; column < width; column++) panel[row * apart + column] -= factor * upper[column];
        }
    }
    if (lane == 0 && number < count) {
        const long own = first + (start + step) * (n + 1) + n, other = first + (start + pivot) * (n + 1) + n;
        const T moved = TO[own];
        TO[own] = TO[other];
        TO[other] = moved;
        KEPT
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
}
";

/// The panel of a large matrix stays where it is.
const BEGINNING: &str = "\
__global T *panel = TO + first + start * (n + 1) + start;
const long apart = n + 1;";

/// A small matrix is in local memory meanwhile.
const SMALL_BEGINNING: &str = "\
__local T panels[EACH * HEIGHT * PITCH];
__local T *panel = panels + slot * (HEIGHT * PITCH);
const int apart = PITCH, across = lane % ACROSS, down = lane / ACROSS;
for (int row = down; row < rows; row += DOWN) {
    for (int column = across; column < width; column += ACROSS) {
        panel[row * apart + column] = FROM[first - matrix * m + row * n + column];
    }
}
for (int row = lane; row < rows; row += LANES) {
    if (number < count) TO[first + row * (n + 1) + n] = row;
}
barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);";

const SMALL_END: &str = "\
if (number < count) {
    for (int row = down; row < rows; row += DOWN) {
        for (int column = across; column < width; column += ACROSS) {
            TO[first + row * (n + 1) + column] = panel[row * apart + column];
        }
    }
}
";

/// The pivots are known to the kernel that follows.
const KEPT: &str = "PIVOTS[matrix * TILE + step] = start + pivot;";

/// The rows that changed places in a panel do so in the other columns.
const EXCHANGE: &str = "\
const long matrix = item / n, column = item % n;
if (column >= start && column < start + width) return;
const long first = matrix * m * (n + 1) + column;
for (long step = 0; step < width; step++) {
    const long pivot = PIVOTS[matrix * TILE + step];
    const T own = TO[first + (start + step) * (n + 1)];
    TO[first + (start + step) * (n + 1)] = TO[first + pivot * (n + 1)];
    TO[first + pivot * (n + 1)] = own;
}
";

const NUMBERS: [&str; 5] = ["start", "width", "m", "n", "count"];

impl KernelWriter {
    pub(super) fn lu(
        &mut self,
        scope: &mut KernelScope<'_>,
        plan: &mut BufferPlan<'_>,
        matrices: Matrices,
        from: BufferId,
        to: BufferId,
    ) -> Vec<Action> {
        let Matrices { dtype, count, rows: m, columns: n } = matrices;
        if let Some(action) = self.small_lu(scope, matrices, from, to) {
            return vec![action];
        }
        let operands = scope.operands(&[from], &[to]);
        let words = named(&operands, [("FROM", from), ("TO", to)]);
        let start = self.element_kernel(("start", START), operands, &["m", "n"], dtype, &words);
        let mut actions = vec![start.launch(scope.count(to), &[m, n])];
        let steps = m.min(n);
        if steps == 0 {
            return actions;
        }
        let pivots = scope.add(plan.memory(DType::I32, count * TILE), DType::I32, count * TILE);
        let arrays = [("TO", to), ("PIVOTS", pivots)];
        let operands = scope.operands(&[], &[to, pivots]);
        let share = self.panel_share();
        let mut words = shared(share, TILE, ACROSS);
        words.extend(named(&operands, arrays));
        let template = composed(PANEL, &[("ITEMS", ITEMS), ("BEGINNING", BEGINNING), ("KEPT", KEPT)]);
        let panel = self.matrix_kernel(("panel", &template), operands, &NUMBERS, (dtype, share), &words);
        let operands = scope.operands(&[pivots], &[to]);
        let mut words = named(&operands, arrays).to_vec();
        words.push(("TILE", TILE.to_string()));
        let numbers = ["start", "width", "m", "n"];
        let exchange = self.element_kernel(("exchange", EXCHANGE), operands, &numbers, dtype, &words);
        // The first panel has most columns beside it.
        let layout = SystemLayout { has_unit_diagonal: true, is_turned: false, is_side_turned: false };
        let (sides, most) = (Sides { system: to, from: to, to }, n - TILE.min(steps));
        let substitution = (most > 0).then(|| self.substitution(scope, dtype, sides, layout, [TILE, most, count]));
        let has_rest = most > 0 && m > TILE;
        let update = has_rest.then(|| self.update(scope, dtype, (to, to), [true, false], Change::All));
        let whole = Strides { matrix: m * (n + 1), row: n as isize + 1, ..Strides::of(m, n) };
        for start in (0..steps).step_by(TILE) {
            let end = (start + TILE).min(steps);
            let width = end - start;
            actions.push(panel.launch(count, [start, width, m, n, count].map(|number| number as i64).to_vec()));
            if width < n {
                actions.push(exchange.launch(count * n, &[start, width, m, n]));
            }
            let right = whole.from(start, end);
            if let (Some(substitution), true) = (&substitution, end < n) {
                actions.push(substitution.launch([width, n - end], count, [whole.from(start, start), right]));
            }
            if let (Some(update), true) = (&update, end < n && end < m) {
                let product = Product { target: whole.from(end, end), left: whole.from(end, start), right };
                actions.push(update.launch([m - end, width, n - end], count, product));
            }
        }
        actions
    }

    /// The factorisation of small matrices as one launch, if they fit into local memory.
    fn small_lu(
        &mut self,
        scope: &KernelScope<'_>,
        matrices: Matrices,
        from: BufferId,
        to: BufferId,
    ) -> Option<Action> {
        let Matrices { dtype, count, rows: m, columns: n } = matrices;
        let (share, tile) = (self.share(m.max(2), count), n.next_power_of_two());
        let elements = m.saturating_mul(tile + 1) + 2 * tile + share.lanes;
        let bytes = elements.saturating_mul(share.matrices * dtype.bytes()) + 4 * share.group();
        if n == 0 || n > TILE || bytes > self.limits.local {
            return None;
        }
        let operands = scope.operands(&[from], &[to]);
        let mut words = shared(share, tile, ACROSS);
        words.extend(named(&operands, [("FROM", from), ("TO", to)]));
        words.push(("HEIGHT", m.to_string()));
        let parts = [("ITEMS", ITEMS), ("BEGINNING", SMALL_BEGINNING), ("KEPT", "")];
        let template = composed(PANEL, &parts) + SMALL_END;
        let kernel = self.matrix_kernel(("lu", &template), operands, &NUMBERS, (dtype, share), &words);
        let numbers = [0, n, m, n, count].map(|number| number as i64);
        Some(kernel.launch(count.div_ceil(share.matrices), numbers.to_vec()))
    }
}
