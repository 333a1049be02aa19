//! Recurrences and scans: loops with an elementwise step, without launches step by step.

use crate::is_there;
use deltaray::concrete::Array;
use deltaray::opencl::{DeviceKind, OpenCl};
use deltaray::prelude::*;

/// Every scan that can be is shared among work items, in one kernel.
fn shared() -> OpenCl {
    OpenCl::default().written_for(DeviceKind::Gpu).least_steps(1)
}

/// Work items that go through all steps of a place alone.
fn alone() -> OpenCl {
    OpenCl::default().written_for(DeviceKind::Cpu)
}

/// The same in three kernels, none of whose groups waits for another one.
fn in_three() -> OpenCl {
    OpenCl::default().written_for(DeviceKind::Accelerator).least_steps(1)
}

/// The names of kernels of scans where groups wait for each other, and where they do not.
const AT_ONCE: [&str; 1] = ["scan"];
const APART: [&str; 4] = ["chunks", "tiles", "starts", "steps"];

/// Checks results against the expected ones; floats up to rounding, relative to the largest.
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
        let expected = staged.interpret(&arguments).unwrap();
        for options in $options {
            let compiled = staged.compile(options.clone()).unwrap();
            let found = compiled.call(&arguments).unwrap();
            let of = format!("{} steps at {} places, {options:?}:\n{}", $length, $places, compiled.program());
            assert_close(&found.leaves(), &expected.leaves(), &of);
            let kernels: &[&str] = &$kernels;
            for name in kernels_of(compiled.program().source()) {
                assert!(kernels.contains(&name), "a kernel {name} of {of}");
            }
        }
    }};
}

/// Kernels beside those of scans, with and without loops that are not shared among items.
const OTHERS: [&str; 3] = ["recurrence", "nest", "reduction"];
const FEWER: [&str; 2] = ["nest", "reduction"];

/// The names of a source's kernels, without their numbers.
fn kernels_of(source: &str) -> Vec<&str> {
    let heads = source.lines().filter(|line| line.starts_with("__kernel"));
    let names = heads.map(|head| head.split_once(" void ").unwrap().1.split('(').next().unwrap());
    names.map(|name| name.trim_end_matches(|end: char| end.is_ascii_digit())).collect()
}

/// Compares a function in both forms of scans; others of its kernels may be these.
macro_rules! compare_forms {
    ($function:expr, $length:expr, $places:expr, $others:expr) => {{
        compare!($function, [shared()], $length, $places, [&AT_ONCE[..], &$others].concat());
        compare!($function, [in_three()], $length, $places, [&APART[..], &$others].concat());
    }};
}

fn sums<A: Algebra>((x, a, n): &Three<A>) -> (Matrix<A, f64>, Matrix<A, i64>, Matrix<A, f64>) {
    (x.cumsum(0), n.cumsum_reverse(0), linear_recurrence(&x.sum_axis(0), a, x))
}

#[test]
fn running_sums_and_linear_recurrences_of_all_lengths() {
    if !is_there() {
        return;
    }
    // About the borders of tiles, which are of 512 steps at one place where a scan is one kernel, and of 256 where it is three.
    for length in [0, 7, 512, 513] {
        compare!(sums, [shared()], length, 1, [&AT_ONCE[..], &OTHERS].concat());
    }
    for length in [1, 256, 257] {
        compare!(sums, [in_three()], length, 1, [&APART[..], &OTHERS].concat());
    }
    for (length, places) in [(1000, 3), (255, 40)] {
        compare_forms!(sums, length, places, OTHERS);
    }
    for (length, places) in [(0, 3), (2, 40), (1000, 1)] {
        compare!(sums, [alone()], length, places, OTHERS);
    }
    // Items that take several steps, and chunks of several steps.
    for (length, places) in [(70_001, 1), (9000, 17)] {
        compare!(
            sums,
            [OpenCl::default().written_for(DeviceKind::Gpu)],
            length,
            places,
            [&AT_ONCE[..], &OTHERS].concat()
        );
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

/// Steps that are affine in one carry, or in several, with outputs of the carries before and after them.
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
    for (length, places) in [(1000, 3), (1000, 40)] {
        compare!(totals, [shared()], length, places, [&AT_ONCE[..], &OTHERS].concat());
        compare!(affine, [shared()], length, places, [&AT_ONCE[..], &OTHERS].concat());
    }
    compare!(totals, [in_three()], 1000, 40, [&APART[..], &OTHERS].concat());
    compare!(affine, [in_three()], 1000, 3, [&APART[..], &OTHERS].concat());
    compare!(totals, [alone()], 257, 3, OTHERS);
    compare!(affine, [alone()], 257, 3, OTHERS);
    compare!(bent, [shared()], 300, 3, ["recurrence", "nest", "reduction"]);
    for (length, places) in [(0, 3), (5, 0), (0, 0)] {
        compare!(affine, [shared()], length, places, [&AT_ONCE[..], &OTHERS].concat());
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
        compare!(slopes, [shared()], length, places, [&AT_ONCE[..], &FEWER].concat());
    }
    compare!(slopes, [in_three()], 1000, 1, [&APART[..], &FEWER].concat());
    compare!(slopes, [alone()], 300, 3, ["recurrence", "nest", "reduction"]);
}

/// The derivative of a loop by its captures, and of one with several carries that depend on each other in turn.
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
    for places in [1, 20] {
        compare!(captured, [shared()], 600, places, [&AT_ONCE[..], &FEWER].concat());
    }
    compare!(captured, [in_three()], 600, 20, [&APART[..], &FEWER].concat());
}

#[test]
fn what_overflows_in_part_only_does_no_harm() {
    if !is_there() {
        return;
    }
    fn solved<A: Algebra>((first, a, b): &(Scalar<A, f64>, Vector<A, f64>, Vector<A, f64>)) -> Vector<A, f64> {
        linear_recurrence(first, a, b)
    }
    // Products of factors overflow, but the carry is 0 there.
    let factors: Vec<f64> = (0..600).map(|at| if at < 300 { 1e200 } else { 0.5 }).collect();
    let terms: Vec<f64> = (0..600).map(|at| if at < 299 { 0.0 } else { 1.0 }).collect();
    let given = (scalar(0.0), Vector::from(factors), Vector::from(terms));
    let staged = stage(solved, (&given.0, &given.1, &given.2)).unwrap();
    let expected = staged.interpret((&given.0, &given.1, &given.2)).unwrap();
    assert!(expected.to_vec().iter().all(|x| x.is_finite()));
    let found = staged.compile(shared()).unwrap().call((&given.0, &given.1, &given.2)).unwrap();
    assert_close(&found.leaves(), &expected.leaves(), "factors that overflow");
    // NaN stays NaN.
    let mut terms = given.2.to_vec();
    terms[400] = f64::NAN;
    let given = (given.0, given.1, Vector::from(terms));
    let expected = staged.interpret((&given.0, &given.1, &given.2)).unwrap();
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
                let expected = staged.interpret((&first, &a, &given.2)).unwrap();
                assert!(expected.1.to_vec().iter().any(|x| x.is_nan() || x.is_infinite()));
                let found = compiled.call((&first, &a, &given.2)).unwrap();
                assert_close(&found.leaves(), &expected.leaves(), "infinite factors");
            }
        }
    }
}

/// A linear recurrence of the given first value.
fn recurrence<A: Algebra>((first, a, b): &(Vector<A, f64>, Matrix<A, f64>, Matrix<A, f64>)) -> Matrix<A, f64> {
    linear_recurrence(first, a, b)
}

/// How often an array is read in a source.
fn reads(source: &str, array: &str) -> usize {
    source.lines().map(|line| line.matches(&format!("= {array}[")).count()).sum()
}

#[test]
fn a_scan_is_one_kernel_that_reads_its_inputs_once() {
    if !is_there() {
        return;
    }
    // One tile, two, and many; at few places, and at so many that neighbouring items have neighbouring ones.
    for (length, places) in [(500, 1), (40_000, 1), (2000, 3), (60, 40), (3000, 17)] {
        let (x, a, _) = arguments(length, places);
        let given = (x.sum_axis(0), a, x);
        let staged = stage(recurrence, (&given.0, &given.1, &given.2)).unwrap();
        let expected = staged.interpret((&given.0, &given.1, &given.2)).unwrap();
        let of = |options: &OpenCl| {
            let compiled = staged.compile(options.clone()).unwrap();
            let found = compiled.call((&given.0, &given.1, &given.2)).unwrap();
            let text = format!("{length} steps at {places} places, {options:?}:\n{}", compiled.program());
            assert_close(&found.leaves(), &expected.leaves(), &text);
            (compiled, text)
        };
        let (compiled, text) = of(&shared());
        let (program, source) = (compiled.program(), compiled.program().source());
        assert_eq!((program.kernels(), kernels_of(source)), (1, vec!["scan"]), "{text}");
        assert_eq!([reads(source, "b1"), reads(source, "b2")], [1, 1], "{text}");
        let is_one_tile = !source.contains("ticket");
        assert_eq!(is_one_tile, [(500, 1), (60, 40)].contains(&(length, places)), "{text}");
        // Without waiting for each other groups take three kernels; two of them read the inputs.
        if is_one_tile {
            continue;
        }
        let (compiled, text) = of(&in_three());
        let source = compiled.program().source();
        assert_eq!(compiled.program().kernels(), 3, "{text}");
        assert!(reads(source, "b1") > 1 && reads(source, "b2") > 1, "{text}");
        assert!(!source.contains("atomic_"), "{text}");
    }
}

/// Sums, products and recurrences of all element types, forward and backward.
#[allow(clippy::type_complexity)]
fn of_all_types<A: Algebra>(
    (x, a, n): &Three<A>,
) -> (
    (Matrix<A, f64>, Matrix<A, f32>, Matrix<A, i64>, Matrix<A, i32>, Matrix<A, bool>),
    (Matrix<A, f32>, Matrix<A, i64>, Vector<A, bool>),
) {
    let (length, zero) = (x.shape()[0], x.sum_axis(0) * 0.0);
    let (short, small) = (x.cast::<f32>(), n.cast::<i32>());
    let first = (zero.cast::<f32>(), n.sum_axis(0), x.sum_axis(0).lt(-1e9));
    // Carries of several types, two of which depend on one another in turn.
    let (last, outputs) =
        scan_reverse(first, &(a.cast::<f32>(), n.clone(), x.gt(0.9)), length, |(c, i, is_any), (a, n, is_large)| {
            let next = &c * &a + 0.5;
            let any = &is_any ^ is_large;
            ((next, &i * 3 - &n, any.clone()), (c, i))
        });
    let odd = scan(x.sum_axis(0).lt(-1e9), &x.gt(0.5), length, |odd, x| {
        let odd = odd ^ x;
        (odd.clone(), odd)
    });
    let totals = (linear_recurrence(&zero, a, x), short.cumsum(0), n.cumsum_reverse(0), small.cumprod(0), odd.1);
    (totals, (outputs.0, outputs.1, last.2))
}

#[test]
fn tiles_of_all_types_hand_on_what_is_carried() {
    if !is_there() {
        return;
    }
    // Two tiles, and many.
    for (length, places) in [(513, 1), (40_000, 1), (20_000, 17)] {
        compare!(of_all_types, [shared()], length, places, [&AT_ONCE[..], &OTHERS].concat());
    }
    compare!(of_all_types, [in_three()], 3000, 17, [&APART[..], &OTHERS].concat());
}

#[test]
fn what_is_no_number_or_infinite_is_handed_on() {
    if !is_there() {
        return;
    }
    for places in [1, 20] {
        let length = 6000;
        let terms = |at: usize| match at / places {
            3000 => f64::NAN,
            1000 => f64::INFINITY,
            at => (at as f64).sin(),
        };
        let b = Matrix::from_elements([length, places], (0..length * places).map(terms).collect());
        let a = Matrix::from_elements([length, places], vec![0.5; length * places]);
        let given = (zeros(places), a, b);
        let staged = stage(factors, (&given.0, &given.1, &given.2)).unwrap();
        let expected = staged.interpret((&given.0, &given.1, &given.2)).unwrap();
        let last = expected.1.to_vec();
        assert!(last[999 * places].is_finite() && last[2999 * places] == f64::INFINITY && last[3000 * places].is_nan());
        for options in [shared(), in_three()] {
            let found = staged.compile(options.clone()).unwrap().call((&given.0, &given.1, &given.2)).unwrap();
            assert_close(&found.leaves(), &expected.leaves(), &format!("{places} places, {options:?}"));
        }
    }
}

#[test]
fn scans_in_loops_and_in_programs_that_are_called_again() {
    if !is_there() {
        return;
    }
    fn repeated<A: Algebra>((x, a, _): &Three<A>) -> (Matrix<A, f64>, Matrix<A, f64>) {
        let zero = x.sum_axis(0) * 0.0;
        let sums = iterate(x.clone(), 5, |x: Matrix<A, f64>| (x.cumsum(0) * 0.001).sin());
        let (solved, _) = while_loop(
            (sums.clone(), scalar(1.0)),
            |(_, n): &(Matrix<A, f64>, Scalar<A, f64>)| n.lt(&scalar(9.0)),
            |(x, n)| ((linear_recurrence(&zero, a, &x).cumsum_reverse(0) * 0.001).sin(), n * 2.0),
        );
        (sums, solved)
    }
    for (length, places) in [(3000, 1), (900, 20)] {
        let given = arguments(length, places);
        let staged = stage(repeated, &given).unwrap();
        let compiled = staged.compile(shared().single_item(0)).unwrap();
        let kernels = kernels_of(compiled.program().source());
        assert_eq!(kernels.iter().filter(|name| **name == "scan").count(), 3, "{kernels:?}");
        let other = (&given.1 * 0.5, given.0.clone(), given.2.clone());
        let mut found_before: Vec<Vec<Array>> = Vec::new();
        for given in [&given, &other, &given, &other, &given, &other] {
            let expected = staged.interpret(given).unwrap();
            let found = compiled.call(given).unwrap().leaves();
            assert_close(&found, &expected.leaves(), "a scan that runs again");
            // Wherever groups find the carries, they are the same to the last bit.
            if found_before.len() >= 2 {
                let bits = |array: &Array| (0..array.size()).map(|at| array.element(at).to_f64().to_bits()).collect();
                let all = |arrays: &[Array]| arrays.iter().map(bits).collect::<Vec<Vec<u64>>>();
                assert_eq!(all(&found), all(&found_before[found_before.len() - 2]));
            }
            found_before.push(found);
        }
    }
}
