//! Small matrices, several at once: each element is a vector of those of as many matrices, so that the compiler's vectors go across
//! matrices.

use super::{MatrixElement, SizedOperation};
use crate::operation::{MatrixOperation, Triangle};

/// Matrices at once.
const LANES: usize = 8;
/// Matrices of more rows, or columns, are done one by one.
const LARGEST: usize = 16;

type Lanes<T> = [T; LANES];

/// A few matrices of more rows are done one by one too.
const SMALL: usize = 8;

/// Whether several of so many matrices are done at once.
pub(super) fn are_lanes(op: MatrixOperation, operands: &[[usize; 2]], count: usize) -> bool {
    let is_worth_it =
        count >= LANES / 2 || operands.iter().all(|extents| extents.iter().all(|&extent| extent <= SMALL));
    let is_small = |extents: &[usize; 2]| extents.iter().all(|extent| (1..=LARGEST).contains(extent));
    let has_lanes = matches!(
        op,
        MatrixOperation::Cholesky
            | MatrixOperation::Solve(_)
            | MatrixOperation::SolvePositive
            | MatrixOperation::InversePositive
            | MatrixOperation::LogDeterminant
    );
    has_lanes && is_worth_it && operands.iter().all(is_small)
}

/// Elements of scratch.
pub(super) fn scratch(sized: &SizedOperation) -> usize {
    let [n, _] = sized.operands[0];
    LANES * (n * n + sized.result[0] * sized.result[1])
}

/// Runs an operation on so many matrices, which lie one after the other. The last ones are done together with copies of the last.
#[inline(always)]
pub(super) fn run<T: MatrixElement>(
    sized: &SizedOperation,
    count: usize,
    operands: &[&[T]],
    out: &mut [T],
    scratch: &mut [T],
) {
    let [n, _] = sized.operands[0];
    let each = sized.result[0] * sized.result[1];
    let (scratch, _) = scratch.as_chunks_mut::<LANES>();
    let (a, x) = scratch.split_at_mut(n * n);
    let x = &mut x[..each];
    for first in (0..count).step_by(LANES) {
        let numbers: [usize; LANES] = std::array::from_fn(|lane| (first + lane).min(count - 1));
        match sized.op {
            MatrixOperation::Cholesky => {
                gather(operands[0], numbers, x);
                cholesky(n, x);
            }
            MatrixOperation::Solve(triangle) => {
                gather(operands[0], numbers, a);
                gather(operands[1], numbers, x);
                solve(triangle, n, a, x);
            }
            MatrixOperation::SolvePositive => {
                gather(operands[1], numbers, a);
                gather(operands[2], numbers, x);
                solve_positive(n, a, x);
            }
            MatrixOperation::InversePositive => {
                gather(operands[1], numbers, a);
                x.fill([T::ZERO; LANES]);
                (0..n).for_each(|at| x[at * n + at] = [T::one(); LANES]);
                solve_positive(n, a, x);
            }
            _ => {
                gather(operands[1], numbers, a);
                let mut sum = [T::ZERO; LANES];
                for at in 0..n {
                    sum = each_lane(sum, a[at * n + at], |sum, x| sum + x.logarithm());
                }
                x[0] = each_lane(sum, sum, |sum, same| sum + same);
            }
        }
        for (lane, out) in out[first * each..].chunks_exact_mut(each).take(LANES).enumerate() {
            out.iter_mut().zip(&*x).for_each(|(out, x)| *out = x[lane]);
        }
    }
}

#[inline(always)]
fn each_lane<T: MatrixElement>(x: Lanes<T>, y: Lanes<T>, f: impl Fn(T, T) -> T) -> Lanes<T> {
    let mut result = x;
    for lane in 0..LANES {
        result[lane] = f(x[lane], y[lane]);
    }
    result
}

/// x − y z
#[inline(always)]
fn subtract<T: MatrixElement>(x: Lanes<T>, y: Lanes<T>, z: Lanes<T>) -> Lanes<T> {
    let mut result = x;
    for lane in 0..LANES {
        result[lane] = x[lane] - y[lane] * z[lane];
    }
    result
}

/// The elements of matrices of these numbers, side by side.
#[inline(always)]
fn gather<T: MatrixElement>(from: &[T], numbers: [usize; LANES], to: &mut [Lanes<T>]) {
    let each = to.len();
    for (lane, number) in numbers.into_iter().enumerate() {
        let from = &from[number * each..(number + 1) * each];
        to.iter_mut().zip(from).for_each(|(to, &x)| to[lane] = x);
    }
}

#[inline(always)]
fn cholesky<T: MatrixElement>(n: usize, a: &mut [Lanes<T>]) {
    let half = [T::one() / T::number(2); LANES];
    let mut is_definite = [true; LANES];
    for column in 0..n {
        let mut inverse = [T::ZERO; LANES];
        for row in column..n {
            let (own, turned) = (a[row * n + column], a[column * n + row]);
            let mut sum = own;
            if row > column {
                sum =
                    each_lane(each_lane(own, half, |x, y| x * y), each_lane(turned, half, |x, y| x * y), |x, y| x + y);
            }
            for at in 0..column {
                sum = subtract(sum, a[row * n + at], a[column * n + at]);
            }
            if row > column {
                a[row * n + column] = each_lane(sum, inverse, |x, y| x * y);
                continue;
            }
            for lane in 0..LANES {
                is_definite[lane] &= sum[lane] > T::ZERO && sum[lane] < T::HIGHEST;
            }
            let root = each_lane(sum, sum, |x, _| x.square_root());
            inverse = each_lane(root, root, |x, _| T::one() / x);
            a[row * n + column] = root;
        }
    }
    for row in 0..n {
        for column in 0..n {
            let x = &mut a[row * n + column];
            for lane in 0..LANES {
                let kept = if column > row { T::ZERO } else { x[lane] };
                x[lane] = if is_definite[lane] { kept } else { T::NAN };
            }
        }
    }
}

#[inline(always)]
fn solve_positive<T: MatrixElement>(n: usize, lower: &[Lanes<T>], x: &mut [Lanes<T>]) {
    solve(Triangle::LOWER, n, lower, x);
    solve(Triangle::LOWER.transposed(), n, lower, x);
}

#[inline(always)]
fn solve<T: MatrixElement>(triangle: Triangle, n: usize, a: &[Lanes<T>], x: &mut [Lanes<T>]) {
    let columns = x.len() / n;
    let (across, down) = if triangle.is_transposed { (1, n) } else { (n, 1) };
    let is_forwards = triangle.is_lower != triangle.is_transposed;
    for step in 0..n {
        let row = if is_forwards { step } else { n - 1 - step };
        for number in 0..step {
            let known = if is_forwards { number } else { n - 1 - number };
            let factor = a[row * across + known * down];
            for column in 0..columns {
                x[row * columns + column] = subtract(x[row * columns + column], factor, x[known * columns + column]);
            }
        }
        if !triangle.has_unit_diagonal {
            let diagonal = a[row * across + row * down];
            for column in 0..columns {
                x[row * columns + column] = each_lane(x[row * columns + column], diagonal, |x, y| x / y);
            }
        }
    }
}
