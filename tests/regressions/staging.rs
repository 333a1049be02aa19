//! Staging, and the identity of trees and programs.

use super::*;

/// Two vectors that need not be there.
type Pair<A> = (Option<Vector<A, f64>>, Option<Vector<A, f64>>);

const NOTHING: Option<Vector<Concrete, f64>> = None;

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
        assert!(place.contains("tests/regressions"), "{place}");
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

/// The panic of an inner staging dropped the error recorded for the outer one, which then succeeded.
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

/// Trees were compared by their arrays alone, so that one option's content was taken for the other's.
#[test]
fn trees_with_equal_arrays_and_another_structure_differ() {
    let x = v(&[1.0, 2.0]);
    let function = stage(|(x, y): &Pair<Staged>| x.as_ref().or(y.as_ref()).unwrap() * 2.0, &(Some(x.clone()), NOTHING));
    let function = function.expect("the options are what they are");
    assert!(function.call(&(Some(x.clone()), NOTHING)).is_ok());
    let error = function.call(&(NOTHING, Some(x.clone()))).expect_err("the other one");
    assert!(matches!(error, Error::Structure(_)), "{error}");

    let error = error_of(|x| cond(x.at(0).gt(0.0), || (Some(x.clone()), None), || (None, Some(x.clone()))));
    assert!(error.to_string().contains(file!()), "{error}");
    let error = error_of(|x| scan((Some(x.clone()), None), &(), 3, |(x, y), ()| ((y, x), ())).0);
    assert!(error.to_string().contains(file!()), "{error}");
    let eager = || select(x.at(0).gt(0.0), &(Some(x.clone()), None), &(None, Some(x.clone())));
    assert!(catch_unwind(AssertUnwindSafe(eager)).is_err());
    let (_, pullback) = vjp(|x: &Vector<_, f64>| -> Pair<_> { (Some(x * 2.0), None) }, &x);
    assert_eq!(pullback(&(Some(x.clone()), NOTHING)).to_vec(), [2.0, 4.0]);
    assert!(catch_unwind(AssertUnwindSafe(|| pullback(&(NOTHING, Some(x.clone()))))).is_err());
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
