//! Fixed points, roots and minima beyond the rows of the corpus: mistakes, limits, and derivatives checked by differences.

#[macro_use]
mod named_functions;

use deltaray::algebra::Algebra;
use deltaray::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

type S = Scalar<Concrete, f64>;
type V = Vector<Concrete, f64>;
type M = Matrix<Concrete, f64>;
type Ns = Vector<Concrete, i64>;

function!(Cosine: (S, S) => S, |(x, a)| (a * x).cos());
function!(Layer: (V, (M, V)) => V, |(x, (w, b))| (w.dot(x) + b).tanh());
function!(Shortened: (V, V) => V, |(x, a)| x.slice(0, 1..));
function!(Cubes: (V, V) => V, |(x, a)| x.powi(3) + x - a);
function!(Counted: (Ns, S) => Ns, |(x, a)| x.clone());
function!(Quartic: (V, V) => S, |(x, a)| (x.powi(4) + x.powi(2) - a * x).sum());
function!(Flat: (S, S) => S, |(x, a)| (x - a).powi(3));
function!(Single: (Vector<Concrete, f32>, Vector<Concrete, f32>) => Vector<Concrete, f32>, |(x, a)| (a * x).cos());

/// From only the parameters, at a start.
#[derive(Clone, Copy)]
struct Starting<F, X>(F, X);

impl<F, X, P> ArrayFn for Starting<F, X>
where
    F: ArrayFn<In = (V, P), Out = V>,
    P: Family<At<Concrete>: Send + Sync>,
    X: Fn() -> V,
{
    type In = P;
    type Out = V;
    fn call<A: Algebra>(&self, parameters: &P::At<A>) -> Vector<A, f64> {
        let parameters = P::rebuild::<A, A>(parameters, &mut deltaray::tensor::Tree::leaves(parameters).into_iter());
        self.0.call::<A>(&(constant(&(self.1)()), parameters))
    }
}

/// The text of a panic.
fn panic_of(work: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(work)).expect_err("a mistake is reported");
    payload.downcast_ref::<String>().expect("panics have a text").clone()
}

fn newton<G>(g: G) -> Newton<G> {
    Newton(g, Convergence::default())
}

#[test]
fn derivatives_are_those_of_differences() {
    let options = Implicit::default();
    let check = CheckGrad::default();
    let weights = ndarray::array![[0.2, -0.3], [0.1, 0.4]];
    let at = (M::from(weights), V::from(vec![0.3, -0.2]));
    check_grad(&Starting(FixedPoint(Layer, options), || zeros(2)), &at, &check).unwrap();
    let a = V::from(vec![2.0, 0.5, -1.0]);
    check_grad(&Starting(Root(Cubes, newton(Cubes), options), || zeros(3)), &a, &check).unwrap();
    check_grad(&Starting(Minimum(Quartic, newton(GradFirst(Quartic)), options), || zeros(3)), &a, &check).unwrap();
    let linears = [
        LinearSolver::Dense,
        LinearSolver::NormalEquations(Convergence::default()),
        LinearSolver::Iteration(Convergence::default()),
    ];
    for linear in linears {
        // The iteration needs a matrix near the unit matrix.
        let a = if matches!(linear, LinearSolver::Iteration(_)) { V::from(vec![0.2, 0.1, -0.3]) } else { a.clone() };
        let options = Implicit { linear: Some(linear), ..options };
        check_grad(&Starting(Root(Cubes, newton(Cubes), options), || zeros(3)), &a, &check).unwrap();
    }
}

#[test]
fn many_unknowns_are_solved_without_a_matrix() {
    let a: V = iota(300).cast::<f64>() / 100.0;
    let slope = grad(|a| root(&Cubes, &Start, &zeros(300), a, &Implicit::default()).sum(), &a);
    let solution = root(&Cubes, &Start, &zeros(300), &a, &Implicit::default());
    let expected = 1.0 / (3.0 * solution.powi(2) + 1.0);
    assert!((slope - expected).abs().max_all().item() < 1e-9);
}

function!(Start: (V, V) => V, |(x, a)| {
    // Newton's steps element by element.
    iterate(x.clone(), 40, |x| &x - (x.powi(3) + &x - a) / (3.0 * x.powi(2) + 1.0))
});

#[test]
fn single_precision_converges() {
    let a = Vector::<Concrete, f32>::from(vec![0.5, 1.0]);
    let slope = grad(|a| fixed_point(&Single, &zeros(2), a, &Implicit::default()).sum(), &a).to_vec();
    let x = fixed_point(&Single, &zeros(2), &a, &Implicit::default()).to_vec();
    for ((slope, x), a) in slope.into_iter().zip(x).zip([0.5_f32, 1.0]) {
        let sine = (a * x).sin();
        assert!((slope + x * sine / (1.0 + a * sine)).abs() < 1e-4);
    }
}

#[test]
fn values_of_another_shape_are_errors() {
    let x = V::from(vec![1.0, 2.0, 3.0]);
    let options = Implicit::default();
    let expected = "fixed_point: the unknowns and what the function gives differ: array 0 is f64[3] and f64[2] (at tests/implicit.rs:";
    let line = line!() + 1;
    let eager = panic_of(|| drop(fixed_point(&Shortened, &x, &x, &options)));
    assert!(eager.starts_with(&format!("{expected}{line}:")), "{eager}");
    let line = line!() + 1;
    let staged = stage(|x| fixed_point(&Shortened, x, x, &options), &x).err();
    let staged = staged.expect("the function runs when it is staged").to_string();
    assert!(staged.starts_with(&format!("{expected}{line}:")), "{staged}");
    let solver = panic_of(|| drop(root(&Cubes, &Shortened, &x, &x, &options)));
    assert!(
        solver.starts_with("root: the unknowns and what the solver gives differ: array 0 is f64[3] and f64[2]"),
        "{solver}"
    );
    let equation = panic_of(|| drop(grad(|a| root(&Shortened, &Start, &x.lift(), a, &options).sum(), &x)));
    assert!(equation.starts_with("root: the unknowns and what the function gives differ"), "{equation}");
}

#[test]
fn unknowns_that_are_no_floats_are_errors() {
    let x = Ns::from(vec![1, 2]);
    let expected = "fixed_point: the unknowns are floats, and not i64[2] (at tests/implicit.rs:";
    let eager = panic_of(|| drop(fixed_point(&Counted, &x, &scalar(1.0), &Implicit::default())));
    assert!(eager.starts_with(expected), "{eager}");
    let staged = stage(|(x, a)| fixed_point(&Counted, x, a, &Implicit::default()), (&x, &scalar(1.0))).err();
    assert!(staged.expect("integers have no derivative").to_string().starts_with(expected));
}

#[test]
fn iterations_end() {
    // It has no fixed point that attracts, and ends all the same.
    let options = Implicit { convergence: Convergence { steps: 50, ..Convergence::default() }, ..Implicit::default() };
    function!(Away: (S, S) => S, |(x, a)| 2.0 * x + a);
    assert!(fixed_point(&Away, &scalar(1.0), &scalar(1.0), &options).item() > 1e10);
    // NaN ends it at once.
    assert!(fixed_point(&Cosine, &scalar(f64::NAN), &scalar(1.0), &Implicit::default()).item().is_nan());
}

#[test]
fn a_singular_equation_has_no_finite_derivative() {
    let slope = grad(|a| root(&Flat, &Exactly, &scalar(0.0), a, &Implicit::default()), &scalar(2.0));
    assert!(!slope.item().is_finite());
    function!(Exactly: (S, S) => S, |(x, a)| a.clone());
}

#[test]
fn no_unknowns_are_a_fixed_point() {
    function!(Nothing: (V, S) => V, |(x, a)| x * a);
    let (value, slope) =
        value_and_grad(|a| fixed_point(&Nothing, &zeros(0), a, &Implicit::default()).sum(), &scalar(2.0));
    assert_eq!((value.item(), slope.item()), (0.0, 0.0));
    let solved = grad(|a| root(&Nothing, &newton(Nothing), &zeros(0), a, &Implicit::default()).sum(), &scalar(2.0));
    assert_eq!(solved.item(), 0.0);
}

/// A derivative that is linearised is transposed where cotangents are zero: how many steps a linear solver takes must not
/// depend on that.
#[test]
fn linearised_derivatives_do_not_stop_at_zeros() {
    let one = scalar(1.0);
    for orders in [0, 1, 2] {
        let f = |a: &Scalar<_, f64>| fixed_point(&Cosine, &scalar(0.5), a, &Implicit { orders, ..Implicit::default() });
        let staged = stage(f, &one).unwrap();
        let (_, tangent) = staged.linearize(&one).unwrap();
        let expected = grad(|a| fixed_point(&Cosine, &scalar(0.5), a, &Implicit::default()), &one).item();
        assert!((tangent.call(&one).unwrap().item() - expected).abs() < 1e-9);
    }
}
