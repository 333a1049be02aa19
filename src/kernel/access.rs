//! Affine functions of loop positions, by which nests read and write.

use crate::affine::AffineMap;
use crate::shape::{size, strides};
use smallvec::SmallVec;

/// `offset + coefficients · positions`, over the axes of a nest.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Affine {
    pub(crate) offset: i64,
    pub(crate) coefficients: SmallVec<[i64; 4]>,
}

impl Affine {
    /// The same number at all positions.
    pub(crate) fn constant(offset: i64, axes: usize) -> Affine {
        Affine { offset, coefficients: SmallVec::from_elem(0, axes) }
    }

    /// The position along one axis.
    pub(crate) fn axis(axis: usize, axes: usize) -> Affine {
        let mut affine = Affine::constant(0, axes);
        affine.coefficients[axis] = 1;
        affine
    }

    /// Adds a multiple of another function; `None` where a coefficient overflows.
    pub(crate) fn plus(&self, factor: i64, other: &Affine) -> Option<Affine> {
        let add = |a: i64, b: i64| a.checked_add(b.checked_mul(factor)?);
        let coefficients = self.coefficients.iter().zip(&other.coefficients).map(|(&a, &b)| add(a, b));
        Some(Affine { offset: add(self.offset, other.offset)?, coefficients: coefficients.collect::<Option<_>>()? })
    }

    /// The smallest and the largest value over loops of these extents, none of which is 0.
    pub(crate) fn range(&self, extents: &[usize]) -> (i128, i128) {
        let (mut low, mut high) = (self.offset as i128, self.offset as i128);
        for (&coefficient, &extent) in self.coefficients.iter().zip(extents) {
            let reach = (coefficient as i128).saturating_mul(extent as i128 - 1);
            if reach < 0 { low = low.saturating_add(reach) } else { high = high.saturating_add(reach) }
        }
        (low, high)
    }

    /// A bound on the magnitude of the function, and of all sums of some of its terms, over loops of these extents; `None`
    /// where it overflows.
    pub(crate) fn magnitude(&self, extents: &[usize]) -> Option<usize> {
        let terms = self.coefficients.iter().zip(extents);
        let start = usize::try_from(self.offset.unsigned_abs()).ok();
        terms.fold(start, |sum, (&coefficient, &extent)| {
            let reach = usize::try_from(coefficient.unsigned_abs()).ok()?.checked_mul(extent.saturating_sub(1))?;
            sum?.checked_add(reach)
        })
    }

    /// Whether all values over loops of these extents are positions of an axis.
    pub(crate) fn stays_inside(&self, extents: &[usize], extent: usize) -> bool {
        let (low, high) = self.range(extents);
        low >= 0 && high < extent as i128
    }

    /// The quotient and the remainder by a positive divisor, where both are affine: where the part that is no multiple of
    /// the divisor stays between 0 and it.
    pub(crate) fn divided(&self, divisor: i64, extents: &[usize]) -> Option<(Affine, Affine)> {
        let mut quotient = Affine::constant(self.offset.div_euclid(divisor), extents.len());
        let mut remainder = Affine::constant(self.offset.rem_euclid(divisor), extents.len());
        for (axis, &coefficient) in self.coefficients.iter().enumerate() {
            if coefficient % divisor == 0 {
                quotient.coefficients[axis] = coefficient / divisor;
            } else {
                remainder.coefficients[axis] = coefficient;
            }
        }
        remainder.stays_inside(extents, divisor as usize).then_some((quotient, remainder))
    }
}

/// Holds where `0 ≤ position < extent`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Guard {
    pub(crate) position: Affine,
    pub(crate) extent: i64,
}

/// Guards that all hold, in any order. Most often there are none, which takes no memory.
pub(crate) type Guards = Vec<Guard>;

/// The position in an array that a nest reads at its own position.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Access {
    /// A function for each axis of the array.
    pub(crate) rows: SmallVec<[Affine; 4]>,
    /// Where these do not hold, nothing is read; the value that reads provides its own result there.
    pub(crate) guards: Guards,
}

impl Access {
    /// The access of a nest whose domain is the array's shape.
    pub(crate) fn identity(rank: usize) -> Access {
        Access { rows: (0..rank).map(|axis| Affine::axis(axis, rank)).collect(), guards: Guards::new() }
    }

    /// The access of a view's source, given the view's own access, and the guards that the view itself needs. `None` where
    /// positions are so far outside that they overflow; no linear map read within its result has such positions.
    pub(crate) fn through_view(&self, map: &AffineMap, extents: &[usize]) -> Option<(Access, Guards)> {
        let mut rows = SmallVec::new();
        let mut guards = Guards::new();
        let mut reach: u128 = 0;
        for ((row, &extent), stride) in map.source().iter().enumerate().zip(strides(map.source())) {
            let mut position = Affine::constant(map.offset(row), extents.len());
            for (column, inner) in self.rows.iter().enumerate() {
                position = position.plus(map.coefficient(row, column), inner)?;
            }
            if position.stays_inside(extents, extent) {
                reach = reach.checked_add((extent as u128 - 1).checked_mul(stride as u128)?)?;
            } else {
                // A guard holds nowhere else.
                let extent = extent.min(AffineMap::REACH as usize + 1) as i64;
                guards.push(Guard { position: position.clone(), extent });
                reach = reach.checked_add(position.magnitude(extents)?.checked_mul(stride)? as u128)?;
            }
            rows.push(position);
        }
        if !guards.is_empty() && reach > AffineMap::REACH as u128 {
            return None;
        }
        let mut all = self.guards.clone();
        all.extend(guards.iter().filter(|guard| !self.guards.contains(guard)).cloned());
        Some((Access { rows, guards: all }, guards))
    }

    /// The access of a reshaped array of this shape, given the result's access; `None` where it is not affine.
    pub(crate) fn through_reshape(&self, source: &[usize], result: &[usize], extents: &[usize]) -> Option<Access> {
        if !self.guards.is_empty() {
            return None;
        }
        // Axes of extent 1 are read at 0.
        let mut long = self.rows.iter().zip(result).filter(|(_, extent)| **extent != 1).rev();
        let mut rest: Option<(Affine, usize)> = None;
        let mut rows: SmallVec<[Affine; 4]> = SmallVec::new();
        for &extent in source.iter().rev() {
            if extent == 1 {
                rows.push(Affine::constant(0, extents.len()));
                continue;
            }
            let (mut position, mut room) = match rest.take() {
                Some(rest) => rest,
                None => long.next().map(|(row, &extent)| (row.clone(), extent))?,
            };
            while room % extent != 0 {
                // The source's axis reaches into the next axis of the result.
                let (row, &outer) = long.next()?;
                position = position.plus(i64::try_from(room).ok()?, row)?;
                room = room.checked_mul(outer)?;
            }
            if room == extent {
                rows.push(position);
            } else {
                let (quotient, remainder) = position.divided(i64::try_from(extent).ok()?, extents)?;
                rows.push(remainder);
                rest = Some((quotient, room / extent));
            }
        }
        rows.reverse();
        Some(Access { rows, guards: Guards::new() })
    }

    /// The row-major position in an array of this shape, any if that is empty; `None` where it overflows.
    pub(crate) fn linear(&self, shape: &[usize], extents: &[usize]) -> Option<Affine> {
        let mut linear = Affine::constant(0, extents.len());
        if size(shape) == 0 {
            return Some(linear);
        }
        for (row, stride) in self.rows.iter().zip(strides(shape)) {
            linear = linear.plus(i64::try_from(stride).ok()?, row)?;
        }
        Some(linear)
    }
}
