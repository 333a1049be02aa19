//! Sorting along an axis.
//!
//! Loops are counting loops, and lines are slices: at the first level of optimisation iterators and vectors make a call for
//! each element.

use crate::array::memory::{self, OutOfMemory};
use crate::array::scalar::ElementType;
use crate::array::{Array, Data};
use crate::operation::Order;
use crate::shape::size;
use std::mem::swap;

/// Lines of at most so many elements are sorted by insertion.
const SHORT: usize = 32;

/// The positions along an axis in the order of their elements: equal ones keep their order, NaN comes last.
pub(crate) fn arg_sort<T: ElementType>(order: Order, a: &Data<T>, axis: usize) -> Result<Array, OutOfMemory> {
    let shape = a.shape();
    let (outer, middle, inner) = (size(&shape[..axis]), shape[axis], size(&shape[axis + 1..]));
    let mut out: Vec<i64> = memory::filled(shape, 0)?;
    if out.is_empty() {
        return Ok(i64::wrap(Data::from_vec(shape, out)));
    }
    let elements = a.as_slice();
    let line = || memory::filled(&[middle], 0i64);
    let (mut ranks, mut positions) = (line()?, line()?);
    let mut others = if middle > SHORT { (line()?, line()?) } else { (Vec::new(), Vec::new()) };
    for block in 0..outer {
        for at in 0..inner {
            let start = block * middle * inner + at;
            number(&mut positions);
            if let Some(elements) = elements {
                rank(order, &elements[start..], inner, &mut ranks);
                if middle <= SHORT {
                    insert(&mut ranks, &mut positions);
                } else if !ranks.is_sorted() {
                    distribute(&mut ranks, &mut positions, &mut others);
                }
            }
            spread(&positions, &mut out[start..], inner);
        }
    }
    Ok(i64::wrap(Data::from_vec(shape, out)))
}

/// Writes each position's own number.
fn number(positions: &mut [i64]) {
    let mut at = 0;
    while at < positions.len() {
        positions[at] = at as i64;
        at += 1;
    }
}

/// Writes the ranks of elements at a distance.
fn rank<T: ElementType>(order: Order, elements: &[T], distance: usize, ranks: &mut [i64]) {
    let is_descending = order == Order::Descending;
    let (mut at, mut from) = (0, 0);
    while at < ranks.len() {
        let element = elements[from];
        let rank = element.rank();
        ranks[at] = if is_descending && !element.is_nan() { !rank } else { rank };
        (at, from) = (at + 1, from + distance);
    }
}

/// Writes positions at a distance.
fn spread(positions: &[i64], out: &mut [i64], distance: usize) {
    let (mut at, mut to) = (0, 0);
    while at < positions.len() {
        out[to] = positions[at];
        (at, to) = (at + 1, to + distance);
    }
}

/// Sorts positions by their ranks, each into the sorted ones before it.
fn insert(ranks: &mut [i64], positions: &mut [i64]) {
    let mut end = 1;
    while end < ranks.len() {
        let (rank, position) = (ranks[end], positions[end]);
        let mut at = end;
        while at > 0 && ranks[at - 1] > rank {
            (ranks[at], positions[at]) = (ranks[at - 1], positions[at - 1]);
            at -= 1;
        }
        (ranks[at], positions[at]) = (rank, position);
        end += 1;
    }
}

/// How many bytes a rank has, and how many values a byte.
const BYTES: usize = size_of::<i64>();
const VALUES: usize = 256;

/// The byte so many bits above the lowest, of ranks as unsigned numbers in the same order.
#[inline(always)]
fn byte(rank: i64, bits: usize) -> usize {
    ((rank ^ i64::MIN) >> bits) as u8 as usize
}

/// Sorts positions by their ranks, byte by byte from the lowest. It needs no comparisons, which are slow in the standard
/// library's sort in builds with debug assertions. The other two vectors are scratch of the same length.
fn distribute(
    ranks: &mut Vec<i64>,
    positions: &mut Vec<i64>,
    (other_ranks, other_positions): &mut (Vec<i64>, Vec<i64>),
) {
    let mut counts = counts(ranks);
    for (number, places) in counts.iter_mut().enumerate() {
        let bits = 8 * number;
        if places[byte(ranks[0], bits)] == ranks.len() {
            continue;
        }
        let mut place = 0;
        for count in places.iter_mut() {
            (*count, place) = (place, place + *count);
        }
        distribute_by_byte(places, bits, (ranks, positions), (other_ranks, other_positions));
        swap(ranks, other_ranks);
        swap(positions, other_positions);
    }
}

/// How often each byte has each value.
fn counts(ranks: &[i64]) -> [[usize; VALUES]; BYTES] {
    let mut counts = [[0; VALUES]; BYTES];
    let mut at = 0;
    while at < ranks.len() {
        let mut number = 0;
        while number < BYTES {
            counts[number][byte(ranks[at], 8 * number)] += 1;
            number += 1;
        }
        at += 1;
    }
    counts
}

/// Moves ranks, with their positions, to the places that the values of a byte begin at.
fn distribute_by_byte(
    places: &mut [usize; VALUES],
    bits: usize,
    (ranks, positions): (&[i64], &[i64]),
    (to_ranks, to_positions): (&mut [i64], &mut [i64]),
) {
    let mut at = 0;
    while at < ranks.len() {
        let value = byte(ranks[at], bits);
        let place = places[value];
        (to_ranks[place], to_positions[place]) = (ranks[at], positions[at]);
        places[value] = place + 1;
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Ordering;

    /// Positions as a comparison sorts them.
    fn compared(order: Order, x: &[f64]) -> Vec<i64> {
        let mut positions: Vec<i64> = (0..x.len() as i64).collect();
        positions.sort_by(|&i, &j| {
            let (a, b) = (x[i as usize], x[j as usize]);
            let compared = a.partial_cmp(&b).unwrap_or(Ordering::Equal);
            match (a.is_nan(), b.is_nan()) {
                (false, false) if order == Order::Descending => compared.reverse(),
                (false, false) => compared,
                (a, b) => a.cmp(&b),
            }
        });
        positions
    }

    #[test]
    fn lines_of_any_length_are_sorted_as_by_comparisons() {
        let special = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            f64::NAN,
            -f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            5e-324,
            -5e-324,
            1e300,
            -1e300,
        ];
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state >> 33
        };
        for length in [1, 2, 3, 31, 32, 33, 34, 100, 300, 3000] {
            for kind in 0..3 {
                let element = |bits: u64| match kind {
                    0 => special[bits as usize % special.len()],
                    1 => (bits % 7) as f64 - 3.0,
                    _ => f64::from_bits(bits << 33 | bits),
                };
                let x: Vec<f64> = (0..length).map(|_| element(next())).collect();
                for order in [Order::Ascending, Order::Descending] {
                    let data = Data::from_vec(&[length], x.clone());
                    let sorted = arg_sort(order, &data, 0).unwrap();
                    let sorted = i64::unwrap(&sorted).unwrap().as_slice().unwrap().to_vec();
                    assert_eq!(sorted, compared(order, &x), "{order:?} of {x:?}");
                    // The same ranks in the types that are not as wide, and of other kinds.
                    let whole: Vec<i32> = x.iter().map(|&x| x as i32).collect();
                    let floats: Vec<f64> = whole.iter().map(|&x| f64::from(x)).collect();
                    let narrow: Vec<f32> = x.iter().map(|&x| x as f32).collect();
                    let wide: Vec<f64> = narrow.iter().map(|&x| f64::from(x)).collect();
                    let of = |array: Array| i64::unwrap(&array).unwrap().as_slice().unwrap().to_vec();
                    let sorted = of(arg_sort(order, &Data::from_vec(&[length], whole), 0).unwrap());
                    assert_eq!(sorted, compared(order, &floats));
                    let sorted = of(arg_sort(order, &Data::from_vec(&[length], narrow), 0).unwrap());
                    assert_eq!(sorted, compared(order, &wide));
                }
            }
        }
    }
}
