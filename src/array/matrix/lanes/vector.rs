//! Vectors of elements, each of another matrix.

use crate::array::matrix::{MatrixElement, Vector};
use std::ops::{Add, Div, Mul, Sub};

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

/// Where parts of a matrix of so many elements begin that are as long as a vector; the last two may overlap.
#[inline(always)]
fn tiles(each: usize, lanes: usize) -> impl Iterator<Item = usize> {
    (0..each.div_ceil(lanes)).map(move |tile| (tile * lanes).min(each - lanes))
}

/// Elements whose operations the compiler may make vectors of.
#[derive(Clone, Copy)]
pub(crate) struct Elements<T>([T; 8]);

impl<T: MatrixElement> Elements<T> {
    #[inline(always)]
    fn each(self, other: Elements<T>, f: impl Fn(T, T) -> T) -> Elements<T> {
        let mut result = self;
        for lane in 0..8 {
            result.0[lane] = f(self.0[lane], other.0[lane]);
        }
        result
    }
}

macro_rules! arithmetic {
    ($($operator:ident $method:ident;)*) => {$(
        impl<T: MatrixElement> $operator for Elements<T> {
            type Output = Elements<T>;
            #[inline(always)]
            fn $method(self, other: Elements<T>) -> Elements<T> {
                self.each(other, |x, y| x.$method(y))
            }
        }
    )*};
}

arithmetic! {
    Add add;
    Sub sub;
    Mul mul;
    Div div;
}

impl<T: MatrixElement> Vector<T> for Elements<T> {
    const LANES: usize = 8;
    const IS_REGISTER: bool = false;

    #[inline(always)]
    fn all(x: T) -> Elements<T> {
        Elements([x; 8])
    }
    #[inline(always)]
    fn read(from: &[T]) -> Elements<T> {
        let mut elements = [T::ZERO; 8];
        elements.copy_from_slice(&from[..8]);
        Elements(elements)
    }
    #[inline(always)]
    fn write(self, to: &mut [T]) {
        to[..8].copy_from_slice(&self.0);
    }
    #[inline(always)]
    fn minus_product(self, y: Elements<T>, z: Elements<T>) -> Elements<T> {
        self - y * z
    }
    #[inline(always)]
    fn root(self) -> Elements<T> {
        self.each(self, |x, _| x.square_root())
    }
    #[inline(always)]
    fn magnitude(self) -> Elements<T> {
        self.each(self, |x, _| x.magnitude())
    }
    #[inline(always)]
    fn if_greater(self, other: Elements<T>, yes: Elements<T>, no: Elements<T>) -> Elements<T> {
        let mut result = no;
        for lane in 0..8 {
            result.0[lane] = if self.0[lane] > other.0[lane] { yes.0[lane] } else { no.0[lane] };
        }
        result
    }
    #[inline(always)]
    fn zip(self, other: Elements<T>) -> [Elements<T>; 2] {
        [0, 4].map(|from| Elements(std::array::from_fn(|at| [self, other][at % 2].0[from + at / 2])))
    }
    #[inline(always)]
    fn if_equal(self, other: Elements<T>, yes: Elements<T>, no: Elements<T>) -> Elements<T> {
        let mut result = no;
        for lane in 0..8 {
            result.0[lane] = if self.0[lane] == other.0[lane] { yes.0[lane] } else { no.0[lane] };
        }
        result
    }
}

/// Matrices of some columns, one in each lane: a vector for each element.
pub(super) struct Cells<'a, T> {
    pub(super) elements: &'a mut [T],
    pub(super) columns: usize,
}

impl<T: MatrixElement> Cells<'_, T> {
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
        if each < V::LANES {
            for at in 0..each {
                for (lane, own) in matrices.iter().enumerate().take(V::LANES) {
                    self.elements[at * V::LANES + lane] = own[at];
                }
            }
            return;
        }
        for at in tiles(each, V::LANES) {
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
        if each < V::LANES {
            for lane in 0..count {
                for at in 0..each {
                    to[lane * each + at] = self.elements[at * V::LANES + lane];
                }
            }
            return;
        }
        for at in tiles(each, V::LANES) {
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
