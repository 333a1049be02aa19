//! Programs as people write them: losses, networks, solvers, simulations.

use super::prelude::*;

/// The parameters of a network of two layers.
#[derive(Tree)]
struct Network<A: Algebra> {
    first: Layer<A>,
    second: Layer<A>,
}

/// Weights and bias.
#[derive(Tree)]
struct Layer<A: Algebra> {
    weights: Matrix<A, f64>,
    bias: Vector<A, f64>,
}

impl<A: Algebra> Network<A> {
    fn scores(&self, x: &Matrix<A, f64>) -> Matrix<A, f64> {
        let hidden = (x.dot(&self.first.weights) + &self.first.bias).tanh();
        hidden.dot(&self.second.weights) + &self.second.bias
    }
}

/// The mean cross-entropy of softmax scores.
fn cross_entropy<A: Algebra>(scores: &Matrix<A, f64>, labels: &Vector<A, i64>) -> Scalar<A, f64> {
    let shifted = scores - scores.max_axis(1).insert_axis(1);
    let normal = shifted.exp().sum_axis(1).ln();
    let own = build(labels.len(), |i| shifted.at((&i, labels.at(&i))));
    (normal - own).mean()
}

fn network() -> Network<Concrete> {
    let layer = |n: usize, k: usize, seed| Layer { weights: some((n, k), seed), bias: some(k, seed + 1) };
    Network { first: layer(3, 4, 141), second: layer(4, 2, 143) }
}

/// All orders of `0..n`, with the sign of each.
fn permutations(n: usize) -> (Vec<i64>, Vec<f64>) {
    let mut all: Vec<(Vec<i64>, f64)> = vec![(Vec::new(), 1.0)];
    for size in 0..n {
        all = all
            .into_iter()
            .flat_map(|(order, sign)| {
                (0..=size).map(move |place| {
                    let mut longer = order.clone();
                    longer.insert(place, size as i64);
                    (longer, if (size - place) % 2 == 0 { sign } else { -sign })
                })
            })
            .collect();
    }
    (all.iter().flat_map(|(order, _)| order.clone()).collect(), all.iter().map(|(_, sign)| *sign).collect())
}

/// The determinant as a sum over permutations, each product by a loop.
fn determinant<A: Algebra>(a: &Matrix<A, f64>) -> Scalar<A, f64> {
    let n = a.len();
    let (orders, signs) = permutations(n);
    let count = signs.len();
    let orders: Matrix<A, i64> = Tensor::from_elements((count, n), orders);
    let signs: Vector<A, f64> = Tensor::from_slice(&signs);
    let products = build(count, |p| {
        let order = orders.at(&p);
        let factors = build(n, |i| a.at((&i, order.at(&i))));
        scan(scalar(1.0), &factors, n, |product, x| (product * x, ())).0
    });
    (products * signs).sum()
}

/// One step of the classical Runge-Kutta method.
fn runge_kutta<A: Algebra, R: Rank>(
    f: impl Fn(&Tensor<A, f64, R>) -> Tensor<A, f64, R>,
    y: &Tensor<A, f64, R>,
    h: f64,
) -> Tensor<A, f64, R> {
    let k1 = f(y);
    let k2 = f(&(y + &(&k1 * (h / 2.0))));
    let k3 = f(&(y + &(&k2 * (h / 2.0))));
    let k4 = f(&(y + &(&k3 * h)));
    let slope = &(&k1 + &k4) + &((&k2 + &k3) * 2.0);
    y + &(slope * (h / 6.0))
}

/// A net whose weights are taken from one array at scattered places.
fn gathered_net<A: Algebra>(w: &Vector<A, f64>, x: &Vector<A, f64>) -> Scalar<A, f64> {
    let n = w.len();
    let mut layer = x.clone();
    for seed in 0..3 {
        let size = layer.len();
        layer = build(4, |i| {
            build(size, |j| {
                let base = &i + &j + &j * &j * seed;
                let place = if seed == 0 { base.clone() } else { &base * &base };
                w.at(place % n) * layer.at(&j)
            })
            .sum()
            .tanh()
        });
    }
    layer.sum()
}

/// The rows.
pub fn rows() -> Vec<Row> {
    let mut rows = losses();
    rows.extend(networks());
    rows.extend(numerics());
    rows
}

fn losses() -> Vec<Row> {
    vec![
        row!("linear regression": (V, S, M, V) => S, |(w, b, x, y)| {
                let d = x.dot(w) + b - y;
                (&d * &d).mean()
            }, (v([1.0, -1.0]), s(0.5), m([[1.0, 2.0], [3.0, 4.0]]), v([1.0, 2.0])))
            .value([(2.25 + 6.25) / 2.0])
            .smooth(),
        row!("ridge regression": (V, M, V, S) => S, |(w, x, y, l)| {
                let d = x.dot(w) - y;
                d.dot(&d) + l * w.dot(w)
            }, (some(3, 145), some((5, 3), 146), some(5, 147), s(0.1)))
            .smooth(),
        row!("logistic regression": (V, M, Bs) => S, |(w, x, y)| {
                let score = x.dot(w);
                y.select((-&score).softplus(), score.softplus()).mean()
            }, (some(3, 148), some((4, 3), 149), vec![true, false, true, true].into()))
            .smooth(),
        row!("hinge loss": (V, M, V) => S, |(w, x, y)| (1.0 - y * x.dot(w)).relu().sum() + 0.5 * w.dot(w),
            (some(3, 150), some((5, 3), 151), v([1.0, -1.0, 1.0, 1.0, -1.0])))
            .smooth(),
        row!("softmax cross-entropy": (M, Ns) => S,
            |(scores, labels)| cross_entropy(scores, labels), (some((4, 3), 152), ns([0, 2, 1, 1])))
            .smooth(),
        row!("Poisson regression": (V, M, V) => S,
            |(w, x, y)| { let z = x.dot(w); (z.exp() - y * &z).sum() },
            (some(2, 153), some((4, 2), 154), v([1.0, 0.0, 3.0, 2.0])))
            .smooth(),
        row!("cosine similarity": (V, V) => S,
            |(x, y)| x.dot(y) / (x.dot(x) * y.dot(y)).sqrt(), (some(4, 155), some(4, 156)))
            .smooth(),
        row!("Kullback-Leibler divergence of Gaussians": (V, V) => S,
            |(mean, log)| 0.5 * (mean * mean + log.exp() - log - 1.0).sum(), (some(3, 157), some(3, 158)))
            .smooth(),
        row!("a mixture of Gaussians": (V, M, M) => S, |(alphas, means, points)| {
                let (n, k) = (points.len(), alphas.len());
                let logs = build((n, k), |(i, c)| {
                    let d = points.at(i) - means.at(&c);
                    alphas.at(c) - 0.5 * d.dot(&d)
                });
                let m = logs.max_axis(1);
                let each = (logs - m.insert_axis(1)).exp().sum_axis(1).ln() + m;
                each.sum() - alphas.exp().sum().ln() * (n as f64)
            }, (some(3, 159), some((3, 2), 160), some((5, 2), 161)))
            .smooth(),
        row!("k-means": (M, M) => S, |(c, p)| {
                build(p.len(), |i| build(c.len(), |k| { let d = p.at(&i) - c.at(k); d.dot(&d) }).min_all()).sum()
            }, (m([[0.0, 0.0], [4.0, 4.0]]), m([[1.0, 0.0], [0.0, 1.0], [3.0, 4.0], [5.0, 5.0], [4.0, 3.5]])))
            .value([1.0 + 1.0 + 1.0 + 2.0 + 0.25])
            .gradient([-2.0, -2.0, 0.0, -1.0, 2.0, 0.0, 0.0, 2.0, -2.0, 0.0, 2.0, 2.0, 0.0, -1.0])
            .smooth(),
        row!("Hessian of k-means times ones": (M, M) => M, |(c, p)| {
                jvp(|c| grad(|(c, p)| {
                    build(p.len(), |i| build(c.len(), |k| { let d = p.at(&i) - c.at(k); d.dot(&d) }).min_all()).sum()
                }, (c, &p.lift_forward())), c, &full((2, 2), 1.0)).1
            }, (m([[0.0, 0.0], [4.0, 4.0]]), m([[1.0, 0.0], [0.0, 1.0], [3.0, 4.0], [5.0, 5.0], [4.0, 3.5]])))
            .value([4.0, 4.0, 6.0, 6.0])
            .gradient([0.0; 14]),
        row!("matrix factorisation": (M, M, M) => S, |(a, u, w)| { let d = a - u.dot(&w.transpose()); (&d * &d).sum() },
            (some((3, 4), 162), some((3, 2), 163), some((4, 2), 164)))
            .smooth(),
        row!("a factorisation of observed entries": (M, M, Ns, Ns, V) => S, |(u, w, i, j, y)| {
                let d = build(y.len(), |e| u.at(i.at(&e)).dot(&w.at(j.at(&e))) - y.at(&e));
                d.dot(&d)
            }, (some((3, 2), 165), some((4, 2), 166), ns([0, 2, 1, 2]), ns([3, 0, 0, 2]), some(4, 167)))
            .smooth(),
        row!("energy of a chain of springs": M => S, |x| {
                build(x.len() - 1, |i| { let d = x.at(&i + 1) - x.at(i); let r = d.dot(&d).sqrt() - 1.0; &r * &r }).sum()
            }, m([[0.0, 0.0], [1.2, 0.3], [2.0, -0.5], [3.1, 0.2]]))
            .smooth(),
        row!("energy of pairs": M => S, |x| {
                let n = x.len();
                build((n, n), |(i, j)| {
                    let d = x.at(&i) - x.at(&j);
                    let r = d.dot(&d) + i.equal(&j).cast::<f64>();
                    i.lt(j).select(r.powi(-3) - r.recip(), 0.0)
                }).sum()
            }, m([[0.0, 0.0], [1.2, 0.3], [2.0, -1.5]]))
            .smooth(),
    ]
}

fn networks() -> Vec<Row> {
    vec![
        row!("a perceptron": (Network<Concrete>, M, Ns) => S,
            |(model, x, labels)| cross_entropy(&model.scores(x), labels),
            (network(), some((4, 3), 171), ns([0, 1, 1, 0])))
            .smooth(),
        row!("a training step": (Network<Concrete>, M, Ns) => Network<Concrete>, |(model, x, labels)| {
                let gradient = grad(|(model, x, labels)| cross_entropy(&model.scores(x), labels), (model, x, labels));
                let step = |p: &Layer<A>, g: &Layer<A>| Layer { weights: &p.weights - 0.1 * &g.weights, bias: &p.bias - 0.1 * &g.bias };
                Network { first: step(&model.first, &gradient.first), second: step(&model.second, &gradient.second) }
            }, (network(), some((2, 3), 172), ns([0, 1])))
            .smooth(),
        row!("a net with gathered weights": (V, V) => S, |(w, x)| gathered_net(w, x), (some(7, 173), some(5, 174)))
            .smooth(),
        row!("attention": (M, M, M) => M, |(q, k, v)| {
                let scores = q.dot(&k.transpose()) / 2.0f64.sqrt();
                let e = (&scores - scores.max_axis(1).insert_axis(1)).exp();
                let weights = &e / e.sum_axis(1).insert_axis(1);
                weights.dot(v)
            }, (some((3, 2), 175), some((4, 2), 176), some((4, 3), 177)))
            .smooth(),
        row!("causal attention as a build": (M, M, M) => M, |(q, k, v)| build(3, |i| {
                let e = build(3, |j| cond(j.le(&i), || q.at(&i).dot(&k.at(&j)).exp(), || scalar(0.0)));
                (&e / e.sum()).dot(v)
            }), (some((3, 2), 178), some((3, 2), 179), some((3, 2), 180)))
            .smooth(),
        row!("layer normalisation": (M, V, V) => M, |(x, g, b)| {
                let centred = x - x.mean_axis(1).insert_axis(1);
                let variance = (&centred * &centred).mean_axis(1).insert_axis(1);
                centred / (variance + 1e-5).sqrt() * g + b
            }, (some((3, 4), 181), some(4, 182), some(4, 183)))
            .smooth(),
        row!("batch normalisation": M => M, |x| {
                let centred = x - x.mean_axis(0);
                &centred / ((&centred * &centred).mean_axis(0) + 1e-3).sqrt() * x
            }, some((4, 2), 184))
            .smooth(),
        row!("a convolutional layer with max pooling": (V, V) => V, |(x, k)| {
                let features = build(6, |i| build(3, |p| x.at(&i + &p) * k.at(p)).sum().relu());
                build(3, |i| build(2, |j| features.at(&i * 2 + j)).max_all())
            }, (some(8, 185), some(3, 186)))
            .smooth(),
        row!("dropout by a mask": (V, Bs) => S,
            |(x, keep)| keep.select(x * 2.0, 0.0).powi(2).sum(), (v([1.0, 2.0, 3.0]), vec![true, false, true].into()))
            .value([40.0])
            .gradient([8.0, 0.0, 24.0])
            .smooth(),
        row!("embeddings": (M, Ns, V) => S,
            |(table, words, w)| (table.gather(words).sum_axis(0) * w).tanh().sum(),
            (some((5, 3), 187), ns([4, 0, 4, 2]), some(3, 188)))
            .smooth(),
        row!("a gated recurrent cell": (M, M, M, V, M) => V, |(wz, wr, wh, h, x)| {
                scan(h.clone(), x, x.len(), |h, x| {
                    let z = (wz.dot(&h) + &x).sigmoid();
                    let r = (wr.dot(&h) - &x).sigmoid();
                    let candidate = (wh.dot(&(r * &h)) + x).tanh();
                    ((1.0 - &z) * &h + z * candidate, ())
                }).0
            }, (some((2, 2), 189), some((2, 2), 190), some((2, 2), 191), some(2, 192), some((4, 2), 193)))
            .smooth(),
        row!("messages along edges": (M, Ns, Ns) => M, |(x, from, to)| {
                (0..2).fold(x.clone(), |x, _| (x.gather(from) * x.gather(to)).scatter(to, x.len()).tanh() + x)
            }, (some((4, 2), 194), ns([0, 1, 2, 3, 1]), ns([1, 2, 0, 0, 3])))
            .smooth(),
        row!("f32 perceptron": (Fm, Fs, Fm) => F,
            |(w, b, x)| (x.dot(w) + b).relu().sum(),
            ([[1.0, -2.0], [0.5, 1.5]].into(), f([0.1, 0.2]), [[1.0, 2.0], [3.0, -1.0]].into()))
            .value([5.9]),
    ]
}

fn numerics() -> Vec<Row> {
    let identity_and_ones: Vec<f64> = (0..36).map(|at| if at % 7 == 0 { 2.0 } else { 1.0 }).collect();
    let its_cofactors: Vec<f64> = (0..36).map(|at| if at % 7 == 0 { 6.0 } else { -1.0 }).collect();
    vec![
        row!("determinant of 3 by permutations": M => S,
            |a| determinant(a), m([[2.0, 0.0, 1.0], [1.0, 3.0, 2.0], [1.0, 1.0, 4.0]]))
            .value([18.0])
            .gradient([10.0, -2.0, -2.0, 1.0, 7.0, -2.0, -3.0, -3.0, 6.0])
            .smooth(),
        row!("determinant of 6 by permutations": M => S, |a| determinant(a), t((6, 6), &identity_and_ones))
            .value([7.0])
            .gradient(its_cofactors)
            .heavy(),
        row!("Rosenbrock": V => S, |x| {
                let n = x.len();
                build(n - 1, |i| 100.0 * (x.at(&i + 1) - x.at(&i).powi(2)).powi(2) + (1.0 - x.at(i)).powi(2)).sum()
            }, v([-1.2, 1.0, 0.5]))
            .gradient([-215.6, 112.0, -100.0])
            .smooth(),
        row!("Himmelblau": (S, S) => S,
            |(x, y)| (x * x + y - 11.0).powi(2) + (x + y * y - 7.0).powi(2), (s(1.0), s(2.0)))
            .value([68.0])
            .gradient([-36.0, -32.0])
            .smooth(),
        row!("Rastrigin": V => S, |x| (x * x - 10.0 * (x * std::f64::consts::TAU).cos() + 10.0).sum(), some(4, 201))
            .smooth(),
        row!("Ackley": V => S, |x| {
                let root = ((x * x).mean()).sqrt();
                -20.0 * (root * -0.2).exp() - (x * std::f64::consts::TAU).cos().mean().exp() + (20.0 + std::f64::consts::E)
            }, some(3, 202))
            .smooth(),
        row!("predator and prey": (V, V) => V, |(y, p)| {
                let field = |y: &Vector<A, f64>| {
                    let (a, b) = (y.at(0), y.at(1));
                    stack(&[p.at(0) * &a - p.at(1) * &a * &b, p.at(2) * &a * &b - p.at(3) * &b])
                };
                scan(y.clone(), &(), 5, |y, ()| (runge_kutta(field, &y, 0.1), ())).0
            }, (v([1.0, 0.5]), v([1.1, 0.4, 0.1, 0.4])))
            .smooth(),
        row!("a pendulum": (S, S) => (S, S), |(angle, speed)| {
                (0..10).fold((angle.clone(), speed.clone()), |(angle, speed), _| {
                    let speed = speed - 0.1 * angle.sin();
                    (&angle + 0.1 * &speed, speed)
                })
            }, (s(1.0), s(0.0)))
            .smooth(),
        row!("heat with changing conductivity": (V, V) => V, |(u, k)| {
                let n = u.len();
                scan(u.clone(), &(), 4, |u, ()| {
                    let flux = build(n + 1, |i| k.at(&i) * (u.at(&i) - u.at(&i - 1)));
                    (build(n, |i| u.at(&i) + 0.1 * (flux.at(&i + 1) - flux.at(i))), ())
                }).0
            }, (some(5, 203), positive(6, 204)))
            .smooth(),
        row!("descent by its own gradient": (V, S) => S, |(x, rate)| {
                let loss = |x: &Vector<_, f64>| (x.powi(4) - x.powi(2)).sum();
                let last = (0..3).fold(x.clone(), |x, _| &x - rate * grad(loss, &x));
                last.powi(2).sum()
            }, (v([0.5, -1.2]), s(0.05)))
            .smooth(),
        row!("Newton's method by derivatives": S => S, |a| {
                (0..4).fold(a.filled(1.5), |x, _| {
                    let (value, slope) = value_and_grad(|(x, a)| x.powi(3) - a, (&x, a));
                    x - value / slope
                })
            }, s(3.0))
            .value([3.0f64.cbrt()])
            .digits(1e-9)
            .smooth(),
        row!("a Hessian-vector product": (V, V) => V, |(x, d)| {
                jvp(|x| grad(|x| (x.powi(3) * x.reverse(0)).sum(), x), x, d).1
            }, (v([1.0, 2.0, 3.0]), v([1.0, 0.0, -1.0])))
            .smooth(),
        row!("a Jacobian by builds": V => M, |x| {
                build(2, |i| {
                    let pick = build(2, |j| i.equal(j).cast::<f64>());
                    vjp(|x| stack(&[x.at(0) * x.at(1), x.at(0).sin()]), x).1(&pick)
                })
            }, v([0.5, 2.0]))
            .value([2.0, 0.5, 0.5f64.cos(), 0.0])
            .smooth(),
        row!("a Taylor polynomial by derivatives": S => S, |x| {
                let zero = x.filled(0.0);
                let first = grad(|y| y.sin() + y.exp(), &zero);
                let second = grad(|y| grad(|y| y.sin() + y.exp(), y), &zero);
                first * x + 0.5 * second * x * x + 1.0
            }, s(0.3))
            .value([1.0 + 0.6 + 0.045])
            .gradient([2.3])
            .smooth(),
        row!("discounted returns": (V, S) => S, |(rewards, gamma)| {
                scan_reverse(scalar(0.0), rewards, rewards.len(), |sum, r| twice(r + gamma * sum)).1.mean()
            }, (some(5, 205), s(0.9)))
            .smooth(),
        row!("a Kalman filter": (V, S, S) => S, |(z, q, r)| {
                let start = (scalar::<A, f64>(0.0), scalar::<A, f64>(1.0));
                scan(start, z, z.len(), |(x, p), z| {
                    let p = p + q;
                    let gain = &p / (&p + r);
                    let error = z - &x;
                    ((x + &gain * &error, (1.0 - gain) * p), error.powi(2))
                }).1.sum()
            }, (some(5, 206), s(0.1), s(0.5)))
            .smooth(),
        row!("Jacobi iteration": (M, V) => V, |(a, b)| {
                let n = b.len();
                let diagonal = a.diagonal();
                scan(b / &diagonal, &(), 8, |x, ()| {
                    let rest = build(n, |i| build(n, |j| i.equal(&j).select(0.0, a.at((&i, &j)) * x.at(&j))).sum());
                    ((b - rest) / &diagonal, ())
                }).0
            }, (m([[4.0, 1.0], [-1.0, 5.0]]), v([1.0, 2.0])))
            .smooth(),
        row!("Floyd-Warshall": M => M, |d| {
                let n = d.len();
                (0..n).fold(d.clone(), |d, k| build((n, n), |(i, j)| d.at((&i, &j)).min(d.at((&i, k)) + d.at((k, &j)))))
            }, m([[0.0, 3.0, 9.0], [9.0, 0.0, 2.0], [1.0, 9.0, 0.0]]))
            .value([0.0, 3.0, 5.0, 3.0, 0.0, 2.0, 1.0, 4.0, 0.0])
            .values_only(),
        row!("an edit distance": (V, V) => S, |(x, y)| {
                let (n, k) = (x.len(), y.len());
                let first = build(k + 1, |j| j.cast::<f64>());
                scan(first, x, n, |row, x| {
                    let start = row.at(0) + 1.0;
                    let inputs = build(k, |j| {
                        let d = &x - y.at(&j);
                        (row.at(&j) + &d * &d).min(row.at(j + 1) + 1.0)
                    });
                    let rest = scan(start.clone(), &inputs, k, |left, best| twice(best.min(left + 1.0))).1;
                    (start.replicate(1).append(0, &rest), ())
                }).0.at(k)
            }, (v([0.1, 0.9, 0.4]), v([0.2, 0.5])))
            .smooth(),
        row!("a moving average by prefix sums": V => V, |x| {
                let n = x.len();
                let sums = scan(scalar(0.0), x, n, |s, x| twice(s + x)).1;
                build(n, |i| (sums.at(&i) - sums.at(&i - 3)) / 3.0)
            }, some(7, 207))
            .smooth(),
        row!("sorting by ranks": V => V, |x| {
                let n = x.len();
                let rank = build(n, |i| build(n, |j| (x.at(j).lt(x.at(&i))).cast::<i64>()).sum());
                (x * x).scatter(&rank, n)
            }, v([3.0, 1.0, 2.0]))
            .value([1.0, 4.0, 9.0])
            .gradient([6.0, 2.0, 4.0]),
        row!("interpolation in a table": (V, V) => V, |(table, x)| {
                let floor = x.floor();
                let (at, weight) = (floor.cast::<i64>(), x - &floor);
                build(x.len(), |i| {
                    let (low, high) = (table.at(at.at(&i)), table.at(at.at(&i) + 1));
                    &low + weight.at(i) * (&high - &low)
                })
            }, (v([1.0, 3.0, 2.0, 5.0]), v([0.5, 2.25, 1.75])))
            .value([2.0, 2.75, 2.25])
            .gradient([0.5, 0.75, 1.5, 0.25, 2.0, 3.0, -1.0])
            .smooth(),
    ]
}
