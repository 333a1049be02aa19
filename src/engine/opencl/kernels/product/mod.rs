//! Matrix products as kernels: in tiles, by groups of work items or by work items that compute alone.

mod groups;
mod items;
mod parts;
mod places;

use super::{Scope, Writer};
use crate::engine::opencl::code::{Action, Grid};
use crate::engine::opencl::failure::Outcome;
use crate::engine::opencl::tuning::{Choice, ProductKernel, Sizes, Tile};
use crate::kernel::{BATCH, COLUMN, Procedure, Product, ROW, SUMMED};
use crate::source::plan::Plan;
use crate::source::text::Text;

/// A product in tiles under construction.
struct Tiled<'a> {
    product: &'a Product,
    tile: Tile,
    /// In how many parts the summed axis is taken.
    parts: usize,
    /// What elements are called.
    element: &'static str,
    /// What positions are counted in.
    index: &'static str,
    /// The names of the operands, and of the result or of what is summed of parts.
    left: String,
    right: String,
    result: String,
}

impl Writer {
    /// A product's kernels, two at most.
    pub(super) fn product(
        &mut self,
        procedure: &Procedure,
        plan: &mut Plan<'_>,
        product: &Product,
    ) -> Outcome<Vec<Action>> {
        let dtype = procedure.buffers[product.result.buffer as usize].ty.dtype;
        let Sizes { batches, rows, summed, columns } = Sizes::of(product);
        let Choice { kernel, parts } = self.products.choice(dtype, product, &self.limits)?;
        let (tile, group) = match kernel {
            ProductKernel::Groups(tile) => (tile, tile.group()),
            ProductKernel::Items(tile) => (tile, 1),
            ProductKernel::Elements => {
                return Ok(self.nest(procedure, plan, &product.as_nest(dtype), product.continues));
            }
        };
        let count = batches * rows * columns;
        // What is empty, or a sum of nothing, needs no tiles.
        if count == 0 || summed == 0 {
            return Ok(self.nest(procedure, plan, &product.as_nest(dtype), product.continues));
        }
        // Parts are of whole chunks, so that there may be fewer.
        let part = summed.div_ceil(parts).next_multiple_of(tile.summed);
        let parts = summed.div_ceil(part);
        let (read, written) = ([product.left.buffer, product.right.buffer], [product.result.buffer]);
        let mut scope = Scope { procedure, scratch: Vec::new() };
        let target = match parts {
            1 => product.result.buffer,
            _ => scope.add(plan.memory(dtype, parts * count), dtype, parts * count),
        };
        let operands = scope.operands(&read, &[target]);
        let tiled = Tiled {
            product,
            tile,
            parts,
            element: self.element(dtype),
            index: index_type(procedure, product, parts * count),
            left: operands.names[&read[0]].clone(),
            right: operands.names[&read[1]].clone(),
            result: operands.names[&target].clone(),
        };
        let groups = batches * rows.div_ceil(tile.rows) * columns.div_ceil(tile.columns) * parts;
        let mut text = Text::default();
        tiled.position(&mut text, part);
        match kernel {
            ProductKernel::Groups(_) => tiled.groups(&mut text),
            _ => tiled.items(&mut text),
        }
        let mut actions = vec![self.group_kernel("product", &operands, Grid { items: groups * group, group }, text)];
        if parts > 1 {
            let operands = scope.operands(&[target], &written);
            let mut text = Text::default();
            tiled.sum_of_parts(&mut text, &operands.names[&written[0]]);
            actions.push(self.kernel("sum_of_parts", &operands, count, text));
        }
        Ok(actions)
    }
}

/// The type that positions are counted in: the faster one, if no array, no part of the memory and no extent is too large.
fn index_type(procedure: &Procedure, product: &Product, count: usize) -> &'static str {
    let sizes = [&product.left, &product.right, &product.result].map(|operand| {
        let id = procedure.origin(operand.buffer);
        procedure.buffers[id as usize].ty.size()
    });
    let extents = [BATCH, ROW, SUMMED, COLUMN].map(|role| product.count(role));
    // Tiles reach beyond the edges.
    let is_small = sizes.into_iter().chain(extents).chain([count]).all(|size| size < 1 << 30);
    if is_small { "int" } else { "long" }
}

impl Tiled<'_> {
    fn count(&self, role: usize) -> usize {
        self.product.count(role)
    }

    /// The tile that a group has, and where its part of the summed axis is.
    fn position(&self, text: &mut Text, part: usize) {
        let Tiled { product, tile, index, .. } = self;
        let [rows, summed, columns] = product.sizes();
        let (down, across) = (rows.div_ceil(tile.rows), columns.div_ceil(tile.columns));
        text.line(format!("// {} of {rows} by {summed} with {summed} by {columns}", self.count(BATCH)));
        text.line(format!("const {index} group = get_group_id(0);"));
        text.line(format!("const {index} first_column = group % {across} * {};", tile.columns));
        text.line(format!("const {index} first_row = group / {across} % {down} * {};", tile.rows));
        if self.parts > 1 {
            text.line(format!("const {index} part = group / {} % {};", across * down, self.parts));
            text.line(format!("const {index} start = part * {part};"));
            text.line(format!("const {index} end = min(start + {part}, ({index}){summed});"));
        } else {
            text.line(format!("const {index} start = 0, end = {summed};"));
        }
        if self.count(BATCH) > 1 {
            text.line(format!("const {index} batch = group / {};", across * down * self.parts));
        }
    }

    /// The element that a sum is written to.
    fn written(&self, row: &str, column: &str) -> String {
        let (result, product) = (&self.result, self.product);
        if self.parts == 1 {
            return format!("{result}[{}]", places::result(product, row, column));
        }
        let (rows, columns) = (self.count(ROW), self.count(COLUMN));
        let batch =
            if self.count(BATCH) > 1 { format!("(part * {} + batch)", self.count(BATCH)) } else { "part".into() };
        format!("{result}[({batch} * {rows} + {row}) * {columns} + {column}]")
    }

    /// The statement that writes a sum.
    fn write(&self, text: &mut Text, (row, column): (&str, &str), sum: &str) {
        let operator = if self.product.continues && self.parts == 1 { "+=" } else { "=" };
        text.line(format!("{} {operator} {sum};", self.written(row, column)));
    }
}
