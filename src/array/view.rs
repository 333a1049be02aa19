//! Affine reads and their adjoint, as walks over runs: stretches of the result along its innermost axis.

use crate::affine::AffineMap;
use crate::array::memory::{self, OutOfMemory};
use crate::array::reduce::sum_of;
use crate::array::scalar::ElementType;
use crate::array::{Array, Data};
use crate::shape::{Axes, Shape, size, strides};
use smallvec::SmallVec;

/// Positions `result..result + count` of the result read positions `source, source + step, ..` of the source.
#[derive(Clone, Copy)]
struct StridedRun {
    result: usize,
    source: usize,
    step: isize,
    count: usize,
}

/// A strided walk in the row-major order of its extents; axes that run together are joined.
struct StridedWalk {
    base: isize,
    extents: SmallVec<[usize; 4]>,
    steps: SmallVec<[isize; 4]>,
}

impl StridedWalk {
    /// The walk of a map that stays inside, over the source's row-major positions.
    fn new(map: &AffineMap) -> StridedWalk {
        debug_assert!(map.is_inside() && size(map.result()) > 0);
        let strides = strides(map.source());
        // Positions stay inside the source at every corner, so that these sums do not overflow.
        let base = (0..strides.len()).map(|row| map.offset(row) as isize * strides[row] as isize).sum();
        let mut walk = StridedWalk { base, extents: SmallVec::new(), steps: SmallVec::new() };
        for (column, &extent) in map.result().iter().enumerate() {
            if extent == 1 {
                continue;
            }
            let step =
                (0..strides.len()).map(|row| map.coefficient(row, column) as isize * strides[row] as isize).sum();
            match (walk.extents.last_mut(), walk.steps.last_mut()) {
                (Some(last_extent), Some(last_step)) if *last_step == step * extent as isize => {
                    *last_extent *= extent;
                    *last_step = step;
                }
                _ => {
                    walk.extents.push(extent);
                    walk.steps.push(step);
                }
            }
        }
        walk
    }

    /// All runs, in the order of the result.
    fn runs(&self, mut f: impl FnMut(StridedRun)) {
        let Some(inner) = self.extents.len().checked_sub(1) else {
            return f(StridedRun { result: 0, source: self.base as usize, step: 0, count: 1 });
        };
        let (count, step) = (self.extents[inner], self.steps[inner]);
        let mut at: SmallVec<[usize; 4]> = SmallVec::from_elem(0, inner);
        let (mut result, mut source) = (0, self.base);
        loop {
            f(StridedRun { result, source: source as usize, step, count });
            result += count;
            let mut axis = inner;
            loop {
                let Some(outer) = axis.checked_sub(1) else { return };
                axis = outer;
                at[axis] += 1;
                source += self.steps[axis];
                if at[axis] < self.extents[axis] {
                    break;
                }
                source -= self.steps[axis] * self.extents[axis] as isize;
                at[axis] = 0;
            }
        }
    }
}

/// The positions `j` in `0..count` with `0 <= start + step · j < extent`, as a range.
fn clip(start: i128, step: i128, extent: i128, count: i128) -> (i128, i128) {
    let last = extent - 1;
    let (low, high) = match step {
        0 if start >= 0 && start <= last => (0, count),
        0 => (0, 0),
        _ if step > 0 => (-start.div_euclid(step), (last - start).div_euclid(step) + 1),
        _ => (-((last - start).div_euclid(-step)), start.div_euclid(-step) + 1),
    };
    (low.max(0), high.min(count))
}

/// The runs of a map that may read outside, cut to the part inside.
fn clipped_runs(map: &AffineMap, f: &mut dyn FnMut(StridedRun)) {
    if size(map.result()) == 0 || size(map.source()) == 0 {
        return;
    }
    let strides = strides(map.source());
    let rows = strides.len();
    let columns: SmallVec<[usize; 4]> = (0..map.result().len()).filter(|&column| map.result()[column] > 1).collect();
    let outer = columns.len().saturating_sub(1);
    let inner = columns.last().copied();
    let count = inner.map_or(1, |column| map.result()[column]);
    let coefficient = |row: usize, column: usize| map.coefficient(row, column) as i128;
    let mut at: SmallVec<[usize; 4]> = SmallVec::from_elem(0, outer);
    let mut start: SmallVec<[i128; 4]> = (0..rows).map(|row| map.offset(row) as i128).collect();
    let mut result = 0;
    loop {
        let (mut low, mut high) = (0, count as i128);
        for row in 0..rows {
            let step = inner.map_or(0, |column| coefficient(row, column));
            let (from, to) = clip(start[row], step, map.source()[row] as i128, count as i128);
            low = low.max(from);
            high = high.min(to);
        }
        if low < high {
            let (mut source, mut step) = (0, 0);
            for row in 0..rows {
                let along = inner.map_or(0, |column| coefficient(row, column));
                source += (start[row] + along * low) * strides[row] as i128;
                step += along * strides[row] as i128;
            }
            // A run of one element has a step that is never taken, and that might not fit.
            let step = if high - low > 1 { step as isize } else { 0 };
            f(StridedRun {
                result: result + low as usize,
                source: source as usize,
                step,
                count: (high - low) as usize,
            });
        }
        result += count;
        let mut axis = outer;
        loop {
            let Some(next) = axis.checked_sub(1) else { return };
            axis = next;
            let extent = map.result()[columns[axis]];
            at[axis] += 1;
            for row in 0..rows {
                start[row] += coefficient(row, columns[axis]);
            }
            if at[axis] < extent {
                break;
            }
            for row in 0..rows {
                start[row] -= coefficient(row, columns[axis]) * extent as i128;
            }
            at[axis] = 0;
        }
    }
}

/// The positions that a strided run visits in its source.
fn positions(run: StridedRun) -> impl Iterator<Item = usize> {
    (0..run.count as isize).map(move |j| (run.source as isize + run.step * j) as usize)
}

/// Side of the square tiles in which matrices are transposed.
const TILE: usize = 16;

/// Copies a walk whose innermost axis strides through the source, while an outer axis `fast` is contiguous there: by
/// tiles of these two axes, so that lines of the cache are used whole on both sides.
fn copy_tiled<T: ElementType>(walk: &StridedWalk, fast: usize, source: &[T], out: &mut [T]) {
    let inner = walk.extents.len() - 1;
    let (columns, step) = (walk.extents[inner], walk.steps[inner]);
    let (lines, pitch) = (walk.extents[fast], strides(&walk.extents)[fast]);
    let mut rest = StridedWalk { base: walk.base, extents: walk.extents.clone(), steps: walk.steps.clone() };
    rest.extents[fast] = 1;
    rest.extents[inner] = 1;
    // The walk over the other axes visits the first element of each plane; its place in the result follows the strides.
    let places = strides(&walk.extents);
    let mut at: SmallVec<[usize; 4]> = SmallVec::from_elem(0, inner + 1);
    rest.runs(|run| {
        let place: usize = at.iter().zip(&places).map(|(&at, &place)| at * place).sum();
        for line in (0..lines).step_by(TILE) {
            for column in (0..columns).step_by(TILE) {
                for i in line..lines.min(line + TILE) {
                    let row = &mut out[place + i * pitch + column..place + i * pitch + columns.min(column + TILE)];
                    let first = run.source as isize + i as isize + step * column as isize;
                    for (j, out) in row.iter_mut().enumerate() {
                        *out = source[(first + step * j as isize) as usize];
                    }
                }
            }
        }
        for axis in (0..=inner).rev() {
            at[axis] += 1;
            if at[axis] < rest.extents[axis] {
                break;
            }
            at[axis] = 0;
        }
    });
}

/// `result[j] = a[matrix · j + offset]`, 0 outside.
pub(crate) fn view<T: ElementType>(a: Data<T>, map: &AffineMap) -> Result<Array, OutOfMemory> {
    debug_assert_eq!(a.shape(), map.source());
    if map.is_identity() {
        return Ok(T::wrap(a));
    }
    let shape = map.result();
    if size(shape) == 0 || size(map.source()) == 0 {
        return Ok(T::wrap(Data::zeros(shape)));
    }
    let source = match &a {
        Data::Uniform(_, x) if map.is_inside() || x.same_bits(T::ZERO) => {
            return Ok(T::wrap(Data::Uniform(Shape::from_slice(shape), *x)));
        }
        Data::Uniform(_, x) => {
            let mut out = memory::filled(shape, T::ZERO)?;
            clipped_runs(map, &mut |run| out[run.result..run.result + run.count].fill(*x));
            return Ok(T::wrap(Data::from_vec(shape, out)));
        }
        Data::Dense(array) => array.as_slice(),
    };
    if !map.is_inside() {
        let mut out = memory::filled(shape, T::ZERO)?;
        clipped_runs(map, &mut |run| {
            let out = &mut out[run.result..run.result + run.count];
            match run.step {
                1 => out.copy_from_slice(&source[run.source..run.source + run.count]),
                0 => out.fill(source[run.source]),
                _ => out.iter_mut().zip(positions(run)).for_each(|(out, at)| *out = source[at]),
            }
        });
        return Ok(T::wrap(Data::from_vec(shape, out)));
    }
    let walk = StridedWalk::new(map);
    if walk.steps.iter().all(|&step| step == 0) {
        return Ok(T::wrap(Data::Uniform(Shape::from_slice(shape), source[walk.base as usize])));
    }
    let inner = walk.steps.len() - 1;
    if walk.steps[inner].unsigned_abs() > 1
        && let Some(fast) = (0..inner).find(|&axis| walk.steps[axis] == 1)
    {
        let mut out = memory::filled(shape, T::ZERO)?;
        copy_tiled(&walk, fast, source, &mut out);
        return Ok(T::wrap(Data::from_vec(shape, out)));
    }
    let mut out = memory::room(shape)?;
    walk.runs(|run| match run.step {
        1 => out.extend_from_slice(&source[run.source..run.source + run.count]),
        0 => out.resize(out.len() + run.count, source[run.source]),
        _ => out.extend(positions(run).map(|at| source[at])),
    });
    Ok(T::wrap(Data::from_vec(shape, out)))
}

/// A map without the columns along which it reads the same positions again, and the extents of those columns.
fn without_repetition(map: &AffineMap) -> (AffineMap, Shape) {
    let rows = map.source().len();
    let repeats = |&column: &usize| (0..rows).all(|row| map.coefficient(row, column) == 0);
    let (repeated, kept): (Axes, Axes) = (0..map.result().len()).partition(repeats);
    let extents = |columns: &[usize]| -> Shape { columns.iter().map(|&column| map.result()[column]).collect() };
    let coefficients: Vec<SmallVec<[i64; 4]>> =
        (0..rows).map(|row| kept.iter().map(|&column| map.coefficient(row, column)).collect()).collect();
    let offsets: SmallVec<[i64; 4]> = (0..rows).map(|row| map.offset(row)).collect();
    (AffineMap::new(map.source(), &extents(&kept), &coefficients, &offsets), extents(&repeated))
}

/// `target`, of the map's source shape, with every element of `updates`, of its result shape, added at the position that
/// the view reads for it: in the row-major order of the updates, but that a run onto one position is summed first.
pub(crate) fn accumulate_onto<T: ElementType>(
    target: Data<T>,
    updates: Data<T>,
    map: &AffineMap,
) -> Result<Array, OutOfMemory> {
    debug_assert_eq!(target.shape(), map.source());
    debug_assert_eq!(updates.shape(), map.result());
    let shape = Shape::from_slice(map.source());
    if size(map.source()) == 0 || size(map.result()) == 0 {
        return Ok(T::wrap(target));
    }
    let repeated: Vec<T>;
    let reduced: AffineMap;
    let (map, updates, whole) = match &updates {
        Data::Uniform(_, x) if x.same_bits(T::ZERO) => return Ok(T::wrap(target)),
        Data::Uniform(_, x) => {
            // An element that is added repeatedly is added once, multiplied, as in a sum of equal elements. Equal elements are
            // the same wherever they are read, so the longest run of them is enough.
            let (once, times) = without_repetition(map);
            reduced = once;
            let longest = match reduced.is_inside() {
                true => StridedWalk::new(&reduced).extents.last().copied(),
                // A run moves along some axis of the result and of the source, and is cut to it.
                false => reduced.source().iter().max().min(reduced.result().iter().max()).copied(),
            };
            repeated = memory::filled(&[longest.unwrap_or(1)], times.iter().copied().fold(*x, T::repeated))?;
            (&reduced, &repeated[..], false)
        }
        Data::Dense(array) => (map, array.as_slice(), true),
    };
    let mut out = target.into_vec()?;
    let mut add = |run: StridedRun| {
        let start = if whole { run.result } else { 0 };
        let updates = &updates[start..start + run.count];
        match run.step {
            1 => out[run.source..run.source + run.count].iter_mut().zip(updates).for_each(|(o, &u)| *o = o.plus(u)),
            0 => out[run.source] = out[run.source].plus(sum_of(updates)),
            _ => positions(run).zip(updates).for_each(|(at, &u)| out[at] = out[at].plus(u)),
        }
    };
    if map.is_inside() {
        StridedWalk::new(map).runs(add)
    } else {
        clipped_runs(map, &mut add)
    }
    Ok(T::wrap(Data::from_vec(&shape, out)))
}

/// The adjoint of [`view`].
pub(crate) fn accumulate<T: ElementType>(updates: Data<T>, map: &AffineMap) -> Result<Array, OutOfMemory> {
    if map.is_identity() {
        return Ok(T::wrap(updates));
    }
    accumulate_onto(Data::zeros(map.source()), updates, map)
}
