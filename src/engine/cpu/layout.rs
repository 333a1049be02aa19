//! The loops that a nest is run by, in their order.

use crate::kernel::Affine;
use smallvec::SmallVec;

/// The loops of a nest in the order in which they run.
///
/// The vector axis, along which instructions run, is cut into tiles. Loops after it run for each tile, so that values that they
/// do not move are computed once for the tile, and stays in the first-level cache.
#[derive(Clone, Debug)]
pub(super) struct NestLayout {
    /// The extents, outermost first; at least one.
    pub(super) extents: Vec<usize>,
    /// The position of the vector axis among them.
    pub(super) vector: usize,
    /// The axis of the nest whose coefficients each loop has: the inner one of axes that run together.
    pub(super) axes: Vec<Option<usize>>,
    /// How many elements are copied from each computed position, if these elements are no loop of their own.
    pub(super) row: usize,
    /// Where the vector axis continues from row to row.
    pub(super) wrapped: Option<Wrapped>,
}

/// A vector axis that goes through rows one after the other. Rows are at computed positions, or continue where the one before
/// ends, or are anywhere else.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wrapped {
    /// The elements of a row.
    pub(super) row: usize,
    /// The axis of the nest whose coefficients are those from row to row.
    pub(super) axis: usize,
    /// Whether tiles and chunks have whole rows, which are summed.
    pub(super) is_whole: bool,
}

/// A loop: the innermost of the axes that run together, and how many steps these make.
pub(super) type NestLoop = (usize, usize);

/// Whether an axis goes on, in a function of positions, where a loop ends.
pub(super) fn goes_on(at: &Affine, axis: usize, (inner, length): NestLoop) -> bool {
    at.coefficients[inner].checked_mul(length as i64) == Some(at.coefficients[axis])
}

/// Some axes of a nest, in their order, as loops: those are one of which the outer one `joins` the inner ones.
pub(super) fn joined(extents: &[usize], axes: &[usize], joins: impl Fn(usize, NestLoop) -> bool) -> Vec<NestLoop> {
    let mut loops: Vec<NestLoop> = Vec::new();
    for &axis in axes.iter().rev() {
        match loops.last_mut() {
            Some(inner) if joins(axis, *inner) => inner.1 *= extents[axis],
            _ => loops.push((axis, extents[axis])),
        }
    }
    loops.reverse();
    loops
}

impl NestLayout {
    /// Takes a loop away that is not the vector axis.
    pub(super) fn remove(&mut self, position: usize) {
        debug_assert_ne!(position, self.vector);
        self.extents.remove(position);
        self.axes.remove(position);
        self.vector -= usize::from(position < self.vector);
    }

    /// Adds a loop that no access of the nest's own knows.
    pub(super) fn insert(&mut self, position: usize, extent: usize) {
        self.extents.insert(position, extent);
        self.axes.insert(position, None);
        self.vector += usize::from(position <= self.vector);
    }

    /// The position of the loop over an axis of this extent alone.
    pub(super) fn loop_of(&self, axis: usize, extent: usize) -> Option<usize> {
        let position = self.axes.iter().position(|&it| it == Some(axis))?;
        (self.extents[position] == extent).then_some(position)
    }

    /// The coefficients of an affine function by loop.
    pub(super) fn by_loop(&self, at: &Affine) -> SmallVec<[i64; 4]> {
        self.axes.iter().map(|axis| axis.map_or(0, |axis| at.coefficients[axis])).collect()
    }

    /// An affine function where the vector axis begins.
    pub(super) fn before_vector(&self, at: &Affine) -> Affine {
        let mut at = at.clone();
        if let Some(axis) = self.axes[self.vector] {
            at.coefficients[axis] = 0;
        }
        at
    }

    /// How far an affine function goes from element to element and from row to row, where rows do not begin where the ones before
    /// them end.
    pub(super) fn broken(&self, at: &Affine) -> Option<[i64; 2]> {
        let Wrapped { row, axis, .. } = self.wrapped?;
        let (along, across) = (self.by_loop(at)[self.vector], at.coefficients[axis]);
        (along.wrapping_mul(row as i64) != across).then_some([along, across])
    }

    /// The extents and coefficients of loops, outermost first: of a vector axis that goes through rows two, over the rows and
    /// along them.
    pub(super) fn reaches(&self, at: &Affine) -> SmallVec<[(usize, i64); 4]> {
        let mut loops: SmallVec<[(usize, i64); 4]> = self.extents.iter().copied().zip(self.by_loop(at)).collect();
        if let Some(Wrapped { row, axis, .. }) = self.wrapped {
            let (extent, along) = loops[self.vector];
            loops[self.vector] = (extent / row, at.coefficients[axis]);
            loops.insert(self.vector + 1, (row, along));
        }
        loops
    }
}
