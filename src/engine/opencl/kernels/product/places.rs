//! Places of the elements of products' operands, as expressions.

use crate::kernel::{BATCH, COLUMN, Product, ROW, SUMMED, Strided};
use crate::source::product::sum_of;

/// The terms of a role: its position goes over some axes together, the last of which runs first.
fn terms(operand: &Strided, product: &Product, role: usize, position: &str, terms: &mut Vec<(isize, String)>) {
    let extents = &product.extents[role];
    let mut inner: usize = extents.iter().product();
    for (axis, (&extent, &stride)) in extents.iter().zip(&operand.strides[role]).enumerate() {
        inner /= extent.max(1);
        let text = match (axis, inner) {
            _ if extents.len() == 1 => position.to_string(),
            (0, _) => format!("({position} / {inner})"),
            (_, 1) => format!("({position} % {extent})"),
            _ => format!("({position} / {inner} % {extent})"),
        };
        terms.push((stride, text));
    }
}

/// The place of an operand's element, at these positions of roles.
fn place(operand: &Strided, product: &Product, positions: [(usize, &str); 2]) -> String {
    let mut all = Vec::new();
    terms(operand, product, BATCH, "batch", &mut all);
    for (role, position) in positions {
        terms(operand, product, role, position, &mut all);
    }
    sum_of(all, operand.offset)
}

pub(super) fn left(product: &Product, row: &str, summed: &str) -> String {
    place(&product.left, product, [(ROW, row), (SUMMED, summed)])
}

pub(super) fn right(product: &Product, summed: &str, column: &str) -> String {
    place(&product.right, product, [(SUMMED, summed), (COLUMN, column)])
}

pub(super) fn result(product: &Product, row: &str, column: &str) -> String {
    place(&product.result, product, [(ROW, row), (COLUMN, column)])
}
