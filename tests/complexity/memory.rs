//! Bytes held and bytes asked for.

use super::*;

/// A table of 10¹² elements; one element is read, or one row summed.
#[test]
fn large_builds_are_not_materialised() {
    let n = 1_000_000;
    let x: Vector<C, f64> = full(n, 0.5) + 0.0;
    let programs: Vec<(&str, Box<dyn Fn(&Vector<Staged, f64>) -> Scalar<Staged, f64>>)> = vec![
        (
            "an element of a triangle",
            Box::new(move |x| {
                let table: Matrix<Staged, f64> = build((n, n), |(i, j)| i.le(&j).select(0.0, 1.0));
                table.at((5, 3)) * x.at(0)
            }),
        ),
        (
            "a row of a triangle",
            Box::new(move |x| {
                let table: Matrix<Staged, f64> = build((n, n), |(i, j)| i.le(&j).select(0.0, 1.0));
                table.at(7).sum() * x.at(0)
            }),
        ),
        (
            "an element of an outer product",
            Box::new(move |x| build((n, n), |(i, j)| (x.at(i) * x.at(j)).sin()).at((5, 3))),
        ),
        ("a row of an outer product", Box::new(move |x| build((n, n), |(i, j)| (x.at(i) * x.at(j)).sin()).at(7).sum())),
        (
            "a row of nested builds",
            Box::new(move |x| build(n, |i| build(n, |j| x.at(&i) + x.at(&j)).exp()).at(n - 1).sum()),
        ),
        (
            "a computed row",
            Box::new(move |x| {
                let row = x.at(3).cast::<i64>() + 2;
                build((n, n), |(i, j)| (x.at(i) * x.at(j)).sin()).at(row).sum()
            }),
        ),
    ];
    for (name, f) in programs {
        let ((value, printed), peak, _) = measured(|| {
            let staged = stage(|x| f(x), &x).unwrap();
            let gradient = staged.value_and_grad().unwrap();
            let value = gradient.interpret(&x).unwrap().0.item();
            (value, format!("{staged}\n{gradient}"))
        });
        assert!(value.is_finite());
        assert!(peak < 100 * MEGABYTE, "{name}: {} MB\n{printed}", peak / MEGABYTE);
        assert!(!printed.contains("1000000, 1000000"), "{name}:\n{printed}");
    }
}

#[test]
fn eager_reads_are_added_in_place() {
    let n = 100_000;
    let x: Vector<C, f64> = full(n, 0.5) + 0.0;
    let (gradient, peak, total) = measured(|| {
        grad(
            |x| {
                let mut sum = scalar(0.0);
                for i in 0..n {
                    sum += x.at(i) * 2.0;
                }
                sum
            },
            &x,
        )
    });
    assert!(gradient.to_vec().iter().all(|&g| g == 2.0));
    assert!(peak < 400 * MEGABYTE, "{} MB", peak / MEGABYTE);
    assert!(total < 1000 * MEGABYTE, "{} MB in all", total / MEGABYTE);
    let (gradient, peak, total) = measured(|| grad(|x| build(n, |i| x.at(i) * 2.0).sum(), &x));
    assert!(gradient.to_vec().iter().all(|&g| g == 2.0));
    assert!(peak < 400 * MEGABYTE, "{} MB", peak / MEGABYTE);
    assert!(total < 1000 * MEGABYTE, "{} MB in all", total / MEGABYTE);
}

#[test]
fn calls_reuse_buffers() {
    let n = 1_000_000;
    let x: Vector<C, f64> = full(n, 0.5) + 0.0;
    let staged = stage(
        |x| {
            let mut y = x.clone();
            for _ in 0..5 {
                y = ((y.sin() + x) * 0.5).exp();
            }
            y
        },
        &x,
    );
    let staged = staged.unwrap();
    let (_, peak, _) = measured(|| staged.interpret(&x).unwrap());
    assert!(peak <= 3 * 8 * n + MEGABYTE, "{} MB", peak / MEGABYTE);
}

/// The gradient of a loop whose steps are all needed again holds so many states as it has snapshots, and the intermediate
/// values of one step.
#[test]
fn checkpoints_hold_what_they_say() {
    let (n, width) = (10_000, 256);
    let state = 8 * width;
    let x: Vector<C, f64> = full(width, 0.5) + 0.0;
    fn loss<A: Algebra>(checkpoints: Option<Checkpoints>, n: usize, x: &Vector<A, f64>) -> Scalar<A, f64> {
        let step = |y: Vector<A, f64>, ()| ((&y * 1.01).sin() * 1.02, ());
        match checkpoints {
            Some(checkpoints) => checkpoints.scan(x.clone(), &(), n, step).0.sum(),
            None => scan(x.clone(), &(), n, step).0.sum(),
        }
    }
    let gradient = |checkpoints| {
        let staged = stage(|x| loss::<Staged>(checkpoints, n, x), &x).unwrap().grad().unwrap();
        let (value, peak, _) = measured(|| staged.interpret(&x).unwrap().to_vec());
        (value, peak, staged.program().node_count())
    };
    let (expected, all, _) = gradient(None);
    assert!(all > n * state, "{all} bytes");
    // In addition to the snapshots: the steps that keep everything, and the memory to compute a step.
    for (checkpoints, states) in [
        (Checkpoints::Snapshots(20), 20),
        (Checkpoints::Every(100), 100 + 2 * 100),
        (Checkpoints::Bytes(100 * state), 100),
    ] {
        let (value, peak, nodes) = gradient(Some(checkpoints));
        assert_eq!(value, expected);
        assert!(peak <= (states + 12) * state + MEGABYTE / 8, "{checkpoints:?}: {} states", peak / state);
        assert!(nodes < 40, "{nodes} nodes");
        // The eager loop keeps no more than the snapshots' Deltas either.
        let (value, peak, _) = measured(|| grad(|x| loss(Some(checkpoints), 1000, x), &x).to_vec());
        assert_eq!(value, grad(|x| loss(None, 1000, x), &x).to_vec());
        if let Checkpoints::Snapshots(_) = checkpoints {
            assert!(peak <= 60 * state + MEGABYTE, "{checkpoints:?}: {} states", peak / state);
        }
    }
}

/// A checkpointed function keeps its arguments, and its intermediate values only while its derivative runs.
#[test]
fn checkpointed_functions_hold_their_arguments() {
    let (blocks, width) = (20, 4096);
    let x: Vector<C, f64> = Vector::from((0..width).map(|i| i as f64 / 1e4).collect::<Vec<f64>>());
    fn block<A: Algebra>(x: &Vector<A, f64>) -> Vector<A, f64> {
        (0..10).fold(x.clone(), |x, _| x.sin() * 1.01)
    }
    let (plain, all, _) = measured(|| grad(|x| (0..blocks).fold(x.clone(), |x, _| block(&x)).sum(), &x).to_vec());
    let (checkpointed, peak, _) =
        measured(|| grad(|x| (0..blocks).fold(x.clone(), |x, _| checkpoint(&x, block)).sum(), &x).to_vec());
    assert_eq!(plain, checkpointed);
    let states = |bytes: usize| bytes / (8 * width);
    assert!(states(all) > 10 * blocks, "{} states", states(all));
    assert!(states(peak) < blocks + 40, "{} states", states(peak));
}

/// However a loop begins, `Bytes` says how much of its steps is kept.
#[test]
fn bytes_are_met_from_constants_too() {
    let width = 4000;
    let rates: Vector<C, f64> = Vector::from((0..width).map(|i| 2.5 + i as f64 / 2e4).collect::<Vec<f64>>());
    for bound in [MEGABYTE / 5, 4 * MEGABYTE / 5] {
        let staged = stage(
            move |r| {
                let (r, n) = (r.clone(), r.len());
                let step = move |x: Vector<Staged, f64>, ()| (&r * &x * (1.0 - &x), ());
                Checkpoints::Bytes(bound).scan(full(n, 0.3), &(), 300, step).0.sum()
            },
            &rates,
        );
        let gradient = staged.unwrap().grad().unwrap();
        let (_, peak, _) = measured(|| gradient.interpret(&rates).unwrap());
        assert!(peak < bound + 30 * 8 * width, "{} bytes for {bound}", peak);
    }
}

/// A step of a loop without checkpoints is computed once, forwards; of one with snapshots so often as theory says.
#[test]
fn eager_checkpoints_run_steps_again_as_often_as_theory_says() {
    use std::cell::Cell;
    use std::rc::Rc;
    for (n, snapshots, advances) in [(1000, 20, 2747), (100, 1, 4950), (10_000, 20, 37_976)] {
        let count = Rc::new(Cell::new(0));
        let counted = count.clone();
        let gradient = grad(
            move |x: &Scalar<deltaray::dual::Dual<C>, f64>| {
                let counted = counted.clone();
                let step = move |y: Scalar<deltaray::dual::Dual<C>, f64>, ()| {
                    counted.set(counted.get() + 1);
                    (y.sin(), ())
                };
                Checkpoints::Snapshots(snapshots).scan(x.clone(), &(), n, step).0
            },
            &scalar(0.7),
        );
        assert!(gradient.item().is_finite());
        assert_eq!(count.get(), advances + n, "{n} steps with {snapshots} snapshots");
    }
}
