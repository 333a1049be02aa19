//! The symbolic analysis of a sparse Cholesky factorisation: all that depends on the pattern alone.

use super::degree::minimum_degree;
use std::hash::{Hash, Hasher};

/// A row that is a root of the elimination tree.
const NONE: u32 = u32::MAX;

/// The factor L D Lᵀ of the symmetric part of a sparse matrix, without numbers: the order in which rows are eliminated, and where L
/// has entries. Rows and columns of L are numbered in the order of elimination.
#[derive(Debug)]
pub struct Elimination {
    /// The pattern: where rows begin, and the column of each entry.
    pub(crate) offsets: Vec<usize>,
    pub(crate) columns: Vec<u32>,
    /// The row of the matrix that each row of L is.
    pub(crate) order: Vec<u32>,
    /// Where the columns of L begin, and the row of each entry; the first one is on the diagonal.
    pub(crate) starts: Vec<usize>,
    pub(crate) rows: Vec<u32>,
    /// Where the rows of L begin without their diagonals, and the place of each entry among those of columns.
    pub(crate) row_starts: Vec<usize>,
    pub(crate) places: Vec<u32>,
    /// The column of each entry of rows.
    pub(crate) row_columns: Vec<u32>,
    /// For each entry of the pattern the place in L of its row and column, or column and row.
    pub(crate) entries: Vec<u32>,
    /// For each entry of the pattern the one that is its transpose.
    pub(crate) transposed: Vec<u32>,
}

/// The rest follows of the pattern.
impl PartialEq for Elimination {
    fn eq(&self, other: &Elimination) -> bool {
        std::ptr::eq(self, other) || (&self.offsets, &self.columns) == (&other.offsets, &other.columns)
    }
}

impl Eq for Elimination {}

impl Hash for Elimination {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.extent(), self.columns.len(), self.rows.len()).hash(state);
    }
}

impl Elimination {
    /// The analysis of a pattern in compressed sparse rows, whose factor has at most so many entries.
    ///
    /// # Errors
    ///
    /// A sentence, when the pattern is not of a symmetric matrix with a whole diagonal, or the factor has more entries.
    pub(crate) fn new(offsets: Vec<usize>, columns: Vec<u32>, most: usize) -> Result<Elimination, String> {
        check_rows(&offsets, &columns)?;
        let n = offsets.len() - 1;
        let transposed = transposed(&offsets, &columns)?;
        let mut order = minimum_degree(&offsets, &columns);
        let parents = elimination_tree(&offsets, &columns, &order);
        order = postorder(&parents).into_iter().map(|row| order[row as usize]).collect();
        let inverse = inverse(&order);
        let parents = elimination_tree(&offsets, &columns, &order);
        let mut found = Elimination {
            offsets,
            columns,
            order,
            starts: vec![0; n + 1],
            rows: Vec::new(),
            row_starts: Vec::with_capacity(n + 1),
            places: Vec::new(),
            row_columns: Vec::new(),
            entries: Vec::new(),
            transposed,
        };
        found.fill(&parents, &inverse, most.min(NONE as usize - 1))?;
        found.find_entries(&inverse);
        Ok(found)
    }

    /// Number of rows of the matrix.
    pub fn extent(&self) -> usize {
        self.order.len()
    }

    /// Number of entries of the matrix.
    pub fn entries(&self) -> usize {
        self.columns.len()
    }

    /// The row of each entry of the matrix.
    pub(crate) fn entry_rows(&self) -> impl Iterator<Item = u32> {
        let lengths = self.offsets.windows(2).map(|ends| ends[1] - ends[0]);
        (0..).zip(lengths).flat_map(|(row, length)| std::iter::repeat_n(row, length))
    }

    /// The row and the column of each entry of the matrix, row by row.
    pub fn positions(&self) -> impl Iterator<Item = [usize; 2]> {
        self.entry_rows().zip(&self.columns).map(|(row, &column)| [row as usize, column as usize])
    }

    /// Number of entries of L, those on the diagonal among them.
    pub fn factor_entries(&self) -> usize {
        self.rows.len()
    }

    /// Products and sums of a factorisation.
    pub fn work(&self) -> u128 {
        let lengths = self.starts.windows(2).map(|ends| (ends[1] - ends[0]) as u128);
        lengths.map(|length| length * length).sum()
    }

    /// The entries of column `column` of L.
    #[inline]
    pub(crate) fn column(&self, column: usize) -> std::ops::Range<usize> {
        self.starts[column]..self.starts[column + 1]
    }

    /// Finds the entries of L row by row: those of a row are on the paths of the elimination tree from the entries of the matrix up to
    /// the row itself.
    fn fill(&mut self, parents: &[u32], inverse: &[u32], most: usize) -> Result<(), String> {
        let n = parents.len();
        let mut marks = vec![NONE; n];
        let mut counts = vec![1_usize; n];
        self.row_starts.push(0);
        for row in 0..n as u32 {
            marks[row as usize] = row;
            let original = self.order[row as usize] as usize;
            for &column in &self.columns[self.offsets[original]..self.offsets[original + 1]] {
                let mut column = inverse[column as usize];
                while column < row && marks[column as usize] != row {
                    marks[column as usize] = row;
                    counts[column as usize] += 1;
                    self.row_columns.push(column);
                    column = parents[column as usize];
                }
            }
            let start = self.row_starts[row as usize];
            self.row_columns[start..].sort_unstable();
            self.row_starts.push(self.row_columns.len());
            if self.row_columns.len() + n > most {
                return Err(format!("the factor has more than {most} entries"));
            }
        }
        for (column, count) in counts.iter().enumerate() {
            self.starts[column + 1] = self.starts[column] + count;
        }
        let mut next: Vec<usize> = self.starts[..n].to_vec();
        self.rows = vec![0; self.starts[n]];
        self.places = vec![0; self.row_columns.len()];
        for row in 0..n {
            self.rows[next[row]] = row as u32;
            next[row] += 1;
            for at in self.row_starts[row]..self.row_starts[row + 1] {
                let column = self.row_columns[at] as usize;
                self.places[at] = next[column] as u32;
                self.rows[next[column]] = row as u32;
                next[column] += 1;
            }
        }
        Ok(())
    }

    /// Finds the place in L of each entry of the pattern.
    fn find_entries(&mut self, inverse: &[u32]) {
        let mut place = vec![0; self.extent()];
        self.entries = vec![0; self.columns.len()];
        for column in 0..self.extent() {
            for at in self.column(column) {
                place[self.rows[at] as usize] = at as u32;
            }
            let original = self.order[column] as usize;
            for entry in self.offsets[original]..self.offsets[original + 1] {
                let row = inverse[self.columns[entry] as usize] as usize;
                if row >= column {
                    self.entries[entry] = place[row];
                    self.entries[self.transposed[entry] as usize] = place[row];
                }
            }
        }
    }
}

/// Checks that offsets are those of rows whose columns ascend, and that rows and entries can be numbered.
fn check_rows(offsets: &[usize], columns: &[u32]) -> Result<(), String> {
    if offsets.first() != Some(&0) || offsets.last() != Some(&columns.len()) || !offsets.is_sorted() {
        return Err(format!("the offsets of rows do not ascend from 0 to {}", columns.len()));
    }
    if offsets.len() > NONE as usize || columns.len() >= NONE as usize {
        return Err(format!("a matrix of {} rows and {} entries is too large", offsets.len() - 1, columns.len()));
    }
    let ascend = |ends: &[usize]| columns[ends[0]..ends[1]].is_sorted_by(|one, next| one < next);
    match offsets.windows(2).position(|ends| !ascend(ends)) {
        Some(row) => Err(format!("the columns of row {row} do not ascend")),
        None => Ok(()),
    }
}

/// For each entry of a symmetric pattern the one that is its transpose.
fn transposed(offsets: &[usize], columns: &[u32]) -> Result<Vec<u32>, String> {
    let n = offsets.len() - 1;
    let mut transposed = Vec::with_capacity(columns.len());
    for row in 0..n {
        let own = &columns[offsets[row]..offsets[row + 1]];
        if own.binary_search(&(row as u32)).is_err() {
            return Err(format!("no entry on the diagonal in row {row}"));
        }
        for &column in own {
            let at = column as usize;
            let others = if at < n { &columns[offsets[at]..offsets[at + 1]] } else { &[] };
            match others.binary_search(&(row as u32)) {
                Ok(position) => transposed.push((offsets[at] + position) as u32),
                Err(_) => {
                    return Err(format!("an entry at row {row}, column {at}, but none at row {at}, column {row}"));
                }
            }
        }
    }
    Ok(transposed)
}

fn inverse(order: &[u32]) -> Vec<u32> {
    let mut inverse = vec![0; order.len()];
    for (position, &row) in order.iter().enumerate() {
        inverse[row as usize] = position as u32;
    }
    inverse
}

/// For each row, in the order of elimination, the next one that its elimination changes (Liu, 1986).
fn elimination_tree(offsets: &[usize], columns: &[u32], order: &[u32]) -> Vec<u32> {
    let inverse = inverse(order);
    let n = order.len();
    let (mut parents, mut ancestors) = (vec![NONE; n], vec![NONE; n]);
    for row in 0..n as u32 {
        let original = order[row as usize] as usize;
        for &column in &columns[offsets[original]..offsets[original + 1]] {
            let mut at = inverse[column as usize];
            while at < row {
                let next = ancestors[at as usize];
                ancestors[at as usize] = row;
                if next == NONE {
                    parents[at as usize] = row;
                }
                at = next;
            }
        }
    }
    parents
}

/// The rows of a forest in an order in which each subtree is together, and its root comes last.
fn postorder(parents: &[u32]) -> Vec<u32> {
    let n = parents.len();
    let (mut first, mut next) = (vec![NONE; n], vec![NONE; n]);
    let mut roots = Vec::new();
    for row in (0..n).rev() {
        match parents[row] {
            NONE => roots.push(row as u32),
            parent => {
                next[row] = first[parent as usize];
                first[parent as usize] = row as u32;
            }
        }
    }
    let (mut order, mut work) = (Vec::with_capacity(n), roots);
    while let Some(&row) = work.last() {
        match first[row as usize] {
            NONE => {
                order.push(row);
                work.pop();
            }
            child => {
                first[row as usize] = next[child as usize];
                work.push(child);
            }
        }
    }
    order
}
