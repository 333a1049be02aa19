//! Linear algebra by the formulas of textbooks.

// Formulas have subscripts.
#![allow(clippy::needless_range_loop)]

use super::scalar::rounded;
use super::{Cell, Plain, Watch, spectral};
use deltaray::algebra::MatrixOperation;
use deltaray::shape::{DType, Shape, Type};
use std::rc::Rc;

pub(super) type Rows = Vec<Vec<f64>>;

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
            MatrixOperation::CholeskyForward => cholesky_forward(&lower(&a), &symmetric(&matrix(&args[1]))),
            MatrixOperation::CholeskyAdjoint => cholesky_adjoint(&lower(&a), &lower(&matrix(&args[1]))),
            MatrixOperation::Lu => lu(a, n, watch),
            MatrixOperation::LuForward => lu_forward(&a, &matrix(&args[1])),
            MatrixOperation::LuAdjoint => lu_adjoint(&a, &matrix(&args[1])),
            MatrixOperation::Qr => qr(a, [m, n], m.min(n), watch),
            MatrixOperation::QrTriangle => qr(a, [m, n], m.min(n), watch).split_off(m),
            MatrixOperation::FullQr => qr(a, [m, n], m, watch),
            MatrixOperation::Eigh => eigh(&a, watch),
            MatrixOperation::EighValues => vec![eigh(&a, watch).pop().expect("a row of values")],
            MatrixOperation::Svd => svd(&a, [m, n], watch),
            MatrixOperation::SvdValues => vec![svd(&a, [m, n], watch).swap_remove(m)],
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
            MatrixOperation::InverseDifferences => inverses(&a[0], |x, y| x - y, dtype, watch),
            MatrixOperation::InverseSums => inverses(&a[0], |x, y| x + y, dtype, watch),
            MatrixOperation::Unique => a,
            MatrixOperation::PseudoInverse => {
                let all = svd(&a, [m, n], watch);
                let precision = if dtype == DType::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON };
                let bound = all[m].first().map_or(0.0, |most| most * precision * m.max(n) as f64);
                let inverse = |x: f64| if x <= bound { 0.0 } else { 1.0 / x };
                let entry = |row: usize, column: usize| -> f64 {
                    (0..m.min(n)).map(|at| all[m + 1 + row][at] * inverse(all[m][at]) * all[column][at]).sum()
                };
                (0..n).map(|row| (0..m).map(|column| entry(row, column)).collect()).collect()
            }
            MatrixOperation::SolveGeneral => solution(&a, &matrix(&args[2])),
            MatrixOperation::SolveGeneralTransposed => {
                let turned = (0..n).map(|row| (0..n).map(|column| a[column][row]).collect()).collect();
                solution(&turned, &matrix(&args[2]))
            }
            MatrixOperation::SolveBanded | MatrixOperation::SolveBandedTransposed => {
                let mut dense = vec![vec![0.0; n]; n];
                for (band, elements) in a.iter().chain(&matrix(&args[1])).enumerate() {
                    for row in 0..n {
                        let Some(column) = (row + band).checked_sub(m).filter(|&column| column < n) else { continue };
                        let is_turned = op == MatrixOperation::SolveBandedTransposed;
                        let [row, at] = if is_turned { [column, row] } else { [row, column] };
                        dense[row][at] = elements[if is_turned { at } else { row }];
                    }
                }
                solution(&dense, &matrix(&args[2]))
            }
            MatrixOperation::SolvePositive => solution(&symmetric(&a), &matrix(&args[2])),
            MatrixOperation::InversePositive => solution(
                &symmetric(&a),
                &(0..n).map(|row| (0..n).map(|column| f64::from(row == column)).collect()).collect(),
            ),
            MatrixOperation::LogDeterminant => {
                let l = matrix(&args[1]);
                vec![vec![(0..n).map(|at| 2.0 * l[at][at].ln()).sum()]]
            }
            MatrixOperation::Spectral { function, .. } => {
                let moved: Vec<Rows> = args[2..].iter().map(|plain| matrix(plain)).collect();
                spectral::function(function, &a, &moved, watch)
            }
            MatrixOperation::Cofactors { .. } => {
                let moved: Vec<Rows> = args[2..].iter().map(|plain| matrix(plain)).collect();
                spectral::cofactors(&a, &moved)
            }
            MatrixOperation::Determinant => vec![vec![spectral::determinant(&a)]],
            other => panic!("the reference lacks {other:?}"),
        });
    }
    let shapes: Vec<[usize; 2]> = args.iter().map(|plain| extents(plain)).collect();
    let [rows, columns] = match op {
        MatrixOperation::Solve(_) => shapes[1],
        MatrixOperation::Cholesky | MatrixOperation::CholeskyForward | MatrixOperation::CholeskyAdjoint => shapes[0],
        MatrixOperation::Lu => [shapes[0][0], shapes[0][1] + 1],
        MatrixOperation::LuForward | MatrixOperation::LuAdjoint => shapes[1],
        MatrixOperation::Qr => [shapes[0][0] + shapes[0][1], shapes[0][0].min(shapes[0][1])],
        MatrixOperation::QrTriangle => [shapes[0][1], shapes[0][0].min(shapes[0][1])],
        MatrixOperation::Eigh => [shapes[0][0] + 1, shapes[0][0]],
        MatrixOperation::EighValues => [1, shapes[0][0]],
        MatrixOperation::Svd => [shapes[0][0] + 1 + shapes[0][1], shapes[0][0].min(shapes[0][1])],
        MatrixOperation::SvdValues => [1, shapes[0][0].min(shapes[0][1])],
        MatrixOperation::InverseDifferences | MatrixOperation::InverseSums => [shapes[0][1], shapes[0][1]],
        MatrixOperation::Unique | MatrixOperation::InversePositive => shapes[0],
        MatrixOperation::SolveGeneral
        | MatrixOperation::SolveGeneralTransposed
        | MatrixOperation::SolvePositive
        | MatrixOperation::SolveBanded
        | MatrixOperation::SolveBandedTransposed => shapes[2],
        MatrixOperation::Spectral { .. } | MatrixOperation::Cofactors { .. } => shapes[0],
        MatrixOperation::LogDeterminant | MatrixOperation::Determinant => [1, 1],
        MatrixOperation::PseudoInverse => [shapes[0][1], shapes[0][0]],
        _ => [shapes[0][0] + shapes[0][1], shapes[0][0]],
    };
    let shape: Shape = batch.iter().copied().chain([rows, columns]).collect();
    // Zeros that no factor has numbers in place of, and the numbers of rows.
    let is_exact = |row: usize, column: usize| match op {
        MatrixOperation::Cholesky | MatrixOperation::CholeskyForward => column > row,
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

pub(super) fn cholesky(a: &Rows, watch: &mut Watch) -> Rows {
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

/// L Φ(L⁻¹ S L⁻ᵀ), where Φ keeps what is below the diagonal and half of it.
fn cholesky_forward(l: &Rows, s: &Rows) -> Rows {
    let inner = solution(l, &turned(&solution(l, s)));
    product(l, &kept(&inner))
}

/// The symmetric part of L⁻ᵀ Φ(Lᵀ Z) L⁻¹.
fn cholesky_adjoint(l: &Rows, z: &Rows) -> Rows {
    let up = turned(l);
    let left = solution(&up, &kept(&product(&up, z)));
    symmetric(&turned(&solution(&up, &turned(&left))))
}

fn lower(a: &Rows) -> Rows {
    let kept = |row: usize| (0..a.len()).map(move |column| if column > row { 0.0 } else { a[row][column] });
    (0..a.len()).map(|row| kept(row).collect()).collect()
}

fn kept(a: &Rows) -> Rows {
    let mut kept = lower(a);
    (0..a.len()).for_each(|row| kept[row][row] /= 2.0);
    kept
}

fn turned(a: &Rows) -> Rows {
    (0..a.len()).map(|row| a.iter().map(|other| other[row]).collect()).collect()
}

fn product(a: &Rows, b: &Rows) -> Rows {
    let entry = |row: &Vec<f64>, column: usize| row.iter().zip(b).map(|(x, other)| x * other[column]).sum();
    a.iter().map(|row| (0..a.len()).map(|column| entry(row, column)).collect()).collect()
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

/// Both factors, extended by the identity to square ones of one size, and the order of rows.
fn lu_parts(packed: &Rows) -> (Rows, Rows, Vec<usize>) {
    let (m, n) = (packed.len(), packed.first().map_or(0, |row| row.len() - 1));
    let entry = |row: usize, column: usize, is_lower: bool| match (row > column) == is_lower {
        true if row < m && column < n => packed[row][column],
        _ => f64::from(row == column),
    };
    let factor = |is_lower: bool| -> Rows {
        let extent = m.max(n);
        (0..extent).map(|row| (0..extent).map(|column| entry(row, column, is_lower)).collect()).collect()
    };
    (factor(true), factor(false), packed.iter().map(|row| row[n] as usize).collect())
}

/// The first rows and columns of a matrix, with zeros where it has fewer.
fn extended(a: &Rows, [rows, columns]: [usize; 2]) -> Rows {
    let entry = |row: usize, column: usize| a.get(row).and_then(|row| row.get(column)).map_or(0.0, |&x| x);
    (0..rows).map(|row| (0..columns).map(|column| entry(row, column)).collect()).collect()
}

/// The strictly lower triangle of the first matrix, and the rest of the second.
fn joined(below: &Rows, rest: &Rows) -> Rows {
    let entry = |row: usize, column: usize| if column < row { below[row][column] } else { rest[row][column] };
    (0..below.len()).map(|row| (0..below.len()).map(|column| entry(row, column)).collect()).collect()
}

/// L X₋ and X₊ U, of X = L⁻¹ P S U⁻¹.
fn lu_forward(packed: &Rows, s: &Rows) -> Rows {
    let (l, u, order) = lu_parts(packed);
    let (extent, columns) = (l.len(), s.first().map_or(0, Vec::len));
    let ordered = extended(&order.iter().map(|&row| s[row].clone()).collect(), [extent, extent]);
    let x = turned(&solution(&turned(&u), &turned(&solution(&l, &ordered))));
    let zeros = extended(&Rows::new(), [extent, extent]);
    let moved = joined(&product(&l, &joined(&x, &zeros)), &product(&joined(&zeros, &x), &u));
    extended(&moved, [s.len(), columns])
}

/// Pᵀ L⁻ᵀ ((Lᵀ Z₋)₋ + (Z₊ Uᵀ)₊) U⁻ᵀ.
fn lu_adjoint(packed: &Rows, z: &Rows) -> Rows {
    let (l, u, order) = lu_parts(packed);
    let (extent, columns) = (l.len(), z.first().map_or(0, Vec::len));
    let z = extended(z, [extent, extent]);
    let zeros = extended(&Rows::new(), [extent, extent]);
    let inner = joined(&product(&turned(&l), &joined(&z, &zeros)), &product(&joined(&zeros, &z), &turned(&u)));
    let w = turned(&solution(&u, &turned(&solution(&turned(&l), &inner))));
    let mut y = vec![vec![0.0; columns]; order.len()];
    order.iter().zip(w).for_each(|(&row, own)| y[row] = own[..columns].to_vec());
    y
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

/// Rotations of the largest element beside the diagonal (Jacobi): columns of vectors, above a row of values, which ascend.
pub(super) fn eigh(a: &Rows, watch: &mut Watch) -> Rows {
    let n = a.len();
    let mut a: Rows = (0..n).map(|i| (0..n).map(|j| (a[i][j] + a[j][i]) / 2.0).collect()).collect();
    let mut v: Rows = (0..n).map(|row| (0..n).map(|column| f64::from(row == column)).collect()).collect();
    if a.iter().flatten().any(|x| !x.is_finite()) {
        return vec![vec![f64::NAN; n]; n + 1];
    }
    let scale = a.iter().flatten().fold(0.0, |most: f64, x| most.max(x.abs()));
    loop {
        let pairs = (0..n).flat_map(|p| (p + 1..n).map(move |q| (p, q)));
        let Some((p, q)) = pairs.max_by(|x, y| a[x.0][x.1].abs().total_cmp(&a[y.0][y.1].abs())) else { break };
        if a[p][q].abs() <= 1e-18 * scale {
            break;
        }
        let angle = 0.5 * (2.0 * a[p][q]).atan2(a[q][q] - a[p][p]);
        let (sine, cosine) = angle.sin_cos();
        for rows in [&mut a, &mut v] {
            for row in rows.iter_mut() {
                (row[p], row[q]) = (cosine * row[p] - sine * row[q], sine * row[p] + cosine * row[q]);
            }
        }
        for column in 0..n {
            (a[p][column], a[q][column]) =
                (cosine * a[p][column] - sine * a[q][column], sine * a[p][column] + cosine * a[q][column]);
        }
        (a[p][q], a[q][p]) = (0.0, 0.0);
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&x, &y| a[x][x].total_cmp(&a[y][y]));
    order.windows(2).for_each(|pair| watch.jump(a[pair[1]][pair[1]] - a[pair[0]][pair[0]], false));
    let columns: Rows =
        order.iter().map(|&column| upright((0..n).map(|row| v[row][column]).collect(), watch)).collect();
    let mut rows: Rows = (0..n).map(|row| columns.iter().map(|column| column[row]).collect()).collect();
    rows.push(order.iter().map(|&at| a[at][at]).collect());
    rows
}

/// A vector whose largest element is positive.
fn upright(vector: Vec<f64>, watch: &mut Watch) -> Vec<f64> {
    let largest = vector.iter().fold(0.0, |most: f64, &x| if x.abs() > most.abs() { x } else { most });
    let is_twice = vector.iter().filter(|x| (x.abs() - largest.abs()).abs() < 1e-6).count() > 1;
    if is_twice {
        watch.jump(0.0, false);
    }
    vector.into_iter().map(|x| if largest < 0.0 { -x } else { x }).collect()
}

/// Of the symmetric matrix with A and its transpose beside zeros, whose positive eigenvalues are the singular values of A.
fn svd(a: &Rows, [m, n]: [usize; 2], watch: &mut Watch) -> Rows {
    let k = m.min(n);
    let entry = |row: usize, column: usize| match (row < m, column < m) {
        (true, false) => a[row][column - m],
        (false, true) => a[column][row - m],
        _ => 0.0,
    };
    let both: Rows = (0..m + n).map(|row| (0..m + n).map(|column| entry(row, column)).collect()).collect();
    // Zeros come as often as there are vectors beyond the values: they are no choice that matters.
    let mut own = Watch::new(0.0);
    let all = eigh(&both, &mut own);
    let places: Vec<usize> = (m + n - k..m + n).rev().collect();
    let values: Vec<f64> = places.iter().map(|&place| all[m + n][place]).collect();
    values.windows(2).for_each(|pair| watch.jump(pair[0] - pair[1], false));
    values.iter().for_each(|&value| watch.jump(value, false));
    let root = 2.0_f64.sqrt();
    let mut columns: Rows = Vec::new();
    for &place in &places {
        let whole: Vec<f64> = (0..m + n).map(|row| all[row][place] * root).collect();
        let long: Vec<f64> = if m < n { whole[m..].to_vec() } else { whole[..m].to_vec() };
        let sign = if upright(long.clone(), watch) == long { 1.0 } else { -1.0 };
        columns.push(whole.into_iter().map(|x| x * sign).collect());
    }
    let row = |at: usize| columns.iter().map(|column| column[at]).collect();
    (0..m).map(row).chain([values]).chain((m..m + n).map(row)).collect()
}

fn inverses(values: &[f64], difference: impl Fn(f64, f64) -> f64, dtype: DType, watch: &mut Watch) -> Rows {
    let precision = if dtype == DType::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    let largest = values.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let bound = 8.0 * values.len() as f64 * precision * largest;
    let inverse = |x: f64| if x.abs() > bound { 1.0 / x } else { 0.0 };
    for (at, &x) in values.iter().enumerate() {
        values[..at].iter().for_each(|&y| watch.jump(difference(x, y).abs() - bound, false));
    }
    values.iter().map(|&y| values.iter().map(|&x| inverse(difference(x, y))).collect()).collect()
}

pub(super) fn symmetric(a: &Rows) -> Rows {
    (0..a.len()).map(|i| (0..a.len()).map(|j| (a[i][j] + a[j][i]) / 2.0).collect()).collect()
}

/// By Gauss and Jordan, with the largest pivot of a column.
pub(super) fn solution(a: &Rows, b: &Rows) -> Rows {
    let (mut a, mut b) = (a.clone(), b.clone());
    let n = a.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs())).unwrap_or(k);
        a.swap(k, pivot);
        b.swap(k, pivot);
        for row in (0..n).filter(|&row| row != k) {
            let factor = a[row][k] / a[k][k];
            for column in k..n {
                a[row][column] -= factor * a[k][column];
            }
            for column in 0..b[row].len() {
                b[row][column] -= factor * b[k][column];
            }
        }
    }
    b.into_iter().enumerate().map(|(row, side)| side.into_iter().map(|x| x / a[row][row]).collect()).collect()
}
