//! Derivatives of linear algebra, a rule for each operation, as Murray (arXiv 1602.07527) states that of the Cholesky factor,
//! Walter and Lehmann (arXiv 1001.1654) those of LU and QR, and Giles (2008) those of eigenvalues and singular values.
//!
//! A rule gives the derivative of the result for one of the matrix, as products, masks and solutions of systems of equations. The last
//! are the one linear map that products and masks lack, and the transpose of one is the system with the transposed matrix. The
//! derivatives of the Cholesky factor and of LU are such maps of their own, since they take a third of the products that they are made of.

mod lu;

use super::banded;
use super::derivative::{Derivative, Scaling, WithDerivative, sum};
use super::spectral;
use crate::affine::AffineMap;
use crate::algebra::{Algebra, Operands};
use crate::array::Array;
use crate::operation::{Binary, Comparison, Contraction, Label, Labels, MatrixOperation, Reduction, Triangle, Unary};
use crate::shape::{DType, Shape, Type, Value};
use crate::term::Op;
use smallvec::smallvec;

/// One operation on matrices, by its rule.
#[track_caller]
pub(super) fn matrix<A: Algebra, D: Derivative<A>>(
    op: MatrixOperation,
    mut operands: impl Iterator<Item = WithDerivative<A, D>>,
) -> WithDerivative<A, D> {
    if op.is_multilinear() {
        return spectral::multilinear(op, operands);
    }
    let (a, da) = operands.next().expect("an operation on matrices has an operand");
    let mut second = || operands.next().expect("an operation of two operands");
    match op {
        MatrixOperation::Solve(_) | MatrixOperation::CholeskyForward | MatrixOperation::CholeskyAdjoint => {
            return solve(op, (a, da), None, second());
        }
        MatrixOperation::LuForward | MatrixOperation::LuAdjoint => return lu::derivative(op, (a, da), second()),
        MatrixOperation::SolveGeneral | MatrixOperation::SolveGeneralTransposed | MatrixOperation::SolvePositive => {
            let factors = second().0;
            return solve(op, (a, da), Some(factors), second());
        }
        MatrixOperation::SolveBanded | MatrixOperation::SolveBandedTransposed => {
            let upper = second();
            return banded::solve(op, (a, da), upper, second());
        }
        MatrixOperation::InversePositive | MatrixOperation::LogDeterminant => {
            return Stack::of::<A>(&a).of_positive::<A, D>(op, (a, da), second().0);
        }
        MatrixOperation::Determinant => return spectral::determinant((a, da), second().0),
        MatrixOperation::Unique => return spectral::unique((a, da), second().0),
        _ => {}
    }
    let Some(da) = da else { return (A::matrix(op, smallvec![a]), None) };
    let stack = Stack::of::<A>(&a);
    let (result, derivative) = match op {
        MatrixOperation::Cholesky => {
            let l = A::matrix(op, smallvec![a]);
            (l.clone(), da.linear(Op::Matrix(MatrixOperation::CholeskyForward), smallvec![l]))
        }
        MatrixOperation::Lu => lu::factors(a, da),
        MatrixOperation::Qr | MatrixOperation::QrTriangle | MatrixOperation::FullQr => stack.qr::<A, D>(op, a, da),
        MatrixOperation::Eigh | MatrixOperation::EighValues => stack.eigh::<A, D>(op, a, da),
        MatrixOperation::Svd | MatrixOperation::SvdValues => stack.svd::<A, D>(op, a, da),
        MatrixOperation::PseudoInverse => stack.pseudo_inverse::<A, D>(a, da),
        MatrixOperation::InverseDifferences | MatrixOperation::InverseSums => stack.inverses::<A, D>(op, a, da),
        op => unreachable!("{op:?} has several operands"),
    };
    (result, Some(derivative.shared()))
}

/// A X = B: Ẋ = A⁻¹ (Ḃ − Ȧ X), where of a triangle that moves, and of a positive definite matrix its symmetric part. The operands
/// are A, its factors, if the operation takes some, and B. The derivative of a Cholesky factor L is a system too, X Lᵀ + L Xᵀ = S, so
/// that S moves by the symmetric part of −2 X L̇ᵀ; and so is its transpose, where it is the lower triangle of −2 Y L̇.
#[track_caller]
fn solve<A: Algebra, D: Derivative<A>>(
    op: MatrixOperation,
    (a, da): WithDerivative<A, D>,
    factors: Option<A::Array>,
    (b, db): WithDerivative<A, D>,
) -> WithDerivative<A, D> {
    let fixed: Operands<A> = [Some(a.clone()), factors].into_iter().flatten().collect();
    let x = A::matrix(op, fixed.iter().cloned().chain([b]).collect());
    let stack = Stack::of::<A>(&a);
    let right = stack.with_columns(A::shape(&x)[stack.axes() + 1]);
    let moved = da.map(|da| {
        let times = |derivative: D, is_transposed: bool, factor: f64| {
            let product = derivative.contract_left(&stack.product([is_transposed, false]), x.clone());
            product.scale(A::constant(right.full(factor)), Scaling::Product)
        };
        match op {
            MatrixOperation::Solve(triangle) => {
                times(da.mask(stack.triangle::<A>(triangle)), triangle.is_transposed, -1.0)
            }
            MatrixOperation::SolvePositive => {
                let da = da.shared();
                times(da.clone(), false, -0.5).add(times(da, true, -0.5))
            }
            MatrixOperation::CholeskyForward | MatrixOperation::CholeskyAdjoint => {
                let da = da.mask(stack.triangle::<A>(Triangle::LOWER));
                let is_turned = op == MatrixOperation::CholeskyForward;
                let product = da.contract_right(&stack.product([false, is_turned]), x.clone());
                product.scale(A::constant(right.full(-2.0)), Scaling::Product)
            }
            op => times(da, op == MatrixOperation::SolveGeneralTransposed, -1.0),
        }
    });
    (x, sum::<A, D>(db, moved).map(|side| side.linear(Op::Matrix(op), fixed).shared()))
}

/// Matrices of one size and element type, along axes of these extents.
#[derive(Clone)]
struct Stack {
    dtype: DType,
    batch: Shape,
    rows: usize,
    columns: usize,
}

impl Stack {
    fn of<A: Algebra>(a: &A::Array) -> Stack {
        let mut batch = A::shape(a);
        let columns = batch.pop().expect("a matrix has two axes");
        let rows = batch.pop().expect("a matrix has two axes");
        Stack { dtype: A::dtype(a), batch, rows, columns }
    }

    fn with_columns(&self, columns: usize) -> Stack {
        Stack { columns, ..self.clone() }
    }

    fn square(&self, extent: usize) -> Stack {
        Stack { rows: extent, columns: extent, ..self.clone() }
    }

    /// The number of axes before matrices.
    fn axes(&self) -> usize {
        self.batch.len()
    }

    fn shape(&self) -> Shape {
        self.batch.iter().copied().chain([self.rows, self.columns]).collect()
    }

    fn ty(&self) -> Type {
        Type { dtype: self.dtype, shape: self.shape() }
    }

    /// Matrices whose elements are all one number.
    fn full(&self, x: f64) -> Array {
        Array::full(&self.shape(), Value::from_f64(self.dtype, x))
    }

    /// The view that transposes matrices.
    fn transpose(&self) -> AffineMap {
        let axes = self.axes();
        let permutation: Vec<usize> = (0..axes).chain([axes + 1, axes]).collect();
        AffineMap::transpose(&self.shape(), &permutation)
    }

    /// The first rows, or rows from a position on.
    fn rows(&self, start: usize, count: usize) -> AffineMap {
        AffineMap::along(&self.shape(), self.axes(), start as i64, 1, count)
    }

    /// The first columns, or columns from a position on.
    fn columns(&self, start: usize, count: usize) -> AffineMap {
        AffineMap::along(&self.shape(), self.axes() + 1, start as i64, 1, count)
    }

    /// The product of matrices, where either may be transposed.
    fn product(&self, transposed: [bool; 2]) -> Contraction {
        let labels = |first: usize, second: usize, turned: bool| -> Labels {
            let pair = if turned { [second, first] } else { [first, second] };
            (0..self.axes()).chain(pair.map(|label| self.axes() + label)).map(|label| label as Label).collect()
        };
        let [left, right] = transposed;
        Contraction { left: labels(0, 1, left), right: labels(1, 2, right), result: labels(0, 2, false) }
    }

    /// Where rows and columns compare like this.
    fn compared<A: Algebra>(&self, comparison: Comparison) -> A::Array {
        let along = |axis: usize, extent: usize| {
            A::view(A::iota(extent), &AffineMap::broadcast(&[extent], &self.shape(), &[self.axes() + axis]))
        };
        A::compare(comparison, along(0, self.rows), along(1, self.columns))
    }

    /// The elements of a triangle that are not fixed.
    fn triangle<A: Algebra>(&self, triangle: Triangle) -> A::Array {
        self.compared::<A>(match (triangle.is_lower, triangle.has_unit_diagonal) {
            (true, false) => Comparison::GreaterEqual,
            (true, true) => Comparison::Greater,
            (false, false) => Comparison::LessEqual,
            (false, true) => Comparison::Less,
        })
    }

    /// The symmetric part of a derivative, times a number.
    fn symmetric<A: Algebra, D: Derivative<A>>(&self, derivative: D, factor: f64) -> D {
        let derivative = derivative.shared();
        let sum = derivative.clone().add(derivative.view(&self.transpose()));
        sum.scale(A::constant(self.full(0.5 * factor)), Scaling::Product)
    }

    /// The inverse P of a positive definite matrix moves by −P S P, and the logarithm of its determinant by the trace of P S, where S
    /// is the symmetric part of Ȧ. Nothing comes of the factors, which are those of the matrix.
    fn of_positive<A: Algebra, D: Derivative<A>>(
        &self,
        op: MatrixOperation,
        (a, da): WithDerivative<A, D>,
        factors: A::Array,
    ) -> WithDerivative<A, D> {
        let result = A::matrix(op, smallvec![a.clone(), factors.clone()]);
        let Some(da) = da else { return (result, None) };
        if op == MatrixOperation::LogDeterminant {
            let inverse = A::matrix(MatrixOperation::InversePositive, smallvec![a, factors]);
            let labels: Labels = (0..self.axes() + 2).map(|label| label as Label).collect();
            let batch = labels[..self.axes()].into();
            let trace = Contraction { left: labels.clone(), right: labels, result: batch };
            let one = Stack { rows: 1, columns: 1, ..self.clone() }.shape();
            return (result, Some(da.contract_left(&trace, inverse).reshape(&self.batch, &one).shared()));
        }
        let symmetric = self.symmetric(da, -1.0);
        let left = symmetric.contract_right(&self.product([false, false]), result.clone());
        let both = left.contract_left(&self.product([false, false]), result.clone());
        (result, Some(both.shared()))
    }

    /// P of A, of the same rank: Ṗ = −P Ȧ P + P Pᵀ Ȧᵀ (1 − A P) + (1 − P A) Ȧᵀ Pᵀ P (Golub and Pereyra, 1973). With M = P Ȧ and
    /// Y = P Pᵀ Ȧᵀ that is Y − (M − (1 − P A) Mᵀ + Y A) P, which takes no m × m matrix. A wide A is turned first: its P is the transpose
    /// of that of Aᵀ. P Pᵀ may be out of the range of numbers where its product with Ȧᵀ is not, so P is divided by its size there.
    fn pseudo_inverse<A: Algebra, D: Derivative<A>>(&self, a: A::Array, da: D) -> (A::Array, D) {
        let p = A::matrix(MatrixOperation::PseudoInverse, smallvec![a.clone()]);
        let result = p.clone();
        let is_wide = self.rows < self.columns;
        let turned = Stack { rows: self.columns, columns: self.rows, ..self.clone() };
        let (turn, back) = (self.transpose(), turned.transpose());
        let size = turned.size::<A>(p.clone());
        let unit = A::binary(Binary::Div, p.clone(), size.clone());
        let turn_back = |a: A::Array| if is_wide { A::view(a, &back) } else { a };
        let (p, size, unit) = (turn_back(p), turn_back(size), turn_back(unit));
        let (a, da) = if is_wide { (A::view(a, &turn), da.view(&turn)) } else { (a, da) };
        let [product, to_transpose] = [false, true].map(|turned| self.product([false, turned]));
        let square = A::contract(&to_transpose, unit.clone(), unit);
        let projection = A::contract(&product, p.clone(), a.clone());
        let da = da.shared();
        let moved = da.clone().contract_right(&product, p.clone()).shared();
        let turned = da.contract_right(&to_transpose, square);
        let turned = turned.scale(size.clone(), Scaling::Product).scale(size, Scaling::Product).shared();
        let small = self.square(self.rows.min(self.columns));
        let reflected = moved.clone().view(&small.transpose()).scale(A::constant(small.full(-1.0)), Scaling::Product);
        let reflected = reflected.add(moved.clone().contract_right(&to_transpose, projection));
        let inner = moved.add(reflected).add(turned.clone().contract_left(&product, a));
        let derivative = turned.add(inner.contract_left(&product, A::unary(Unary::Neg, p)));
        (result, if is_wide { derivative.view(&turn) } else { derivative })
    }

    /// The largest magnitude in each of the matrices, or the least normal number if that is more, in each of their elements. It is a
    /// constant.
    fn size<A: Algebra>(&self, of: A::Array) -> A::Array {
        let magnitudes = A::unary(Unary::Abs, A::unary(Unary::StopGradient, of));
        let axes: Vec<usize> = (0..self.axes()).collect();
        let largest = A::reduce(Reduction::Max, magnitudes, &[axes.len(), axes.len() + 1]);
        let least = if self.dtype == DType::F32 { f64::from(f32::MIN_POSITIVE) } else { f64::MIN_POSITIVE };
        let least = A::constant(Array::full(&self.batch, Value::from_f64(self.dtype, least)));
        let size = A::binary(Binary::Max, largest, least);
        A::view(size, &AffineMap::broadcast(&self.batch, &self.shape(), &axes))
    }

    /// A = Q R: with X = Qᵀ Ȧ R₁⁻¹, where R₁ is the square part of R, and Ω what is below the diagonal of X minus its transpose,
    /// Ṙ = Qᵀ Ȧ − Ω R, and Q̇ = Q Ω + (Ȧ R⁻¹ − Q X), whose last part is 0 where Q is square. Columns of a square Q that R does not
    /// determine move by what keeps Q orthogonal, and not among themselves.
    fn qr<A: Algebra, D: Derivative<A>>(&self, op: MatrixOperation, a: A::Array, da: D) -> (A::Array, D) {
        let (m, n) = (self.rows, self.columns);
        let whole_op = if op == MatrixOperation::QrTriangle { MatrixOperation::Qr } else { op };
        let packed = A::matrix(whole_op, smallvec![a]);
        let k = A::shape(&packed)[self.axes() + 1];
        let count = m.min(n);
        let whole = Stack { rows: m + n, columns: k, ..self.clone() };
        let q = A::view(packed.clone(), &whole.rows(0, m));
        let turned_r = Stack { rows: n, columns: k, ..self.clone() };
        let turned_factor = A::view(packed.clone(), &whole.rows(m, n));
        let r = A::view(turned_factor.clone(), &turned_r.transpose());
        let stack = |rows: usize, columns: usize| Stack { rows, columns, ..self.clone() };
        let first = A::view(A::view(r.clone(), &stack(k, n).rows(0, count)), &stack(count, n).columns(0, count));
        let product = self.product([false, false]);
        let da = da.shared();
        // Qᵀ Ȧ
        let turned = da.clone().contract_right(&self.product([true, false]), q.clone()).shared();
        let over_r = |derivative: D, rows: usize| {
            let part = derivative.view(&stack(rows, n).columns(0, count)).view(&stack(rows, count).transpose());
            part.linear(Op::Matrix(MatrixOperation::Solve(Triangle::UPPER.transposed())), smallvec![first.clone()])
                .view(&stack(count, rows).transpose())
        };
        let x = over_r(turned.clone(), k).shared();
        let below = x.clone().mask(stack(k, count).compared::<A>(Comparison::Greater));
        // Zeros beside it make it square.
        let below = match k > count {
            true => below.accumulate(&stack(k, k).columns(0, count)),
            false => below,
        };
        let below = below.shared();
        let negated = |derivative: D, stack: &Stack| derivative.scale(A::constant(stack.full(-1.0)), Scaling::Product);
        let omega = below.clone().add(negated(below.view(&stack(k, k).transpose()), &stack(k, k))).shared();
        let dr = turned.add(negated(omega.clone().contract_left(&product, r), &stack(k, n)));
        let dr = dr.view(&stack(k, n).transpose());
        if op == MatrixOperation::QrTriangle {
            return (turned_factor, dr);
        }
        let mut dq = omega.contract_right(&product, q.clone());
        if k < m {
            let outside = x.contract_right(&product, q);
            dq = dq.add(over_r(da, m)).add(negated(outside, &stack(m, k)));
        }
        let types = [stack(m, k).ty(), turned_r.ty()];
        let parts = vec![Some(dq), Some(dr)];
        (packed, D::concatenate(self.axes(), parts, &types))
    }

    /// 1 over differences, or sums, of values: Ḟ = −F ∘ (F ∘ (λ̇ⱼ ± λ̇ᵢ)). The square of F may be out of the range of numbers.
    fn inverses<A: Algebra, D: Derivative<A>>(
        &self,
        op: MatrixOperation,
        values: A::Array,
        dvalues: D,
    ) -> (A::Array, D) {
        let inverse = A::matrix(op, smallvec![values]);
        let square = self.square(self.columns);
        let along = |derivative: D, axis: usize| {
            let places: Vec<usize> = (0..self.axes()).chain([self.axes() + axis]).collect();
            let row = [&self.batch[..], &[self.columns]].concat();
            derivative.reshape(&self.shape(), &row).view(&AffineMap::broadcast(&row, &square.shape(), &places))
        };
        let sign = if op == MatrixOperation::InverseSums { 1.0 } else { -1.0 };
        let dvalues = dvalues.shared();
        let other = along(dvalues.clone(), 0).scale(A::constant(square.full(sign)), Scaling::Product);
        let negated = A::unary(Unary::Neg, inverse.clone());
        let once = along(dvalues, 1).add(other).scale(inverse.clone(), Scaling::KeepFactor);
        (inverse, once.scale(negated, Scaling::KeepFactor))
    }

    /// A V = V Λ: with M = Vᵀ S V, where S is the symmetric part of Ȧ, λ̇ is the diagonal of M, and V̇ = V (F ∘ M), where F has
    /// 1 / (λⱼ − λᵢ), and 0 for eigenvalues that are as good as equal.
    fn eigh<A: Algebra, D: Derivative<A>>(&self, op: MatrixOperation, a: A::Array, da: D) -> (A::Array, D) {
        let n = self.columns;
        let packed = A::matrix(MatrixOperation::Eigh, smallvec![a]);
        let whole = Stack { rows: n + 1, ..self.clone() };
        let vectors = A::view(packed.clone(), &whole.rows(0, n));
        let values = A::view(packed.clone(), &whole.rows(n, 1));
        let vectors = A::matrix(MatrixOperation::Unique, smallvec![vectors, values.clone()]);
        let symmetric = self.symmetric(da, 1.0);
        let right = symmetric.contract_left(&self.product([false, false]), vectors.clone());
        if op == MatrixOperation::EighValues {
            return (values, self.dots_of_columns(right, vectors));
        }
        let inner = right.contract_right(&self.product([true, false]), vectors.clone()).shared();
        let dvalues = self.diagonal_row(inner.clone());
        let turning =
            inner.scale(A::matrix(MatrixOperation::InverseDifferences, smallvec![values]), Scaling::KeepFactor);
        let dvectors = turning.contract_right(&self.product([false, false]), vectors);
        let types = [self.ty(), Stack { rows: 1, ..self.clone() }.ty()];
        (packed, D::concatenate(self.axes(), vec![Some(dvectors), Some(dvalues)], &types))
    }

    /// The diagonal of square matrices as a row.
    fn diagonal_row<A: Algebra, D: Derivative<A>>(&self, derivative: D) -> D {
        let row = Stack { rows: 1, ..self.clone() }.shape();
        let places: Vec<usize> = (0..self.axes()).chain([self.axes() + 1, self.axes() + 1]).collect();
        derivative.view(&AffineMap::broadcast(&self.shape(), &row, &places))
    }

    /// The dot products of columns, as a row: the diagonal of a product, without the product.
    fn dots_of_columns<A: Algebra, D: Derivative<A>>(&self, derivative: D, columns: A::Array) -> D {
        let (axes, row) = (self.axes(), Stack { rows: 1, ..self.clone() }.shape());
        let labels: Labels = (0..axes + 2).map(|label| label as Label).collect();
        let kept = labels.iter().copied().filter(|&label| usize::from(label) != axes).collect();
        let dots = Contraction { left: labels.clone(), right: labels, result: kept };
        let without_rows = [&self.batch[..], &[self.columns]].concat();
        derivative.contract_right(&dots, columns).reshape(&without_rows, &row)
    }

    /// A = U S Vᵀ: with P = Uᵀ Ȧ V, ṡ is its diagonal. Of its symmetric and antisymmetric parts, U turns by
    /// P₊ / (sⱼ − sᵢ) + P₋ / (sⱼ + sᵢ), and V by the difference of these, where quotients by what is as good as 0 are 0. What lies
    /// outside of the columns of U moves by (1 − U Uᵀ) Ȧ V / S, and V likewise.
    fn svd<A: Algebra, D: Derivative<A>>(&self, op: MatrixOperation, a: A::Array, da: D) -> (A::Array, D) {
        let (m, n) = (self.rows, self.columns);
        let k = m.min(n);
        let stack = |rows: usize, columns: usize| Stack { rows, columns, ..self.clone() };
        let packed = A::matrix(MatrixOperation::Svd, smallvec![a]);
        let whole = stack(m + 1 + n, k);
        let u = A::view(packed.clone(), &whole.rows(0, m));
        let values = A::view(packed.clone(), &whole.rows(m, 1));
        let v = A::view(packed.clone(), &whole.rows(m + 1, n));
        let (da, square) = (da.shared(), self.square(k));
        let [u, v] = [u, v].map(|vectors| A::matrix(MatrixOperation::Unique, smallvec![vectors, values.clone()]));
        let over = |op: MatrixOperation| A::matrix(op, smallvec![values.clone()]);
        let product = |turned: [bool; 2]| self.product(turned);
        // Ȧ V and Ȧᵀ U
        let right = da.clone().contract_left(&product([false, false]), v.clone()).shared();
        if op == MatrixOperation::SvdValues {
            return (values, stack(m, k).dots_of_columns(right, u));
        }
        let inner = right.clone().contract_right(&product([true, false]), u.clone()).shared();
        let dvalues = square.diagonal_row(inner.clone());
        let half = |x: f64| A::constant(square.full(x));
        let turned = inner.clone().view(&square.transpose()).shared();
        let plus = inner.clone().add(turned.clone()).scale(half(0.5), Scaling::Product);
        let minus = inner.add(turned.scale(half(-1.0), Scaling::Product)).scale(half(0.5), Scaling::Product);
        let first = plus.scale(over(MatrixOperation::InverseDifferences), Scaling::KeepFactor).shared();
        let second = minus.scale(over(MatrixOperation::InverseSums), Scaling::KeepFactor).shared();
        let turn_u = first.clone().add(second.clone());
        let turn_v = first.add(second.scale(half(-1.0), Scaling::Product));
        let mut du = turn_u.contract_right(&product([false, false]), u.clone());
        let mut dv = turn_v.contract_right(&product([false, false]), v.clone());
        // 1 over twice each value, on rows of so many.
        let quotient = |rows: usize| {
            let inverse = over(MatrixOperation::InverseSums);
            let diagonal: Vec<usize> = (0..self.axes()).chain([self.axes() + 1, self.axes() + 1]).collect();
            let shape = stack(rows, k).shape();
            let row = A::view(inverse, &AffineMap::broadcast(&square.shape(), &shape, &diagonal));
            A::binary(Binary::Mul, row, A::constant(stack(rows, k).full(2.0)))
        };
        let outside = |derivative: D, basis: &A::Array, rows: usize| {
            let derivative = derivative.scale(quotient(rows), Scaling::KeepFactor).shared();
            let inside = derivative.clone().contract_right(&product([true, false]), basis.clone());
            let inside = inside.contract_right(&product([false, false]), basis.clone());
            derivative.add(inside.scale(A::constant(stack(rows, k).full(-1.0)), Scaling::Product))
        };
        if m > k {
            du = du.add(outside(right, &u, m));
        }
        if n > k {
            let left = da.view(&self.transpose()).contract_left(&product([false, false]), u);
            dv = dv.add(outside(left, &v, n));
        }
        let types = [stack(m, k).ty(), stack(1, k).ty(), stack(n, k).ty()];
        (packed, D::concatenate(self.axes(), vec![Some(du), Some(dvalues), Some(dv)], &types))
    }
}
