//! Rotations of neighbouring rows (Givens, 1958), which are kept and applied to strips of columns that fit into a cache.

use super::{Machine, MatrixElement, Part};
use smallvec::SmallVec;

/// Sweeps that are kept at most, and long ones, over all rows.
const SWEEPS: usize = 128;
const LONG_SWEEPS: usize = 32;
/// Columns of a strip: four registers of either type, where these are as wide as they can be.
const WIDTH: usize = 64;
const WIDTH_OF_DOUBLES: usize = 32;
/// Columns of a strip of a matrix that has no more.
const NARROW: usize = 8;

/// A rotation: (x, y) becomes (cosine x + sine y, cosine y − sine x).
#[derive(Clone, Copy)]
pub(super) struct Rotation<T> {
    pub cosine: T,
    pub sine: T,
}

impl<T: MatrixElement> Rotation<T> {
    /// The rotation that takes (x, y) to (r, 0), and r.
    #[inline(always)]
    pub(super) fn onto(x: T, y: T) -> (Rotation<T>, T) {
        let square = x * x + y * y;
        // Squares that are far from both ends of the range of numbers are precise.
        if square < T::HIGHEST && square * T::LARGEST * T::PRECISION > T::one() {
            let length = square.square_root();
            return (Rotation { cosine: x / length, sine: y / length }, length);
        }
        let (size, other) = (x.magnitude(), y.magnitude());
        let unit = if size > other || size.is_nan() { size } else { other };
        if unit == T::ZERO {
            return (Rotation { cosine: T::one(), sine: T::ZERO }, T::ZERO);
        }
        let (x, y) = (x / unit, y / unit);
        let length = (x * x + y * y).square_root();
        (Rotation { cosine: x / length, sine: y / length }, length * unit)
    }
}

/// A block of a diagonal, and of the elements beside that, none of which is 0: from its larger end on, from which sweeps bring
/// small elements to the other end.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub start: usize,
    pub end: usize,
    pub is_backward: bool,
}

impl Block {
    /// The block between two places of a diagonal. It keeps the direction of the last one, if it is a part of that.
    pub(super) fn new<T: MatrixElement>([start, end]: [usize; 2], diagonal: &[T], last: Option<Block>) -> Block {
        let is_backward = match last {
            Some(last) if start < last.end && end > last.start => last.is_backward,
            _ => diagonal[start].magnitude() < diagonal[end].magnitude(),
        };
        Block { start, end, is_backward }
    }

    /// Where an element of the diagonal is.
    #[inline(always)]
    pub(super) fn at(self, place: usize) -> usize {
        if self.is_backward { self.end - place } else { self.start + place }
    }

    /// Where the element between one of the diagonal and the next is.
    #[inline(always)]
    pub(super) fn after(self, place: usize) -> usize {
        if self.is_backward { self.end - place - 1 } else { self.start + place }
    }

    /// The place of the last element of the diagonal.
    #[inline(always)]
    pub(super) fn last(self) -> usize {
        self.end - self.start
    }
}

/// Rotations of a row and the next one, then of that and the one after it, and so on.
#[derive(Clone, Copy)]
struct Sweep {
    first: usize,
    is_upward: bool,
    count: usize,
}

impl Sweep {
    /// The row at a place of the sweep.
    #[inline(always)]
    fn row(&self, place: usize) -> usize {
        if self.is_upward { self.first - place } else { self.first + place }
    }
}

/// Sweeps of rotations over the rows of a square matrix, which wait to be applied. Without a matrix they are dropped.
pub(super) struct Sweeps<'s, T> {
    on: &'s dyn Machine<T>,
    n: usize,
    rows: &'s mut [T],
    /// The last sweep has no count until it ends.
    sweeps: SmallVec<[Sweep; SWEEPS]>,
    /// The cosines and sines of all sweeps, how many there are, and where those of the last one begin.
    rotations: &'s mut [[T; 2]],
    kept: usize,
    start: usize,
    strip: &'s mut [T],
}

impl<'s, T: MatrixElement> Sweeps<'s, T> {
    /// Elements of scratch for matrices of so many rows.
    pub(super) fn scratch(n: usize) -> usize {
        (2 * LONG_SWEEPS + WIDTH) * n
    }

    #[inline(always)]
    pub(super) fn new(on: &'s dyn Machine<T>, n: usize, rows: &'s mut [T], scratch: &'s mut [T]) -> Sweeps<'s, T> {
        let (rotations, strip) = scratch[..Self::scratch(n)].split_at_mut(2 * LONG_SWEEPS * n);
        let (rotations, _) = rotations.as_chunks_mut();
        Sweeps { on, n, rows, sweeps: SmallVec::new(), rotations, kept: 0, start: 0, strip }
    }

    /// Begins a sweep at a row, with the rows after or before it.
    #[inline(always)]
    pub(super) fn begin(&mut self, first: usize, is_upward: bool) {
        if self.rows.is_empty() {
            return;
        }
        if self.sweeps.len() == SWEEPS || self.kept + self.n > self.rotations.len() {
            self.apply();
        }
        self.end();
        self.sweeps.push(Sweep { first, is_upward, count: 0 });
    }

    #[inline(always)]
    fn end(&mut self) {
        if let Some(sweep) = self.sweeps.last_mut() {
            sweep.count = self.kept - self.start;
        }
        self.start = self.kept;
    }

    /// Adds a rotation to the last sweep.
    #[inline(always)]
    pub(super) fn add(&mut self, rotation: Rotation<T>) {
        if self.rows.is_empty() {
            return;
        }
        self.rotations[self.kept] = [rotation.cosine, rotation.sine];
        self.kept += 1;
    }

    /// Applies all that are kept.
    pub(super) fn apply(&mut self) {
        self.end();
        if !self.sweeps.is_empty() {
            let (sweeps, rotations) = (&self.sweeps[..], &self.rotations[..self.kept]);
            let (rows, strip) = (&mut *self.rows, &mut *self.strip);
            self.on.run(Part::Rotate(Waiting { n: self.n, rows, sweeps, rotations, strip }));
        }
        self.sweeps.clear();
        (self.kept, self.start) = (0, 0);
    }
}

/// Sweeps to be applied to the rows of a square matrix.
pub(crate) struct Waiting<'a, T> {
    n: usize,
    rows: &'a mut [T],
    sweeps: &'a [Sweep],
    rotations: &'a [[T; 2]],
    strip: &'a mut [T],
}

impl<T: MatrixElement> Waiting<'_, T> {
    #[inline(always)]
    pub(super) fn apply(mut self) {
        let ends = |sweep: &Sweep| [sweep.row(0), sweep.row(sweep.count)];
        let all = || self.sweeps.iter().flat_map(ends);
        let (low, high) = (all().min().unwrap_or(0), all().max().map_or(0, |last| last + 1));
        if self.n <= NARROW {
            self.apply_by::<NARROW>(low, high);
        } else if size_of::<T>() == size_of::<f64>() {
            self.apply_by::<WIDTH_OF_DOUBLES>(low, high);
        } else {
            self.apply_by::<WIDTH>(low, high);
        }
    }

    /// Applies all to rows in a range, so many columns at a time.
    #[inline(always)]
    fn apply_by<const W: usize>(&mut self, low: usize, high: usize) {
        let n = self.n;
        let rows = &mut self.rows[low * n..high * n];
        let (strip, _) = self.strip[..(high - low) * W].as_chunks_mut::<W>();
        for start in (0..n).step_by(W) {
            let end = (start + W).min(n);
            for (strip, row) in strip.iter_mut().zip(rows.chunks_exact(n)) {
                strip[..end - start].copy_from_slice(&row[start..end]);
            }
            let mut rest = self.rotations;
            for sweep in self.sweeps {
                let (own, others) = rest.split_at(sweep.count);
                rest = others;
                sweep_strip(sweep, own, low, strip);
            }
            for (strip, row) in strip.iter().zip(rows.chunks_exact_mut(n)) {
                row[start..end].copy_from_slice(&strip[..end - start]);
            }
        }
    }
}

/// Applies a sweep to a part of each row, from a row on.
#[inline(always)]
fn sweep_strip<T: MatrixElement, const W: usize>(
    sweep: &Sweep,
    rotations: &[[T; 2]],
    low: usize,
    strip: &mut [[T; W]],
) {
    let mut own = strip[sweep.row(0) - low];
    for (place, &[cosine, sine]) in rotations.iter().enumerate() {
        let next = strip[sweep.row(place + 1) - low];
        let mut done = own;
        for lane in 0..W {
            done[lane] = cosine * own[lane] + sine * next[lane];
            own[lane] = cosine * next[lane] - sine * own[lane];
        }
        strip[sweep.row(place) - low] = done;
    }
    strip[sweep.row(rotations.len()) - low] = own;
}
