//! Where a matrix may be other than zero.

use crate::error::{Error, Result};
use std::fmt;

/// Where a matrix may be other than zero: compressed sparse rows without values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    columns: usize,
    row_offsets: Vec<usize>,
    column_indices: Vec<usize>,
}

/// Room for the offsets of so many rows, or a description of the problem.
pub(super) fn room_for_offsets(rows: usize, what: &str) -> std::result::Result<Vec<usize>, String> {
    let mut offsets = Vec::new();
    let room = rows.checked_add(1).is_some_and(|count| offsets.try_reserve_exact(count).is_ok());
    if room { Ok(offsets) } else { Err(format!("{rows} {what} are more than memory holds")) }
}

impl Pattern {
    /// A pattern of `columns` columns in the form of compressed sparse rows: row `i` has the entries
    /// `row_offsets[i]..row_offsets[i + 1]` of `column_indices`.
    ///
    /// ```
    /// use deltaray::sparse::Pattern;
    ///
    /// let pattern = Pattern::new(3, vec![0, 2, 3], vec![0, 2, 1])?;
    /// assert_eq!(pattern.to_string(), "x.x\n.x.\n");
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the offsets do not ascend from 0 to the number of entries, or when the columns of a row do not ascend strictly
    /// below `columns`; when there are more columns than memory could hold as the rows of the transpose.
    pub fn new(columns: usize, row_offsets: Vec<usize>, column_indices: Vec<usize>) -> Result<Pattern> {
        let wrong = |problem: String| Err(Error::Structure(format!("a sparsity pattern: {problem}")));
        if row_offsets.first() != Some(&0) || row_offsets.last() != Some(&column_indices.len()) {
            return wrong(format!("the offsets of rows do not run from 0 to {}", column_indices.len()));
        }
        if let Err(problem) = room_for_offsets(columns, "columns") {
            return wrong(problem);
        }
        for (row, ends) in row_offsets.windows(2).enumerate() {
            let Some(entries) = column_indices.get(ends[0]..ends[1]) else {
                return wrong(format!("row {row} ends at {} before it begins, at {}", ends[1], ends[0]));
            };
            if entries.windows(2).any(|pair| pair[0] >= pair[1]) || entries.last().is_some_and(|&last| last >= columns)
            {
                return wrong(format!("the columns of row {row} do not ascend below {columns}"));
            }
        }
        Ok(Pattern { columns, row_offsets, column_indices })
    }

    /// A pattern of `columns` columns from the columns of each row, in any order; a column that is given twice counts once.
    ///
    /// ```
    /// use deltaray::sparse::Pattern;
    ///
    /// let pattern = Pattern::from_rows(3, [vec![2, 0], vec![1]])?;
    /// assert_eq!(pattern.to_string(), "x.x\n.x.\n");
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When there is no such column.
    pub fn from_rows<R: IntoIterator<Item = usize>>(
        columns: usize,
        rows: impl IntoIterator<Item = R>,
    ) -> Result<Pattern> {
        let (mut row_offsets, mut column_indices) = (vec![0], Vec::new());
        for row in rows {
            let mut entries: Vec<usize> = row.into_iter().collect();
            entries.sort_unstable();
            entries.dedup();
            column_indices.append(&mut entries);
            row_offsets.push(column_indices.len());
        }
        Pattern::new(columns, row_offsets, column_indices)
    }

    /// Numbers of rows and columns.
    ///
    /// ```
    /// use deltaray::sparse::Pattern;
    ///
    /// assert_eq!(Pattern::from_rows(3, [vec![2, 0], vec![1]])?.shape(), (2, 3));
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn shape(&self) -> (usize, usize) {
        (self.rows(), self.columns)
    }

    /// Number of rows.
    ///
    /// ```
    /// use deltaray::sparse::Pattern;
    ///
    /// assert_eq!(Pattern::from_rows(3, [vec![2, 0], vec![1]])?.rows(), 2);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn rows(&self) -> usize {
        self.row_offsets.len() - 1
    }

    /// Number of columns.
    ///
    /// ```
    /// use deltaray::sparse::Pattern;
    ///
    /// assert_eq!(Pattern::from_rows(3, [vec![2, 0], vec![1]])?.columns(), 3);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Where the rows begin among the entries, and where the last one ends: one number more than there are rows.
    ///
    /// ```
    /// use deltaray::sparse::Pattern;
    ///
    /// assert_eq!(Pattern::from_rows(3, [vec![2, 0], vec![1]])?.row_offsets(), [0, 2, 3]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn row_offsets(&self) -> &[usize] {
        &self.row_offsets
    }

    /// The column of every entry, row by row, ascending in each.
    ///
    /// ```
    /// use deltaray::sparse::Pattern;
    ///
    /// assert_eq!(Pattern::from_rows(3, [vec![2, 0], vec![1]])?.column_indices(), [0, 2, 1]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn column_indices(&self) -> &[usize] {
        &self.column_indices
    }

    /// The columns of the entries of a row, ascending.
    ///
    /// ```
    /// use deltaray::sparse::Pattern;
    ///
    /// assert_eq!(Pattern::from_rows(3, [vec![2, 0], vec![1]])?.row(0), [0, 2]);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When there is no such row.
    pub fn row(&self, row: usize) -> &[usize] {
        &self.column_indices[self.row_offsets[row]..self.row_offsets[row + 1]]
    }

    /// Number of entries.
    ///
    /// ```
    /// use deltaray::sparse::Pattern;
    ///
    /// assert_eq!(Pattern::from_rows(3, [vec![2, 0], vec![1]])?.nonzeros(), 3);
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn nonzeros(&self) -> usize {
        self.column_indices.len()
    }

    /// Whether there is an entry at a row and column; none is outside.
    ///
    /// ```
    /// use deltaray::sparse::Pattern;
    ///
    /// let pattern = Pattern::from_rows(3, [vec![2, 0], vec![1]])?;
    /// assert_eq!((pattern.contains(0, 2), pattern.contains(1, 2), pattern.contains(7, 0)), (true, false, false));
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn contains(&self, row: usize, column: usize) -> bool {
        row < self.rows() && self.row(row).binary_search(&column).is_ok()
    }

    /// The pattern with rows as columns.
    ///
    /// ```
    /// use deltaray::sparse::Pattern;
    ///
    /// let pattern = Pattern::from_rows(3, [vec![2, 0], vec![1]])?;
    /// assert_eq!(pattern.transpose().to_string(), "x.\n.x\nx.\n");
    /// # Ok::<(), deltaray::Error>(())
    /// ```
    pub fn transpose(&self) -> Pattern {
        self.transposed().0
    }

    /// Rows as columns, and which entry of this pattern each entry of that one was.
    pub(super) fn transposed(&self) -> (Pattern, Vec<usize>) {
        let mut row_offsets = vec![0; self.columns + 1];
        self.column_indices.iter().for_each(|&column| row_offsets[column + 1] += 1);
        for column in 0..self.columns {
            row_offsets[column + 1] += row_offsets[column];
        }
        let mut next = row_offsets.clone();
        let (mut column_indices, mut order) = (vec![0; self.nonzeros()], vec![0; self.nonzeros()]);
        for row in 0..self.rows() {
            for entry in self.row_offsets[row]..self.row_offsets[row + 1] {
                let place = &mut next[self.column_indices[entry]];
                (column_indices[*place], order[*place]) = (row, entry);
                *place += 1;
            }
        }
        (Pattern { columns: self.rows(), row_offsets, column_indices }, order)
    }

    /// All entries of this square pattern and of its transpose.
    pub(super) fn symmetric(&self) -> Pattern {
        debug_assert_eq!(self.rows(), self.columns);
        let transpose = self.transpose();
        let (mut row_offsets, mut column_indices) = (vec![0], Vec::with_capacity(self.nonzeros()));
        for row in 0..self.rows() {
            let start = column_indices.len();
            column_indices.extend_from_slice(self.row(row));
            column_indices.extend_from_slice(transpose.row(row));
            column_indices[start..].sort_unstable();
            // Removing repeats shortens each row, so entries move down over free places.
            let mut kept = start;
            for at in start..column_indices.len() {
                if kept == start || column_indices[kept - 1] != column_indices[at] {
                    column_indices[kept] = column_indices[at];
                    kept += 1;
                }
            }
            column_indices.truncate(kept);
            row_offsets.push(kept);
        }
        Pattern { columns: self.columns, row_offsets, column_indices }
    }
}

impl fmt::Display for Pattern {
    /// A line for each row: `x` where there is an entry, else a dot.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in 0..self.rows() {
            let mut line = vec!['.'; self.columns];
            self.row(row).iter().for_each(|&column| line[column] = 'x');
            writeln!(f, "{}", line.into_iter().collect::<String>())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_checked() {
        assert!(Pattern::new(3, vec![0, 2, 2, 3], vec![0, 2, 1]).is_ok());
        for (columns, offsets, indices) in [
            (3, vec![], vec![]),
            (3, vec![0, 2], vec![0, 2, 1]),
            (3, vec![1, 3], vec![0, 2, 1]),
            (3, vec![0, 4, 3], vec![0, 1, 2]),
            (3, vec![0, 2, 1, 3], vec![0, 1, 2]),
            (3, vec![0, 2], vec![1, 1]),
            (3, vec![0, 2], vec![2, 0]),
            (2, vec![0, 2], vec![0, 2]),
        ] {
            let text = format!("{columns} {offsets:?} {indices:?}");
            assert!(Pattern::new(columns, offsets, indices).is_err(), "{text}");
        }
        assert!(Pattern::from_rows(2, [vec![0, 2]]).is_err());
    }

    #[test]
    fn transposing_and_symmetry() {
        let pattern = Pattern::from_rows(3, [vec![2, 0], vec![], vec![1]]).unwrap();
        assert_eq!(pattern.to_string(), "x.x\n...\n.x.\n");
        assert_eq!(pattern.transpose().to_string(), "x..\n..x\nx..\n");
        assert_eq!(pattern.transpose().transpose(), pattern);
        assert_eq!(pattern.symmetric().to_string(), "x.x\n..x\nxx.\n");
        assert!(pattern.contains(2, 1) && !pattern.contains(1, 2) && !pattern.contains(3, 0));
        let empty = Pattern::from_rows(4, Vec::<Vec<usize>>::new()).unwrap();
        assert_eq!((empty.shape(), empty.transpose().shape()), ((0, 4), (4, 0)));
    }
}
