//! The effect of passes on programs: their growth in size, and in work.

use super::*;
use deltaray::algebra::MatrixOperation;
use deltaray::linalg::{
    Triangle, eigh, eigh_values, lstsq, qr, singular_values, solve, solve_banded, solve_spd, solve_triangular, svd,
    tridiagonal_solve,
};
use deltaray::term::{Body, Node, Op};

#[test]
fn grow_with_the_program() {
    // Programs of many statements of all kinds.
    guarded(|| {
        assert_linear(20, &|n, x| {
            let mut y = x.clone();
            for at in 0..n {
                let m: Matrix<Staged, f64> = build((3, 3), |(i, j)| y.at(&i) * x.at(&j + at) + y.at(2 - i));
                let s = m.sum_axis(1).gt(0.0).select(m.at(1), m.max_axis(0) * y.sum());
                y = m.dot(&s).reverse(0) + s.gather(&iota(3)).scatter(&iota(3), 3);
            }
            y
        });
    });
    guarded(|| {
        assert_linear(20, &|n, x| {
            let mut y = x.clone();
            for _ in 0..n {
                let (last, all) = scan(y.sum(), &y, 3, |c, e| (c.sin() * &e, c + e));
                y = all * last;
            }
            y
        });
    });
}

#[test]
fn loops_do_not_grow_with_their_steps() {
    let nodes = |n: usize| {
        let x: Vector<C, f64> = full(n, 0.5);
        let staged = stage(
            |x| {
                let (last, all) = scan(scalar(1.0), x, n, |c, x| {
                    let c = c.sin() * &x + x.exp();
                    (c.clone(), c)
                });
                last + all.sum()
            },
            &x,
        );
        let staged = staged.unwrap();
        let gradient = staged.value_and_grad().unwrap();
        (staged.source().node_count(), staged.program().node_count(), gradient.program().node_count())
    };
    assert_eq!(nodes(10), nodes(10_000));
}

fn programs() -> Vec<(&'static str, Box<dyn Fn(&Vector<Staged, f64>) -> Scalar<Staged, f64>>)> {
    vec![
        ("sum", Box::new(|x| x.sum())),
        ("squares", Box::new(|x| (x * x).sum())),
        (
            "softmax",
            Box::new(|x| {
                let e = (x - x.max_all()).exp();
                (&e / e.sum()).at(1).ln()
            }),
        ),
        ("outer product", Box::new(|x| build((12, 12), |(i, j)| x.at(i) * x.at(j)).sum_axis(0).sin().sum())),
        ("stencil", Box::new(|x| build(12, |i| (x.at(&i - 1) - 2.0 * x.at(&i) + x.at(i + 1)).powi(2)).sum())),
        (
            "matrix product",
            Box::new(|x| {
                let m = x.reshape((3, 4));
                build((3, 3), |(i, j)| build(4, |k| m.at((&i, &k)) * m.at((&j, k))).sum()).exp().sum()
            }),
        ),
        (
            "layers",
            Box::new(|x| {
                let m = x.reshape((3, 4));
                let mut y = m.at(0);
                for _ in 0..10 {
                    y = m.transpose().dot(&m.dot(&y).tanh()) + y.max(0.0);
                }
                y.sum()
            }),
        ),
        (
            "data-dependent reads",
            Box::new(|x| {
                let p = (x * 10.0).cast::<i64>().modulo(12);
                build(12, |i| x.at(p.at(&i)) * x.at(i)).sum()
            }),
        ),
        ("loop", Box::new(|x| scan(scalar(0.5), x, 12, |c, x| ((c * x).sin(), ())).0)),
        (
            "choice",
            Box::new(|x| build(12, |i| cond(x.at(&i).gt(0.5), || x.at(&i).sqrt(), || x.at(&i) * x.sum())).sum()),
        ),
        ("triangle", Box::new(|x| build((12, 12), |(i, j)| i.le(&j).select(x.at(&j), 0.0) * x.at(i)).sum())),
    ]
}

#[test]
fn gradients_are_a_small_multiple_of_programs() {
    let x: Vector<C, f64> = full(12, 0.5);
    for (name, f) in programs() {
        let staged = stage(|x| f(x), &x).unwrap();
        let nodes = staged.program().node_count();
        let gradient = staged.value_and_grad().unwrap();
        let more = gradient.program().node_count();
        assert!(more <= 5 * nodes + 20, "{name}: {nodes} nodes, gradient {more}:\n{staged}\n{gradient}");
        let (work, more) = (staged.program().cost(), gradient.program().cost());
        let bound = 5 * work.float_operations + 200;
        assert!(more.float_operations <= bound, "{name}: {work:?} and {more:?}\n{staged}\n{gradient}");
    }
}

#[test]
fn bulk_programs_do_no_more_work() {
    let x: Vector<C, f64> = full(12, 0.5);
    for (name, f) in programs() {
        let staged = stage(|x| f(x), &x).unwrap();
        let vectorised = deltaray::vectorise::vectorise(staged.source());
        let (before, after) = (staged.source().cost().float_operations, vectorised.cost().float_operations);
        assert!(after <= before, "{name}: {before} and {after}:\n{}\n{vectorised}", staged.source());
        let after = staged.program().cost().float_operations;
        assert!(after <= before, "{name}: {before} and {after}:\n{}\n{staged}", staged.source());
    }
}

/// Long bodies of loops and conditionals, each of whose outputs is used; and nested loops. Quadratic time would trip the guard.
#[test]
fn bodies_are_gone_through_once() {
    guarded(|| {
        assert_linear(200, &|n, x| {
            let step = |c: Scalar<Staged, f64>, e: Scalar<Staged, f64>| {
                let last = (0..n).fold(c, |y, _| (y * &e).sin());
                (last, ())
            };
            scan(x.at(0), x, x.len(), step).0 * x
        });
    });
    guarded(|| {
        assert_linear(100, &|n, x| {
            let long = || (0..n).fold(x.dot(x) * x, |y, _| (y * x).sin());
            cond(x.at(0).gt(0.0), long, || x.clone())
        });
    });
    guarded(|| {
        fn nest(x: &Scalar<Staged, f64>, y: &Scalar<Staged, f64>, depth: usize) -> Scalar<Staged, f64> {
            match depth {
                0 => (x * y).sin(),
                _ => scan(x.clone(), &(), 3, |c, ()| (nest(&c, y, depth - 1), ())).0,
            }
        }
        let nested = |depth| sizes(&move |x| nest(&x.at(0), &x.at(1), depth) * x);
        // The text is indented, and deeper with every level.
        for ((pass, (nodes, _)), (_, (more, _))) in nested(10).into_iter().zip(nested(20)) {
            assert!(10 * more <= 22 * nodes + 50, "{pass}: {nodes} nodes for 10 levels, {more} for 20");
        }
    });
}

/// A function mapped over slices runs on all at once, loops inside included, and so does its derivative.
#[test]
fn mapped_loops_are_not_loops_over_slices() {
    fn is_bulk(body: &Body) -> bool {
        body.nodes().iter().all(|node| !matches!(node.op, Op::Scan(_)))
    }
    let a: Vector<C, f64> = v(&[0.5, 1.0, 2.0]);
    fn halved<A: Algebra>(a: Scalar<A, f64>) -> Scalar<A, f64> {
        while_loop(scalar(1.0), |x| x.gt(0.1), |x| &x - 0.1 * (1.0 + &a) * &x)
    }
    fn stepped<A: Algebra>(a: Scalar<A, f64>) -> Scalar<A, f64> {
        let first = a.clone();
        Checkpoints::Snapshots(3).scan(first, &(), 10, move |x, ()| ((&x * &a).sin(), ())).0
    }
    macro_rules! check {
        ($f:ident) => {
            let mapped = stage(|a| vmap(|a| $f(a), a), &a).unwrap();
            let expected: Vec<f64> = a.to_vec().into_iter().map(|a| $f(scalar::<C, f64>(a)).item()).collect();
            assert!(is_bulk(mapped.program()), "{mapped}");
            assert_eq!(mapped.interpret(&a).unwrap().to_vec(), expected);
            let slopes = stage(|a| vmap(|a| grad(|a| $f(a.clone()), &a), a), &a).unwrap();
            assert!(is_bulk(slopes.program()), "{slopes}");
            let found = slopes.interpret(&a).unwrap();
            let expected = vmap(|a| grad(|a| $f(a.clone()), &a), &a);
            assert!((found - expected).abs().max_all().item() < 1e-12);
        };
    }
    check!(halved);
    check!(stepped);
}

/// Loops with a condition in such loops: the derivative of each goes over its steps anew, so that bodies occur again in
/// bodies. Counted once, they grow with the nesting, in gradients and in gradients of gradients.
#[test]
fn nested_while_loops_have_few_bodies() {
    fn nest<A: Algebra>(x: &Scalar<A, f64>, y: &Scalar<A, f64>, depth: usize) -> Scalar<A, f64> {
        match depth {
            0 => (x * y).sin(),
            _ => {
                let step = |(c, n): (Scalar<A, f64>, Scalar<A, i64>)| (nest(&c, y, depth - 1), n + 1);
                while_loop((x.clone(), scalar(0_i64)), |(_, n)| n.lt(3), step).0
            }
        }
    }
    fn first(depth: usize) -> usize {
        let (x, y) = (scalar(0.5), scalar(0.7));
        let slope = stage(|(x, y)| nest(x, y, depth), (&x, &y)).unwrap().grad().unwrap();
        slope.program().distinct_node_count()
    }
    fn second(depth: usize) -> usize {
        let (x, y) = (scalar(0.5), scalar(0.7));
        let slope = stage(|(x, y)| grad(|(x, y)| nest(x, y, depth), (x, y)), (&x, &y)).unwrap();
        slope.grad().unwrap().program().distinct_node_count()
    }
    let counts: [(fn(usize) -> usize, [usize; 3]); 2] = [(first, [4, 8, 12]), (second, [2, 4, 6])];
    for (count, depths) in counts {
        let [few, more, most] = depths.map(count);
        assert!(most - more <= more - few + 5, "{few}, {more} and {most} nodes of distinct bodies");
    }
}

/// A tridiagonal system, and one of five bands.
fn banded<A: Algebra>((bands, b): &(Matrix<A, f64>, Vector<A, f64>)) -> Scalar<A, f64> {
    let x = tridiagonal_solve(&bands.at(1), &bands.at(2), &bands.at(3), b);
    solve_banded((2, 2), bands, &x).powi(2).sum()
}

#[test]
fn banded_systems_and_their_derivatives_cost_what_their_bands_have() {
    let costs = |n: usize| {
        let at = (ones((5, n)), ones(n));
        let value = stage(banded, &at).unwrap();
        let gradient = value.value_and_grad().unwrap();
        let second = gradient.jvp().unwrap();
        [value.program(), gradient.program(), second.program()].map(|program| {
            let cost = program.cost();
            (cost.float_operations, cost.elements, cost.largest)
        })
    };
    let (some, twice) = (costs(500), costs(1_000));
    for ((operations, elements, largest), more) in some.into_iter().zip(twice) {
        assert!(
            more.0 <= 2 * operations + 100 && more.1 <= 2 * elements + 100,
            "{more:?} after {operations} and {elements}"
        );
        assert!(
            operations <= 1_000 * 500 && elements <= 500 * 500 && largest <= 25 * 500,
            "{operations}, {elements}, {largest}"
        );
    }
}

/// Systems of one matrix along an axis of right sides.
fn shared<A: Algebra>((a, b): &(Tensor3<A, f64>, Matrix<A, f64>)) -> Scalar<A, f64> {
    let all = [
        solve(a, b),
        solve_spd(&a.matmul(&a.tr(&[0, 2, 1])), b),
        solve_triangular(a, b, Triangle::LOWER),
        qr(a).solve(b),
        lstsq(a, b),
    ];
    all.iter().fold(scalar(0.0), |sum, x| sum + x.powi(2).sum())
}

#[test]
fn a_matrix_that_right_sides_share_is_factorised_once() {
    let n = 16;
    let costs = |count: usize| {
        let a: Matrix<C, f64> = eye(n) + 0.01 * build((n, n), |(i, j)| (i + 2 * j).cast::<f64>().sin());
        let value = stage(shared, (&a.insert_axis(0), &ones((count, n)))).unwrap();
        let gradient = value.grad().unwrap();
        [value.program(), gradient.program()].map(|program| {
            let cost = program.cost();
            (cost.float_operations, cost.largest)
        })
    };
    for ((operations, _), (more, largest)) in costs(100).into_iter().zip(costs(200)) {
        // A factorisation of each would be 100 n³ operations and more, and as many elements as 200 matrices have.
        assert!(more - operations <= 100 * 100 * (n * n) as u128 / 2, "{operations} and {more}");
        assert!(largest < (200 * n * n / 4) as u128, "{largest}");
    }
}

#[test]
fn derivatives_of_least_squares_cost_what_the_longer_side_has() {
    for is_wide in [false, true] {
        let costs = |length: usize| {
            let a: Matrix<C, f64> = build((length, 4), |(i, j)| (i * 3 + &j * &j * 5).cast::<f64>().sin());
            let (a, b) = if is_wide { (a.t(), ones(4)) } else { (a, ones(length)) };
            let value = stage(|(a, b): &(Matrix<_, f64>, Vector<_, f64>)| lstsq(a, b).powi(2).sum(), (&a, &b)).unwrap();
            let gradient = value.grad().unwrap();
            let second = gradient.jvp().unwrap();
            [value.program().cost(), gradient.program().cost(), second.program().cost()]
        };
        for (short, long) in costs(200).into_iter().zip(costs(400)) {
            let (few, more) = (short.float_operations, long.float_operations);
            assert!(more < few * 21 / 10, "{few} and {more}");
            assert!(long.largest < 400 * 4 * 3, "{}", long.largest);
        }
    }
}

#[test]
fn gradients_of_eigenvalues_and_singular_values_take_one_product() {
    let n = 30;
    let a: Matrix<C, f64> = build((n, n), |(i, j)| (i * 3 + &j * &j * 5).cast::<f64>().sin());
    let functions: [fn(&Matrix<Staged, f64>) -> Scalar<Staged, f64>; 2] =
        [|a| eigh_values(a).sin().sum(), |a| singular_values(a).sin().sum()];
    for function in functions {
        let gradient = stage(function, &a).unwrap().grad().unwrap();
        let body = gradient.program();
        let products = body.nodes().iter().filter(|node| match &node.op {
            Op::Contract(spec) => {
                let summed = spec.left.iter().any(|label| spec.right.contains(label) && !spec.result.contains(label));
                summed && node.ty().size() == n * n
            }
            _ => false,
        });
        assert_eq!(products.count(), 1, "{}", gradient.program());
    }
}

#[test]
fn a_part_of_a_factorisation_is_computed_alone() {
    let a: Matrix<C, f64> = build((6, 4), |(i, j)| (i * 3 + &j * &j * 5).cast::<f64>().sin());
    let square = a.t().dot(&a);
    let operations = |program: &Body| -> Vec<MatrixOperation> {
        let of = |node: &Node| if let Op::Matrix(op) = node.op { Some(op) } else { None };
        program.nodes().iter().filter_map(of).collect()
    };
    let of = |function: fn(&Matrix<Staged, f64>) -> Scalar<Staged, f64>, a: &Matrix<C, f64>| {
        operations(stage(function, a).unwrap().program())
    };
    assert_eq!(of(|a| qr(a).r.sin().sum(), &a), [MatrixOperation::QrTriangle]);
    assert_eq!(of(|a| svd(a).values.sin().sum(), &a), [MatrixOperation::SvdValues]);
    assert_eq!(of(|a| eigh(a).values.sin().sum(), &square), [MatrixOperation::EighValues]);
    // Both parts come from one factorisation.
    assert_eq!(of(|a| qr(a).r.sin().sum() + qr(a).q.sin().sum(), &a), [MatrixOperation::Qr]);
    let gradient = stage(|a: &Matrix<_, f64>| qr(a).r.sin().sum(), &a).unwrap().grad().unwrap();
    let factorisations = operations(gradient.program()).into_iter().filter(|op| !op.name().starts_with("solve"));
    assert_eq!(factorisations.collect::<Vec<_>>(), [MatrixOperation::Qr]);
}
