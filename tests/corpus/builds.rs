//! `build`: nested, over several indices, beside literals and appends, and stencils.

use super::prelude::*;

/// `[r, 1, 2, 3, 4]`.
fn five<A: Algebra>(r: &Scalar<A, f64>) -> Vector<A, f64> {
    r.replicate(1).append(0, &Tensor::from_slice(&[1.0, 2.0, 3.0, 4.0]))
}

/// `Σ_{i<n} x·i`.
fn sum_of_multiples<A: Algebra>(x: &Scalar<A, f64>, n: usize) -> Scalar<A, f64> {
    build(n, |i| x * i.cast::<f64>()).sum()
}

/// Four sums of multiples.
fn four_sums<A: Algebra>(x: &Scalar<A, f64>) -> Scalar<A, f64> {
    sum_of_multiples(x, 10) + sum_of_multiples(x, 20) + sum_of_multiples(x, 10) + sum_of_multiples(&(x + 1.0), 20)
}

/// Sums of formulas of the elements, their sum and their minimum.
fn formulas_of_sums<A: Algebra>(v: &Vector<A, f64>) -> Vector<A, f64> {
    let r = v.sum();
    let m = v.min_all();
    build(3, |i| &r * foo(&scalar(3.0), &(5.0 * &r), &(&r * &m * &m)) + bar(&r, &v.at(i + 1)))
}

/// Quotients of formulas and choices; `at` says where the first factor is read.
fn quotients<A: Algebra>(
    v: &Vector<A, f64>,
    at: impl Fn(&Scalar<A, i64>, &Scalar<A, f64>) -> Scalar<A, i64>,
) -> Vector<A, f64> {
    let r = v.sum();
    let pi = scalar(3.14);
    build(3, |i| {
        let p = bar(&pi, &bar(&pi, &v.at(at(&i, &r))));
        let q = (v.at(2 * &i).le(0.0) & i.abs().lt(6)).select(&r, 5.0 * &r);
        let next = v.at(i + 1);
        let denominator = next.gt(&r).select(&r, &next);
        (p + q) / denominator
    })
}

/// Each element with its right neighbour in one array and its left in another.
fn stencil<A: Algebra>(a: &Vector<A, f64>, b: &Vector<A, f64>, c: &Vector<A, f64>) -> Vector<A, f64> {
    build(a.len(), |i| a.at(&i) + b.at(&i + 1) + c.at(i - 1))
}

/// The rows.
pub fn rows() -> Vec<Row> {
    let mut rows = appends();
    rows.extend(formulas());
    rows.extend(stencils());
    rows.extend(nests());
    rows
}

fn appends() -> Vec<Row> {
    vec![
        row!("a build of appends": S => M,
            |r| build(7, |i| concatenate(0, &[build(5, |_| r.clone()), i.cast::<f64>().replicate(1), build(13, |_| r.clone())])),
            s(3.4))
            .gradient([126.0])
            .smooth(),
        row!("an array read twice by a condition": S => V,
            |r| { let a = five(r); build(10, |i| cond(i.lt(5), || a.at(&i), || a.at(&i - 5))) }, s(3.4))
            .gradient([2.0])
            .smooth(),
        row!("an array read at a quotient": S => V, |r| {
                let a = five(r);
                build(10, |i| {
                    cond(i.lt(5), || a.at(&i), || a.at(&i - 5 + scalar::<A, i64>(1) / (&i - 5).max(1)))
                })
            }, s(3.4))
            .gradient([1.0])
            .smooth(),
        row!("an array read out of bounds on both sides": S => V,
            |r| { let a = five(r); build(10, |i| cond(i.lt(5), || a.at(&i - 5), || a.at(&i))) }, s(3.4))
            .value([0.0; 10])
            .gradient([0.0])
            .smooth(),
        row!("a literal read by an index": S => M,
            |r| build(3, |i| build(4, |j| stack(&[j.cast::<f64>(), scalar(7.0), r.clone(), scalar(-0.2)]).at(&i))),
            s(3.4))
            .value([0.0, 1.0, 2.0, 3.0, 7.0, 7.0, 7.0, 7.0, 3.4, 3.4, 3.4, 3.4])
            .gradient([4.0])
            .smooth(),
        row!("a literal of formulas read by an index": V => V, |x| {
                build(4, |i| stack(&[x.at(0) * x.at(&i), x.at(&i).exp(), x.at(3 - &i)]).at(i % 3))
            }, v([0.5, -0.3, 1.2, 0.1]))
            .value([0.25, (-0.3f64).exp(), -0.3, 0.05])
            .gradient([1.1, 1.0 + (-0.3f64).exp(), 0.0, 0.5])
            .smooth(),
    ]
}

fn formulas() -> Vec<Row> {
    vec![
        row!("sums of multiples": S => S, |x| sum_of_multiples(x, 10), s(1.1)).value([49.5]).gradient([45.0]).smooth(),
        row!("four sums of multiples": S => S, |x| four_sums(x), s(1.1)).gradient([470.0]).smooth(),
        row!("tangent of four sums": S => S, |x| jvp(four_sums, x, &scalar(0.1)).1, s(1.1)).value([47.0]).smooth(),
        row!("formulas of a sum and a minimum": V => V, |v| formulas_of_sums(v), v([1.1, 2.2, 3.3, 4.0]))
            .gradient([-4521.201512195087, -5568.7163677622175, -5298.386349932494, -4907.349735554627])
            .overhead(1, 4),
        row!("formulas of a sum and a minimum, cotangent 42": V => V,
            |v| vjp(|v| formulas_of_sums(v), v).1(&full(3, 42.0)), v([1.1, 2.2, 3.3, 4.0]))
        .value([-189890.46351219364, -233886.08744601303, -222532.22669716467, -206108.68889329425]),
        row!("formulas of a sum and a minimum, tangent 42": V => V,
            |v| jvp(|v| formulas_of_sums(v), v, &full(4, 42.0)).1, v([1.1, 2.2, 3.3, 4.0]))
        .value([-296584.8166864211, -290062.472288043, -265770.1775742018]),
        row!("quotients of formulas at clamped positions": V => V,
            |v| quotients(v, |i, r| clamp(&(i + r.floor().cast::<i64>()), 0, 2)), v([1.1, 2.2, 3.3, 4.0, 5.0]))
        .gradient([5.037878787878788, -14.394255484765257, 43.23648655081373, -0.8403418295960368, 5.037878787878788]),
        row!("quotients of formulas": V => V, |v| quotients(v, |i, _| i.clone()), v([1.1, 2.2, 3.3, 4.0, 5.0]))
            .gradient([
                344.3405885672822,
                -396.1811403813819,
                7.735358041386672,
                -0.8403418295960372,
                5.037878787878787,
            ]),
        row!("quotients of formulas at a negative element": V => V, |v| quotients(v, |i, _| i.clone()),
            v([1.1, 2.2, 3.3, 4.0, -5.22])),
        row!("self-convolution": V => V, |x| {
                let n = x.len();
                build(n, |i| x.at(&i) * x.at(n - 1 - i))
            }, v([1.0, 2.0, 3.0]))
        .value([3.0, 4.0, 3.0])
        .gradient([6.0, 4.0, 2.0])
        .smooth(),
        row!("two neighbouring products": M => S, |a| {
                let (n, k) = (a.shape()[0], a.shape()[1]);
                let products = build((n, k), |(p, q)| a.at((&p, &q)) * a.at((&p, &q + 1))).sum();
                build((n, k), |(i, _)| i.cast::<f64>() * &products).sum()
            }, m([[1.0, 2.0, 4.0], [3.0, -1.0, 5.0]]))
        .value([6.0])
        .gradient([6.0, 15.0, 6.0, -3.0, 24.0, -3.0])
        .smooth()
        .overhead(1, 12),
        row!("an outer product": (V, V) => M, |(x, y)| build((x.len(), y.len()), |(i, j)| x.at(i) * y.at(j)),
            (v([1.0, 2.0]), v([3.0, 4.0, 5.0])))
        .value([3.0, 4.0, 5.0, 6.0, 8.0, 10.0])
        .gradient([12.0, 12.0, 3.0, 3.0, 3.0])
        .smooth(),
        row!("sin of one times cos of both": (V, V) => S,
            |(x, y)| build(x.len(), |i| x.at(&i).sin() * (x.at(&i) + y.at(&i)).cos()).sum(),
            (v([0.5, -1.0, 2.0]), v([0.1, 0.7, -0.4])))
        .smooth(),
        row!("a polynomial by powers of the index": (V, S) => S,
            |(c, x)| build(c.len(), |i| c.at(&i) * x.pow(i.cast::<f64>())).sum(), (v([1.0, -2.0, 0.5]), s(1.5)))
        .value([1.0 - 3.0 + 1.125])
        .gradient([1.0, 1.5, 2.25, -2.0 + 1.5])
        .smooth(),
        row!("distances between all points": M => M, |x| {
                let n = x.len();
                build((n, n), |(i, j)| {
                    let d = x.at(i) - x.at(j);
                    (&d * &d).sum()
                })
            }, m([[0.0, 1.0], [2.0, -1.0], [0.5, 0.5]]))
        .smooth(),
        row!("f32 build": (Fs, Fs) => Fs,
            |(x, y)| build(3, |i| x.at(&i) * y.at(2 - i)), (f([1.0, 2.0, 3.0]), f([4.0, 5.0, 6.0])))
        .value([6.0, 10.0, 12.0])
        .gradient([6.0, 5.0, 4.0, 3.0, 2.0, 1.0]),
    ]
}

fn stencils() -> Vec<Row> {
    let ones = |n: usize, x: f64| t(n, &vec![x; n]);
    let with_ends =
        |n: usize, first: f64, inner: f64, last: f64| [vec![first], vec![inner; n - 2], vec![last]].concat();
    let counted = |x: f64| t(10, &(0..10).map(|i| x * i as f64).collect::<Vec<_>>());
    let interior: Vec<f64> =
        [[1.0; 10].to_vec(), [0.0].to_vec(), [1.0; 9].to_vec(), [1.0; 9].to_vec(), [0.0].to_vec()].concat();
    vec![
        row!("stencil of constants": (V, V, V) => V,
            |(a, b, c)| stencil(a, b, c), (ones(10, 1.0), ones(10, 2.0), ones(10, 3.0)))
            .value([3.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 4.0])
            .gradient(interior.clone())
            .smooth(),
        row!("stencil of positions": (V, V, V) => V,
            |(a, b, c)| stencil(a, b, c), (counted(1.0), counted(1.0), counted(1.0)))
            .value([1.0, 3.0, 6.0, 9.0, 12.0, 15.0, 18.0, 21.0, 24.0, 17.0])
            .gradient(interior.clone())
            .smooth(),
        row!("stencil of multiples": (V, V, V) => V,
            |(a, b, c)| stencil(a, b, c), (counted(1.0), counted(2.0), counted(3.0)))
            .value([2.0, 5.0, 11.0, 17.0, 23.0, 29.0, 35.0, 41.0, 47.0, 33.0])
            .gradient(interior)
            .smooth(),
        row!("stencil with conditions at the ends": (V, V, V) => V, |(a, b, c)| {
                let n = a.len();
                build(n, |i| {
                    let right = cond(i.lt(n - 1), || b.at(&i + 1), || scalar(0.0));
                    let left = cond(i.gt(0), || c.at(&i - 1), || scalar(0.0));
                    a.at(&i) + right + left
                })
            }, (counted(1.0), counted(2.0), counted(3.0)))
            .value([2.0, 5.0, 11.0, 17.0, 23.0, 29.0, 35.0, 41.0, 47.0, 33.0])
            .smooth(),
        row!("stencil of a million": (V, V, V) => V, |(a, b, c)| stencil(a, b, c),
            (ones(1_000_000, 1.0), ones(1_000_000, 2.0), ones(1_000_000, 3.0)))
            .value(with_ends(1_000_000, 3.0, 6.0, 4.0))
            .gradient([with_ends(1_000_000, 1.0, 1.0, 1.0), with_ends(1_000_000, 0.0, 1.0, 1.0), with_ends(1_000_000, 1.0, 1.0, 0.0)].concat())
            .large()
            .heavy(),
        row!("stencil of two axes": M => M, |x| {
                let (n, k) = (x.shape()[0], x.shape()[1]);
                build((n, k), |(i, j)| {
                    x.at((&i, &j)) * 4.0 - x.at((&i - 1, &j)) - x.at((&i + 1, &j)) - x.at((&i, &j - 1)) - x.at((&i, &j + 1))
                })
            }, some((4, 5), 21))
            .smooth(),
        row!("five steps of diffusion": V => V, |x| {
                let n = x.len();
                (0..5).fold(x.clone(), |u, _| build(n, |i| u.at(&i) + 0.1 * (u.at(&i - 1) - 2.0 * u.at(&i) + u.at(i + 1))))
            }, some(8, 22))
            .smooth(),
        row!("a nonlinear stencil": V => V, |x| build(x.len(), |i| (x.at(&i - 1) * x.at(i + 1)).tanh()), some(7, 23))
            .smooth(),
    ]
}

fn nests() -> Vec<Row> {
    vec![
        row!("a build that ignores its index": V => M, |x| build(3, |_| x.clone()), v([1.0, 2.0]))
            .value([1.0, 2.0, 1.0, 2.0, 1.0, 2.0])
            .gradient([3.0, 3.0])
            .smooth(),
        row!("a build of positions": V => V, |x| x * build(3, |i| (i * 2 + 1).cast::<f64>()), v([1.0, 1.0, 1.0]))
            .value([1.0, 3.0, 5.0])
            .gradient([1.0, 3.0, 5.0])
            .smooth(),
        row!("a nested build that uses both indices": V => M,
            |x| build(2, |i| build(3, |j| x.at(&i) + x.at(j))), v([1.0, 2.0, 3.0]))
        .value([2.0, 3.0, 4.0, 3.0, 4.0, 5.0])
        .gradient([5.0, 5.0, 2.0])
        .smooth(),
        row!("a build over three indices": T3 => T3,
            |x| build((3, 2, 4), |(k, i, j)| x.at((i, j, k)).sin()), some((2, 4, 3), 24))
        .smooth(),
        row!("a build over an array of indices": T3 => T3,
            |x| build([3, 2, 4], |[k, i, j]| x.at((i, j, k)).exp()), some((2, 4, 3), 25))
        .smooth(),
        row!("an inner build used twice": V => V, |x| {
                build(3, |i| {
                    let row = build(4, |j| (x.at(&i) * x.at(j)).sin());
                    row.sum() * row.at(&i)
                })
            }, some(4, 26))
        .smooth(),
        row!("a build of sums of builds": M => V,
            |x| build(3, |i| build(2, |j| x.at((&i, &j)) * x.at((&j, &i))).sum()), some((3, 3), 27))
        .smooth(),
        row!("a sum of a table read by a triangle": M => S,
            |x| build((4, 4), |(i, j)| i.le(&j).select(x.at((&i, &j)), 0.0)).sum(), some((4, 4), 28))
        .gradient([1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0])
        .smooth(),
        row!("loop-invariant work in a nest": (V, S) => M, |(x, a)| {
                build((3, 4), |(i, j)| {
                    let shared = (a * a).exp();
                    shared * x.at(i) * x.at(j)
                })
            }, (some(4, 29), s(0.5)))
        .smooth(),
        row!("one element of an enormous build": V => S, |x| {
                let n = 1_000_000;
                build((n, n), |(i, j)| i.le(&j).select(0.0, x.at(&j % 3))).at((7, 5))
            }, v([1.0, 2.0, 3.0]))
        .value([3.0])
        .gradient([0.0, 0.0, 1.0])
        .large(),
        row!("a row of an enormous build": V => S, |x| {
                let n = 1_000_000;
                build((n, n), |(i, j)| i.le(&j).select(0.0, x.at(&j % 3))).at(7).sum()
            }, v([1.0, 2.0, 3.0]))
        .value([13.0])
        .gradient([3.0, 2.0, 2.0])
        .large()
        .once(),
        row!("a build used only at one index": V => S,
            |x| build(x.len(), |i| x.at(&i).exp() * x.at(i)).at(2), some(5, 30))
        .smooth(),
        row!("nested builds used at computed indices": (V, N) => S,
            |(x, k)| build(4, |i| build(4, |j| x.at(&i) * x.at(&j) + x.at(&i + j))).at((k, k + 1)),
            (v([1.0, 2.0, 3.0, 4.0]), n(1)))
        .value([10.0])
        .gradient([0.0, 3.0, 2.0, 1.0])
        .smooth(),
        row!("a derivative inside a build": V => V,
            |x| build(3, |i| grad(|y| y.powi(3) * y.sin(), &x.at(i))), v([0.5, 1.0, 1.5]))
        .smooth(),
        row!("a build inside a derivative inside a build": V => M, |x| {
                build(2, |i| {
                    let scale = x.at(i);
                    grad(|y| build(3, |j| y.at(&j) * y.at(2 - j) * scale.lift()).sum(), x)
                })
            }, v([1.0, 2.0, 3.0]))
        .value([6.0, 4.0, 2.0, 12.0, 8.0, 4.0])
        .smooth(),
    ]
}
