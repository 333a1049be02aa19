//! Reductions by segment, by keys and by offsets.

use super::prelude::*;

/// The rows.
pub fn rows() -> Vec<Row> {
    let keys = || ns([1, 0, 1, 3, 1]);
    vec![
        row!("products by key": (V, Ns) => V, |(x, k)| x.segment_product(&Segments::by_key(k, 4)), (v([2.0, 3.0, 5.0, 7.0, 0.5]), keys()))
            .value([3.0, 5.0, 1.0, 7.0])
            .gradient([2.5, 1.0, 1.0, 1.0, 10.0])
            .smooth(),
        row!("products by key with zeros": (V, Ns) => V, |(x, k)| x.segment_product(&Segments::by_key(k, 2)), (v([2.0, 0.0, 5.0, 0.0, 0.0]), ns([0, 0, 0, 1, 1])))
            .value([0.0, 0.0])
            .gradient([0.0, 10.0, 0.0, 0.0, 0.0])
            .smooth(),
        row!("largest by key": (V, Ns) => V, |(x, k)| x.segment_max(&Segments::by_key(k, 4)), (v([2.0, 3.0, 5.0, 7.0, 5.0]), keys()))
            .value([3.0, 5.0, f64::NEG_INFINITY, 7.0])
            .gradient([0.0, 1.0, 1.0, 1.0, 0.0]),
        row!("smallest rows by key": (M, Ns) => M, |(x, k)| x.segment_min(&Segments::by_key(k, 2)), (some((5, 2), 421), ns([1, 0, 1, 0, 1])))
            .smooth(),
        row!("largest integers by key": (V, Ns) => V, |(x, k)| x.gather(&k.segment_max(&Segments::by_key(&(k % 2), 2))), (some(6, 422), ns([1, 4, 3, 2])))
            .smooth(),
        row!("keys outside are left out": (V, Ns) => V, |(x, k)| x.segment_product(&Segments::by_key(k, 2)), (v([2.0, 3.0, 5.0, 7.0]), ns([-1, 0, 2, 0])))
            .value([21.0, 1.0])
            .gradient([0.0, 7.0, 0.0, 3.0])
            .smooth(),
        row!("nothing by key": (V, Ns) => V, |(x, k)| x.segment_product(&Segments::by_key(k, 2)), (v([]), ns([]))).value([1.0, 1.0]).gradient([]),
        row!("reduce by key": (V, Ns, S) => V,
            |(x, k, w)| reduce_by_index(scalar(0.0), k, x, 3, |a, b| (&a + &b) / (1.0 + a * b * w)),
            (some(6, 423) * 0.5, ns([2, 0, 2, 2, 0, 0]), s(1.0)))
            .smooth(),
        row!("sums by key with an operator": (V, Ns) => V,
            |(x, k)| reduce_by_index(scalar(0.0), k, x, 4, |a, b| b + a), (v([2.0, 3.0, 5.0, 7.0, 0.5]), keys()))
            .value([3.0, 7.5, 0.0, 7.0])
            .gradient([1.0; 5])
            .smooth(),
        row!("sums of rows by key, of nothing what is given": (M, Ns, V) => M,
            |(x, k, n)| reduce_by_index(n.clone(), k, x, 3, |a, b| a + b),
            (m([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), ns([2, 2, -1]), v([0.5, 0.25])))
            .value([0.5, 0.25, 0.5, 0.25, 4.0, 6.0])
            .gradient([1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 2.0, 2.0])
            .smooth(),
        row!("a tree combined by key, each array by an operation": (V, V, Ns) => (V, V, Ns), |(x, y, k)| {
                let first = (scalar(0.0), scalar(1.0), scalar(7));
                let tree = (x.clone(), y.clone(), k.clone());
                reduce_by_index(first, k, &tree, 2, |(a, b, i), (c, d, j)| (a + c, b * d, i.min(j)))
            }, (v([1.0, 2.0, 3.0]), v([4.0, 0.0, 6.0]), ns([1, 1, 5])))
            .value([0.0, 3.0, 1.0, 0.0, 7.0, 1.0])
            .gradient([1.0, 1.0, 0.0, 0.0, 4.0, 0.0])
            .smooth(),
        row!("the largest by key with an operator, of equal ones": (V, Ns) => V,
            |(x, k)| reduce_by_index(scalar(-1.0), k, x, 3, |a, b| a.max(b)), (v([2.0, 5.0, 2.0, 5.0, 5.0]), ns([0, 2, 0, 2, 2])))
            .value([2.0, -1.0, 5.0])
            .gradient([1.0, 1.0, 0.0, 0.0, 0.0]),
        row!("the largest by key with an operator, the last of equal ones": (V, Ns) => V,
            |(x, k)| reduce_by_index(scalar(-1.0), k, x, 3, |a, b| b.max(a)), (v([2.0, 5.0, 2.0, 5.0, 5.0]), ns([0, 2, 0, 2, 2])))
            .value([2.0, -1.0, 5.0])
            .gradient([0.0, 0.0, 1.0, 0.0, 1.0]),
        row!("whether any is true, by key": (V, Ns) => V, |(x, k)| {
                let any = reduce_by_index(scalar(false), k, &x.gt(2.0), 3, |a, b| a | b);
                let all = reduce_by_index(scalar(true), k, &x.gt(2.0), 3, |a, b| a & b);
                any.select(x.slice(0, ..3), 0.0) + all.select(x.slice(0, ..3).powi(2), 0.0)
            }, (v([1.0, 3.0, 4.0, 5.0]), ns([0, 0, 2, 2])))
            .value([1.0, 9.0, 20.0])
            .gradient([1.0, 6.0, 9.0, 0.0])
            .smooth(),
        row!("products by key along the inner axis": (M, Ns) => M,
            |(a, k)| reduce_by_index_axis(1, ones(2), k, a, 3, |x, y| x * y), (some((2, 5), 432), ns([0, 2, 0, 7, 2])))
            .smooth(),
        row!("maps composed by offset along the middle axis": (T3, T3, Ns) => (T3, T3), |(a, b, o)| {
                let neutral = (ones((2, 2)), zeros((2, 2)));
                let pairs = (a.clone(), b.clone());
                reduce_segments_axis(1, neutral, &Segments::by_offset(o, 4), &pairs, |(a, b), (c, d)| (&a * &c, &c * b + d))
            }, (some((2, 4, 2), 433), some((2, 4, 2), 434), ns([0, 1, 4])))
            .smooth(),
        row!("sums by key in a build": (M, Ns) => M,
            |(a, k)| build(2, |i| reduce_by_index(scalar(0.0), k, &a.at(&i), 3, |x, y| x + y)), (some((2, 5), 431), ns([0, 2, 0, 1, 2])))
            .smooth(),
        row!("sums by offset, of nothing what is given": (V, Ns, S) => V,
            |(x, o, n)| reduce_segments(n.clone(), &Segments::by_offset(o, x.len()), x, |a, b| a + b),
            (v([1.0, 2.0, 3.0, 4.0, 5.0]), ns([0, 2, 2, 4]), s(0.5)))
            .value([3.0, 0.5, 7.0])
            .gradient([1.0, 1.0, 1.0, 1.0, 0.0, 1.0])
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
        row!("reduce by key in a build": (M, Ns) => M,
            |(a, k)| build(2, |i| a.at(&i).segment_product(&Segments::by_key(k, 3))), (some((2, 5), 430), ns([0, 2, 0, 1, 2])))
            .smooth(),
        row!("sums by key": (M, Ns) => M, |(x, k)| x.segment_sum(&Segments::by_key(k, 3)),
            (m([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]), ns([2, 0, 2, 9])))
            .value([3.0, 4.0, 0.0, 0.0, 6.0, 8.0])
            .gradient([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
            .smooth(),
        row!("means by key": (V, Ns) => V, |(x, k)| x.segment_mean(&Segments::by_key(k, 2)),
            (v([1.0, 2.0, 6.0]), ns([1, 0, 1])))
            .value([2.0, 3.5])
            .gradient([0.5, 1.0, 0.5])
            .smooth(),
        row!("logsumexp by key": (V, Ns) => V, |(x, k)| x.segment_logsumexp(&Segments::by_key(k, 3)),
            (v([1000.0, 1000.0, -2.0, 3.0]), ns([2, 2, 0, 7])))
            .value([-2.0, f64::NEG_INFINITY, 1000.0 + 2.0f64.ln()])
            .gradient([0.5, 0.5, 1.0, 0.0])
            .once(),
        row!("logsumexp of rows by key": (M, Ns) => M, |(x, k)| x.segment_logsumexp(&Segments::by_key(k, 2)),
            (some((5, 2), 431), ns([1, 0, 1, 0, 1])))
            .smooth(),
        row!("softmax by key": (V, Ns) => V, |(x, k)| x.segment_softmax(&Segments::by_key(k, 2)),
            (v([1000.0, 1000.0, -2.0, 3.0]), ns([1, 1, 0, 7])))
            .value([0.5, 0.5, 1.0, 0.0])
            .gradient([0.0; 4]),
        row!("weighted softmax by key": (V, V, Ns) => V, |(x, w, k)| x.segment_softmax(&Segments::by_key(k, 3)) * w,
            (some(6, 432), some(6, 433), ns([0, 2, 0, 1, 2, 0])))
            .smooth(),
        row!("sums by offset": (V, Ns) => V, |(x, o)| x.segment_sum(&Segments::by_offset(o, x.len())),
            (v([1.0, 2.0, 3.0, 4.0, 5.0]), ns([1, 3, 3, 4])))
            .value([5.0, 0.0, 4.0])
            .gradient([0.0, 1.0, 1.0, 1.0, 0.0])
            .smooth(),
        row!("products by offset": (V, Ns) => V, |(x, o)| x.segment_product(&Segments::by_offset(o, x.len())),
            (v([2.0, 3.0, 0.0, 5.0, 7.0]), ns([0, 2, 5])))
            .value([6.0, 0.0])
            .gradient([3.0, 2.0, 35.0, 0.0, 0.0])
            .smooth(),
        row!("largest rows by offset": (M, Ns) => M, |(x, o)| x.segment_max(&Segments::by_offset(o, x.len())),
            (some((5, 2), 434), ns([0, 1, 4])))
            .smooth(),
        row!("smallest by offset, the first of equal ones": (V, Ns) => V,
            |(x, o)| x.segment_min(&Segments::by_offset(o, x.len())), (v([2.0, 1.0, 1.0, 3.0, 3.0]), ns([0, 3, 3, 5])))
            .value([1.0, f64::INFINITY, 3.0])
            .gradient([0.0, 1.0, 0.0, 1.0, 0.0]),
        row!("means by offset": (V, Ns) => V, |(x, o)| x.segment_mean(&Segments::by_offset(o, x.len())),
            (some(5, 435), ns([0, 2, 5])))
            .smooth(),
        row!("softmax by offset": (V, V, Ns) => V, |(x, w, o)| x.segment_softmax(&Segments::by_offset(o, x.len())) * w,
            (some(6, 436), some(6, 437), ns([0, 4, 6])))
            .smooth(),
        row!("logsumexp by offset": (V, Ns) => V, |(x, o)| x.segment_logsumexp(&Segments::by_offset(o, x.len())),
            (some(6, 438), ns([0, 4, 5, 6])))
            .smooth(),
        row!("matrices multiplied by offset": (T3, Ns) => T3, |(a, o)| {
                let one = build((2, 2), |(i, j)| i.equal(j).cast::<f64>());
                reduce_segments(one, &Segments::by_offset(o, a.len()), a, |a, b| a.dot(&b))
            }, (some((4, 2, 2), 439), ns([0, 3, 3, 4])))
            .smooth(),
        row!("a sparse matrix by offset": (V, Ns, Ns, V) => V, |(values, columns, offsets, x)| {
                (values * x.gather(columns)).segment_sum(&Segments::by_offset(offsets, columns.len()))
            }, (v([1.0, 2.0, 3.0]), ns([0, 2, 1]), ns([0, 2, 2, 3]), v([10.0, 20.0, 30.0])))
            .value([70.0, 0.0, 60.0])
            .gradient([10.0, 30.0, 20.0, 1.0, 3.0, 2.0])
            .smooth(),
        row!("offsets outside": (V, Ns) => V, |(x, o)| x.segment_sum(&Segments::by_offset(o, x.len())),
            (v([1.0, 2.0, 3.0]), ns([-5, 1, 9, 12])))
            .value([1.0, 5.0, 0.0])
            .gradient([1.0, 1.0, 1.0])
            .smooth(),
        row!("no offsets": (V, Ns) => V, |(x, o)| x.segment_max(&Segments::by_offset(o, x.len())), (v([1.0, 2.0]), ns([])))
            .value([])
            .gradient([0.0, 0.0]),
        row!("segments of each row": (M, Ns) => M,
            |(a, o)| build(2, |i| a.at(&i).segment_softmax(&Segments::by_offset(o, a.shape()[1])).powi(2)),
            (some((2, 5), 440), ns([0, 3, 5])))
            .smooth(),
    ]
}
