//! Sorting, and reads along an axis.

use super::prelude::*;

/// The rows.
pub fn rows() -> Vec<Row> {
    vec![
        row!("sorted, weighted": (V, V) => S, |(x, w)| x.sort(0).dot(w), (v([3.0, 1.0, 2.0]), v([1.0, 10.0, 100.0])))
            .value([321.0])
            .gradient([100.0, 1.0, 10.0, 1.0, 2.0, 3.0])
            .smooth(),
        row!("sorted from the largest": V => V, |x| x.sort_descending(0) * v_like(x), v([3.0, 1.0, 2.0]))
            .value([3.0, 4.0, 3.0])
            .gradient([1.0, 3.0, 2.0])
            .smooth(),
        row!("sorted rows and columns": M => (M, M), |a| (a.sort(1), a.sort(0)), some((3, 4), 411)).smooth(),
        row!("positions in order": V => (Ns, Ns), |x| (x.argsort(0), x.argsort_descending(0)), v([2.0, 1.0, 2.0, 0.0]))
            .value([3.0, 1.0, 0.0, 2.0, 0.0, 2.0, 1.0, 3.0])
            .gradient([0.0; 4]),
        row!("NaN comes last": V => (Ns, Ns), |x| (x.argsort(0), x.argsort_descending(0)), v([f64::NAN, 1.0, 2.0]))
            .value([1.0, 2.0, 0.0, 2.0, 1.0, 0.0])
            .values_only(),
        row!("the two largest": (V, V) => S, |(x, w)| x.top_k(2, 0).0.dot(w), (v([3.0, 1.0, 5.0, 2.0]), v([1.0, 10.0])))
            .value([35.0])
            .gradient([10.0, 0.0, 1.0, 0.0, 5.0, 3.0])
            .smooth(),
        row!("the largest of rows": M => (M, Nm), |a| a.top_k(2, 1), some((3, 4), 412)),
        row!("sorting nothing": V => V, |x| x.sort(0), v([])).value([]).gradient([]),
        row!("sorting along an empty axis": M => M, |a| a.sort(1), t((2, 0), &[])).value([]).gradient([]),
        row!("sorted integers": (V, Ns) => V, |(x, k)| x.gather(&k.sort(0)), (some(5, 413), ns([3, 0, 4, 1]))).smooth(),
        row!("sorting in a build": M => V, |a| build(3, |i| a.at(&i).sort(0).at(1) * a.at((&i, 0))), some((3, 4), 414)).smooth(),
        row!("sorting in a loop": M => V, |a| fold(zeros(4), a, |s, row| (s + row).sort(0) * 0.5), some((3, 4), 415)).smooth(),
        row!("the median": V => S, |x| x.sort(0).at(2), v([5.0, 1.0, 4.0, 2.0, 3.0]))
            .value([3.0])
            .gradient([0.0, 0.0, 0.0, 0.0, 1.0])
            .smooth(),
        row!("taken along an axis": (M, Nm) => M, |(a, k)| a.take_along_axis(k, 1),
            (m([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), [[2, 0], [1, 9]].into()))
            .value([3.0, 1.0, 5.0, 0.0])
            .gradient([1.0, 0.0, 1.0, 0.0, 1.0, 0.0])
            .smooth(),
    ]
}

/// 1, 2, 3, ..
fn v_like<A: Algebra>(x: &Vector<A, f64>) -> Vector<A, f64> {
    iota(x.len()).cast::<f64>() + 1.0
}
