//! Singular values of square matrices: by reflections from both sides to a bidiagonal matrix (Golub and Kahan, 1965), and rotations
//! from both sides to a diagonal one, which find small values of it as precisely as large ones (Demmel and Kahan, 1990).

use super::MatrixElement;
use super::reflections::reflection;
use super::rotations::{Block, Rotation, Sweeps};
use super::rows::{add_scaled, dot, largest, scale};

/// The most sweeps for each value, before it is given up as one that is not a number.
const SWEEPS: usize = 60;

/// A bidiagonal matrix: its diagonal, and as many elements above it, the last of which is 0.
pub(super) struct Bidiagonal<'s, T> {
    pub diagonal: &'s mut [T],
    pub above: &'s mut [T],
}

/// Elements of scratch for a matrix of so many rows.
pub(super) fn scratch(n: usize) -> usize {
    3 * n
}

/// Reflects a square matrix to a bidiagonal one. The vectors of reflections of rows, each of which takes the elements after the one
/// above the diagonal to 0, take the matrix's place. Those of columns become rows of `left`. Beside these are the factors of
/// both, of those of columns first.
#[inline(always)]
pub(super) fn reduce<T: MatrixElement>(
    a: &mut [T],
    left: &mut [T],
    factors: [&mut [T]; 2],
    [diagonal, above_diagonal]: [&mut [T]; 2],
    scratch: &mut [T],
) {
    let n = diagonal.len();
    // The last two reflections wait to be applied: by them a matrix becomes A − u yᵀ − z vᵀ. Rows are read once for that and for
    // the sum by the next vector, and once for the product with the one after that.
    let (mut y, rest) = scratch.split_at_mut(n);
    let (mut sums, z) = rest.split_at_mut(n);
    let z = &mut z[..n];
    for (place, row) in left[..n].iter_mut().zip(a.chunks_exact(n)) {
        *place = row[0];
    }
    for step in 0..n {
        let (before, left) = left.split_at_mut(step * n);
        let (u, next) = left.split_at_mut(n);
        let u = &mut u[step..];
        (diagonal[step], factors[0][step]) = reflection(u);
        let u = &*u;
        let (above, below) = a.split_at_mut(step * n);
        let rest = step + 1;
        let sums_part = &mut sums[rest..];
        sums_part.fill(T::ZERO);
        if step == 0 {
            for (row, &factor) in below.chunks_exact(n).zip(u) {
                add_scaled(sums_part, &row[rest..], factor);
            }
        } else {
            let waiting = [&y[rest..], &above[(step - 1) * n + rest..]];
            let others = &before[(step - 1) * n + step..];
            for (((row, &factor), &x), &z) in below.chunks_exact_mut(n).zip(u).zip(others).zip(&z[step..]) {
                update_row(&mut row[rest..], waiting, [x, z], factor, sums_part);
            }
        }
        scale(sums_part, factors[0][step]);
        std::mem::swap(&mut y, &mut sums);
        let (own, below) = below.split_at_mut(n);
        own[..rest].fill(T::ZERO);
        let y = &y[rest..];
        let v = &mut own[rest..];
        add_scaled(v, y, -T::one());
        let factor;
        (above_diagonal[step], factor) = reflection(v);
        factors[1][step] = factor;
        let common = dot(y, v);
        for ((row, z), &x) in below.chunks_exact(n).zip(&mut z[rest..]).zip(&u[1..]) {
            *z = (dot(&row[rest..], v) - x * common) * factor;
        }
        if rest < n {
            // The next column.
            next[..rest].fill(T::ZERO);
            let column = below.chunks_exact(n).map(|row| row[rest]);
            for (((place, x), &own), &z) in next[rest..n].iter_mut().zip(column).zip(&u[1..]).zip(&z[rest..]) {
                *place = x - own * y[0] - z;
            }
        }
    }
}

/// Subtracts multiples of two vectors from a row, and adds a multiple of the row to sums.
#[inline(always)]
fn update_row<T: MatrixElement>(row: &mut [T], [y, v]: [&[T]; 2], [x, z]: [T; 2], factor: T, sums: &mut [T]) {
    for (((row, &y), &v), sum) in row.iter_mut().zip(y).zip(v).zip(sums) {
        let element = *row - x * y - z * v;
        *row = element;
        *sum = *sum + element * factor;
    }
}

impl<T: MatrixElement> Bidiagonal<'_, T> {
    /// Rotates the matrix to a diagonal one, and rows of left and right vectors with it; whether that comes to an end. Elements of
    /// the diagonal may be negative.
    pub(super) fn diagonalise(&mut self, [left, right]: [&mut Sweeps<T>; 2]) -> bool {
        let n = self.diagonal.len();
        let bound = self.bound();
        let mut last: Option<Block> = None;
        let mut end = n - 1;
        for _ in 0..SWEEPS * n {
            while end > 0 && self.above[end - 1].magnitude() <= bound {
                end -= 1;
            }
            if end == 0 {
                left.apply();
                right.apply();
                return true;
            }
            let start = (0..end - 1).rev().find(|&at| self.above[at].magnitude() <= bound).map_or(0, |at| at + 1);
            let block = Block::new([start, end], self.diagonal, last);
            last = Some(block);
            let Some(smallest) = self.smallest(block) else { continue };
            let shift = self.shift(block, smallest);
            let (first, second) = if block.is_backward { (&mut *left, &mut *right) } else { (&mut *right, &mut *left) };
            first.begin(block.at(0), block.is_backward);
            second.begin(block.at(0), block.is_backward);
            if shift == T::ZERO {
                self.sweep(block, first, second);
            } else {
                self.sweep_shifted(block, shift, first, second);
            }
        }
        false
    }

    /// The bound up to which elements above the diagonal count as 0: no value changes by more than its precision.
    fn bound(&self) -> T {
        let n = T::number(self.diagonal.len());
        let mut own = self.diagonal[0].magnitude();
        let mut least = own;
        for (x, above) in self.diagonal[1..].iter().zip(&*self.above) {
            if least == T::ZERO {
                break;
            }
            own = x.magnitude() * (own / (own + above.magnitude()));
            least = if own < least { own } else { least };
        }
        let bound = precision::<T>() * least / n.square_root();
        let tiny = n * n * T::number(SWEEPS) / T::LARGEST;
        if bound > tiny { bound } else { tiny }
    }

    /// A number that the smallest value of a block is near. If an element above the diagonal is found to be as good as 0, it becomes
    /// 0, and there is no result.
    fn smallest(&mut self, block: Block) -> Option<T> {
        let last = block.last();
        let end = block.after(last - 1);
        if self.above[end].magnitude() <= precision::<T>() * self.diagonal[block.at(last)].magnitude() {
            self.above[end] = T::ZERO;
            return None;
        }
        let mut own = self.diagonal[block.at(0)].magnitude();
        let mut least = own;
        for place in 0..last {
            let above = self.above[block.after(place)].magnitude();
            if above <= precision::<T>() * own {
                self.above[block.after(place)] = T::ZERO;
                return None;
            }
            own = self.diagonal[block.at(place + 1)].magnitude() * (own / (own + above));
            least = if own < least { own } else { least };
        }
        Some(least)
    }

    /// The shift by which the last element above the diagonal of a block vanishes fast, or 0 where it would take the precision of
    /// small values.
    fn shift(&self, block: Block, smallest: T) -> T {
        let most = largest(&self.diagonal[block.start..=block.end]);
        let others = largest(&self.above[block.start..block.end]);
        let most = if most > others { most } else { others };
        if T::number(self.diagonal.len()) * precision::<T>() * (smallest / most) <= T::PRECISION {
            return T::ZERO;
        }
        // The smaller value of the last two rows, [[a, b], [0, c]].
        let last = block.last();
        let at = |place: usize| self.diagonal[block.at(place)].magnitude();
        let (a, b, c) = (at(last - 1), self.above[block.after(last - 1)].magnitude(), at(last));
        let sum = Rotation::onto(a + c, b).1 + Rotation::onto(a - c, b).1;
        let (large, small) = if a > c { (a, c) } else { (c, a) };
        let shift = small * (T::number(2) * large / sum);
        let ratio = shift / at(0);
        if ratio * ratio < T::PRECISION { T::ZERO } else { shift }
    }

    /// A sweep without shift, which keeps the precision of small values.
    fn sweep(&mut self, block: Block, first: &mut Sweeps<T>, second: &mut Sweeps<T>) {
        let last = block.last();
        let mut turn = Rotation { cosine: T::one(), sine: T::ZERO };
        let mut other = turn;
        for place in 0..last {
            let (at, next) = (block.at(place), block.at(place + 1));
            let (found, length) = Rotation::onto(self.diagonal[at] * turn.cosine, self.above[block.after(place)]);
            turn = found;
            if place > 0 {
                self.above[block.after(place - 1)] = other.sine * length;
            }
            (other, self.diagonal[at]) = Rotation::onto(other.cosine * length, self.diagonal[next] * turn.sine);
            first.add(turn);
            second.add(other);
        }
        let end = self.diagonal[block.at(last)] * turn.cosine;
        self.diagonal[block.at(last)] = end * other.cosine;
        self.above[block.after(last - 1)] = end * other.sine;
    }

    fn sweep_shifted(&mut self, block: Block, shift: T, first: &mut Sweeps<T>, second: &mut Sweeps<T>) {
        let last = block.last();
        let head = self.diagonal[block.at(0)];
        let sign = if head < T::ZERO { -T::one() } else { T::one() };
        let mut f = (head.magnitude() - shift) * (sign + shift / head);
        let mut g = self.above[block.after(0)];
        for place in 0..last {
            let (at, next, above) = (block.at(place), block.at(place + 1), block.after(place));
            let (own, beside, other) = (self.diagonal[at], self.above[above], self.diagonal[next]);
            let (turn, length) = Rotation::onto(f, g);
            if place > 0 {
                self.above[block.after(place - 1)] = length;
            }
            f = turn.cosine * own + turn.sine * beside;
            g = turn.sine * other;
            let (beside, other) = (turn.cosine * beside - turn.sine * own, turn.cosine * other);
            first.add(turn);
            let (turn, length) = Rotation::onto(f, g);
            self.diagonal[at] = length;
            f = turn.cosine * beside + turn.sine * other;
            self.diagonal[next] = turn.cosine * other - turn.sine * beside;
            if place + 1 < last {
                let after = &mut self.above[block.after(place + 1)];
                g = turn.sine * *after;
                *after = turn.cosine * *after;
            }
            second.add(turn);
        }
        self.above[block.after(last - 1)] = f;
    }
}

/// The relative precision to which values of a bidiagonal matrix are found.
fn precision<T: MatrixElement>() -> T {
    T::PRECISION * T::number(32)
}
