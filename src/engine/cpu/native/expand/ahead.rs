//! Lines of memory that loops bring into the cache for later.

use super::Expander;
use crate::engine::cpu::native::program::{Address, Step};
use crate::engine::cpu::prefetch::Prefetch;
use crate::shape::size;
use smallvec::{SmallVec, smallvec};

const LINE: usize = 64;
/// Lines at once where another loop is left to spread them over, and at most.
const LINES: usize = 4;
const MOST: usize = 32;
/// How many steps may share a line, which each asks for.
const FEW: usize = 4;

/// Where a prefetch happens: at each step of a level, from a pointer on that moves so many bytes a step.
#[derive(Clone, Copy)]
pub(super) struct SpreadPrefetch {
    level: usize,
    address: Address,
    stride: usize,
    writes: bool,
}

impl Expander<'_> {
    /// Spreads lines over the outermost loops: over so many of them that few lines come at once. `None` where a step would bring too
    /// many, or there are far fewer lines than steps.
    pub(super) fn spread(&mut self, prefetch: &Prefetch) -> Option<SpreadPrefetch> {
        let mut strides: SmallVec<[isize; 4]> = smallvec![0; self.depth()];
        let last = self.vector() - usize::from(self.written_out);
        let (mut axis, mut stride) = (0, prefetch.bytes);
        loop {
            stride = stride.div_ceil(self.layout.extents[axis]);
            strides[axis] = stride as isize;
            if axis == last || stride <= LINES * LINE {
                break;
            }
            axis += 1;
        }
        let elements = if axis == self.vector() { self.copies * self.lanes } else { 1 };
        // Strides are rounded up.
        let steps = size(&self.layout.extents[..=axis]).div_ceil(elements);
        if prefetch.bytes / steps < LINE / FEW || stride.saturating_mul(elements) > MOST * LINE {
            return None;
        }
        let offset = i32::try_from(prefetch.offset).ok()?;
        // Other pointers with these strides may not move, but be read with an index.
        let pointer = self.new_pointer(prefetch.buffer, &strides)?;
        let address = Address { pointer, offset, indexed: false, row: None };
        Some(SpreadPrefetch { level: axis + 1, address, stride, writes: prefetch.writes })
    }

    /// Brings the lines of a step of this level into the cache.
    pub(super) fn prefetch(&mut self, level: usize) {
        for at in 0..self.ahead.len() {
            let SpreadPrefetch { level: own, address, stride, writes } = self.ahead[at];
            if own == level {
                let is_vector = level == self.vector() + 1;
                let elements = if is_vector { self.present * self.lanes } else { 1 };
                let lines = (stride * elements).div_ceil(LINE) as u32;
                self.builder.steps.push(Step::Prefetch { address, lines, writes });
            }
        }
    }
}
