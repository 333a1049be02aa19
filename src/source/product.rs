//! Matrix products: tiles of the result that stay in registers while rows of the right operand go by.

use super::language::ArraySlice;
use super::procedure::FunctionBuilder;
use crate::array::neutral_value;
use crate::kernel::{BATCH, COLUMN, MatrixProduct, ROW, SUMMED, Strided};
use crate::operation::Reduction;
use crate::shape::DType;

/// Rows of a tile, and bytes of its columns: two vectors of the narrowest kind that processors have for floats, four of them.
const ROWS: usize = 4;
const COLUMN_BYTES: usize = 64;

/// The places of an operand's element at the positions of all batches, the row or the summed axis, and so on.
fn place(operand: &Strided, batches: usize, terms: &[(isize, &str)]) -> String {
    let batches = (0..batches).map(|at| (operand.strides[BATCH][at], format!("batch{at}")));
    sum_of(batches.chain(terms.iter().map(|&(stride, name)| (stride, name.to_string()))).collect(), operand.offset)
}

/// The place at multiples of these positions after an offset.
pub(crate) fn sum_of(mut terms: Vec<(isize, String)>, offset: usize) -> String {
    terms.retain(|(stride, _)| *stride != 0);
    let text = |(stride, name): &(isize, String)| match stride.unsigned_abs() {
        1 => name.clone(),
        size => format!("{size} * {name}"),
    };
    let (added, subtracted): (Vec<_>, Vec<_>) = terms.iter().partition(|(stride, _)| *stride > 0);
    let mut sum: Vec<String> = added.into_iter().map(text).collect();
    if offset > 0 || sum.is_empty() {
        sum.push(offset.to_string());
    }
    // Subtracted terms come last, so that no intermediate position is below 0.
    subtracted.into_iter().map(text).fold(sum.join(" + "), |text, term| format!("{text} - {term}"))
}

/// The part of a product for a range of rows and columns.
fn part(product: &MatrixProduct, rows: std::ops::Range<usize>, columns: std::ops::Range<usize>) -> MatrixProduct {
    let mut part = product.clone();
    let moved = |operand: &mut Strided, role: usize, start: usize| {
        let place = operand.offset as isize + operand.strides[role][0] * start as isize;
        operand.offset = place.unsigned_abs();
        debug_assert!(place >= 0, "elements are inside of their arrays");
    };
    for operand in [&mut part.left, &mut part.right, &mut part.result] {
        moved(operand, ROW, rows.start);
        moved(operand, COLUMN, columns.start);
    }
    part.extents[ROW][0] = rows.len();
    part.extents[COLUMN][0] = columns.len();
    part.continues = true;
    part
}

impl FunctionBuilder<'_, '_, '_> {
    /// Writes products in tiles, and the parts beside the tiles as nests.
    pub(crate) fn product(&mut self, product: &MatrixProduct) {
        let dtype = self.dtype(product.result.buffer);
        let width = COLUMN_BYTES / dtype.bytes();
        let [rows, summed, columns] = product.sizes();
        let axes = [ROW, SUMMED, COLUMN].map(|role| product.extents[role].len());
        let is_tiled = dtype.is_float()
            && axes == [1, 1, 1]
            && product.right.strides[COLUMN][0] == 1
            && product.result.strides[COLUMN][0] == 1
            && (rows >= ROWS && columns >= width && summed > 0);
        if !is_tiled {
            return self.nest(&product.as_nest(dtype), product.continues);
        }
        if !product.continues {
            self.text.open("");
            self.bind(&[], &[product.result.buffer]);
            self.fill(product.result.buffer, Reduction::Sum);
            self.text.close();
        }
        let (whole_rows, whole_columns) = (rows / ROWS * ROWS, columns / width * width);
        self.text.open("");
        self.tiles(product, dtype, (whole_rows / ROWS, whole_columns / width, width));
        self.text.close();
        for (rows, columns) in [(0..whole_rows, whole_columns..columns), (whole_rows..rows, 0..columns)] {
            if !rows.is_empty() && !columns.is_empty() {
                self.text.open("");
                self.nest(&part(product, rows, columns).as_nest(dtype), true);
                self.text.close();
            }
        }
    }

    fn tiles(&mut self, product: &MatrixProduct, dtype: DType, (down, across, width): (usize, usize, usize)) {
        let language = self.writer.language;
        let (left, right, result) = (&product.left, &product.right, &product.result);
        self.bind(&[left.buffer, right.buffer], &[result.buffer]);
        let batches = product.extents[BATCH].len();
        for (at, &extent) in product.extents[BATCH].iter().enumerate() {
            self.text.open(language.for_loop(&format!("batch{at}"), "0", &extent.to_string()));
        }
        self.text.open(language.for_loop("block", "0", &down.to_string()));
        self.text.open(language.for_loop("i0", "0", &across.to_string()));
        self.text.line(language.declare_index("i1", &format!("{width} * i0")));
        let zero = language.literal(neutral_value(Reduction::Sum, dtype));
        for row in 0..ROWS {
            self.text.line(language.declare_lanes(&format!("total{row}"), dtype, width, &zero));
        }
        let summed = product.extents[SUMMED][0];
        self.text.open(language.for_loop("i2", "0", &summed.to_string()));
        for row in 0..ROWS {
            let at = format!("({ROWS} * block + {row})");
            let at = place(left, batches, &[(left.strides[ROW][0], &at), (left.strides[SUMMED][0], "i2")]);
            let element = format!("{}[{at}]", self.name(left.buffer));
            self.text.line(language.declare(&format!("factor{row}"), dtype, &element));
        }
        let at = place(right, batches, &[(right.strides[SUMMED][0], "i2"), (1, "i1")]);
        let array = self.name(right.buffer);
        let source = ArraySlice { array: &array, offset: at, count: Some(width) };
        self.text.line(language.bind("row", dtype, &source, false));
        self.text.open(language.for_loop("lane", "0", &width.to_string()));
        for row in 0..ROWS {
            let total = format!("total{row}[lane]");
            let text = format!("{total} = {total} + (factor{row} * row[lane]);");
            self.text.line(text);
        }
        self.text.close();
        self.text.close();
        for row in 0..ROWS {
            let at = format!("({ROWS} * block + {row})");
            let at = place(result, batches, &[(result.strides[ROW][0], &at), (1, "i1")]);
            let array = self.name(result.buffer);
            self.text.open("");
            let target = ArraySlice { array: &array, offset: at, count: Some(width) };
            self.text.line(language.bind("row", dtype, &target, true));
            self.text.open(language.for_loop("lane", "0", &width.to_string()));
            self.text.line(format!("row[lane] = row[lane] + total{row}[lane];"));
            self.text.close();
            self.text.close();
        }
        self.text.close();
        self.text.close();
        product.extents[BATCH].iter().for_each(|_| self.text.close());
    }
}
