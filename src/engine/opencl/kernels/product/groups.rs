//! Products by groups of work items: tiles of both operands are in local memory, blocks of the result in registers.

use super::Tiled;
use crate::engine::opencl::tuning::{PADDING, has_neighbours};
use crate::kernel::{COLUMN, ROW, SUMMED};
use crate::source::text::Text;

/// An operand's side of a tile: rows of the left one, columns of the right one.
struct TileSide {
    /// Which one it is.
    side: usize,
    /// The name of its tile.
    tile: &'static str,
    /// The lines in a tile, and in total.
    lines: usize,
    all: usize,
    /// The name of the first line.
    first: &'static str,
    /// Whether neighbours are along the summed axis.
    is_along_summed: bool,
}

impl Tiled<'_> {
    /// The text for a group.
    pub(super) fn groups(&self, text: &mut Text) {
        let Tiled { product, tile, element, index, .. } = self;
        let (down, across) = (tile.rows / tile.item_rows, tile.columns / tile.item_columns);
        let [rows, summed, columns] = product.sizes();
        let left = TileSide {
            side: 0,
            tile: "left_tile",
            lines: tile.rows,
            all: rows,
            first: "first_row",
            is_along_summed: has_neighbours(&product.left.strides[SUMMED]),
        };
        let right = TileSide {
            side: 1,
            tile: "right_tile",
            lines: tile.columns,
            all: columns,
            first: "first_column",
            is_along_summed: has_neighbours(&product.right.strides[SUMMED]),
        };
        for side in [&left, &right] {
            text.line(format!("__local {element} {}[{}];", side.tile, tile.summed * (side.lines + PADDING)));
        }
        text.line("const int item = get_local_id(0);");
        // The rows and columns of a work item are as far apart as there are work items, so that neighbours read and write
        // neighbours.
        if has_neighbours(&product.result.strides[ROW]) && !has_neighbours(&product.result.strides[COLUMN]) {
            text.line(format!("const int item_row = item % {down}, item_column = item / {down};"));
        } else {
            text.line(format!("const int item_column = item % {across}, item_row = item / {across};"));
        }
        text.line(format!("{element} sums[{}][{}];", tile.item_rows, tile.item_columns));
        self.unrolled(text, |text| text.line("sums[i][j] = 0;"));
        text.open(format!("for ({index} from = start; from < end; from += {})", tile.summed));
        for side in [&left, &right] {
            // Without a remainder of the summed axis, or of lines, there is no edge.
            let is_whole = (summed.is_multiple_of(tile.summed), side.all.is_multiple_of(side.lines));
            self.load(text, side, is_whole);
        }
        text.line("barrier(CLK_LOCAL_MEM_FENCE);");
        text.open(format!("for (int s = 0; s < {}; s++)", tile.summed));
        text.line(format!("{element} left[{}], right[{}];", tile.item_rows, tile.item_columns));
        for (name, side, count, apart, own) in [
            ("left", &left, tile.item_rows, down, "item_row"),
            ("right", &right, tile.item_columns, across, "item_column"),
        ] {
            text.line("#pragma unroll");
            text.line(format!(
                "for (int i = 0; i < {count}; i++) {name}[i] = {}[s * {} + {own} + i * {apart}];",
                side.tile,
                side.lines + PADDING
            ));
        }
        self.unrolled(text, |text| text.line("sums[i][j] += left[i] * right[j];"));
        text.close();
        text.line("barrier(CLK_LOCAL_MEM_FENCE);");
        text.close();
        let is_whole = (rows.is_multiple_of(tile.rows), columns.is_multiple_of(tile.columns));
        self.unrolled(text, |text| {
            text.line(format!("const {index} row = first_row + item_row + i * {down};"));
            text.line(format!("const {index} column = first_column + item_column + j * {across};"));
            let condition = match is_whole {
                (true, true) => None,
                (true, false) => Some(format!("column < {columns}")),
                (false, true) => Some(format!("row < {rows}")),
                (false, false) => Some(format!("row < {rows} && column < {columns}")),
            };
            if let Some(condition) = &condition {
                text.open(format!("if ({condition})"));
            }
            self.write(text, "sums[i][j]");
            if condition.is_some() {
                text.close();
            }
        });
    }

    /// A loop over the block of a work item, in registers.
    fn unrolled(&self, text: &mut Text, body: impl FnOnce(&mut Text)) {
        text.line("#pragma unroll");
        text.open(format!("for (int i = 0; i < {}; i++)", self.tile.item_rows));
        text.line("#pragma unroll");
        text.open(format!("for (int j = 0; j < {}; j++)", self.tile.item_columns));
        body(text);
        text.close();
        text.close();
    }

    /// Loads an operand's tile, zeros where it reaches beyond the edges.
    fn load(&self, text: &mut Text, side: &TileSide, (is_whole, has_whole_lines): (bool, bool)) {
        let Tiled { tile, index, .. } = self;
        let (elements, group) = (tile.summed * side.lines, tile.group());
        text.line("#pragma unroll");
        text.open(format!("for (int load = 0; load < {}; load++)", elements.div_ceil(group)));
        text.line(format!("const int at = item + load * {group};"));
        if side.is_along_summed {
            text.line(format!("const int s = at % {0}, l = at / {0};", tile.summed));
        } else {
            text.line(format!("const int l = at % {0}, s = at / {0};", side.lines));
        }
        text.line(format!("const {index} line = {} + l, position = from + s;", side.first));
        let mut conditions = Vec::new();
        if !has_whole_lines {
            conditions.push(format!("line < {}", side.all));
        }
        // Parts end at whole chunks, except for the last one.
        if !is_whole {
            conditions.push("position < end".to_string());
        }
        let inside = (!conditions.is_empty()).then(|| conditions.join(" && "));
        let place = format!("{}[s * {} + l]", side.tile, side.lines + PADDING);
        let load = |text: &mut Text| self.load_element(text, side.side, &place, inside.as_deref());
        if elements.is_multiple_of(group) {
            load(text);
        } else {
            text.open(format!("if (at < {elements})"));
            load(text);
            text.close();
        }
        text.close();
    }
}
