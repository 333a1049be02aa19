//! Linear algebra on sparse matrices, by dense ones.

use super::matrix::{Rows, cholesky, solution, symmetric};
use super::scalar::rounded;
use super::{Cell, Plain, Watch};
use deltaray::operation::{SparseKind, SparseOperation};
use deltaray::shape::{Shape, Type};
use std::rc::Rc;

/// An operation on the matrices whose entries the operands have.
pub(super) fn apply(op: &SparseOperation, args: &[Rc<Plain>], watch: &mut Watch) -> Plain {
    let (batch, n) = (args[0].ty.shape.len() - 1, op.elimination.extent());
    let dtype = args[0].ty.dtype;
    let places: Vec<[usize; 2]> = op.elimination.positions().collect();
    let identity: Rows = (0..n).map(|row| (0..n).map(|column| f64::from(row == column)).collect()).collect();
    let columns = if op.kind == SparseKind::Solve { args[2].ty.shape[batch + 1] } else { 1 };
    let own: Vec<usize> = match op.kind {
        SparseKind::Factor => vec![op.elimination.factor_entries()],
        SparseKind::Solve => vec![n, columns],
        SparseKind::LogDeterminant => vec![],
        _ => vec![places.len()],
    };
    let mut numbers: Vec<f64> = Vec::new();
    for number in 0..args[0].ty.shape[..batch].iter().product() {
        let dense = |plain: &Plain| -> Rows {
            let mut rows = vec![vec![0.0; n]; n];
            let cells = &plain.cells[number * places.len()..];
            places.iter().zip(cells).for_each(|(&[row, column], cell)| rows[row][column] = cell.float());
            symmetric(&rows)
        };
        let a = dense(&args[0]);
        let factor = cholesky(&a, watch);
        let is_definite = factor.iter().flatten().all(|x| !x.is_nan());
        let found: Vec<f64> = match op.kind {
            // Nothing is computed with the elements of a factor.
            SparseKind::Factor => vec![0.0; op.elimination.factor_entries()],
            SparseKind::Solve => {
                let side = |row: usize, column: usize| args[2].cells[(number * n + row) * columns + column].float();
                let side: Rows = (0..n).map(|row| (0..columns).map(|column| side(row, column)).collect()).collect();
                solution(&a, &side).concat()
            }
            SparseKind::LogDeterminant => vec![(0..n).map(|row| 2.0 * factor[row][row].ln()).sum()],
            _ => {
                let directions: Vec<Rows> = args[2..].iter().map(|plain| dense(plain)).collect();
                let moved = moved(&solution(&a, &identity), &directions);
                places.iter().map(|&[row, column]| moved[row][column]).collect()
            }
        };
        numbers.extend(found.into_iter().map(|x| if is_definite { x } else { f64::NAN }));
    }
    let shape: Shape = args[0].ty.shape[..batch].iter().copied().chain(own).collect();
    let cells: Vec<Cell> = numbers.into_iter().map(|x| rounded(dtype, x, false)).collect();
    cells.iter().for_each(|cell| watch.see(cell.float()));
    Plain { ty: Type::new(dtype, &shape), cells }
}

fn product(a: &Rows, b: &Rows) -> Rows {
    let element = |row: &[f64], column: usize| row.iter().zip(b).map(|(x, other)| x * other[column]).sum();
    a.iter().map(|row| (0..b.len()).map(|column| element(row, column)).collect()).collect()
}

/// The derivative of an inverse P along directions, P or the negative sum of P E D over one direction E and the derivative D along
/// the others.
fn moved(inverse: &Rows, directions: &[Rows]) -> Rows {
    if directions.is_empty() {
        return inverse.clone();
    }
    let mut sum = vec![vec![0.0; inverse.len()]; inverse.len()];
    for (at, direction) in directions.iter().enumerate() {
        let others = [&directions[..at], &directions[at + 1..]].concat();
        let term = product(&product(inverse, direction), &moved(inverse, &others));
        sum.iter_mut().flatten().zip(term.iter().flatten()).for_each(|(sum, x)| *sum -= x);
    }
    sum
}
