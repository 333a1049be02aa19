//! Sorting along an axis.

use crate::algebra::Order;
use crate::concrete::memory::{self, OutOfMemory};
use crate::concrete::scalar::Scalar;
use crate::concrete::{Array, Data};
use crate::shape::size;
use std::cmp::Ordering;

/// The positions along an axis in the order of their elements: equal ones keep their order, NaN comes last.
pub(super) fn arg_sort<T: Scalar>(order: Order, a: &Data<T>, axis: usize) -> Result<Array, OutOfMemory> {
    let shape = a.shape();
    let (outer, middle, inner) = (size(&shape[..axis]), shape[axis], size(&shape[axis + 1..]));
    let mut out: Vec<i64> = memory::filled(shape, 0)?;
    if out.is_empty() {
        return Ok(i64::wrap(Data::from_vec(shape, out)));
    }
    let elements = a.as_slice();
    let compare = |x: T, y: T| match (x.is_nan(), y.is_nan()) {
        (false, false) => match order {
            Order::Ascending => x.partial_cmp(&y).unwrap_or(Ordering::Equal),
            Order::Descending => y.partial_cmp(&x).unwrap_or(Ordering::Equal),
        },
        (x, y) => x.cmp(&y),
    };
    let mut line: Vec<i64> = memory::room(&[middle])?;
    for start in (0..outer).flat_map(|block| (0..inner).map(move |at| block * middle * inner + at)) {
        line.clear();
        line.extend(0..middle as i64);
        if let Some(elements) = elements {
            let at = |position: i64| elements[start + position as usize * inner];
            line.sort_by(|&i, &j| compare(at(i), at(j)));
        }
        for (place, &position) in line.iter().enumerate() {
            out[start + place * inner] = position;
        }
    }
    Ok(i64::wrap(Data::from_vec(shape, out)))
}
