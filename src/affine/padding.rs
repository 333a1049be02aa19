//! Reads beyond the source as reads inside of it, and zeros around.

use super::{AffineMap, AffineParts};
use smallvec::SmallVec;

impl AffineMap {
    /// The read of the result positions that can lie inside, and the padding that turns it into this read. For each result axis
    /// these are the positions that no source axis moving with this axis alone leaves; where several result axes together take
    /// a source axis outside, the first map does so too. `None` where nothing is inside.
    pub(crate) fn padded(&self) -> Option<(AffineMap, AffineMap)> {
        let whole = || (self.clone(), AffineMap::identity(&self.0.result));
        if self.0.inside {
            return Some(whole());
        }
        let mut parts: SmallVec<[(i128, i128); 4]> = self.0.result.iter().map(|&extent| (0, extent as i128)).collect();
        for (row, &extent) in self.0.source.iter().enumerate() {
            let (low, high) = self.range(row);
            if low >= 0 && high < extent as i128 {
                continue;
            }
            let moves = |&column: &usize| self.0.result[column] > 1 && self.coefficient(row, column) != 0;
            let mut moving = (0..self.0.result.len()).filter(moves);
            let (offset, last) = (self.0.offset[row] as i128, extent as i128 - 1);
            match (moving.next(), moving.next()) {
                (None, _) => return None,
                (Some(column), None) => {
                    let coefficient = self.coefficient(row, column) as i128;
                    let (first, end) = if coefficient > 0 { (-offset, last - offset) } else { (offset - last, offset) };
                    let step = coefficient.abs();
                    let (start, stop) = &mut parts[column];
                    *start = (*start).max(-(-first).div_euclid(step));
                    *stop = (*stop).min(end.div_euclid(step) + 1);
                }
                _ => {}
            }
        }
        let (mut inner, mut outer) =
            (AffineParts::clone(&self.0), AffineParts::clone(&AffineMap::identity(&self.0.result).0));
        for (column, &(start, stop)) in parts.iter().enumerate() {
            if start >= stop {
                return None;
            }
            let (start, count) = (start as i64, (stop - start) as usize);
            inner.result[column] = count;
            outer.source[column] = count;
            outer.offset[column] = -start;
            for row in 0..self.0.source.len() {
                inner.offset[row] += self.coefficient(row, column) * start;
            }
        }
        // There may be no such padding, of arrays that no memory holds.
        Some(inner.checked().zip(outer.checked()).unwrap_or_else(whole))
    }

    /// The read as one of a larger array, inside of which it stays, and the read that makes that array from the source, with
    /// zeros around it; as large as needed. `None` where that is too large to be counted.
    pub(crate) fn surrounded(&self) -> Option<(AffineMap, AffineMap)> {
        let rank = self.source().len();
        let mut inner = AffineParts::clone(&self.0);
        let (mut offsets, mut rows): (SmallVec<[i64; 4]>, Vec<SmallVec<[i64; 4]>>) = Default::default();
        for row in 0..rank {
            let (low, high) = self.range(row);
            let low = i64::try_from(low).ok()?;
            inner.source[row] = usize::try_from(high - low as i128).ok()?.checked_add(1)?;
            inner.offset[row] = inner.offset[row].checked_sub(low)?;
            let mut unit = SmallVec::from_elem(0, rank);
            unit[row] = 1;
            rows.push(unit);
            offsets.push(low);
        }
        inner.source.iter().try_fold(1, |count: usize, &extent| count.checked_mul(extent))?;
        Some((AffineMap::checked(self.source(), &inner.source, &rows, &offsets)?, inner.checked()?))
    }
}
