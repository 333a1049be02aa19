//! Reductions and scans with an associative operator, on trees; folds, iterations, linear recurrences.

use super::prelude::*;

/// x ↦ a·x + b, then x ↦ c·x + d: associative, not commutative.
fn after<A: Algebra, R: Rank>(
    (a, b): (Tensor<A, f64, R>, Tensor<A, f64, R>),
    (c, d): (Tensor<A, f64, R>, Tensor<A, f64, R>),
) -> (Tensor<A, f64, R>, Tensor<A, f64, R>) {
    let wrap = |x: TensorD<A, f64>| x.into_rank::<R>();
    let (a, b, c, d) = (a.into_dyn(), b.into_dyn(), c.into_dyn(), d.into_dyn());
    (wrap(&a * &c), wrap(&c * &b + &d))
}

/// The rows.
pub fn rows() -> Vec<Row> {
    vec![
        row!("a linear recurrence whose factors' product overflows": (V, V) => V,
            |(a, b)| deltaray::tensor::linear_recurrence(&scalar(0.0), a, b), (v([1e200, 1e200, 1.0, 0.5]), v([0.0, 1.0, 2.0, 3.0])))
            .value([0.0, 1.0, 3.0, 4.5])
            .values_only(),
        row!("reduce by a product": V => S, |x| reduce(scalar(1.0), x, |a, b| a * b), v([2.0, 0.5, 3.0, -1.0, 4.0]))
            .value([-12.0])
            .gradient([-6.0, -24.0, -4.0, 12.0, -3.0])
            .smooth(),
        row!("reduce with zeros": V => S, |x| reduce(scalar(1.0), x, |a, b| a * b), v([2.0, 0.0, 3.0]))
            .value([0.0])
            .gradient([0.0, 6.0, 0.0])
            .smooth(),
        row!("reduce of nothing": (V, S) => S, |(x, n)| reduce(n.clone(), x, |a, b| a * b), (v([]), s(7.0)))
            .value([7.0])
            .gradient([1.0])
            .smooth(),
        row!("reduce of one": V => S, |x| reduce(scalar(1.0), x, |a, b| a * b), v([3.0])).value([3.0]).gradient([1.0]),
        row!("reduce of maps": (V, V) => (S, S),
            |(a, b)| reduce((scalar(1.0), scalar(0.0)), &(a.clone(), b.clone()), after), (some(7, 331), some(7, 332)))
            .smooth(),
        row!("reduce of matrices": T3 => M,
            |a| reduce(build((2, 2), |(i, j)| i.equal(j).cast::<f64>()), a, |a, b| a.dot(&b)), some((5, 2, 2), 333))
            .smooth(),
        row!("reduce along the inner axis": M => V, |a| reduce_axis(1, ones(3), a, |a, b| a * b), some((3, 6), 334)).smooth(),
        row!("reduce with a captured array": (M, V) => V,
            |(a, w)| reduce(zeros(3), a, |x, y| x + y + w * 0.0) * w, (some((4, 3), 335), some(3, 336)))
            .smooth(),
        row!("reduce by a captured modulus": (V, S) => S,
            |(x, w)| reduce(scalar(0.0), x, |a, b| (&a + &b) / (1.0 + a * b * w)), (some(5, 337) * 0.5, s(1.0)))
            .smooth(),
        row!("reduce by an extreme and its position": V => (S, N), |x| {
                let at = iota(x.len());
                let first = (scalar(f64::NEG_INFINITY), scalar(-1));
                reduce(first, &(x.clone(), at), |(x, i), (y, j)| {
                    let left = x.ge(&y);
                    (left.select(&x, &y), left.select(&i, &j))
                })
            }, v([1.0, 4.0, 2.0, 4.0, 3.0]))
            .value([4.0, 1.0])
            .gradient([0.0, 1.0, 0.0, 0.0, 0.0]),
        row!("reduce in a build": M => V, |a| build(3, |i| reduce(scalar(1.0), &a.at(&i), |x, y| x * y * 0.5)), some((3, 5), 338))
            .smooth(),
        row!("reduce by a sum": V => S, |x| reduce(scalar(0.0), x, |a, b| a + b), v([1.0, 2.0, 4.0, 8.0, 16.0]))
            .value([31.0])
            .gradient([1.0; 5])
            .smooth(),
        row!("reduce by a sum of exchanged operands": V => S, |x| reduce(scalar(0.0), x, |a, b| b + a).powi(2), v([1.0, 2.0, 4.0]))
            .value([49.0])
            .gradient([14.0; 3])
            .smooth(),
        row!("reduce with two zeros": V => S, |x| reduce(scalar(1.0), x, |a, b| a * b), v([2.0, 0.0, 3.0, 0.0]))
            .value([0.0])
            .gradient([0.0; 4])
            .smooth(),
        row!("reduce by the largest of equal ones": V => S,
            |x| reduce(scalar(f64::NEG_INFINITY), x, |a, b| a.max(b)), v([1.0, 3.0, 2.0, 3.0, 3.0]))
            .value([3.0])
            .gradient([0.0, 1.0, 0.0, 0.0, 0.0]),
        row!("reduce by the smallest of equal ones, the last": V => S,
            |x| reduce(scalar(f64::INFINITY), x, |a, b| b.min(a)), v([2.0, 1.0, 4.0, 1.0, 3.0]))
            .value([1.0])
            .gradient([0.0, 0.0, 0.0, 1.0, 0.0]),
        row!("reduce a tree by an operation on each array": (V, V, Ns) => (S, S, N), |(x, y, k)| {
                let first = (scalar(0.0), scalar(1.0), scalar(i64::MIN));
                let tree = (x.clone(), y.clone(), k.clone());
                reduce(first, &tree, |(a, b, i), (c, d, j)| (a + c, d * b, i.max(j)))
            }, (v([1.0, 2.0, 3.0]), v([2.0, 5.0, 0.5]), ns([4, 9, -1])))
            .value([6.0, 5.0, 9.0])
            .gradient([1.0, 1.0, 1.0, 2.5, 1.0, 10.0])
            .smooth(),
        row!("reduce by exchanged arrays of a tree": (V, V) => (S, S), |(x, y)| {
                // Not associative, but of two slices there is one combination.
                reduce((scalar(0.0), scalar(0.0)), &(x.clone(), y.clone()), |(a, b), (c, d)| (b + d, a + c))
            }, (v([1.0, 2.0]), v([3.0, 4.0])))
            .value([7.0, 3.0])
            .gradient([1.0, 1.0, 1.0, 1.0])
            .smooth(),
        row!("reduce by a sum and one of products": V => (S, S), |x| {
                let first = (scalar(0.0), scalar(0.0));
                reduce(first, &(x.clone(), x * 0.0), |(a, p), (b, q)| (&a + &b, p + q + a * b))
            }, v([1.0, 2.0, 3.0]))
            .value([6.0, 11.0])
            .gradient([6.0, 5.0, 4.0])
            .smooth(),
        row!("reduce by a sum less a captured array": (M, V) => V,
            |(a, w)| reduce(w.clone(), a, |x, y| x + y - w), (m([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), v([0.5, 2.0])))
            .value([8.0, 8.0])
            .gradient([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -2.0, -2.0])
            .smooth(),
        row!("reduce truth values": V => S, |x| {
                let any = reduce(scalar(false), &x.gt(1.0), |a, b| a | b);
                let all = reduce(scalar(true), &x.gt(1.0), |a, b| b & a);
                any.select(x.sum(), 0.0) + all.select(x.product(), 0.0)
            }, v([2.0, 0.5, 3.0]))
            .value([5.5])
            .gradient([1.0; 3])
            .smooth(),
        row!("reduce integers that overflow": (V, Ns) => V,
            |(x, k)| x * reduce(scalar(0), k, |i, j| i + j).cast::<f64>(), (v([0.5, 2.0]), ns([i64::MAX, i64::MAX, 5])))
            .value([1.5, 6.0])
            .gradient([3.0, 3.0])
            .smooth(),
        row!("reduce by a sum in a build": M => V, |a| build(3, |i| reduce(scalar(0.0), &a.at(&i), |x, y| x + y) * a.at((i, 0))), some((3, 4), 351))
            .smooth(),
        row!("reduce by the largest along the inner axis": M => V,
            |a| reduce_axis(1, full(2, -9.0), a, |a, b| a.max(b)), m([[1.0, 5.0, 5.0], [4.0, 0.0, 4.0]]))
            .value([5.0, 4.0])
            .gradient([0.0, 1.0, 0.0, 1.0, 0.0, 0.0]),
        row!("reduce by logaddexp": V => S, |x| reduce(scalar(f64::NEG_INFINITY), x, |a, b| a.logaddexp(&b)), some(5, 352)).smooth(),
        row!("reduce by logaddexp of infinite ones": V => S,
            |x| reduce(scalar(f64::NEG_INFINITY), x, |a, b| a.logaddexp(&b)), v([f64::NEG_INFINITY, 1.0, f64::NEG_INFINITY]))
            .value([1.0])
            .gradient([0.0, 1.0, 0.0]),
        row!("scan by the largest of equal ones": V => V, |x| associative_scan(x, |a, b| a.max(b)), v([2.0, 2.0, 1.0, 3.0]))
            .value([2.0, 2.0, 2.0, 3.0])
            .gradient([3.0, 0.0, 0.0, 1.0]),
        row!("scan by the largest of equal ones, the last": V => V, |x| associative_scan(x, |a, b| b.max(a)), v([2.0, 2.0, 1.0, 3.0]))
            .value([2.0, 2.0, 2.0, 3.0])
            .gradient([1.0, 2.0, 0.0, 1.0]),
        row!("scan backwards by the smallest of equal ones": V => V, |x| associative_scan_reverse(x, |a, b| a.min(b)), v([2.0, 1.0, 1.0]))
            .value([1.0; 3])
            .gradient([0.0, 0.0, 3.0]),
        row!("scan a tree by an operation on each array": (V, Ns) => (V, Ns),
            |(x, k)| associative_scan(&(x.clone(), k.clone()), |(a, i), (b, j)| (a * b, i + j)),
            (v([2.0, 0.0, 3.0]), ns([1, 2, 3])))
            .value([2.0, 0.0, 0.0, 1.0, 3.0, 6.0])
            .gradient([1.0, 8.0, 0.0])
            .smooth(),
        row!("scan by sums less a captured array": (V, S) => V, |(x, w)| associative_scan(x, |a, b| a + b - w), (v([1.0, 2.0, 3.0]), s(0.5)))
            .value([1.0, 2.5, 5.0])
            .gradient([3.0, 2.0, 1.0, -3.0])
            .smooth(),
        row!("scan by sums": V => V, |x| associative_scan(x, |a, b| a + b), v([1.0, 2.0, 3.0, 4.0]))
            .value([1.0, 3.0, 6.0, 10.0])
            .gradient([4.0, 3.0, 2.0, 1.0])
            .smooth(),
        row!("scan of maps": (V, V) => (V, V),
            |(a, b)| associative_scan(&(a.clone(), b.clone()), after), (some(6, 339), some(6, 340)))
            .smooth(),
        row!("scan of maps backwards": (V, V) => (V, V),
            |(a, b)| associative_scan_reverse(&(a.clone(), b.clone()), after), (some(5, 341), some(5, 342)))
            .smooth(),
        row!("scan of matrices": T3 => T3, |a| associative_scan(a, |a, b| a.dot(&b)), some((4, 2, 2), 343)).smooth(),
        row!("scan along the inner axis": M => M, |a| associative_scan_axis(1, a, |a, b| a * b), some((2, 5), 344)).smooth(),
        row!("scan backwards along the inner axis": M => M,
            |a| associative_scan_reverse_axis(1, a, |a, b| (&a + &b) / (1.0 + a * b)), some((2, 5), 345))
            .smooth(),
        row!("scan of nothing": V => V, |x| associative_scan(x, |a, b| a * b), v([])).value([]).gradient([]),
        row!("scan of one": V => V, |x| associative_scan(x, |a, b| a * b), v([3.0])).value([3.0]).gradient([1.0]),
        row!("scan by segments": (V, Bs) => V, |(x, starts)| {
                associative_scan(&(x.clone(), starts.clone()), |(x, s), (y, t)| (t.select(&y, x * &y), s | &t)).0
            }, (v([2.0, 3.0, 4.0, 5.0, 6.0]), vec![true, false, true, false, false].into()))
            .value([2.0, 6.0, 4.0, 20.0, 120.0])
            .gradient([1.0 + 3.0, 2.0, 1.0 + 5.0 + 30.0, 4.0 + 24.0, 20.0])
            .smooth(),
        row!("linear recurrence": (S, V, V) => V,
            |(y, a, b)| linear_recurrence(y, a, b), (s(0.5), some(6, 345), some(6, 346)))
            .smooth(),
        row!("linear recurrence of rows": (V, M, M) => M,
            |(y, a, b)| linear_recurrence(y, a, b), (some(2, 347), some((5, 2), 348), some((5, 2), 349)))
            .smooth(),
        row!("linear recurrence in numbers": (S, V, V) => V,
            |(y, a, b)| linear_recurrence(y, a, b), (s(1.0), v([2.0, 3.0, 0.5]), v([1.0, -1.0, 2.0])))
            .value([3.0, 8.0, 6.0])
            .smooth(),
        row!("a fold": (S, V) => S, |(a, x)| fold(a.clone(), x, |a, x| (a * x).sin()), (s(0.7), some(4, 350))).smooth(),
        row!("a fold backwards": (S, V) => S, |(a, x)| fold_reverse(a.clone(), x, |a, x| a * 2.0 + x), (s(1.0), v([1.0, 2.0, 3.0])))
            .value([8.0 + 12.0 + 4.0 + 1.0])
            .gradient([8.0, 1.0, 2.0, 4.0])
            .smooth(),
        row!("right folds": V => (S, S, S), |x| {
                let right = |a: f64, b: f64| {
                    fold_reverse(x.at(3), &x.slice(0, 0..3), move |sum, x| a * x + b * sum)
                };
                (right(1.0, 2.0), right(2.0, 2.0), right(2.0, 3.0))
            }, v([1.0, 2.0, 3.0, 4.0]))
            .gradient([1.0 + 2.0 + 2.0, 2.0 + 4.0 + 6.0, 4.0 + 8.0 + 18.0, 8.0 + 8.0 + 27.0])
            .smooth(),
        row!("an iteration": (S, S) => S, |(x, w)| iterate(x.clone(), 5, |x| (x * w).sin()), (s(1.1), s(1.0)))
            .gradient([0.12389721944941383, 1.6615031757981493])
            .smooth(),
        row!("an iteration of no steps": S => S, |x| iterate(x.clone(), 0, |x| x.sin()), s(1.1)).value([1.1]).gradient([1.0]),
    ]
}
