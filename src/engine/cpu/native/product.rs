//! Products of matrices as nests, where these are faster than products of packed operands.
//!
//! Packing takes longer than the product where one operand is windows, and the other has few lines. And it is needless where one
//! operand stays in the cache as it is: then the code takes some rows of the other one at a time, by as many registers of columns as
//! there are, and every element of either is read once for several sums.

use super::jam::side_by_side;
use super::{OrderedNest, code_of};
use crate::engine::cpu::code::NestCode;
use crate::engine::cpu::layout::NestLayout;
use crate::engine::cpu::target::Target;
use crate::kernel::{COLUMN, MatrixProduct, Nest, ROW, SUMMED, Strided, ValueId};
use crate::shape::{DType, Type, size};

/// The cost of a register of multiplications, in simple instructions, from which on products of packed windows are faster.
const MULTIPLICATION: f64 = 12.0;
/// Lines of the other operand up to which that may be so.
const FEW_LINES: usize = 32;

/// Bytes of a matrix that stays in the cache while rows are multiplied by it.
const NEAR: usize = 64 << 10;
/// Rows, and registers of columns, side by side at most.
const ROWS: usize = 8;
const COLUMNS: usize = 4;
/// Registers of sums, rows and columns at most, with AVX-512 and with AVX2.
const REGISTERS: [usize; 2] = [30, 15];
/// Fewer sums side by side wait for each other.
const LEAST: usize = 5;
/// Terms of a sum at most: longer ones are sums of parts, which round less.
const TERMS: usize = 256;
/// How much longer code is than that of one row and one register.
pub(super) const LONGER: f64 = 16.0;

/// The code of products as a nest; `None` where packed operands are faster.
pub(in crate::engine::cpu) fn compile_product(
    target: Target<'_>,
    product: &MatrixProduct,
    types: &[Type],
    cut: bool,
) -> Option<NestCode> {
    let dtype = types[product.result.buffer as usize].dtype;
    let form = ProductForm::of(product, dtype, target.code?.register_bytes())?;
    code_of(target, &product.as_nest(dtype), types, cut, Some(form))
}

/// How a product is a nest, with the value that vectors go along in: its windows, or its matrix.
#[derive(Clone, Copy)]
pub(super) enum ProductForm {
    /// At this cost at most.
    Windows(ValueId, f64),
    Rows(ValueId),
}

impl ProductForm {
    pub(super) fn of(product: &MatrixProduct, dtype: DType, width: usize) -> Option<ProductForm> {
        if !dtype.is_float() {
            return None;
        }
        let operands = [(&product.left, ROW), (&product.right, COLUMN)];
        if let Some(windows) = operands.iter().position(|(operand, _)| operand.overlaps(&product.extents)) {
            let registers = size(&product.all_extents()) as f64 * dtype.bytes() as f64 / width as f64;
            let is_few = product.count(operands[1 - windows].1) <= FEW_LINES;
            return is_few.then_some(ProductForm::Windows(windows as ValueId, MULTIPLICATION * registers));
        }
        let bytes =
            |lines: usize| product.count(lines).saturating_mul(product.count(SUMMED)).saturating_mul(dtype.bytes());
        // Of two matrices, the one whose lines are neighbours in the result.
        let is_along = |&(operand, lines): &(&Strided, usize)| {
            let is_run = |strided: &Strided| strided.strides[lines].last() == Some(&1);
            is_run(operand) && is_run(&product.result) && bytes(lines) <= NEAR && product.count(SUMMED) <= TERMS
        };
        let matrix = operands.iter().rposition(is_along)?;
        Some(ProductForm::Rows(matrix as ValueId))
    }

    /// Whether loops are in the order of this form.
    pub(super) fn suits(self, code: &OrderedNest) -> bool {
        match self {
            ProductForm::Windows(windows, cost) => code.cost <= cost && code.goes_along(windows),
            ProductForm::Rows(matrix) => code.goes_along(matrix) && code.goes_in_rows(matrix),
        }
    }
}

/// A product with some rows side by side in registers of columns, the number of which comes last; `None` where the number of rows is
/// no multiple.
pub(super) fn in_rows(
    nest: &Nest,
    layout: &NestLayout,
    lanes: usize,
    is_wide: bool,
) -> Option<(Nest, NestLayout, usize)> {
    let position = layout.vector.checked_sub(1)?;
    let axis = layout.axes[position].filter(|&axis| nest.extents[axis] == layout.extents[position])?;
    let registers = layout.extents[layout.vector].div_ceil(lanes);
    let most = REGISTERS[usize::from(!is_wide)];
    let all = (1..=registers.min(COLUMNS)).flat_map(|columns| (2..=ROWS).map(move |rows| (rows, columns)));
    let fits = |&(rows, columns): &(usize, usize)| {
        let sums = rows * columns;
        nest.extents[axis].is_multiple_of(rows) && sums >= LEAST && sums + rows + columns <= most
    };
    // The most multiplications for each element that is read.
    let gain = |(rows, columns): (usize, usize)| (rows * columns) as f64 / (rows + columns) as f64;
    let (rows, columns) = all.filter(fits).max_by(|&a, &b| gain(a).total_cmp(&gain(b)))?;
    let mut layout = layout.clone();
    layout.extents[position] /= rows;
    Some((side_by_side(nest, axis, rows)?, layout, columns))
}
