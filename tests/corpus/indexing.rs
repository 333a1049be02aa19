//! Reads at computed positions, gathers, scatters, and positions out of bounds.

use super::prelude::*;

/// A table of 7×2.
fn table() -> M {
    some((7, 2), 15)
}

/// `t[2i+2j, i]` for two by three positions.
fn second_gather<A: Algebra>(x: &Matrix<A, f64>) -> Matrix<A, f64> {
    build((2, 3), |(i, j)| x.at((2 * &i + 2 * j, &i)))
}

/// `t[3i+k, i]` for two by four positions.
fn third_gather<A: Algebra>(x: &Matrix<A, f64>) -> Matrix<A, f64> {
    build((2, 4), |(i, k)| x.at((3 * &i + k, &i)))
}

const FIRST: [f64; 14] = [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
const SECOND: [f64; 14] = [1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0];
const THIRD: [f64; 14] = [1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0];

fn six_times(gradient: &[f64]) -> Vec<f64> {
    gradient.iter().map(|x| 6.0 * x).collect()
}

/// Reads at a function of each position of `i < 5` from an array of one element.
fn reads<A: Algebra>(r: &Scalar<A, f64>, at: impl Fn(Scalar<A, i64>) -> Scalar<A, i64>) -> Vector<A, f64> {
    let one = stack(&[r.clone()]);
    build(5, |i| one.at(at(i)))
}

/// 1 divided by an integer, truncated.
fn one_by<A: Algebra>(x: Scalar<A, i64>) -> Scalar<A, i64> {
    scalar::<A, i64>(1) / x
}

/// The rows.
pub fn rows() -> Vec<Row> {
    let mut rows = tables();
    rows.extend(positions());
    rows.extend(scatters());
    rows.extend(single_elements());
    rows
}

fn tables() -> Vec<Row> {
    vec![
        row!("positions modulo 28": V => S, |x| build(50, |i| x.at(i % 28)).sum(), some(28, 1))
            .gradient([[2.0; 22].to_vec(), [1.0; 6].to_vec()].concat())
            .overhead(1, 1)
            .smooth(),
        row!("positions modulo 28 of a short array": V => S, |x| build(50, |i| x.at(i % 1)).sum(), v([3.0]))
            .value([150.0])
            .gradient([50.0])
            .smooth(),
        row!("reads at fixed positions": (V, Fixed<(Ns, Nm)>) => V, |(x, positions)| {
                let (rows, pairs) = &**positions;
                build(4, |i| x.at(rows.at(&i)).sin() * x.at(pairs.at((i, 1))))
            }, (v([0.5, 1.5, 2.5]), fixed((ns([2, 0, 7, 1]), Nm::from([[9, 0], [9, 1], [9, 2], [9, 1]])))))
        .value([2.5f64.sin() * 0.5, 0.5f64.sin() * 1.5, 0.0, 1.5f64.sin() * 1.5])
        .smooth(),
        row!("first gather": M => V, |x| build(2, |i| x.at((2 * &i, &i))), table()).gradient(FIRST).smooth(),
        row!("second gather": M => M, |x| second_gather(x), table()).gradient(SECOND).smooth(),
        row!("third gather": M => M, |x| third_gather(x), table()).gradient(THIRD).smooth(),
        row!("first gather, four times": M => M, |x| {
                build(4, |i| {
                    let scaled = x * i.cast::<f64>();
                    build(2, |j| scaled.at((2 * &j, &j)))
                })
            }, table())
        .gradient(six_times(&FIRST))
        .smooth(),
        row!("second gather, four times": M => T3, |x| build(4, |i| second_gather(&(x * i.cast::<f64>()))), table())
            .gradient(six_times(&SECOND))
            .smooth(),
        row!("third gather, four times": M => T3, |x| build(4, |i| third_gather(&(x * i.cast::<f64>()))), table())
            .gradient(six_times(&THIRD))
            .smooth(),
        row!("rows or two corners": M => M, |x| {
                build(5, |i| cond(i.gt(2), || stack(&[x.at((0, 0)), x.at((2, 1))]), || x.at(&i)))
            }, table())
        .gradient([3.0, 1.0, 1.0, 1.0, 1.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
        .smooth(),
        row!("a row of gathers or rows": M => M, |x| {
                build(5, |i| {
                    cond(i.gt(2), || third_gather(x), || x.at(&i).replicate(4).transpose())
                })
                .at(1)
            }, table())
        .gradient([0.0, 0.0, 4.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
        .smooth(),
        row!("a choice of positions": T3 => M, |x| {
                build((2, 2), |(i, j)| {
                    let first = i.equal(1).select(0, &j);
                    x.at((first, 2 * &i, &i))
                })
            }, some((2, 4, 2), 18))
        .gradient([1.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        row!("the first twelve": V => V, |x| build(12, |i| x.at(i)), some(15, 2))
            .gradient([[1.0; 12].to_vec(), [0.0; 3].to_vec()].concat())
            .smooth(),
    ]
}

fn positions() -> Vec<Row> {
    vec![
        row!("data-dependent positions": V => V, |x| {
                let shift = x.sum().floor().cast::<i64>();
                build(2, |i| x.at((i - &shift - 10001).modulo(2)).abs().sqrt())
            }, v([3.0, 2.0]))
        .gradient([0.2886751345948129, 0.35355339059327373]),
        row!("positions from an array": (V, Ns) => V, |(x, at)| build(5, |i| x.at(at.at(i))),
            (some(4, 3), ns([3, 0, 7, -1, 3])))
        .gradient([1.0, 0.0, 0.0, 2.0])
        .smooth(),
        row!("gather": (V, Nm) => M, |(x, at)| x.gather(at), (v([10.0, 20.0, 30.0]), [[2, 0], [5, 1]].into()))
            .value([30.0, 10.0, 0.0, 20.0])
            .gradient([1.0, 1.0, 1.0])
            .smooth(),
        row!("gather at pairs": (M, Ns, Ns) => V, |(x, i, j)| x.gather((i, j)),
            (m([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), ns([0, 1, 1, 2]), ns([2, 0, 2, 0])))
        .value([3.0, 4.0, 6.0, 0.0])
        .gradient([0.0, 0.0, 1.0, 1.0, 0.0, 1.0])
        .smooth(),
        row!("gather of rows": (M, Ns) => M, |(x, i)| x.gather(i),
            (m([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), ns([2, 2, 0, -5])))
        .value([5.0, 6.0, 5.0, 6.0, 1.0, 2.0, 0.0, 0.0])
        .gradient([1.0, 1.0, 0.0, 0.0, 2.0, 2.0])
        .smooth(),
        row!("indices by other values, rounded": (V, V) => V, |(x, y)| {
                let at = y.abs().round().cast::<i64>() % x.len();
                x.gather(at)
            }, (v([1.5, 2.5, 3.5]), v([1.2, -4.1, 2.6, 0.3])))
        .value([2.5, 2.5, 1.5, 1.5])
        .gradient([2.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        row!("indices by its own values, rounded": V => S, |x| {
                let at = x.abs().round().cast::<i64>() % x.len();
                (x + x.gather(at)).sum()
            }, v([1.2, -4.1, 2.6, 0.3]))
        .gradient([3.0, 2.0, 1.0, 2.0]),
        row!("sums of positions modulo": V => M, |x| {
                let n = x.len();
                build((n, n), |(i, j)| x.at((i + j) % n))
            }, some(5, 4))
        .gradient([5.0; 5])
        .smooth(),
        row!("every second element": V => S, |x| build(x.len() / 2, |i| x.at(2 * i)).sum(), some(7, 5))
            .gradient([1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0])
            .smooth(),
        row!("halved positions and parities": V => S, |x| {
                let n = x.len();
                build(2 * n, |i| x.at(&i / 2) + x.at((i % 2).min(n as i64 - 1))).sum()
            }, some(3, 6))
        .gradient([5.0, 5.0, 2.0])
        .smooth(),
        row!("half of it, then a constant": V => V,
            |x| build(8, |i| cond(i.lt(5), || x.at(&i / 2), || scalar(42.0))), some(4, 7))
        .gradient([2.0, 2.0, 1.0, 0.0])
        .smooth(),
        row!("an array twice": V => V, |x| {
                let n = x.len();
                build(2 * n, |i| cond(i.lt(n), || x.at(&i), || x.at(&i - n)))
            }, some(4, 8))
        .gradient([2.0; 4])
        .smooth(),
        row!("a permutation and back": (V, Ns) => V, |(x, p)| {
                let there = x.gather(p);
                let there = &there * &there;
                there.scatter(p, x.len())
            }, (v([1.0, 2.0, 3.0, 4.0]), ns([2, 0, 3, 1])))
        .value([1.0, 4.0, 9.0, 16.0])
        .gradient([2.0, 4.0, 6.0, 8.0])
        .smooth(),
        row!("two reads of the step before, eight times": (V, Ns, Ns) => V, |(x, p, q)| {
                let n = x.len();
                (0..8).fold(x.clone(), |u, _| build(n, |i| (u.at(p.at(&i)) + u.at(q.at(&i))).sin()))
            }, (some(6, 9), ns([1, 2, 3, 4, 5, 0]), ns([3, 1, 4, 1, 5, 9])))
        .smooth(),
        row!("a row by a computed position": (M, N) => V, |(x, i)| x.at(i) * x.at(i - 1),
            (m([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), n(2)))
        .value([15.0, 24.0])
        .gradient([0.0, 0.0, 5.0, 6.0, 3.0, 4.0])
        .smooth(),
        row!("a column by a computed position": (M, N) => V, |(x, j)| x.index_axis(1, j),
            (m([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), n(1)))
        .value([2.0, 4.0, 6.0])
        .gradient([0.0, 1.0, 0.0, 1.0, 0.0, 1.0])
        .smooth(),
        row!("a linked list": (V, Ns) => S, |(x, next)| {
                let (mut at, mut sum) = (scalar::<A, i64>(0), scalar::<A, f64>(0.0));
                for step in 0..4 {
                    sum = sum + x.at(&at) * (step as f64 + 1.0);
                    at = next.at(at);
                }
                sum
            }, (v([1.0, 2.0, 3.0]), ns([2, 5, 1])))
        .value([13.0])
        .gradient([1.0, 3.0, 2.0]),
        row!("computed bounds": (V, N, N) => S, |(x, from, to)| {
                build(x.len(), |i| (i.ge(from) & i.lt(to)).select(x.at(&i), 0.0)).sum()
            }, (v([1.0, 2.0, 3.0, 4.0]), n(1), n(3)))
        .value([5.0])
        .gradient([0.0, 1.0, 1.0, 0.0])
        .smooth(),
        row!("32-bit positions": (V, Vector<Concrete, i32>) => V, |(x, at)| build(3, |i| x.at(at.at(i))),
            (v([1.0, 2.0]), vec![1, 0, 1].into()))
        .value([2.0, 1.0, 2.0])
        .gradient([1.0, 2.0])
        .smooth(),
    ]
}

fn scatters() -> Vec<Row> {
    vec![
        row!("scatter to one of two places": M => V, |x| {
                let place = build((7, 2), |(a, b)| (b + 2 * a).min(1));
                x.scatter(&place, 2)
            }, table())
        .gradient([1.0; 14])
        .smooth(),
        row!("scatter or a row": M => M, |x| {
                build(5, |i| {
                    let place = build((7, 2), |(a, b)| (b + 2 * a).min(1));
                    cond(i.gt(2), || x.scatter(&place, 2), || x.at(&i))
                })
            }, table())
        .gradient([3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0])
        .smooth(),
        row!("scatter by halved positions": V => V,
            |x| x.scatter(iota(9) / 2, 6), t(9, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]))
        .value([3.0, 7.0, 11.0, 15.0, 9.0, 0.0])
        .gradient([1.0; 9])
        .overhead(1, 1)
        .smooth(),
        row!("scatter out of bounds": (V, Ns) => V,
            |(x, at)| (x * x).scatter(at, 2), (v([1.0, 2.0, 3.0, 4.0]), ns([-1, 0, 2, 0])))
        .value([20.0, 0.0])
        .gradient([0.0, 4.0, 0.0, 8.0])
        .smooth(),
        row!("scatter of rows": (M, Ns) => M, |(x, at)| x.scatter(at, 2),
            (m([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), ns([1, 1, 7])))
        .value([0.0, 0.0, 4.0, 6.0])
        .gradient([1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
        .smooth(),
        row!("scatter at pairs": (V, Ns, Ns) => M, |(x, i, j)| x.scatter((i, j), (2, 3)),
            (v([1.0, 2.0, 3.0]), ns([0, 1, 1]), ns([2, 0, 0])))
        .value([0.0, 0.0, 1.0, 5.0, 0.0, 0.0])
        .gradient([1.0; 3])
        .smooth(),
        row!("a histogram that weights": (V, V) => V, |(x, w)| {
                let bin = (x * 4.0).floor().cast::<i64>();
                w.scatter(bin, 4)
            }, (v([0.1, 0.3, 0.35, 0.9, 1.2]), v([1.0, 2.0, 3.0, 4.0, 5.0])))
        .value([1.0, 5.0, 0.0, 4.0])
        .gradient([0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0])
        .smooth(),
        row!("a histogram by build": (V, Ns) => V, |(w, at)| {
                build(3, |bin| at.equal(bin).select(w, 0.0).sum())
            }, (v([1.0, 2.0, 4.0, 8.0]), ns([0, 2, 2, 5])))
        .value([1.0, 0.0, 6.0])
        .gradient([1.0, 1.0, 1.0, 0.0])
        .smooth(),
        row!("scatters inside of a build": (M, Nm) => M, |(x, at)| {
                build(2, |i| (x.at(&i) * x.at(0)).scatter(at.at(&i), 3))
            }, (m([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), [[0, 2, 0], [1, 1, 9]].into()))
        .value([10.0, 0.0, 4.0, 0.0, 14.0, 0.0])
        .smooth(),
        row!("a sparse product": (V, V, Ns, Ns) => V, |(values, x, rows, columns)| {
                (values * x.gather(columns)).scatter(rows, 3)
            }, (v([1.0, 2.0, 3.0, 4.0]), v([1.0, 10.0, 100.0]), ns([0, 0, 2, 2]), ns([0, 2, 1, 1])))
        .value([201.0, 0.0, 70.0])
        .gradient([1.0, 100.0, 10.0, 10.0, 1.0, 7.0, 2.0])
        .smooth(),
        row!("f32 scatter and gather": (Fs, Ns) => Fs,
            |(x, at)| (x * x).scatter(at, 3).gather(at), (f([1.0, 2.0, 3.0]), ns([1, 1, 2])))
        .value([5.0, 5.0, 9.0])
        .gradient([4.0, 8.0, 6.0]),
    ]
}

fn single_elements() -> Vec<Row> {
    vec![
        row!("reads of one element by a small quotient, twice": S => V,
            |r| { let g = reads(r, |i| one_by(i + 4)); g.append(0, &g) }, s(3.4))
        .value([3.4; 10])
        .gradient([10.0])
        .smooth(),
        row!("reads of one element by a quotient that reaches 1": S => V,
            |r| { let g = reads(r, |i| one_by(5 - i)); g.append(0, &g) }, s(3.4))
        .gradient([8.0])
        .smooth(),
        row!("reads before the only element": S => V, |r| reads(r, |i| i * 0 - 1), s(3.4))
            .value([0.0; 5])
            .gradient([0.0])
            .smooth(),
        row!("one read before the only element": S => S, |r| stack(&[r.clone()]).at(-1), s(3.4))
            .value([0.0])
            .gradient([0.0])
            .smooth(),
        row!("one of ten by its own position": S => V, |r| {
                build(10, |j| {
                    let g = reads(r, |i| one_by((&j - i).max(1)));
                    r.replicate(5).append(0, &g).at(&j)
                })
            }, s(3.4))
        .gradient([10.0])
        .smooth(),
        row!("literals and reads of one element, in bounds": S => M, |r| {
                build(7, |j| {
                    let far = reads(r, |i| one_by((i - &j).max(1) * 100));
                    let near = reads(r, |i| one_by(i + 4));
                    let literal = stack(&[j.cast::<f64>()]);
                    concatenate(0, &[far, near, literal, r.replicate(13)])
                })
            }, s(3.4))
        .gradient([161.0])
        .smooth(),
        row!("literals and reads of one element, divided by zero": S => M, |r| {
                build(7, |j| {
                    let far = reads(r, |i| one_by((i - &j).max(0) * 100));
                    let near = reads(r, |i| one_by(4 - i));
                    let literal = stack(&[j.cast::<f64>()]);
                    concatenate(0, &[far, near, literal, r.replicate(13)])
                })
            }, s(3.4))
        .gradient([122.0])
        .smooth(),
        row!("literals and reads of one element, out of bounds": S => M, |r| {
                build(7, |j| {
                    let before = reads(r, |i| i * 0 - 1);
                    let after = reads(r, |i| i * 0 + 10000);
                    let literal = stack(&[j.cast::<f64>()]);
                    concatenate(0, &[before, after, literal, r.replicate(13)])
                })
            }, s(3.4))
        .gradient([91.0])
        .smooth(),
    ]
}
