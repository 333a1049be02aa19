//! Products of tiles that are taken out of what is left of matrices.

use super::{ACROSS, MatrixKernel, Share, Strides, TILE, shared};
use crate::engine::opencl::code::Action;
use crate::engine::opencl::kernels::{KernelScope, KernelWriter};
use crate::kernel::BufferId;
use crate::shape::DType;

/// Rows of the block that an item has in registers.
const ROWS: usize = 4;

/// A tile of the target, less the product of as many rows of the left operand and columns of the right one. Tiles of both are in
/// local memory, one position of the summed axis after the other; a tile of that axis is summed before the next one.
const UPDATE: &str = "\
__local T left_tile[TILE * PITCH], right_tile[TILE * PITCH];
const int lane = get_local_id(0);
const long down = (rows + TILE - 1) / TILE, across = (columns + TILE - 1) / TILE;
TILES
const long left = left_first + matrix * left_matrix + row * left_row;
const long right = right_first + matrix * right_matrix + column * right_column;
const long target = target_first + matrix * target_matrix + row * target_row + column * target_column;
const int height = min((int)(rows - row), TILE), width = min((int)(columns - column), TILE);
for (long start = 0; start < summed; start += TILE) {
    const int depth = min((int)(summed - start), TILE);
    for (int at = lane; at < TILE * TILE; at += LANES) {
        const int i = LEFT_LINE, k = LEFT_SUMMED;
        const bool is_there = i < height && k < depth;
        left_tile[k * PITCH + i] = is_there ? FACTORS[left + i * left_row + (start + k) * left_column] : 0;
    }
    for (int at = lane; at < TILE * TILE; at += LANES) {
        const int j = RIGHT_LINE, k = RIGHT_SUMMED;
        const bool is_there = j < width && k < depth;
        right_tile[k * PITCH + j] = is_there ? TO[right + (start + k) * right_row + j * right_column] : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int block = lane; block < TILE / ROWS * (TILE / WIDTH); block += LANES) {
        const int i = block / (TILE / WIDTH) * ROWS, j = block % (TILE / WIDTH) * WIDTH;
        T sums[ROWS * WIDTH];
        VECTOR sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
        for (int k = 0; k < depth; k++) {
            const VECTOR own = LOAD(0, right_tile + k * PITCH + j);
            __local const T *factors = left_tile + k * PITCH + i;
            sum0 += factors[0] * own;
            sum1 += factors[1] * own;
            sum2 += factors[2] * own;
            sum3 += factors[3] * own;
        }
        STORE(sum0, 0, sums);
        STORE(sum1, 1, sums);
        STORE(sum2, 2, sums);
        STORE(sum3, 3, sums);
        #pragma unroll
        for (int r = 0; r < ROWS; r++) {
            #pragma unroll
            for (int c = 0; c < WIDTH; c++) {
                const bool is_there = i + r < height && j + c < width;
                if (is_there && IS_WANTED) {
                    const long place = target + (i + r) * target_row + (j + c) * target_column;
                    TO[place] = BEFORE - sums[r * WIDTH + c];
                }
            }
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}
";

/// The tile of a group.
const ALL: &str = "\
const long tile = get_group_id(0) % (down * across), matrix = get_group_id(0) / (down * across);
const long row = tile / across * TILE, column = tile % across * TILE;";

/// The same of tiles on and below the diagonal, of which there are 1 + 2 + .. + down.
const LOWER: &str = "\
const long tiles = down * (down + 1) / 2;
const long tile = get_group_id(0) % tiles, matrix = get_group_id(0) / tiles;
long line = (long)((sqrt(8.0f * tile + 1) - 1) / 2);
while (line * (line + 1) / 2 > tile) line--;
while ((line + 1) * (line + 2) / 2 <= tile) line++;
const long row = line * TILE, column = (tile - line * (line + 1) / 2) * TILE;";

const NUMBERS: [&str; 15] = [
    "rows",
    "summed",
    "columns",
    "target_first",
    "target_matrix",
    "target_row",
    "target_column",
    "left_first",
    "left_matrix",
    "left_row",
    "left_column",
    "right_first",
    "right_matrix",
    "right_row",
    "right_column",
];

/// Bytes of local memory that the kernel takes. None of the other kernels takes more.
pub(super) fn local(dtype: DType) -> usize {
    2 * TILE * (TILE + 1) * dtype.bytes()
}

/// The elements that an update writes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// The product is taken out of all of them.
    All,
    /// The product is taken out of those in tiles on and below the diagonal.
    Lower,
    /// They become the product's, with the opposite sign.
    Anew,
}

/// The parts of matrices that an update reads and writes.
pub(super) struct Product {
    pub(super) target: Strides,
    pub(super) left: Strides,
    pub(super) right: Strides,
}

/// The kernel of updates.
pub(super) struct Update {
    kernel: MatrixKernel,
    is_lower: bool,
}

impl Update {
    /// An update of so many rows and columns in each of some matrices, with a sum over so many positions.
    pub(super) fn launch(&self, extents: [usize; 3], count: usize, product: Product) -> Action {
        let [rows, _, columns] = extents;
        let (down, across) = (rows.div_ceil(TILE), columns.div_ceil(TILE));
        let tiles = if self.is_lower { down * (down + 1) / 2 } else { down * across };
        let Product { target, left, right } = product;
        let parts = [target, left, right].into_iter().flat_map(Strides::numbers);
        self.kernel.launch(count * tiles, extents.into_iter().map(|extent| extent as i64).chain(parts).collect())
    }
}

impl KernelWriter {
    /// The kernel of updates, of products whose left operands are in one array, and whose right ones are in the other one, which
    /// it changes. The summed axis may be that of neighbours, in each of both. Where both operands are one, the lower tiles are
    /// enough.
    pub(super) fn update(
        &mut self,
        scope: &KernelScope<'_>,
        dtype: DType,
        (from, to): (BufferId, BufferId),
        along_summed: [bool; 2],
        change: Change,
    ) -> Update {
        let is_lower = change == Change::Lower;
        let share = Share { lanes: self.most_lanes(), matrices: 1 };
        let operands = scope.operands(&[from], &[to]);
        // Processors have registers for a cache line, groups many items.
        let width = if self.limits.is_serial { 64 / dtype.bytes() } else { 4 };
        let mut words = shared(share, TILE, ACROSS);
        words.extend([
            ("FACTORS", operands.names[&from].clone()),
            ("TO", operands.names[&to].clone()),
            ("ROWS", ROWS.to_string()),
            ("WIDTH", width.to_string()),
            ("VECTOR", format!("{}{width}", self.element(dtype))),
            ("LOAD", format!("vload{width}")),
            ("STORE", format!("vstore{width}")),
            ("IS_WANTED", if is_lower { "row + i + r >= column + j + c" } else { "true" }.into()),
        ]);
        let [first, second] = [format!("at % {TILE}"), format!("at / {TILE}")];
        for ([line, summed], along_summed) in
            [["LEFT_LINE", "LEFT_SUMMED"], ["RIGHT_LINE", "RIGHT_SUMMED"]].into_iter().zip(along_summed)
        {
            let (own, other) = if along_summed { (&second, &first) } else { (&first, &second) };
            words.extend([(line, own.clone()), (summed, other.clone())]);
        }
        let before = if change == Change::Anew { "(start > 0 ? TO[place] : 0)" } else { "TO[place]" };
        let template = UPDATE.replace("TILES", if is_lower { LOWER } else { ALL }).replace("BEFORE", before);
        let kernel = self.matrix_kernel(("update", &template), operands, &NUMBERS, (dtype, share), &words);
        Update { kernel, is_lower }
    }
}
