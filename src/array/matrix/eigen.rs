//! Eigenvalues and eigenvectors of symmetric matrices: by reflections to a tridiagonal matrix, and rotations to a diagonal one
//! (Householder; QL with implicit shifts, after Bowdler, Martin, Reinsch and Wilkinson, 1968).

use super::MatrixElement;
use ndarray::{ArrayView1, ArrayView2, ArrayViewMut2, Axis};

/// The most rotations for an eigenvalue, before it is given up as one that is not a number.
const ROTATIONS: usize = 60;

/// Elements of scratch for a matrix of so many rows.
pub(super) fn scratch(n: usize) -> usize {
    n * n + 2 * n
}

/// Writes the eigenvectors of the symmetric part of a matrix as columns, if there is room for them, above a row of the eigenvalues,
/// which ascend.
pub(super) fn factor_into<T: MatrixElement>(a: ArrayView2<T>, mut out: ArrayViewMut2<T>, scratch: &mut [T]) {
    let n = a.nrows();
    if n == 0 {
        return;
    }
    let has_vectors = out.nrows() > 1;
    let (vectors, rest) = scratch.split_at_mut(n * n);
    let (values, beside) = rest.split_at_mut(n);
    let beside = &mut beside[..n];
    let half = T::one() / T::number(2);
    let mut largest = T::ZERO;
    for i in 0..n {
        for j in 0..n {
            let x = if i == j { a[[i, i]] } else { a[[i, j]] * half + a[[j, i]] * half };
            vectors[i * n + j] = x;
            let size = x.magnitude();
            if size > largest || size.is_nan() {
                largest = size;
            }
        }
    }
    if largest.is_nan() || largest >= T::HIGHEST {
        return out.fill(T::NAN);
    }
    // Scaled, so that no square is out of the range of numbers.
    let unit = if largest > T::ZERO { largest } else { T::one() };
    vectors.iter_mut().for_each(|x| *x = *x / unit);
    tridiagonal(n, vectors, values, beside, has_vectors);
    if !diagonal(n, vectors, values, beside, has_vectors) {
        return out.fill(T::NAN);
    }
    // Without vectors these rows are anything.
    sort(values, [&mut *vectors], |x, y| x < y);
    let rows = out.nrows();
    let (mut columns, mut last) = out.view_mut().split_at(Axis(0), rows - 1);
    for (place, &value) in last.iter_mut().zip(&*values) {
        *place = value * unit;
    }
    for (mut column, vector) in columns.columns_mut().into_iter().zip(vectors.chunks_exact(n)) {
        let sign = if is_turned(ArrayView1::from(vector)) { -T::one() } else { T::one() };
        column.iter_mut().zip(vector).for_each(|(place, &x)| *place = x * sign);
    }
}

/// Whether the largest element of a vector, the first of several, is negative. Such vectors are turned, so that each way of
/// computing them has the same result.
pub(super) fn is_turned<T: MatrixElement>(vector: ArrayView1<T>) -> bool {
    let mut largest = T::ZERO;
    for &x in &vector {
        if x.magnitude() > largest.magnitude() {
            largest = x;
        }
    }
    largest < T::ZERO
}

/// Sums of products of contiguous elements.
fn dot<T: MatrixElement>(a: &[T], b: &[T]) -> T {
    crate::array::products::dot(a.len(), (a, 0, 1), (b, 0, 1))
}

fn add_scaled<T: MatrixElement>(out: &mut [T], x: &[T], factor: T) {
    out.iter_mut().zip(x).for_each(|(out, &x)| *out = *out + x * factor);
}

/// Reflects a symmetric matrix to a tridiagonal one, and leaves the eigenvectors' basis in its place, each vector as a row.
fn tridiagonal<T: MatrixElement>(n: usize, a: &mut [T], values: &mut [T], beside: &mut [T], has_vectors: bool) {
    // Row by row from the last: a reflection takes what is before the element beside the diagonal to 0. Its vector stays in the row.
    for row in (1..n).rev() {
        let (before, rest) = a.split_at_mut(row * n);
        let own = &mut rest[..row];
        let last = own[row - 1];
        let square = dot(&own[..row - 1], &own[..row - 1]);
        if square == T::ZERO {
            beside[row] = last;
            values[row] = T::ZERO;
            continue;
        }
        let norm = (square + last * last).square_root();
        let norm = if last > T::ZERO { -norm } else { norm };
        own[row - 1] = last - norm;
        // I − v vᵀ / h, where h is half of the square of v.
        let h = (square + own[row - 1] * own[row - 1]) / T::number(2);
        values[row] = h;
        // p = A v / h, with A's lower triangle alone.
        let p = &mut beside[..row];
        p.fill(T::ZERO);
        for i in 0..row {
            let line = &before[i * n..i * n + i];
            p[i] = p[i] + dot(line, &own[..i]) + before[i * n + i] * own[i];
            add_scaled(&mut p[..i], line, own[i]);
        }
        p.iter_mut().for_each(|x| *x = *x / h);
        let k = dot(p, own) / (h * T::number(2));
        add_scaled(p, own, -k);
        for i in 0..row {
            let line = &mut before[i * n..i * n + i + 1];
            add_scaled(line, &p[..i + 1], -own[i]);
            add_scaled(line, &own[..i + 1], -p[i]);
        }
        beside[row] = norm;
    }
    values[0] = T::ZERO;
    if !has_vectors {
        (0..n).for_each(|row| values[row] = a[row * n + row]);
        return;
    }
    // The product of all reflections, from the first: the rows before each are those of the product so far.
    for row in 0..n {
        let (before, rest) = a.split_at_mut(row * n);
        let diagonal = rest[row];
        let h = values[row];
        if h != T::ZERO {
            for i in 0..row {
                let line = &mut before[i * n..i * n + row];
                let factor = dot(line, &rest[..row]) / h;
                add_scaled(line, &rest[..row], -factor);
            }
        }
        values[row] = diagonal;
        rest[..n].fill(T::ZERO);
        rest[row] = T::one();
        before.chunks_exact_mut(n).for_each(|line| line[row] = T::ZERO);
    }
}

/// Rotates a tridiagonal matrix to a diagonal one, and the rows of vectors with it; whether that comes to an end.
fn diagonal<T: MatrixElement>(
    n: usize,
    vectors: &mut [T],
    values: &mut [T],
    beside: &mut [T],
    has_vectors: bool,
) -> bool {
    beside.rotate_left(1.min(n));
    if let Some(last) = beside.last_mut() {
        *last = T::ZERO;
    }
    for at in 0..n {
        for rotation in 0.. {
            // The first element beside the diagonal that is as good as 0.
            let end = (at..n - 1)
                .find(|&end| {
                    let scale = values[end].magnitude() + values[end + 1].magnitude();
                    beside[end].magnitude() <= T::PRECISION * scale
                })
                .unwrap_or(n - 1);
            if end == at {
                break;
            }
            if rotation == ROTATIONS {
                return false;
            }
            let two = T::number(2);
            let slope = (values[at + 1] - values[at]) / (two * beside[at]);
            let length = hypotenuse(slope, T::one());
            let shift = slope + if slope < T::ZERO { -length } else { length };
            let mut g = values[end] - values[at] + beside[at] / shift;
            let (mut sine, mut cosine, mut p) = (T::one(), T::one(), T::ZERO);
            let mut is_split = false;
            for i in (at..end).rev() {
                let (f, b) = (sine * beside[i], cosine * beside[i]);
                let r = hypotenuse(f, g);
                beside[i + 1] = r;
                if r == T::ZERO {
                    values[i + 1] = values[i + 1] - p;
                    beside[end] = T::ZERO;
                    is_split = true;
                    break;
                }
                (sine, cosine) = (f / r, g / r);
                g = values[i + 1] - p;
                let r = (values[i] - g) * sine + two * cosine * b;
                p = sine * r;
                values[i + 1] = g + p;
                g = cosine * r - b;
                if !has_vectors {
                    continue;
                }
                let (first, second) = vectors[i * n..(i + 2) * n].split_at_mut(n);
                turn(first, second, cosine, sine);
            }
            if !is_split {
                values[at] = values[at] - p;
                beside[at] = g;
                beside[end] = T::ZERO;
            }
        }
    }
    true
}

/// √(x² + y²), without overflow.
fn hypotenuse<T: MatrixElement>(x: T, y: T) -> T {
    let (x, y) = (x.magnitude(), y.magnitude());
    let (large, small) = if x > y { (x, y) } else { (y, x) };
    if large == T::ZERO {
        return T::ZERO;
    }
    let ratio = small / large;
    large * (T::one() + ratio * ratio).square_root()
}

/// Rotates two rows into each other.
pub(super) fn turn<T: MatrixElement>(x: &mut [T], y: &mut [T], cosine: T, sine: T) {
    for (x, y) in x.iter_mut().zip(y) {
        (*x, *y) = (cosine * *x - sine * *y, sine * *x + cosine * *y);
    }
}

/// Sorts values, and the rows of matrices with them.
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
            for rows in &mut matrices {
                let (before, after) = rows.split_at_mut(first * n);
                before[at * n..(at + 1) * n].swap_with_slice(&mut after[..n]);
            }
        }
    }
}
