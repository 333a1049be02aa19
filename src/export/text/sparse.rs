//! Operations on sparse matrices, with their patterns.

use super::expression::ParsedTerm;
use super::reader::{ParseResult, TextReader};
use super::tokens::TextProblem;
use crate::array::Array;
use crate::operation::{SparseKind, SparseOperation};
use crate::shape::{DType, Value};
use crate::term::Op;

impl<'t> TextReader<'t> {
    /// A pattern, the row and the column of each entry, and the operands behind it.
    pub(super) fn sparse(&mut self, kind: SparseKind, place: usize) -> ParseResult<ParsedTerm<'t>> {
        let at = self.place();
        let pattern = self.known_array()?;
        let elimination = rows_of(&pattern).and_then(|(offsets, columns)| self.limits.elimination(offsets, columns));
        let elimination = elimination.map_err(|problem| TextProblem::new(problem, at))?.into();
        let args = self.atoms()?;
        let kind = match kind {
            SparseKind::InverseEntries(_) => SparseKind::InverseEntries(args.len().saturating_sub(2)),
            kind => kind,
        };
        Ok(ParsedTerm::Node(self.add(Op::Sparse(SparseOperation { kind, elimination }), &args, place)?))
    }

    /// An array that nothing computes: a list, or, in parentheses, equal elements or a large constant.
    fn known_array(&mut self) -> ParseResult<Array> {
        if self.is_symbol("[") {
            return self.listed();
        }
        self.symbol("(")?;
        let array = if self.accept_word("full") {
            self.full()?
        } else {
            self.word("constant")?;
            self.large_constant()?
        };
        self.symbol(")")?;
        Ok(array)
    }
}

/// Where rows begin and the column of each entry, of entries that are listed row by row.
fn rows_of(pattern: &Array) -> Result<(Vec<usize>, Vec<u32>), String> {
    let (DType::I64, &[count, 2]) = (pattern.dtype(), pattern.shape()) else {
        return Err(format!("a pattern is the row and the column of each entry, i64[.., 2], not {}", pattern.ty()));
    };
    let whole = |at: usize| if let Value::I64(x) = pattern.element(at) { x } else { -1 };
    let (mut offsets, mut columns): (Vec<usize>, Vec<u32>) = (Vec::new(), Vec::new());
    for at in 0..count {
        let (row, column) = (whole(2 * at), whole(2 * at + 1));
        let is_next = row == offsets.len() as i64;
        let is_behind = row == offsets.len() as i64 - 1 && columns.last().is_some_and(|&last| i64::from(last) < column);
        match u32::try_from(column) {
            Ok(column) if is_next || is_behind => columns.push(column),
            _ => return Err(format!("entry {at} of the pattern does not follow the one before it")),
        }
        if is_next {
            offsets.push(at);
        }
    }
    offsets.push(count);
    Ok((offsets, columns))
}
