//! The operations of linear algebra: a row for each.
//!
//! A matrix is the last two axes of an array, and an operation acts on each of the matrices along the axes before. A
//! factorisation has one result, a matrix in which its factors stand side by side or one above the other; views take them apart.

use super::SpectralFunction;
use std::borrow::Cow;
use std::ops::Range;

/// A triangular matrix in a system of equations. Only its own triangle is read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Triangle {
    /// Whether the elements are below the diagonal rather than above it.
    pub is_lower: bool,
    /// Whether the system has the transposed matrix.
    pub is_transposed: bool,
    /// Whether the elements on the diagonal are 1, whatever is stored there.
    pub has_unit_diagonal: bool,
}

impl Triangle {
    /// A lower triangular matrix.
    pub const LOWER: Triangle = Triangle { is_lower: true, is_transposed: false, has_unit_diagonal: false };
    /// An upper triangular matrix.
    pub const UPPER: Triangle = Triangle { is_lower: false, ..Triangle::LOWER };

    /// The system with the transposed matrix.
    #[must_use]
    pub const fn transposed(self) -> Triangle {
        Triangle { is_transposed: !self.is_transposed, ..self }
    }

    /// The system with 1 on the diagonal.
    #[must_use]
    pub const fn unit(self) -> Triangle {
        Triangle { has_unit_diagonal: true, ..self }
    }
}

/// An operation on matrices of floats.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum MatrixOperation {
    /// The solution X of A X = B, where A is triangular; B has any number of columns.
    Solve(Triangle),
    /// The solution X of A X = B, of a square matrix A, its [`MatrixOperation::Lu`], and B. The derivative is that of A and B.
    SolveGeneral,
    /// As [`MatrixOperation::SolveGeneral`], with the transpose of A.
    SolveGeneralTransposed,
    /// The solution X of A X = B, of the positive definite symmetric part of A, its [`MatrixOperation::Cholesky`], and B. The derivative
    /// is that of A and B.
    SolvePositive,
    /// The solution X of A X = B, of a banded square matrix A, given the bands below its diagonal, from the lowest up, those from its
    /// diagonal on, and B. Column i of both has elements of row i of A; what is beside A is not read.
    SolveBanded,
    /// As [`MatrixOperation::SolveBanded`], with the transpose of A.
    SolveBandedTransposed,
    /// The inverse of the positive definite symmetric part of a matrix, of that and its [`MatrixOperation::Cholesky`].
    InversePositive,
    /// The natural logarithm of the determinant of the positive definite symmetric part of a matrix, of that and its
    /// [`MatrixOperation::Cholesky`]: one element.
    LogDeterminant,
    /// The lower triangular L with L Lᵀ = A, the symmetric part of the operand; zeros above the diagonal. NaN where A is not
    /// positive definite.
    Cholesky,
    /// The derivative of [`MatrixOperation::Cholesky`], given the factor L and a derivative of the matrix: the lower triangular X with
    /// X Lᵀ + L Xᵀ = S, the symmetric part of the second operand.
    CholeskyForward,
    /// The transpose of [`MatrixOperation::CholeskyForward`] as a map of its last operand: the symmetric Y such that 2 Y L has the lower
    /// triangle of that.
    CholeskyAdjoint,
    /// P A = L U with partial pivoting, of an m × n matrix: an m × (n + 1) matrix. Its first n columns have U on and above the
    /// diagonal, and L, whose diagonal is 1, below; the last column has the rows of A in the order of P A, as numbers.
    Lu,
    /// The derivative of [`MatrixOperation::Lu`] but for the order of rows, which does not move, given that result and a derivative Ȧ of
    /// the matrix: an m × n matrix with U̇ on and above the diagonal and L̇ below, where L̇ U + L U̇ = P Ȧ.
    LuForward,
    /// The transpose of [`MatrixOperation::LuForward`] as a map of its last operand Z: the Y for which P Y Uᵀ has what is below the
    /// diagonal of Z, and Lᵀ P Y the rest of it.
    LuAdjoint,
    /// A = Q R of an m × n matrix, by Householder's reflections; k is the lesser of m and n. The result is (m + n) × k: Q, whose
    /// columns are orthonormal, above the transpose of R, which is upper triangular.
    Qr,
    /// The transpose of R of [`MatrixOperation::Qr`] alone.
    QrTriangle,
    /// As [`MatrixOperation::Qr`], with k = m: Q is square.
    FullQr,
    /// The eigenvalues λ, ascending, and orthonormal eigenvectors V of the symmetric part A of an n × n matrix: A V = V Λ. The result
    /// is (n + 1) × n: V above a row of λ. The largest element of each vector, the first of several, is positive.
    Eigh,
    /// The last row of [`MatrixOperation::Eigh`] alone.
    EighValues,
    /// A = U S Vᵀ of an m × n matrix, with singular values that descend; k is the lesser of m and n. The result is (m + 1 + n) × k: U
    /// above a row of the values, above V. The largest element of each column of U, or of V where there are more columns than
    /// rows, is positive.
    Svd,
    /// The row of singular values of [`MatrixOperation::Svd`] alone.
    SvdValues,
    /// The pseudo-inverse V S⁺ Uᵀ of an m × n matrix: n × m. Singular values of no more than the larger extent times the precision of
    /// the numbers, times the largest, count as 0, and stay so: the derivative is that of matrices of the same rank.
    PseudoInverse,
    /// 1 / (λⱼ − λᵢ) in row i and column j, for a row λ of n values; 0 where two values are as good as equal: where they differ by no
    /// more than 8 n times the precision of the numbers, times the largest. The diagonal is 0.
    InverseDifferences,
    /// As [`MatrixOperation::InverseDifferences`], of the sums λⱼ + λᵢ.
    InverseSums,
    /// The first operand, vectors as columns that belong to the second, a row of values. Its derivative is NaN where two values are no
    /// further apart than the cube root of the precision of the numbers, times the largest, or, of vectors that are no square
    /// matrix, a value is no further from 0.
    Unique,
    /// The derivative of an order k of f(A), the function of the symmetric part of A, along k matrices: Dᵏ f(A)[E₁, .., Eₖ], of
    /// which the symmetric parts count. The operands are A, its [`MatrixOperation::Eigh`], and the k matrices, in which it is linear
    /// and symmetric. As a map of the last it is its own transpose, since f(A) is a gradient.
    Spectral {
        /// The function.
        function: SpectralFunction,
        /// The order of the derivative: 0 for the function itself.
        order: u8,
    },
    /// The determinant of a square matrix, of that and its [`MatrixOperation::Lu`]: one element.
    Determinant,
    /// The derivative of an order k of the cofactors of a square matrix, which are the gradient of its determinant, along k
    /// matrices. The operands are those of [`MatrixOperation::Spectral`], with [`MatrixOperation::Lu`] in the place of eigenvalues; it
    /// is its own transpose for the same reason.
    Cofactors {
        /// The order of the derivative: 0 for the cofactors themselves.
        order: u8,
    },
}

/// The most elements of an array inside of such a derivative.
const MOST_ELEMENTS: usize = 1 << 50;

/// Derivatives of functions of a matrix have at most this order: there are as many terms as orders of so many matrices.
pub(crate) const MOST_ORDERS: u8 = 8;

/// Values are as good as equal if they differ by no more than so many times the precision of numbers, times their count and the
/// largest of them.
pub(crate) const CLUSTER: f64 = 8.0;

/// The operations, with their names in printed programs.
const MATRIX_ROWS: [(&str, MatrixOperation); 33] = [
    ("cholesky", MatrixOperation::Cholesky),
    ("cholesky_forward", MatrixOperation::CholeskyForward),
    ("cholesky_adjoint", MatrixOperation::CholeskyAdjoint),
    ("lu", MatrixOperation::Lu),
    ("lu_forward", MatrixOperation::LuForward),
    ("lu_adjoint", MatrixOperation::LuAdjoint),
    ("qr", MatrixOperation::Qr),
    ("qr_triangle", MatrixOperation::QrTriangle),
    ("full_qr", MatrixOperation::FullQr),
    ("eigh", MatrixOperation::Eigh),
    ("eigh_values", MatrixOperation::EighValues),
    ("svd", MatrixOperation::Svd),
    ("svd_values", MatrixOperation::SvdValues),
    ("pseudo_inverse", MatrixOperation::PseudoInverse),
    ("inverse_differences", MatrixOperation::InverseDifferences),
    ("inverse_sums", MatrixOperation::InverseSums),
    ("unique", MatrixOperation::Unique),
    ("solve_general", MatrixOperation::SolveGeneral),
    ("solve_general_transposed", MatrixOperation::SolveGeneralTransposed),
    ("solve_positive", MatrixOperation::SolvePositive),
    ("solve_banded", MatrixOperation::SolveBanded),
    ("solve_banded_transposed", MatrixOperation::SolveBandedTransposed),
    ("inverse_positive", MatrixOperation::InversePositive),
    ("log_determinant", MatrixOperation::LogDeterminant),
    ("determinant", MatrixOperation::Determinant),
    ("solve_lower", MatrixOperation::Solve(Triangle::LOWER)),
    ("solve_upper", MatrixOperation::Solve(Triangle::UPPER)),
    ("solve_lower_transposed", MatrixOperation::Solve(Triangle::LOWER.transposed())),
    ("solve_upper_transposed", MatrixOperation::Solve(Triangle::UPPER.transposed())),
    ("solve_unit_lower", MatrixOperation::Solve(Triangle::LOWER.unit())),
    ("solve_unit_upper", MatrixOperation::Solve(Triangle::UPPER.unit())),
    ("solve_unit_lower_transposed", MatrixOperation::Solve(Triangle::LOWER.unit().transposed())),
    ("solve_unit_upper_transposed", MatrixOperation::Solve(Triangle::UPPER.unit().transposed())),
];

/// The problem of a square matrix and a right side.
fn unfit(n: usize, rows: usize) -> String {
    format!("a matrix of {n} by {n} does not fit a right side of {rows} rows")
}

/// The problem of a matrix and factors that are none of it.
fn factors(operands: &[[usize; 2]]) -> String {
    let ([m, n], [rows, columns]) = (operands[0], operands[1]);
    format!("a matrix of {rows} by {columns} has no factors of one of {m} by {n}")
}

impl MatrixOperation {
    /// Its name in printed programs.
    pub fn name(self) -> Cow<'static, str> {
        let ordered = |order: u8, name: String| match order {
            0 => name.into(),
            _ => format!("derivative_{order}_{name}").into(),
        };
        match self {
            MatrixOperation::Spectral { function, order } => ordered(order, format!("spectral_{function}")),
            MatrixOperation::Cofactors { order } => ordered(order, "cofactors".into()),
            op => MATRIX_ROWS.iter().find(|(_, other)| *other == op).map_or("", |(name, _)| name).into(),
        }
    }

    /// The operation of a name.
    pub(crate) fn named(name: &str) -> Option<MatrixOperation> {
        if let Some(&(_, op)) = MATRIX_ROWS.iter().find(|(other, _)| *other == name) {
            return Some(op);
        }
        let (order, rest) = match name.strip_prefix("derivative_") {
            Some(rest) => rest.split_once('_').and_then(|(order, rest)| Some((order.parse::<u8>().ok()?, rest)))?,
            None => (0, name),
        };
        let op = match rest.strip_prefix("spectral_") {
            Some(function) => MatrixOperation::Spectral { function: SpectralFunction::named(function)?, order },
            None if rest == "cofactors" => MatrixOperation::Cofactors { order },
            None => return None,
        };
        (order <= MOST_ORDERS && op.name() == name).then_some(op)
    }

    /// The order of a derivative that is an operation of its own.
    fn order(self) -> Option<u8> {
        match self {
            MatrixOperation::Spectral { order, .. } | MatrixOperation::Cofactors { order } => Some(order),
            _ => None,
        }
    }

    /// Whether it is the derivative of a function of its first operand along all operands behind the second.
    pub(crate) fn is_multilinear(self) -> bool {
        self.order().is_some()
    }

    /// The derivative of an operation that is one, along one matrix more.
    pub(crate) fn derivative(self) -> MatrixOperation {
        match self {
            MatrixOperation::Spectral { function, order } => {
                MatrixOperation::Spectral { function, order: order.saturating_add(1) }
            }
            MatrixOperation::Cofactors { order } => MatrixOperation::Cofactors { order: order.saturating_add(1) },
            op => unreachable!("no derivative: {op:?}"),
        }
    }

    /// Whether it is run as the program of other operations that it is written out as: engines have no code for it.
    pub(crate) fn is_program(self) -> bool {
        self.is_multilinear() || matches!(self, MatrixOperation::LogDeterminant | MatrixOperation::Determinant)
    }

    /// The number of operands.
    pub(crate) fn operands(self) -> usize {
        match self {
            MatrixOperation::Spectral { order, .. } | MatrixOperation::Cofactors { order } => 2 + usize::from(order),
            MatrixOperation::SolveGeneral
            | MatrixOperation::SolveGeneralTransposed
            | MatrixOperation::SolvePositive
            | MatrixOperation::SolveBanded
            | MatrixOperation::SolveBandedTransposed => 3,
            MatrixOperation::Solve(_)
            | MatrixOperation::CholeskyForward
            | MatrixOperation::CholeskyAdjoint
            | MatrixOperation::LuForward
            | MatrixOperation::LuAdjoint
            | MatrixOperation::InversePositive
            | MatrixOperation::LogDeterminant
            | MatrixOperation::Determinant
            | MatrixOperation::Unique => 2,
            _ => 1,
        }
    }

    /// Rows and columns of the result, given those of the operands.
    ///
    /// # Errors
    ///
    /// A sentence that says which operands do not fit.
    pub(crate) fn result(self, operands: &[[usize; 2]]) -> Result<[usize; 2], String> {
        let [m, n] = operands[0];
        let square = || if m == n { Ok(()) } else { Err(format!("takes a square matrix, not one of {m} by {n}")) };
        match self {
            MatrixOperation::Solve(_)
            | MatrixOperation::SolveGeneral
            | MatrixOperation::SolveGeneralTransposed
            | MatrixOperation::SolvePositive => {
                square()?;
                let [rows, columns] = operands[operands.len() - 1];
                if rows != n {
                    return Err(unfit(n, rows));
                }
                let is_factored = match self {
                    MatrixOperation::Solve(_) => true,
                    MatrixOperation::SolvePositive => operands[1] == [n, n],
                    _ => operands[1] == [n, n.saturating_add(1)],
                };
                if is_factored { Ok([rows, columns]) } else { Err(factors(operands)) }
            }
            MatrixOperation::SolveBanded | MatrixOperation::SolveBandedTransposed => {
                let ([upper, extent], [rows, columns]) = (operands[1], operands[2]);
                if upper == 0 || extent != n {
                    return Err(format!(
                        "bands of {m} by {n} do not fit those from a diagonal on, {upper} by {extent}"
                    ));
                }
                if rows == n { Ok([rows, columns]) } else { Err(unfit(n, rows)) }
            }
            MatrixOperation::CholeskyForward
            | MatrixOperation::CholeskyAdjoint
            | MatrixOperation::InversePositive
            | MatrixOperation::LogDeterminant => {
                square()?;
                match operands[1] == [n, n] {
                    true if self == MatrixOperation::LogDeterminant => Ok([1, 1]),
                    true => Ok([n, n]),
                    false => Err(factors(operands)),
                }
            }
            MatrixOperation::Cholesky => {
                square()?;
                Ok([n, n])
            }
            MatrixOperation::Spectral { order, .. } | MatrixOperation::Cofactors { order } => {
                square()?;
                let more = n.saturating_add(1);
                let packed = if let MatrixOperation::Spectral { .. } = self { [more, n] } else { [n, more] };
                if operands[1] != packed {
                    return Err(factors(operands));
                }
                if let Some([rows, columns]) = operands[2..].iter().find(|moved| **moved != [n, n]) {
                    return Err(format!("a matrix of {n} by {n} does not move along one of {rows} by {columns}"));
                }
                // Its program has an element for each row, in each of so many axes.
                let limit = match n.checked_pow(u32::from(order) + 2) {
                    _ if order > MOST_ORDERS => format!("orders above {MOST_ORDERS} are not computed"),
                    Some(count) if count <= MOST_ELEMENTS => return Ok([n, n]),
                    _ => "it has too many elements".to_string(),
                };
                Err(format!("has no derivative of order {order} for a matrix of {n} by {n}: {limit}"))
            }
            MatrixOperation::Determinant => {
                square()?;
                if operands[1] == [n, n.saturating_add(1)] { Ok([1, 1]) } else { Err(factors(operands)) }
            }
            MatrixOperation::Lu => Ok([m, n.saturating_add(1)]),
            MatrixOperation::LuForward | MatrixOperation::LuAdjoint => {
                let [rows, columns] = operands[1];
                let is_factored = [rows, columns.saturating_add(1)] == [m, n];
                if is_factored { Ok([rows, columns]) } else { Err(factors(&[operands[1], operands[0]])) }
            }
            MatrixOperation::Qr => Ok([m.saturating_add(n), m.min(n)]),
            MatrixOperation::QrTriangle => Ok([n, m.min(n)]),
            MatrixOperation::FullQr => Ok([m.saturating_add(n), m]),
            MatrixOperation::Eigh | MatrixOperation::EighValues => {
                square()?;
                Ok([if self == MatrixOperation::Eigh { n.saturating_add(1) } else { 1 }, n])
            }
            MatrixOperation::Svd => Ok([m.saturating_add(n).saturating_add(1), m.min(n)]),
            MatrixOperation::SvdValues => Ok([1, m.min(n)]),
            MatrixOperation::PseudoInverse => Ok([n, m]),
            MatrixOperation::InverseDifferences | MatrixOperation::InverseSums if m == 1 => Ok([n, n]),
            MatrixOperation::InverseDifferences | MatrixOperation::InverseSums => {
                Err(format!("takes a row of values, not a matrix of {m} by {n}"))
            }
            MatrixOperation::Unique if operands[1] == [1, n] => Ok([m, n]),
            MatrixOperation::Unique => {
                let [rows, columns] = operands[1];
                Err(format!("{n} vectors don't have a matrix of {rows} by {columns} for their values"))
            }
        }
    }

    /// Whether it solves a system of equations, whose right side is the last operand.
    pub(crate) fn is_system(self) -> bool {
        matches!(
            self,
            MatrixOperation::Solve(_)
                | MatrixOperation::SolveGeneral
                | MatrixOperation::SolveGeneralTransposed
                | MatrixOperation::SolvePositive
                | MatrixOperation::SolveBanded
                | MatrixOperation::SolveBandedTransposed
        )
    }

    /// The transpose of an operation that is linear in its last operand, as a map of that: of a system of equations the one with the
    /// transposed matrix.
    pub(crate) fn transposed(self) -> MatrixOperation {
        match self {
            MatrixOperation::CholeskyForward => MatrixOperation::CholeskyAdjoint,
            MatrixOperation::CholeskyAdjoint => MatrixOperation::CholeskyForward,
            MatrixOperation::LuForward => MatrixOperation::LuAdjoint,
            MatrixOperation::LuAdjoint => MatrixOperation::LuForward,
            MatrixOperation::Solve(triangle) => MatrixOperation::Solve(triangle.transposed()),
            MatrixOperation::SolveGeneral => MatrixOperation::SolveGeneralTransposed,
            MatrixOperation::SolveGeneralTransposed => MatrixOperation::SolveGeneral,
            MatrixOperation::SolvePositive => MatrixOperation::SolvePositive,
            MatrixOperation::SolveBanded => MatrixOperation::SolveBandedTransposed,
            MatrixOperation::SolveBandedTransposed => MatrixOperation::SolveBanded,
            op if op.is_multilinear() => op,
            op => unreachable!("not linear in its last operand: {op:?}"),
        }
    }

    /// The operation whose result is some rows of this one's alone, and those rows, if there is one.
    pub(crate) fn alone(self, [m, n]: [usize; 2]) -> Option<(MatrixOperation, Range<usize>)> {
        match self {
            MatrixOperation::Qr => Some((MatrixOperation::QrTriangle, m..m + n)),
            MatrixOperation::Eigh => Some((MatrixOperation::EighValues, n..n + 1)),
            MatrixOperation::Svd => Some((MatrixOperation::SvdValues, m..m + 1)),
            _ => None,
        }
    }

    /// Operations on floats for one matrix, to the leading order.
    pub(crate) fn work(self, operands: &[[usize; 2]]) -> u128 {
        let [m, n] = operands[0].map(|extent| extent as u128);
        let k = m.min(n);
        let product = |factors: [u128; 3]| factors.into_iter().fold(1, u128::saturating_mul);
        match self {
            MatrixOperation::Solve(_) => product([m, n, operands[1][1] as u128]),
            MatrixOperation::SolveGeneral
            | MatrixOperation::SolveGeneralTransposed
            | MatrixOperation::SolvePositive => product([m, n, operands[2][1] as u128]).saturating_mul(2),
            MatrixOperation::SolveBanded | MatrixOperation::SolveBandedTransposed => {
                let ([upper, _], [_, columns]) = (operands[1], operands[2]);
                let width = m.saturating_add(upper as u128);
                let sides = product([n, m.saturating_add(width), columns as u128]);
                product([n, m, width]).saturating_add(sides).saturating_mul(2)
            }
            MatrixOperation::CholeskyForward | MatrixOperation::CholeskyAdjoint | MatrixOperation::InversePositive => {
                product([n, n, n]) * 2 / 3
            }
            MatrixOperation::LogDeterminant => n.saturating_mul(10),
            MatrixOperation::Cholesky => product([n, n, n]) / 3,
            MatrixOperation::Lu => product([m, n, k]).saturating_mul(2).saturating_sub(product([k, k, k])),
            MatrixOperation::LuForward | MatrixOperation::LuAdjoint => {
                MatrixOperation::Lu.work(&operands[1..]).saturating_mul(2)
            }
            MatrixOperation::Qr => product([m, n, k]).saturating_mul(4),
            MatrixOperation::QrTriangle => product([m, n, k]).saturating_mul(2),
            MatrixOperation::FullQr => product([m, n, k]).saturating_mul(2).saturating_add(product([m, m, k]) * 2),
            MatrixOperation::Eigh => product([n, n, n]).saturating_mul(9),
            MatrixOperation::EighValues => product([n, n, n]) * 4 / 3,
            MatrixOperation::Svd | MatrixOperation::PseudoInverse => product([m, n, k]).saturating_mul(20),
            MatrixOperation::SvdValues => product([m, n, k]).saturating_mul(8),
            MatrixOperation::InverseDifferences | MatrixOperation::InverseSums => product([n, n, 3]),
            MatrixOperation::Unique => 0,
            MatrixOperation::Spectral { order, .. } | MatrixOperation::Cofactors { order } => {
                let terms = n.saturating_pow(u32::from(order) + 1).saturating_mul(10);
                product([n, n, n]).saturating_mul(4 * (u128::from(order) + 1)).saturating_add(terms)
            }
            MatrixOperation::Determinant => product([n, n, 3]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_functions_are_read_again() {
        let functions = [SpectralFunction::Exp, SpectralFunction::power(-0.75), SpectralFunction::power(1e-7)];
        for order in 0..=MOST_ORDERS {
            let all = functions.map(|function| MatrixOperation::Spectral { function, order });
            for op in all.into_iter().chain([MatrixOperation::Cofactors { order }]) {
                assert_eq!(MatrixOperation::named(&op.name()), Some(op));
            }
        }
        let no_names = [
            "spectral_",
            "spectral_power_0.5",
            "spectral_power_1e3",
            "spectral_power_minus_0",
            "derivative_0_cofactors",
            "derivative_9_cofactors",
            "derivative_1_eigh",
        ];
        assert!(no_names.into_iter().all(|name| MatrixOperation::named(name).is_none()));
    }
}
