//! Reads through one map and then another as reads through one map.

use super::AffineMap;
use smallvec::SmallVec;

impl AffineMap {
    /// The map that reads through `self` first and `inner` second: `view(view(x, inner), self) = view(x, composed)`.
    ///
    /// `None` where that would not be exact: where `self` reads outside of the result of `inner`, which is 0, while the
    /// composed map might read inside the source; or where it would read too far outside.
    pub fn compose(&self, inner: &AffineMap) -> Option<AffineMap> {
        if self.is_inside() { self.compose_anywhere(inner) } else { None }
    }

    /// As [`Self::compose`], whatever lies outside of the result of `inner`; `None` on overflow alone.
    pub(crate) fn compose_anywhere(&self, inner: &AffineMap) -> Option<AffineMap> {
        self.product(inner, |row| inner.row(row))
    }

    /// As [`Self::compose`], also where `self` reads outside of the result of `inner`, if the composed map then reads outside
    /// too. There must be a source axis that moves with that axis alone, by ±1, and whose positions inside come from positions
    /// inside. So padding composes with permutations and with padding.
    pub(crate) fn compose_with_zeros(&self, inner: &AffineMap) -> Option<AffineMap> {
        if self.is_inside() {
            return self.compose_anywhere(inner);
        }
        let mut rows: Vec<SmallVec<[i64; 4]>> = (0..inner.source().len()).map(|row| inner.row(row).into()).collect();
        let mut taken: SmallVec<[bool; 4]> = SmallVec::from_elem(false, inner.source().len());
        for (middle, &extent) in inner.result().iter().enumerate() {
            let (low, high) = self.range(middle);
            let extent = extent as i128;
            if low >= 0 && high < extent {
                continue;
            }
            let guards = |row: usize| {
                let own = inner.coefficient(row, middle);
                let alone =
                    (0..inner.result().len()).all(|other| other == middle || inner.coefficient(row, other) == 0);
                let (offset, length) = (inner.offset(row) as i128, inner.source()[row] as i128);
                alone
                    && match own {
                        1 => offset <= 0 && length - offset <= extent,
                        -1 => offset - length + 1 >= 0 && offset < extent,
                        _ => false,
                    }
            };
            if (0..inner.source().len()).any(guards) {
                continue;
            }
            // An axis of extent 1 that is read at 0 can be read at the position along another axis of extent 1.
            let unit = (0..inner.source().len()).find(|&row| {
                !taken[row]
                    && inner.source()[row] == 1
                    && inner.offset(row) == 0
                    && inner.row(row).iter().all(|&coefficient| coefficient == 0)
            });
            match unit {
                Some(row) if extent == 1 => {
                    taken[row] = true;
                    rows[row][middle] = 1;
                }
                _ => return None,
            }
        }
        self.product(inner, |row| &rows[row])
    }

    /// The product of the maps' matrices, with these rows in the place of those of `inner`; `None` on overflow.
    fn product<'a>(&self, inner: &AffineMap, row: impl Fn(usize) -> &'a [i64]) -> Option<AffineMap> {
        debug_assert_eq!(self.source(), inner.result());
        let mut matrix: SmallVec<[i64; 9]> = SmallVec::with_capacity(inner.source().len() * self.result().len());
        let mut offset: SmallVec<[i64; 4]> = SmallVec::with_capacity(inner.source().len());
        for at in 0..inner.source().len() {
            // Σ inner[at, middle] · the outer map's coefficient there.
            let through = |start: i64, outer: &dyn Fn(usize) -> i64| {
                let add = |sum: i128, (middle, &factor): (usize, &i64)| {
                    sum.checked_add((factor as i128).checked_mul(outer(middle) as i128)?)
                };
                let sum = row(at).iter().enumerate().try_fold(start as i128, add)?;
                i64::try_from(sum).ok()
            };
            offset.push(through(inner.offset(at), &|middle| self.offset(middle))?);
            for column in 0..self.result().len() {
                matrix.push(through(0, &|middle| self.coefficient(middle, column))?);
            }
        }
        AffineMap::assemble_checked(inner.0.source.clone(), self.0.result.clone(), matrix, offset)
    }
}
