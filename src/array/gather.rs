//! Reads and adds at computed positions.

use crate::affine::AffineMap;
use crate::array::elementwise::add;
use crate::array::memory::{self, OutOfMemory};
use crate::array::scalar::ElementType;
use crate::array::structure::iota;
use crate::array::{Array, Data, for_data, view};
use crate::shape::{Axes, Shape, size, strides};
use smallvec::SmallVec;
use std::collections::HashSet;

/// Index arrays of one shape, against the extents of the axes that they index.
struct IndexPositions<'a> {
    axes: SmallVec<[(&'a Data<i64>, usize, usize); 4]>,
}

impl<'a> IndexPositions<'a> {
    fn new(indices: &'a [Array], extents: &[usize]) -> IndexPositions<'a> {
        let strides = strides(extents);
        let axes = indices
            .iter()
            .enumerate()
            .map(|(axis, index)| (i64::unwrap(index).expect("index arrays are i64"), extents[axis], strides[axis]))
            .collect();
        IndexPositions { axes }
    }

    /// Whether all positions are the same, known without a look at a buffer.
    fn is_uniform(&self) -> bool {
        self.axes.iter().all(|(index, _, _)| matches!(index, Data::Uniform(..)))
    }

    /// The row-major position among the indexed axes for an element of the index arrays; `None` outside.
    fn one(&self, at: usize) -> Option<usize> {
        let mut position = 0;
        for (index, extent, stride) in &self.axes {
            let index = usize::try_from(index.element(at)).ok().filter(|index| index < extent)?;
            // Beyond counting are only arrays without a buffer, where no more is asked than whether a position is inside.
            position = stride.saturating_mul(index).saturating_add(position);
        }
        Some(position)
    }

    /// Calls a function for every element of the index arrays, in order, with its position.
    fn each(&self, count: usize, mut f: impl FnMut(usize, Option<usize>)) {
        if let [(Data::Dense(index), extent, _)] = &self.axes[..] {
            // One axis, the usual case, without the loop over axes.
            for (at, &i) in index.as_slice().iter().enumerate() {
                f(at, usize::try_from(i).ok().filter(|i| i < extent));
            }
        } else {
            (0..count).for_each(|at| f(at, self.one(at)));
        }
    }
}

/// `result[s, r] = a[indices[0][s], .., indices[k-1][s], r]`, 0 outside.
pub(crate) fn gather<T: ElementType>(a: Data<T>, indices: &[Array]) -> Result<Array, OutOfMemory> {
    let Some(first) = indices.first() else { return Ok(T::wrap(a)) };
    let (extents, row) = a.shape().split_at(indices.len());
    let mut shape = Shape::from_slice(first.shape());
    shape.extend_from_slice(row);
    let (count, width) = (size(first.shape()), size(row));
    let positions = IndexPositions::new(indices, extents);
    if size(&shape) == 0 {
        return Ok(T::wrap(Data::zeros(&shape)));
    }
    if positions.is_uniform() {
        return Ok(T::wrap(match (positions.one(0), &a) {
            (None, _) => Data::zeros(&shape),
            (Some(_), Data::Uniform(_, x)) => Data::Uniform(shape, *x),
            (Some(position), dense) if width == 1 => Data::Uniform(shape, dense.element(position)),
            (Some(position), dense) => {
                let line = &dense.as_slice().unwrap_or_default()[position * width..(position + 1) * width];
                let mut out = memory::room(&shape)?;
                (0..count).for_each(|_| out.extend_from_slice(line));
                Data::from_vec(&shape, out)
            }
        }));
    }
    let mut out = memory::room(&shape)?;
    match &a {
        Data::Uniform(_, x) if x.same_bits(T::ZERO) => return Ok(T::wrap(Data::zeros(&shape))),
        Data::Uniform(_, x) => positions.each(count, |_, position| {
            out.resize(out.len() + width, if position.is_some() { *x } else { T::ZERO });
        }),
        dense => {
            let source = dense.as_slice().unwrap_or_default();
            if width == 1 {
                positions.each(count, |_, position| out.push(position.map_or(T::ZERO, |position| source[position])));
            } else {
                positions.each(count, |_, position| match position {
                    Some(position) => out.extend_from_slice(&source[position * width..(position + 1) * width]),
                    None => out.resize(out.len() + width, T::ZERO),
                });
            }
        }
    }
    Ok(T::wrap(Data::from_vec(&shape, out)))
}

/// `target` with `updates[s, r]` added at `[indices[0][s], .., r]`, in the order of the updates; those outside are ignored.
pub(crate) fn scatter_onto<T: ElementType>(
    target: Data<T>,
    updates: Data<T>,
    indices: &[Array],
) -> Result<Array, OutOfMemory> {
    let Some(first) = indices.first() else { return add(T::wrap(target), T::wrap(updates)) };
    let shape = Shape::from_slice(target.shape());
    let (extents, row) = shape.split_at(indices.len());
    let (count, width) = (size(first.shape()), size(row));
    let positions = IndexPositions::new(indices, extents);
    let nothing = match &updates {
        Data::Uniform(_, x) => x.same_bits(T::ZERO),
        Data::Dense(_) => false,
    };
    if nothing || count == 0 || size(&shape) == 0 || (positions.is_uniform() && positions.one(0).is_none()) {
        return Ok(T::wrap(target));
    }
    let mut out = target.into_vec()?;
    match &updates {
        // Equal elements at one position are added once, multiplied, as in a sum of equal elements.
        Data::Uniform(_, x) if positions.is_uniform() => positions.each(1, |_, position| {
            if let Some(position) = position {
                let sum = x.repeated(count);
                out[position * width..(position + 1) * width].iter_mut().for_each(|out| *out = out.plus(sum));
            }
        }),
        Data::Uniform(_, x) => positions.each(count, |_, position| {
            if let Some(position) = position {
                out[position * width..(position + 1) * width].iter_mut().for_each(|out| *out = out.plus(*x));
            }
        }),
        dense => {
            let source = dense.as_slice().unwrap_or_default();
            positions.each(count, |at, position| {
                if let Some(position) = position {
                    let line = &source[at * width..(at + 1) * width];
                    let out = &mut out[position * width..(position + 1) * width];
                    out.iter_mut().zip(line).for_each(|(out, &x)| *out = out.plus(x));
                }
            });
        }
    }
    Ok(T::wrap(Data::from_vec(&shape, out)))
}

/// `target` with `updates[s, r]` written at `[indices[0][s], .., r]`, in the order of the updates; those outside are ignored.
pub(crate) fn scatter_set<T: ElementType>(
    target: Data<T>,
    updates: Data<T>,
    indices: &[Array],
) -> Result<Array, OutOfMemory> {
    let Some(first) = indices.first() else { return Ok(T::wrap(updates)) };
    let shape = Shape::from_slice(target.shape());
    let (extents, row) = shape.split_at(indices.len());
    let (count, width) = (size(first.shape()), size(row));
    let positions = IndexPositions::new(indices, extents);
    let nothing = match (&target, &updates) {
        (Data::Uniform(_, x), Data::Uniform(_, y)) => x.same_bits(*y),
        _ => false,
    };
    if nothing || count == 0 || size(&shape) == 0 || (positions.is_uniform() && positions.one(0).is_none()) {
        return Ok(T::wrap(target));
    }
    let mut out = target.into_vec()?;
    let mut write = |at: usize, position: Option<usize>| {
        let Some(position) = position else { return };
        let out = &mut out[position * width..(position + 1) * width];
        match &updates {
            Data::Uniform(_, x) => out.fill(*x),
            dense => out.copy_from_slice(&dense.as_slice().unwrap_or_default()[at * width..(at + 1) * width]),
        }
    };
    match positions.is_uniform() {
        // The last of all.
        true => write(count - 1, positions.one(0)),
        false => positions.each(count, write),
    }
    Ok(T::wrap(Data::from_vec(&shape, out)))
}

/// For each of `count` positions, whether no later one is the same, in time and memory that do not depend on the extents;
/// `None` if this holds for all. Entries for positions outside have no meaning.
pub(crate) fn latest(indices: &[Array], extents: &[usize], count: usize) -> Option<Vec<bool>> {
    let (positions, mut seen) = (IndexPositions::new(indices, extents), HashSet::with_capacity(count));
    let mut latest: Vec<bool> =
        (0..count).rev().map(|at| positions.one(at).is_none_or(|position| seen.insert(position))).collect();
    latest.reverse();
    latest.contains(&false).then_some(latest)
}

/// Positions along all axes of an array whose outer axes are indexed, in the shape of the elements read or written: those of
/// the index arrays, and all positions along each inner axis.
pub(crate) fn grid(indices: &[Array], inner: &[usize]) -> Result<Vec<Array>, OutOfMemory> {
    let outer = indices.first().map_or(&[][..], Array::shape);
    let shape: Shape = outer.iter().chain(inner).copied().collect();
    let spread = |index: Array, axes: &[usize]| {
        let map = AffineMap::broadcast(index.shape(), &shape, axes);
        for_data!(index, data => view::view(data, &map))
    };
    let axes: Axes = (0..outer.len()).collect();
    let given = indices.iter().map(|index| spread(index.clone(), &axes));
    let whole = inner.iter().enumerate().map(|(at, &extent)| spread(iota(extent)?, &[outer.len() + at]));
    given.chain(whole).collect()
}

/// The adjoint of [`gather`]: updates added to zeros.
pub(crate) fn scatter<T: ElementType>(
    updates: Data<T>,
    indices: &[Array],
    extents: &[usize],
) -> Result<Array, OutOfMemory> {
    let Some(first) = indices.first() else { return Ok(T::wrap(updates)) };
    let mut shape = Shape::from_slice(extents);
    shape.extend_from_slice(&updates.shape()[first.shape().len()..]);
    scatter_onto(Data::zeros(&shape), updates, indices)
}
