//! Reads: a consumer's requests for a node.

use super::values::ReadValueId;
use crate::affine::AffineMap;
use crate::shape::{Axes, Shape};
use smallvec::SmallVec;

/// The value of a read that falls outside of its source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Outside {
    /// It never falls outside, or the value there is never used.
    Never,
    /// Zero.
    Zero,
    /// Anything finite or not: a guard around the read replaces it.
    Any,
}

impl Outside {
    /// The value of a read through an inner one, given whether the inner one never falls outside.
    pub(super) fn through(self, inner_inside: bool) -> Outside {
        if inner_inside { self } else { Outside::Zero }
    }
}

/// A consumer's request for a node: all of it, or a read.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(clippy::large_enum_variant, reason = "most reads are views")]
pub(super) enum ReadRequest {
    /// All of it.
    Whole,
    /// An affine read.
    View { map: AffineMap, outside: Outside },
    /// A read of the leading axes at computed positions.
    Gather { indices: SmallVec<[ReadValueId; 4]>, outside: Outside },
}

impl ReadRequest {
    /// An affine read that gives 0 outside.
    pub(super) fn view(map: AffineMap) -> ReadRequest {
        ReadRequest::View { map, outside: Outside::Zero }
    }

    pub(super) fn outside(&self) -> Outside {
        match self {
            ReadRequest::Whole => Outside::Never,
            ReadRequest::View { outside, .. } | ReadRequest::Gather { outside, .. } => *outside,
        }
    }

    /// The read of the same positions that gives anything outside.
    pub(super) fn relaxed(&self) -> ReadRequest {
        let mut read = self.clone();
        match &mut read {
            ReadRequest::View { outside, .. } | ReadRequest::Gather { outside, .. } if *outside == Outside::Zero => {
                *outside = Outside::Any;
            }
            _ => {}
        }
        read
    }
}

/// Whether a position outside of result axis `column` makes the view read outside of its source.
pub(super) fn covers(map: &AffineMap, column: usize) -> bool {
    let last = map.result()[column] as i128 - 1;
    (0..map.source().len()).any(|row| {
        let alone = map.row(row).iter().enumerate().all(|(other, &c)| other == column || c == 0);
        let (offset, top) = (map.offset(row) as i128, map.source()[row] as i128 - 1);
        alone
            && match map.coefficient(row, column) {
                1 => offset <= 0 && offset + last >= top,
                -1 => offset >= top && offset - last <= 0,
                _ => false,
            }
    })
}

/// The same reads of other extents, at other offsets, into another result, whose columns are `columns` of the old one.
///
/// A column that is `None` is new: nothing depends on it.
pub(super) fn remap(
    map: &AffineMap,
    rows: impl IntoIterator<Item = usize>,
    columns: &[Option<usize>],
    result: &[usize],
) -> AffineMap {
    let mut source = Shape::new();
    let mut coefficients = Vec::new();
    let mut offset: SmallVec<[i64; 4]> = SmallVec::new();
    for row in rows {
        source.push(map.source()[row]);
        offset.push(map.offset(row));
        let row = columns.iter().map(|column| column.map_or(0, |column| map.coefficient(row, column)));
        coefficients.push(row.collect::<SmallVec<[i64; 4]>>());
    }
    AffineMap::new(&source, result, &coefficients, &offset)
}

/// A view's read without the result axes along which it repeats itself, and where the others belong in its result.
pub(super) fn without_repetition(map: &AffineMap) -> Option<(AffineMap, Axes)> {
    let ignored = map.ignored();
    if ignored.is_empty() {
        return None;
    }
    let kept: Axes = (0..map.result().len()).filter(|column| !ignored.contains(column)).collect();
    let result: Shape = kept.iter().map(|&column| map.result()[column]).collect();
    let columns: SmallVec<[Option<usize>; 4]> = kept.iter().map(|&column| Some(column)).collect();
    Some((remap(map, 0..map.source().len(), &columns, &result), kept))
}

/// Whether the last `count` axes of the source are read as they are by the last axes of the result, which nothing else
/// depends on.
pub(super) fn keeps_trailing(map: &AffineMap, count: usize) -> bool {
    let (rows, columns) = (map.source().len(), map.result().len());
    if columns < count {
        return false;
    }
    let unit = |row: usize, column: usize| {
        let extent = map.source()[row];
        extent == map.result()[column]
            && map.offset(row) == 0
            && (0..columns).all(|other| map.coefficient(row, other) == i64::from(other == column && extent != 1))
    };
    (0..count).all(|at| unit(rows - count + at, columns - count + at))
        && (0..rows - count).all(|row| (columns - count..columns).all(|column| map.coefficient(row, column) == 0))
}

/// The reads of the leading axes of a view that keeps `count` trailing ones.
pub(super) fn leading(map: &AffineMap, count: usize) -> AffineMap {
    let columns: SmallVec<[Option<usize>; 4]> = (0..map.result().len() - count).map(Some).collect();
    remap(map, 0..map.source().len() - count, &columns, &map.result()[..map.result().len() - count])
}
