//! The Cholesky factorisation.

use super::triangular::{Sides, SystemLayout};
use super::update::{Change, Product};
use super::{ACROSS, Matrices, Strides, TILE, named, shared};
use crate::engine::opencl::code::Action;
use crate::engine::opencl::kernels::{KernelScope, KernelWriter};
use crate::kernel::BufferId;

/// The lower triangle of the symmetric part, zeros above it. Halves are added, since a sum may overflow.
const SYMMETRIC: &str = "\
const long row = item / n % n, column = item % n;
const long turned = item + (column - row) * (n - 1);
TO[item] = row == column ? FROM[item] : row > column ? FROM[item] * HALF + FROM[turned] * HALF : 0;
";

/// An element of that.
const PART: &str = "row == column ? FROM[place] : FROM[place] * HALF + FROM[matrix + column * n + row] * HALF";

/// The factor of a tile on the diagonal. Its lower triangle is in local memory, column by column.
const FACTOR: &str = "\
__local T tiles[EACH * TILE * PITCH];
const int lane = get_local_id(0) % LANES, across = lane % ACROSS, down = lane / ACROSS;
const long number = get_group_id(0) * EACH + get_local_id(0) / LANES;
// Items without a matrix do the last one's work, and write nothing.
const long matrix = min(number, count - 1) * n * n;
__local T *tile = tiles + get_local_id(0) / LANES * (TILE * PITCH);
const int size = min((int)(n - start), TILE);
for (int row = down; row < size; row += DOWN) {
    for (int column = across; column <= row; column += ACROSS) {
        const long place = matrix + (start + row) * n + start + column;
        tile[column * PITCH + row] = SOURCE;
    }
}
barrier(CLK_LOCAL_MEM_FENCE);
for (int step = 0; step < size; step++) {
    __local T *own = tile + step * PITCH;
    const T pivot = own[step];
    const T root = pivot > 0 && pivot < INFINITY ? sqrt(pivot) : NOT_A_NUMBER;
    for (int row = step + 1 + lane; row < size; row += LANES) own[row] /= root;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int column = step + 1 + down; column < size; column += DOWN) {
        const T factor = own[column];
        for (int row = column + across; row < size; row += ACROSS) tile[column * PITCH + row] -= factor * own[row];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}
if (number < count) {
    // A pivot that is not a positive number leaves NaN in all columns behind it.
    const T last = tile[(size - 1) * PITCH + size - 1];
    if (start + size == n && !(last > 0 && last < INFINITY)) {
        for (long at = lane; at < n * n; at += LANES) TO[matrix + at] = NOT_A_NUMBER;
    } else {
        for (int row = down; row < size; row += DOWN) {
            for (int column = across; column < size; column += ACROSS) {
                const T x = tile[min(row, column) * PITCH + row];
                const T root = x > 0 && x < INFINITY ? sqrt(x) : NOT_A_NUMBER;
                TO[matrix + (start + row) * n + start + column] = row == column ? root : row > column ? x : 0;
            }
        }
    }
}
";

impl KernelWriter {
    pub(super) fn cholesky(
        &mut self,
        scope: &KernelScope<'_>,
        matrices: Matrices,
        from: BufferId,
        to: BufferId,
    ) -> Vec<Action> {
        let Matrices { dtype, count, rows: n, .. } = matrices;
        let (is_small, tile) = (n <= TILE, n.min(TILE).next_power_of_two());
        let share = self.share(2 * tile, if is_small { count } else { 1 });
        let read: &[BufferId] = if is_small { &[from] } else { &[] };
        let operands = scope.operands(read, &[to]);
        let mut words = shared(share, tile, ACROSS);
        words.push(("FROM", operands.names.get(&from).cloned().unwrap_or_default()));
        words.push(("TO", operands.names[&to].clone()));
        let template = FACTOR.replace("SOURCE", if is_small { PART } else { "TO[place]" });
        let numbers = ["start", "n", "count"];
        let factor = self.matrix_kernel(("cholesky", &template), operands, &numbers, (dtype, share), &words);
        let groups = count.div_ceil(share.matrices);
        let factored = |start: usize| factor.launch(groups, [start, n, count].map(|number| number as i64).to_vec());
        if is_small {
            return vec![factored(0)];
        }
        let symmetric = scope.operands(&[from], &[to]);
        let words = named(&symmetric, [("FROM", from), ("TO", to)]);
        let symmetric = self.element_kernel(("symmetric", SYMMETRIC), symmetric, &["n"], dtype, &words);
        let mut actions = vec![symmetric.launch(count * n * n, &[n])];
        let whole = Strides::of(n, n);
        let sides = Sides { system: to, from: to, to };
        // Tiles below one on the diagonal are the solution of a system, transposed.
        let layout = SystemLayout { has_unit_diagonal: false, is_turned: false, is_side_turned: true };
        let substitution = self.substitution(scope, dtype, sides, layout, [TILE, n - TILE, count]);
        let update = self.update(scope, dtype, (to, to), [true, true], Change::Lower);
        for start in (0..n).step_by(TILE) {
            actions.push(factored(start));
            let end = start + TILE;
            if end < n {
                let below = whole.from(end, start);
                let places = [whole.from(start, start), below.turned()];
                actions.push(substitution.launch([TILE, n - end], count, places));
                let product = Product { target: whole.from(end, end), left: below, right: below.turned() };
                actions.push(update.launch([n - end, TILE, n - end], count, product));
            }
        }
        actions
    }
}
