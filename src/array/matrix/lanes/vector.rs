//! Vectors of elements, each of another matrix.

use crate::array::matrix::{MatrixElement, Vector};

/// The most elements of a vector.
pub(super) const MOST: usize = 16;

/// Exchanges the positions of vectors with those of their elements.
#[inline(always)]
fn transpose<T, V: Vector<T>>(vectors: &mut [V; MOST]) {
    let half = V::LANES / 2;
    for _ in 0..V::LANES.trailing_zeros() {
        let before = *vectors;
        for at in 0..half {
            let [first, second] = before[at].zip(before[at + half]);
            (vectors[2 * at], vectors[2 * at + 1]) = (first, second);
        }
    }
}

/// Matrices of some columns, one in each lane: a vector for each element.
pub(super) struct Cells<'a, T> {
    pub(super) elements: &'a mut [T],
    pub(super) columns: usize,
}

impl<T: MatrixElement> Cells<'_, T> {
    /// The same, given again how many rows and columns there are: where these are constants, so are places, which need no checks.
    #[inline(always)]
    pub(super) fn of<V: Vector<T>>(&mut self, [rows, columns]: [usize; 2]) -> Cells<'_, T> {
        Cells { elements: &mut self.elements[..rows * columns * V::LANES], columns }
    }

    #[inline(always)]
    pub(super) fn at<V: Vector<T>>(&self, row: usize, column: usize) -> V {
        V::read(&self.elements[(row * self.columns + column) * V::LANES..])
    }

    #[inline(always)]
    pub(super) fn put<V: Vector<T>>(&mut self, row: usize, column: usize, x: V) {
        x.write(&mut self.elements[(row * self.columns + column) * V::LANES..]);
    }

    /// Reads matrices of so many elements, the first of which has this number. After the last one come copies of it.
    #[inline(always)]
    pub(super) fn gather<V: Vector<T>>(&mut self, from: &[T], first: usize, each: usize) {
        let last = from.len() / each - 1;
        let mut matrices: [&[T]; MOST] = [&[]; MOST];
        for lane in 0..V::LANES {
            matrices[lane] = &from[(first + lane).min(last) * each..][..each];
        }
        if each < V::LANES || !V::IS_REGISTER {
            for at in 0..each {
                for (lane, own) in matrices.iter().enumerate().take(V::LANES) {
                    self.elements[at * V::LANES + lane] = own[at];
                }
            }
            return;
        }
        // Parts as long as a vector, of which the last two may overlap.
        for tile in 0..each.div_ceil(V::LANES) {
            let at = (tile * V::LANES).min(each - V::LANES);
            let mut vectors = [V::all(T::ZERO); MOST];
            for lane in 0..V::LANES {
                vectors[lane] = V::read(&matrices[lane][at..]);
            }
            transpose(&mut vectors);
            for (place, vector) in vectors.iter().enumerate().take(V::LANES) {
                vector.write(&mut self.elements[(at + place) * V::LANES..]);
            }
        }
    }

    /// Writes matrices to where some of them are, one after the other.
    #[inline(always)]
    pub(super) fn scatter<V: Vector<T>>(&self, to: &mut [T], each: usize) {
        let count = (to.len() / each).min(V::LANES);
        if each < V::LANES || !V::IS_REGISTER {
            for lane in 0..count {
                for at in 0..each {
                    to[lane * each + at] = self.elements[at * V::LANES + lane];
                }
            }
            return;
        }
        for tile in 0..each.div_ceil(V::LANES) {
            let at = (tile * V::LANES).min(each - V::LANES);
            let mut vectors = [V::all(T::ZERO); MOST];
            for (place, vector) in vectors.iter_mut().enumerate().take(V::LANES) {
                *vector = V::read(&self.elements[(at + place) * V::LANES..]);
            }
            transpose(&mut vectors);
            for lane in 0..count {
                vectors[lane].write(&mut to[lane * each + at..]);
            }
        }
    }
}
