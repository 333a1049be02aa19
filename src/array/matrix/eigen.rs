//! Eigenvalues and eigenvectors of symmetric matrices: by reflections to a tridiagonal matrix, and rotations to a diagonal one
//! (Householder; QL and QR with implicit shifts, after Bowdler, Martin, Reinsch and Wilkinson, 1968).

use super::reflections::{product_into, product_scratch, reflection};
use super::rotations::{Block, Rotation, Sweeps};
use super::rows::{SHORT, add_scaled, assign, divide_by, dot, largest, scale, total, transpose, unit};
use super::{Machine, MatrixElement, Part, matrix, matrix_mut};
use ndarray::{ArrayView2, ArrayViewMut2, Axis, s};

/// The most sweeps for each eigenvalue, before it is given up as one that is not a number.
const SWEEPS: usize = 60;

/// Elements of scratch for a matrix of so many rows.
pub(super) fn scratch(n: usize) -> usize {
    2 * n * n + 4 * n + product_scratch(n, [n, n]).max(2 * n + Sweeps::<f64>::scratch(n))
}

/// Writes the eigenvectors of the symmetric part of a matrix as columns, if there is room for them, above a row of the eigenvalues,
/// which ascend.
pub(super) fn factor_into<T: MatrixElement>(
    on: &mut dyn Machine<T>,
    a: ArrayView2<T>,
    mut out: ArrayViewMut2<T>,
    scratch: &mut [T],
) {
    let n = a.nrows();
    if n == 0 {
        return;
    }
    let has_vectors = out.nrows() > 1;
    let (work, rest) = scratch.split_at_mut(n * n);
    let (vectors, rest) = rest.split_at_mut(n * n);
    let (values, rest) = rest.split_at_mut(n);
    let (beside, rest) = rest.split_at_mut(n);
    let (factors, rest) = rest.split_at_mut(n);
    let Some(unit) = scaled(a, work) else { return out.fill(T::NAN) };
    on.run(Part::Tridiagonal(work, [&mut *values, &mut *beside, &mut *factors], rest));
    let vectors: &mut [T] = if has_vectors { vectors } else { &mut [] };
    if has_vectors {
        let reflections = matrix(work, 0, [n, n]);
        let mut product = matrix_mut(vectors, 0, [n, n]);
        product_after_first(on, reflections, factors, product.view_mut(), rest);
        transpose(n, vectors);
    }
    if !diagonal(values, beside, &mut Sweeps::new(on, n, vectors, rest)) {
        return out.fill(T::NAN);
    }
    sort(values, [&mut *vectors], |x, y| x < y);
    let (columns, mut last) = out.split_at(Axis(0), if has_vectors { n } else { 0 });
    for (place, &value) in last.iter_mut().zip(&*values) {
        *place = value * unit;
    }
    for vector in vectors.chunks_exact_mut(n) {
        if is_turned(vector) {
            scale(vector, -T::one());
        }
    }
    if has_vectors {
        assign(matrix(vectors, 0, [n, n]).reversed_axes(), columns);
    }
}

/// Writes the part of the symmetric part of a matrix from the diagonal on, over a number, which is the result if all numbers are
/// finite.
fn scaled<T: MatrixElement>(a: ArrayView2<T>, to: &mut [T]) -> Option<T> {
    let n = a.nrows();
    assign(a, matrix_mut(to, 0, [n, n]));
    // Halves before the sum, which may overflow.
    let half = T::one() / T::number(2);
    let mut most = T::ZERO;
    for row in 0..n {
        for column in row + 1..n {
            let place = row * n + column;
            to[place] = to[place] * half + to[column * n + row] * half;
        }
        let size = largest(&to[row * n + row..(row + 1) * n]);
        most = if size > most || size.is_nan() { size } else { most };
    }
    let unit = unit(most)?;
    if unit != T::one() {
        divide_by(to, unit);
    }
    Some(unit)
}

/// Writes the product of reflections whose vectors begin after the diagonal.
pub(super) fn product_after_first<T: MatrixElement>(
    on: &mut dyn Machine<T>,
    vectors: ArrayView2<T>,
    factors: &[T],
    mut out: ArrayViewMut2<T>,
    scratch: &mut [T],
) {
    let last = vectors.nrows() - 1;
    out.row_mut(0).fill(T::ZERO);
    out.column_mut(0).fill(T::ZERO);
    out[[0, 0]] = T::one();
    product_into(on, (vectors.slice(s![..last, 1..]), None), &factors[..last], out.slice_mut(s![1.., 1..]), scratch);
}

/// Whether the largest element of a vector, the first of several, is negative. Such vectors are turned, so that each way of
/// computing them has the same result.
pub(super) fn is_turned<T: MatrixElement>(vector: &[T]) -> bool {
    let mut largest = T::ZERO;
    for &x in vector {
        if x.magnitude() > largest.magnitude() {
            largest = x;
        }
    }
    largest < T::ZERO
}

/// Reflects a symmetric matrix, of which the part from the diagonal on is read, to a tridiagonal one: its diagonal, and the elements
/// beside that, with the factors of the reflections. The vectors of these, each of which takes the elements after the one beside the
/// diagonal to 0, stay in the rows.
#[inline(always)]
pub(super) fn tridiagonal<T: MatrixElement>(a: &mut [T], [values, beside, factors]: [&mut [T]; 3], scratch: &mut [T]) {
    let n = values.len();
    // The last reflection waits to be applied: by it a matrix becomes A − v wᵀ − w vᵀ. Rows are read once for that and for the
    // product with the next vector.
    let (mut w, rest) = scratch.split_at_mut(n);
    let mut product = &mut rest[..n];
    w.fill(T::ZERO);
    let mut none = [];
    for step in 0..n {
        let (above, below) = a.split_at_mut(step * n);
        let v = if step > 0 { &mut above[(step - 1) * n..] } else { &mut none[..] };
        let (own, below) = below.split_at_mut(n);
        if step > 0 {
            let (v, w) = (&v[step..], &w[step..]);
            let (x, y) = (v[0], w[0]);
            add_scaled(&mut own[step..], w, -x);
            add_scaled(&mut own[step..], v, -y);
        }
        values[step] = own[step];
        own[..=step].fill(T::ZERO);
        let u = &mut own[step + 1..];
        (beside[step], factors[step]) = reflection(u);
        let u = &*u;
        let product_part = &mut product[step + 1..];
        product_part.fill(T::ZERO);
        for (number, row) in below.chunks_exact_mut(n).enumerate() {
            let row = &mut row[step + 1 + number..];
            let (u, sums) = (&u[number..], &mut product_part[number..]);
            let sum = match step {
                0 => multiply_row(row, u, sums),
                _ => update_row(row, [&v[step + 1 + number..], &w[step + 1 + number..]], u, sums),
            };
            sums[0] = sum;
        }
        let factor = factors[step];
        scale(product_part, factor);
        let common = dot(product_part, u) * factor / T::number(2);
        add_scaled(product_part, u, -common);
        std::mem::swap(&mut w, &mut product);
    }
}

/// Elements of a row at once.
const LANES: usize = 2 * SHORT;

/// Adds the elements of a row after the first, times the vector's first, to sums; returns their product with the vector, and the
/// sum that the first one has.
#[inline(always)]
fn multiply_row<T: MatrixElement>(row: &[T], u: &[T], sums: &mut [T]) -> T {
    let sum = sums[0] + dot(row, u);
    add_scaled(&mut sums[1..], &row[1..], u[0]);
    sum
}

/// Subtracts multiples of two vectors from a row, and multiplies it as [`multiply_row`] does.
#[inline(always)]
fn update_row<T: MatrixElement>(row: &mut [T], [v, w]: [&[T]; 2], u: &[T], sums: &mut [T]) -> T {
    let (x, y, factor, first) = (v[0], w[0], u[0], sums[0]);
    let (rows, row) = row.as_chunks_mut::<LANES>();
    let (vs, v) = v.as_chunks::<LANES>();
    let (ws, w) = w.as_chunks::<LANES>();
    let (us, u) = u.as_chunks::<LANES>();
    let (parts, sums) = sums.as_chunks_mut::<LANES>();
    let mut lanes = [T::ZERO; LANES];
    // Iterators of several slices take calls where they are not inlined.
    let count = rows.len();
    let (vs, ws, us, parts) = (&vs[..count], &ws[..count], &us[..count], &mut parts[..count]);
    for at in 0..count {
        for lane in 0..LANES {
            let element = rows[at][lane] - x * ws[at][lane] - y * vs[at][lane];
            rows[at][lane] = element;
            lanes[lane] = lanes[lane] + element * us[at][lane];
            parts[at][lane] = parts[at][lane] + element * factor;
        }
    }
    let mut sums_of_two = [T::ZERO; SHORT];
    for lane in 0..SHORT {
        sums_of_two[lane] = lanes[lane] + lanes[lane + SHORT];
    }
    let mut sum = first + total(sums_of_two);
    let count = row.len();
    let (v, w, u, sums) = (&v[..count], &w[..count], &u[..count], &mut sums[..count]);
    for at in 0..count {
        let element = row[at] - x * w[at] - y * v[at];
        row[at] = element;
        sum = sum + element * u[at];
        sums[at] = sums[at] + element * factor;
    }
    sum
}

/// Rotates a tridiagonal matrix to a diagonal one, and rows of vectors with it; whether that comes to an end.
fn diagonal<T: MatrixElement>(values: &mut [T], beside: &mut [T], vectors: &mut Sweeps<T>) -> bool {
    let n = values.len();
    // Products of smaller numbers are not precise any more.
    let tiny = T::one() / (T::LARGEST * T::PRECISION);
    let (mut start, mut last) = (0, None);
    for _ in 0..SWEEPS * n {
        let is_small = |at: usize| {
            let scale = values[at].magnitude() + values[at + 1].magnitude();
            beside[at].magnitude() <= T::PRECISION * scale + tiny
        };
        // The first block that is not diagonal.
        while start + 1 < n && is_small(start) {
            start += 1;
        }
        if start + 1 == n {
            vectors.apply();
            return true;
        }
        let end = (start + 1..n - 1).find(|&at| is_small(at)).unwrap_or(n - 1);
        let block = Block::new([start, end], values, last);
        last = Some(block);
        vectors.begin(block.at(0), block.is_backward);
        sweep(block, values, beside, vectors);
    }
    false
}

/// A sweep over a block of a tridiagonal matrix, shifted by a value near its last one.
fn sweep<T: MatrixElement>(block: Block, values: &mut [T], beside: &mut [T], vectors: &mut Sweeps<T>) {
    let (two, last) = (T::number(2), block.last());
    let (near, end) = (block.at(last - 1), block.at(last));
    let edge = block.after(last - 1);
    let slope = (values[near] - values[end]) / (two * beside[edge]);
    let length = Rotation::onto(slope, T::one()).1;
    let shift = slope + if slope < T::ZERO { -length } else { length };
    let mut g = values[block.at(0)] - values[end] + beside[edge] / shift;
    let (mut turn, mut p) = (Rotation { cosine: T::one(), sine: T::one() }, T::ZERO);
    for place in 0..last {
        let (own, next, after) = (block.at(place), block.at(place + 1), block.after(place));
        let (f, b) = (turn.sine * beside[after], turn.cosine * beside[after]);
        let (found, r) = Rotation::onto(g, f);
        if place > 0 {
            beside[block.after(place - 1)] = r;
        }
        if r == T::ZERO {
            values[own] = values[own] - p;
            return;
        }
        turn = found;
        g = values[own] - p;
        let r = (values[next] - g) * turn.sine + two * turn.cosine * b;
        p = turn.sine * r;
        values[own] = g + p;
        g = turn.cosine * r - b;
        vectors.add(turn);
    }
    values[end] = values[end] - p;
    beside[edge] = g;
}

/// Sorts values, and the rows of matrices with them, if they have rows.
pub(super) fn sort<T: MatrixElement, const N: usize>(
    values: &mut [T],
    mut matrices: [&mut [T]; N],
    is_before: impl Fn(T, T) -> bool,
) {
    let n = values.len();
    for at in 0..n {
        let mut first = at;
        for other in at + 1..n {
            if is_before(values[other], values[first]) {
                first = other;
            }
        }
        if first != at {
            values.swap(at, first);
            for rows in matrices.iter_mut().filter(|rows| !rows.is_empty()) {
                let (before, after) = rows.split_at_mut(first * n);
                before[at * n..(at + 1) * n].swap_with_slice(&mut after[..n]);
            }
        }
    }
}
