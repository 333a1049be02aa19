//! Parts of matrices, and of products, on several threads.

use super::*;
use crate::array::matrix::{Cut, Machine, Update};
use crate::engine::cpu::code::Scratch;
use crate::engine::cpu::threads::Threads;
use ndarray::{Array2, ArrayViewMut2, Axis};
use std::sync::Mutex;

/// Calls a function with a machine of three threads.
fn on_threads(f: impl FnOnce(&mut Own<'_>)) {
    let lines = PackingLines::alike(gemm::packing_lines([300; 3], size_of::<f64>()));
    let mut worker = Threads::new(Some(3)).worker(Scratch::default(), lines, true).expect("there is memory");
    let (own, helpers) = worker.split();
    // SAFETY: every machine has these instructions.
    f(&mut unsafe { Own::new(Instructions::Portable, &mut own.packing, helpers) });
}

/// Every part is a part of the matrix at its place, whichever way its rows and columns go, and no part is as narrow as a matrix that
/// may be computed in another way.
#[test]
fn parts_are_at_their_places_and_not_narrow() {
    let whole = Array2::from_shape_fn((200, 170), |(row, column)| (row * 1000 + column) as f64);
    for (cut, is_transposed, is_turned) in [
        (Cut::Rows, false, false),
        (Cut::TriangleRows, false, true),
        (Cut::Columns, true, false),
        (Cut::Columns, false, true),
        (Cut::TriangleRows, true, true),
    ] {
        fn turn(mut a: ArrayViewMut2<'_, f64>, [is_transposed, is_turned]: [bool; 2]) -> ArrayViewMut2<'_, f64> {
            if is_turned {
                a.invert_axis(Axis(0));
                a.invert_axis(Axis(1));
            }
            if is_transposed { a.reversed_axes() } else { a }
        }
        let (mut found, mut expected) = (whole.clone(), whole.clone());
        let expected = turn(expected.view_mut(), [is_transposed, is_turned]);
        let parts = Mutex::new(Vec::new());
        on_threads(|on| {
            on.in_parts(cut, usize::MAX, turn(found.view_mut(), [is_transposed, is_turned]), &|_, start, mut part| {
                let axis = Axis(usize::from(cut == Cut::Columns));
                let (_, expected) = expected.view().split_at(axis, start);
                let (expected, _) = expected.split_at(axis, part.len_of(axis));
                assert_eq!(part, expected, "{cut:?}");
                part.mapv_inplace(|x| -x);
                parts.lock().expect("no part failed").push(part.len_of(axis));
            });
        });
        assert_eq!(found, -&whole, "{cut:?}: each element is in one part");
        let parts = parts.into_inner().expect("no part failed");
        assert!(parts.len() > 1 && parts.iter().all(|&lines| lines >= 32), "{cut:?}: {parts:?}");
    }
}

#[test]
fn tiles_of_products_make_up_the_product() {
    for [m, k, n] in [[300, 250, 40], [33, 300, 290], [129, 130, 131]] {
        let of = |rows, columns| Array2::from_shape_fn((rows, columns), |(i, j)| (i * 7 + j * 3) as f64 % 11.0 - 5.0);
        let (a, b, mut found) = (of(m, k), of(k, n), of(m, n));
        let expected = &found - a.dot(&b);
        on_threads(|on| {
            assert!(on.tiles([m, k, n]) != [1, 1]);
            on.multiply(Update::Subtract, a.view(), b.view(), found.view_mut());
        });
        assert_eq!(found, expected);
    }
}
