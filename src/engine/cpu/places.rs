//! Where the elements of matrices are whose rows and columns are made up of several axes.

use super::elements::counted;
use smallvec::SmallVec;
use std::mem::MaybeUninit;

/// How places advance along the rows or the columns of a matrix, in elements: over the positions of some axes together,
/// outermost first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places<'a> {
    pub(super) extents: &'a [usize],
    pub(super) strides: &'a [isize],
}

impl Places<'_> {
    /// The place at a position.
    pub(super) fn at(&self, position: usize) -> isize {
        let (mut rest, mut place) = (position, 0);
        for (axis, (&extent, &stride)) in self.extents.iter().zip(self.strides).enumerate().rev() {
            if axis == 0 {
                return place + rest as isize * stride;
            }
            place += (rest % extent) as isize * stride;
            rest /= extent;
        }
        place
    }

    /// The places at some positions, from the first on.
    #[inline(always)]
    pub(super) fn fill<'p>(&self, first: usize, places: &'p mut [MaybeUninit<isize>]) -> &'p [isize] {
        match (self.extents, self.strides) {
            ([] | [_], strides) => {
                let stride = strides.first().copied().unwrap_or(0);
                counted!(step in 0..places.len() => {
                    places[step].write((first.wrapping_add(step) as isize).wrapping_mul(stride));
                });
            }
            (&[.., rows, extent], &[.., across, stride]) => {
                // Positions up to the end of the innermost axis advance by its stride, and ends of this axis by the next one's
                // stride; positions further outside are computed anew.
                let (mut along, mut row) = (first % extent, first / extent % rows);
                let mut place = self.at(first);
                let count = places.len();
                counted!(step in 0..count => {
                    places[step].write(place);
                    along += 1;
                    place += stride;
                    if along == extent && step + 1 < count {
                        (along, row) = (0, row + 1);
                        place += across - extent as isize * stride;
                        if row == rows {
                            row = 0;
                            place = self.at(first + step + 1);
                        }
                    }
                });
            }
            _ => unreachable!("a stride for each extent"),
        }
        // SAFETY: all of them have been written.
        unsafe { std::slice::from_raw_parts(places.as_ptr().cast(), places.len()) }
    }

    /// The distance of neighbours, if it is the same everywhere.
    pub(super) fn distance(&self) -> Option<isize> {
        match *self.strides {
            [] => Some(0),
            [stride] => Some(stride),
            _ => None,
        }
    }

    /// Whether neighbours are adjacent, except at the ends of the innermost axis.
    pub(super) fn is_run(&self) -> bool {
        self.strides.last().is_none_or(|&stride| stride == 1)
    }
}

/// Places with extents and strides of their own.
#[derive(Debug)]
pub(super) struct OwnPlaces {
    extents: SmallVec<[usize; 2]>,
    strides: SmallVec<[isize; 2]>,
}

impl OwnPlaces {
    /// Axes that continue one another are merged: the axes of a product are kept apart by some operand, and blocks cut them
    /// further.
    pub(super) fn new(extents: &[usize], strides: &[isize]) -> OwnPlaces {
        let mut own = OwnPlaces { extents: SmallVec::new(), strides: SmallVec::new() };
        for (&extent, &stride) in extents.iter().zip(strides) {
            match (own.extents.last_mut(), own.strides.last_mut()) {
                (Some(outer), Some(last)) if *last == stride.wrapping_mul(extent as isize) => {
                    (*outer, *last) = (*outer * extent, stride);
                }
                _ => {
                    own.extents.push(extent);
                    own.strides.push(stride);
                }
            }
        }
        own
    }

    pub(super) fn get(&self) -> Places<'_> {
        Places { extents: &self.extents, strides: &self.strides }
    }
}

/// Whether places are next to each other.
#[inline(always)]
pub(super) fn are_next(places: &[isize]) -> bool {
    // Without an early end, which would keep it from being done in vectors.
    let mut is_next = true;
    counted!(at in 1..places.len() => {
        is_next &= places[at] == places[at - 1].wrapping_add(1);
    });
    is_next
}

/// The distance of neighbours, if it is the same for all of these places.
#[inline(always)]
pub(super) fn distance(places: &[isize]) -> Option<isize> {
    let [first, second, ..] = places else { return Some(0) };
    let distance = second - first;
    let mut is_same = true;
    counted!(at in 1..places.len() => {
        is_same &= places[at].wrapping_sub(places[at - 1]) == distance;
    });
    is_same.then_some(distance)
}

/// A matrix: where its first element is, and how places advance along rows and columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct MatrixPlaces<'a, T> {
    pub(super) start: *mut T,
    pub(super) rows: Places<'a>,
    pub(super) columns: Places<'a>,
}

impl<T> MatrixPlaces<'_, T> {
    /// The same elements with rows for columns.
    pub(super) fn transposed(self) -> Self {
        MatrixPlaces { rows: self.columns, columns: self.rows, ..self }
    }
}
