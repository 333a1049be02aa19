//! Operations on matrices that have kernels of their own: a group of work items takes a matrix, or a tile of one.
//!
//! A large matrix is cut into panels of [`TILE`] columns. The host launches a few kernels for each, which are the same for all
//! panels and take their places as numbers: one group finishes the panel, others solve for what is beside it and take products
//! out of the rest. Small matrices are one launch, and several of them share a group. What is in local memory is read and
//! written by all items of a group in turn with barriers, which all of them reach: how often is the same for all.

mod cholesky;
mod eigen;
mod lu;
mod qr;
mod rotations;
mod singular;
mod triangular;
mod update;

use super::nest::power_of_two_below;
use super::{KernelOperands, KernelScope, KernelWriter};
use crate::engine::opencl::code::{Action, Grid, KernelArray};
use crate::kernel::{BufferId, Call};
use crate::operation::MatrixOperation;
use crate::shape::{DType, Value, size};
use crate::source::helpers::replaced;
use crate::source::language::Language;
use crate::source::plan::BufferPlan;
use crate::source::text::Text;

/// Rows and columns of the tiles that are in local memory.
const TILE: usize = 32;

/// Items of a group at most.
const LANES: usize = 64;

/// Items of a group that has a large matrix for itself, at most.
const PANEL_LANES: usize = 256;

/// Items that are side by side along the rows of a tile, where there are as many.
const ACROSS: usize = 8;

/// The operations with kernels of their own. Some of the others are written out in terms of them.
fn has_kernels(op: MatrixOperation) -> bool {
    use MatrixOperation::{Cholesky, Eigh, EighValues, FullQr, Lu, Qr, QrTriangle, Solve, Svd, SvdValues};
    matches!(op, Cholesky | Solve(_) | Lu | Qr | QrTriangle | FullQr | Eigh | EighValues | Svd | SvdValues)
}

/// The items of a matrix.
const ITEMS: &str = "\
const int slot = get_local_id(0) / LANES, lane = get_local_id(0) % LANES, id = get_local_id(0);
const long number = get_group_id(0) * EACH + slot;
// Items without a matrix do the last one's work, and write nothing.
const long matrix = min(number, count - 1);";

/// The first of the numbers of a matrix's items becomes their sum.
const SUM: &str = "\
barrier(CLK_LOCAL_MEM_FENCE);
for (int distance = LANES / 2; distance > 0; distance /= 2) {
    if (lane < distance) sums[id] += sums[id + distance];
    barrier(CLK_LOCAL_MEM_FENCE);
}";

/// The first of the numbers of a matrix's items becomes the largest of them, or NaN if one is.
const MOST: &str = "\
barrier(CLK_LOCAL_MEM_FENCE);
for (int distance = LANES / 2; distance > 0; distance /= 2) {
    if (lane < distance) {
        const T other = sums[id + distance];
        if (other > sums[id] || isnan(other)) sums[id] = other;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}";

/// The matrices of an operation.
#[derive(Clone, Copy)]
struct Matrices {
    dtype: DType,
    count: usize,
    rows: usize,
    columns: usize,
}

/// The items of a group: so many for each of some matrices.
#[derive(Clone, Copy)]
struct Share {
    lanes: usize,
    matrices: usize,
}

impl Share {
    fn group(self) -> usize {
        self.lanes * self.matrices
    }
}

/// Where the elements of matrices are in an array: the first one, and how far apart matrices, rows and columns are.
#[derive(Clone, Copy)]
struct Strides {
    first: usize,
    matrix: usize,
    row: isize,
    column: isize,
}

impl Strides {
    /// Matrices that lie one after the other.
    fn of(rows: usize, columns: usize) -> Strides {
        Strides { first: 0, matrix: rows * columns, row: columns as isize, column: 1 }
    }

    fn turned(self) -> Strides {
        Strides { row: self.column, column: self.row, ..self }
    }

    /// The part from a row and a column on.
    fn from(self, row: usize, column: usize) -> Strides {
        Strides { first: self.first.strict_add_signed(row as isize * self.row + column as isize * self.column), ..self }
    }

    /// The rows in the opposite order.
    fn rows_backwards(self, rows: usize) -> Strides {
        Strides { row: -self.row, ..self.from(rows - 1, 0) }
    }

    /// Rows and columns in the opposite order.
    fn backwards(self, [rows, columns]: [usize; 2]) -> Strides {
        Strides { row: -self.row, column: -self.column, ..self.from(rows - 1, columns - 1) }
    }

    fn numbers(self) -> [i64; 4] {
        [self.first as i64, self.matrix as i64, self.row as i64, self.column as i64]
    }
}

/// A kernel that is launched with several numbers.
struct MatrixKernel {
    kernel: usize,
    group: usize,
    operands: Vec<KernelArray>,
}

impl MatrixKernel {
    fn launch(&self, groups: usize, numbers: Vec<i64>) -> Action {
        let grid = Grid { items: groups * self.group, group: self.group };
        Action::Launch { kernel: self.kernel, grid, operands: self.operands.clone(), numbers }
    }
}

/// A kernel of an item for each of some elements.
struct ElementKernel(MatrixKernel);

impl ElementKernel {
    fn launch(&self, items: usize, numbers: &[usize]) -> Action {
        let numbers = [&[items], numbers].concat().into_iter().map(|number| number as i64);
        self.0.launch(items.div_ceil(self.0.group), numbers.collect())
    }
}

impl KernelWriter {
    /// An operation on matrices, if it is one of those with kernels of their own, and the device has local memory for these.
    /// The others are written out as loops.
    pub(super) fn matrix(
        &mut self,
        scope: &mut KernelScope<'_>,
        plan: &mut BufferPlan<'_>,
        call: &Call,
    ) -> Option<Vec<Action>> {
        let op = call.matrix()?;
        let (operands, to) = (&call.arguments, call.results[0]);
        let ty = &scope.procedure.buffers[operands[0] as usize].ty;
        let (batch, extents) = ty.shape.split_at(ty.rank() - 2);
        let matrices = Matrices { dtype: ty.dtype, count: size(batch), rows: extents[0], columns: extents[1] };
        // Items count rows and columns by 32 bits.
        let is_countable = extents.iter().all(|&extent| extent <= i32::MAX as usize);
        if !self.has_matrix_kernels(ty.dtype) || !is_countable {
            return None;
        }
        if has_kernels(op) && scope.count(to) == 0 {
            return Some(Vec::new());
        }
        let actions = match op {
            MatrixOperation::Cholesky => self.cholesky(scope, matrices, operands[0], to),
            MatrixOperation::Solve(triangle) => {
                self.triangular(scope, triangle, matrices, [operands[0], operands[1]], to)
            }
            MatrixOperation::Lu => self.lu(scope, plan, matrices, operands[0], to),
            MatrixOperation::Qr | MatrixOperation::QrTriangle | MatrixOperation::FullQr => {
                self.qr(scope, plan, op, matrices, [operands[0], to])
            }
            MatrixOperation::Eigh | MatrixOperation::EighValues => {
                self.eigh(scope, plan, op == MatrixOperation::Eigh, matrices, [operands[0], to])?
            }
            MatrixOperation::Svd | MatrixOperation::SvdValues => {
                self.svd(scope, plan, op == MatrixOperation::Svd, matrices, [operands[0], to])?
            }
            _ => return None,
        };
        Some(actions)
    }

    /// Whether the device has local memory for these kernels.
    pub(super) fn has_matrix_kernels(&self, dtype: DType) -> bool {
        update::local(dtype) <= self.limits.local
    }

    /// The most items of a group: one where they run in turn, so that it goes from one element to the next.
    fn most_lanes(&self) -> usize {
        if self.limits.is_serial { 1 } else { power_of_two_below(LANES.min(self.limits.group)) }
    }

    /// The same of a group that has a large matrix for itself.
    fn panel_share(&self) -> Share {
        let lanes = if self.limits.is_serial { 1 } else { power_of_two_below(PANEL_LANES.min(self.limits.group)) };
        Share { lanes, matrices: 1 }
    }

    /// The items for matrices that occupy no more than so many each.
    fn share(&self, lanes: usize, count: usize) -> Share {
        let most = self.most_lanes();
        let lanes = lanes.min(most).next_power_of_two();
        let matrices = (most / lanes).min(count.next_power_of_two());
        Share { lanes: most / matrices, matrices }
    }

    /// A kernel whose text is a template: words stand for the element type, for names of arrays and for numbers that are known.
    fn matrix_kernel(
        &mut self,
        (word, template): (&str, &str),
        mut operands: KernelOperands,
        numbers: &[&'static str],
        (dtype, share): (DType, Share),
        words: &[(&str, String)],
    ) -> MatrixKernel {
        let group = share.group();
        operands.numbers = numbers.iter().map(|&name| (name, 0)).collect();
        let text = self.filled(template, dtype, words);
        let Action::Launch { kernel, operands, .. } =
            self.group_kernel(word, &operands, Grid { items: group, group }, text)
        else {
            unreachable!("a kernel is launched")
        };
        MatrixKernel { kernel, group, operands }
    }

    /// A template's text.
    fn filled(&self, template: &str, dtype: DType, words: &[(&str, String)]) -> Text {
        let number = |x: f64| self.language.literal(Value::from_f64(dtype, x));
        let (half, nan) = (number(0.5), number(f64::NAN));
        let mut all = vec![("T", self.element(dtype)), ("HALF", &half[..]), ("NOT_A_NUMBER", &nan[..])];
        all.extend(words.iter().map(|(word, text)| (*word, &text[..])));
        let mut text = Text::default();
        text.lines(replaced(template, &all).lines());
        text
    }

    /// Copies an array.
    fn copy(&mut self, scope: &KernelScope<'_>, dtype: DType, from: BufferId, to: BufferId) -> Action {
        let operands = scope.operands(&[from], &[to]);
        let words = named(&operands, [("FROM", from), ("TO", to)]);
        let copy = self.element_kernel(("copy", "TO[item] = FROM[item];"), operands, &[], dtype, &words);
        copy.launch(scope.count(to), &[])
    }

    /// A kernel of an item for each of some elements, as many as it is launched with.
    fn element_kernel(
        &mut self,
        (word, template): (&str, &str),
        operands: KernelOperands,
        numbers: &[&'static str],
        dtype: DType,
        words: &[(&str, String)],
    ) -> ElementKernel {
        let share = Share { lanes: power_of_two_below(LANES.min(self.limits.group)), matrices: 1 };
        let template = format!("const long item = get_global_id(0);\nif (item >= items) return;\n{template}");
        let numbers = [&["items"], numbers].concat();
        ElementKernel(self.matrix_kernel((word, &template), operands, &numbers, (dtype, share), words))
    }
}

/// A template whose parts stand in for lines that name them, as far in as these.
fn composed(template: &str, parts: &[(&str, &str)]) -> String {
    let mut result = String::new();
    for line in template.lines() {
        let name = line.trim_start();
        let indentation = &line[..line.len() - name.len()];
        let text = parts.iter().find(|(part, _)| *part == name).map_or(name, |(_, text)| text);
        for line in text.lines() {
            result.extend([indentation, line, "\n"]);
        }
    }
    result
}

/// The memory that barriers order, besides that of groups, where a matrix is not in it.
fn fence(is_local: bool) -> (&'static str, String) {
    let both = "CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE";
    ("FENCE", if is_local { "CLK_LOCAL_MEM_FENCE" } else { both }.into())
}

/// The words that stand for arrays.
fn named<const N: usize>(
    operands: &KernelOperands,
    arrays: [(&'static str, BufferId); N],
) -> [(&'static str, String); N] {
    arrays.map(|(word, id)| (word, operands.names[&id].clone()))
}

/// The words of a share, of which so many items are side by side, and of tiles of so many rows and columns.
fn shared(share: Share, tile: usize, across: usize) -> Vec<(&'static str, String)> {
    let across = across.min(share.lanes);
    [
        ("LANES", share.lanes),
        ("EACH", share.matrices),
        ("ACROSS", across),
        ("DOWN", share.lanes / across),
        ("TILE", tile),
        ("PITCH", tile + 1),
    ]
    .map(|(word, number)| (word, number.to_string()))
    .to_vec()
}
