//! Loops: the number of steps, and the steps that are kept, never show in values; a loop that never ends is run only where it
//! is reached.

use crate::harness::C;
use deltaray::algebra::Algebra;
use deltaray::derivative::stage;
use deltaray::dual::{Dual, Tangent};
use deltaray::prelude::*;
use std::sync::mpsc::channel;
use std::time::Duration;

/// Runs a test that would never end if it failed.
fn ends(test: impl FnOnce() + Send + 'static) {
    let (done, wait) = channel();
    std::thread::spawn(move || {
        test();
        done.send(()).expect("the test waits");
    });
    wait.recv_timeout(Duration::from_secs(120)).expect("the test ends");
}

fn endless<A: Algebra>(x: &Scalar<A, f64>) -> Scalar<A, f64> {
    while_loop(x.exp(), |y| y.gt(0.0), |y| &y + 1.0)
}

#[test]
fn endless_loops_that_are_not_reached() {
    fn programs<A: Algebra>(x: &Scalar<A, f64>) -> [Scalar<A, f64>; 3] {
        // In a build both sides run for all elements, but steps only where they are chosen.
        let elements = build(2, |i| {
            let y = x * (i * 2 - 1).cast::<f64>();
            let other =
                || fold(2.0 * &y, &ones(2), |c, _: Scalar<A, f64>| cond(c.lt(-9.0), || endless(&y), || c * 1.0));
            cond(y.gt(0.0), || y.clone(), other)
        });
        [
            elements.sum(),
            cond(x.lt(0.0), || endless(x), || 2.0 * x),
            while_loop(x.clone(), |y| y.lt(0.0), |y| y * endless(x)),
        ]
    }
    ends(|| {
        let x = scalar(0.5);
        for (at, expected) in [(0, (-0.5, -1.0)), (1, (1.0, 2.0)), (2, (0.5, 1.0))] {
            assert_eq!(programs::<C>(&x)[at].item(), expected.0);
            let (value, slope) = value_and_grad(|x| programs::<Dual<C>>(x)[at].clone(), &x);
            assert_eq!((value.item(), slope.item()), expected);
            assert_eq!(jvp(|x| programs::<Tangent<C>>(x)[at].clone(), &x, &scalar(1.0)).1.item(), expected.1);
            let staged = stage(|x| programs(x)[at].clone(), &x).unwrap();
            assert_eq!(staged.call(&x).unwrap().item(), expected.0);
            let (value, slope) = staged.value_and_grad().unwrap().call(&x).unwrap();
            assert_eq!((value.item(), slope.item()), expected);
        }
        // A Jacobian maps over directions, on which the condition does not depend.
        let x: Vector<C, f64> = Vector::from_slice(&[0.5, 0.8]);
        fn side<A: Algebra>(x: &Vector<A, f64>) -> Vector<A, f64> {
            x * cond(x.at(0).lt(0.0), || endless(&x.at(1)), || x.at(1))
        }
        let jacobian = stage(|x| jacfwd(side, x), &x).unwrap();
        assert_eq!(jacobian.call(&x).unwrap(), jacfwd(side, &x));
        let jacobian = stage(|x| jacrev(side, x), &x).unwrap();
        assert_eq!(jacobian.call(&x).unwrap(), jacrev(side, &x));
        // A loop of no steps, staged. Eager loops run one step on zeros, to see the types of their outputs.
        let x = scalar(0.5);
        let staged = stage(|x| scan(x.clone(), &(), 0, |y, ()| (y * endless(x), ())).0, &x).unwrap();
        let (value, slope) = staged.value_and_grad().unwrap().call(&x).unwrap();
        assert_eq!((value.item(), slope.item()), (0.5, 1.0));
    });
}

/// Loops of no and of one step, of every kind, on every instance.
#[test]
fn few_steps() {
    fn network<A: Algebra>(
        checkpoints: Checkpoints,
        x: &(Scalar<A, f64>, Vector<A, f64>),
    ) -> (Scalar<A, f64>, Vector<A, f64>) {
        let (c, xs) = (x.0.clone(), x.1.clone());
        let n = xs.len();
        checkpoints.scan(c.clone(), &xs, n, move |y, x| {
            let next = (y * x).sin() + &c;
            (next.clone(), next.powi(2))
        })
    }
    let plans = [
        Checkpoints::All,
        Checkpoints::Every(0),
        Checkpoints::Every(1),
        Checkpoints::Every(9),
        Checkpoints::Snapshots(0),
        Checkpoints::Snapshots(9),
        Checkpoints::Bytes(0),
        Checkpoints::Bytes(1 << 40),
        Checkpoints::Bytes(usize::MAX),
        Checkpoints::Snapshots(usize::MAX),
        Checkpoints::Every(usize::MAX),
    ];
    for n in [0usize, 1, 2, 5] {
        let xs: Vec<f64> = (0..n).map(|at| 0.3 + at as f64).collect();
        let at = (scalar(0.7), Vector::<C, f64>::from_slice(&xs));
        let sum = |x: &(Scalar<Dual<C>, f64>, Vector<Dual<C>, f64>), plan| {
            let (last, all) = network(plan, x);
            last + all.sum()
        };
        let expected = value_and_grad(|x| sum(x, Checkpoints::All), &at);
        for plan in plans {
            let found = value_and_grad(move |x| sum(x, plan), &at);
            assert_eq!(found, expected, "{plan:?}, {n} steps, eager");
            let staged = stage(
                move |x| {
                    let (last, all) = network(plan, x);
                    last + all.sum()
                },
                &at,
            );
            let found = staged.unwrap().value_and_grad().unwrap().call(&at).unwrap();
            assert!((found.0.item() - expected.0.item()).abs() < 1e-14, "{plan:?}, {n} steps, staged");
            assert!((found.1.0.item() - expected.1.0.item()).abs() < 1e-14, "{plan:?}, {n} steps, staged");
            let pairs = found.1.1.to_vec().into_iter().zip(expected.1.1.to_vec());
            assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-14), "{plan:?}, {n} steps, staged");
        }
    }
}

/// Where running and staging differ: a step that is not run is seen when it is staged.
#[test]
fn steps_that_are_not_run_are_checked_when_they_are_staged() {
    fn never<A: Algebra>(x: &Vector<A, f64>) -> Vector<A, f64> {
        while_loop(x.clone(), |c| c.sum().gt(1e9), |c| c.pad(0, 0, 1))
    }
    let x: Vector<C, f64> = Vector::from_slice(&[0.5, 0.8]);
    assert_eq!(never(&x), x);
    assert_eq!(grad(|x| never(x).sum(), &x).to_vec(), [1.0; 2]);
    let error = stage(never, &x).expect_err("the step gives another shape").to_string();
    assert!(error.starts_with("while_loop: what a step is given and what it passes on differ"), "{error}");
}
