//! Guarded sums with loops over what they read.

use super::positions::{Draft, NUMBERS, at, guard};
use super::*;
use crate::engine::cpu::native::reindex::reindexed;

/// The code of the nest with other loops leaves what the kernels of the nest itself leave.
fn check_reindexed(draft: &Draft) {
    let Draft { nest, types, buffers } = draft;
    let other = reindexed(nest).unwrap_or_else(|| panic!("there are no other loops for {nest:?}"));
    assert!(size(&other.extents) < size(&nest.extents), "{other:?} spares nothing of {nest:?}");
    for isa in Instructions::available().filter(|&isa| isa != Instructions::Portable) {
        let kernels = assemble(Target::of(isa, None), nest, types, false);
        let expected = execute(&kernels, buffers, Side::End);
        for cut in [Cut::Never, Cut::ByWork] {
            let Some(code) = compiled(isa, &other, types, cut) else {
                assert!(isa == Instructions::Avx2, "there is no code of {other:?}");
                continue;
            };
            assert!(cut == Cut::Never || code.split.chunks == 1);
            for side in SIDES {
                // Whole numbers have no rounding.
                assert!(execute(&code, buffers, side) == expected, "{isa:?}, {cut:?}: {other:?} of {nest:?}");
            }
        }
    }
}

/// The sums over k of x[b, i - k], of which each reads one of k·m elements or one of m.
fn shifted(dtype: DType, [rows, n, m, k]: [usize; 4], of_windows: bool) -> Draft {
    let mut draft = Draft::new(&[rows, n, k]);
    let [m_long, k_long] = [m, k].map(|extent| extent as i64);
    let input = draft.input(dtype, rows * m * k);
    let place = match of_windows {
        true => at(0, &[m_long * k_long, k_long, 1 - k_long]),
        false => at(0, &[m_long, 1, -1]),
    };
    let read = draft.load(input, place, vec![guard(at(0, &[0, 1, -1]), m)]);
    draft.store(read, rows * n, at(0, &[n as i64, 1, 0]), StoreMode::Reduce(Reduction::Sum));
    draft
}

#[test]
fn sums_of_shifted_reads_are_those_of_the_kernels() {
    for (dtype, m) in NUMBERS.into_iter().flat_map(|dtype| [1, 2, 7, 16, 33].map(|m| (dtype, m))) {
        for (rows, k) in [(1, 2), (3, 3), (2, 20)] {
            for of_windows in [false, true] {
                check_reindexed(&shifted(dtype, [rows, m + k - 1, m, k], of_windows));
                check_reindexed(&shifted(dtype, [rows, m + k + 4, m, k], of_windows));
                // Some elements belong to no sum.
                let cropped = shifted(dtype, [rows, m + k - 2, m, k], of_windows);
                assert!(m == 1 || reindexed(&cropped.nest).is_none(), "{:?}", cropped.nest);
            }
        }
    }
}

/// The derivative of a convolution of images by its windows: two guards, and others that name the same loops.
#[test]
fn sums_of_windows_are_those_of_the_kernels() {
    for dtype in NUMBERS {
        for [images, h, w, kh, kw] in [[2, 4, 5, 3, 2], [1, 1, 9, 2, 5], [3, 10, 10, 5, 5]] {
            let (n, o) = (h + kh - 1, w + kw - 1);
            let mut draft = Draft::new(&[images, n, o, kh, kw]);
            let extents = [images, h, w, kh, kw].map(|extent| extent as i64);
            let [_, hs, ws, khs, kws] = extents;
            // x[image, k - a, l - b, a, b]
            let (row, column) = (ws * khs * kws, khs * kws);
            let input = draft.input(dtype, images * h * w * kh * kw);
            let place = at(0, &[hs * row, row, column, kws - row, 1 - column]);
            let guards = vec![guard(at(0, &[0, 1, 0, -1, 0]), h), guard(at(0, &[0, 0, 1, 0, -1]), w)];
            let read = draft.load(input, place, guards);
            let sums = at(0, &[(n * o) as i64, o as i64, 1, 0, 0]);
            draft.store(read, images * n * o, sums, StoreMode::Reduce(Reduction::Sum));
            check_reindexed(&draft);
        }
    }
}

/// Where a guard fails, these add no zero, or are no sums.
#[test]
fn other_sums_keep_their_loops() {
    let draft = |by: &dyn Fn(&mut Draft)| {
        let mut draft = shifted(DType::F64, [1, 9, 7, 3], false);
        by(&mut draft);
        reindexed(&draft.nest)
    };
    assert!(draft(&|_| {}).is_some());
    assert!(draft(&|draft| draft.nest.stores[0].mode = StoreMode::Reduce(Reduction::Max)).is_none());
    let with = |draft: &mut Draft, value: NestValue| {
        draft.nest.values.push((value, DType::F64));
        draft.nest.stores[0].value += 1;
    };
    assert!(draft(&|draft| with(draft, NestValue::Unary(Unary::Neg, 0))).is_some());
    assert!(draft(&|draft| with(draft, NestValue::Unary(Unary::Cos, 0))).is_none());
    assert!(draft(&|draft| with(draft, NestValue::Binary(Binary::Add, 0, 0))).is_none());
}
