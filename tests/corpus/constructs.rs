//! Programs by construct, in the order in which a functional array language introduces them: reductions, scans, reductions by
//! index, scatters, loops, conditionals, maps in maps, and second order.

use super::prelude::*;

/// The rows.
pub fn rows() -> Vec<Row> {
    let mut rows = reductions();
    rows.extend(scans());
    rows.extend(histograms());
    rows.extend(scatters());
    rows.extend(loops());
    rows.extend(conditionals());
    rows.extend(maps());
    rows.extend(second_order());
    rows
}

fn reductions() -> Vec<Row> {
    vec![
        row!("construct: a sum of products of neighbours": V => S,
            |x| (x.slice(0, 1..) * x.slice(0, ..x.len() - 1)).sum(), some(6, 501)).smooth(),
        row!("construct: a product of sines": V => S, |x| x.sin().product(), some(6, 502)).smooth(),
        row!("construct: the smallest of squares": V => S, |x| (x * x - 0.5 * x).min_all(), some(6, 503)).smooth(),
        row!("construct: the largest and where it is": V => (S, N), |x| reduce(
                (scalar(f64::NEG_INFINITY), scalar(-1)), &(x.clone(), iota(x.len())),
                |(a, i), (b, j)| select(a.ge(&b), &(a, i), &(b, j))), v([1.0, 4.0, 2.0, 4.0]))
            .value([4.0, 1.0])
            .gradient([0.0, 1.0, 0.0, 0.0]),
        row!("construct: a sum of vectors, reduced": M => V, |a| reduce(zeros(3), a, |x, y| x + y) * a.at(0), some((5, 3), 504)).smooth(),
        row!("construct: a dot product of dot products": (M, V) => S, |(a, x)| {
                let rows = vmap(|row| reduce(scalar(0.0), &(&row * x), |a, b| a + b), a);
                reduce(scalar(0.0), &(&rows * &rows), |a, b| a + b)
            }, (some((3, 4), 505), some(4, 506)))
            .smooth(),
        row!("construct: mean and variance in one pass": V => (S, S), |x| {
                // Chan, Golub and LeVeque: counts, means and sums of squared distances of two parts.
                let n: Vector<A, f64> = ones(x.len());
                let (n, mean, squares) = reduce((scalar(0.0), scalar(0.0), scalar(0.0)), &(n, x.clone(), x * 0.0),
                    |(n, a, s), (m, b, t)| {
                        let (all, d) = (&n + &m, &b - &a);
                        (all.clone(), a + &d * &m / &all, s + t + &d * &d * n * m / all)
                    });
                (mean, squares / n)
            }, some(7, 507))
            .smooth(),
        row!("construct: a polynomial by a reduction": (V, S) => S, |(c, x)| {
                // Values and powers of x: (a + b xⁿ, n + m).
                let x = x.replicate(c.len());
                let (value, _) = reduce((scalar(0.0), scalar(1.0)), &(c.clone(), x), |(a, p), (b, q)| (a + b * &p, p * q));
                value
            }, (some(6, 508), s(0.7)))
            .smooth(),
        row!("construct: log of a sum of exponentials, reduced": V => S,
            |x| reduce(scalar(-1e300), x, |a, b| a.logaddexp(b)), some(6, 509)).smooth(),
        row!("construct: a reduction of reductions": M => S,
            |a| reduce(scalar(1.0), &vmap(|row| reduce(scalar(0.0), &row, |a, b| a + b).sin() + 1.5, a), |a, b| a * b), some((4, 3), 510))
            .smooth(),
    ]
}

fn scans() -> Vec<Row> {
    vec![
        row!("construct: running sums, weighted": (V, V) => V, |(x, w)| associative_scan(x, |a, b| a + b) * w, (some(6, 521), some(6, 522)))
            .smooth(),
        row!("construct: running products with a zero": V => V, |x| associative_scan(x, |a, b| a * b), v([2.0, 3.0, 0.0, 5.0, 7.0]))
            .value([2.0, 6.0, 0.0, 0.0, 0.0])
            .gradient([4.0, 2.0 + 0.0, 6.0 + 30.0 + 210.0, 0.0, 0.0])
            .smooth(),
        row!("construct: running largest": V => V, |x| associative_scan(x, |a, b| a.max(&b)), v([1.0, 3.0, 2.0, 3.0, 4.0]))
            .value([1.0, 3.0, 3.0, 3.0, 4.0])
            .gradient([1.0, 3.0, 0.0, 0.0, 1.0]),
        row!("construct: scan times its input": V => S, |x| (associative_scan(x, |a, b| a * b) * x).sum(), v([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
            .gradient([5040.0, 2521.0, 1684.0, 1278.0, 1104.0, 1440.0])
            .smooth(),
        row!("construct: a scan of rotations": V => V, |x| {
                let (s, c) = (x.sin(), x.cos());
                let (s, c) = associative_scan(&(s, c), |(a, b), (c, d)| (&a * &d + &b * &c, b * d - a * c));
                s * c
            }, some(6, 523))
            .smooth(),
        row!("construct: a scan of 2 by 2 matrices": T3 => T3, |a| associative_scan(a, |a, b| a.dot(&b)), some((5, 2, 2), 524)).smooth(),
        row!("construct: an exclusive scan": V => V, |x| {
                let all = associative_scan(x, |a, b| &a + &b + a * b);
                all.slice(0, ..x.len() - 1).pad(0, 1, 0) * x
            }, some(6, 525))
            .smooth(),
        row!("construct: a scan of a scan": V => V, |x| associative_scan(&associative_scan(x, |a, b| a + b).sin(), |a, b| a * b), some(5, 526))
            .smooth(),
        row!("construct: a scan in a map": M => M, |a| vmap(|row| associative_scan(&row, |a, b| (&a + &b) / (1.0 + a * b)), a), some((3, 4), 527) * 0.6)
            .smooth(),
    ]
}

fn histograms() -> Vec<Row> {
    let keys = || ns([2, 0, 2, 5, 1, 2, 0]);
    vec![
        row!("construct: a histogram of sums": (V, Ns) => V, |(x, k)| reduce_by_index(scalar(0.0), k, x, 4, |a, b| a + b).sin(), (some(7, 541), keys()))
            .smooth(),
        row!("construct: a histogram of products": (V, Ns) => V, |(x, k)| reduce_by_index(scalar(1.0), k, x, 4, |a, b| a * b),
            (v([2.0, 3.0, 0.0, 1.0, 7.0, 5.0, 4.0]), keys()))
            .value([12.0, 7.0, 0.0, 1.0])
            .gradient([0.0, 4.0, 10.0, 0.0, 1.0, 0.0, 3.0])
            .smooth(),
        row!("construct: a histogram of the largest": (V, Ns) => V, |(x, k)| reduce_by_index(scalar(-10.0), k, x, 4, |a, b| a.max(&b)),
            (v([2.0, 3.0, 8.0, 1.0, 7.0, 8.0, 3.0]), keys()))
            .value([3.0, 7.0, 8.0, -10.0])
            .gradient([0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0]),
        row!("construct: a histogram of vectors": (M, Ns) => M, |(a, k)| reduce_by_index(zeros(2), k, a, 3, |a, b| a + b).powi(2),
            (some((7, 2), 542), keys()))
            .smooth(),
        row!("construct: a histogram of pairs": (V, V, Ns) => (V, V), |(x, y, k)| {
                reduce_by_index((scalar(0.0), scalar(1.0)), k, &(x.clone(), y.clone()), 3, |(a, b), (c, d)| (a * &d + c, b * d))
            }, (some(7, 543), some(7, 544), keys()))
            .smooth(),
        row!("construct: a histogram onto an array": (V, V, Ns) => V, |(h, x, k)| h.scatter_add(k, &(x * x)).scatter_multiply(k, x),
            (some(4, 545), some(7, 546), keys()))
            .smooth(),
        row!("construct: a histogram in a loop": (V, Ns) => V, |(x, k)| iterate(x.clone(), 3, |x| x.gather(k).sin().scatter(k, 4)), (some(4, 547), keys()))
            .smooth(),
        row!("construct: a histogram whose keys are computed": V => V, |x| {
                let k = (x * 4.0).floor().cast::<i64>().modulo(3);
                reduce_by_index(scalar(0.0), &k, &x.exp(), 3, |a, b| a + b)
            }, some(6, 548))
            .smooth(),
    ]
}

fn scatters() -> Vec<Row> {
    vec![
        row!("construct: a scatter onto a copy": (V, V, Ns) => V, |(x, u, k)| x.scatter_set(k, &(u * u)) * x, (some(5, 561), some(3, 562), ns([4, 1, 9])))
            .smooth(),
        row!("construct: a scatter of rows": (M, M, Ns) => M, |(a, u, k)| a.scatter_set(k, &u.sin()).powi(2), (some((4, 2), 563), some((2, 2), 564), ns([3, 0])))
            .smooth(),
        row!("construct: a permutation by scatter": (V, Ns) => V, |(x, k)| x.scatter_set(k, &x.exp()), (some(4, 565), ns([2, 0, 3, 1]))).smooth(),
        row!("construct: a scatter in a loop": (V, V) => V, |(x, u)| {
                fold(x.clone(), &(iota(3), u.clone()), |x, (i, u)| x.scatter_set(&i, &(x.at(&i + 1) * u)))
            }, (some(4, 566), some(3, 567)))
            .smooth(),
        row!("construct: gathered, changed and put back": (V, Ns) => V, |(x, k)| x.scatter_set(k, &x.gather(k).cos()), (some(5, 568), ns([4, 0]))).smooth(),
    ]
}

fn loops() -> Vec<Row> {
    vec![
        row!("construct: powers by a loop": (S, N) => S, |(x, _)| iterate(scalar(1.0), 5, |c| c * x), (s(1.3), n(5)))
            .value([1.3f64.powi(5)])
            .gradient([5.0 * 1.3f64.powi(4)])
            .smooth(),
        row!("construct: a loop over an array that it changes": V => V, |x| {
                scan(x.clone(), &iota(4), 4, |y, i| (y.scatter_add(&i, &y.at(&i - 1)), ())).0
            }, some(4, 581))
            .smooth(),
        row!("construct: a loop in a loop": V => S, |x| {
                fold(scalar(0.0), x, |c, x| c + iterate(x.clone(), 3, |y| y.sin() * &x))
            }, some(4, 582))
            .smooth(),
        row!("construct: a loop of maps": V => V, |x| iterate(x.clone(), 3, |y| build(x.len(), |i| y.at(&i) * x.at(&i + 1) + y.at(i - 1))), some(4, 583))
            .smooth(),
        row!("construct: a loop whose steps are mapped": M => V, |a| vmap(|row| fold(scalar(1.0), &row, |c, x| (c * x).cos()), a), some((3, 4), 584))
            .smooth(),
        row!("construct: an Euler step many times": (S, S) => S, |(k, y)| iterate(y.clone(), 20, |y| &y + 0.05 * k * &y * (1.0 - &y)), (s(1.5), s(0.2)))
            .smooth(),
        row!("construct: Newton's square root": S => S, |x| iterate(scalar(1.0), 8, |y| 0.5 * (&y + x / &y)), s(2.0))
            .value([2.0f64.sqrt()])
            .gradient([0.5 / 2.0f64.sqrt()])
            .smooth(),
        row!("construct: a loop while something holds": S => S,
            |x| while_loop(x.clone(), |y| y.lt(10.0), |y| &y * &y + x), s(1.5))
            .smooth(),
        row!("construct: a loop while something holds, in a map": V => V,
            |x| build(x.len(), |i| while_loop(x.at(i), |y| y.lt(5.0), |y| &y * 1.7)), v([0.5, 4.9, 7.0]))
            .overhead(2, 0)
            .smooth(),
    ]
}

fn conditionals() -> Vec<Row> {
    vec![
        row!("construct: a choice of two functions": (S, S) => S, |(x, y)| cond(x.lt(y), || x * x * y, || y.exp()), (s(0.5), s(1.5)))
            .value([0.375])
            .gradient([1.5, 0.25])
            .smooth(),
        row!("construct: a choice of arrays": (V, S) => V, |(x, y)| cond(y.gt(0.0), || x * y, || x.sin()), (some(3, 601), s(0.5))).smooth(),
        row!("construct: choices of choices in a map": V => V, |x| vmap(|x| {
                cond(x.gt(0.5), || x.powi(3), || cond(x.gt(-0.5), || x.sin(), || x.exp()))
            }, x), v([0.9, 0.2, -0.3, -0.8, 0.6]))
            .smooth(),
        row!("construct: a choice by an integer": (V, Ns) => V, |(x, k)| build(x.len(), |i| {
                let (k, x) = (k.at(&i) % 4, x.at(i));
                cond(k.equal(0), || x.sin(), || cond(k.equal(1), || &x * &x, || cond(k.equal(2), || x.exp(), || scalar(1.0))))
            }), (some(5, 602), ns([0, 1, 2, 3, 4])))
            .smooth(),
        row!("construct: a choice in a fold, by its carry": V => S,
            |x| fold(scalar(0.2), x, |c, x| cond(c.gt(0.5), || &c * &x, || c.exp() + &x)), v([0.7, -0.4, 0.9, 0.8]))
            .smooth(),
        row!("construct: a filter": V => V, |x| {
                // The elements that a mask keeps, in order, then zeros.
                let keep = x.gt(0.0);
                let at = keep.cast::<i64>().cumsum(0) - 1;
                (x * x).scatter(masked(&keep, at), x.len())
            }, v([0.5, -1.0, 2.0, -0.5, 3.0]))
            .value([0.25, 4.0, 9.0, 0.0, 0.0])
            .gradient([1.0, 0.0, 4.0, 0.0, 6.0])
            .smooth(),
    ]
}

fn maps() -> Vec<Row> {
    vec![
        row!("construct: a map of a map of two": (V, V) => M, |(x, y)| vmap(|x| vmap(|y| (&x * y).sin(), y), x), (some(3, 621), some(4, 622))).smooth(),
        row!("construct: a matrix product of maps": (M, M) => M, |(a, b)| {
                let columns = b.transpose();
                vmap(|row| vmap(|column| (&row * column).sum(), &columns), a)
            }, (some((3, 4), 623), some((4, 2), 624)))
            .smooth(),
        row!("construct: a map of gathers": (V, Nm) => M, |(x, at)| vmap(|at| x.gather(at) * x.sum(), at), (some(4, 625), [[0, 3], [2, 2]].into())).smooth(),
        row!("construct: a map of sorts": M => M, |a| vmap(|row| row.sort(0) * &row, a), some((3, 4), 626)).smooth(),
        row!("construct: a map of scatters": (M, Ns, V) => M, |(a, k, u)| vmap(|row| row.scatter_add(k, u).powi(2), a),
            (some((2, 4), 627), ns([3, 0, 3]), some(3, 628)))
            .smooth(),
        row!("construct: a map of reductions of maps": T3 => V, |a| vmap(|m| reduce(zeros(2), &m, |x, y| x + y).exp().sum(), a), some((3, 4, 2), 629))
            .smooth(),
        row!("construct: k-means distances": (M, M) => S, |(points, centres)| {
                vmap(|p| vmap(|c| (&p - c).powi(2).sum(), centres).min_all(), points).sum()
            }, (some((6, 2), 630), some((3, 2), 631)))
            .smooth(),
    ]
}

fn second_order() -> Vec<Row> {
    vec![
        row!("construct: a Hessian of a reduction": V => M, |x| hessian(|x| reduce(scalar(1.0), x, |a, b| a * b), x), v([2.0, 3.0, 0.0, 5.0]))
            .value([0.0, 0.0, 15.0, 0.0, 0.0, 0.0, 10.0, 0.0, 15.0, 10.0, 0.0, 6.0, 0.0, 0.0, 6.0, 0.0])
            .smooth(),
        row!("construct: a Hessian of a scan": V => M, |x| hessian(|x| associative_scan(x, |a, b| (&a + &b) / (1.0 + a * b)).sum(), x), some(4, 641) * 0.5)
            .smooth()
            .overhead(1, 40),
        row!("construct: a Hessian of a histogram": (V, Ns) => M, |(x, k)| hessian(|x| {
                let k = Tree::<A>::lift_forward(k);
                reduce_by_index(scalar(1.0), &Tree::<A::Forward>::lift(&k), x, 3, |a, b| a * b).sin().sum()
            }, x), (some(5, 642), ns([0, 2, 0, 2, 0])))
            .smooth()
            .overhead(2, 200),
        row!("construct: a Hessian of a loop": V => M, |x| hessian(|x| fold(scalar(0.5), x, |c, x| (c * &x).sin() + &x * &x), x), some(4, 643))
            .smooth()
            .overhead(1, 40),
        row!("construct: the diagonal of a Hessian by one product": M => M, |c| {
                // k-means: the Hessian is diagonal, twice the number of points that are nearest.
                let cost = |c: &Matrix<_, f64>| {
                    let points: Matrix<_, f64> = constant(&some((6, 2), 644));
                    vmap(|p| vmap(|c| (&p - c).powi(2).sum(), c).min_all(), &points).sum()
                };
                hvp(cost, c, &ones((2, 2)))
            }, m([[0.5, 0.5], [-0.5, -0.5]]))
            .smooth(),
        row!("construct: a gradient of a norm of a gradient": (M, V) => V, |(a, x)| grad(|x| {
                let a = a.lift();
                let g = grad(|x| (a.lift().dot(x)).sin().sum(), x);
                (&g * &g).sum()
            }, x), (some((3, 2), 645), some(2, 646)))
            .smooth(),
        row!("construct: a Jacobian times its transpose": V => M, |x| {
                let j = jacrev(|x| stack(&[x.product(), x.dot(x), x.sin().sum()]), x);
                j.dot(&j.transpose())
            }, some(3, 647))
            .smooth(),
        row!("construct: vjp of jvp of a scan": (V, V, V) => V, |(x, d, c)| {
                let (_, pullback) = vjp(|x| jvp(|x| x.cumprod(0).sin(), x, &d.lift()).1, x);
                pullback(c)
            }, (some(4, 648), some(4, 649), some(4, 650)))
            .smooth(),
    ]
}
