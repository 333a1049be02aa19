//! Reductions by key, and slices written at keys.

use super::prelude::*;

/// The rows.
pub fn rows() -> Vec<Row> {
    let keys = || ns([1, 0, 1, 3, 1]);
    vec![
        row!("products by key": (V, Ns) => V, |(x, k)| x.segment_product(k, 4), (v([2.0, 3.0, 5.0, 7.0, 0.5]), keys()))
            .value([3.0, 5.0, 1.0, 7.0])
            .gradient([2.5, 1.0, 1.0, 1.0, 10.0])
            .smooth(),
        row!("products by key with zeros": (V, Ns) => V, |(x, k)| x.segment_product(k, 2), (v([2.0, 0.0, 5.0, 0.0, 0.0]), ns([0, 0, 0, 1, 1])))
            .value([0.0, 0.0])
            .gradient([0.0, 10.0, 0.0, 0.0, 0.0])
            .smooth(),
        row!("largest by key": (V, Ns) => V, |(x, k)| x.segment_max(k, 4), (v([2.0, 3.0, 5.0, 7.0, 5.0]), keys()))
            .value([3.0, 5.0, f64::NEG_INFINITY, 7.0])
            .gradient([0.0, 1.0, 1.0, 1.0, 0.0]),
        row!("smallest rows by key": (M, Ns) => M, |(x, k)| x.segment_min(k, 2), (some((5, 2), 421), ns([1, 0, 1, 0, 1])))
            .smooth(),
        row!("largest integers by key": (V, Ns) => V, |(x, k)| x.gather(&k.segment_max(&(k % 2), 2)), (some(6, 422), ns([1, 4, 3, 2])))
            .smooth(),
        row!("keys outside are left out": (V, Ns) => V, |(x, k)| x.segment_product(k, 2), (v([2.0, 3.0, 5.0, 7.0]), ns([-1, 0, 2, 0])))
            .value([21.0, 1.0])
            .gradient([0.0, 7.0, 0.0, 3.0])
            .smooth(),
        row!("nothing by key": (V, Ns) => V, |(x, k)| x.segment_product(k, 2), (v([]), ns([]))).value([1.0, 1.0]).gradient([]),
        row!("reduce by key": (V, Ns, S) => V,
            |(x, k, w)| reduce_by_index(scalar(0.0), k, x, 3, |a, b| (&a + &b) / (1.0 + a * b * w)),
            (some(6, 423) * 0.5, ns([2, 0, 2, 2, 0, 0]), s(1.0)))
            .smooth(),
        row!("maps composed by key": (V, V, Ns) => (V, V), |(a, b, k)| {
                reduce_by_index((scalar(1.0), scalar(0.0)), k, &(a.clone(), b.clone()), 3, |(a, b), (c, d)| (&a * &c, &c * b + d))
            }, (some(6, 424), some(6, 425), ns([2, 0, 2, 2, 0, 0])))
            .smooth(),
        row!("matrices multiplied by key": (T3, Ns) => T3, |(a, k)| {
                let one = build((2, 2), |(i, j)| i.equal(j).cast::<f64>());
                reduce_by_index(one, k, a, 2, |a, b| a.dot(&b))
            }, (some((4, 2, 2), 426), ns([1, 0, 1, 1])))
            .smooth(),
        row!("a histogram of logsumexp": (V, Ns) => V,
            |(x, k)| reduce_by_index(scalar(-1e3), k, x, 3, |a, b| a.logaddexp(&b)), (some(6, 427), ns([0, 1, 0, 0, 2, 1])))
            .smooth(),
        row!("written at keys, the last wins": (V, Ns, V) => V, |(x, k, u)| x.put(k, u), (v([1.0, 2.0, 3.0]), ns([2, 0, 2, 9]), v([10.0, 20.0, 30.0, 40.0])))
            .value([20.0, 2.0, 30.0])
            .gradient([0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0])
            .smooth(),
        row!("rows written at keys": (M, Ns, M) => M, |(a, k, b)| a.put(k, &(b * 2.0)), (some((4, 2), 428), ns([3, 1, 3]), some((3, 2), 429)))
            .smooth(),
        row!("reduce by key in a build": (M, Ns) => M,
            |(a, k)| build(2, |i| a.at(&i).segment_product(k, 3)), (some((2, 5), 430), ns([0, 2, 0, 1, 2])))
            .smooth(),
    ]
}
