//! Systems of equations with sparse positive definite matrices.

use super::{Csr, Pattern};
use crate::algebra::{Algebra, Operands};
use crate::array::{self, ReportedAt, available};
use crate::concrete::Concrete;
use crate::error::{Error, Result};
use crate::linalg::{RightSide, is_finite};
use crate::operation::{Elimination, SparseKind, SparseOperation};
use crate::tensor::apply::fail;
use crate::tensor::{Float, R2, Rank, Scalar, Tensor, Vector};
use std::panic::Location;
use std::sync::Arc;

/// The Cholesky factorisation of positive definite matrices of one sparse pattern: all that depends on the pattern alone.
///
/// It has the order in which rows are eliminated, by approximate minimum degree (Amestoy, Davis and Duff, 1996), and the entries of
/// the factor. It is made once; then the factorisation, solutions and determinants are functions of the values at the entries of the
/// pattern, in its order, that run in every algebra. A clone is cheap.
///
/// ```
/// use deltaray::prelude::*;
/// use deltaray::sparse::{Pattern, SparseCholesky};
///
/// // A tridiagonal matrix of twos, with −1 beside them.
/// let pattern = Pattern::from_rows(3, [vec![0, 1], vec![0, 1, 2], vec![1, 2]])?;
/// let cholesky = SparseCholesky::new(&pattern)?;
/// let values: Vector<_, f64> = Vector::from(vec![2.0, -1.0, -1.0, 2.0, -1.0, -1.0, 2.0]);
/// let x = cholesky.solve(&values, &Vector::from(vec![1.0, 0.0, 1.0]));
/// assert!(x.to_vec().iter().all(|x| (x - 1.0).abs() < 1e-15));
///
/// // The gradient of the logarithm of the determinant has the inverse's elements, at the entries of the pattern alone.
/// let gradient = grad(|values| cholesky.log_determinant(values), &values);
/// let expected = [0.75, 0.5, 0.5, 1.0, 0.5, 0.5, 0.75];
/// assert!(gradient.to_vec().iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-15));
/// # Ok::<(), deltaray::Error>(())
/// ```
///
/// The symmetric part of the matrix is read, ½ (A + Aᵀ), as [`cholesky`](crate::linalg::cholesky) does: gradients by the values are
/// symmetric. Where the matrix is not positive definite, or has NaN, every element of a result is NaN.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SparseCholesky {
    elimination: Arc<Elimination>,
}

impl SparseCholesky {
    /// The analysis of a pattern.
    ///
    /// # Errors
    ///
    /// When the pattern is not square and symmetric, when an element of the diagonal is no entry, so that no matrix is positive
    /// definite, and when the factor has 2³² entries or more.
    pub fn new(pattern: &Pattern) -> Result<SparseCholesky> {
        let wrong = |problem: String| Error::Structure(format!("a sparse Cholesky factorisation: {problem}"));
        let (rows, columns) = pattern.shape();
        if rows != columns {
            return Err(wrong(format!("takes a square matrix, not one of {rows} by {columns}")));
        }
        let indices: Option<Vec<u32>> =
            pattern.column_indices().iter().map(|&column| u32::try_from(column).ok()).collect();
        let indices = indices.ok_or_else(|| wrong(format!("{rows} rows are too many")))?;
        let elimination = Elimination::new(pattern.row_offsets().to_vec(), indices, usize::MAX).map_err(wrong)?;
        Ok(SparseCholesky { elimination: Arc::new(elimination) })
    }

    /// Number of entries of a triangular factor, those on its diagonal among them.
    ///
    /// ```
    /// use deltaray::sparse::{Pattern, SparseCholesky};
    ///
    /// // An arrow: its tip is eliminated last, so that nothing is filled in.
    /// let arrow = Pattern::from_rows(4, [vec![0, 1, 2, 3], vec![0, 1], vec![0, 2], vec![0, 3]])?;
    /// assert_eq!(SparseCholesky::new(&arrow)?.factor_nonzeros(), 7);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn factor_nonzeros(&self) -> usize {
        self.elimination.factor_entries()
    }

    /// Multiplications of a factorisation, to the leading order: the sum of the squares of the columns' entries.
    ///
    /// ```
    /// use deltaray::sparse::{Pattern, SparseCholesky};
    ///
    /// let tridiagonal = Pattern::from_rows(3, [vec![0, 1], vec![0, 1, 2], vec![1, 2]])?;
    /// assert_eq!(SparseCholesky::new(&tridiagonal)?.work(), 4 + 4 + 1);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn work(&self) -> u128 {
        self.elimination.work()
    }

    /// The rows of the matrix in the order in which they are eliminated.
    ///
    /// ```
    /// use deltaray::sparse::{Pattern, SparseCholesky};
    ///
    /// let arrow = Pattern::from_rows(4, [vec![0, 1, 2, 3], vec![0, 1], vec![0, 2], vec![0, 3]])?;
    /// assert!(SparseCholesky::new(&arrow)?.order().skip(2).any(|row| row == 0));
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn order(&self) -> impl Iterator<Item = usize> {
        self.elimination.order.iter().map(|&row| row as usize)
    }

    /// The factor of a matrix, to be solved with often.
    ///
    /// # Panics
    ///
    /// When there are not as many values as entries; in a staged function that is the error of
    /// [`stage`](crate::derivative::stage) instead.
    #[track_caller]
    pub fn factor<A: Algebra, E: Float>(&self, values: &Vector<A, E>) -> SparseFactor<A, E> {
        let _place = ReportedAt::caller();
        let values = match (values.len(), self.elimination.entries()) {
            (found, entries) if found != entries => {
                fail("factor", format!("{found} values for a pattern of {entries} entries"), &[entries])
            }
            _ => values.clone(),
        };
        // Derivatives are those of the matrix, and nothing comes of the factor.
        let packed = self.bind(SparseKind::Factor, &[values.stop_gradient().into_array()]);
        SparseFactor { cholesky: self.clone(), values, packed }
    }

    /// The solution x of A x = b: one right side, or one in each column of a matrix. The derivative is ẋ = A⁻¹ (ḃ − Ȧ x), by the same
    /// factor; that of a value in row i and column j, in reverse mode, is −½ (λᵢ xⱼ + λⱼ xᵢ) for λ = A⁻¹ x̄.
    ///
    /// # Panics
    ///
    /// As [`SparseCholesky::factor`], and when b has another number of rows.
    #[track_caller]
    pub fn solve<A: Algebra, E: Float, S: RightSide<R2>>(
        &self,
        values: &Vector<A, E>,
        b: &Tensor<A, E, S>,
    ) -> Tensor<A, E, S> {
        let _place = ReportedAt::caller();
        self.factor(values).solve(b)
    }

    /// The natural logarithm of the determinant. The derivative is the inner product of [`SparseFactor::inverse_entries`] with that of
    /// the values.
    ///
    /// # Panics
    ///
    /// As [`SparseCholesky::factor`].
    #[track_caller]
    pub fn log_determinant<A: Algebra, E: Float>(&self, values: &Vector<A, E>) -> Scalar<A, E> {
        let _place = ReportedAt::caller();
        self.factor(values).log_determinant()
    }

    #[track_caller]
    fn bind<A: Algebra, E: Float, S: Rank>(&self, kind: SparseKind, operands: &[A::Array]) -> Tensor<A, E, S> {
        let op = SparseOperation { kind, elimination: self.elimination.clone() };
        let operands: Operands<A> = operands.iter().cloned().collect();
        Tensor::wrap(A::sparse(op, operands))
    }
}

/// The Cholesky factor of a sparse positive definite matrix, to be solved with often: the result of [`SparseCholesky::factor`].
///
/// ```
/// use deltaray::prelude::*;
/// use deltaray::sparse::{Pattern, SparseCholesky};
///
/// let pattern = Pattern::from_rows(2, [vec![0, 1], vec![0, 1]])?;
/// let factor = SparseCholesky::new(&pattern)?.factor(&Vector::from(vec![4.0, 2.0, 2.0, 2.0]));
/// assert_eq!(factor.solve(&Vector::from(vec![8.0, 6.0])).to_vec(), [1.0, 2.0]);
/// assert_eq!(factor.solve(&Matrix::from([[8.0, 4.0], [6.0, 2.0]])), [[1.0, 1.0], [2.0, 0.0]].into());
/// assert_eq!(factor.inverse_entries().to_vec(), [0.5, -0.5, -0.5, 1.0]);
/// assert_eq!(factor.log_determinant().item(), 4.0_f64.ln());
/// # Ok::<(), deltaray::Error>(())
/// ```
#[derive(Clone)]
pub struct SparseFactor<A: Algebra, E: Float> {
    cholesky: SparseCholesky,
    values: Vector<A, E>,
    packed: Vector<A, E>,
}

impl<A: Algebra, E: Float> SparseFactor<A, E> {
    /// The solution x of A x = b: see [`SparseCholesky::solve`].
    ///
    /// # Panics
    ///
    /// When b has another number of rows; in a staged function that is the error of [`stage`](crate::derivative::stage) instead.
    #[track_caller]
    pub fn solve<S: RightSide<R2>>(&self, b: &Tensor<A, E, S>) -> Tensor<A, E, S> {
        let _place = ReportedAt::caller();
        let shape = b.shape();
        if let Err(problem) = self.fits(shape[0]) {
            return fail("solve", problem, &shape);
        }
        let columns = if shape.len() == 1 { b.clone().into_dyn().insert_axis(1) } else { b.clone().into_dyn() };
        let x: Tensor<A, E, R2> = self.of_factor(SparseKind::Solve, Some(columns.into_array()));
        let x = x.into_dyn();
        Tensor::wrap(if shape.len() == 1 { x.remove_axis(1) } else { x }.into_array())
    }

    /// The natural logarithm of the determinant of A: see [`SparseCholesky::log_determinant`].
    #[track_caller]
    pub fn log_determinant(&self) -> Scalar<A, E> {
        let _place = ReportedAt::caller();
        self.of_factor(SparseKind::LogDeterminant, None)
    }

    /// The elements of the inverse of A at the entries of the pattern: the variances and covariances of a Gaussian whose precision A
    /// is. It takes about twice the time of the factorisation (Takahashi, 1973).
    ///
    /// Derivatives along k directions are found by the same recurrence on numbers of 2ᵏ parts, and take 3ᵏ times as long. There are
    /// those of up to four directions, as the fifth derivative of the determinant's logarithm takes; of more they are NaN.
    #[track_caller]
    pub fn inverse_entries(&self) -> Vector<A, E> {
        let _place = ReportedAt::caller();
        self.of_factor(SparseKind::InverseEntries(0), None)
    }

    /// Whether a right side has as many rows as the matrix.
    fn fits(&self, rows: usize) -> std::result::Result<(), String> {
        let own = self.cholesky.elimination.extent();
        if rows == own {
            return Ok(());
        }
        Err(format!("a matrix of {own} by {own} does not fit a right side of {rows} rows"))
    }

    #[track_caller]
    fn of_factor<S: Rank>(&self, kind: SparseKind, right: Option<A::Array>) -> Tensor<A, E, S> {
        let fixed = [&self.values, &self.packed].map(|array| array.array().clone());
        let operands: Vec<A::Array> = fixed.into_iter().chain(right).collect();
        self.cholesky.bind(kind, &operands)
    }
}

impl<E: Float> Csr<E> {
    /// The Cholesky factor of the symmetric part of the matrix. Its pattern is analysed anew: for many matrices of one pattern keep a
    /// [`SparseCholesky`].
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let matrix = Csr::from_triplets((2, 2), [(0, 0, 4.0), (0, 1, 2.0), (1, 0, 2.0), (1, 1, 2.0)])?;
    /// assert_eq!(matrix.cholesky()?.log_determinant().item(), 4.0_f64.ln());
    ///
    /// let indefinite = Csr::from_triplets((2, 2), [(0, 0, 1.0), (0, 1, 2.0), (1, 0, 2.0), (1, 1, 1.0)])?;
    /// let problem = indefinite.cholesky().err().expect("it has a negative eigenvalue");
    /// assert!(problem.to_string().starts_with("cholesky: the matrix is not positive definite, as row 1 shows"));
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`SparseCholesky::new`]; where elements are not finite; and where the matrix is not positive definite, with the first row, in
    /// the order of elimination, whose pivot is not a positive number.
    #[track_caller]
    pub fn cholesky(&self) -> Result<SparseFactor<Concrete, E>> {
        let cholesky = SparseCholesky::new(self.pattern())?;
        let values = self.values().clone();
        let packed = available(array::sparse::factor(&cholesky.elimination, values.array()), || "cholesky".into());
        match packed {
            Ok(packed) => Ok(SparseFactor { cholesky, values, packed: Tensor::wrap(packed) }),
            Err(row) => {
                let problem = match is_finite(&values) {
                    true => format!("the matrix is not positive definite, as row {row} shows"),
                    false => "the matrix has elements that are not finite".into(),
                };
                Err(Error::operands("cholesky", problem, Location::caller()))
            }
        }
    }

    /// The solution x of A x = b for the positive definite symmetric part A of this matrix: one right side, or one in each column of a
    /// matrix.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let matrix = Csr::from_triplets((2, 2), [(0, 0, 4.0), (0, 1, 2.0), (1, 0, 2.0), (1, 1, 2.0)])?;
    /// assert_eq!(matrix.solve_spd(&Vector::from(vec![8.0, 6.0]))?.to_vec(), [1.0, 2.0]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Csr::cholesky`], and when b has another number of rows.
    #[track_caller]
    pub fn solve_spd<S: RightSide<R2>>(&self, b: &Tensor<Concrete, E, S>) -> Result<Tensor<Concrete, E, S>> {
        let (_place, place) = (ReportedAt::caller(), Location::caller());
        let factor = self.cholesky()?;
        factor.fits(b.shape()[0]).map_err(|problem| Error::operands("solve_spd", problem, place))?;
        Ok(factor.solve(b))
    }
}
