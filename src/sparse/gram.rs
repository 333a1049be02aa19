//! Products of a sparse matrix's transpose with the matrix, as least squares need them.

use super::{Csr, Pattern};
use crate::array::{available, filled};
use crate::error::Error;
use crate::tensor::{Float, Vector};
use std::panic::Location;
use std::sync::Arc;

impl Pattern {
    /// The pattern of Aᵀ A: two columns of this one meet where a row has both.
    ///
    /// ```
    /// use deltaray::sparse::Pattern;
    ///
    /// let pattern = Pattern::from_rows(4, [vec![0, 1], vec![1, 3], vec![2]])?;
    /// assert_eq!(pattern.gram().to_string(), "xx..\nxx.x\n..x.\n.x.x\n");
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn gram(&self) -> Pattern {
        let transposed = self.transpose();
        let mut last = vec![usize::MAX; self.columns()];
        let rows = (0..self.columns()).map(|column| {
            let mut met = Vec::new();
            for &other in transposed.row(column).iter().flat_map(|&row| self.row(row)) {
                if last[other] != column {
                    last[other] = column;
                    met.push(other);
                }
            }
            met
        });
        Pattern::from_rows(self.columns(), rows).expect("columns of the pattern")
    }
}

impl<E: Float> Csr<E> {
    /// The elements of Aᵀ A at the entries of a pattern, which [`Pattern::gram`] finds once for all matrices of one pattern: with a
    /// [`SparseCholesky`](super::SparseCholesky) of it, the normal equations of least squares.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let matrix = Csr::from_triplets((3, 2), [(0, 0, 1.0), (1, 0, 1.0), (1, 1, 1.0), (2, 1, 2.0)])?;
    /// let gram = matrix.gram(&matrix.pattern().gram().into());
    /// assert_eq!(gram.to_dense(), Matrix::from([[2.0, 1.0], [1.0, 5.0]]));
    /// // The solution of least squares: here all of A x = b holds.
    /// let right: Vector<_, f64> = matrix.transpose().dot(&Vector::from(vec![1.0, 2.0, 2.0]));
    /// assert!(gram.solve_spd(&right)?.to_vec().iter().all(|x| (x - 1.0).abs() < 1e-15));
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When the pattern has not as many rows, and columns, as this matrix has columns, and when there is no memory for the product.
    #[track_caller]
    pub fn gram(&self, pattern: &Arc<Pattern>) -> Csr<E> {
        let columns = self.columns();
        if pattern.shape() != (columns, columns) {
            let (rows, found) = pattern.shape();
            let problem = format!("a pattern of {rows} by {found} for the products of {columns} columns");
            panic!("{}", Error::operands("gram", problem, Location::caller()));
        }
        let transposed = self.transpose();
        let (own, other) = (self.values().to_vec(), transposed.values().to_vec());
        let mut sums = available(filled(&[columns], E::ZERO), || "gram".into());
        let mut elements = Vec::with_capacity(pattern.nonzeros());
        for column in 0..columns {
            let start = transposed.row_offsets()[column];
            for (&row, &factor) in transposed.pattern().row(column).iter().zip(&other[start..]) {
                let values = &own[self.row_offsets()[row]..];
                for (&at, &value) in self.pattern().row(row).iter().zip(values) {
                    sums[at] = sums[at].plus(factor.times(value));
                }
            }
            elements.extend(pattern.row(column).iter().map(|&at| sums[at]));
            for &row in transposed.pattern().row(column) {
                self.pattern().row(row).iter().for_each(|&at| sums[at] = E::ZERO);
            }
        }
        Csr::new(pattern.clone(), Vector::from(elements)).expect("a value for each entry")
    }
}
