//! Affine index maps: how the result of a view reads its source. This module is for extending the library, and may change
//! between minor versions.

use crate::shape::{Axes, Shape, copied_shape, size, strides};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;

mod compose;
mod padding;
mod print;
mod solve;

pub(crate) use solve::AffineEquation;

/// `result[j] = source[matrix · j + offset]`, and 0 where that position lies outside the source.
///
/// Replication, transposition, slices with steps, reversal, diagonals, padding and every affine gather are of this form;
/// composing views is multiplying matrices. `matrix` has a row for each source axis and a column for each result axis.
///
/// Positions are exact: along each source axis, all sums of some of the terms of a position fit in 64 bits, since positions lie
/// on the axis, or at most [`AffineMap::REACH`] from its first one. No map reads further beyond its source, except for maps
/// that read nothing inside, for which one position outside is representative.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct AffineMap(Arc<AffineParts>);

/// The parts of a map, which are many bytes: programs share them, and their nodes are small.
#[derive(Clone, PartialEq, Eq, Hash)]
struct AffineParts {
    source: Shape,
    result: Shape,
    matrix: SmallVec<[i64; 9]>,
    offset: SmallVec<[i64; 4]>,
    inside: bool,
}

/// Maps of positions that memory could hold, and of those around them, are possible.
const TOO_FAR: &str = "a map reads no further outside than its positions can be counted";

impl AffineParts {
    fn range(&self, row: usize) -> (i128, i128) {
        let mut low = self.offset[row] as i128;
        let mut high = low;
        for (axis, &extent) in self.result.iter().enumerate() {
            let coefficient = self.matrix[row * self.result.len() + axis];
            let reach = (coefficient as i128).saturating_mul((extent as i128 - 1).max(0));
            if reach < 0 { low = low.saturating_add(reach) } else { high = high.saturating_add(reach) }
        }
        (low, high)
    }

    /// Whether the positions along a source axis are those of the axis, which can be counted.
    fn stays_inside(&self, row: usize) -> bool {
        let (low, high) = self.range(row);
        low >= 0 && high < (self.source[row] as i128).min(i64::MAX as i128)
    }

    /// A bound on the magnitude of all sums of some of the terms of a position. Where there is no position, each term counts.
    fn magnitude(&self, row: usize) -> i128 {
        let least = i128::from(size(&self.result) == 0);
        let coefficients = &self.matrix[row * self.result.len()..][..self.result.len()];
        coefficients.iter().zip(&self.result).fold((self.offset[row] as i128).abs(), |sum, (&coefficient, &extent)| {
            let steps = (extent as i128 - 1).max(least);
            sum.saturating_add((coefficient as i128).abs().saturating_mul(steps))
        })
    }

    /// Whether row-major positions in the source can be counted, in bytes, whatever sums of terms they are computed by.
    fn is_counted(&self) -> bool {
        let reach = |(row, stride): (usize, usize)| {
            let is_inside = !self.result.contains(&0) && self.stays_inside(row);
            let reach = if is_inside { self.source[row] as i128 - 1 } else { self.magnitude(row) };
            reach.checked_mul(stride as i128)
        };
        (0..self.source.len())
            .zip(strides(&self.source))
            .map(reach)
            .try_fold(0i128, |sum, reach| sum.checked_add(reach?))
            .is_some_and(|reach| reach <= AffineMap::REACH as i128)
    }

    /// Whether nothing is read inside of the source, as far as single axes tell.
    fn reads_nothing(&self) -> bool {
        let is_outside = |row: usize| {
            let (low, high) = self.range(row);
            high < 0 || low >= self.source[row] as i128
        };
        (0..self.source.len()).any(is_outside)
    }

    fn checked(self) -> Option<AffineMap> {
        AffineMap::assemble_checked(self.source, self.result, self.matrix, self.offset)
    }
}

impl AffineMap {
    /// The map with the same reads after leading axes that are read unchanged.
    pub(crate) fn behind(&self, leading: &[usize]) -> AffineMap {
        let count = leading.len();
        let source: Shape = leading.iter().chain(self.source()).copied().collect();
        let result: Shape = leading.iter().chain(self.result()).copied().collect();
        let mut rows = Vec::with_capacity(source.len());
        let mut offset: SmallVec<[i64; 4]> = SmallVec::from_elem(0, count);
        for axis in 0..count {
            let mut row = SmallVec::from_elem(0, result.len());
            row[axis] = 1;
            rows.push(row);
        }
        for axis in 0..self.source().len() {
            let mut row: SmallVec<[i64; 4]> = SmallVec::from_elem(0, count);
            row.extend_from_slice(self.row(axis));
            rows.push(row);
            offset.push(self.offset(axis));
        }
        AffineMap::new(&source, &result, &rows, &offset)
    }

    /// How far a map may read beyond its source. A step further than the last, in bytes, is a number of 64 bits too.
    pub const REACH: i64 = 1 << 58;

    /// A map from its parts: `rows[r]` are the coefficients of source axis `r`, one for each result axis.
    ///
    /// Panics when the numbers of rows and columns don't fit the ranks, or when there is no such map: see
    /// [`AffineMap::checked`].
    pub fn new(source: &[usize], result: &[usize], rows: &[SmallVec<[i64; 4]>], offset: &[i64]) -> AffineMap {
        AffineMap::checked(source, result, rows, offset).expect(TOO_FAR)
    }

    /// A map from its parts, as [`AffineMap::new`] takes them; `None` where it reads both inside of the source and further
    /// than [`AffineMap::REACH`] outside, or where the source has elements, and more of
    /// them along an axis than any array.
    ///
    /// Panics when the numbers of rows and columns don't fit the ranks.
    pub fn checked(
        source: &[usize],
        result: &[usize],
        rows: &[SmallVec<[i64; 4]>],
        offset: &[i64],
    ) -> Option<AffineMap> {
        assert_eq!(rows.len(), source.len(), "a row for each source axis");
        assert_eq!(offset.len(), source.len(), "an offset for each source axis");
        let mut matrix = SmallVec::new();
        for row in rows {
            assert_eq!(row.len(), result.len(), "a coefficient for each result axis");
            matrix.extend(row.iter().copied());
        }
        AffineMap::assemble_checked(Shape::from_slice(source), Shape::from_slice(result), matrix, offset.into())
    }

    fn assemble(source: Shape, result: Shape, matrix: SmallVec<[i64; 9]>, offset: SmallVec<[i64; 4]>) -> AffineMap {
        AffineMap::assemble_checked(source, result, matrix, offset).expect(TOO_FAR)
    }

    fn assemble_checked(
        source: Shape,
        result: Shape,
        mut matrix: SmallVec<[i64; 9]>,
        offset: SmallVec<[i64; 4]>,
    ) -> Option<AffineMap> {
        if !source.contains(&0) && source.iter().any(|&extent| i64::try_from(extent).is_err()) {
            return None;
        }
        // An axis of length 1 is only ever read at 0, so its coefficients say nothing: clearing them makes equal maps equal.
        let columns = result.len();
        for (axis, &extent) in result.iter().enumerate() {
            if extent == 1 {
                for row in 0..source.len() {
                    matrix[row * columns + axis] = 0;
                }
            }
        }
        let mut parts = AffineParts { source, result, matrix, offset, inside: true };
        if size(&parts.result) == 0 {
            // Where there is no position, nobody computes with terms that are too large to be counted either.
            if !parts.is_counted() {
                parts.matrix.fill(0);
                parts.offset.fill(0);
            }
            return Some(AffineMap(Arc::new(parts)));
        }
        for row in 0..parts.source.len() {
            if parts.stays_inside(row) {
                continue;
            }
            parts.inside = false;
            if parts.magnitude(row) > AffineMap::REACH as i128 {
                if !parts.reads_nothing() {
                    return None;
                }
                parts.matrix.fill(0);
                parts.offset.fill(-1);
                break;
            }
        }
        Some(AffineMap(Arc::new(parts)))
    }

    /// Whether row-major positions in the source can be counted too, in bytes, whatever sums of terms they are computed by.
    pub(crate) fn is_linear(&self) -> bool {
        self.0.inside || self.0.is_counted()
    }

    /// Smallest and largest position read along a source axis; meaningful when the result is not empty.
    pub fn range(&self, row: usize) -> (i128, i128) {
        self.0.range(row)
    }

    /// The shape that is read.
    pub fn source(&self) -> &[usize] {
        &self.0.source
    }

    /// The shape that results.
    pub fn result(&self) -> &[usize] {
        &self.0.result
    }

    /// How far the position along source axis `row` moves with result axis `column`.
    pub fn coefficient(&self, row: usize, column: usize) -> i64 {
        self.0.matrix[row * self.0.result.len() + column]
    }

    /// The coefficients of one source axis.
    pub fn row(&self, row: usize) -> &[i64] {
        let columns = self.0.result.len();
        &self.0.matrix[row * columns..(row + 1) * columns]
    }

    /// The position read along source axis `row` for result position 0.
    pub fn offset(&self, row: usize) -> i64 {
        self.0.offset[row]
    }

    /// Whether every read lies inside the source, proved from the shapes.
    pub fn is_inside(&self) -> bool {
        self.0.inside
    }

    /// Whether the map reads its source unchanged.
    pub fn is_identity(&self) -> bool {
        let is_plain = |row: usize| {
            self.0.offset[row] == 0
                && (0..self.0.result.len()).all(|column| {
                    self.0.result[column] == 1 || self.coefficient(row, column) == i64::from(row == column)
                })
        };
        self.0.source == self.0.result && (self.0.source.contains(&0) || (0..self.0.source.len()).all(is_plain))
    }

    /// The result axis of each source axis, of a map that only permutes the axes.
    pub(crate) fn permutation(&self) -> Option<Axes> {
        let (source, result) = (self.source(), self.result());
        if source.len() != result.len() {
            return None;
        }
        let mut is_free: SmallVec<[bool; 4]> = SmallVec::from_elem(true, result.len());
        let mut order = Axes::new();
        for (row, &extent) in source.iter().enumerate() {
            let mut columns =
                (0..result.len()).filter(|&column| result[column] != 1 && self.coefficient(row, column) != 0);
            let column = match (columns.next(), columns.next()) {
                (Some(column), None) if self.coefficient(row, column) == 1 && is_free[column] => column,
                // An axis of extent 1 is any of those in the result.
                (None, _) if extent == 1 => (0..result.len()).find(|&column| is_free[column] && result[column] == 1)?,
                _ => return None,
            };
            if self.offset(row) != 0 || result[column] != extent {
                return None;
            }
            is_free[column] = false;
            order.push(column);
        }
        Some(order)
    }

    /// The position read for a position of the result, or `None` outside the source.
    pub fn position(&self, at: &[usize]) -> Option<Shape> {
        let mut position = Shape::new();
        for row in 0..self.0.source.len() {
            let mut p = self.0.offset[row] as i128;
            for (column, &j) in at.iter().enumerate() {
                p += self.coefficient(row, column) as i128 * j as i128;
            }
            if p < 0 || p >= self.0.source[row] as i128 {
                return None;
            }
            position.push(p as usize);
        }
        Some(position)
    }

    /// The identity on a shape.
    pub fn identity(shape: &[usize]) -> AffineMap {
        let axes: Axes = (0..shape.len()).collect();
        AffineMap::transpose(shape, &axes)
    }

    /// Axis `j` of the result is axis `permutation[j]` of the source.
    pub fn transpose(source: &[usize], permutation: &[usize]) -> AffineMap {
        let result: Shape = permutation.iter().map(|&axis| source[axis]).collect();
        let mut matrix: SmallVec<[i64; 9]> = SmallVec::from_elem(0, source.len() * source.len());
        for (column, &row) in permutation.iter().enumerate() {
            matrix[row * source.len() + column] = 1;
        }
        AffineMap::assemble(Shape::from_slice(source), result, matrix, SmallVec::from_elem(0, source.len()))
    }

    /// Source axis `r` becomes result axis `axes[r]`; every other result axis repeats the source.
    ///
    /// Source axes of extent 1 may be stretched to any extent, as in broadcasting.
    pub fn broadcast(source: &[usize], result: &[usize], axes: &[usize]) -> AffineMap {
        assert_eq!(source.len(), axes.len(), "a result axis for each source axis");
        let columns = result.len();
        let mut matrix: SmallVec<[i64; 9]> = SmallVec::from_elem(0, source.len() * columns);
        for (row, &column) in axes.iter().enumerate() {
            debug_assert!(source[row] == result[column] || source[row] == 1);
            if source[row] == result[column] {
                matrix[row * columns + column] = 1;
            }
        }
        AffineMap::assemble(
            Shape::from_slice(source),
            Shape::from_slice(result),
            matrix,
            SmallVec::from_elem(0, source.len()),
        )
    }

    /// `result[j] = source[start + step · j]` along one axis, for `count` positions; reads outside give 0, so that
    /// slices, reversal (`start = n − 1`, `step = −1`) and padding (`start = −before`) are all of this form.
    ///
    /// Panics where [`AffineMap::along_checked`] gives `None`.
    pub fn along(source: &[usize], axis: usize, start: i64, step: i64, count: usize) -> AffineMap {
        AffineMap::along_checked(source, axis, start, step, count).expect(TOO_FAR)
    }

    /// As [`AffineMap::along`]; `None` where some positions are inside, and others further outside than
    /// [`AffineMap::REACH`].
    pub fn along_checked(source: &[usize], axis: usize, start: i64, step: i64, count: usize) -> Option<AffineMap> {
        let mut parts = AffineParts::clone(&AffineMap::identity(source).0);
        let columns = source.len();
        parts.result[axis] = count;
        parts.matrix[axis * columns + axis] = step;
        parts.offset[axis] = start;
        parts.checked()
    }

    /// Reads one position along an axis, and removes the axis.
    pub fn pick(source: &[usize], axis: usize, position: i64) -> AffineMap {
        let mut result = Shape::from_slice(source);
        result.remove(axis);
        let columns = result.len();
        let mut matrix: SmallVec<[i64; 9]> = SmallVec::from_elem(0, source.len() * columns);
        let mut offset: SmallVec<[i64; 4]> = SmallVec::from_elem(0, source.len());
        for row in (0..source.len()).filter(|&row| row != axis) {
            matrix[row * columns + row - usize::from(row > axis)] = 1;
        }
        offset[axis] = position;
        AffineMap::assemble(Shape::from_slice(source), result, matrix, offset)
    }

    /// Reads one position along each of some outer axes, and removes them.
    pub(crate) fn pick_outer(source: &[usize], positions: &[i64]) -> AffineMap {
        let picked = positions.len();
        let result = copied_shape(&source[picked..]);
        let columns = result.len();
        let mut matrix: SmallVec<[i64; 9]> = SmallVec::from_elem(0, source.len() * columns);
        for column in 0..columns {
            matrix[(picked + column) * columns + column] = 1;
        }
        let mut offset: SmallVec<[i64; 4]> = SmallVec::from_slice(positions);
        offset.resize(source.len(), 0);
        AffineMap::assemble(Shape::from_slice(source), result, matrix, offset)
    }

    /// The read of an array of this shape of which an axis is read as a row of this map says, where it has one, and whole
    /// where it has none. The result has these columns of this map, then the axes that are read whole.
    pub(crate) fn restricted(&self, shape: &[usize], rows: &[Option<usize>], columns: &[usize]) -> AffineMap {
        let whole = (0..shape.len()).filter(|&axis| rows[axis].is_none());
        let result: Shape =
            columns.iter().map(|&column| self.result()[column]).chain(whole.map(|axis| shape[axis])).collect();
        let (mut matrix, mut offsets): (Vec<SmallVec<[i64; 4]>>, SmallVec<[i64; 4]>) = Default::default();
        let mut next = columns.len();
        for &row in rows {
            let mut coefficients: SmallVec<[i64; 4]> = SmallVec::from_elem(0, result.len());
            match row {
                Some(row) => {
                    debug_assert!(
                        (0..self.result().len()).all(|c| columns.contains(&c) || self.coefficient(row, c) == 0),
                        "a row moves with columns that are kept"
                    );
                    for (place, &column) in columns.iter().enumerate() {
                        coefficients[place] = self.coefficient(row, column);
                    }
                    offsets.push(self.offset(row));
                }
                None => {
                    coefficients[next] = 1;
                    next += 1;
                    offsets.push(0);
                }
            }
            matrix.push(coefficients);
        }
        AffineMap::new(shape, &result, &matrix, &offsets)
    }

    /// The same read of a part of the source along an axis, if all of it is read from there.
    pub(crate) fn of_part(&self, axis: usize, part: &Range<usize>) -> Option<AffineMap> {
        let (low, high) = self.range(axis);
        if low < part.start as i128 || high >= part.end as i128 {
            return None;
        }
        let (mut source, mut offsets) = (self.0.source.clone(), self.0.offset.clone());
        source[axis] = part.len();
        offsets[axis] -= part.start as i64;
        Some(AffineMap::assemble(source, self.0.result.clone(), self.0.matrix.clone(), offsets))
    }

    /// Result axes that no source axis depends on: along them the view repeats its source.
    ///
    /// An axis of extent 1 is listed too when nothing depends on it.
    pub(crate) fn ignored(&self) -> Axes {
        (0..self.0.result.len())
            .filter(|&column| (0..self.0.source.len()).all(|row| self.coefficient(row, column) == 0))
            .collect()
    }
}

#[cfg(test)]
mod tests;
