//! Systems of equations with triangular matrices.

use super::update::{Change, Product};
use super::{ACROSS, Matrices, MatrixKernel, Strides, TILE, shared};
use crate::engine::opencl::code::Action;
use crate::engine::opencl::kernels::{KernelScope, KernelWriter};
use crate::kernel::BufferId;
use crate::operation::Triangle;
use crate::shape::DType;

/// The solution of systems of a few equations, for some columns of the right side. What is known is taken out of the rows that
/// follow. The matrix is in local memory column by column, the right side row by row.
const SUBSTITUTION: &str = "\
__local T systems[EACH * TILE * PITCH], sides[EACH * TILE * SIDE_PITCH];
const int slot = get_local_id(0) / LANES, lane = get_local_id(0) % LANES;
const int across = lane % ACROSS, down = lane / ACROSS, along = lane % ALONG, line = lane / ALONG;
const long parts = (columns + WIDTH - 1) / WIDTH, number = get_group_id(0) * EACH + slot;
// Items without a right side do the last one's work, and write nothing.
const long known = min(number, parts * count - 1), first = known % parts * WIDTH;
const long system_at = system_first + known / parts * system_matrix;
const long side_at = side_first + known / parts * side_matrix + first * side_column;
const int width = min((int)(columns - first), WIDTH);
__local T *system = systems + slot * (TILE * PITCH), *side = sides + slot * (TILE * SIDE_PITCH);
for (int OUTER = line; OUTER < size; OUTER += LINES) {
    for (int INNER = along; INNER < size; INNER += ALONG) {
        if (row >= column) system[column * PITCH + row] = SYSTEM[system_at + row * system_row + column * system_column];
    }
}
SIDE {
    side[row * SIDE_PITCH + column] = column < width ? FROM[side_at + row * side_row + column * side_column] : 0;
}
barrier(CLK_LOCAL_MEM_FENCE);
for (int step = 0; step < size; step++) {
    __local T *own = side + step * SIDE_PITCH;
    DIVISION
    for (int row = step + 1 + down; row < size; row += DOWN) {
        const T factor = system[step * PITCH + row];
        for (int column = across; column < WIDTH; column += ACROSS) {
            side[row * SIDE_PITCH + column] -= factor * own[column];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}
if (number < parts * count) {
    SIDE {
        if (column < width) TO[side_at + row * side_row + column * side_column] = side[row * SIDE_PITCH + column];
    }
}
";

/// The division by the diagonal, where that is not 1.
const DIVISION: &str = "\
for (int column = lane; column < WIDTH; column += LANES) own[column] /= system[step * PITCH + step];
    barrier(CLK_LOCAL_MEM_FENCE);";

/// Goes through the right side, along its neighbours.
const ROWS: &str = "\
for (int row = down; row < size; row += DOWN)
    for (int column = across; column < WIDTH; column += ACROSS)";

/// The same where these are in a column.
const COLUMNS: &str = "\
for (int column = line; column < WIDTH; column += LINES)
    for (int row = along; row < size; row += ALONG)";

const NUMBERS: [&str; 11] = [
    "size",
    "columns",
    "count",
    "system_first",
    "system_matrix",
    "system_row",
    "system_column",
    "side_first",
    "side_matrix",
    "side_row",
    "side_column",
];

/// The kernel of substitutions.
pub(super) struct Substitution {
    kernel: MatrixKernel,
    /// Columns of the right side that a group solves for, and how many such parts there are in a group.
    width: usize,
    parts: usize,
}

impl Substitution {
    /// Solves so many equations for so many columns in each of some matrices.
    pub(super) fn launch(&self, [size, columns]: [usize; 2], count: usize, [system, side]: [Strides; 2]) -> Action {
        let groups = (columns.div_ceil(self.width) * count).div_ceil(self.parts);
        let extents = [size, columns, count].map(|extent| extent as i64);
        let places = [system, side].into_iter().flat_map(Strides::numbers);
        self.kernel.launch(groups, extents.into_iter().chain(places).collect())
    }
}

/// The arrays of substitutions.
#[derive(Clone, Copy)]
pub(super) struct Sides {
    pub(super) system: BufferId,
    pub(super) from: BufferId,
    pub(super) to: BufferId,
}

/// Which neighbours are in a line of an array, and whether the diagonal is 1.
#[derive(Clone, Copy)]
pub(super) struct SystemLayout {
    pub(super) has_unit_diagonal: bool,
    /// Whether rows of the matrix are neighbours rather than columns.
    pub(super) is_turned: bool,
    /// The same of the right side.
    pub(super) is_side_turned: bool,
}

impl KernelWriter {
    /// The solution of a system, where that is small; else the rows that are known are taken out of the rest, some at a time.
    pub(super) fn triangular(
        &mut self,
        scope: &KernelScope<'_>,
        triangle: Triangle,
        Matrices { dtype, count, rows: n, .. }: Matrices,
        [system, from]: [BufferId; 2],
        to: BufferId,
    ) -> Vec<Action> {
        let columns = scope.count(to) / (count * n);
        let (a, x) = (Strides::of(n, n), Strides::of(n, columns));
        let a = if triangle.is_transposed { a.turned() } else { a };
        // With rows and columns in the opposite order an upper triangular matrix is a lower one.
        let is_upper = triangle.is_lower == triangle.is_transposed;
        let (a, x) = if is_upper { (a.backwards([n, n]), x.rows_backwards(n)) } else { (a, x) };
        let layout = SystemLayout {
            has_unit_diagonal: triangle.has_unit_diagonal,
            is_turned: triangle.is_transposed,
            is_side_turned: false,
        };
        let is_small = n <= TILE;
        let sides = Sides { system, from: if is_small { from } else { to }, to };
        let substitution = self.substitution(scope, dtype, sides, layout, [n, columns, count]);
        if is_small {
            return vec![substitution.launch([n, columns], count, [a, x])];
        }
        let mut actions = vec![self.copy(scope, dtype, from, to)];
        let update = self.update(scope, dtype, (system, to), [!triangle.is_transposed, false], Change::All);
        for start in (0..n).step_by(TILE) {
            let end = (start + TILE).min(n);
            let own = x.from(start, 0);
            actions.push(substitution.launch([end - start, columns], count, [a.from(start, start), own]));
            if end < n {
                let product = Product { target: x.from(end, 0), left: a.from(end, start), right: own };
                actions.push(update.launch([n - end, TILE, columns], count, product));
            }
        }
        actions
    }

    /// The kernel of substitutions, of no more than so many equations, columns and right sides.
    pub(super) fn substitution(
        &mut self,
        scope: &KernelScope<'_>,
        dtype: DType,
        Sides { system, from, to }: Sides,
        layout: SystemLayout,
        [size, columns, count]: [usize; 3],
    ) -> Substitution {
        let (tile, width) = (size.min(TILE).next_power_of_two(), columns.min(TILE).next_power_of_two());
        let share = self.share(tile * width.max(2), columns.div_ceil(width) * count);
        let read: &[BufferId] = if from == to { &[system] } else { &[system, from] };
        let operands = scope.operands(read, &[to]);
        let name = |id: BufferId| operands.names[&id].clone();
        let (across, along) = (width.min(share.lanes), ACROSS.min(share.lanes));
        let mut words = shared(share, tile, across);
        let (outer, inner) = if layout.is_turned { ("column", "row") } else { ("row", "column") };
        words.extend([
            ("ALONG", along.to_string()),
            ("LINES", (share.lanes / along).to_string()),
            ("OUTER", outer.to_string()),
            ("INNER", inner.to_string()),
            ("WIDTH", width.to_string()),
            ("SIDE_PITCH", (width + 1).to_string()),
            ("SYSTEM", name(system)),
            ("FROM", name(from)),
            ("TO", name(to)),
        ]);
        let template =
            SUBSTITUTION.replace("SIDE {", &format!("{} {{", if layout.is_side_turned { COLUMNS } else { ROWS }));
        let template = template.replace("DIVISION", if layout.has_unit_diagonal { "" } else { DIVISION });
        let kernel = self.matrix_kernel(("substitution", &template), operands, &NUMBERS, (dtype, share), &words);
        Substitution { kernel, width, parts: share.matrices }
    }
}
