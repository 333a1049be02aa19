//! Items that compute several neighbours along the innermost loop: they load and store rows as vectors, and in between compute
//! every element as a single one.

use super::text::Text;
use super::writer::NestWriter;
use crate::shape::DType;

impl NestWriter<'_> {
    /// How many positions of items there are along a loop that is not written as a loop: one for each block of neighbours, if
    /// items compute several.
    pub(crate) fn places(&self, axis: usize) -> usize {
        let extent = self.nest.extents[axis];
        if self.has_blocks() && self.order.last() == Some(&axis) { extent.div_ceil(self.width) } else { extent }
    }

    /// Whether each item computes a block of neighbours.
    pub(crate) fn has_blocks(&self) -> bool {
        self.width > 1 && self.parallel == self.depth()
    }

    /// An item's work along the innermost loop, which is not written as a loop: a block of neighbours.
    pub(crate) fn block(&mut self, text: &mut Text, level: usize) {
        let axis = self.order[level];
        let (variable, extent, width) = (self.variable(axis), self.nest.extents[axis], self.width);
        let number = if level == 0 { "item".into() } else { format!("(item % {})", self.places(axis)) };
        text.line(self.language.declare_index("start", &format!("{width} * {number}")));
        self.bind_rows(text);
        let is_whole = extent.is_multiple_of(width);
        if !is_whole {
            text.open(self.language.condition(&format!("start + {width} <= {extent}")));
        }
        self.vectors(text, level, "start");
        if !is_whole {
            text.between(self.language.otherwise());
            text.open(self.language.for_loop(&variable, "start", &extent.to_string()));
            self.level(text, level + 1);
            text.close();
            text.close();
        }
        self.rows.clear();
    }

    /// The steps of the innermost loop from a position on that are a vector. The elements of rows are in arrays meanwhile, whose
    /// places are all known once the loop is unrolled, so that they are registers.
    pub(crate) fn vectors(&mut self, text: &mut Text, level: usize, start: &str) {
        let (variable, width) = (self.variable(self.order[self.depth() - 1]), self.width);
        let rows = self.rows.iter().map(|((buffer, _), (name, writes))| (name.clone(), (self.dtype)(*buffer), *writes));
        let mut rows: Vec<(String, DType, bool)> = rows.collect();
        rows.sort_by(|(a, ..), (b, ..)| (a.len(), a).cmp(&(b.len(), b)));
        for (name, dtype, writes) in &rows {
            text.line(self.language.local(&format!("lane_{name}"), *dtype, width));
            if !writes {
                text.line(format!("vstore{width}(vload{width}(0, {name} + {start}), 0, lane_{name});"));
            }
        }
        text.line("#pragma unroll");
        text.open(format!("for (uint element = 0; element < {width}; element++)"));
        text.declare(&variable, self.language.declare_index(&variable, &format!("{start} + element")));
        self.lane = Some("element".into());
        self.level(text, level + 1);
        self.lane = None;
        text.close();
        for (name, ..) in rows.iter().filter(|(.., writes)| *writes) {
            text.line(format!("vstore{width}(vload{width}(0, lane_{name}), 0, {name} + {start});"));
        }
    }
}
