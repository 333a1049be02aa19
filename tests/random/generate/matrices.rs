//! Linear algebra on matrices that are well-conditioned whatever their elements are made of: products with their own transpose
//! plus the identity, and diagonals that outweigh the rest of their rows.

use super::super::arrays;
use super::{LARGEST, Writer};
use deltaray::affine::AffineMap;
use deltaray::algebra::{Contraction, Label, MatrixOperation};
use deltaray::linalg::{
    self, CholeskyFactor, Eigh, Ldl, Qr, SpectralFunction, Svd, Triangle, cholesky_upper, determinant, diagonal_matrix,
    eigh, expm, full_qr, inverse, ldl, log_determinant, lstsq, lu, matrix_power, pseudo_inverse, qr, quadratic_form,
    slog_determinant, solve_spd, solve_triangular, solve_triangular_right, spectral_function, spectral_sum, svd, trace,
};
use deltaray::operation::{Binary, Comparison};
use deltaray::prelude::*;
use deltaray::shape::{DType, Shape, Type, Value, size};
use deltaray::staged::Staged;
use deltaray::term::{NodeId, Op};

/// No number of matrices is beyond this when an operation is applied to them.
const MODERATE: f64 = 1.5;

impl Writer<'_> {
    /// Writes one operation on matrices, with what makes them.
    pub(super) fn matrices(&mut self) {
        let most = if self.depth > 0 { [(8, 0), (2, 1), (0, 2)] } else { [(6, 0), (3, 1), (1, 2)] };
        let axes = self.random.weighted(&most);
        let mut batch = super::shape(self.random, self.style, axes);
        let (m, n) = (self.random.pick(&self.style.extents), self.random.pick(&self.style.extents));
        while size(&batch) * (m + n) * (m.max(n) + 1) > LARGEST {
            batch.pop();
        }
        let id = match self.random.below(5) {
            0 => self.cholesky(&batch, n),
            1 => self.lu(&batch, m, n),
            2 => self.qr(&batch, m, n),
            3 => self.banded(&batch, m, n),
            _ => self.triangular(&batch, m, n),
        };
        let shape = self.ty(id).shape;
        // Its factors by themselves.
        if self.random.chance(0.4) {
            let (rows, columns) = (shape[shape.len() - 2], shape[shape.len() - 1]);
            let of_rows = self.random.chance(0.5);
            let (axis, extent, part) = match of_rows {
                true => (shape.len() - 2, rows, m.min(rows)),
                false => (shape.len() - 1, columns, n.min(columns)),
            };
            let first = self.random.chance(0.5);
            let (start, count) = if first { (0, part) } else { (part, extent - part) };
            let map = AffineMap::along(&shape, axis, start as i64, 1, count);
            let bound = self.bound(id);
            self.add(Op::View(map), &[id], bound);
        }
    }

    /// Matrices of moderate numbers.
    fn moderate(&mut self, batch: &[usize], rows: usize, columns: usize) -> NodeId {
        let shape: Shape = batch.iter().copied().chain([rows, columns]).collect();
        let id = self.fit(&Type { dtype: self.style.floats[0], shape });
        self.tame(id, MODERATE)
    }

    /// The matrices with a multiple of the identity added.
    fn shifted(&mut self, id: NodeId, shift: f64) -> NodeId {
        let ty = self.ty(id);
        let axes = ty.shape.len() - 2;
        let along = |writer: &mut Self, axis: usize| {
            let extent = ty.shape[axis];
            let iota = writer.add(Op::Iota(extent), &[], extent as f64);
            let map = AffineMap::broadcast(&[extent], &ty.shape, &[axis]);
            if map.is_identity() { iota } else { writer.add(Op::View(map), &[iota], extent as f64) }
        };
        let (row, column) = (along(self, axes), along(self, axes + 1));
        let is_diagonal = self.add(Op::Compare(Comparison::Equal), &[row, column], 1.0);
        let mut identity = self.add(Op::Cast(ty.dtype), &[is_diagonal], 1.0);
        if shift != 1.0 {
            let factor = self.add(Op::Constant(arrays::full(&ty, shift)), &[], shift.abs());
            identity = self.add(Op::Binary(Binary::Mul), &[identity, factor], shift.abs());
        }
        let bound = self.bound(id) + shift.abs();
        self.add(Op::Binary(Binary::Add), &[id, identity], bound)
    }

    /// The matrices with a diagonal that outweighs all other elements.
    fn dominant(&mut self, id: NodeId, is_negative: bool) -> NodeId {
        let shape = self.ty(id).shape;
        let most = shape[shape.len() - 2].max(shape[shape.len() - 1]);
        let shift = (self.bound(id) * most as f64).ceil() + 1.0;
        self.shifted(id, if is_negative { -shift } else { shift })
    }

    fn cholesky(&mut self, batch: &[usize], n: usize) -> NodeId {
        let operand = if self.random.chance(0.6) {
            let k = self.random.pick(&self.style.extents).min(LARGEST / (size(batch) * n).max(1));
            let id = self.moderate(batch, n, k);
            let axes = batch.len() as Label;
            let labels = |first: Label, second: Label| -> Vec<Label> { (0..axes).chain([first, second]).collect() };
            let spec = Contraction::new(&labels(axes, axes + 1), &labels(axes + 2, axes + 1), &labels(axes, axes + 2));
            let bound = self.bound(id).powi(2) * k as f64;
            let product = self.add(Op::Contract(spec), &[id, id], bound);
            self.shifted(product, 1.0)
        } else {
            // Only the symmetric part counts.
            let id = self.moderate(batch, n, n);
            self.dominant(id, false)
        };
        let bound = self.bound(operand).sqrt();
        self.add(Op::Matrix(MatrixOperation::Cholesky), &[operand], bound)
    }

    fn lu(&mut self, batch: &[usize], m: usize, n: usize) -> NodeId {
        let id = self.moderate(batch, m, n);
        let is_negative = self.random.chance(0.3);
        let mut operand = self.dominant(id, is_negative);
        // Rows in another order, which the pivots undo.
        if m > 1 && self.random.chance(0.6) {
            let shape = self.ty(operand).shape;
            let bound = self.bound(operand);
            let turned = AffineMap::along(&shape, batch.len(), m as i64 - 1, -1, m);
            operand = self.add(Op::View(turned), &[operand], bound);
        }
        let bound = (2.0 * self.bound(operand)).max(m as f64);
        self.add(Op::Matrix(MatrixOperation::Lu), &[operand], bound)
    }

    fn qr(&mut self, batch: &[usize], m: usize, n: usize) -> NodeId {
        let id = self.moderate(batch, m, n);
        // A column that is 0 below the diagonal has a reflection that jumps.
        let ty = self.ty(id);
        let elements: Vec<Value> =
            (0..ty.size()).map(|_| Value::from_f64(ty.dtype, self.random.between(-0.5, 0.5))).collect();
        let bound = self.bound(id) + 0.5;
        let table = if elements.is_empty() { arrays::full(&ty, 0.5) } else { arrays::array(&ty, &elements) };
        let table = self.add(Op::Constant(table), &[], 0.5);
        let id = self.add(Op::Binary(Binary::Add), &[id, table], bound);
        let is_negative = self.random.chance(0.4);
        let operand = self.dominant(id, is_negative);
        // Two and more columns that the matrix doesn't determine are no smooth function of it.
        let is_full = m <= n + 1 && self.random.chance(0.5);
        let op = if is_full { MatrixOperation::FullQr } else { MatrixOperation::Qr };
        let bound = self.bound(operand) * 2.0 + 1.0;
        self.add(Op::Matrix(op), &[operand], bound)
    }

    fn triangular(&mut self, batch: &[usize], columns: usize, n: usize) -> NodeId {
        let mut triangle = self.random.pick(&[Triangle::LOWER, Triangle::UPPER]);
        if self.random.chance(0.5) {
            triangle = triangle.transposed();
        }
        let mut operand = self.moderate(batch, n, n);
        let side = self.moderate(batch, n, columns);
        let mut bound = self.bound(side);
        if self.random.chance(0.4) {
            triangle = triangle.unit();
            bound *= (1.0 + self.bound(operand)).powi(n as i32);
        } else {
            let is_negative = self.random.chance(0.4);
            operand = self.dominant(operand, is_negative);
        }
        self.add(Op::Matrix(MatrixOperation::Solve(triangle)), &[operand, side], bound)
    }

    fn banded(&mut self, batch: &[usize], columns: usize, n: usize) -> NodeId {
        let [below, above] = [(); 2].map(|()| self.random.pick(&[0, 1, 1, 2]));
        let (lower, upper) = (self.moderate(batch, below, n), self.moderate(batch, above + 1, n));
        let side = self.moderate(batch, n, columns);
        // The diagonal outweighs all other elements of its row, and of its column.
        let ty = self.ty(upper);
        let most = self.bound(lower).max(self.bound(upper));
        let shift = (most * (below + above + 1) as f64).ceil() + 1.0;
        let numbers = self.add(Op::Iota(above + 1), &[], (above + 1) as f64);
        let map = AffineMap::broadcast(&[above + 1], &ty.shape, &[batch.len()]);
        let numbers = if map.is_identity() { numbers } else { self.add(Op::View(map), &[numbers], (above + 1) as f64) };
        let zeros = arrays::full(&Type { dtype: DType::I64, shape: ty.shape.clone() }, 0.0);
        let zeros = self.add(Op::Constant(zeros), &[], 0.0);
        let is_diagonal = self.add(Op::Compare(Comparison::Equal), &[numbers, zeros], 1.0);
        let shifts = self.add(Op::Constant(arrays::full(&ty, shift)), &[], shift);
        let nothing = self.add(Op::Constant(arrays::full(&ty, 0.0)), &[], 0.0);
        let shifts = self.add(Op::Select, &[is_diagonal, shifts, nothing], shift);
        let bound = self.bound(upper) + shift;
        let upper = self.add(Op::Binary(Binary::Add), &[upper, shifts], bound);
        let ops = [MatrixOperation::SolveBanded, MatrixOperation::SolveBandedTransposed];
        let (op, bound) = (self.random.pick(&ops), self.bound(side));
        self.add(Op::Matrix(op), &[lower, upper, side], bound)
    }
}

/// A function of `deltaray::linalg`, of matrices whose rows are those of an array.
pub(super) fn composed<E: Float>(which: usize, x: &TensorD<Staged, E>, y: &TensorD<Staged, E>) -> TensorD<Staged, E> {
    let count: usize = x.shape().iter().product();
    let n = (1..=5).rev().find(|&n| count.is_multiple_of(n)).unwrap_or(1);
    let k = count / n;
    let part: Scalar<Staged, E> = scalar(E::from_number(1.0 / k as f64));
    let rows = |array: &TensorD<Staged, E>| -> Matrix<Staged, E> { array.reshape((n, k)) };
    let (x, y) = (rows(x), rows(y));
    // Its symmetric part is positive definite, so it is not singular.
    let turn = x.dot(&y.t()) - y.dot(&x.t());
    let definite = (x.dot(&x.t())) * &part + eye(n);
    let a = &definite + &turn * &part;
    let side: Vector<Staged, E> = y.index_axis(1, 0);
    // Values that are at least 1 apart, and vectors each with one element that outweighs the others.
    let number = |x: f64| scalar::<Staged, E>(E::from_number(x));
    let apart = x.dot(&y.t()).tanh() * number(1.0 / n as f64)
        + diagonal_matrix(&((iota(n).cast::<E>() + number(1.0)) * number(3.0)));
    match which % 24 {
        0 => linalg::solve(&a, &side).into_dyn(),
        1 => linalg::solve(&a, &y).into_dyn(),
        2 => solve_spd(&definite, &y).into_dyn(),
        3 => inverse(&a).into_dyn(),
        4 => determinant(&a).into_dyn(),
        5 => slog_determinant(&a).1.into_dyn(),
        6 => log_determinant(&definite).into_dyn(),
        7 if which >= 24 => {
            linalg::qr(&concatenate(0, &[x.t(), eye(n)])).solve(&concatenate(0, &[y.t(), eye(n)])).into_dyn()
        }
        7 => lstsq(&concatenate(0, &[x.t(), eye(n)]), &concatenate(0, &[y.t(), eye(n)])).into_dyn(),
        8 => matrix_power(&a, [-2, 3][which / 24]).into_dyn(),
        9 => quadratic_form(&CholeskyFactor::new(&definite), &side).into_dyn(),
        10 if which >= 24 => {
            let Ldl { lower, diagonal } = ldl(&definite);
            (lower * diagonal.sqrt()).into_dyn()
        }
        10 => {
            let factors = lu(&a);
            (factors.upper() + factors.lower()).into_dyn()
        }
        11 => {
            let Qr { q, r } = qr(&a);
            (q * r).into_dyn()
        }
        12 => {
            let Qr { q, r } = full_qr(&a);
            (r - q).into_dyn()
        }
        13 => solve_triangular_right(&definite, &y.t(), Triangle::UPPER).into_dyn(),
        14 => solve_triangular(&cholesky_upper(&definite), &side, Triangle::UPPER).into_dyn(),
        15 => trace(&solve_spd(&definite, &a)).into_dyn(),
        16 => spectral_function(&definite, SpectralFunction::Ln).into_dyn(),
        17 => spectral_function(&a, SpectralFunction::Reciprocal).into_dyn(),
        18 => spectral_function(&definite, SpectralFunction::power([0.5, -0.75][which / 24])).into_dyn(),
        19 => spectral_sum(&a, [SpectralFunction::Sin, SpectralFunction::Cos][which / 24]).into_dyn(),
        20 => expm(&(turn * part)).into_dyn(),
        21 => {
            let Eigh { values, vectors } = eigh(&apart);
            // The vectors with their signs, or the projector on some of them, whatever these are.
            let half = vectors.slice(1, ..n.div_ceil(2));
            if which < 24 { (vectors * values).into_dyn() } else { half.dot(&half.t()).into_dyn() }
        }
        22 => {
            let Svd { u, values, v } = svd(&apart);
            // The same, or the nearest matrix of lower rank.
            let some = |of: &Tensor<Staged, E, _>| of.slice(1, ..n.div_ceil(2));
            let nearest = || (some(&u) * values.slice(0, ..n.div_ceil(2))).dot(&some(&v).t());
            if which < 24 { (u * values - v).into_dyn() } else { nearest().into_dyn() }
        }
        _ => pseudo_inverse(&concatenate(0, &[apart, a])).into_dyn(),
    }
}
