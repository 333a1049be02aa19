//! Factorisations of sparse positive definite matrices, and what is computed with them.
//!
//! All of it is computed on *jets*, numbers of 2ᵏ parts, so that derivatives along k directions need no code of their own: part s is
//! the derivative along the directions whose bits are set in s. A jet of one part is a number.

use crate::array::matrix::{MatrixElement, elements};
use crate::array::memory::{self, OutOfMemory};
use crate::array::{Array, Data};
use crate::operation::{Elimination, SparseKind, SparseOperation};
use crate::shape::{Shape, size};
use smallvec::SmallVec;

type Jet<T, const N: usize> = [T; N];

/// The most directions that the inverse has derivatives along.
pub(crate) const DIRECTIONS: usize = 4;

/// A sum and a product.
#[inline(always)]
fn plus<T: MatrixElement, const N: usize>(mut sum: Jet<T, N>, a: Jet<T, N>, b: Jet<T, N>) -> Jet<T, N> {
    for set in 0..N {
        let mut part = set;
        loop {
            sum[set] = sum[set] + a[part] * b[set ^ part];
            if part == 0 {
                break;
            }
            part = (part - 1) & set;
        }
    }
    sum
}

#[inline(always)]
fn negative<T: MatrixElement, const N: usize>(a: Jet<T, N>) -> Jet<T, N> {
    a.map(|part| -part)
}

/// 1 over a number.
#[inline(always)]
fn reciprocal<T: MatrixElement, const N: usize>(a: Jet<T, N>) -> Jet<T, N> {
    let mut inverse = [T::ZERO; N];
    inverse[0] = T::one() / a[0];
    for set in 1..N {
        let mut sum = T::ZERO;
        let mut part = set;
        while part > 0 {
            sum = sum + a[part] * inverse[set ^ part];
            part = (part - 1) & set;
        }
        inverse[set] = -sum * inverse[0];
    }
    inverse
}

/// One operation on the matrices of arrays of one type.
pub(crate) fn apply(op: &SparseOperation, operands: &[Array]) -> Result<Array, OutOfMemory> {
    match &operands[0] {
        Array::F32(_) => apply_to::<f32>(op, operands),
        Array::F64(_) => apply_to::<f64>(op, operands),
        _ => unreachable!("matrices are of floats"),
    }
}

fn apply_to<T: MatrixElement>(op: &SparseOperation, operands: &[Array]) -> Result<Array, OutOfMemory> {
    let operands = operands.iter().map(elements).collect::<Result<Vec<Data<T>>, OutOfMemory>>()?;
    let (batch, _) = operands[0].shape().split_at(operands[0].shape().len() - 1);
    let own =
        |(position, operand): (usize, &Data<T>)| operand.shape()[operand.shape().len() - op.axes(position)..].to_vec();
    let extents: Vec<Vec<usize>> = operands.iter().enumerate().map(own).collect();
    let extents: Vec<&[usize]> = extents.iter().map(Vec::as_slice).collect();
    let result = op.result(&extents).expect("operands fit");
    let shape: Shape = batch.iter().chain(&result).copied().collect();
    let mut out: Vec<T> = memory::filled(&shape, T::ZERO)?;
    let mut scratch: Vec<T> = memory::filled(&[scratch(op)], T::ZERO)?;
    let slices: SmallVec<[&[T]; 3]> = operands.iter().map(|operand| operand.as_slice().unwrap_or(&[])).collect();
    run(op, size(batch), &slices, &mut out, &mut scratch);
    Ok(T::wrap(Data::from_vec(&shape, out)))
}

/// The factor of one matrix, or the row where it is not positive definite.
pub(crate) fn factor(elimination: &Elimination, values: &Array) -> Result<Result<Array, usize>, OutOfMemory> {
    match values {
        Array::F32(_) => factor_of::<f32>(elimination, values),
        Array::F64(_) => factor_of::<f64>(elimination, values),
        _ => unreachable!("matrices are of floats"),
    }
}

fn factor_of<T: MatrixElement>(elimination: &Elimination, values: &Array) -> Result<Result<Array, usize>, OutOfMemory> {
    let values: Data<T> = elements(values)?;
    let shape = [elimination.factor_entries()];
    let (mut factor, mut work) = (memory::filled(&shape, T::ZERO)?, memory::filled(&[elimination.extent()], T::ZERO)?);
    let factored = factor_into(elimination, values.as_slice().unwrap_or(&[]), &mut factor, &mut work);
    Ok(factored.map(|()| T::wrap(Data::from_vec(&shape, factor))))
}

/// Elements of scratch that an operation needs for one matrix.
pub(crate) fn scratch(op: &SparseOperation) -> usize {
    let (n, entries) = (op.elimination.extent(), op.elimination.factor_entries());
    match op.kind {
        SparseKind::Factor | SparseKind::Solve => n,
        SparseKind::LogDeterminant => 0,
        SparseKind::InverseEntries(0) => entries + n,
        SparseKind::InverseEntries(directions @ ..=DIRECTIONS) => (2 * entries + n) << directions,
        SparseKind::InverseEntries(_) => 0,
    }
}

/// Runs an operation on so many matrices, which lie one after the other.
pub(crate) fn run<T: MatrixElement>(
    op: &SparseOperation,
    count: usize,
    operands: &[&[T]],
    out: &mut [T],
    scratch: &mut [T],
) {
    for number in 0..count {
        let own = |elements: usize| number * (elements / count)..(number + 1) * (elements / count);
        let operands: SmallVec<[&[T]; 4]> = operands.iter().map(|operand| &operand[own(operand.len())]).collect();
        let own = own(out.len());
        run_one(op, &operands, &mut out[own], scratch);
    }
}

fn run_one<T: MatrixElement>(op: &SparseOperation, operands: &[&[T]], out: &mut [T], scratch: &mut [T]) {
    let elimination = &*op.elimination;
    match op.kind {
        SparseKind::Factor => {
            if factor_into(elimination, operands[0], out, scratch).is_err() {
                out.fill(T::NAN);
            }
        }
        SparseKind::Solve => solve_into(elimination, operands[1], operands[2], out, scratch),
        SparseKind::LogDeterminant => {
            let diagonal = elimination.starts[..elimination.extent()].iter().map(|&start| operands[1][start]);
            out[0] = diagonal.fold(T::ZERO, |sum, x| sum + x.logarithm());
        }
        SparseKind::InverseEntries(0) => {
            let (factor, _) = operands[1].as_chunks::<1>();
            inverse_into(elimination, factor, out, scratch);
        }
        SparseKind::InverseEntries(1) => derivative_into::<T, 2>(elimination, operands, out, scratch),
        SparseKind::InverseEntries(2) => derivative_into::<T, 4>(elimination, operands, out, scratch),
        SparseKind::InverseEntries(3) => derivative_into::<T, 8>(elimination, operands, out, scratch),
        SparseKind::InverseEntries(DIRECTIONS) => derivative_into::<T, 16>(elimination, operands, out, scratch),
        SparseKind::InverseEntries(_) => out.fill(T::NAN),
    }
}

/// Writes the factor.
///
/// # Errors
///
/// The row of the matrix where it is not positive definite.
pub(crate) fn factor_into<T: MatrixElement>(
    elimination: &Elimination,
    values: &[T],
    factor: &mut [T],
    scratch: &mut [T],
) -> Result<(), usize> {
    let (factor, _) = factor.as_chunks_mut::<1>();
    let (work, _) = scratch.as_chunks_mut::<1>();
    factor.fill([T::ZERO]);
    place(elimination, values, 0, factor);
    factorise(elimination, factor, work)
}

/// Adds the symmetric part of a matrix to one part of jets in the places of L.
fn place<T: MatrixElement, const N: usize>(
    elimination: &Elimination,
    values: &[T],
    part: usize,
    factor: &mut [Jet<T, N>],
) {
    let half = T::from_f64(0.5);
    for (entry, (&value, &at)) in values.iter().zip(&elimination.entries).enumerate() {
        let is_diagonal = elimination.transposed[entry] as usize == entry;
        let sum = &mut factor[at as usize][part];
        *sum = *sum + if is_diagonal { value } else { value * half };
    }
}

/// Factorises a matrix in the places of L: column by column, from which those on its left are taken that reach its row.
fn factorise<T: MatrixElement, const N: usize>(
    elimination: &Elimination,
    factor: &mut [Jet<T, N>],
    work: &mut [Jet<T, N>],
) -> Result<(), usize> {
    let Elimination { rows, row_starts, row_columns, places, starts, .. } = elimination;
    let n = elimination.extent();
    let work = &mut work[..n];
    for column in 0..n {
        let own = starts[column]..starts[column + 1];
        for (&row, &value) in rows[own.clone()].iter().zip(&factor[own.clone()]) {
            work[row as usize] = value;
        }
        let left = row_starts[column]..row_starts[column + 1];
        for (&other, &from) in row_columns[left.clone()].iter().zip(&places[left]) {
            let (from, start, end) = (from as usize, starts[other as usize], starts[other as usize + 1]);
            let scale = negative(plus([T::ZERO; N], factor[from], factor[start]));
            for (&row, &value) in rows[from..end].iter().zip(&factor[from..end]) {
                let sum = &mut work[row as usize];
                *sum = plus(*sum, value, scale);
            }
        }
        let pivot = work[column];
        if !(pivot[0] > T::ZERO && pivot[0] < T::one() / T::ZERO) {
            return Err(elimination.order[column] as usize);
        }
        let inverse = reciprocal(pivot);
        factor[own.start] = pivot;
        for at in own.start + 1..own.end {
            factor[at] = plus([T::ZERO; N], work[rows[at] as usize], inverse);
        }
    }
    Ok(())
}

/// Writes the solution for each right side.
fn solve_into<T: MatrixElement>(elimination: &Elimination, factor: &[T], b: &[T], out: &mut [T], scratch: &mut [T]) {
    let n = elimination.extent();
    let columns = b.len().checked_div(n).unwrap_or(0);
    let x = &mut scratch[..n];
    for side in 0..columns {
        for (x, &row) in x.iter_mut().zip(&elimination.order) {
            *x = b[row as usize * columns + side];
        }
        for column in 0..n {
            let own = elimination.column(column);
            let value = x[column];
            for at in own.start + 1..own.end {
                let below = &mut x[elimination.rows[at] as usize];
                *below = *below - factor[at] * value;
            }
        }
        for column in (0..n).rev() {
            let own = elimination.column(column);
            let mut sum = x[column] / factor[own.start];
            for at in own.start + 1..own.end {
                sum = sum - factor[at] * x[elimination.rows[at] as usize];
            }
            x[column] = sum;
        }
        for (&x, &row) in x.iter().zip(&elimination.order) {
            out[row as usize * columns + side] = x;
        }
    }
}

/// Writes the entries of the inverse.
fn inverse_into<T: MatrixElement>(elimination: &Elimination, factor: &[Jet<T, 1>], out: &mut [T], scratch: &mut [T]) {
    let (inverse, work) = scratch.as_chunks_mut::<1>().0.split_at_mut(factor.len());
    invert(elimination, factor, inverse, work);
    for (out, &at) in out.iter_mut().zip(&elimination.entries) {
        *out = inverse[at as usize][0];
    }
}

/// Writes the derivative of the entries of the inverse along all directions.
fn derivative_into<T: MatrixElement, const N: usize>(
    elimination: &Elimination,
    operands: &[&[T]],
    out: &mut [T],
    scratch: &mut [T],
) {
    let entries = elimination.factor_entries();
    let (factor, rest) = scratch.as_chunks_mut::<N>().0.split_at_mut(entries);
    let (inverse, work) = rest.split_at_mut(entries);
    factor.fill([T::ZERO; N]);
    place(elimination, operands[0], 0, factor);
    for (direction, values) in operands[2..].iter().enumerate() {
        place(elimination, values, 1 << direction, factor);
    }
    if factorise(elimination, factor, work).is_err() {
        out.fill(T::NAN);
        return;
    }
    invert(elimination, factor, inverse, work);
    for (out, &at) in out.iter_mut().zip(&elimination.entries) {
        *out = inverse[at as usize][N - 1];
    }
}

/// The elements Z of the inverse in the places of L, from the last column to the first (Takahashi, 1973): for i > j, Zᵢⱼ is the sum of
/// −Lₖⱼ Zₖᵢ over the entries k of column j below its diagonal. Each column, when it is done, is added to those on its left that reach
/// its row, so that this takes twice the work of the factorisation.
fn invert<T: MatrixElement, const N: usize>(
    elimination: &Elimination,
    factor: &[Jet<T, N>],
    inverse: &mut [Jet<T, N>],
    work: &mut [Jet<T, N>],
) {
    let Elimination { rows, row_starts, row_columns, places, starts, .. } = elimination;
    let n = elimination.extent();
    let work = &mut work[..n];
    inverse.fill([T::ZERO; N]);
    for column in (0..n).rev() {
        let own = starts[column]..starts[column + 1];
        let mut diagonal = reciprocal(factor[own.start]);
        for at in own.start + 1..own.end {
            let sum = inverse[at];
            diagonal = plus(diagonal, factor[at], sum);
            inverse[at] = negative(sum);
            work[rows[at] as usize] = inverse[at];
        }
        inverse[own.start] = diagonal;
        work[column] = diagonal;
        let left = row_starts[column]..row_starts[column + 1];
        for (&other, &from) in row_columns[left.clone()].iter().zip(&places[left]) {
            let (from, end) = (from as usize, starts[other as usize + 1]);
            let scale = factor[from];
            let mut sum = plus(inverse[from], scale, diagonal);
            let below = rows[from + 1..end].iter().zip(&factor[from + 1..end]).zip(&mut inverse[from + 1..end]);
            for ((&row, &value), inverse) in below {
                let element = work[row as usize];
                *inverse = plus(*inverse, scale, element);
                sum = plus(sum, value, element);
            }
            inverse[from] = sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn each_derivative_of_the_inverse_is_the_slope_of_the_one_before() {
        // An arrow with another entry.
        let offsets = vec![0, 4, 7, 10, 12];
        let columns = vec![0, 1, 2, 3, 0, 1, 2, 0, 1, 2, 0, 3];
        let elimination = Arc::new(Elimination::new(offsets, columns, usize::MAX).expect("a symmetric pattern"));
        let values = [9.0, 1.0, -2.0, 0.5, 1.5, 5.0, 1.0, 2.0, -1.0, 6.0, 0.25, 3.0];
        let direction =
            |number: usize| -> Vec<f64> { (0..12).map(|at| ((at * number + number) as f64).sin()).collect() };
        let run = |kind: SparseKind, operands: &[&[f64]], count: usize| -> Vec<f64> {
            let op = SparseOperation { kind, elimination: elimination.clone() };
            let (mut out, mut work) = (vec![0.0; count], vec![0.0; scratch(&op)]);
            super::run(&op, 1, operands, &mut out, &mut work);
            out
        };
        let entries = |values: &[f64], directions: &[Vec<f64>]| {
            let factor = run(SparseKind::Factor, &[values], elimination.factor_entries());
            let operands: Vec<&[f64]> =
                [values, &factor].into_iter().chain(directions.iter().map(Vec::as_slice)).collect();
            run(SparseKind::InverseEntries(directions.len()), &operands, 12)
        };
        for count in 1..=DIRECTIONS {
            let directions: Vec<Vec<f64>> = (1..=count).map(direction).collect();
            let (last, others) = directions.split_last().expect("a direction");
            let moved =
                |step: f64| -> Vec<f64> { values.iter().zip(last).map(|(x, along)| x + step * along).collect() };
            let (after, before) = (entries(&moved(1e-5), others), entries(&moved(-1e-5), others));
            for ((found, after), before) in entries(&values, &directions).iter().zip(after).zip(before) {
                let slope = (after - before) / 2e-5;
                assert!(
                    (found - slope).abs() <= 1e-8 * (1.0 + slope.abs()),
                    "{count} directions: {found}, not {slope}"
                );
            }
        }
        let too_many: Vec<Vec<f64>> = (1..=DIRECTIONS + 1).map(direction).collect();
        assert!(entries(&values, &too_many).iter().all(|x| x.is_nan()));
    }
}
