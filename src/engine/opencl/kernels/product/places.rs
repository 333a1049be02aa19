//! Places of the elements of products' operands, as expressions.

use crate::kernel::{BATCH, COLUMN, MatrixProduct, ROW, SUMMED, Strided};
use crate::source::product::sum_of;

/// The term that an axis of a product adds to a place: a multiple of its position, which is below an extent.
struct AxisTerm {
    stride: i64,
    extent: usize,
    position: String,
}

/// The element of an operand or of the result at a position of the product.
pub(super) struct ElementPlace {
    offset: usize,
    terms: Vec<AxisTerm>,
}

impl ElementPlace {
    /// The element at these positions of roles, each of which goes over some axes together, the last of which runs first.
    fn new(operand: &Strided, product: &MatrixProduct, positions: [(usize, &str); 3]) -> ElementPlace {
        let mut terms = Vec::new();
        for (role, position) in positions {
            let extents = &product.extents[role];
            let mut inner: usize = extents.iter().product();
            for (axis, (&extent, &stride)) in extents.iter().zip(&operand.strides[role]).enumerate() {
                inner /= extent.max(1);
                let position = match (axis, inner) {
                    _ if extents.len() == 1 => position.to_string(),
                    (0, _) => format!("({position} / {inner})"),
                    (_, 1) => format!("({position} % {extent})"),
                    _ => format!("({position} / {inner} % {extent})"),
                };
                terms.push(AxisTerm { stride: stride as i64, extent, position });
            }
        }
        ElementPlace { offset: operand.offset, terms }
    }

    /// Its place in the array.
    pub(super) fn place(&self) -> String {
        let terms = self.terms.iter().map(|term| (term.stride as isize, term.position.clone()));
        sum_of(terms.collect(), self.offset)
    }

    /// Its position along an axis of the array, which has an extent and whose positions are a stride apart, where that is a sum
    /// of the product's positions: where it need not be found by dividing the place.
    pub(super) fn position(&self, stride: i64, extent: usize) -> Option<String> {
        let whole = stride.checked_mul(extent as i64)?;
        let offset = self.offset as i64;
        let own_offset = offset % whole / stride;
        // The remainder below the stride, and the quotient: each with its least and greatest value.
        let mut below = (offset % stride, offset % stride);
        let mut own = (own_offset, own_offset);
        let mut terms = Vec::new();
        // Whole axes move the position along outer ones only.
        for term in self.terms.iter().filter(|term| term.stride % whole != 0) {
            let is_own = term.stride % stride == 0;
            let step = if is_own { term.stride / stride } else { term.stride };
            let (low, high) = if is_own { &mut own } else { &mut below };
            let reach = step.checked_mul(term.extent as i64 - 1)?;
            *(if reach < 0 { low } else { high }) += reach;
            if is_own {
                terms.push((step as isize, term.position.clone()));
            }
        }
        let is_inside = below.0 >= 0 && below.1 < stride && own.0 >= 0 && own.1 < extent as i64;
        is_inside.then(|| sum_of(terms, own_offset as usize))
    }
}

/// The element of the left operand or of the right one, by its side, that a tile has at a line and a position of the summed
/// axis: the lines are the rows of the one and the columns of the other.
pub(super) fn operand(product: &MatrixProduct, side: usize) -> ElementPlace {
    let operand = [&product.left, &product.right][side];
    ElementPlace::new(operand, product, [(BATCH, "batch"), ([ROW, COLUMN][side], "line"), (SUMMED, "position")])
}

/// The element of the result at a row and a column.
pub(super) fn result(product: &MatrixProduct) -> ElementPlace {
    ElementPlace::new(&product.result, product, [(BATCH, "batch"), (ROW, "row"), (COLUMN, "column")])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(offset: usize, terms: &[(i64, usize, &str)]) -> ElementPlace {
        let term =
            |&(stride, extent, position): &(i64, usize, &str)| AxisTerm { stride, extent, position: position.into() };
        ElementPlace { offset, terms: terms.iter().map(term).collect() }
    }

    #[test]
    fn positions_along_axes_are_those_of_the_product_where_nothing_carries() {
        let rows = element(0, &[(19, 37, "line"), (1, 19, "position")]);
        assert_eq!(rows.place(), "19 * line + position");
        assert_eq!(rows.position(1, 19).as_deref(), Some("position"));
        assert_eq!(rows.position(19, 37).as_deref(), Some("line"));
        // Axes of the array together, and apart.
        assert_eq!(rows.position(1, 19 * 37).as_deref(), Some("19 * line + position"));
        assert_eq!(rows.position(1, 10), None);
        // Parts of it, backwards: the position is one less than the distance from the end.
        let part = element(2 * 19 + 18, &[(38, 10, "line"), (-1, 19, "position")]);
        assert_eq!(part.position(1, 19).as_deref(), Some("18 - position"));
        assert_eq!(part.position(19, 37).as_deref(), Some("2 * line + 2"));
        // Windows: two positions reach one element.
        let windows = element(0, &[(1, 8, "line"), (1, 3, "position"), (10, 4, "batch")]);
        assert_eq!(windows.position(1, 10).as_deref(), Some("line + position"));
        assert_eq!(windows.position(10, 4).as_deref(), Some("batch"));
        let carrying = element(1, &[(1, 8, "line"), (1, 3, "position"), (10, 4, "batch")]);
        assert_eq!((carrying.position(1, 10), carrying.position(10, 5)), (None, None));
        // An element that does not move along an axis is at its start.
        assert_eq!(element(0, &[(1, 5, "line")]).position(5, 3).as_deref(), Some("0"));
    }
}
