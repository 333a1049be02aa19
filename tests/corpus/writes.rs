//! Writes at computed positions, in every mode, and positions with a mask.

use super::prelude::*;

/// A table of 2 rows of 3.
fn table() -> M {
    m([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
}

/// The rows.
pub fn rows() -> Vec<Row> {
    let mut rows = modes();
    rows.extend(at_pairs());
    rows.extend(with_masks());
    rows
}

fn modes() -> Vec<Row> {
    let x = || v([1.0, 2.0, 3.0]);
    let at = || ns([2, 0, 2, 9, -1]);
    let updates = || v([10.0, 20.0, 30.0, 40.0, 50.0]);
    vec![
        row!("written at positions, the last wins": (V, Ns, V) => V, |(x, k, u)| x.scatter_set(k, u), (x(), at(), updates()))
            .value([20.0, 2.0, 30.0])
            .gradient([0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0])
            .smooth(),
        row!("rows written at positions": (M, Ns, M) => M, |(a, k, b)| a.scatter_set(k, &(b * 2.0)),
            (some((4, 2), 428), ns([3, 1, 3]), some((3, 2), 429)))
            .smooth(),
        row!("truth values written at positions": (V, Ns) => V, |(x, k)| {
                let mask = x.gt(100.0).scatter_set(k, &k.ge(0));
                mask.select(x * x, x)
            }, (x(), at()))
            .value([1.0, 2.0, 9.0])
            .gradient([2.0, 1.0, 6.0]),
        row!("added at positions": (V, Ns, V) => V, |(x, k, u)| x.scatter_add(k, u), (x(), at(), updates()))
            .value([21.0, 2.0, 43.0])
            .gradient([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
            .smooth(),
        row!("multiplied at positions": (V, Ns, V) => V, |(x, k, u)| x.scatter_multiply(k, u), (x(), at(), updates()))
            .value([20.0, 2.0, 900.0])
            .gradient([20.0, 1.0, 300.0, 90.0, 1.0, 30.0, 0.0, 0.0])
            .smooth(),
        row!("multiplied at positions with zeros": (V, Ns, V) => V, |(x, k, u)| x.scatter_multiply(k, u),
            (v([0.0, 2.0, 3.0]), ns([0, 0, 1, 2, 2]), v([4.0, 5.0, 0.0, 0.0, 0.0])))
            .value([0.0, 0.0, 0.0])
            .gradient([20.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0])
            .smooth(),
        row!("the largest at positions": (V, Ns, V) => V, |(x, k, u)| x.scatter_max(k, u),
            (x(), ns([0, 0, 1, 2]), v([5.0, 7.0, 1.0, -3.0])))
            .value([7.0, 2.0, 3.0])
            .gradient([0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0])
            .smooth(),
        row!("the largest of equal ones at positions": (V, Ns, V) => V, |(x, k, u)| x.scatter_max(k, u),
            (x(), ns([2, 0, 0, 1]), v([3.0, 4.0, 4.0, 2.0])))
            .value([4.0, 2.0, 3.0])
            .gradient([0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0]),
        row!("the smallest at positions": (V, Ns, V) => V, |(x, k, u)| x.scatter_min(k, u),
            (x(), ns([0, 0, 1, 2, 2]), v([5.0, 7.0, 1.0, -3.0, -3.0])))
            .value([1.0, 1.0, -3.0])
            .gradient([1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0]),
        row!("the smallest rows at positions": (M, Ns, M) => M, |(a, k, b)| a.scatter_min(k, b),
            (some((3, 2), 441), ns([2, 0, 2, 2]), some((4, 2), 442)))
            .smooth(),
        row!("integers in all modes": (V, Ns) => V, |(x, k)| {
                let sums = k.scatter_add(k, k).scatter_max(k, k);
                let products = k.scatter_multiply(k, &(k + 2)).scatter_min(k, &(k - 3));
                x * (sums - products).scatter_set(k, k).cast::<f64>()
            }, (some(3, 443), ns([1, 0, 2])))
            .smooth(),
        row!("one element written, multiplied and added to": (V, N, S) => V,
            |(x, i, u)| x.scatter_set(i, u).scatter_multiply(i - 1, u).scatter_add(i + 1, &u.sin()).scatter_max(i + 9, u),
            (some(4, 455), n(1), s(0.7)))
            .smooth(),
        row!("one row written": (M, N, V) => M, |(a, i, u)| a.scatter_set(i, u).powi(2), (some((3, 2), 456), n(2), some(2, 457)))
            .smooth(),
        row!("written nowhere": (V, Ns, V) => V, |(x, k, u)| x.scatter_max(k, u).scatter_set(k, u), (x(), ns([]), v([])))
            .value([1.0, 2.0, 3.0])
            .gradient([1.0; 3]),
        row!("written into nothing": (V, Ns, V) => V, |(x, k, u)| x.scatter_multiply(k, u).scatter_set(k, u),
            (v([]), ns([0, 1]), v([1.0, 2.0])))
            .value([])
            .gradient([0.0, 0.0]),
        row!("written in a build": (M, Nm, V) => M, |(a, k, u)| build(2, |i| a.at(&i).scatter_set(&k.at(i), u).powi(2)),
            (some((2, 3), 444), [[2, 0, 2], [1, 1, 7]].into(), some(3, 445)))
            .smooth(),
        row!("written in a loop": (V, Ns, V) => V, |(x, k, u)| {
                fold(x.clone(), &(k.clone(), u.clone()), |x, (k, u)| {
                    x.scatter_multiply(&k, &u).scatter_add(k + 1, &u.sin())
                })
            }, (some(4, 446), ns([2, 0, 2, 3, 1]), some(5, 447)))
            .smooth(),
    ]
}

fn at_pairs() -> Vec<Row> {
    vec![
        row!("written at pairs": (M, Ns, Ns, V) => M, |(a, i, j, u)| a.scatter_set((i, j), u),
            (table(), ns([1, 0, 1, 2, 0]), ns([2, 0, 2, 0, -1]), v([10.0, 20.0, 30.0, 40.0, 50.0])))
        .value([20.0, 2.0, 3.0, 4.0, 5.0, 30.0])
        .gradient([0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0])
        .smooth(),
        row!("added at pairs": (M, Ns, Ns, V) => M, |(a, i, j, u)| a.scatter_add((i, j), u),
            (table(), ns([1, 0, 1, 2, 0]), ns([2, 0, 2, 0, -1]), v([10.0, 20.0, 30.0, 40.0, 50.0])))
        .value([21.0, 2.0, 3.0, 4.0, 5.0, 46.0])
        .smooth(),
        row!("multiplied at pairs": (M, Ns, Ns, V) => M, |(a, i, j, u)| a.scatter_multiply((i, j), u),
            (table(), ns([1, 0, 1, 0]), ns([2, 0, 2, 3]), v([10.0, 20.0, 0.0, 7.0])))
        .value([20.0, 2.0, 3.0, 4.0, 5.0, 0.0])
        .gradient([20.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 60.0, 0.0])
        .smooth(),
        row!("the largest at a table of pairs": (T3, Nm, Nm, T3) => T3, |(a, i, j, u)| a.scatter_max((i, j), u),
            (some((2, 2, 2), 448), [[0, 1, 0], [1, 1, 2]].into(), [[1, 0, 1], [0, 1, 0]].into(), some((2, 3, 2), 449)))
        .smooth(),
        row!("the smallest at broadcast pairs": (M, Nm, Nm, M) => M, |(a, i, j, u)| a.scatter_min((i, j), u),
            (some((2, 3), 450), [[0], [1]].into(), [[0, 2, 0]].into(), some((2, 3), 451)))
        .smooth(),
    ]
}

fn with_masks() -> Vec<Row> {
    vec![
        row!("a gather with a mask": (V, Ns) => V, |(x, k)| x.gather(masked(&k.not_equal(2), k)),
            (v([10.0, 20.0, 30.0]), ns([2, 0, 1, 7])))
            .value([0.0, 10.0, 20.0, 0.0])
            .gradient([1.0, 1.0, 0.0])
            .smooth(),
        row!("a gather with a mask and a fill value": (V, Ns, S) => V, |(x, k, fill)| x.gather_or(masked(&k.not_equal(2), k), fill),
            (v([10.0, 20.0, 30.0]), ns([2, 0, 1, 7]), s(-1.5)))
            .value([-1.5, 10.0, 20.0, -1.5])
            .gradient([1.0, 1.0, 0.0, 2.0])
            .smooth(),
        row!("a gather with a literal where it is outside": (M, Ns) => M, |(a, i)| a.gather_or(i, 0.5),
            (table(), ns([1, -1])))
            .value([4.0, 5.0, 6.0, 0.5, 0.5, 0.5])
            .gradient([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
            .smooth(),
        row!("a gather of rows or another row": (M, Ns, V) => M, |(a, i, row)| a.gather_or(i, row),
            (table(), ns([5, 0]), some(3, 452)))
            .smooth(),
        row!("a gather at pairs or a value": (M, Ns, Ns) => V, |(a, i, j)| a.gather_or((i, masked(&i.gt(0), j)), -1.0),
            (table(), ns([0, 1, 1, 1]), ns([0, 2, 3, 0])))
            .value([-1.0, 6.0, -1.0, 4.0])
            .gradient([0.0, 0.0, 0.0, 1.0, 0.0, 1.0])
            .smooth(),
        row!("a gather of logarithms with a mask": V => V, |x| {
                let at: Vector<A, i64> = iota(x.len());
                x.ln().gather_or(masked(&x.gt(0.0), at), 0.0)
            }, v([1.0, 2.0, 4.0]))
            .value([0.0, 2.0f64.ln(), 4.0f64.ln()])
            .gradient([1.0, 0.5, 0.25])
            .smooth(),
        row!("a scatter with a mask": (V, Ns) => V, |(x, k)| x.scatter(masked(&x.gt(1.0), k), 2),
            (v([1.0, 2.0, 3.0, 4.0]), ns([0, 1, 0, 1])))
            .value([3.0, 6.0])
            .gradient([0.0, 1.0, 1.0, 1.0]),
        row!("written with a mask": (V, Ns, V) => V, |(x, k, u)| x.scatter_set(masked(&u.lt(3.0), k), u),
            (v([10.0, 20.0]), ns([0, 0, 1]), v([1.0, 5.0, 2.0])))
            .value([1.0, 2.0])
            .gradient([0.0, 0.0, 1.0, 0.0, 1.0]),
        row!("the largest and products with a mask": (V, Ns, V) => V, |(x, k, u)| {
                let even = (k % 2).equal(0);
                x.scatter_max(masked(&even, k), u).scatter_multiply(masked(&!even, k), u)
            }, (some(4, 453), ns([0, 3, 1, 2, 3]), some(5, 454)))
            .smooth(),
        row!("added at pairs with a mask": (M, Ns, Ns, V) => M, |(a, i, j, u)| a.scatter_add(masked(&u.gt(0.0), (i, j)), u),
            (table(), ns([1, 0]), ns([2, 0]), v([10.0, -20.0])))
            .value([1.0, 2.0, 3.0, 4.0, 5.0, 16.0])
            .gradient([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0]),
    ]
}
