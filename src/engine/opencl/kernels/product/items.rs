//! Products by independent work items: tiles of both operands are packed into memory that is near, and blocks of the
//! result are vectors in registers.

use super::Tiled;
use crate::engine::opencl::tuning::has_neighbours;
use crate::kernel::{COLUMN, ROW, SUMMED};
use crate::source::text::Text;

/// Bytes of the widest vector of processors.
const VECTOR: usize = 64;

/// An operand's tile, packed so that a block reads it from front to back.
struct PackedTile {
    side: usize,
    tile: &'static str,
    /// Lines of a block.
    block: usize,
    /// The number of lines that the tile has, and the first of them.
    own: &'static str,
    first: &'static str,
    is_along_summed: bool,
}

impl Tiled<'_> {
    /// The text for a work item.
    pub(super) fn items(&self, text: &mut Text) {
        let Tiled { product, tile, element, index, .. } = self;
        let [rows, _, columns] = product.sizes();
        let left = PackedTile {
            side: 0,
            tile: "left_tile",
            block: tile.item_rows,
            own: "rows",
            first: "first_row",
            is_along_summed: has_neighbours(&product.left.strides[SUMMED]),
        };
        let right = PackedTile {
            side: 1,
            tile: "right_tile",
            block: tile.item_columns,
            own: "columns",
            first: "first_column",
            is_along_summed: has_neighbours(&product.right.strides[SUMMED])
                && !has_neighbours(&product.right.strides[COLUMN]),
        };
        text.line(format!("__local {element} left_tile[{}] __attribute__((aligned(64)));", tile.summed * tile.rows));
        text.line(format!(
            "__local {element} right_tile[{}] __attribute__((aligned(64)));",
            tile.summed * tile.columns
        ));
        text.line(format!("__local {element} sums[{}] __attribute__((aligned(64)));", tile.rows * tile.columns));
        text.line(format!("const int rows = min({rows} - first_row, ({index}){});", tile.rows));
        text.line(format!("const int columns = min({columns} - first_column, ({index}){});", tile.columns));
        text.open(format!("for ({index} from = start; from < end; from += {})", tile.summed));
        text.line(format!("const int steps = min(end - from, ({index}){});", tile.summed));
        self.pack(text, &left);
        self.pack(text, &right);
        text.open(format!("for (int r = 0; r < rows; r += {})", tile.item_rows));
        text.open(format!("for (int c = 0; c < columns; c += {})", tile.item_columns));
        self.block(text);
        text.close();
        text.close();
        text.close();
        // Neighbours of the result are written one after the other.
        let by_column =
            has_neighbours(&product.result.strides[ROW]) && !has_neighbours(&product.result.strides[COLUMN]);
        let loops = [("r", "rows"), ("c", "columns")];
        let [outer, inner] = if by_column { [loops[1], loops[0]] } else { loops };
        for (name, count) in [outer, inner] {
            text.open(format!("for (int {name} = 0; {name} < {count}; {name}++)"));
        }
        text.line(format!("const {index} row = first_row + r, column = first_column + c;"));
        self.write(text, &format!("sums[r * {} + c]", tile.columns));
        text.close();
        text.close();
    }

    /// Packs a tile of an operand, zeros where its last block reaches beyond the edge.
    fn pack(&self, text: &mut Text, side: &PackedTile) {
        let Tiled { tile, index, .. } = self;
        let PackedTile { block, own, first, .. } = side;
        // Blocks come one after the other, and in each the lines of one position.
        text.open(format!("for (int b = 0; b < {own}; b += {block})"));
        text.line(format!("const int within = min({own} - b, {block});"));
        let place = format!("{}[(b / {block} * {} + s) * {block} + l]", side.tile, tile.summed);
        let loops = ["for (int s = 0; s < steps; s++)", "for (int l = 0; l < within; l++)"];
        let [outer, inner] = if side.is_along_summed { [loops[1], loops[0]] } else { loops };
        let load = |text: &mut Text| {
            text.line(format!("const {index} line = {first} + b + l, position = from + s;"));
            self.load_element(text, side.side, &place, None);
        };
        // Most blocks are whole, which compilers handle well.
        text.open(format!("if (within == {block})"));
        for head in [outer, inner] {
            text.open(head.replace("within", &block.to_string()));
        }
        load(text);
        text.close();
        text.close();
        text.between("} else {");
        text.open(outer);
        text.open(inner);
        load(text);
        text.close();
        text.close();
        text.open(loops[0]);
        text.line(format!("for (int l = within; l < {block}; l++) {place} = 0;"));
        text.close();
        text.close();
        text.close();
    }

    /// The block at row `r` and column `c` of the tile, whose sums are variables.
    fn block(&self, text: &mut Text) {
        let Tiled { tile, element, .. } = self;
        let bytes = if *element == "double" { 8 } else { 4 };
        let lanes = [16, 8, 4, 2].into_iter().find(|n| n * bytes <= VECTOR && tile.item_columns.is_multiple_of(*n));
        let lanes = lanes.unwrap_or(1);
        let vector = if lanes == 1 { element.to_string() } else { format!("{element}{lanes}") };
        let vectors = tile.item_columns / lanes;
        let all = |f: &dyn Fn(usize, usize) -> String| -> Vec<String> {
            (0..tile.item_rows).flat_map(|i| (0..vectors).map(move |j| (i, j))).map(|(i, j)| f(i, j)).collect()
        };
        for i in 0..tile.item_rows {
            let own: Vec<String> = (0..vectors).map(|j| format!("sum{i}_{j} = 0")).collect();
            text.line(format!("{vector} {};", own.join(", ")));
        }
        text.line(format!("__local const {element} *left = left_tile + r * {};", tile.summed));
        text.line(format!(
            "__local const {vector} *right = (__local const {vector} *)(right_tile + c * {});",
            tile.summed
        ));
        text.open("for (int s = 0; s < steps; s++)");
        for j in 0..vectors {
            text.line(format!("const {vector} right{j} = right[s * {vectors} + {j}];"));
        }
        for i in 0..tile.item_rows {
            text.line(format!("const {element} left{i} = left[s * {} + {i}];", tile.item_rows));
        }
        text.lines(all(&|i, j| format!("sum{i}_{j} += left{i} * right{j};")));
        text.close();
        text.line(format!("__local {vector} *to = (__local {vector} *)(sums + r * {} + c);", tile.columns));
        let place = |i: usize, j: usize| format!("to[{}]", i * (tile.columns / lanes) + j);
        text.open("if (from == start)");
        text.lines(all(&|i, j| format!("{} = sum{i}_{j};", place(i, j))));
        text.between("} else {");
        text.lines(all(&|i, j| format!("{} += sum{i}_{j};", place(i, j))));
        text.close();
    }
}
