//! Which part of a concatenation an element is in.

use crate::term::NodeId;
use crate::term::hash::TermMap;
use std::cell::RefCell;

/// Where the parts of concatenations end, of those that were asked for. Programs read many parts of one: each finds its own by
/// bisection.
#[derive(Default)]
pub(crate) struct ConcatenationEnds(RefCell<TermMap<NodeId, Vec<usize>>>);

impl ConcatenationEnds {
    /// The part of a concatenation, whose parts have these extents along its axis, that a position is in, and where that begins.
    pub(crate) fn part(
        &self,
        concatenation: NodeId,
        extents: impl Iterator<Item = usize>,
        position: usize,
    ) -> Option<(usize, usize)> {
        let mut known = self.0.borrow_mut();
        let ends = known.entry(concatenation).or_insert_with(|| {
            let mut end = 0;
            extents
                .map(|extent| {
                    end += extent;
                    end
                })
                .collect()
        });
        let at = ends.partition_point(|&end| end <= position);
        (at < ends.len()).then(|| (at, at.checked_sub(1).map_or(0, |before| ends[before])))
    }
}

#[cfg(test)]
mod tests {
    use super::ConcatenationEnds;

    #[test]
    fn positions_are_in_the_part_that_has_them() {
        let ends = ConcatenationEnds::default();
        let extents = [2, 0, 3, 1];
        let found: Vec<Option<(usize, usize)>> =
            (0..7).map(|position| ends.part(0, extents.into_iter(), position)).collect();
        let (first, third, last) = (Some((0, 0)), Some((2, 2)), Some((3, 5)));
        assert_eq!(found, [first, first, third, third, third, last, None]);
        assert_eq!(ends.part(1, [].into_iter(), 0), None);
    }
}
