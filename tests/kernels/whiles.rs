//! Conditionals and loops with conditions and checkpoints in compiled programs, against the same programs on plain arrays.

use super::numbers;
use deltaray::concrete::Array;
use deltaray::engine::cpu::Cpu;
use deltaray::prelude::*;
use deltaray::term::Checkpoints;

type V<A> = Vector<A, f64>;
type S<A> = Scalar<A, f64>;

/// All elements of all leaves.
fn elements<T: Tree<Concrete>>(tree: &T) -> Vec<f64> {
    tree.leaves().iter().flat_map(|leaf: &Array| (0..leaf.size()).map(|at| leaf.element(at).to_f64())).collect()
}

fn same(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        let close = (found - expected).abs() <= 1e-12 * (1.0 + expected.abs());
        let same = found == expected || found.is_nan() && expected.is_nan() || close;
        assert!(same, "{what}: {found} at {at} instead of {expected}");
    }
}

/// A staged program runs compiled, twice, as it does on plain arrays, and leaves nothing to these.
macro_rules! agree {
    ($program:expr, $arguments:expr, $what:expr) => {{
        let (program, what): (_, &str) = ($program, $what);
        let compiled = program.compile(Cpu::default()).unwrap();
        assert!(!compiled.to_string().contains("call "), "{what}: {compiled}");
        let expected = elements(&program.interpret($arguments).unwrap());
        for _ in 0..2 {
            same(&elements(&compiled.call($arguments).unwrap()), &expected, what);
        }
        compiled
    }};
}

/// Checks a function, its gradient, and the gradient of the sum of squares of its gradient.
macro_rules! derivatives_agree {
    ($function:expr, $x:expr, $what:expr) => {{
        let (x, what): (&V<Concrete>, &str) = ($x, $what);
        agree!(stage($function, x).unwrap(), x, what);
        agree!(stage($function, x).unwrap().value_and_grad().unwrap(), x, &format!("{what}: gradient"));
        let slope = |x: &V<_>| grad($function, x).powi(2).sum();
        agree!(stage(slope, x).unwrap().value_and_grad().unwrap(), x, &format!("{what}: gradient of gradient"));
    }};
}

fn vector(elements: &[f64]) -> V<Concrete> {
    elements.to_vec().into()
}

/// Doubles while the sum is below a bound, with two carries that change places.
fn doublings<A: Algebra>((x, bound): &(V<A>, S<A>)) -> (V<A>, V<A>, Scalar<A, i64>) {
    while_loop(
        (x.clone(), x.sin(), scalar(0)),
        |(x, _, _)| x.sum().lt(bound),
        |(x, y, count): (V<A>, V<A>, Scalar<A, i64>)| (2.0 * &x + &y * 0.0, x, count + 1),
    )
}

#[test]
fn loops_have_no_steps_one_or_many() {
    let x = vector(&[0.5, 1.5, 1.0]);
    let program = stage(doublings, (&x, &scalar(0.0))).unwrap();
    let compiled = program.compile(Cpu::default()).unwrap();
    for (bound, steps) in [(1.0, 0), (3.0, 0), (5.0, 1), (10.0, 2), (1e30, 99), (f64::NAN, 0), (2.0, 0), (1e300, 995)] {
        let bound = scalar(bound);
        let (last, before, count) = compiled.call((&x, &bound)).unwrap();
        let expected = doublings(&(x.clone(), bound.clone()));
        assert_eq!(count.item(), steps);
        assert_eq!((last.to_vec(), before.to_vec()), (expected.0.to_vec(), expected.1.to_vec()), "{steps} steps");
    }
    // Loops that end only by overflow: infinity is not below infinity, and NaN below nothing.
    for start in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        let x = vector(&[start, 1.0, 2.0]);
        let (last, _, count) = compiled.call((&x, &scalar(1.0))).unwrap();
        let expected = doublings(&(x, scalar(1.0)));
        assert_eq!(count.item(), expected.2.item(), "{start}");
        same(&last.to_vec(), &expected.0.to_vec(), "infinite carries");
        if start == f64::NEG_INFINITY {
            assert!(last.to_vec()[0].is_nan() || count.item() >= 1);
        }
    }
}

/// Newton's method for square roots, number by number.
fn root<A: Algebra>(x: &S<A>) -> S<A> {
    while_loop(x.clone(), |y: &S<A>| (y * y - x).abs().gt(1e-14 * x), |y: S<A>| 0.5 * (&y + x / &y))
}

/// While loops in a while loop, in both sides of a branch, and in a rolled loop.
fn nested<A: Algebra>(x: &V<A>) -> S<A> {
    let outer = while_loop(
        (x.clone(), scalar(1.0)),
        |(_, total)| total.lt(40.0),
        |(y, total): (V<A>, S<A>)| {
            let inner = while_loop(y.at(0).clone(), |z: &S<A>| z.lt(3.0), |z: S<A>| 1.7 * z + 0.1);
            let next = cond(
                total.gt(7.0),
                || &y * 1.1 + root(&(&inner + 1.0)),
                || while_loop(y.clone(), |y: &V<A>| y.sum().lt(&total * 2.0), |y: V<A>| &y + 0.5 + y.sin() * 0.1),
            );
            (next.sin() + 1.5, total + next.sum() + inner)
        },
    );
    let rows = stack(&[x.clone(), 2.0 * x, outer.0]);
    let (last, roots) = scan(outer.1, &rows, 3, |total: S<A>, row: V<A>| {
        let total = while_loop(total, |t: &S<A>| t.gt(1.0), |t: S<A>| t * 0.3 + 0.01);
        let value = root(&(row.sum().abs() + &total));
        (&total + &value, value)
    });
    last + (roots * vector_of::<A>(&[1.0, 2.0, 3.0])).sum()
}

fn vector_of<A: Algebra>(elements: &[f64]) -> V<A> {
    Vector::from_slice(elements)
}

#[test]
fn loops_branches_and_scans_are_inside_of_each_other() {
    for start in [[0.3, 0.7], [2.5, 0.1], [4.0, 5.0], [0.01, 0.02]] {
        derivatives_agree!(nested, &vector(&start), "nested");
    }
}

#[test]
fn branches_take_the_side_that_holds() {
    fn sides<A: Algebra>((x, bound): &(V<A>, S<A>)) -> (V<A>, V<A>, S<A>, V<A>) {
        let total = x.sum();
        // Results that are arguments, constants and computed.
        let (a, b, c) = cond(
            total.lt(bound),
            || (x.clone(), x.exp(), total.clone()),
            || (x.reverse(0), x.clone(), cond(bound.gt(-1.0), || scalar(7.0), || bound * 2.0)),
        );
        (a.clone(), b.clone(), c, cond(a.at(0).gt(b.at(1)), || &a + &b, || b.clone()))
    }
    let x = vector(&[0.1, -0.2, 0.3, 0.4]);
    for bound in [10.0, -0.5, -5.0, f64::NAN, f64::INFINITY] {
        let bound = scalar(bound);
        let arguments = (x.clone(), bound.clone());
        agree!(stage(sides, (&x, &bound)).unwrap(), (&x, &bound), "branches");
        let compiled = stage(sides, (&x, &bound)).unwrap().compile(Cpu::default()).unwrap();
        let (found, expected) = (compiled.call((&x, &bound)).unwrap(), sides(&arguments));
        same(&elements(&found), &elements(&expected), "eager branches");
    }
    fn value<A: Algebra>(x: &V<A>) -> S<A> {
        let (a, b, c, d) = sides(&(x.clone(), x.at(0).clone()));
        a.dot(&b) + c * d.sum()
    }
    for first in [5.0, -5.0, 0.3] {
        derivatives_agree!(value, &vector(&[first, 0.2, -0.1]), "branches");
    }
}

/// A loop whose steps are a few nests on small vectors, with captures.
fn mixed<A: Algebra>(x: &V<A>, w: &V<A>) -> V<A> {
    let y = x * w + x.reverse(0).sin() * 0.3;
    &y - y.mean() * 0.2
}

#[test]
fn whatever_is_kept_derivatives_are_the_same() {
    // Whiles of no step, one, and many.
    for bound in [0, 1, 2, 7, 30] {
        for checkpoints in [
            Checkpoints::All,
            Checkpoints::Every(1),
            Checkpoints::Every(4),
            Checkpoints::Every(1000),
            Checkpoints::Snapshots(1),
            Checkpoints::Snapshots(3),
            Checkpoints::Snapshots(50),
            Checkpoints::Bytes(1),
            Checkpoints::Bytes(500),
            Checkpoints::Bytes(1 << 20),
        ] {
            fn looped<A: Algebra>(x: &V<A>, bound: i64, checkpoints: Checkpoints) -> S<A> {
                let w = x.cos();
                let first = (x.clone(), scalar::<A, i64>(0));
                let inner = w.clone();
                let last = checkpoints.while_loop(
                    first,
                    move |(_, count)| count.lt(bound),
                    move |(y, count): (V<A>, Scalar<A, i64>)| (mixed(&y, &inner), count + 1),
                );
                (last.0 * &w).sum() + last.1.cast::<f64>()
            }
            let what = format!("{bound} steps, {checkpoints:?}");
            derivatives_agree!(|x| looped(x, bound, checkpoints), &vector(&[0.4, -0.3, 0.9]), &what);
        }
    }
}

#[test]
fn slices_are_read_and_written_whatever_is_kept() {
    fn rolled<A: Algebra>(x: &V<A>, n: usize, checkpoints: Checkpoints, reverse: bool) -> S<A> {
        let rows = x.reshape((n, 2));
        let w = x.slice(0, ..2).sin();
        let scale = w.clone();
        let step = move |y: V<A>, row: V<A>| {
            let next = mixed(&y, &scale) + &row * &row;
            (next.clone(), (next.tanh(), row.sum() * y.at(1)))
        };
        let (last, (tanhs, sums)) = match reverse {
            true => checkpoints.scan_reverse(w, &rows, n, step),
            false => checkpoints.scan(w, &rows, n, step),
        };
        last.sum() + (tanhs * rows).sum() + sums.powi(2).sum()
    }
    for n in [1, 2, 9] {
        let x = vector(&numbers(2 * n));
        for checkpoints in [Checkpoints::All, Checkpoints::Every(2), Checkpoints::Snapshots(2), Checkpoints::Bytes(100)]
        {
            for reverse in [false, true] {
                let what = format!("{n} slices, {checkpoints:?}, reverse: {reverse}");
                derivatives_agree!(|x| rolled(x, n, checkpoints, reverse), &x, &what);
            }
        }
    }
}

#[test]
fn tapes_grow_with_the_steps() {
    fn logistic_map<A: Algebra>((x, steps): &(V<A>, Scalar<A, i64>)) -> S<A> {
        let first = (x.clone(), scalar::<A, i64>(0));
        let step = |(y, count): (V<A>, Scalar<A, i64>)| (3.3 * &y * (1.0 - &y) + x * 0.01, count + 1);
        while_loop(first, |(_, count)| count.lt(steps), step).0.sum()
    }
    let x: V<Concrete> = numbers(40).iter().map(|x| x.abs()).collect::<Vec<_>>().into();
    let program = stage(|x: &(V<_>, _)| logistic_map(x), (&x, &scalar::<Concrete, i64>(0))).unwrap().grad().unwrap();
    let compiled = program.compile(Cpu::default()).unwrap();
    for steps in [0, 1, 3, 5000, 2, 20_000] {
        let steps = scalar(steps);
        let (found, expected) = (compiled.call((&x, &steps)).unwrap(), program.interpret((&x, &steps)).unwrap());
        same(&elements(&found), &elements(&expected), "a tape");
    }
}

#[test]
fn what_is_not_finite_goes_through_loops_and_their_derivatives() {
    fn powers<A: Algebra>(x: &V<A>) -> S<A> {
        let step = |(y, n): (V<A>, Scalar<A, i64>)| (&y * x / (x - 1.0), n + 1);
        while_loop((x.clone(), scalar(0)), |(_, n)| n.lt(5), step).0.sum()
    }
    for special in [1.0, f64::INFINITY, f64::NAN, 1e200] {
        derivatives_agree!(powers, &vector(&[0.5, special]), &format!("{special}"));
    }
}

#[test]
fn kernels_of_branches_and_loops_are_reported() {
    let x = scalar::<Concrete, f64>(2.0);
    let program = stage(root, &x).unwrap().compile(Cpu::default().profile(true)).unwrap();
    assert_eq!(program.call(&x).unwrap().item(), root(&x).item());
    let report = program.program().report();
    let text = report.to_string();
    assert!(!text.contains("plain arrays"), "{text}");
    assert_eq!(program.program().kernels(), report.kernels.len());
    let names: Vec<&str> = report.kernels.iter().map(|kernel| &kernel.name[..]).collect();
    // The bound in the condition does not change.
    let starts = ["nest 1 -> ", "while: nest 1 -> ", "step: nest 1 -> "];
    assert!(names.iter().zip(starts).all(|(name, start)| name.starts_with(start)), "{text}");
    assert!(report.kernels.iter().all(|kernel| kernel.seconds.is_some_and(|seconds| seconds > 0.0)), "{text}");

    fn either<A: Algebra>(x: &V<A>) -> V<A> {
        cond(x.sum().gt(0.0), || Checkpoints::Every(2).scan(x.clone(), &x.clone(), 3, |y, x| (y * x, ())).0, || x.sin())
    }
    let x = vector(&[0.1, 0.2, 0.3]);
    let program = stage(either, &x).unwrap().compile(Cpu::default()).unwrap();
    let report = program.program().report();
    let kernels: Vec<(usize, bool, bool)> = report
        .kernels
        .iter()
        .map(|kernel| (kernel.times, kernel.name.starts_with("then: step: "), kernel.name.starts_with("else: ")))
        .collect();
    // The sum and the comparison, then one side or the other.
    let expected = [(1, false, false), (1, false, false), (3, true, false), (1, false, true)];
    assert_eq!(kernels, expected, "{report}");
    assert!(program.to_string().contains("else:"), "{program}");
}

#[test]
fn kernels_inside_of_loops_are_cut_for_threads() {
    fn iterated<A: Algebra>(x: &V<A>) -> V<A> {
        let step = |(y, n): (V<A>, Scalar<A, i64>)| (y.sin() + x * y.sum().tanh(), n + 1);
        while_loop((x.clone(), scalar(0)), |(_, n)| n.lt(3), step).0
    }
    let x: V<Concrete> = numbers(100_000).into();
    let gradient = stage(|x: &V<_>| iterated(x).sum(), &x).unwrap().value_and_grad().unwrap();
    let on = |threads| elements(&gradient.compile(Cpu::default().threads(threads)).unwrap().call(&x).unwrap());
    let one = on(1);
    assert!((2..=3).all(|threads| on(threads) == one));
    same(&one, &elements(&gradient.interpret(&x).unwrap()), "on one thread");
}
