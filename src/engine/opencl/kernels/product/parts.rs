//! Sums of the parts in which a summed axis is taken.

use super::{Tiled, places};
use crate::kernel::{BATCH, COLUMN, ROW};
use crate::source::text::Text;

impl Tiled<'_> {
    /// Sums the parts of the element that a work item has, in their order.
    pub(super) fn sum_of_parts(&self, text: &mut Text, result: &str) {
        let Tiled { product, element, index, parts, result: own, .. } = self;
        let [batches, rows, columns] = [BATCH, ROW, COLUMN].map(|role| self.count(role));
        let count = batches * rows * columns;
        text.line(format!("const {index} column = item % {columns};"));
        text.line(format!("const {index} row = item / {columns} % {rows};"));
        if batches > 1 {
            text.line(format!("const {index} batch = item / {};", rows * columns));
        }
        text.line(format!("{element} sum = {own}[item];"));
        text.line(format!("for (int part = 1; part < {parts}; part++) sum += {own}[part * {count}L + item];"));
        let operator = if product.continues { "+=" } else { "=" };
        text.line(format!("{result}[{}] {operator} sum;", places::result(product, "row", "column")));
    }
}
