//! Linear algebra by the formulas of textbooks.

// Formulas have subscripts.
#![allow(clippy::needless_range_loop)]

use super::scalar::rounded;
use super::{Cell, Plain, Watch};
use deltaray::algebra::MatrixOperation;
use deltaray::shape::{Shape, Type};
use std::rc::Rc;

type Rows = Vec<Vec<f64>>;

/// An operation on the matrices of the operands.
pub(super) fn apply(op: MatrixOperation, args: &[Rc<Plain>], watch: &mut Watch) -> Plain {
    let axes = args[0].ty.shape.len() - 2;
    let batch = Shape::from_slice(&args[0].ty.shape[..axes]);
    let count: usize = batch.iter().product();
    let extents = |plain: &Plain| [plain.ty.shape[axes], plain.ty.shape[axes + 1]];
    let dtype = args[0].ty.dtype;
    let mut results: Vec<Rows> = Vec::new();
    for number in 0..count {
        let matrix = |plain: &Plain| -> Rows {
            let [rows, columns] = extents(plain);
            let start = number * rows * columns;
            let cell = |at: usize| plain.cells[start + at].float();
            (0..rows).map(|row| (0..columns).map(|column| cell(row * columns + column)).collect()).collect()
        };
        let a = matrix(&args[0]);
        let [m, n] = extents(&args[0]);
        results.push(match op {
            MatrixOperation::Cholesky => cholesky(&a, watch),
            MatrixOperation::Lu => lu(a, n, watch),
            MatrixOperation::Qr => qr(a, [m, n], m.min(n), watch),
            MatrixOperation::FullQr => qr(a, [m, n], m, watch),
            MatrixOperation::Solve(triangle) => {
                let at = |row: usize, column: usize| match triangle.is_transposed {
                    true => a[column][row],
                    false => a[row][column],
                };
                let is_lower = triangle.is_lower != triangle.is_transposed;
                let mut x = matrix(&args[1]);
                for step in 0..n {
                    let row = if is_lower { step } else { n - 1 - step };
                    let known = if is_lower { 0..row } else { row + 1..n };
                    for column in 0..extents(&args[1])[1] {
                        let sum: f64 = known.clone().map(|other| at(row, other) * x[other][column]).sum();
                        let diagonal = if triangle.has_unit_diagonal { 1.0 } else { at(row, row) };
                        x[row][column] = (x[row][column] - sum) / diagonal;
                    }
                }
                x
            }
            other => panic!("the reference lacks {other:?}"),
        });
    }
    let shapes: Vec<[usize; 2]> = args.iter().map(|plain| extents(plain)).collect();
    let [rows, columns] = match op {
        MatrixOperation::Solve(_) => shapes[1],
        MatrixOperation::Cholesky => shapes[0],
        MatrixOperation::Lu => [shapes[0][0], shapes[0][1] + 1],
        MatrixOperation::Qr => [shapes[0][0] + shapes[0][1], shapes[0][0].min(shapes[0][1])],
        _ => [shapes[0][0] + shapes[0][1], shapes[0][0]],
    };
    let shape: Shape = batch.iter().copied().chain([rows, columns]).collect();
    // Zeros that no factor has numbers in place of, and the numbers of rows.
    let is_exact = |row: usize, column: usize| match op {
        MatrixOperation::Cholesky => column > row,
        MatrixOperation::Lu => column + 1 == columns,
        MatrixOperation::Qr | MatrixOperation::FullQr => row >= shapes[0][0] && column > row - shapes[0][0],
        _ => false,
    };
    let places = (0..count * rows * columns).map(|at| (at / columns % rows, at % columns));
    let numbers = results.into_iter().flatten().flatten();
    let cells: Vec<Cell> =
        numbers.zip(places).map(|(x, (row, column))| rounded(dtype, x, is_exact(row, column))).collect();
    cells.iter().for_each(|cell| watch.see(cell.float()));
    assert_eq!(cells.len(), deltaray::shape::size(&shape));
    Plain { ty: Type { dtype, shape }, cells }
}

fn cholesky(a: &Rows, watch: &mut Watch) -> Rows {
    let n = a.len();
    let mut l = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| l[i][k] * l[j][k]).sum();
            let rest = (a[i][j] + a[j][i]) / 2.0 - sum;
            if i > j {
                l[i][j] = rest / l[j][j];
                continue;
            }
            watch.jump(rest, false);
            if !(rest > 0.0 && rest.is_finite()) {
                return vec![vec![f64::NAN; n]; n];
            }
            l[i][i] = rest.sqrt();
        }
    }
    l
}

fn lu(mut a: Rows, n: usize, watch: &mut Watch) -> Rows {
    let m = a.len();
    let mut order: Vec<usize> = (0..m).collect();
    for k in 0..m.min(n) {
        let mut pivot = k;
        for row in k + 1..m {
            watch.jump(a[row][k].abs() - a[pivot][k].abs(), false);
            if a[row][k].abs() > a[pivot][k].abs() {
                pivot = row;
            }
        }
        watch.decide(pivot as i64);
        watch.jump(a[pivot][k], false);
        a.swap(k, pivot);
        order.swap(k, pivot);
        for row in k + 1..m {
            if a[k][k] == 0.0 {
                continue;
            }
            let factor = a[row][k] / a[k][k];
            a[row][k] = factor;
            for column in k + 1..n {
                a[row][column] -= factor * a[k][column];
            }
        }
    }
    a.into_iter().zip(order).map(|(row, number)| row.into_iter().chain([number as f64]).collect()).collect()
}

/// With whole matrices I − 2 v vᵀ / vᵀ v.
fn qr(a: Rows, [m, n]: [usize; 2], k: usize, watch: &mut Watch) -> Rows {
    let product = |left: &Rows, right: &Rows, columns: usize| -> Rows {
        let entry = |row: &Vec<f64>, column: usize| row.iter().zip(right).map(|(x, other)| x * other[column]).sum();
        left.iter().map(|row| (0..columns).map(|column| entry(row, column)).collect()).collect()
    };
    let identity = |extent: usize| -> Rows {
        (0..extent).map(|row| (0..extent).map(|column| f64::from(row == column)).collect()).collect()
    };
    let (mut q, mut r) = (identity(m), a);
    for column in 0..m.min(n) {
        // A column that is already 0 below the diagonal keeps its sign; one that is nearly so does not.
        let below = (column + 1..m).map(|row| r[row][column].abs()).fold(0.0, f64::max);
        if column + 1 < m {
            watch.jump(below, false);
        }
        watch.decide(i64::from(below == 0.0));
        if below == 0.0 {
            continue;
        }
        let mut v: Vec<f64> = (0..m).map(|row| if row < column { 0.0 } else { r[row][column] }).collect();
        let norm = v.iter().map(|x| x * x).sum::<f64>().sqrt();
        watch.jump(v[column], false);
        watch.decide(i64::from(v[column] > 0.0));
        v[column] += if v[column] > 0.0 { norm } else { -norm };
        let square: f64 = v.iter().map(|x| x * x).sum();
        let mut reflection = identity(m);
        for (row, x) in reflection.iter_mut().zip(&v) {
            row.iter_mut().zip(&v).for_each(|(entry, y)| *entry -= 2.0 * x * y / square);
        }
        r = product(&reflection, &r, n);
        (column + 1..m).for_each(|row| r[row][column] = 0.0);
        q = product(&q, &reflection, m);
    }
    let above = q.into_iter().map(|row| row[..k].to_vec());
    let below = (0..n).map(|column| (0..k).map(|row| r[row][column]).collect());
    above.chain(below).collect()
}
