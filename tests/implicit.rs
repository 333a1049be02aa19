//! Fixed points, roots and minima beyond the rows of the corpus: mistakes, limits, and derivatives checked by differences.

#[macro_use]
mod named_functions;

use deltaray::algebra::Algebra;
use deltaray::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

type S = Scalar<Concrete, f64>;
type V = Vector<Concrete, f64>;
type M = Matrix<Concrete, f64>;
type C = Concrete;
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

function!(Away: (S, S) => S, |(x, a)| 2.0 * x - a);
function!(Line: (S, S) => S, |(x, a)| a * x + 1.0);
function!(Lines: (V, V) => V, |(x, a)| a * x + 1.0);
function!(SquareRoot: (S, S) => S, |(x, a)| x * x - a);

fn steps(steps: usize) -> Convergence {
    Convergence { steps, ..Convergence::default() }
}

fn options(convergence: Convergence) -> Implicit {
    Implicit { convergence, ..Implicit::default() }
}

/// The value of a function of numbers and its derivative, eager and staged, which are the same.
macro_rules! both_ways {
    ($f:expr, $at:expr) => {{
        let at = scalar($at);
        let (value, slope) = value_and_grad($f, &at);
        let staged = stage($f, &at).unwrap().value_and_grad().unwrap().call(&at).unwrap();
        let same = |a: f64, b: f64| assert!((a.is_nan() && b.is_nan()) || (a - b).abs() < 1e-9, "{a} and {b}");
        same(value.item(), staged.0.item());
        same(slope.item(), staged.1.item());
        (value.item(), slope.item())
    }};
}

#[test]
fn iterations_that_do_not_converge_give_nan() {
    // There is no fixed point that attracts; the number of steps is too small; there is no step at all.
    let (value, slope) = both_ways!(|a| fixed_point(&Away, &scalar(0.5), a, &options(steps(50))), 1.0);
    assert!(value.is_nan() && slope.is_nan());
    let (value, slope) = both_ways!(|a| fixed_point(&Cosine, &scalar(0.5), a, &options(steps(5))), 1.0);
    assert!(value.is_nan() && slope.is_nan());
    assert!(fixed_point(&Cosine, &scalar(0.5), &scalar(1.0), &options(steps(0))).item().is_nan());
    // Numbers that are none end it at once.
    assert!(fixed_point(&Cosine, &scalar(f64::NAN), &scalar(1.0), &Implicit::default()).item().is_nan());
    // The same of Newton's method: there is no root, and three steps are too few.
    let found = |convergence, a: f64| {
        let newton = Newton(SquareRoot, convergence);
        let implicit = Implicit::default();
        both_ways!(|a| root(&SquareRoot, &newton, &scalar(1.0), a, &implicit), a)
    };
    let (value, slope) = found(steps(100), -1.0);
    assert!(value.is_nan() && slope.is_nan());
    let (value, slope) = found(steps(3), 100.0);
    assert!(value.is_nan() && slope.is_nan());
    let (value, slope) = found(steps(20), 100.0);
    assert!((value - 10.0).abs() < 1e-9 && (slope - 0.05).abs() < 1e-9);
    // All elements are, whichever did not converge.
    let lines = FixedPoint(Lines, options(steps(100)));
    assert!(lines.call::<Concrete>(&(V::from(vec![0.5, 0.5]), V::from(vec![0.5, 3.0]))).to_vec()[0].is_nan());
}

#[test]
fn linear_iterations_that_do_not_converge_give_nan() {
    // The start is the fixed point, which repels, so that only the derivative's iteration diverges.
    let with = |linear| Implicit { linear: Some(linear), ..Implicit::default() };
    let (value, slope) =
        both_ways!(|a| fixed_point(&Away, &scalar(1.0), a, &with(LinearSolver::Iteration(steps(60)))), 1.0);
    assert!(value == 1.0 && slope.is_nan());
    let (value, slope) = both_ways!(|a| fixed_point(&Away, &scalar(1.0), a, &with(LinearSolver::Dense)), 1.0);
    assert!(value == 1.0 && (slope - 1.0).abs() < 1e-12);
    // Conjugate gradients need as many steps as there are unlike unknowns.
    let a = V::from(vec![0.5, 2.0, 5.0]);
    let slope = |count| {
        let options = with(LinearSolver::NormalEquations(steps(count)));
        let newton = newton(Cubes);
        let eager = grad(|a| root(&Cubes, &newton, &zeros(3), a, &options).sum(), &a).to_vec();
        let staged = stage(|a| root(&Cubes, &newton, &zeros(3), a, &options).sum(), &a).unwrap().grad().unwrap();
        let staged = staged.call(&a).unwrap().to_vec();
        assert_eq!(
            eager.iter().map(|x| x.is_nan()).collect::<Vec<_>>(),
            staged.iter().map(|x| x.is_nan()).collect::<Vec<_>>()
        );
        eager
    };
    for few in [0, 1] {
        assert!(slope(few).iter().all(|x| x.is_nan()));
    }
    assert!(slope(10).iter().all(|x| x.is_finite() && *x > 0.0));
}

/// The linear systems are scaled: values small beside 1 don't count as solved, and slow divergence from small values is
/// noticed.
#[test]
fn derivatives_are_linear_in_cotangents_and_tangents() {
    let solvers = [
        LinearSolver::Iteration(Convergence::default()),
        LinearSolver::NormalEquations(Convergence::default()),
        LinearSolver::Dense,
    ];
    let a = scalar(1.0);
    let x = fixed_point(&Cosine, &scalar(0.5), &a, &Implicit::default()).item();
    let expected = -x * x.sin() / (1.0 + x.sin());
    for linear in solvers {
        let options = Implicit { linear: Some(linear), ..Implicit::default() };
        for size in [1e-300, 1e-170, 1e-30, 1e-12, 1e-6, 1e6, 1e150] {
            let close =
                |found: f64| assert!((found / size / expected - 1.0).abs() < 1e-9, "{linear:?}, {size}: {found}");
            close(grad(|a| fixed_point(&Cosine, &scalar(0.5), a, &options) * size, &a).item());
            close(jvp(|a| fixed_point(&Cosine, &scalar(0.5), a, &options), &a, &scalar(size)).1.item());
            let staged = stage(|a| fixed_point(&Cosine, &scalar(0.5), a, &options) * size, &a).unwrap();
            close(staged.grad().unwrap().call(&a).unwrap().item());
        }
    }
    let slope = grad(|a| fixed_point(&Away, &scalar(1.0), a, &Implicit::default()) * 1e-14, &a);
    assert!(slope.item().is_nan());
    let many = Vector::<Concrete, f32>::from(vec![1.0; 10_000]);
    let slopes = grad(|a| fixed_point(&Single, &full(10_000, 0.5), a, &Implicit::default()).mean(), &many);
    assert!(slopes.to_vec().iter().all(|&slope| (f64::from(slope) * 1e4 / expected - 1.0).abs() < 1e-4));
}

#[test]
fn stagnation_above_the_tolerance_gives_values() {
    // Rounding keeps some changes above such a tolerance.
    let never = |steps| options(Convergence { tolerance: 1e-300, steps });
    let (value, _) = both_ways!(|a| fixed_point(&Cosine, &scalar(0.5), a, &never(200)), 1.0);
    assert!((value - 0.739085133215161).abs() < 1e-12);
    let half = |steps| options(Convergence { tolerance: 1e-8, steps });
    let value = |steps| fixed_point(&Line, &scalar(0.0), &scalar(0.5), &half(steps)).item();
    // The change of step n is 2¹⁻ⁿ, relative to 3, and 1e-4 is enough.
    assert!(value(11).is_nan());
    assert!((value(14) - 2.0).abs() < 1e-3 && value(14) != 2.0);
    let single = Vector::<Concrete, f32>::from(vec![0.5, 1.0]);
    let few =
        |steps| fixed_point(&Single, &zeros(2), &single, &options(Convergence { tolerance: 1e-13, steps })).to_vec();
    assert!(few(8).iter().all(|x| x.is_nan()));
    // Single precision counts from 1e-3 on.
    assert!(few(25).iter().all(|x| x.is_finite()));
}

#[test]
fn each_of_many_iterations_is_judged_alone() {
    let (a, start) = (V::from(vec![0.5, 3.0, -0.5, -1.0]), V::from(vec![0.0; 4]));
    fn mapped<A: Algebra>(a: &Vector<A, f64>, start: &Vector<A, f64>) -> Vector<A, f64> {
        vmap(|(a, start)| fixed_point(&Line, &start, &a, &options(steps(100))), &(a.clone(), start.clone()))
    }
    let check = |values: Vec<f64>| {
        assert!((values[0] - 2.0).abs() < 1e-9 && (values[2] - 2.0 / 3.0).abs() < 1e-9, "{values:?}");
        assert!(values[1].is_nan() && values[3].is_nan(), "{values:?}");
    };
    check(mapped(&a, &start).to_vec());
    let staged = stage(|(a, start)| mapped(a, start), (&a, &start)).unwrap();
    check(staged.call((&a, &start)).unwrap().to_vec());
    // The derivative of 1 / (1 − a).
    let check = |slopes: Vec<f64>| {
        assert!((slopes[0] - 4.0).abs() < 1e-9 && (slopes[2] - 4.0 / 9.0).abs() < 1e-9, "{slopes:?}");
        assert!(slopes[1].is_nan() && slopes[3].is_nan(), "{slopes:?}");
    };
    check(grad(|a| mapped(a, &start.lift()).sum(), &a).to_vec());
    check(stage(|a| mapped(a, &zeros(4)).sum(), &a).unwrap().grad().unwrap().call(&a).unwrap().to_vec());
}

#[test]
fn an_iteration_on_a_side_not_taken_does_no_harm() {
    fn positive<A: Algebra>(a: &Vector<A, f64>) -> Vector<A, f64> {
        build(a.len(), |i| {
            let a = a.at(i);
            let newton = Newton(SquareRoot, steps(30));
            cond(a.gt(0.0), || root(&SquareRoot, &newton, &scalar(1.0), &a, &Implicit::default()), || scalar(0.0))
        })
    }
    fn selected<A: Algebra>(a: &Vector<A, f64>) -> Vector<A, f64> {
        build(a.len(), |i| {
            let a = a.at(i);
            let linear = Some(LinearSolver::Iteration(steps(200)));
            let found = fixed_point(&Line, &scalar(0.0), &a, &Implicit { linear, ..options(steps(200)) });
            a.abs().lt(0.9).select(found, 0.0)
        })
    }
    let a = V::from(vec![4.0, -1.0, 0.25]);
    let expected = [0.25, 0.0, 1.0];
    let check = |found: Vec<f64>, expected: [f64; 3]| {
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{found:?}");
    };
    check(grad(|a| positive(a).sum(), &a).to_vec(), expected);
    check(stage(|a| positive(a).sum(), &a).unwrap().grad().unwrap().call(&a).unwrap().to_vec(), expected);
    check(jvp(positive, &a, &V::from(vec![1.0; 3])).1.to_vec(), expected);
    let staged = stage(positive, &a).unwrap().jvp().unwrap();
    check(staged.call((&a, &V::from(vec![1.0; 3]))).unwrap().1.to_vec(), expected);
    let (a, expected) = (V::from(vec![0.5, 3.0, -0.5]), [4.0, 0.0, 4.0 / 9.0]);
    check(grad(|a| selected(a).sum(), &a).to_vec(), expected);
    check(stage(|a| selected(a).sum(), &a).unwrap().grad().unwrap().call(&a).unwrap().to_vec(), expected);
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

function!(Gram: (V, M) => V, |(x, a)| x + a.t().dot(&a.dot(x)));
function!(Scaled: (V, V) => V, |(x, a)| a * x);
function!(Divided: (V, V) => V, |(x, a)| x / a);
function!(SinglePair: ((Vector<C, f32>, S), S) => (Vector<C, f32>, S), |((x, y), a)| {
    (a.cast::<f32>() * x + y.cast::<f32>(), x.sum().cast::<f64>() + 4.0 * y)
});
function!(ShortGram: (V, V) => V, |(x, a)| x.slice(0, 1..));

#[test]
fn conjugate_gradients_solve_and_have_derivatives() {
    let a = M::from([[1.0, 2.0, -0.5], [0.3, -1.0, 2.0]]);
    let b = V::from([1.0, -2.0, 3.0]);
    let options = Implicit::default();
    let found = conjugate_gradients(&Gram, &b, &a, &options);
    assert!((Gram.call::<Concrete>(&(found.x, a.clone())) - &b).abs().lt(1e-12).all().item());
    assert!(found.residual.item() <= 1e-13 && (2..=4).contains(&found.steps.item()), "{:?}", found.steps);
    // By the matrix itself.
    fn dense<A: Algebra>((a, b): &(Matrix<A, f64>, Vector<A, f64>)) -> Scalar<A, f64> {
        deltaray::linalg::solve(&(a.t().dot(a) + eye(3)), b).powi(3).sum()
    }
    fn iterated<A: Algebra>((a, b): &(Matrix<A, f64>, Vector<A, f64>)) -> Scalar<A, f64> {
        conjugate_gradients(&Gram, b, a, &Implicit::default()).x.powi(3).sum()
    }
    let (at, along) = ((a, b), (M::from([[0.1, 0.0, 1.0], [-1.0, 0.5, 0.2]]), V::from([1.0, 0.0, -1.0])));
    let near = |found: (M, V), expected: (M, V)| {
        assert!((found.0 - expected.0).abs().lt(1e-9).all().item());
        assert!((found.1 - expected.1).abs().lt(1e-9).all().item());
    };
    near(grad(iterated, &at), grad(dense, &at));
    near(hvp(iterated, &at, &along), hvp(dense, &at, &along));
    near(stage(iterated, &at).unwrap().grad().unwrap().call(&at).unwrap(), grad(dense, &at));
    let order = Implicit { linear: Some(LinearSolver::Dense), orders: 0, ..options };
    let by_elimination = grad(|(a, b)| conjugate_gradients(&Gram, b, a, &order).x.powi(3).sum(), &at);
    near(by_elimination, grad(dense, &at));
}

#[test]
fn conjugate_gradients_say_how_far_they_came() {
    let (a, b): (V, V) = (iota(50).cast::<f64>().powi(2) + 1.0, ones(50));
    let few = options(steps(5));
    let found = conjugate_gradients(&Scaled, &b, &a, &few);
    // The last iterate, whose residual is the one that is reported.
    let left = &b - &a * &found.x;
    let residual = (left.dot(&left) / b.dot(&b)).sqrt().item();
    assert!(residual > 1e-3 && (residual - found.residual.item()).abs() < 1e-12, "{residual}");
    assert_eq!(found.steps.item(), 5);
    let none = conjugate_gradients(&Scaled, &b, &a, &options(steps(0)));
    assert!(none.x.to_vec().iter().all(|&x| x == 0.0) && none.residual.item() == 1.0);
    let unknown = conjugate_gradients(&Scaled, &(&b * f64::NAN), &a, &Implicit::default());
    assert!(unknown.x.to_vec().iter().all(|x| x.is_nan()) && unknown.residual.item().is_nan());
    // No residual tells of the systems of derivatives.
    let slope = grad(|a| conjugate_gradients(&Scaled, &b.lift(), a, &few).x.sum(), &a);
    assert!(slope.to_vec().iter().all(|x| x.is_nan()));
    // The inverse of the diagonal is all of the inverse, for derivatives too.
    let found = preconditioned_conjugate_gradients(&Scaled, &Divided, &b, &a, &few);
    assert!(found.steps.item() == 1 && (found.x * &a - &b).abs().lt(1e-12).all().item());
    let sum = |a: &_| preconditioned_conjugate_gradients(&Scaled, &Divided, &b.lift(), a, &few).x.sum();
    assert!((grad(sum, &a) + a.powi(-2)).abs().lt(1e-12).all().item());
    let nothing = conjugate_gradients(&Scaled, &zeros(50), &a, &Implicit::default());
    assert!(nothing.x.to_vec().iter().all(|&x| x == 0.0) && nothing.steps.item() == 0);
    assert!(conjugate_gradients(&Scaled, &-b, &-a, &Implicit::default()).residual.item() > 0.0);
    let none = conjugate_gradients(&Scaled, &zeros(0), &zeros(0), &Implicit::default());
    assert_eq!((none.x.len(), none.residual.item()), (0, 0.0));
}

function!(Product: (V, M) => V, |(x, a)| a.dot(x));

/// The residual that the iteration carries along is that of another vector, where rounding counts.
#[test]
fn conjugate_gradients_report_the_residual_of_their_solution() {
    let matrix = |n: usize, element: &dyn Fn(usize, usize) -> f64| -> M {
        Matrix::from_elements((n, n), (0..n * n).map(|at| element(at / n, at % n)).collect())
    };
    let hilbert = matrix(12, &|i, j| 1.0 / (1 + i + j) as f64);
    // The second difference on a ring, which all but loses sums.
    let ring = matrix(10, &|i, j| match (i + 10 - j) % 10 {
        0 => 2.0 + 1e-14,
        1 | 9 => -1.0,
        _ => 0.0,
    });
    let (b, first): (V, V) = (iota(12).cast::<f64>().sin(), iota(10).equal(0).select(1.0, 0.0));
    for (a, b) in [(hilbert, b), (ring, first)] {
        let found = conjugate_gradients(&Product, &b, &a, &Implicit::default());
        let left = &b - a.dot(&found.x);
        let residual = (left.dot(&left) / b.dot(&b)).sqrt().item();
        assert!(residual > 1e-3, "{residual}");
        // The product is rounded in another way.
        let ratio = found.residual.item() / residual;
        assert!(ratio > 0.3 && ratio < 3.0, "{} and {residual}", found.residual.item());
        let slope = grad(|b| conjugate_gradients(&Product, b, &a.lift(), &Implicit::default()).x.at(6), &b);
        assert!(slope.to_vec().iter().all(|x| x.is_nan()), "{slope:?}");
    }
}

#[test]
fn conjugate_gradients_take_trees_and_report_mistakes() {
    let (b, a) = ((Vector::<C, f32>::from([1.0, 2.0]), scalar(3.0)), scalar(5.0));
    let found = conjugate_gradients(&SinglePair, &b, &a, &Implicit::default());
    let (x, y) = SinglePair.call::<Concrete>(&(found.x, a));
    assert!((x - b.0).abs().lt(1e-5).all().item() && (y - b.1).abs().item() < 1e-5);
    let x = V::from(vec![1.0, 2.0]);
    let expected = "conjugate_gradients: the unknowns and what the function gives differ: array 0 is f64[2] and f64[1] \
                    (at tests/implicit.rs:";
    let eager = panic_of(|| drop(conjugate_gradients(&ShortGram, &x, &x, &Implicit::default())));
    assert!(eager.starts_with(expected), "{eager}");
}
