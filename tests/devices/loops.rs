//! Loops on devices.

use crate::is_there;
use deltaray::concrete::Concrete;
use deltaray::opencl::{OpenCl, Program};
use deltaray::prelude::*;
use deltaray::term::Checkpoints;

/// Numbers of steps, about the sizes of batches.
const STEPS: [usize; 9] = [0, 1, 2, 3, 15, 16, 17, 31, 100];

/// Elements of arrays.
const MANY: usize = 100;

/// Has the host launch all steps of loops.
fn by_the_host() -> OpenCl {
    OpenCl::default().single_item(0)
}

/// How often the host may wait for a loop of so many steps that is run so many times from its beginning.
fn waits(steps: usize, times: usize) -> usize {
    times * (6 + steps / 16)
}

/// The result of a run, and how often it waited.
fn counted<T>(program: &Program, run: impl FnOnce() -> deltaray::Result<T>) -> (T, usize) {
    let before = program.transfers().waits;
    let result = run().unwrap();
    (result, (program.transfers().waits - before) as usize)
}

fn some(count: usize) -> Vector<Concrete, f64> {
    Vector::from((0..count).map(|at| 0.3 + 0.7 * (at as f64 * 0.37).sin()).collect::<Vec<f64>>())
}

fn assert_near(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{what}: {a} is not {b}");
    }
}

/// A recurrence of so many steps, where only the condition knows the number.
fn steps_of<A: Algebra>(checkpoints: Checkpoints, n: &Scalar<A, f64>, x: &Vector<A, f64>) -> Scalar<A, f64> {
    let (start, n, x) = ((scalar(0.0), x.clone()), n.clone(), x.clone());
    let step = move |(made, y): (Scalar<A, f64>, Vector<A, f64>)| (made + 1.0, (y * 1.1 + &x).sin());
    checkpoints.while_loop(start, move |(made, _)| made.lt(&n), step).1.powi(2).sum()
}

#[test]
fn a_loop_with_a_condition_waits_once_for_many_steps() {
    if !is_there() {
        return;
    }
    let x = some(MANY);
    let staged = stage(|(x, n)| steps_of(Checkpoints::All, n, x), (&x, &scalar(1.0))).unwrap();
    let compiled = staged.compile(by_the_host()).unwrap();
    for steps in STEPS {
        let n = scalar(steps as f64);
        let expected = staged.interpret((&x, &n)).unwrap();
        compiled.call((&x, &scalar(1000.0))).unwrap();
        for again in [false, true] {
            let (found, waited) = counted(compiled.program(), || compiled.call((&x, &n)));
            assert_near(&[found.item()], &[expected.item()], &format!("{steps} steps, again: {again}"));
            // The second time, the number of steps is expected.
            let most = if again { steps / 16 + 1 } else { waits(steps, 1) };
            assert!(waited <= most, "{waited} for {steps}, again: {again}");
        }
    }
}

/// The derivatives of the recurrence, whatever is kept of its steps, which are gone over from the beginning so many times.
fn check_derivatives(checkpoints: Checkpoints, passes: usize) {
    let x = some(MANY);
    let derivatives =
        [stage(|(x, n)| steps_of(checkpoints, n, x), (&x, &scalar(1.0))).unwrap().value_and_grad().unwrap()];
    for staged in derivatives {
        let compiled = staged.compile(by_the_host()).unwrap();
        for steps in STEPS {
            let n = scalar(steps as f64);
            let (value, slope) = staged.interpret((&x, &n)).unwrap();
            let ((found, found_slope), waited) = counted(compiled.program(), || compiled.call((&x, &n)));
            let what = format!("{steps} steps with {checkpoints:?}");
            assert_near(&[found.item()], &[value.item()], &what);
            assert_near(&found_slope.to_vec(), &slope.to_vec(), &what);
            assert!(waited <= waits(steps, passes), "{waited}: {what}");
        }
    }
    let second = stage(
        |(x, n)| grad(|x: &Vector<_, f64>| steps_of(checkpoints, &n.lift(), x), x).powi(2).sum(),
        (&x, &scalar(1.0)),
    );
    let second = second.unwrap().grad().unwrap();
    let compiled = second.compile(by_the_host()).unwrap();
    for steps in STEPS {
        let n = scalar(steps as f64);
        let expected = second.interpret((&x, &n)).unwrap();
        let found = compiled.call((&x, &n)).unwrap();
        let largest = expected.to_vec().iter().fold(1.0f64, |largest, x| largest.max(x.abs()));
        let what = format!("second derivative of {steps} steps with {checkpoints:?}");
        let scaled = |found: &Vector<Concrete, f64>| found.to_vec().iter().map(|x| x / largest).collect::<Vec<f64>>();
        assert_near(&scaled(&found), &scaled(&expected), &what);
    }
}

#[test]
fn derivatives_of_loops_of_which_everything_is_kept() {
    if is_there() {
        check_derivatives(Checkpoints::All, 2);
    }
}

#[test]
fn derivatives_of_loops_with_checkpoints_at_equal_distances() {
    if is_there() {
        check_derivatives(Checkpoints::Every(1), 2);
        check_derivatives(Checkpoints::Every(5), 2);
        check_derivatives(Checkpoints::Every(16), 2);
    }
}

#[test]
fn derivatives_of_loops_with_snapshots() {
    if is_there() {
        check_derivatives(Checkpoints::Snapshots(3), 2);
    }
}

#[test]
fn derivatives_of_loops_of_which_some_bytes_are_kept() {
    if is_there() {
        check_derivatives(Checkpoints::Bytes(20_000), 3);
    }
}

/// The sums of a recurrence inside of a loop with a condition, and of a loop with a condition inside of that.
fn loops_in_a_loop<A: Algebra>(x: &Vector<A, f64>, bound: &Scalar<A, f64>) -> Scalar<A, f64> {
    let (sums, _) = while_loop(
        (scalar(0.0), x.clone()),
        |(sum, _): &(Scalar<A, f64>, Vector<A, f64>)| sum.lt(bound),
        |(sum, y)| {
            let y = fold(y, x, |y, x| y * 0.9 + x * 0.1);
            let least = while_loop(y.sum().abs() + 4.0, |z| z.gt(1.5), |z| z * 0.7);
            let y = cond(least.gt(1.2), || y.sin(), || y.cos() * 0.5);
            (sum + least, y)
        },
    );
    sums
}

#[test]
fn loops_and_conditionals_in_loops() {
    if !is_there() {
        return;
    }
    let x = some(12);
    let function = stage(|(x, bound)| loops_in_a_loop(x, bound), (&x, &scalar(1.0))).unwrap();
    let derivative = function.value_and_grad().unwrap();
    let (of_host, of_item) = (function.compile(by_the_host()).unwrap(), function.compile(OpenCl::default()).unwrap());
    let (host_slope, item_slope) =
        (derivative.compile(by_the_host()).unwrap(), derivative.compile(OpenCl::default()).unwrap());
    // All of it is one kernel, which nobody waits for, with one or more around it.
    assert!(of_item.program().kernels() < of_host.program().kernels(), "{of_item}");
    for bound in [-1.0, 1.0, 20.0, 50.0] {
        let bound = scalar(bound);
        let expected = function.interpret((&x, &bound)).unwrap().item();
        assert_near(&[of_host.call((&x, &bound)).unwrap().item()], &[expected], "the host's");
        assert_near(&[of_item.call((&x, &bound)).unwrap().item()], &[expected], "one item's");
        assert_eq!(of_item.program().transfers().waits, 0);
        assert!(of_host.program().transfers().waits > 0);
        let (_, slope) = derivative.interpret((&x, &bound)).unwrap();
        for compiled in [&host_slope, &item_slope] {
            let (value, found) = compiled.call((&x, &bound)).unwrap();
            assert_near(&[value.item()], &[expected], "the value with its derivative");
            assert_near(&found.to_vec(), &slope.to_vec(), "the derivative");
        }
    }
}

/// A loop of a known number of steps.
fn recurrence<A: Algebra>(x: &Vector<A, f64>) -> (Scalar<A, f64>, Vector<A, f64>) {
    let n = x.len();
    scan(scalar(0.5), x, n, |y: Scalar<A, f64>, x: Scalar<A, f64>| {
        let next = (y * 0.9 + &x).tanh();
        (next.clone(), next * x)
    })
}

#[test]
fn a_loop_of_small_steps_is_one_kernel() {
    if !is_there() {
        return;
    }
    let x = some(1000);
    let function = stage(recurrence, &x).unwrap();
    let (last, all) = function.interpret(&x).unwrap();
    let compiled = function.compile(OpenCl::default()).unwrap();
    assert_eq!(compiled.program().kernels(), 1, "{compiled}");
    let by_host = function.compile(by_the_host()).unwrap();
    assert!(!by_host.to_string().contains("sequential"), "{by_host}");
    for compiled in [compiled, by_host] {
        let (found, found_all) = compiled.call(&x).unwrap();
        assert_near(&[found.item()], &[last.item()], "the last");
        assert_near(&found_all.to_vec(), &all.to_vec(), "all");
        assert_eq!(compiled.program().transfers().waits, 0);
    }
}
