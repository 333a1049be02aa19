//! Sums of the parts in which a summed axis is taken.

use super::{SUM, Tiled};
use crate::kernel::{BATCH, COLUMN, ROW};
use crate::source::text::Text;

impl Tiled<'_> {
    /// Sums the parts of the element that a work item has, in their order.
    pub(super) fn sum_of_parts(&self, text: &mut Text, own: &str) {
        let Tiled { element, index, parts, .. } = self;
        let [batches, rows, columns] = [BATCH, ROW, COLUMN].map(|role| self.count(role));
        let count = batches * rows * columns;
        text.line(format!("const {index} column = item % {columns};"));
        text.line(format!("const {index} row = item / {columns} % {rows};"));
        if batches > 1 {
            text.line(format!("const {index} batch = item / {};", rows * columns));
        }
        text.line(format!("{element} {SUM} = {own}[item];"));
        text.line(format!("for (int part = 1; part < {parts}; part++) {SUM} += {own}[part * {count}L + item];"));
        self.end(text, SUM);
    }
}
