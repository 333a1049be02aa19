//! Programs that once went wrong.

use deltaray::Error;
use deltaray::algebra::Algebra;
use deltaray::prelude::*;
use deltaray::staged::Staged;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

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
    let mut index = None;
    build::<A, _, _, _>(3, |i| {
        index = Some(i.clone());
        i
    });
    index.expect("the closure ran")
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

/// Sizes beyond `usize` passed as equal, and flattening such an array was an internal panic.
#[test]
fn sizes_beyond_counting() {
    let large = || zeros::<Staged, f64, _>((1 << 40, 1 << 40));
    for (error, name) in [
        (error_of(|_| large().flatten()), "reshape"),
        (error_of(|_| large().argmax()), "reshape"),
        (error_of(|_| large().reshape((1 << 50, 1 << 50))), "reshape"),
    ] {
        let Error::Operands { operation, place, .. } = error else { panic!("{error}") };
        assert_eq!(operation, name);
        assert!(place.contains("regressions.rs"), "{place}");
    }
    assert_eq!(full::<Concrete, i64, _>((1 << 40, 1 << 40), 1).sum().item(), 0);
    assert_eq!(full::<Concrete, i32, _>((1 << 20, 3), i32::MAX).sum().item(), -3 << 20);
    assert!(full::<Concrete, f64, _>((1 << 40, 1 << 40), 1.0).sum().item() == 2f64.powi(80));
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
