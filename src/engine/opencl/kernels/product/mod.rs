//! Matrix products as kernels: in tiles, by groups of work items or by independent work items.

mod epilogue;
mod groups;
mod items;
mod merging;
mod parts;
mod places;
mod prologue;
mod worth;

use super::{KernelScope, KernelWriter};
use crate::engine::opencl::code::{Action, Grid};
use crate::engine::opencl::failure::DeviceResult;
use crate::engine::opencl::tuning::{ProductChoice, ProductKernel, Sizes, Tile};
use crate::kernel::{BATCH, BufferId, COLUMN, Epilogue, MatrixProduct, Nest, Procedure, ROW, SUMMED};
use crate::source::plan::BufferPlan;
use crate::source::text::Text;
use epilogue::SUM;

/// A product in tiles under construction.
struct Tiled<'a> {
    product: &'a MatrixProduct,
    tile: Tile,
    /// In how many parts the summed axis is taken.
    parts: usize,
    /// The name of the element type.
    element: &'static str,
    /// The type that counts positions.
    index: &'static str,
    /// The left operand, and the right one.
    operands: [Loaded; 2],
    /// The name of the array of partial sums.
    partial: Option<String>,
    ending: Ending,
}

/// How an operand's element for a line and a position of its tile is loaded.
struct Loaded {
    /// Its text, or its name once it is computed.
    element: String,
    /// The text that computes it.
    prologue: Option<Text>,
}

/// The use of the elements of a product.
struct Ending {
    /// The name of the array that they are stored to.
    result: Option<String>,
    /// The text that works on each of them.
    epilogue: Option<Text>,
}

/// The tiling of a product.
struct Tiling {
    kernel: ProductKernel,
    tile: Tile,
    /// Work items of a group.
    group: usize,
    /// In how many parts the summed axis is taken, and how many positions each of them has.
    parts: usize,
    part: usize,
}

impl KernelWriter {
    /// How a product is computed in tiles, if it is.
    fn tiling(&self, procedure: &Procedure, product: &MatrixProduct) -> DeviceResult<Option<Tiling>> {
        let dtype = procedure.buffers[product.result.buffer as usize].ty.dtype;
        let Sizes { batches, rows, summed, columns } = Sizes::of(product);
        let ProductChoice { kernel, parts } = self.products.choice(dtype, product, &self.limits)?;
        let (tile, group) = match kernel {
            ProductKernel::Groups(tile) => (tile, tile.group()),
            ProductKernel::Items(tile) => (tile, 1),
            ProductKernel::Elements => return Ok(None),
        };
        // An empty product, or a sum of nothing, needs no tiles.
        if batches * rows * columns == 0 || summed == 0 {
            return Ok(None);
        }
        // Parts consist of whole chunks, so there may be fewer than asked for.
        let part = summed.div_ceil(parts).next_multiple_of(tile.summed);
        Ok(Some(Tiling { kernel, tile, group, parts: summed.div_ceil(part), part }))
    }

    /// A product's kernels, two at most.
    pub(super) fn product(
        &mut self,
        procedure: &Procedure,
        plan: &mut BufferPlan<'_>,
        product: &MatrixProduct,
    ) -> DeviceResult<Vec<Action>> {
        let dtype = procedure.buffers[product.result.buffer as usize].ty.dtype;
        let Some(Tiling { kernel, tile, group, parts, part }) = self.tiling(procedure, product)? else {
            return Ok(self.nest(procedure, plan, &product.as_nest(dtype), product.continues));
        };
        let Sizes { batches, rows, columns, .. } = Sizes::of(product);
        let count = batches * rows * columns;
        let (nest, keeps_result) = match &product.epilogue {
            Some(Epilogue { nest, keeps_result }) => (Some(nest), *keeps_result),
            None => (None, true),
        };
        let mut scope = KernelScope { procedure, scratch: Vec::new() };
        let partial = (parts > 1).then(|| scope.add(plan.memory(dtype, parts * count), dtype, parts * count));
        // The arrays that the last kernel reads in addition, and those that it writes.
        let others = nest.iter().flat_map(|nest| nest.read()).filter(|&id| id != product.result.buffer);
        let others: Vec<BufferId> = others.collect();
        let stored = nest.iter().flat_map(|nest| &nest.stores).map(|store| store.buffer);
        let written: Vec<BufferId> = keeps_result.then_some(product.result.buffer).into_iter().chain(stored).collect();
        let read = product.sources();
        let operands = match partial {
            None => scope.operands(&[&read[..], &others[..]].concat(), &written),
            Some(partial) => scope.operands(&read, &[partial]),
        };
        let last = partial.map(|partial| scope.operands(&[&[partial], &others[..]].concat(), &written));
        let index = index_type(procedure, product, parts * count);
        let ending = {
            let operands = last.as_ref().unwrap_or(&operands);
            let result = keeps_result.then(|| operands.names[&product.result.buffer].clone());
            let epilogue = nest.map(|nest| self.epilogue(&scope, operands, (product, index), nest));
            Ending { result, epilogue }
        };
        let tiled = Tiled {
            product,
            tile,
            parts,
            element: self.element(dtype),
            index,
            operands: [0, 1].map(|side| self.loaded(&scope, &operands, (product, index), side)),
            partial: partial.map(|partial| operands.names[&partial].clone()),
            ending,
        };
        let groups = batches * rows.div_ceil(tile.rows) * columns.div_ceil(tile.columns) * parts;
        let mut text = Text::default();
        tiled.position(&mut text, part);
        match kernel {
            ProductKernel::Groups(_) => tiled.groups(&mut text),
            _ => tiled.items(&mut text),
        }
        let mut actions = vec![self.group_kernel("product", &operands, Grid { items: groups * group, group }, text)];
        if let (Some(operands), Some(partial)) = (last, &tiled.partial) {
            let mut text = Text::default();
            tiled.sum_of_parts(&mut text, partial);
            actions.push(self.kernel("sum_of_parts", &operands, count, text));
        }
        Ok(actions)
    }
}

/// The type that counts positions: the faster one, unless an array, a part of the memory, an extent or a value computed from
/// positions is too large for it.
fn index_type(procedure: &Procedure, product: &MatrixProduct, count: usize) -> &'static str {
    let sizes = [&product.left, &product.right, &product.result].map(|operand| {
        let id = procedure.origin(operand.buffer);
        procedure.buffers[id as usize].ty.size()
    });
    let nests = || product.prologues.iter().flatten().chain(product.epilogue.iter().map(|epilogue| &epilogue.nest));
    let touched = nests().flat_map(|nest: &Nest| nest.read().chain(nest.stores.iter().map(|store| store.buffer)));
    let touched = touched.map(|id| procedure.buffers[procedure.origin(id) as usize].ty.size());
    let extents = [BATCH, ROW, SUMMED, COLUMN].map(|role| product.count(role));
    // Tiles reach beyond the edges.
    let is_small = |size: usize| size < 1 << 30;
    // Places that guards keep from being read may be far outside of an array.
    let reaches_far = |nest: &Nest| nest.functions().any(|at| !at.magnitude(&nest.extents).is_some_and(is_small));
    let is_small =
        sizes.into_iter().chain(touched).chain(extents).chain([count]).all(is_small) && !nests().any(reaches_far);
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

    /// The statements that put the operand's element at `line` and `position` at a place of its tile, if that is inside.
    fn load_element(&self, text: &mut Text, side: usize, place: &str, inside: Option<&str>) {
        let (Loaded { element, prologue }, dtype) = (&self.operands[side], self.element);
        match (prologue, inside) {
            (None, None) => text.line(format!("{place} = {element};")),
            (None, Some(condition)) => text.line(format!("{place} = {condition} ? {element} : 0;")),
            (Some(prologue), None) => {
                text.line(format!("{dtype} {element};"));
                text.append(prologue.clone());
                text.line(format!("{place} = {element};"));
            }
            (Some(prologue), Some(condition)) => {
                // Beyond the edges there are no operands to compute it from.
                text.line(format!("{dtype} {element} = 0;"));
                text.open(format!("if ({condition})"));
                text.append(prologue.clone());
                text.close();
                text.line(format!("{place} = {element};"));
            }
        }
    }

    /// The statements for the sum of the element at `row` and `column`.
    fn write(&self, text: &mut Text, sum: &str) {
        match &self.partial {
            Some(partial) => {
                let (rows, columns) = (self.count(ROW), self.count(COLUMN));
                let batches = self.count(BATCH);
                let batch = if batches > 1 { format!("(part * {batches} + batch)") } else { "part".into() };
                text.line(format!("{partial}[({batch} * {rows} + row) * {columns} + column] = {sum};"));
            }
            None if self.ending.epilogue.is_some() => {
                text.line(format!("const {} {SUM} = {sum};", self.element));
                self.end(text, SUM);
            }
            None => self.end(text, sum),
        }
    }

    /// The statements for the whole sum of the element at `row` and `column`, which an epilogue has by its name.
    fn end(&self, text: &mut Text, sum: &str) {
        let (product, Ending { result, epilogue }) = (self.product, &self.ending);
        if let Some(result) = result {
            let operator = if product.continues { "+=" } else { "=" };
            text.line(format!("{result}[{}] {operator} {sum};", places::result(product).place()));
        }
        if let Some(epilogue) = epilogue {
            text.append(epilogue.clone());
        }
    }
}
