//! The operations on sparse positive definite matrices, whose pattern is a part of the operation.

mod degree;
mod symbolic;

use std::sync::Arc;
pub use symbolic::Elimination;

/// An operation on the symmetric part of sparse matrices of one pattern, whose entries are the last axis of an array.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SparseOperation {
    /// The operation.
    pub kind: SparseKind,
    /// The pattern of the matrices, and that of their factors.
    pub elimination: Arc<Elimination>,
}

/// The operations on sparse matrices.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum SparseKind {
    /// The factor L D Lᵀ of the matrix: the entries of L column by column, with D in the place of its diagonal. All of it is NaN
    /// where the matrix is not positive definite.
    Factor,
    /// The solution X of A X = B, of the entries of A, its [`SparseKind::Factor`], and B, whose columns are right sides. The
    /// derivative is that of A and B.
    Solve,
    /// The natural logarithm of the determinant, of the entries of the matrix and its [`SparseKind::Factor`].
    LogDeterminant,
    /// The entries of the inverse at the pattern's, or their derivative along as many directions as are given, of the entries of
    /// the matrix, its [`SparseKind::Factor`], and a direction of the entries each.
    InverseEntries(usize),
}

/// The operations, with their names in printed programs; the number of directions follows of that of operands.
const NAMES: [(&str, SparseKind); 4] = [
    ("sparse_factor", SparseKind::Factor),
    ("sparse_solve", SparseKind::Solve),
    ("sparse_log_determinant", SparseKind::LogDeterminant),
    ("sparse_inverse_entries", SparseKind::InverseEntries(0)),
];

impl SparseKind {
    fn name(self) -> &'static str {
        let kind = if let SparseKind::InverseEntries(_) = self { SparseKind::InverseEntries(0) } else { self };
        NAMES.iter().find(|(_, other)| *other == kind).map_or("", |(name, _)| name)
    }

    /// The operation of a name.
    pub(crate) fn named(name: &str) -> Option<SparseKind> {
        NAMES.iter().find(|(other, _)| *other == name).map(|&(_, kind)| kind)
    }
}

impl SparseOperation {
    /// Another operation on the same matrices.
    pub(crate) fn of_kind(&self, kind: SparseKind) -> SparseOperation {
        SparseOperation { kind, elimination: self.elimination.clone() }
    }

    /// Its name in printed programs.
    pub fn name(&self) -> &'static str {
        self.kind.name()
    }

    /// The number of operands.
    pub(crate) fn operands(&self) -> usize {
        match self.kind {
            SparseKind::Factor => 1,
            SparseKind::Solve => 3,
            SparseKind::LogDeterminant => 2,
            SparseKind::InverseEntries(directions) => directions.saturating_add(2),
        }
    }

    /// Whether it solves a system of equations, whose right side is the last operand.
    pub(crate) fn is_system(&self) -> bool {
        self.kind == SparseKind::Solve
    }

    /// The axes of an operand that belong to one matrix.
    pub(crate) fn axes(&self, operand: usize) -> usize {
        if self.is_system() && operand == 2 { 2 } else { 1 }
    }

    /// The extents of the result for one matrix, given those of the operands.
    ///
    /// # Errors
    ///
    /// A sentence that says which operands do not fit.
    pub(crate) fn result(&self, operands: &[&[usize]]) -> Result<Vec<usize>, String> {
        let (n, entries, factor) =
            (self.elimination.extent(), self.elimination.entries(), self.elimination.factor_entries());
        for (position, &extents) in operands.iter().enumerate() {
            let (what, found, expected) = match (position, self.kind) {
                (1, _) => ("factor of", extents[0], factor),
                (2, SparseKind::Solve) => ("right side of", extents[0], n),
                _ => ("matrix of", extents[0], entries),
            };
            if found != expected {
                return Err(format!("a {what} {found} elements does not fit a pattern that takes {expected}"));
            }
        }
        Ok(match self.kind {
            SparseKind::Factor => vec![factor],
            SparseKind::Solve => vec![n, operands[2][1]],
            SparseKind::LogDeterminant => vec![],
            SparseKind::InverseEntries(_) => vec![entries],
        })
    }

    /// Operations on floats for one matrix and so many right sides, to the leading order.
    pub(crate) fn work(&self, columns: usize) -> u128 {
        let entries = self.elimination.factor_entries() as u128;
        match self.kind {
            SparseKind::Factor => self.elimination.work(),
            SparseKind::Solve => entries * 4 * columns as u128,
            SparseKind::LogDeterminant => self.elimination.extent() as u128 * 10,
            SparseKind::InverseEntries(directions) => {
                let order = u32::try_from(directions).unwrap_or(u32::MAX).saturating_add(1);
                let factors = if directions == 0 { 2 } else { 3_u128.saturating_pow(order) };
                self.elimination.work().saturating_mul(factors)
            }
        }
    }
}
