//! Reductions and scans with an associative operator: the work grows with the number of elements, the depth with its
//! logarithm, of programs and of their gradients. Running totals by an operation of the library are loops instead.

use super::*;
use deltaray::term::{Body, Node, Op};

type S1 = Scalar<Staged, f64>;
type V1 = Vector<Staged, f64>;

fn affine((a, b): (S1, S1), (c, d): (S1, S1)) -> (S1, S1) {
    (&a * &c, &c * b + d)
}

fn rotations(x: &V1) -> Tensor3<Staged, f64> {
    build(x.len(), |i| {
        let (s, c) = (x.at(&i).sin(), x.at(&i).cos());
        stack(&[stack(&[c.clone(), -&s]), stack(&[s, c])])
    })
}

type Program = fn(&V1) -> S1;

/// Programs of a vector of any length.
fn programs() -> Vec<(&'static str, Program)> {
    vec![
        ("reduce", |x| reduce(scalar(1.0), x, |a, b| a * b)),
        ("reduce by a sum", |x| reduce(scalar(0.0), x, |a, b| a + b)),
        ("reduce by the largest", |x| reduce(scalar(0.0), x, |a, b| a.max(b))),
        ("reduce of pairs by two operations", |x| {
            let (a, b) = reduce((scalar(0.0), scalar(0.0)), &(x.clone(), x.sin()), |(a, b), (c, d)| (a + c, b.min(d)));
            a * b
        }),
        ("reduce, not linear", |x| reduce(scalar(0.0), x, |a, b| (&a + &b) / (1.0 + a * b))),
        ("reduce of pairs", |x| {
            let (a, b) = reduce((scalar(1.0), scalar(0.0)), &(x.clone(), x.sin()), affine);
            a + b
        }),
        ("reduce of matrices", |x| {
            let one = build((2, 2), |(i, j)| i.equal(j).cast::<f64>());
            reduce(one, &rotations(x), |a, b| a.dot(&b)).at((0, 1))
        }),
        ("reduce with a captured array", |x| {
            let w = x.at(0);
            reduce(scalar(0.0), x, |a, b| (a + b) * &w)
        }),
        ("associative scan of pairs", |x| {
            let (a, b) = associative_scan(&(x.clone(), x.sin()), affine);
            (a * b).sum()
        }),
        ("associative scan of matrices", |x| associative_scan(&rotations(x), |a, b| a.dot(&b)).sin().sum()),
        // The sum of a product of matrices becomes the product of a vector and a matrix, but every level is computed once.
        ("sum of an associative scan of matrices", |x| associative_scan(&rotations(x), |a, b| a.dot(&b)).sum()),
        ("sum of a reduction of matrices", |x| {
            let one = build((2, 2), |(i, j)| i.equal(j).cast::<f64>());
            reduce(one, &rotations(x), |a, b| a.dot(&b)).sum()
        }),
        ("product", |x| x.product()),
        ("reduce by index", |x| {
            let keys = iota(x.len()) % 5;
            reduce_by_index(scalar(1.0), &keys, x, 5, |a, b| a * b).sum()
        }),
        ("sums by index", |x| {
            let keys = iota(x.len()) % 5;
            reduce_by_index(scalar(1.0), &keys, x, 5, |a, b| a + b).sum()
        }),
        ("largest by index", |x| {
            let keys = iota(x.len()) % 5;
            reduce_by_index(scalar(1.0), &keys, x, 5, |a, b| a.max(b)).sum()
        }),
        ("segments by offset", |x| {
            let offsets = iota(6) * (x.len() / 5);
            x.segment_product(&Segments::by_offset(&offsets, x.len())).sum()
        }),
    ]
}

/// The work, all elements counted, and the depth.
fn counts(body: &Body) -> (u128, u128) {
    let cost = body.cost();
    (cost.float_operations + cost.elements, cost.depth)
}

/// The steps of a program's loops: there is just the running sum by which offsets become keys, of one operation a step.
fn steps(body: &Body) -> u128 {
    let length = |node: &Node| if let Op::Scan(scan) = &node.op { scan.length as u128 } else { 0 };
    body.nodes().iter().map(length).sum()
}

/// Checks the cost of a family of programs as the number of elements doubles: the work at most doubles, plus `more` for each
/// level, and the depth grows by the same few steps.
fn assert_parallel(name: &str, measured: &[(u128, u128)], more: u128, steps: i128) {
    let (work, depth): (Vec<u128>, Vec<u128>) = measured.iter().copied().unzip();
    for pair in work.windows(2) {
        assert!(pair[1] <= 2 * pair[0] + more, "{name}: work {work:?}");
    }
    let added: Vec<i128> = depth.windows(2).map(|pair| pair[1] as i128 - pair[0] as i128).collect();
    let most = added[0].max(added[1]);
    assert!(most <= steps && added.iter().all(|&more| more <= most), "{name}: depth {depth:?}");
}

const SIZES: [usize; 5] = [64, 128, 256, 512, 1024];

#[test]
fn work_is_linear_and_depth_logarithmic() {
    for (name, f) in programs() {
        let counts = |body: &Body| {
            let (work, depth) = counts(body);
            (work, depth - steps(body))
        };
        let measure = |n: usize| {
            let staged = stage(f, &full(n, 0.5)).unwrap();
            let gradient = staged.value_and_grad().unwrap();
            (counts(staged.program()), counts(gradient.program()))
        };
        let (programs, gradients): (Vec<_>, Vec<_>) = SIZES.into_iter().map(measure).unzip();
        assert_parallel(&format!("{name}, program"), &programs, 1000, 40);
        assert_parallel(&format!("{name}, gradient"), &gradients, 1000, 40);
        assert!(gradients[4].0 <= 300 * 1024, "{name}: work {gradients:?}");
    }
}

#[test]
fn second_derivatives_too() {
    for (name, f) in programs().into_iter().filter(|(name, _)| name.contains("matrices")) {
        let measure = |n: usize| {
            let x: Vector<C, f64> = full(n, 0.5);
            let forwards = stage(|x| jvp(|x| grad(f, x), x, x).1, &x).unwrap();
            let square = |x: &V1| {
                let gradient = grad(f, x);
                (&gradient * &gradient).sum()
            };
            let backwards = stage(square, &x).unwrap().grad().unwrap();
            (counts(forwards.program()), counts(backwards.program()))
        };
        let (forwards, backwards): (Vec<_>, Vec<_>) = SIZES[..4].iter().map(|&n| measure(n)).unzip();
        assert_parallel(&format!("{name}, forwards over backwards"), &forwards, 4000, 80);
        assert_parallel(&format!("{name}, backwards over backwards"), &backwards, 4000, 80);
    }
}

fn matrices_scanned<A: Algebra>(x: &Tensor3<A, f64>) -> Scalar<A, f64> {
    associative_scan(x, |a, b| a.dot(&b)).sum()
}

fn matrices_reduced<A: Algebra>(x: &Tensor3<A, f64>) -> Scalar<A, f64> {
    reduce(build((2, 2), |(i, j)| i.equal(j).cast::<f64>()), x, |a, b| a.dot(&b)).sum()
}

/// Eager work, counted by the bytes that are asked for: of n log n it would be a quarter more for four times the elements.
#[test]
fn eager_derivatives_do_work_in_proportion() {
    macro_rules! measure {
        ($f:ident, $n:expr) => {{
            let x: Tensor3<C, f64> = full(($n, 2, 2), 0.5);
            let square = |x: &Tensor3<_, f64>| {
                let gradient = grad($f, x);
                (&gradient * &gradient).sum()
            };
            [
                ("value", measured(|| $f(&x)).2),
                ("gradient", measured(|| grad($f, &x)).2),
                ("forwards over backwards", measured(|| jvp(|x| grad($f, x), &x, &x)).2),
                ("backwards over backwards", measured(|| grad(square, &x)).2),
            ]
        }};
    }
    let families = [
        ("scan", measure!(matrices_scanned, 64), measure!(matrices_scanned, 256)),
        ("reduction", measure!(matrices_reduced, 64), measure!(matrices_reduced, 256)),
    ];
    for (family, less, more) in families {
        for ((name, less), (_, more)) in less.into_iter().zip(more) {
            assert!(10 * more <= 42 * less, "{family}, {name}: {less} bytes for 64 matrices, {more} for 256");
        }
    }
}

/// A level of a reduction reads the even and the odd positions of the one below. Moved into it, the reads would make a tree of
/// the levels.
#[test]
fn reductions_have_a_few_nodes_for_each_level() {
    for (name, f) in programs().into_iter().filter(|(name, _)| name.starts_with("reduce")) {
        let nodes = |n: usize| {
            let staged = stage(f, &full(n, 0.5)).unwrap();
            [staged.program().node_count(), staged.value_and_grad().unwrap().program().node_count()]
        };
        let (less, more) = (nodes(256), nodes(1024));
        for (before, after) in less.into_iter().zip(more) {
            assert!(after <= before + 100, "{name}: {before} nodes for 256 elements, {after} for 1024");
        }
    }
}

/// The numbers of nodes and operations do not depend on the closure being seen through; they equal those of a reduction.
#[test]
fn sums_and_extremes_are_single_operations() {
    let programs: [(&str, Program); 3] = [
        ("sum", |x| reduce(scalar(0.0), x, |a, b| a + b)),
        ("largest", |x| reduce(scalar(0.0), x, |a, b| a.max(b))),
        ("sums by index", |x| reduce_by_index(scalar(0.0), &x.cast::<i64>(), x, 1, |a, b| a + b).at(0)),
    ];
    for (name, f) in programs {
        let measure = |n: usize| {
            let staged = stage(f, &full(n, 0.5)).unwrap();
            let gradient = staged.grad().unwrap();
            (staged.program().node_count(), gradient.program().node_count(), staged.program().cost().float_operations)
        };
        let (less, more) = (measure(64), measure(1024));
        assert_eq!((less.0, less.1), (more.0, more.1), "{name}");
        assert!(less.2 <= 64 + 64 && more.2 <= 1024 + 1024, "{name}: {less:?}, {more:?}");
    }
}

/// Running totals are loops, however long, of as many operations for each element, and so are their derivatives.
#[test]
fn running_totals_have_as_many_nodes_for_any_length() {
    let programs: [(&str, Program); 6] = [
        ("running sum", |x| (x.cumsum(0) * x).sum()),
        ("running product", |x| (x.cumprod(0) * x).sum()),
        ("running maximum", |x| (x.cummax(0) * x).sum()),
        ("running logsumexp, backwards", |x| (x.cumlogsumexp_reverse(0) * x).sum()),
        ("associative scan", |x| (associative_scan(x, |a, b| a * b) * x).sum()),
        ("linear recurrence", |x| linear_recurrence(&x.at(0), x, &x.sin()).sum()),
    ];
    for (name, f) in programs {
        let measure = |n: usize| {
            let x: Vector<C, f64> = full(n, 0.5);
            let staged = stage(f, &x).unwrap();
            let gradient = staged.value_and_grad().unwrap();
            let second = stage(|x| jvp(|x| grad(f, x), x, x).1, &x).unwrap();
            let programs = [staged.program(), gradient.program(), second.program()];
            (programs.map(Body::node_count), programs.map(|program| counts(program).0))
        };
        let ((nodes, work), (more_nodes, more_work)) = (measure(64), measure(1024));
        assert_eq!(nodes, more_nodes, "{name}");
        assert!(nodes[0] <= 25 && nodes[1] <= 60 && nodes[2] <= 110, "{name}: {nodes:?} nodes");
        for (at, (work, more_work)) in work.into_iter().zip(more_work).enumerate() {
            assert!(
                more_work <= 17 * work && more_work <= 1024 * [10, 40, 120][at],
                "{name}: work {work} and {more_work}"
            );
        }
    }
}

/// However many levels there are, a closure runs once.
#[test]
fn a_staged_operator_runs_once() {
    type Run = fn(&V1, &dyn Fn(S1, S1) -> S1);
    let runs: [(&str, usize, Run); 4] = [
        ("reduce", 1, |x, op| drop(reduce(scalar(0.0), x, op))),
        ("associative_scan", 1, |x, op| drop(associative_scan(x, op))),
        ("reduce_by_index", 1, |x, op| drop(reduce_by_index(scalar(0.0), &iota(x.len()), x, 3, op))),
        ("reduce of one", 0, |x, op| drop(reduce(scalar(0.0), &x.slice(0, ..1), op))),
    ];
    for (name, expected, run) in runs {
        let count = std::cell::Cell::new(0);
        let op = |a: S1, b: S1| {
            count.set(count.get() + 1);
            (&a + &b) / (1.0 + a * b)
        };
        let staged = |x: &V1| {
            run(x, &op);
            x.sum()
        };
        stage(staged, &full(100, 0.5)).unwrap();
        assert_eq!(count.get(), expected, "{name}");
    }
}

#[test]
fn a_loop_is_as_deep_as_it_is_long() {
    // The counts above for a fold, to show that they tell the two apart.
    let depth = |n: usize| {
        let x: Vector<C, f64> = full(n, 0.5);
        let staged = stage(|x| fold(scalar(1.0), x, |a, b| (a * b).sin()), &x).unwrap();
        counts(staged.program()).1
    };
    assert!(depth(512) >= depth(256) + 2 * 256);
}
