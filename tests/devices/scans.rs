//! Recurrences and scans: loops whose step is elementwise, for which nothing is launched step by step.

use crate::is_there;
use deltaray::concrete::Array;
use deltaray::opencl::{DeviceKind, OpenCl};
use deltaray::prelude::*;

/// Every scan that can be is shared among work items.
fn shared() -> OpenCl {
    OpenCl::default().written_for(DeviceKind::Gpu).least_steps(1)
}

const LENGTHS: [usize; 9] = [0, 1, 2, 7, 255, 256, 257, 1000, 5000];

/// Results are the expected ones; floats but for rounding, relative to the largest.
fn assert_close(found: &[Array], expected: &[Array], of: &str) {
    assert_eq!(found.len(), expected.len());
    for (number, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(found.ty(), expected.ty(), "result {number} of {of}");
        let elements = |array: &Array| (0..array.size()).map(|at| array.element(at).to_f64()).collect::<Vec<f64>>();
        let finite = elements(expected).into_iter().filter(|x| x.is_finite());
        let largest = finite.fold(0.0, |largest: f64, x| largest.max(x.abs()));
        let close = match found.dtype().is_float() {
            true if found.dtype().bytes() == 4 => 1e-5 * largest,
            true => 1e-12 * largest,
            false => 0.0,
        };
        for (at, (a, b)) in elements(found).into_iter().zip(elements(expected)).enumerate() {
            let same = (a - b).abs() <= close || a == b || (a.is_nan() && b.is_nan());
            assert!(same, "result {number} of {of}, element {at} of {}: {a} for {b}", found.size());
        }
    }
}

/// Arguments of so many steps at so many places.
fn arguments(length: usize, places: usize) -> (Matrix<Concrete, f64>, Matrix<Concrete, f64>, Matrix<Concrete, i64>) {
    let elements = |rate: f64| (0..length * places).map(|at| (at as f64 * rate).sin()).collect();
    let integers = (0..length * places).map(|at| (at as i64 * 7919) % 1001 - 500).collect();
    let shape = [length, places];
    let matrix = |rate| Matrix::from_elements(shape, elements(rate));
    (matrix(0.37), matrix(0.11), Matrix::from_elements(shape, integers))
}

type Three<A> = (Matrix<A, f64>, Matrix<A, f64>, Matrix<A, i64>);

/// Compares a function on a device with its interpretation, and finds that its loops are written so; the others of its kernels
/// are nests.
macro_rules! compare {
    ($function:expr, $options:expr, $length:expr, $places:expr, $kernels:expr) => {{
        let arguments = arguments($length, $places);
        let staged = stage($function, &arguments).unwrap();
        let expected = staged.call(&arguments).unwrap();
        for options in $options {
            let compiled = staged.compile(options.clone()).unwrap();
            let found = compiled.call(&arguments).unwrap();
            let of = format!("{} steps at {} places, {options:?}:\n{}", $length, $places, compiled.program());
            assert_close(&found.leaves(), &expected.leaves(), &of);
            let source = compiled.program().source();
            let heads = source.lines().filter_map(|line| line.strip_prefix("__kernel void "));
            for name in
                heads.map(|head| head.split('(').next().unwrap().trim_end_matches(|end: char| end.is_ascii_digit()))
            {
                let kernels: &[&str] = &$kernels;
                assert!(kernels.contains(&name), "a kernel {name} of {of}");
            }
        }
    }};
}

const ALL: [&str; 6] = ["recurrence", "chunks", "tiles", "starts", "steps", "nest"];

fn sums<A: Algebra>((x, a, n): &Three<A>) -> (Matrix<A, f64>, Matrix<A, i64>, Matrix<A, f64>) {
    (x.cumsum(0), n.cumsum_reverse(0), linear_recurrence(&x.sum_axis(0), a, x))
}

#[test]
fn running_sums_and_linear_recurrences_of_all_lengths() {
    if !is_there() {
        return;
    }
    let others = [&ALL[..], &["reduction"]].concat();
    for length in LENGTHS {
        compare!(sums, [shared()], length, 1, others);
    }
    for (length, places) in [(7, 3), (1000, 3), (255, 40), (5000, 40)] {
        compare!(sums, [shared()], length, places, others);
    }
    for (length, places) in [(0, 3), (2, 40), (1000, 1)] {
        compare!(sums, [OpenCl::default()], length, places, others);
    }
    // Items that take several steps, and chunks of several steps.
    for (length, places) in [(70_001, 1), (5000, 3)] {
        compare!(sums, [OpenCl::default().written_for(DeviceKind::Gpu)], length, places, others);
    }
}

/// Running totals of all kinds.
#[allow(clippy::type_complexity)]
fn totals<A: Algebra>(
    (x, a, n): &Three<A>,
) -> (
    (Matrix<A, f64>, Matrix<A, f64>, Matrix<A, f64>, Matrix<A, f64>),
    (Matrix<A, i64>, Matrix<A, i64>, Matrix<A, f32>, Matrix<A, bool>),
) {
    let floats = ((1.0 + 0.01 * a).cumprod(0), x.cummax(0), a.cummin_reverse(0), (x * 3.0).cumlogsumexp(0));
    let any = scan(x.sum_axis(0).lt(-1e9), &x.gt(0.99), x.shape()[0], |any, x| {
        let any = any | x;
        (any.clone(), any)
    });
    (floats, (n.cumprod(0), n.cummax_reverse(0), x.cast::<f32>().cumsum_reverse(0), any.1))
}

/// Steps that are affine in what they carry, or in several things, with outputs of what is carried before and behind them.
#[allow(clippy::type_complexity)]
fn affine<A: Algebra>(
    (x, a, n): &Three<A>,
) -> ((Vector<A, f64>, Vector<A, f64>, Vector<A, f64>, Vector<A, i64>), (Matrix<A, f64>, Matrix<A, f64>, Matrix<A, i64>))
{
    let (zero, length) = (x.sum_axis(0) * 0.0, x.shape()[0]);
    let (rate, weights) = (x.sum().cos(), &zero + 0.25);
    let first = (zero.clone() + 0.5, zero.clone(), zero.clone() - 1.0, n.sum_axis(0));
    scan_reverse(first, &(x.clone(), a.clone(), n.clone()), length, |(c, sum, last, i), (x, a, n)| {
        let next = (&a - (&c * 0.75 + &x * &rate) / 2.0) * &weights - &x;
        let outputs = (&next * &c + sum.sin(), &sum - &last, &i * 2 + &n);
        ((next, sum + (&x * &a), x, i * (&n + 1) - n), outputs)
    })
}

/// A loop whose steps are not composable.
fn bent<A: Algebra>((x, a, _): &Three<A>) -> (Vector<A, f64>, Matrix<A, f64>) {
    scan(x.sum_axis(0) * 0.0, &(x.clone(), a.clone()), x.shape()[0], |c, (x, a)| {
        let next = (c * a + x).tanh();
        (next.clone(), next)
    })
}

#[test]
fn every_form_of_step() {
    if !is_there() {
        return;
    }
    let others = [&ALL[..], &["reduction"]].concat();
    for (length, places) in [(1000, 3), (1000, 40)] {
        compare!(totals, [shared()], length, places, others);
        compare!(affine, [shared()], length, places, others);
    }
    compare!(totals, [OpenCl::default()], 257, 3, others);
    compare!(affine, [OpenCl::default()], 257, 3, others);
    compare!(bent, [shared()], 300, 3, ["recurrence", "nest", "reduction"]);
    for (length, places) in [(0, 3), (5, 0), (0, 0)] {
        compare!(affine, [shared()], length, places, others);
    }
}

/// The derivatives of running sums and linear recurrences.
fn loss<A: Algebra>((x, a, _): &Three<A>) -> Scalar<A, f64> {
    let solved = linear_recurrence(&x.sum_axis(0).sin(), a, x);
    (x.cumsum(0) * a).sum() + (&solved * &solved).sum() * 0.5
}

#[test]
fn derivatives_are_scans() {
    if !is_there() {
        return;
    }
    fn slopes<A: Algebra>(arguments: &Three<A>) -> (Matrix<A, f64>, Matrix<A, f64>) {
        let pair = (arguments.0.clone(), arguments.1.clone());
        grad(|(x, a): &(Matrix<_, f64>, Matrix<_, f64>)| loss(&(x.clone(), a.clone(), zeros([0, 0]))), &pair)
    }
    for (length, places) in [(1000, 1), (600, 40)] {
        let shared_kernels = ["chunks", "tiles", "starts", "steps", "nest", "reduction"];
        compare!(slopes, [shared()], length, places, shared_kernels);
    }
    compare!(slopes, [OpenCl::default()], 300, 3, ["recurrence", "nest", "reduction"]);
}

/// The derivative of a loop by what it captures, and of one that carries several things which depend on each other in turn.
fn captured<A: Algebra>((x, a, _): &Three<A>) -> (Vector<A, f64>, Scalar<A, f64>) {
    let (weights, bias) = (a.sum_axis(0).sin(), x.sum().cos() * 0.1);
    let given = (weights, bias);
    grad(
        move |(weights, bias): &(Vector<_, f64>, Scalar<_, f64>)| {
            let (x, zero) = (x.lift(), weights * 0.0);
            let step = |(c, sum): (Vector<_, f64>, Vector<_, f64>), x: Vector<_, f64>| {
                let next = &c * weights + x + bias;
                ((next.clone(), sum + &next * &c), next)
            };
            let ((_, sum), all) = scan((zero.clone(), zero), &x, x.shape()[0], step);
            sum.sum() + all.sin().sum()
        },
        &given,
    )
}

#[test]
fn derivatives_by_captures_are_scans() {
    if !is_there() {
        return;
    }
    let shared_kernels = ["chunks", "tiles", "starts", "steps", "nest", "reduction"];
    for places in [1, 20] {
        compare!(captured, [shared()], 600, places, shared_kernels);
    }
}

#[test]
fn what_overflows_in_part_only_does_no_harm() {
    if !is_there() {
        return;
    }
    fn solved<A: Algebra>((first, a, b): &(Scalar<A, f64>, Vector<A, f64>, Vector<A, f64>)) -> Vector<A, f64> {
        linear_recurrence(first, a, b)
    }
    // Products of factors overflow, but what is carried is 0 there.
    let factors: Vec<f64> = (0..600).map(|at| if at < 300 { 1e200 } else { 0.5 }).collect();
    let terms: Vec<f64> = (0..600).map(|at| if at < 299 { 0.0 } else { 1.0 }).collect();
    let given = (scalar(0.0), Vector::from(factors), Vector::from(terms));
    let staged = stage(solved, (&given.0, &given.1, &given.2)).unwrap();
    let expected = staged.call((&given.0, &given.1, &given.2)).unwrap();
    assert!(expected.to_vec().iter().all(|x| x.is_finite()));
    let found = staged.compile(shared()).unwrap().call((&given.0, &given.1, &given.2)).unwrap();
    assert_close(&found.leaves(), &expected.leaves(), "factors that overflow");
    // What is not a number stays so.
    let mut terms = given.2.to_vec();
    terms[400] = f64::NAN;
    let given = (given.0, given.1, Vector::from(terms));
    let expected = staged.call((&given.0, &given.1, &given.2)).unwrap();
    let found = staged.compile(shared()).unwrap().call((&given.0, &given.1, &given.2)).unwrap();
    assert_close(&found.leaves(), &expected.leaves(), "a term that is not a number");
}

/// Running products and a linear recurrence.
fn factors<A: Algebra>(
    (first, a, b): &(Vector<A, f64>, Matrix<A, f64>, Matrix<A, f64>),
) -> (Matrix<A, f64>, Matrix<A, f64>) {
    (a.cumprod(0), linear_recurrence(first, a, b))
}

#[test]
fn factors_that_are_infinite_are_told_from_those_that_overflow() {
    if !is_there() {
        return;
    }
    for places in [2, 20] {
        // In the first place a zero comes before infinity, or after it; in the second one products overflow alone.
        let factor = |at: usize| match (at % places, at / places) {
            (0, 100) => 0.0,
            (0, 300 | 301) => f64::INFINITY,
            (0, _) => 1.0,
            (_, 50..60) => 1e200,
            (_, 60..70) => 1e-200,
            _ => 1.0,
        };
        let a = Matrix::from_elements([400, places], (0..400 * places).map(factor).collect());
        let given = (zeros(places), a.clone(), zeros([400, places]));
        let staged = stage(factors, (&given.0, &given.1, &given.2)).unwrap();
        let compiled = staged.compile(shared()).unwrap();
        for a in [a.clone(), a.reverse(0)] {
            for first in [0.0, 0.5, -2.0] {
                let first = Vector::from(vec![first; places]);
                let expected = staged.call((&first, &a, &given.2)).unwrap();
                assert!(expected.1.to_vec().iter().any(|x| x.is_nan() || x.is_infinite()));
                let found = compiled.call((&first, &a, &given.2)).unwrap();
                assert_close(&found.leaves(), &expected.leaves(), "infinite factors");
            }
        }
    }
}
