//! Programs that once went wrong.

use deltaray::Error;
use deltaray::algebra::Algebra;
use deltaray::concrete::Array;
use deltaray::derivative::program;
use deltaray::engine::cpu::{Cpu, Program};
use deltaray::export;
use deltaray::functions::{Window, convolution_2d, mean_pool_2d};
use deltaray::prelude::*;
use deltaray::shape::{DType, Type};
use deltaray::staged::Staged;
use deltaray::term::interpret::interpret;
use deltaray::term::{Graph, Op, Scan};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

fn v(elements: &[f64]) -> Vector<Concrete, f64> {
    Vector::from_slice(elements)
}

/// Two vectors that need not be there.
type Pair<A> = (Option<Vector<A, f64>>, Option<Vector<A, f64>>);

const NOTHING: Option<Vector<Concrete, f64>> = None;

/// The error of staging a function of a vector of two elements.
fn error_of<Y: Tree<Staged>>(f: impl FnOnce(&Vector<Staged, f64>) -> Y) -> Error {
    match stage(f, &v(&[1.0, 2.0])) {
        Err(error) => error,
        Ok(_) => panic!("no error"),
    }
}

/// The last index of a `build` of its own, outside of it.
fn escaped<A: Algebra>() -> Scalar<A, i64> {
    let index = std::cell::RefCell::new(None);
    build::<A, _, _, _>(3, |i| {
        index.replace(Some(i.clone()));
        i
    });
    index.into_inner().expect("the closure ran")
}

/// An escaped index that is the bare result of another binder was closed over, which was a panic.
#[test]
fn escaped_values_as_results_are_errors_at_the_users_line() {
    let yes = |x: &Vector<Staged, f64>| x.at(0).gt(0.0);
    for error in [
        error_of(|_| escaped::<Staged>()),
        error_of(|_| build(3, |_| escaped::<Staged>())),
        error_of(|_| scan(scalar::<Staged, i64>(0), &(), 3, |_, ()| (escaped(), ())).0),
        error_of(|_| scan::<Staged, _, _, _>((), &(), 3, |(), ()| ((), escaped())).1),
        error_of(|x| cond(yes(x), escaped::<Staged>, || scalar(0))),
        error_of(|x| cond(yes(x), || scalar(0), escaped::<Staged>)),
        error_of(|x| vjp(|_| escaped::<Staged>(), x).0),
        error_of(|x| jvp(|_| escaped::<Staged>(), x, x).0),
    ] {
        let Error::Scope { place, .. } = error else { panic!("{error}") };
        assert!(place.contains("regressions.rs"), "{place}");
    }
}

/// A value of the outer function in the inner one was a panic.
#[test]
fn a_function_staged_inside_another_can_not_use_its_values() {
    let inner = RefCell::new(Vec::new());
    let outer = stage(
        |x| {
            let point = v(&[1.0, 2.0]);
            inner.borrow_mut().push(stage(|y: &Vector<Staged, f64>| y * x, &point).err());
            inner.borrow_mut().push(stage(|_: &Vector<Staged, f64>| x.clone(), &point).err());
            inner.borrow_mut().push(stage(|y: &Vector<Staged, f64>| build(2, |i| x.at(&i) * y.at(i)), &point).err());
            x * 2.0
        },
        &v(&[1.0, 2.0]),
    );
    assert_eq!(outer.unwrap().call(&v(&[1.0, 2.0])).unwrap().to_vec(), [2.0, 4.0]);
    for error in inner.into_inner() {
        assert!(matches!(error, Some(Error::Scope { .. })), "{error:?}");
    }
}

/// The panic of an inner staging dropped what was recorded for the outer one, which then succeeded.
#[test]
fn the_panic_of_an_inner_staging_keeps_the_outer_error() {
    let error = error_of(|x| {
        let sum = x + zeros::<Staged, f64, _>(3);
        let inner = || stage(|_: &Vector<Staged, f64>| -> Scalar<Staged, f64> { panic!("the user's") }, &v(&[1.0]));
        assert!(catch_unwind(AssertUnwindSafe(|| inner().is_ok())).is_err());
        sum
    });
    assert!(matches!(error, Error::Operands { .. }), "{error}");
}

/// Sizes beyond `usize` passed as equal, and flattening such an array was an internal panic; elsewhere they saturated.
#[test]
fn sizes_beyond_counting() {
    let half = || zeros::<Staged, f64, _>(1usize << 31);
    let whole = |x: &Vector<Staged, f64>| full::<Staged, bool, _>(isize::MAX as usize, x.len() == 2);
    for (error, name) in [
        (error_of(|_| zeros::<Staged, f64, _>((1 << 40, 1 << 40))), "zeros"),
        (error_of(|_| ones::<Staged, f32, _>(1usize << 62)), "ones"),
        (error_of(|_| full::<Staged, i64, _>((1 << 30, 1 << 30), 1)), "full"),
        (error_of(|_| iota::<Staged>(1 << 60)), "iota"),
        (error_of(|x| x.replicate(1 << 59)), "replicate"),
        (error_of(|x| x.broadcast_to((1 << 59, 2))), "broadcast_to"),
        (error_of(|x| x.pad(0, 1, 1 << 60)), "pad"),
        (error_of(|x| x.scatter(iota(2), 1usize << 60)), "scatter"),
        (error_of(|x| half().insert_axis(1) * half() + x.sum()), "mul"),
        (error_of(|_| half().insert_axis(1).lt(half())), "lt"),
        (error_of(|_| half().outer(&half())), "outer"),
        (error_of(|_| half().insert_axis(1).dot(&half().insert_axis(0))), "dot"),
        (error_of(|x| build((1 << 30, 1 << 30), |(i, j)| x.at(i) + x.at(j))), "build"),
        (error_of(|x| scan((), &(), 1 << 59, |(), ()| ((), x.clone())).1), "scan"),
        (error_of(|x| whole(x).cast::<i32>()), "cast"),
        (error_of(|x| stack(&[whole(x), whole(x)])), "stack"),
        (error_of(|x| concatenate(0, &[whole(x), whole(x)])), "concatenate"),
        (error_of(|x| x.reshape((1 << 50, 1 << 50))), "reshape"),
    ] {
        let Error::Operands { operation, place, .. } = error else { panic!("{error}") };
        assert_eq!(operation, name);
        assert!(place.contains("regressions.rs"), "{place}");
    }
    let message = panic_of(|| full::<Concrete, i64, _>((1 << 40, 1 << 40), 1));
    assert!(message.starts_with("full: ") && message.contains("regressions.rs"), "{message}");
    assert!(panic_of(|| v(&[1.0]).replicate(1 << 60)).starts_with("replicate: "));
    // What memory could hold is legal, also beside axes of length 0.
    assert_eq!(full::<Concrete, i64, _>((1 << 30, 1 << 29), 3).sum().item(), 3 << 59);
    assert_eq!(full::<Concrete, i32, _>((1 << 20, 3), i32::MAX).sum().item(), -3 << 20);
    assert!(full::<Concrete, f64, _>((1 << 30, 1 << 29), 1.0).sum().item() == 2f64.powi(59));
    let nothing = Tensor3::<Concrete, f64>::from_elements((0, 1 << 40, 1 << 19), Vec::new());
    assert_eq!(nothing, zeros((0, 1 << 40, 1 << 19)));
    assert_eq!(nothing.sum_axis(0).shape()[..], [1 << 40, 1 << 19]);
    assert_eq!(format!("{:?}", nothing), "[[[]]] : f64[0, 1099511627776, 524288]");
    let message = panic_of(|| Tensor3::<Concrete, f64>::from_elements((0, 1 << 40, 1 << 20), Vec::new()));
    assert!(message.starts_with("from_elements: ") && message.contains("too large for any memory"), "{message}");
    assert!(panic_of(|| zeros::<Concrete, f64, _>((0, 1 << 40, 1 << 20))).starts_with("zeros: "));
}

/// The gradient of a gradient of a loop multiplied by 1, keeping zeros.
#[test]
fn kept_zeros_of_constants_are_simplified() {
    fn curvature<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
        let step = |c: Scalar<_, f64>, e: Scalar<_, f64>| (c * e.exp(), ());
        jvp(|y| grad(|z| scan(scalar(1.0), z, z.len(), step).0, y), x, &(x * 0.0 + 1.0)).1.sum()
    }
    let x = v(&[0.5, -1.0, 0.25]);
    let gradient = stage(curvature, &x).unwrap().grad().unwrap();
    let text = gradient.to_string();
    assert!(!text.contains("keep_zero(1.0"), "{text}");
    let expected = grad(curvature, &x).to_vec();
    for (found, expected) in gradient.call(&x).unwrap().to_vec().iter().zip(expected) {
        approx::assert_relative_eq!(*found, expected, max_relative = 1e-9);
    }
}

/// Trees were compared by their arrays alone, so that what one option held was taken for what the other did.
#[test]
fn trees_with_equal_arrays_and_another_structure_differ() {
    let x = v(&[1.0, 2.0]);
    let function = stage(|(x, y): &Pair<Staged>| x.as_ref().or(y.as_ref()).unwrap() * 2.0, &(Some(x.clone()), NOTHING));
    let function = function.expect("the options are what they are");
    assert!(function.call(&(Some(x.clone()), NOTHING)).is_ok());
    let error = function.call(&(NOTHING, Some(x.clone()))).expect_err("the other one");
    assert!(matches!(error, Error::Structure(_)), "{error}");

    let error = error_of(|x| cond(x.at(0).gt(0.0), || (Some(x.clone()), None), || (None, Some(x.clone()))));
    assert!(error.to_string().contains("regressions.rs"), "{error}");
    let error = error_of(|x| scan((Some(x.clone()), None), &(), 3, |(x, y), ()| ((y, x), ())).0);
    assert!(error.to_string().contains("regressions.rs"), "{error}");
    let eager = || select(x.at(0).gt(0.0), &(Some(x.clone()), None), &(None, Some(x.clone())));
    assert!(catch_unwind(AssertUnwindSafe(eager)).is_err());
    let (_, pullback) = vjp(|x: &Vector<_, f64>| -> Pair<_> { (Some(x * 2.0), None) }, &x);
    assert_eq!(pullback(&(Some(x.clone()), NOTHING)).to_vec(), [2.0, 4.0]);
    assert!(catch_unwind(AssertUnwindSafe(|| pullback(&(NOTHING, Some(x.clone()))))).is_err());
}

/// The message of the panic that a computation ends in.
fn panic_of<T>(f: impl FnOnce() -> T) -> String {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(_) => panic!("no panic"),
        Err(payload) => *payload.downcast::<String>().expect("a panic with text"),
    }
}

/// More elements than any memory has, though not more than can be counted.
const MANY: usize = 1 << 50;

/// Allocation failed, and with it the process.
#[test]
fn arrays_that_no_memory_holds() {
    fn scattered<A: Algebra>(x: &Vector<A, f64>) -> Vector<A, f64> {
        x.scatter(x.cast::<i64>(), MANY)
    }
    fn repeated<A: Algebra>(x: &Vector<A, f64>) -> Matrix<A, f64> {
        x.replicate(MANY)
    }
    fn outer<A: Algebra>(x: &Vector<A, f64>) -> Matrix<A, f64> {
        full::<A, f64, _>(MANY, 1.5).outer(x)
    }
    fn built<A: Algebra>(x: &Vector<A, f64>) -> Vector<A, f64> {
        build(MANY, |i| (&i * &i).cast::<f64>() * x.at(0))
    }
    fn positions<A: Algebra>(_: &Vector<A, f64>) -> Vector<A, i64> {
        iota(MANY)
    }
    fn padded<A: Algebra>(x: &Vector<A, f64>) -> Vector<A, f64> {
        x.exp().pad(0, 1, MANY)
    }
    fn steps<A: Algebra>(x: &Vector<A, f64>) -> Tensor3<A, f64> {
        scan(x.clone(), &(), 2, |c, ()| (&c * 2.0, c.replicate(MANY))).1
    }
    macro_rules! check {
        ($f:ident, $operation:literal, $staged:literal, $shape:literal) => {
            let x = v(&[1.0, 2.0]);
            let message = panic_of(|| $f(&x));
            assert!(message.starts_with(concat!($operation, ": ")), "{message}");
            assert!(message.contains(concat!($shape, " ")) && message.contains("regressions.rs"), "{message}");
            let dual = panic_of(|| grad(|x: &Vector<_, f64>| $f(x).cast::<f64>().sum(), &x));
            assert_eq!(dual, message);
            let tangent = panic_of(|| jvp(|x: &Vector<_, f64>| $f(x), &x, &x));
            assert_eq!(tangent, message);
            // What a macro calls is called at the macro's place.
            let line = line!();
            let error = stage($f, &x).unwrap().call(&x).expect_err("no memory");
            let Error::Memory { operation, ty, place } = error else { panic!("{error}") };
            assert_eq!((&operation[..], &ty[3..]), ($staged, $shape));
            assert!(place.contains(&format!("regressions.rs:{line}:")), "{place}");
        };
    }
    check!(scattered, "scatter", "scatter", "[1125899906842624]");
    check!(repeated, "replicate", "replicate", "[1125899906842624, 2]");
    check!(positions, "iota", "iota", "[1125899906842624]");
    check!(padded, "pad", "pad", "[1125899906842627]");
    check!(outer, "contract", "replicate", "[1125899906842624, 2]");
    check!(built, "build", "iota", "[1125899906842624]");
    check!(steps, "replicate", "replicate", "[1125899906842624, 2]");
}

/// Arrays whose elements are all equal take no memory, but what was made of them did; and a pullback failed in the library.
#[test]
fn equal_elements_that_no_memory_holds() {
    let many = full::<Concrete, f64, _>((MANY, 2), 1.5);
    assert_eq!(many, many.clone());
    assert!(many != full((MANY, 2), 2.0));
    assert!(format!("{many:?}").ends_with("1.5]] : f64[1125899906842624, 2]"), "{many:?}");
    assert_eq!(many.at((MANY - 1, 1)).item(), 1.5);
    for (message, name) in [
        (panic_of(|| many.to_vec()), "to_vec"),
        (panic_of(|| many.to_ndarray()), "to_ndarray"),
        (panic_of(|| ndarray::Array2::from(many.clone())), "to_ndarray"),
        (panic_of(|| grad(|x| x.at((1, 1)), &many)), "accumulate"),
        (panic_of(|| vjp(|x| x.at((1, 1)), &many).1(&scalar(1.0))), "accumulate"),
    ] {
        assert!(message.starts_with(&format!("{name}: ")) && message.contains("[1125899906842624, 2]"), "{message}");
        assert!(message.contains("regressions.rs"), "{message}");
    }
    // What is added up many times is not added one by one.
    let x = full::<Concrete, f64, _>(2, 1.0);
    assert_eq!(grad(|x| x.replicate(1 << 40).sum(), &x).to_vec(), [2f64.powi(40); 2]);
    assert_eq!(grad(|x| x.insert_axis(1).broadcast_to((2, 1 << 40)).sum(), &x).to_vec(), [2f64.powi(40); 2]);
    assert_eq!(grad(|x| x.gather(full(1 << 40, 1)).sum(), &v(&[1.0, 2.0])).to_vec(), [0.0, 2f64.powi(40)]);
    // Of a program nothing is computed that takes memory.
    let element = stage(|x| build((1_000_000, 1_000_000), |(i, j)| x.at(i) * x.at(j)).at((1, 1)), &v(&[1.0, 3.0]));
    assert_eq!(element.unwrap().call(&v(&[1.0, 3.0])).unwrap().item(), 9.0);
    let sum = stage(|x| x.replicate(MANY).sum(), &v(&[1.0, 3.0])).unwrap();
    assert_eq!(sum.call(&v(&[1.0, 3.0])).unwrap().item(), 2f64.powi(52));
}

/// Updates that are put together were taken apart along an axis of the indices that there was not, to compile it.
#[test]
fn parts_are_added_at_one_position_of_none() {
    fn added<A: Algebra>((x, at): &(Vector<A, f64>, Scalar<A, i64>)) -> Matrix<A, f64> {
        x.append(0, &x.sin()).scatter(at, 0)
    }
    let arguments = (v(&[1.0, 2.0]), scalar::<Concrete, i64>(0));
    let compiled = stage(added, &arguments).unwrap().compile(Cpu::default()).unwrap();
    let empty = compiled.call(&arguments).unwrap();
    assert_eq!((empty.shape().to_vec(), &empty), (vec![0, 4], &added(&arguments)));
}

/// More stores than a nest has slots for were a panic.
#[test]
fn parts_of_an_array_may_be_many() {
    fn parts<A: Algebra>(x: &Vector<A, f64>) -> Vector<A, f64> {
        let few: Vec<Scalar<A, f64>> = (0..200).map(|k| x.at(k).sin()).collect();
        stack(&(0..70_000usize).map(|k| few[(k * k * 7 + k / 3) % 200].clone()).collect::<Vec<_>>())
    }
    let x: Vector<Concrete, f64> = (0..200).map(f64::from).collect::<Vec<f64>>().into();
    let staged = stage(parts, &x).unwrap();
    let (found, expected) = (staged.compile(Cpu::default()).unwrap().call(&x).unwrap(), staged.call(&x).unwrap());
    assert!(found.to_vec().iter().zip(expected.to_vec()).all(|(found, expected)| (found - expected).abs() < 1e-15));
}

/// An infinite factor was multiplied with the sum: ∞ instead of ∞ − ∞.
#[test]
fn constants_that_are_infinite_stay_in_sums() {
    fn sum<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
        (x * f64::INFINITY).sum()
    }
    let x = v(&[2.0, -1.0]);
    let staged = stage(sum, &x).unwrap();
    let compiled = staged.compile(Cpu::default()).unwrap();
    for sum in [sum(&x), staged.call(&x).unwrap(), compiled.call(&x).unwrap()] {
        assert!(sum.item().is_nan());
    }
}

/// Runs of loops in loops were counted in numbers that are too small for them.
#[test]
fn runs_that_are_too_many_to_count_are_reported() {
    let twice = |x: &Vector<_, f64>| {
        iterate(x.clone(), 1 << 40, |x: Vector<_, f64>| iterate(x, 1 << 40, |x: Vector<_, f64>| x.sin()))
    };
    let compiled = stage(twice, &v(&[1.0, 2.0])).unwrap().compile(Cpu::default()).unwrap();
    let report = compiled.program().report();
    assert!(report.kernels.iter().all(|kernel| kernel.times == usize::MAX && kernel.operations > 1e24), "{report}");
}

/// Constant factors were multiplied or added up beyond the range of numbers: results were NaN, 0 or infinite.
#[test]
fn constant_factors_stay_in_the_range_of_numbers() {
    macro_rules! check {
        ($t:ty, $elements:expr, $x:ident => $y:expr) => {{
            let x: Vector<Concrete, $t> = Vector::from_slice(&$elements);
            let expected = (|$x: &Vector<Concrete, $t>| $y)(&x).to_vec();
            let staged = stage(|$x: &Vector<Staged, $t>| $y, &x).unwrap();
            let compiled = staged.compile(Cpu::default()).unwrap();
            for results in [staged.call(&x).unwrap(), compiled.call(&x).unwrap()] {
                for (result, expected) in results.to_vec().into_iter().zip(&expected) {
                    let is_near =
                        result == *expected || (result - expected).abs() <= 4.0 * <$t>::EPSILON * expected.abs();
                    assert!(is_near, "{}: {result}, not {expected}", stringify!($y));
                }
            }
        }};
    }
    check!(f64, [0.0, 1e-300], x => x * 1e200 * 1e200);
    check!(f64, [1e300, f64::INFINITY], x => x * 1e-200 * 1e-200);
    check!(f64, [0.0, 0.5], x => x * 1e308 + x * 1e308);
    check!(f32, [0.0, 1e-30], x => x * 1e30 * 1e30);
    check!(f32, [1e30, f32::INFINITY], x => x * 1e-30 * 1e-30);
    check!(f64, [1e200, 3e200], x => grad(|x| (x * 1e-200).powi(2).sum(), x));
    check!(f64, [1e-200, 3e-200], x => grad(|x| (x * 1e200).powi(2).sum(), x));
    check!(f32, [1e30, 3e30], x => grad(|x| (x * 1e-30).powi(2).sum(), x));
    // An infinite or zero factor stays one.
    check!(f64, [2.0, -3.0], x => x * f64::INFINITY * 1e-200);
    check!(f64, [2.0, -3.0], x => x * 0.0 * 1e-200);
}

/// A scatter of parts was added up, which booleans are not.
#[test]
fn booleans_in_parts_are_scattered() {
    let x = Vector::from(vec![true]);
    let parts = |x: &Vector<Staged, bool>| {
        let all = concatenate(0, &vec![x.clone(); 13]);
        all.scatter(&all.cast::<i64>(), 5)
    };
    let staged = stage(parts, &x).unwrap();
    let expected = [false, true, false, false, false];
    for found in [staged.call(&x).unwrap(), staged.compile(Cpu::default()).unwrap().call(&x).unwrap()] {
        assert_eq!(found.to_vec(), expected);
    }
}

/// In loops over a few numbers the inverse of a power that was too small lost its sign.
#[test]
fn negative_powers_that_overflow_keep_their_sign() {
    let powers = |x: &Scalar<Staged, f32>| {
        let step = |c: Scalar<Staged, f32>| (c.powi(-3), c.powi(-2), c.powi(-1));
        let start = (x.clone(), x.clone(), x.clone());
        iterate(start, 1, |(c, _, _): (Scalar<Staged, f32>, Scalar<Staged, f32>, Scalar<Staged, f32>)| step(c))
    };
    for (x, cube) in [(-1e-20, f32::NEG_INFINITY), (1e-20, f32::INFINITY), (-0.0, f32::INFINITY)] {
        let x = scalar(x);
        let staged = stage(powers, &x).unwrap();
        let compiled = staged.compile(Cpu::default()).unwrap();
        for (a, b, c) in [staged.call(&x).unwrap(), compiled.call(&x).unwrap()] {
            assert_eq!((a.item(), b.item()), (cube, f32::INFINITY));
            assert_eq!(c.item(), 1.0 / (x.item() + 0.0));
        }
    }
}

/// They were indices beyond the ends of lists.
#[test]
fn derivatives_of_programs_check_what_is_active() {
    let staged = stage(|x: &Vector<Staged, f64>| x.sum(), &v(&[1.0])).unwrap();
    let loss = staged.program();
    let vector = stage(|x: &Vector<Staged, f64>| x.sin(), &v(&[1.0])).unwrap();
    let nothing = Graph::new(&[], 0).finish(&[]);
    macro_rules! check {
        ($($derivative:expr => $message:literal),* $(,)?) => {$(
            let error = $derivative.map(|_| ()).unwrap_err().to_string();
            assert!(error.contains($message) && error.contains(file!()), "{error}");
        )*};
    }
    check! {
        program::vjp(loss, 2) => "vjp: 2 active parameters, but the program has 1",
        program::jvp(loss, 2) => "jvp: 2 active parameters, but the program has 1",
        program::linearize(loss, 2) => "linearize: 2 active parameters",
        program::dual_form(loss, &["x", "y"]) => "dual_form: 2 active parameters",
        program::dual_form(&nothing, &[]) => "dual_form: the program has no result",
        program::value_and_gradient(loss, 2) => "value_and_gradient: 2 active parameters",
        program::value_and_gradient(&nothing, 0) => "to be a float of rank 0, but is none",
        program::value_and_gradient(vector.program(), 1) => "to be a float of rank 0, but is f64[1]",
    }
}

/// Sizes were counted in numbers too small for them, and placeholders had other ranks than results.
#[test]
fn windows_and_jacobians_that_no_memory_holds_are_refused() {
    const LONG: usize = 1 << 40;
    fn convolved<A: Algebra>(x: &Tensor4<A, f64>) -> Tensor4<A, f64> {
        let kernel = zeros::<A, f64, _>((2, 0, 1, 1));
        let padding = [(LONG, 0), (LONG, 1)];
        convolution_2d(x, &kernel, &Window { padding, ..Window::default() }, 1)
    }
    fn pooled<A: Algebra>(x: &Tensor4<A, f64>) -> Tensor4<A, f64> {
        mean_pool_2d(x, [LONG; 2], &Window { padding: [(LONG, 0); 2], ..Window::default() })
    }
    let (no_channel, no_sample) = (zeros((1, 0, 2, 2)), zeros((0, 1, 1, 1)));
    let long: Vector<Concrete, f64> = full(LONG, 1.0);
    let column: Matrix<Concrete, f64> = full((LONG, 1), 1.0);
    let problem_of = |staged: Result<(), Error>, eager: String| {
        for message in [staged.unwrap_err().to_string(), eager] {
            assert!(message.contains("too large for any memory") && message.contains(file!()), "{message}");
        }
    };
    problem_of(stage(convolved, &no_channel).map(|_| ()), panic_of(|| convolved(&no_channel)));
    problem_of(stage(pooled, &no_sample).map(|_| ()), panic_of(|| pooled(&no_sample)));
    problem_of(stage(|x| jacfwd(|x| x.sin(), x), &long).map(|_| ()), panic_of(|| jacfwd(|x| x.sin(), &long)));
    problem_of(stage(|x| jacrev(|x| x.sin(), x), &long).map(|_| ()), panic_of(|| jacrev(|x| x.sin(), &long)));
    problem_of(
        stage(|x| hessian(|x| x.sin().sum(), x), &long).map(|_| ()),
        panic_of(|| hessian(|x| x.sin().sum(), &long)),
    );
    problem_of(
        stage(|x| jacfwd(|x| x.sum_axis(0), x), &column).map(|_| ()),
        panic_of(|| jacfwd(|x| x.sum_axis(0), &column)),
    );
}

/// A sum of products is what the eager program makes of it, too, where its constant factors, multiplied together or after the
/// sum, would leave the range of numbers.
#[test]
fn constant_factors_of_sums_stay_in_the_range_of_numbers() {
    macro_rules! check {
        ($t:ty, $elements:expr, $x:ident => $y:expr) => {{
            let x: Vector<Concrete, $t> = Vector::from_slice(&$elements);
            let (expected, slopes) = value_and_grad(|$x: &Vector<_, $t>| $y, &x);
            let (expected, slopes) = (expected.item(), slopes.to_vec());
            let staged = stage(|$x: &Vector<Staged, $t>| $y, &x).unwrap();
            let gradient = staged.value_and_grad().unwrap();
            let is_near =
                |a: $t, b: $t| a == b || (a - b).abs() <= 16.0 * <$t>::EPSILON * b.abs() || (a.is_nan() && b.is_nan());
            for (value, slope) in
                [gradient.call(&x).unwrap(), gradient.compile(Cpu::default()).unwrap().call(&x).unwrap()]
            {
                let found = value.item();
                assert!(is_near(found, expected), "{}: {found}, not {expected}\n{staged}", stringify!($y));
                for (found, &expected) in slope.to_vec().into_iter().zip(&slopes) {
                    assert!(is_near(found, expected), "{}: slope {found}, not {expected}", stringify!($y));
                }
            }
            let found = staged.call(&x).unwrap().item();
            assert!(is_near(found, expected), "{}: {found}, not {expected}", stringify!($y));
        }};
    }
    macro_rules! check_all {
        ($t:ty, $large:expr, $small:expr) => {
            let (x, y) = ([$large, 2.0 * $large, 0.5 * $large], [$small, 3.0 * $small, $small]);
            check!($t, x, x => { let y = x * $small; y.dot(&y) });
            check!($t, y, x => { let y = x * $large; y.dot(&y) });
            check!($t, x, x => { let y = x * $small; (&y * &y).mean() });
            check!($t, x, x => { let y = x * $small; (&y * &y).sum() * 0.25 });
            check!($t, x, x => { let y = x * $small; y.outer(&y).sum() });
            check!($t, x, x => { let y = x * $small; y.powi(2).sum() });
            check!($t, x, x => { let y = x * $small; (&y * &y * &y).sum() });
            check!($t, x, x => (x * $small).dot(&(x * $small * 0.5)));
            check!($t, x, x => (x * $small).dot(x));
            check!($t, x, x => fold(scalar::<_, $t>(0.0), &(x * $small), |sum, e| sum + &e * &e));
            check!($t, x, x => build(3, |i| x.at(&i) * $small * (x.at(&i) * $small)).sum());
            check!($t, x, x => {
                let m = (x * $small).insert_axis(0);
                m.dot(&(x * $small)).sum()
            });
            check!($t, x, x => { let y = x / $large; y.dot(&y) });
            check!($t, x, x => { let y = -(x * $small); y.dot(&(x * $small)) });
        };
    }
    check_all!(f64, 1e200, 1e-200);
    check_all!(f32, 1e30, 1e-30);
    // A sum alone leaves the range, too.
    check!(f64, [1e308, 1e308], x => (x * 1e-100).sum());
    check!(f32, [3e38, 3e38], x => (x * 1e-10).sum());
    check!(f64, [1e308, 1e308], x => (x / 1e100).sum());
    // Small factors become a large one.
    check!(f64, [1e200, 1e200], x => (x * 1e-60).dot(&(x * 1e-60)));
    check!(f32, [1e25, 1e25], x => (x * 1e-8).dot(&(x * 1e-8)));
}

/// Orders above 128 were refused, also in gradients of lower ones.
#[test]
fn polygamma_of_any_order_is_exported() {
    for order in [129, 171, u32::MAX] {
        let staged = stage(|x: &Vector<Staged, f64>| x.polygamma(order).sum(), &v(&[140.0, 2.0])).unwrap();
        let gradient = staged.value_and_grad().unwrap();
        let c = deltaray::export::c(&gradient).unwrap().source;
        let rust = deltaray::export::rust(&gradient).unwrap();
        let next = order.saturating_add(1).to_string();
        assert!(c.contains(&format!("polygamma_f64({next}, ")) && rust.contains(&format!("polygamma_f64({next}, ")));
    }
}

/// Equal bodies are one body; what is known of a loop is not known of another with the same body.
#[test]
fn loops_of_one_body_differ_in_length_direction_and_carries() {
    fn loops<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
        let long = scan(x.at(0), x, 5, |c, e| (&c * &e, e.sin()));
        let short = scan(x.at(0), &x.slice(0, ..3), 3, |c, e| (&c * &e, e.sin()));
        let back = scan_reverse(x.at(0), &x.slice(0, ..3), 3, |c, e| (&c * &e, e.sin()));
        let two = scan((x.at(0), x.at(1)), &(), 4, |(c, e), ()| ((&c * &e, e.sin()), ()));
        let (long, short, back) = (long.0 + long.1.at(4), short.0 + short.1.at(0), back.0 + back.1.at(0));
        long * short * back + two.0.0 * two.0.1
    }
    let x: Vector<Concrete, f64> = Vector::from_slice(&[0.7, 1.3, -0.4, 0.9, 1.1]);
    let (value, gradient) = value_and_grad(loops, &x);
    let staged = stage(loops, &x).unwrap().value_and_grad().unwrap();
    for (found, slopes) in [staged.call(&x).unwrap(), staged.compile(Cpu::default()).unwrap().call(&x).unwrap()] {
        assert!((found.item() - value.item()).abs() < 1e-12, "{staged}");
        let pairs = slopes.to_vec().into_iter().zip(gradient.to_vec());
        assert!(pairs.clone().all(|(a, b)| (a - b).abs() < 1e-12), "{:?}\n{staged}", pairs.collect::<Vec<_>>());
    }
}

/// Additions in place of scatters with their axes in an order that is no inverse of itself once wrote elsewhere.
#[test]
fn scatters_with_their_axes_turned_are_added_where_they_belong() {
    fn added<A: Algebra>(x: &Tensor<A, f64, R3>) -> Scalar<A, f64> {
        let (rows, columns) = (x.shape()[1], x.shape()[2]);
        let last = fold(x.clone(), &iota(2), |x, k| {
            let updates = x.index_axis(2, &k).transpose().sin();
            let scattered = updates.scatter((iota(rows), iota(rows) + &k), (rows, columns));
            x + scattered.tr(&[2, 0, 1])
        });
        last.sin().sum()
    }
    for shape in [(4, 3, 5), (4, 4, 4)] {
        let count = shape.0 * shape.1 * shape.2;
        let x = v(&(0..count).map(|i| (i as f64 * 0.7).cos()).collect::<Vec<_>>()).reshape(shape);
        let (value, gradient) = value_and_grad(added, &x);
        let staged = stage(added, &x).unwrap();
        let compiled = staged.compile(Cpu::default()).unwrap().call(&x).unwrap();
        assert!((compiled.item() - value.item()).abs() < 1e-12, "{compiled:?}, eagerly {value:?}");
        let (found, slopes) = staged.value_and_grad().unwrap().compile(Cpu::default()).unwrap().call(&x).unwrap();
        assert!((found.item() - value.item()).abs() < 1e-12);
        let pairs = slopes.to_vec().into_iter().zip(gradient.to_vec());
        assert!(pairs.clone().all(|(a, b)| (a - b).abs() < 1e-12), "{:?}", pairs.collect::<Vec<_>>());
    }
}

/// Compiling sums that read what they are added to in place once never ended.
#[test]
fn what_is_added_in_place_may_be_made_of_its_target() {
    type M<A> = Matrix<A, f64>;
    fn contracted<A: Algebra>(x: &M<A>) -> M<A> {
        fold(x.clone(), &iota(3), |y, _: Scalar<A, i64>| {
            let e = (x.insert_axis(2) + x.insert_axis(0)).cos();
            &y + (&e * y.insert_axis(1)).sum_axis(2) * 0.1
        })
    }
    fn summed<A: Algebra>(x: &M<A>) -> M<A> {
        fold(x.clone(), &iota(3), |x, _: Scalar<A, i64>| {
            let z = (x.insert_axis(2) + x.insert_axis(0)).sin();
            &x + z.sum_axis(1) * 0.1
        })
    }
    fn scattered<A: Algebra>(x: &M<A>) -> M<A> {
        let rows = x.shape()[0];
        let turned = (iota(rows) * 5 + 2).modulo(rows as i64);
        fold(x.clone(), &iota(3), |x, _: Scalar<A, i64>| &x + x.scatter(&turned, rows).sin() + x.scatter(&turned, rows))
    }
    fn shifted<A: Algebra>(x: &M<A>) -> M<A> {
        let rows = x.shape()[0];
        fold(x.clone(), &iota(3), |x, _: Scalar<A, i64>| {
            &x + x.slice(0, 1..).pad(0, 0, 1) + x.slice(0, ..rows - 1).pad(0, 1, 0)
        })
    }
    macro_rules! check {
        ($($f:ident),*) => { $(
            let x = v(&(0..34 * 34).map(|i| (i as f64 * 0.7).sin()).collect::<Vec<_>>()).reshape((34, 34));
            let (value, gradient) = value_and_grad(|x| ($f(x) * x).sum(), &x);
            let staged = stage(|x| ($f(x) * x).sum(), &x).unwrap();
            let both = staged.value_and_grad().unwrap().compile(Cpu::default()).unwrap();
            let ((found, slopes), alone) = (both.call(&x).unwrap(), staged.compile(Cpu::default()).unwrap());
            for found in [found, alone.call(&x).unwrap()] {
                assert!((found.item() - value.item()).abs() < 1e-9 * value.item().abs(), "{}", stringify!($f));
            }
            let pairs = slopes.to_vec().into_iter().zip(gradient.to_vec());
            assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + b.abs())), "{}", stringify!($f));
        )* };
    }
    check!(contracted, summed, scattered, shifted);
}

/// A write at positions along no axis, which is the updates, was a panic of what is compiled or exported.
#[test]
fn writes_at_positions_along_no_axis_are_the_updates() {
    let vector = Type::new(DType::F64, &[3]);
    let mut step: Graph = Graph::new(&[vector.clone(), vector.clone()], 1);
    let written = step.add(Op::ScatterSet, &[0, 1]);
    let step = Arc::new(step.finish(&[written]));
    let mut graph: Graph = Graph::new(&[vector.clone(), vector], 0);
    let written = graph.add(Op::ScatterSet, &[0, 1]);
    let scan = Scan { body: step, carries: 1, inputs: 0, length: 2, reverse: false };
    let scan = graph.add(Op::Scan(Arc::new(scan)), &[0, 1]);
    let last = graph.add(Op::Output(0), &[scan]);
    let body = graph.finish(&[written, last]);
    let arguments = [1.0, 2.0].map(|x| Array::from_vec(&[3], vec![x; 3]));
    let expected = [&arguments[1], &arguments[1]];
    let interpreted = interpret::<Concrete>(&body, arguments.to_vec());
    let run = Program::new(&body, &Cpu::default()).unwrap().run(&arguments).unwrap();
    for found in [interpreted, run] {
        assert_eq!(found.iter().collect::<Vec<_>>(), expected);
    }
    let program = || export::Program::new("written", body.clone());
    assert!(export::c(program()).is_ok() && export::rust(program()).is_ok() && export::opencl(program()).is_ok());
    assert!(export::stablehlo(program()).is_ok());
}

/// A `while` loop beside a loop that leaves much for its derivative was pruned again and again.
#[test]
fn loops_that_leave_much_compile_beside_while_loops() {
    fn f<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
        let y = fold(x.clone(), &iota(50), |y: Vector<A, f64>, _: Scalar<A, i64>| (y.sin() * &y) * y.cos() + 0.1);
        let (w, _) = while_loop((x.clone(), scalar(0i64)), |(_, i)| i.lt(3), |(a, i)| (a.sin(), i + 1));
        y.sum() + w.sum()
    }
    let x: Vector<Concrete, f64> = full(5000, 0.5);
    let gradient = stage(f, &x).unwrap().grad().unwrap().compile(Cpu::default()).unwrap().call(&x).unwrap();
    let expected = grad(f, &v(&[0.5])).at(0).item();
    assert!((gradient.at(4999).item() - expected).abs() < 1e-12);
}

/// A view inside of its array along each axis, but nowhere along both, in loops in one another.
#[test]
fn loops_read_views_that_are_outside_everywhere() {
    type Given<A> = (Vector<A, f64>, Matrix<A, f64>);
    fn f<A: Algebra>((x, m): &Given<A>) -> Scalar<A, f64> {
        let w = iterate(x.clone(), 2, |w: Vector<A, f64>| {
            iterate(w, 2, |w: Vector<A, f64>| build(3, |k| w.at(&k) * (m.at((&k - 2, &k + 4)) + 1.0)))
        });
        x.at(0).gt(0.0).select(w.at(1), scalar(0.4))
    }
    let z = (v(&[0.5, 0.6, 0.7]), full((4, 5), 0.3));
    let gradient = stage(f, &z).unwrap().grad().unwrap();
    assert_eq!(gradient.call(&z).unwrap().0.to_vec(), [0.0, 1.0, 0.0]);
    assert_eq!(gradient.compile(Cpu::default()).unwrap().call(&z).unwrap().0.to_vec(), [0.0, 1.0, 0.0]);
}

/// A loop in a loop leaves what it wrote over in one array, which the gradient of the other one reads where nothing uses the
/// first in the end.
#[test]
fn what_was_written_over_is_read_where_its_array_is_not_used() {
    #[differentiable]
    fn products(v: Vector<f64>, w: Vector<f64>) -> (Vector<f64>, Vector<f64>) {
        let (mut a, mut b) = (v, v);
        for j in rolled(0..2) {
            b = (a * b).sin();
            for i in rolled(0..2) {
                a[j] *= a.dot(&w);
                b[i] += b[j];
            }
        }
        (a, b)
    }
    #[differentiable]
    fn with_condition(v: Vector<f64>, w: Vector<f64>) -> (Vector<f64>, Vector<f64>) {
        let (mut a, mut b) = (v, v);
        for j in rolled(0..3) {
            b = a * b;
            if w[j] > 0.0 {
                for i in rolled(0..2) {
                    a[j] *= a.sum();
                    b[i] += b[j] * a[i];
                }
            }
        }
        (a, b)
    }
    let x = v(&[0.4, 0.8, -0.3, 0.5, 0.9, -0.7, 0.2, 0.6]);
    let y = x.reverse(0);
    macro_rules! check {
        ($($f:ident, $of:tt;)*) => { $({
            let expected = grad(|(v, w)| $f(v, w).$of.sum(), (&x, &y));
            let staged = stage(|(v, w)| $f(v, w).$of.sum(), (&x, &y)).unwrap().grad().unwrap();
            let compiled = staged.compile(Cpu::default()).unwrap().call((&x, &y)).unwrap();
            for found in [staged.call((&x, &y)).unwrap(), compiled] {
                let pairs = found.to_vec().into_iter().zip(expected.to_vec());
                assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-12), "{} of {}", $of, stringify!($f));
            }
        })* };
    }
    check!(products, 0; products, 1; with_condition, 0; with_condition, 1;);
}

/// The number of steps of `0..=usize::MAX` wrapped around to none.
#[test]
fn loops_of_more_steps_than_can_be_counted_are_errors() {
    #[differentiable]
    fn sum(x: Vector<f64>, #[plain] last: usize, #[plain] down: bool) -> Scalar<f64> {
        let mut sum = scalar(0.0);
        if down {
            for k in rolled((0..=last).rev()) {
                sum += x[k];
            }
        } else {
            for k in rolled(0..=last) {
                sum += x[k];
            }
        }
        sum
    }
    let x = v(&[1.0, 2.0]);
    assert_eq!([true, false].map(|down| sum(&x, 1, down).item()), [3.0, 3.0]);
    for down in [true, false] {
        let message = error_of(|x| sum(x, usize::MAX, down)).to_string();
        assert!(message.contains("tests/regressions.rs") && message.contains("iota"), "{message}");
    }
}

/// Positions of a write that are read from the array that it changes are kept: what they are read from is restored with them.
#[test]
fn writes_at_positions_from_the_array_itself_are_taken_back() {
    type In<A> = (Vector<A, f64>, Vector<A, i64>, Vector<A, i64>);
    fn looped<A: Algebra>((m, k, p): &In<A>, added: bool) -> Scalar<A, f64> {
        let step = |(m, k): (Vector<A, f64>, Vector<A, i64>), i: Scalar<A, i64>| {
            let u = m.gather(k.gather(iota(3))).sin();
            let next = if added { k.clone().with_added(k.at(1), i) } else { k.clone().with(k.at(1), i) };
            (m.scatter_max(p, &u), next)
        };
        fold((m.clone(), k.clone()), &iota(3), step).0.sum()
    }
    // Each array's positions are read from the other one.
    fn crossed<A: Algebra>((m, k, p): &In<A>, _: bool) -> Scalar<A, f64> {
        type State<A> = (Vector<A, f64>, Vector<A, i64>, Vector<A, i64>);
        let step = |(m, k, p): State<A>, i: Scalar<A, i64>| {
            let u = m.gather(k.gather(iota(3))).sin() * m.gather(p.gather(iota(3))).cos();
            let (at, other) = (p.at(&i), k.at(1));
            (m.scatter_max(iota(3), &u), k.with_added(at, &i), p.with(other, i))
        };
        fold((m.clone(), k.clone(), p.clone()), &iota(3), step).0.sum()
    }
    let m = Vector::from(vec![0.3, -0.8, 0.5, 0.9, -0.2, 0.1, 0.7]);
    let k = Vector::from(vec![1, 2, 0, 3, 1, 4, 2]);
    let p = Vector::from(vec![2, 0, 1, 1, 3, 0, 2]);
    let few = Vector::from(vec![2, 0, 1]);
    for added in [false, true] {
        for (is_crossed, p) in [(false, &few), (true, &p)] {
            macro_rules! f {
                () => {
                    |(m, k, p)| {
                        let all = (m.clone(), k.clone(), p.clone());
                        if is_crossed { crossed(&all, added) } else { looped(&all, added) }
                    }
                };
            }
            let expected = grad(f!(), (&m, &k, p));
            let staged = stage(f!(), (&m, &k, p)).unwrap();
            let found = staged.grad().unwrap().call((&m, &k, p)).unwrap();
            approx::assert_relative_eq!(found.to_vec()[..], expected.to_vec()[..], max_relative = 1e-12);
            let compiled = staged.grad().unwrap().compile(Cpu::default()).unwrap().call((&m, &k, p)).unwrap();
            assert_eq!(compiled.to_vec(), found.to_vec());
        }
    }
}
