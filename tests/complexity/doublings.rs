//! Values that are used more than once in each step.

use super::*;

#[test]
fn alone() {
    for kind in 0..KINDS {
        guarded(move || assert_linear(100, &|n, x| blow_up(kind, n, x)));
    }
}

#[test]
fn thousands() {
    // As many as fit into the suite's time without optimisation.
    const STEPS: usize = if cfg!(debug_assertions) { 2_500 } else { 10_000 };
    for kind in [0, 1, 3] {
        guarded(move || {
            let x = v(&[0.5, 0.25]);
            let staged = stage(|x| blow_up(kind, STEPS, x).sum(), &x).unwrap();
            let gradient = staged.value_and_grad().unwrap();
            assert!(gradient.to_string().len() < 10_000_000);
            assert!(gradient.program().node_count() <= 20 * STEPS + 100);
            let (value, slope) = gradient.interpret(&x).unwrap();
            let (expected, expected_slope) = value_and_grad(|x| blow_up(kind, STEPS, x).sum(), &x);
            assert!((value.item() == expected.item()) || (value.item() - expected.item()).abs() < 1e-6);
            for (a, b) in slope.to_vec().into_iter().zip(expected_slope.to_vec()) {
                assert!(a == b || (a - b).abs() <= 1e-6 * b.abs(), "{kind}: {a} and {b}");
            }
        });
    }
}

#[test]
fn in_builds() {
    for kind in 0..KINDS {
        guarded(move || {
            assert_linear(100, &|n, x| build(3, |i| blow_up(kind, n, &x.at(i))));
            assert_linear(40, &|n, x| build(3, |i| blow_up(kind, n, &build(2, |j| x.at(&i + j))).sum()));
        });
    }
}

#[test]
fn in_loops_and_choices() {
    for kind in 0..KINDS {
        guarded(move || {
            assert_linear(40, &|n, x| scan(x.clone(), &(), 4, |c, ()| (blow_up(kind, n, &c), ())).0);
            assert_linear(40, &|n, x| cond(x.at(0).gt(0.0), || blow_up(kind, n, x), || x.clone()));
        });
    }
}

#[test]
fn of_builds() {
    // Each build reads the one before at two places.
    guarded(|| {
        assert_linear(40, &|n, x| {
            let mut y = x.clone();
            for _ in 0..n {
                y = build(3, |i| (y.at(&i) + y.at(&i - 1)).sin());
            }
            y
        });
    });
    guarded(|| {
        assert_linear(40, &|n, x| {
            let p: Vector<Staged, i64> = constant(&Vector::<C, i64>::from_slice(&[2, 0, 0]));
            let mut y = x.clone();
            for _ in 0..n {
                y = build(3, |i| (y.at(&i) * y.at(p.at(i))).exp());
            }
            y
        });
    });
}

#[test]
fn eager() {
    for kind in 0..KINDS {
        guarded(move || {
            let x = v(&[0.5, 0.25]);
            let _ = grad(|x| blow_up(kind, 10_000, x).sum(), &x);
            let _ = grad(|x| build(2, |i| blow_up(kind, 2_000, &x.at(i))).sum(), &x);
            let _ = jvp(|x| blow_up(kind, 10_000, x), &x, &x);
            let _ = grad(|x| grad(|y| blow_up(kind, 1_000, y).sum(), x).sum(), &x);
            let _ = jvp(|x| grad(|y| blow_up(kind, 1_000, y).sum(), x), &x, &x);
            let _ = grad(|x| jvp(|y| blow_up(kind, 1_000, y), x, x).1.sum(), &x);
        });
    }
}
