//! Sparse matrices of numbers, and their uses: products with vectors and dense matrices.

use super::pattern::{Pattern, room_for_offsets};
use crate::array::{Array, available, filled};
use crate::concrete::Concrete;
use crate::error::{Error, Result};
use crate::shape::size;
use crate::tensor::{Dot, Float, Matrix, R2, Rank, Tensor, Vector};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// A sparse matrix in compressed sparse rows, made of plain numbers: the value of a sparse Jacobian or Hessian at a point.
///
/// ```
/// use deltaray::prelude::*;
///
/// # fn main() -> deltaray::Result<()> {
/// let matrix = Csr::from_triplets((2, 3), [(0, 0, 1.0), (1, 2, 3.0), (0, 2, 0.5)])?;
/// assert_eq!((matrix.rows(), matrix.columns(), matrix.nonzeros()), (2, 3, 3));
/// assert_eq!(matrix.dot(&Vector::from([1.0, 1.0, 2.0])).to_vec(), [2.0, 6.0]);
/// assert_eq!(matrix.transpose().dot(&Vector::from([1.0, 1.0])).to_vec(), [1.0, 0.0, 3.5]);
/// let dense: ndarray::Array2<f64> = matrix.to_dense().into();
/// assert_eq!(dense, ndarray::array![[1.0, 0.0, 0.5], [0.0, 0.0, 3.0]]);
/// # Ok(())
/// # }
/// ```
///
/// It prints as rows of values, with a dot where there is no entry; beyond 20 rows or columns as a list of its first 20
/// entries. A precision applies to the values: `{:.2}`.
///
/// ```
/// # use deltaray::prelude::*;
/// # fn main() -> deltaray::Result<()> {
/// let matrix = Csr::from_triplets((2, 3), [(0, 0, 1.0), (1, 2, 3.0), (0, 2, -0.5)])?;
/// assert_eq!(matrix.to_string(), "1 . -0.5\n. .    3\n");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Csr<E: Float> {
    pattern: Arc<Pattern>,
    values: Vector<Concrete, E>,
}

impl<E: Float> Csr<E> {
    /// The matrix with these values at the entries of a pattern, in their order.
    ///
    /// ```
    /// use deltaray::prelude::*;
    /// use deltaray::sparse::Pattern;
    ///
    /// let pattern = Pattern::from_rows(3, [vec![0, 2], vec![2]])?;
    /// let matrix = Csr::new(pattern.into(), Vector::from(vec![1.0, 0.5, 3.0]))?;
    /// assert_eq!(matrix.to_dense(), Matrix::from([[1.0, 0.0, 0.5], [0.0, 0.0, 3.0]]));
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When there are not as many values as entries.
    pub fn new(pattern: Arc<Pattern>, values: Vector<Concrete, E>) -> Result<Csr<E>> {
        if values.len() != pattern.nonzeros() {
            let problem = format!("{} values for a pattern of {} entries", values.len(), pattern.nonzeros());
            return Err(Error::Structure(problem));
        }
        Ok(Csr { pattern, values })
    }

    /// The matrix of numbers of rows and columns with these values at rows and columns, in any order; several at one place are
    /// added.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let matrix = Csr::from_triplets((2, 2), [(1, 0, 2.0), (0, 1, 1.0), (1, 0, 0.5)])?;
    /// assert_eq!(matrix.to_dense(), Matrix::from([[0.0, 1.0], [2.5, 0.0]]));
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When there is no such row or column, or there are more rows or columns than memory holds.
    pub fn from_triplets(
        (rows, columns): (usize, usize),
        triplets: impl IntoIterator<Item = (usize, usize, E)>,
    ) -> Result<Csr<E>> {
        let mut triplets: Vec<(usize, usize, E)> = triplets.into_iter().collect();
        if let Some((row, column, _)) = triplets.iter().find(|&&(row, column, _)| row >= rows || column >= columns) {
            let problem = format!("an entry at row {row}, column {column} of a matrix of shape [{rows}, {columns}]");
            return Err(Error::Structure(problem));
        }
        triplets.sort_by_key(|&(row, column, _)| (row, column));
        let mut row_offsets = room_for_offsets(rows, "rows").map_err(Error::Structure)?;
        row_offsets.resize(rows + 1, 0);
        let (mut column_indices, mut values) = (Vec::new(), Vec::<E>::new());
        let mut previous = None;
        for (row, column, value) in triplets {
            match values.last_mut() {
                Some(last) if previous == Some((row, column)) => *last = last.plus(value),
                _ => {
                    row_offsets[row + 1] += 1;
                    column_indices.push(column);
                    values.push(value);
                }
            }
            previous = Some((row, column));
        }
        for row in 0..rows {
            row_offsets[row + 1] += row_offsets[row];
        }
        Csr::new(Arc::new(Pattern::new(columns, row_offsets, column_indices)?), Vector::from(values))
    }

    /// Numbers of rows and columns.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let matrix = Csr::from_triplets((2, 3), [(0, 0, 1.0), (0, 2, 0.5), (1, 2, 3.0)])?;
    /// assert_eq!(matrix.shape(), (2, 3));
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn shape(&self) -> (usize, usize) {
        self.pattern.shape()
    }

    /// Number of rows.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let matrix = Csr::from_triplets((2, 3), [(0, 0, 1.0), (0, 2, 0.5), (1, 2, 3.0)])?;
    /// assert_eq!(matrix.rows(), 2);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn rows(&self) -> usize {
        self.pattern.rows()
    }

    /// Number of columns.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let matrix = Csr::from_triplets((2, 3), [(0, 0, 1.0), (0, 2, 0.5), (1, 2, 3.0)])?;
    /// assert_eq!(matrix.columns(), 3);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn columns(&self) -> usize {
        self.pattern.columns()
    }

    /// Where entries are.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let matrix = Csr::from_triplets((2, 3), [(0, 0, 1.0), (0, 2, 0.5), (1, 2, 3.0)])?;
    /// assert_eq!(matrix.pattern().to_string(), "x.x\n..x\n");
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// Where the rows begin among the entries, and where the last one ends: one number more than there are rows.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let matrix = Csr::from_triplets((2, 3), [(0, 0, 1.0), (0, 2, 0.5), (1, 2, 3.0)])?;
    /// assert_eq!(matrix.row_offsets(), [0, 2, 3]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn row_offsets(&self) -> &[usize] {
        self.pattern.row_offsets()
    }

    /// The column of every entry, row by row, ascending in each.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let matrix = Csr::from_triplets((2, 3), [(0, 0, 1.0), (0, 2, 0.5), (1, 2, 3.0)])?;
    /// assert_eq!(matrix.column_indices(), [0, 2, 2]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn column_indices(&self) -> &[usize] {
        self.pattern.column_indices()
    }

    /// The value of every entry, row by row; some may be 0.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let matrix = Csr::from_triplets((2, 3), [(0, 0, 1.0), (0, 2, 0.5), (1, 2, 3.0)])?;
    /// assert_eq!(matrix.values().to_vec(), [1.0, 0.5, 3.0]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn values(&self) -> &Vector<Concrete, E> {
        &self.values
    }

    /// Number of entries, those included whose value is 0.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let matrix = Csr::from_triplets((2, 3), [(0, 0, 1.0), (0, 2, 0.5), (1, 2, 3.0)])?;
    /// assert_eq!(matrix.nonzeros(), 3);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn nonzeros(&self) -> usize {
        self.pattern.nonzeros()
    }

    /// Row, column and value of every entry, row by row, with columns ascending in each.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// # fn main() -> deltaray::Result<()> {
    /// let matrix = Csr::from_triplets((2, 2), [(1, 0, 2.0), (0, 1, 1.0), (1, 0, 0.5)])?;
    /// assert_eq!(matrix.triplets().collect::<Vec<_>>(), [(0, 1, 1.0), (1, 0, 2.5)]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn triplets(&self) -> impl Iterator<Item = (usize, usize, E)> {
        let values = self.values.to_vec();
        let places = (0..self.rows()).flat_map(|row| self.pattern.row(row).iter().map(move |&column| (row, column)));
        places.zip(values).map(|((row, column), value)| (row, column, value))
    }

    /// The element at a row and column, 0 where there is no entry; `None` outside of the matrix.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// # fn main() -> deltaray::Result<()> {
    /// let matrix = Csr::from_triplets((2, 2), [(0, 1, 1.0)])?;
    /// let found = [matrix.element(0, 1), matrix.element(1, 0), matrix.element(0, 2)];
    /// assert_eq!(found, [Some(1.0), Some(0.0), None]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn element(&self, row: usize, column: usize) -> Option<E> {
        if row >= self.rows() || column >= self.columns() {
            return None;
        }
        match self.pattern.row(row).binary_search(&column) {
            Ok(at) => self.values.element(&[self.row_offsets()[row] + at]),
            Err(_) => Some(E::ZERO),
        }
    }

    /// The matrix with all its zeros; for small ones.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// let matrix = Csr::from_triplets((2, 3), [(0, 0, 1.0), (0, 2, 0.5), (1, 2, 3.0)])?;
    /// assert_eq!(matrix.to_dense(), Matrix::from([[1.0, 0.0, 0.5], [0.0, 0.0, 3.0]]));
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When there is no memory for it.
    #[track_caller]
    pub fn to_dense(&self) -> Matrix<Concrete, E> {
        let (rows, columns) = self.shape();
        let mut dense = available(filled(&[rows, columns], E::ZERO), || "to_dense".into());
        self.triplets().for_each(|(row, column, value)| dense[row * columns + column] = value);
        Matrix::wrap(Array::from_vec(&[rows, columns], dense))
    }

    /// The product with a vector, or with a dense matrix. Only entries take part: at other places the product with an infinite
    /// element is 0.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// # fn main() -> deltaray::Result<()> {
    /// let matrix = Csr::from_triplets((2, 2), [(0, 0, 2.0), (1, 0, 1.0), (1, 1, 3.0)])?;
    /// assert_eq!(matrix.dot(&Vector::from([1.0, 10.0])).to_vec(), [2.0, 31.0]);
    /// assert_eq!(matrix.dot(&Matrix::from([[1.0, 0.0], [10.0, 1.0]])), Matrix::from([[2.0, 0.0], [31.0, 3.0]]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// When the operand has not as many rows as this matrix has columns, and when there is no memory for the product.
    #[track_caller]
    pub fn dot<S: Rank>(&self, other: &Tensor<Concrete, E, S>) -> Tensor<Concrete, E, <R2 as Dot<S>>::Output>
    where
        R2: Dot<S>,
    {
        let ((rows, columns), mut shape) = (self.shape(), other.shape());
        if shape[0] != columns {
            let problem = format!(
                "operands of shapes [{rows}, {columns}] and {:?}: {columns} columns and {} rows",
                &shape[..],
                shape[0]
            );
            panic!("{}", Error::operands("dot", problem, Location::caller()));
        }
        shape[0] = rows;
        let mut product = available(filled(&shape, E::ZERO), || "dot".into());
        let (elements, width) = (other.to_vec(), size(&shape[1..]));
        for (row, column, value) in self.triplets() {
            let (sums, factors) = (&mut product[row * width..][..width], &elements[column * width..][..width]);
            sums.iter_mut().zip(factors).for_each(|(sum, factor)| *sum = sum.plus(value.times(*factor)));
        }
        Tensor::wrap(Array::from_vec(&shape, product))
    }

    /// The matrix with rows as columns.
    ///
    /// ```
    /// use deltaray::prelude::*;
    ///
    /// # fn main() -> deltaray::Result<()> {
    /// let matrix = Csr::from_triplets((1, 2), [(0, 0, 1.0), (0, 1, 2.0)])?;
    /// assert_eq!(matrix.transpose(), Csr::from_triplets((2, 1), [(0, 0, 1.0), (1, 0, 2.0)])?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn transpose(&self) -> Csr<E> {
        let (pattern, order) = self.pattern.transposed();
        let values = self.values.to_vec();
        let values: Vec<E> = order.into_iter().map(|entry| values[entry]).collect();
        Csr { pattern: Arc::new(pattern), values: Vector::from(values) }
    }
}

/// The most rows and columns that are printed as such, and the most entries of larger matrices.
const PRINTED: usize = 20;

impl<E: Float> fmt::Display for Csr<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let precision = f.precision();
        let text = |value: E| match precision {
            Some(digits) => format!("{value:.digits$}"),
            None => value.to_string(),
        };
        let (rows, columns) = self.shape();
        if rows > PRINTED || columns > PRINTED {
            for (row, column, value) in self.triplets().take(PRINTED) {
                writeln!(f, "({row}, {column}) {}", text(value))?;
            }
            let left = self.nonzeros().saturating_sub(PRINTED);
            return if left > 0 { writeln!(f, ".. and {left} more") } else { Ok(()) };
        }
        let mut cells = vec![".".to_owned(); rows * columns];
        self.triplets().for_each(|(row, column, value)| cells[row * columns + column] = text(value));
        let width = |column: usize| (0..rows).map(|row| cells[row * columns + column].len()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in 0..rows {
            let padded = (0..columns).map(|column| format!("{:>1$}", cells[row * columns + column], widths[column]));
            writeln!(f, "{}", padded.collect::<Vec<_>>().join(" "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 3 rows and 4 columns, the second row and the second column without entries.
    fn matrix() -> Csr<f64> {
        Csr::from_triplets((3, 4), [(2, 3, 5.0), (0, 2, 2.0), (0, 0, -1.0), (2, 0, 4.0), (2, 3, 0.5)]).unwrap()
    }

    fn panic_of<T>(f: impl FnOnce() -> T) -> String {
        let Err(payload) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)) else { panic!("no panic") };
        *payload.downcast::<String>().expect("a text")
    }

    #[test]
    fn a_matrix_has_a_value_for_each_entry() {
        let pattern = Arc::new(Pattern::from_rows(3, [vec![2, 0], vec![], vec![1]]).unwrap());
        let matrix = Csr::new(pattern.clone(), Vector::from(vec![1.0, 2.0, 3.0])).unwrap();
        assert_eq!(matrix.to_dense().to_vec(), [1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0]);
        assert!(Csr::new(pattern, Vector::from(vec![1.0])).is_err());
    }

    #[test]
    fn triplets_go_in_and_come_out() {
        let matrix = matrix();
        assert_eq!((matrix.shape(), matrix.row_offsets()), ((3, 4), &[0, 2, 2, 4][..]));
        let entries = [(0, 0, -1.0), (0, 2, 2.0), (2, 0, 4.0), (2, 3, 5.5)];
        assert_eq!(matrix.triplets().collect::<Vec<_>>(), entries);
        let elements = (0..3).flat_map(|row| (0..4).map(move |column| (row, column)));
        let elements: Vec<f64> = elements.map(|(row, column)| matrix.element(row, column).unwrap()).collect();
        assert_eq!(elements, matrix.to_dense().to_vec());
        assert_eq!((matrix.element(3, 0), matrix.element(0, 4)), (None, None));
        for outside in [(3, 0, 1.0), (0, 4, 1.0)] {
            let error = Csr::from_triplets((3, 4), [outside]).unwrap_err().to_string();
            assert_eq!(
                error,
                format!("an entry at row {}, column {} of a matrix of shape [3, 4]", outside.0, outside.1)
            );
        }
    }

    #[test]
    fn products_and_the_transpose_are_those_of_the_dense_matrix() {
        let (matrix, dense) = (matrix(), matrix().to_dense());
        let vector = Vector::from(vec![1.0, 2.0, 3.0, 4.0]);
        assert_eq!(matrix.dot(&vector), dense.dot(&vector));
        let right = Matrix::from([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]);
        assert_eq!(matrix.dot(&right), dense.dot(&right));
        assert_eq!(matrix.dot(&right.transpose().slice(0, ..0).transpose()).shape()[..], [3, 0]);
        assert_eq!(matrix.transpose().to_dense(), dense.transpose());
        assert_eq!(matrix.transpose().transpose(), matrix);
        let wide = Csr::<f32>::from_triplets((0, 4), []).unwrap();
        assert_eq!((wide.transpose().shape(), wide.dot(&vector.cast::<f32>()).len()), ((4, 0), 0));
    }

    #[test]
    fn what_does_not_fit_names_both_shapes_and_the_line() {
        for (found, shape) in [
            (panic_of(|| matrix().dot(&Vector::from(vec![1.0; 3]))), "[3]"),
            (panic_of(|| matrix().dot(&Matrix::from([[1.0, 2.0]; 3]))), "[3, 2]"),
        ] {
            let expected =
                format!("dot: operands of shapes [3, 4] and {shape}: 4 columns and 3 rows (at src/sparse/csr.rs:");
            assert!(found.starts_with(&expected), "{found}");
        }
    }

    #[test]
    fn shapes_beyond_memory_are_errors() {
        for shape in [(usize::MAX, 1), (1, usize::MAX), (1 << 61, 1), (1, 1 << 61), (1 << 58, 1), (1, 1 << 58)] {
            let error = Csr::<f64>::from_triplets(shape, []).unwrap_err().to_string();
            assert!(error.contains("more than memory holds"), "{shape:?}: {error}");
        }
    }

    #[test]
    fn large_matrices_print_their_first_entries() {
        assert_eq!(format!("{:.1}", matrix()), "-1.0 . 2.0   .\n   . .   .   .\n 4.0 .   . 5.5\n");
        let large = Csr::from_triplets((30, 30), (0..25).map(|at| (at, at, 1.5))).unwrap().to_string();
        let lines: Vec<&str> = large.lines().collect();
        assert_eq!((lines.len(), lines[0], lines[19], lines[20]), (21, "(0, 0) 1.5", "(19, 19) 1.5", ".. and 5 more"));
    }
}
