//! The factorisation A = Q R by reflections (Householder, 1958), those of a panel at once as I − V T Vᵀ (Schreiber and Van Loan,
//! 1989).

use super::update::{Change, Product, Update};
use super::{ACROSS, ITEMS, MOST, Matrices, SUM, Strides, TILE, composed, fence, named, shared};
use crate::engine::opencl::code::Action;
use crate::engine::opencl::kernels::{KernelScope, KernelWriter};
use crate::kernel::BufferId;
use crate::operation::MatrixOperation;
use crate::shape::{DType, Value};
use crate::source::helpers::replaced;
use crate::source::language::Language;
use crate::source::plan::BufferPlan;

/// Reflects the columns of a panel, one after the other. R takes their place, and below its diagonal the vectors of reflections,
/// whose own first elements are 1.
const PANEL: &str = "\
__local T sums[EACH * LANES], triangles[EACH * TILE * PITCH], products[EACH * TILE];
ITEMS
const int across = lane % ACROSS, down = lane / ACROSS;
const int rows = m - start, steps = min((int)width, rows);
__local T *triangle = triangles + slot * (TILE * PITCH), *product = products + slot * TILE;
BEGINNING
for (int step = 0; step < steps; step++) {
    T most = 0;
    for (int row = step + 1 + lane; row < rows; row += LANES) {
        const T size = fabs(panel[row * apart + step]);
        if (size > most || isnan(size)) most = size;
    }
    sums[id] = most;
    MOST
    const T own = panel[step * apart + step], rest = sums[slot * LANES];
    // Scaled, so that no square is out of the range of numbers.
    const bool is_done = rest == 0;
    const T unit = is_done ? 1 : fmax(fabs(own), rest);
    T square = 0;
    for (int row = step + 1 + lane; row < rows; row += LANES) {
        const T x = panel[row * apart + step] / unit;
        square += x * x;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    sums[id] = square;
    SUM
    const T first = own / unit, root = sqrt(sums[slot * LANES] + first * first);
    const T norm = first > 0 ? -root : root, distance = is_done ? 1 : first - norm;
    const T factor = is_done ? 0 : -distance / norm;
    for (int row = step + 1 + lane; row < rows; row += LANES) {
        panel[row * apart + step] = panel[row * apart + step] / unit / distance;
    }
    barrier(FENCE);
    if (lane == 0) panel[step * apart + step] = is_done ? own : norm * unit;
    // Products of the vector with those before it, and with the columns that follow.
    for (int base = 0; base < width; base += ACROSS) {
        const int column = base + across;
        T sum = 0;
        if (column < width && column != step) {
            for (int row = step + down; row < rows; row += DOWN) {
                const T x = row == step ? 1 : panel[row * apart + step];
                sum += x * panel[row * apart + column];
            }
        }
        sums[id] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (down == 0 && column < width) {
            T all = 0;
            for (int part = 0; part < DOWN; part++) all += sums[id + part * ACROSS];
            product[column] = all;
        }
        barrier(FENCE);
    }
    for (int row = lane; row < step; row += LANES) {
        T sum = 0;
        for (int at = row; at < step; at++) sum += triangle[row * PITCH + at] * product[at];
        triangle[row * PITCH + step] = is_done ? 0 : -factor * sum;
    }
    if (lane == 0) triangle[step * PITCH + step] = factor;
    for (int row = step + down; row < rows && !is_done; row += DOWN) {
        const T x = factor * (row == step ? 1 : panel[row * apart + step]);
        for (int column = step + 1 + across; column < width; column += ACROSS) {
            panel[row * apart + column] -= x * product[column];
        }
    }
    barrier(FENCE);
}
";

/// An element of the vector of a reflection, and the range of those that are not 0 in a row.
const VECTOR: &str = "(row == at ? 1 : panel[row * apart + at])";
const KNOWN: &str = "min(row + 1, steps)";

/// The panel of a large matrix stays where it is.
const BEGINNING: &str = "\
__global T *panel = WORK + matrix * (m + TILE) * n + start * (n + 1);
const long apart = n;";

/// Keeps V, and −T Vᵀ, as rows.
const END: &str = "\
const long size = HELD * m;
for (long place = lane; place < (long)rows * steps; place += LANES) {
    const int row = place % rows, own = place / rows;
    T sum = 0;
    for (int at = own; at < KNOWN; at++) sum -= triangle[own * PITCH + at] * VECTOR;
    const long to = 2 * matrix * size + (kept + own) * m + start + row;
    VECTORS[to] = row > own ? panel[row * apart + own] : row == own;
    VECTORS[to + size] = sum;
}
";

/// A large matrix, times a number that keeps norms in the range of numbers: they may be larger than elements, and differences twice
/// as large as norms.
const START: &str = "\
__local T sums[LANES];
const int slot = 0, lane = get_local_id(0), id = lane;
const long matrix = get_group_id(0), from = matrix * m * n, to = matrix * (m + TILE) * n;
T most = 0;
for (long at = lane; at < m * n; at += LANES) {
    const T size = fabs(FROM[from + at]);
    if (size > most || isnan(size)) most = size;
}
sums[id] = most;
MOST
const T unit = sums[0] > BOUND ? PRECISION : 1;
for (long at = lane; at < m * n; at += LANES) WORK[to + at] = FROM[from + at] * unit;
if (lane == 0) UNITS[matrix] = unit;
";

/// A small matrix is in local memory meanwhile.
const SMALL_BEGINNING: &str = "\
__local T panels[EACH * HEIGHT * PITCH];
__local T *panel = panels + slot * (HEIGHT * PITCH);
const int apart = PITCH;
T extreme = 0;
for (int row = down; row < m; row += DOWN) {
    for (int column = across; column < n; column += ACROSS) {
        const T x = FROM[(matrix * m + row) * n + column], size = fabs(x);
        if (size > extreme || isnan(size)) extreme = size;
        panel[row * PITCH + column] = x;
    }
}
sums[id] = extreme;
MOST
const T scale = sums[slot * LANES] > BOUND ? PRECISION : 1;
for (int row = down; row < m; row += DOWN) {
    for (int column = across; column < n; column += ACROSS) panel[row * PITCH + column] *= scale;
}
barrier(CLK_LOCAL_MEM_FENCE);";

/// Q is I − V T Vᵀ.
const SMALL_Q: &str = "\
__local T all_combined[EACH * HEIGHT * PITCH];
__local T *combined = all_combined + slot * (HEIGHT * PITCH);
for (int row = down; row < k; row += DOWN) {
    for (int own = across; own < steps; own += ACROSS) {
        T sum = 0;
        for (int at = own; at < KNOWN; at++) sum += triangle[own * PITCH + at] * VECTOR;
        combined[row * PITCH + own] = sum;
    }
}
barrier(CLK_LOCAL_MEM_FENCE);
if (number < count) {
    for (int row = down; row < m; row += DOWN) {
        for (int column = across; column < k; column += ACROSS) {
            T sum = row == column;
            // Reflections of later columns leave this one as it is.
            for (int at = 0; at < min(KNOWN, column + 1); at++) sum -= VECTOR * combined[column * PITCH + at];
            TO[(matrix * (m + n) + row) * k + column] = sum;
        }
    }
}
";

const SMALL_END: &str = "\
if (number < count) {
    for (int column = down; column < n; column += DOWN) {
        for (int row = across; row < k; row += ACROSS) {
            const T x = row <= column ? panel[row * PITCH + column] / scale : 0;
            TO[(matrix * (before + n) + before + column) * k + row] = x;
        }
    }
}
";

/// The columns of the identity.
const IDENTITY: &str = "\
const long place = item % (m * k);
SQUARE[item + item / (m * k) * TILE * k] = place / k == place % k;
";

/// Q and the transpose of R.
const FINISH: &str = "\
const long size = (before + n) * k, matrix = item / size, row = item % size / k, column = item % k;
if (row < before) {
    TO[item] = SQUARE[matrix * (m + TILE) * k + row * k + column];
} else {
    const long own = row - before;
    const T x = column <= own ? WORK[matrix * (m + TILE) * n + column * n + own] : 0;
    TO[item] = x / UNITS[matrix];
}
";

/// A template with its parts.
fn text(template: &str, beginning: &str) -> String {
    let parts =
        [("ITEMS", ITEMS), ("BEGINNING", &composed(beginning, &[("MOST", MOST)])), ("MOST", MOST), ("SUM", SUM)];
    replaced(&composed(template, &parts), &[("VECTOR", VECTOR), ("KNOWN", KNOWN)])
}

impl KernelWriter {
    pub(super) fn qr(
        &mut self,
        scope: &mut KernelScope<'_>,
        plan: &mut BufferPlan<'_>,
        op: MatrixOperation,
        matrices: Matrices,
        [from, to]: [BufferId; 2],
    ) -> Vec<Action> {
        let Matrices { dtype, count, rows: m, columns: n } = matrices;
        if let Some(action) = self.small_qr(scope, op, matrices, [from, to]) {
            return vec![action];
        }
        let (steps, k, has_q) = (m.min(n), columns_of_q(op, matrices), op != MatrixOperation::QrTriangle);
        let held = if has_q { steps } else { TILE };
        let mut memory = |size: usize| scope.add(plan.memory(dtype, count * size), dtype, count * size);
        let (work, vectors, units) = (memory((m + TILE) * n), memory(2 * held * m), memory(1));
        let square = if has_q { memory((m + TILE) * k) } else { work };
        let share = self.panel_share();
        let shared = shared(share, TILE, TILE);

        let operands = scope.operands(&[from], &[work, units]);
        let words = named(&operands, [("FROM", from), ("WORK", work), ("UNITS", units)]);
        let words = [&shared[..], &words, &self.bounds(dtype)].concat();
        let start = text(START, "");
        let start = self.matrix_kernel(("scaled", &start), operands, &["m", "n"], (dtype, share), &words);
        let mut actions = vec![start.launch(count, vec![m as i64, n as i64])];

        let operands = scope.operands(&[], &[work, vectors]);
        let words = named(&operands, [("WORK", work), ("VECTORS", vectors)]);
        let words = [&shared[..], &words, &[("HELD", format!("(long){held}")), fence(false)]].concat();
        let panel = text(&[PANEL, END].concat(), BEGINNING);
        let numbers = ["start", "width", "m", "n", "count", "kept"];
        let panel = self.matrix_kernel(("reflections", &panel), operands, &numbers, (dtype, share), &words);
        let places = Places { m, held };
        let has_rest = n > TILE.min(steps);
        let updates = has_rest.then(|| self.updates(scope, dtype, vectors, work));
        for start in (0..steps).step_by(TILE) {
            let end = (start + TILE).min(steps);
            let (width, kept) = (end - start, if has_q { start } else { 0 });
            let numbers = [start, width, m, n, count, kept].map(|number| number as i64);
            actions.push(panel.launch(count, numbers.to_vec()));
            if let (Some(updates), true) = (&updates, end < n) {
                let block = Block { extents: [m, n], rows: start, columns: end, width };
                let (vectors, combined) = (places.vectors(kept, start), places.combined(kept, start));
                actions.extend(block.reflected(updates, count, [vectors, combined.turned()]));
            }
        }
        if has_q {
            let operands = scope.operands(&[], &[square]);
            let words = [&shared[..], &named(&operands, [("SQUARE", square)])].concat();
            let identity = self.element_kernel(("identity", IDENTITY), operands, &["m", "k"], dtype, &words);
            actions.push(identity.launch(count * m * k, &[m, k]));
            let updates = self.updates(scope, dtype, vectors, square);
            for start in (0..steps).step_by(TILE).rev() {
                // The columns before these are still those of the identity.
                let block = Block { extents: [m, k], rows: start, columns: start, width: TILE.min(steps - start) };
                let (vectors, combined) = (places.vectors(start, start), places.combined(start, start));
                actions.extend(block.reflected(&updates, count, [combined, vectors.turned()]));
            }
        }
        let operands = scope.operands(&[work, units, square], &[to]);
        let words = named(&operands, [("WORK", work), ("UNITS", units), ("SQUARE", square), ("TO", to)]);
        let words = [&shared[..], &words].concat();
        let finish = self.element_kernel(("factors", FINISH), operands, &["m", "n", "k", "before"], dtype, &words);
        actions.push(finish.launch(scope.count(to), &[m, n, k, if has_q { m } else { 0 }]));
        actions
    }

    /// The factorisation of small matrices as one launch, if they fit into local memory.
    fn small_qr(
        &mut self,
        scope: &KernelScope<'_>,
        op: MatrixOperation,
        matrices: Matrices,
        [from, to]: [BufferId; 2],
    ) -> Option<Action> {
        let Matrices { dtype, count, rows: m, columns: n } = matrices;
        let (share, tile) = (self.share(m.saturating_mul(n), count), n.min(TILE).next_power_of_two());
        let has_q = op != MatrixOperation::QrTriangle;
        let held = m.saturating_mul(if has_q { 2 } else { 1 });
        let elements = held.saturating_add(tile).saturating_mul(tile + 1).saturating_add(tile + share.lanes);
        if n > TILE || elements.saturating_mul(share.matrices * dtype.bytes()) > self.limits.local {
            return None;
        }
        let operands = scope.operands(&[from], &[to]);
        let words = named(&operands, [("FROM", from), ("TO", to)]);
        let words =
            [&shared(share, tile, ACROSS)[..], &words, &self.bounds(dtype), &[("HEIGHT", m.to_string()), fence(true)]];
        let template = [PANEL, if has_q { SMALL_Q } else { "" }, SMALL_END].concat();
        let template = text(&template, SMALL_BEGINNING);
        let numbers = ["start", "width", "m", "n", "count", "k", "before"];
        let word = if has_q { "qr" } else { "qr_triangle" };
        let kernel = self.matrix_kernel((word, &template), operands, &numbers, (dtype, share), &words.concat());
        let (k, before) = (columns_of_q(op, matrices), if has_q { m } else { 0 });
        let numbers = [0, n, m, n, count, k, before].map(|number| number as i64);
        Some(kernel.launch(count.div_ceil(share.matrices), numbers.to_vec()))
    }

    /// The kernels by which reflections change a matrix.
    fn updates(&mut self, scope: &KernelScope<'_>, dtype: DType, vectors: BufferId, to: BufferId) -> [Update; 2] {
        [([true, false], Change::Anew), ([false, false], Change::All)]
            .map(|(along_summed, change)| self.update(scope, dtype, (vectors, to), along_summed, change))
    }

    /// The precision of numbers, and the largest one for which norms are in their range.
    fn bounds(&self, dtype: DType) -> [(&'static str, String); 2] {
        let number = |x: f64| self.language.literal(Value::from_f64(dtype, x));
        let largest = if dtype == DType::F32 { f64::from(f32::MAX) } else { f64::MAX };
        [("PRECISION", number(dtype.epsilon())), ("BOUND", number(dtype.epsilon() * largest))]
    }
}

fn columns_of_q(op: MatrixOperation, Matrices { rows, columns, .. }: Matrices) -> usize {
    if op == MatrixOperation::FullQr { rows } else { rows.min(columns) }
}

/// Where the vectors of reflections are, of which so many are held.
struct Places {
    m: usize,
    held: usize,
}

impl Places {
    /// V as rows, from a reflection and an element on.
    fn vectors(&self, reflection: usize, element: usize) -> Strides {
        let whole = Strides { matrix: 2 * self.held * self.m, ..Strides::of(self.held, self.m) };
        whole.from(reflection, element)
    }

    /// −T Vᵀ.
    fn combined(&self, reflection: usize, element: usize) -> Strides {
        self.vectors(self.held + reflection, element)
    }
}

/// The part of a matrix that a panel's reflections change. Rows for products are below the matrix.
struct Block {
    extents: [usize; 2],
    rows: usize,
    columns: usize,
    width: usize,
}

impl Block {
    /// Takes a product of two factors and the block out of it: the second factor is multiplied by the first one's product with the
    /// block, whose sign changes.
    fn reflected(&self, updates: &[Update; 2], count: usize, [first, second]: [Strides; 2]) -> [Action; 2] {
        let ([m, n], width) = (self.extents, self.width);
        let whole = Strides { matrix: (m + TILE) * n, ..Strides::of(m, n) };
        let (own, below) = (whole.from(self.rows, self.columns), whole.from(m, self.columns));
        let (rows, columns) = (m - self.rows, n - self.columns);
        let product = Product { target: below, left: first, right: own };
        let rest = Product { target: own, left: second, right: below };
        [
            updates[0].launch([width, rows, columns], count, product),
            updates[1].launch([rows, width, columns], count, rest),
        ]
    }
}
