//! Sets at positions of arrays.

use super::array::{Sets, SparsityArray};
use super::columns::ColumnSet;
use crate::affine::AffineMap;
use crate::array::Array;
use crate::shape::{Axes, Shape, Type, size, strides};
use smallvec::SmallVec;
use std::rc::Rc;

/// Calls a function for every position of a shape, row-major.
pub(super) fn each_position(shape: &[usize], mut f: impl FnMut(&[usize])) {
    let mut at: SmallVec<[usize; 6]> = SmallVec::from_elem(0, shape.len());
    for _ in 0..size(shape) {
        f(&at);
        for axis in (0..shape.len()).rev() {
            at[axis] += 1;
            if at[axis] < shape[axis] {
                break;
            }
            at[axis] = 0;
        }
    }
}

/// The row-major position of the source that a map reads for every element of its result; `None` outside.
pub(super) fn reads(map: &AffineMap) -> Vec<Option<usize>> {
    let strides = strides(map.source());
    let mut positions = Vec::with_capacity(size(map.result()));
    each_position(map.result(), |at| {
        let position = map.position(at);
        positions.push(position.map(|position| position.iter().zip(&strides).map(|(at, stride)| at * stride).sum()));
    });
    positions
}

/// The sets at these positions, none outside.
pub(super) fn picked(columns: &[ColumnSet], positions: impl IntoIterator<Item = Option<usize>>) -> Sets {
    let pick = |position: Option<usize>| position.map_or(ColumnSet::None, |position| columns[position].clone());
    Some(Rc::new(positions.into_iter().map(pick).collect()))
}

/// For each of `count` positions, the union of the sets that are put there; sets without a target are dropped.
pub(super) fn collected(columns: &[ColumnSet], targets: &[Option<usize>], count: usize) -> Sets {
    debug_assert_eq!(columns.len(), targets.len());
    let moved = || columns.iter().zip(targets).filter_map(|(set, target)| Some((set, (*target)?)));
    let mut ends = vec![0; count];
    moved().for_each(|(_, target)| ends[target] += 1);
    let mut sum = 0;
    for end in &mut ends {
        // Where the sets of a position begin; filling them in moves it to their end.
        let length = std::mem::replace(end, sum);
        sum += length;
    }
    let mut sorted: Vec<&ColumnSet> = vec![&ColumnSet::None; sum];
    for (set, target) in moved() {
        sorted[ends[target]] = set;
        ends[target] += 1;
    }
    let mut start = 0;
    let union = |end: usize| ColumnSet::union_of(sorted[std::mem::replace(&mut start, end)..end].iter().copied());
    Some(Rc::new(ends.into_iter().map(union).collect()))
}

/// The elements that are read.
pub(super) fn view(columns: &Sets, map: &AffineMap) -> Sets {
    picked(columns.as_ref()?, reads(map))
}

/// Index arrays, some of them known, with the extents of the axes that they index.
pub(super) struct KnownPositions {
    /// The axes whose positions are not known.
    pub(super) unknown: Axes,
    /// The extents of the others.
    pub(super) extents: Shape,
    /// For each element of the index arrays the row-major position along the others; `None` outside.
    pub(super) positions: Vec<Option<usize>>,
}

impl KnownPositions {
    pub(super) fn new(indices: &[SparsityArray], extents: &[usize]) -> KnownPositions {
        let count = indices.first().map_or(1, |index| index.ty().size());
        let (mut known, mut unknown): (Vec<(&Array, usize)>, Axes) = Default::default();
        for (axis, index) in indices.iter().enumerate() {
            match index.elements() {
                Some(elements) => known.push((elements, extents[axis])),
                None => unknown.push(axis),
            }
        }
        let position = |at: usize| {
            known.iter().try_fold(0, |position, (index, extent)| {
                let index = index.element(at).to_integer().and_then(|index| usize::try_from(index).ok());
                index.filter(|index| index < extent).map(|index| position * extent + index)
            })
        };
        let positions = (0..count).map(position).collect();
        KnownPositions { extents: known.iter().map(|&(_, extent)| extent).collect(), unknown, positions }
    }

    /// Elements of rows at these positions, as positions of the known axes and the row's.
    pub(super) fn of_rows(&self, width: usize) -> impl Iterator<Item = Option<usize>> {
        self.positions.iter().flat_map(move |&at| (0..width).map(move |inner| at.map(|at| at * width + inner)))
    }
}

/// The elements that are put at a known position; along an axis whose positions are not known, any of them.
pub(super) fn scattered(
    updates: &SparsityArray,
    indices: &[SparsityArray],
    extents: &[usize],
    ty: Type,
) -> SparsityArray {
    let (result, row) = (&ty.shape, &ty.shape[extents.len()..]);
    let columns = updates.sets().as_ref().and_then(|columns| {
        let known = KnownPositions::new(indices, extents);
        let targets: Vec<Option<usize>> = known.of_rows(size(row)).collect();
        let shape: Shape = known.extents.iter().chain(row).copied().collect();
        let sums = collected(columns, &targets, size(&shape));
        let axes: Axes = (0..result.len()).filter(|axis| !known.unknown.contains(axis)).collect();
        match known.unknown.is_empty() {
            true => sums,
            false => view(&sums, &AffineMap::broadcast(&shape, result, &axes)),
        }
    });
    SparsityArray::dependent(ty, columns)
}
