//! Implicit differentiation: functions given by an equation that their values satisfy.
//!
//! The derivative of `x` with `g(x, θ) = 0` by the parameters `θ` follows from the equation at the solution, however that was
//! found: `∂g/∂x · ẋ = −∂g/∂θ · θ̇`. So a solver is run without a derivative, and nothing of its steps is kept; a derivative
//! costs one linear system, transposed in reverse mode. The solution of that system is again a function given by an equation,
//! so that higher derivatives keep nothing of its solver either.

mod conjugate;
mod convergence;
mod equation;
mod linear;

use super::{ArrayFn, At, grad};
use crate::algebra::{Algebra, CustomFunction, DerivativeRule};
use crate::concrete::Concrete;
use crate::tensor::{Family, Float, Scalar, Tree, Vector, flatten, unflatten};
pub use conjugate::{ConjugateSolution, conjugate_gradients, preconditioned_conjugate_gradients};
pub use convergence::Convergence;
use convergence::iterated;
use equation::{Equation, zeros_like};
use linear::{LinearMethod, LinearSolve};
use std::sync::Arc;

/// How the linear systems of derivatives are solved: `M y = b`, where `M` is the derivative of the equation by the unknowns.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum LinearSolver {
    /// `y ← y + (b − M y)`, which for a fixed point of `f` is `y ← b + ∂f/∂x · y`: it converges where the iteration of `f`
    /// does, and as fast. For a root it converges where `M` is near the unit matrix only. No matrix is made.
    Iteration(Convergence),
    /// Conjugate gradients for `Mᵀ M y = Mᵀ b`, for any `M` that is not singular; rounding is amplified by the square of its
    /// condition. No matrix is made; without rounding there are no more steps than unknowns.
    NormalEquations(Convergence),
    /// Elimination with row pivots on the whole matrix: exact, in n³ operations for n unknowns. Where `M` is singular the
    /// result is not finite.
    Dense,
}

/// How functions that are given by an equation are computed and differentiated.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Implicit {
    /// When the iteration of [`fixed_point`] ends. A [`root`] has a solver of its own.
    pub convergence: Convergence,
    /// How linear systems are solved. `None` is, for a fixed point, iteration to the same convergence; for a root,
    /// elimination for up to [`DENSE_UNKNOWNS`] unknowns, and conjugate gradients beyond.
    pub linear: Option<LinearSolver>,
    /// The highest order for which derivatives use this linear solver and keep nothing of its steps. Higher ones are right too:
    /// they differentiate the steps of elimination, on the whole matrix. A staged program doubles with each order.
    pub orders: usize,
}

impl Default for Implicit {
    fn default() -> Self {
        Implicit { convergence: Convergence::default(), linear: None, orders: 2 }
    }
}

/// Up to how many unknowns a root's linear systems are solved by elimination, unless [`Implicit::linear`] says otherwise.
pub const DENSE_UNKNOWNS: usize = 128;

/// The fixed point `x = f(x, θ)`, iterated from `start`: see [`fixed_point`].
#[derive(Clone, Copy, Debug)]
pub struct FixedPoint<F>(pub F, pub Implicit);

/// The root `g(x, θ) = 0` that a solver finds from `start`: see [`root`]. The equation, the solver, the options.
#[derive(Clone, Copy, Debug)]
pub struct Root<G, S>(pub G, pub S, pub Implicit);

/// The point at which `∂loss/∂x(x, θ) = 0` that a solver finds from `start`: see [`minimum`]. The loss, the solver, the
/// options.
#[derive(Clone, Copy, Debug)]
pub struct Minimum<L, S>(pub L, pub S, pub Implicit);

/// Newton's method for `g(x, θ) = 0`: from a start and the parameters to the root, a solver for [`root`]. Each step solves a
/// dense linear system. Where it does not converge the result is NaN.
#[derive(Clone, Copy, Debug)]
pub struct Newton<G>(pub G, pub Convergence);

/// The gradient of a loss by its first argument: from `(x, θ)` to `∂loss/∂x`, an equation for [`root`] and [`Newton`].
#[derive(Clone, Copy, Debug)]
pub struct GradFirst<L>(pub L);

/// The fixed point `x = f(x, θ)` of a function, by iteration from `start` until a step changes little. `x` is a tree of
/// floats, `f` gives one like it.
///
/// It is differentiable in the parameters, not in the start, by the rule of implicit functions, in any mode and order.
/// Nothing of the iteration is kept for that: memory does not depend on the number of steps. The derivatives are those of
/// the exact fixed point, and as far from them as the iteration is; where it did not converge the result is NaN, see
/// [`Convergence`]. The iteration must be a contraction around the fixed point, or [`Implicit::linear`] another method than iteration.
///
/// ```
/// use deltaray::prelude::*;
///
/// /// x ↦ cos(a x).
/// #[derive(Clone)]
/// struct Cosine;
/// impl ArrayFn for Cosine {
///     type In = (Scalar<Concrete, f64>, Scalar<Concrete, f64>);
///     type Out = Scalar<Concrete, f64>;
///     fn call<A: Algebra>(&self, (x, a): &(Scalar<A, f64>, Scalar<A, f64>)) -> Scalar<A, f64> {
///         (a * x).cos()
///     }
/// }
///
/// let a = scalar(1.0);
/// let x = fixed_point(&Cosine, &scalar(0.5), &a, &Implicit::default());
/// assert!((x.item() - 0.739085133215161).abs() < 1e-12);
/// let slope = grad(|a| fixed_point(&Cosine, &scalar(0.5), a, &Implicit::default()), &a).item();
/// // From dx = −sin(x) (dx + x da) at a = 1.
/// assert!((slope + x.item() * x.item().sin() / (1.0 + x.item().sin())).abs() < 1e-12);
/// ```
///
/// # Panics
///
/// When `x` has arrays of other types than floats, or `f` gives a value of another structure or shape than `x`; in a staged
/// function that is the error of [`stage`](super::stage) instead.
#[track_caller]
pub fn fixed_point<A, F, X, P>(f: &F, start: &At<X, A>, parameters: &At<P, A>, options: &Implicit) -> At<X, A>
where
    A: Algebra,
    F: ArrayFn<In = (X, P), Out = X> + Clone + Send + Sync + 'static,
    X: Family<At<Concrete>: Send + Sync>,
    P: Family<At<Concrete>: Send + Sync>,
{
    let equation = Equation::new("fixed_point", f, true, start, parameters);
    let linear = options.linear.unwrap_or(LinearSolver::Iteration(options.convergence));
    let solver = Iterate { equation: equation.clone(), convergence: options.convergence };
    solution::<A, F, X, P, _, _>(equation, solver, (start, parameters), linear, options.orders)
}

/// The root `g(x, θ) = 0` of an equation, which the solver finds from `(start, parameters)`. `x` is a tree of floats; `g` gives
/// a tree like it, and its derivative by `x` is not singular at the root.
///
/// It is differentiable in the parameters, not in the start, by the implicit function theorem, in any mode and order. The
/// solver is not differentiated, and nothing of its steps is kept. The derivatives are those of the exact root, and as
/// inaccurate as the solver's result; the solver may be [`Newton`].
///
/// ```
/// use deltaray::prelude::*;
///
/// /// x² − a, with the square root of a for its root.
/// #[derive(Clone)]
/// struct Square;
/// impl ArrayFn for Square {
///     type In = (Scalar<Concrete, f64>, Scalar<Concrete, f64>);
///     type Out = Scalar<Concrete, f64>;
///     fn call<A: Algebra>(&self, (x, a): &(Scalar<A, f64>, Scalar<A, f64>)) -> Scalar<A, f64> {
///         x * x - a
///     }
/// }
///
/// let newton = Newton(Square, Convergence::default());
/// let slope = grad(|a| root(&Square, &newton, &scalar(1.0), a, &Implicit::default()), &scalar(4.0));
/// assert!((slope.item() - 0.25).abs() < 1e-12);
/// ```
///
/// # Panics
///
/// When `x` has arrays of other types than floats, or the equation or the solver gives a value of another structure or shape
/// than `x`; in a staged function that is the error of [`stage`](super::stage) instead.
#[track_caller]
pub fn root<A, G, S, X, P>(g: &G, solver: &S, start: &At<X, A>, parameters: &At<P, A>, options: &Implicit) -> At<X, A>
where
    A: Algebra,
    G: ArrayFn<In = (X, P), Out = X> + Clone + Send + Sync + 'static,
    S: ArrayFn<In = (X, P), Out = X> + Clone + Send + Sync + 'static,
    X: Family<At<Concrete>: Send + Sync>,
    P: Family<At<Concrete>: Send + Sync>,
{
    root_as::<A, G, S, X, P>("root", (g, solver), (start, parameters), options)
}

/// As [`root`], which problems are reported as by another name.
#[track_caller]
fn root_as<A, G, S, X, P>(
    name: &'static str,
    (g, solver): (&G, &S),
    (start, parameters): (&At<X, A>, &At<P, A>),
    options: &Implicit,
) -> At<X, A>
where
    A: Algebra,
    G: ArrayFn<In = (X, P), Out = X> + Clone + Send + Sync + 'static,
    S: ArrayFn<In = (X, P), Out = X> + Clone + Send + Sync + 'static,
    X: Family<At<Concrete>: Send + Sync>,
    P: Family<At<Concrete>: Send + Sync>,
{
    let equation = Equation::new(name, g, false, start, parameters);
    let unknowns = equation.unknowns.iter().fold(0, |sum: usize, ty| sum.saturating_add(ty.size()));
    let linear = options.linear.unwrap_or(match unknowns <= DENSE_UNKNOWNS {
        true => LinearSolver::Dense,
        false => LinearSolver::NormalEquations(options.convergence),
    });
    let solver = GivenSolver { equation: equation.clone(), solver: solver.clone() };
    solution::<A, G, X, P, _, _>(equation, solver, (start, parameters), linear, options.orders)
}

/// A stationary point of a loss in its first argument, as its minimum: the [`root`] of `∂loss/∂x(x, θ)` that the solver
/// gives for `(start, parameters)`. The matrix of its linear systems is the Hessian, which must not be singular there.
///
/// ```
/// use deltaray::prelude::*;
///
/// /// (x − a)² + exp x, least where 2 (x − a) + exp x = 0.
/// #[derive(Clone)]
/// struct Loss;
/// impl ArrayFn for Loss {
///     type In = (Scalar<Concrete, f64>, Scalar<Concrete, f64>);
///     type Out = Scalar<Concrete, f64>;
///     fn call<A: Algebra>(&self, (x, a): &(Scalar<A, f64>, Scalar<A, f64>)) -> Scalar<A, f64> {
///         (x - a).powi(2) + x.exp()
///     }
/// }
///
/// let newton = Newton(GradFirst(Loss), Convergence::default());
/// let a = scalar(0.5);
/// let x = minimum(&Loss, &newton, &scalar(1.0), &a, &Implicit::default());
/// assert!(x.item().abs() < 1e-12);
/// let slope = grad(|a| minimum(&Loss, &newton, &scalar(1.0), a, &Implicit::default()), &a);
/// // From (2 + exp x) dx = 2 da at x = 0.
/// assert!((slope.item() - 2.0 / 3.0).abs() < 1e-12);
/// ```
///
/// # Panics
///
/// When `x` has arrays of other types than floats, or the solver gives a value of another structure or shape than `x`; in a
/// staged function that is the error of [`stage`](super::stage) instead.
#[track_caller]
pub fn minimum<A, L, S, X, P, E>(
    loss: &L,
    solver: &S,
    start: &At<X, A>,
    parameters: &At<P, A>,
    options: &Implicit,
) -> At<X, A>
where
    A: Algebra,
    L: ArrayFn<In = (X, P), Out = Scalar<Concrete, E>> + Clone + Send + Sync + 'static,
    S: ArrayFn<In = (X, P), Out = X> + Clone + Send + Sync + 'static,
    X: Family<At<Concrete>: Send + Sync>,
    P: Family<At<Concrete>: Send + Sync>,
    E: Float,
{
    let equation = GradFirst(loss.clone());
    root_as::<A, GradFirst<L>, S, X, P>("minimum", (&equation, solver), (start, parameters), options)
}

impl<F, X, P> ArrayFn for FixedPoint<F>
where
    F: ArrayFn<In = (X, P), Out = X> + Clone + Send + Sync + 'static,
    X: Family<At<Concrete>: Send + Sync>,
    P: Family<At<Concrete>: Send + Sync>,
{
    type In = (X, P);
    type Out = X;
    #[track_caller]
    fn call<A: Algebra>(&self, (start, parameters): &(At<X, A>, At<P, A>)) -> At<X, A> {
        fixed_point::<A, F, X, P>(&self.0, start, parameters, &self.1)
    }
}

impl<G, S, X, P> ArrayFn for Root<G, S>
where
    G: ArrayFn<In = (X, P), Out = X> + Clone + Send + Sync + 'static,
    S: ArrayFn<In = (X, P), Out = X> + Clone + Send + Sync + 'static,
    X: Family<At<Concrete>: Send + Sync>,
    P: Family<At<Concrete>: Send + Sync>,
{
    type In = (X, P);
    type Out = X;
    #[track_caller]
    fn call<A: Algebra>(&self, (start, parameters): &(At<X, A>, At<P, A>)) -> At<X, A> {
        root::<A, G, S, X, P>(&self.0, &self.1, start, parameters, &self.2)
    }
}

impl<L, S, X, P, E> ArrayFn for Minimum<L, S>
where
    L: ArrayFn<In = (X, P), Out = Scalar<Concrete, E>> + Clone + Send + Sync + 'static,
    S: ArrayFn<In = (X, P), Out = X> + Clone + Send + Sync + 'static,
    X: Family<At<Concrete>: Send + Sync>,
    P: Family<At<Concrete>: Send + Sync>,
    E: Float,
{
    type In = (X, P);
    type Out = X;
    #[track_caller]
    fn call<A: Algebra>(&self, (start, parameters): &(At<X, A>, At<P, A>)) -> At<X, A> {
        minimum::<A, L, S, X, P, E>(&self.0, &self.1, start, parameters, &self.2)
    }
}

impl<L, X, P, E> ArrayFn for GradFirst<L>
where
    L: ArrayFn<In = (X, P), Out = Scalar<Concrete, E>>,
    X: Family<At<Concrete>: Send + Sync>,
    P: Family<At<Concrete>: Send + Sync>,
    E: Float,
{
    type In = (X, P);
    type Out = X;
    fn call<A: Algebra>(&self, (x, parameters): &(At<X, A>, At<P, A>)) -> At<X, A> {
        grad(|at| self.0.call::<A::Nested>(at), (x, parameters))
    }
}

impl<G, X, P> ArrayFn for Newton<G>
where
    G: ArrayFn<In = (X, P), Out = X> + Clone + Send + Sync + 'static,
    X: Family<At<Concrete>: Send + Sync>,
    P: Family<At<Concrete>: Send + Sync>,
{
    type In = (X, P);
    type Out = X;
    #[track_caller]
    fn call<A: Algebra>(&self, (start, parameters): &(At<X, A>, At<P, A>)) -> At<X, A> {
        let equation = Equation::new("Newton", &self.0, false, start, parameters);
        if let Err(problem) = equation.check() {
            return equation.refused::<A>(problem, start);
        }
        let parameters = parameters.leaves();
        let last = iterated::<A>(flatten::<A, f64>(&start.leaves()), self.1, &equation.unknowns, &|x| {
            let unknowns = unflatten::<A, f64>(&x, &equation.unknowns);
            let residual = flatten::<A, f64>(&equation.residual::<A>(unknowns.clone(), parameters.clone()));
            x - linear::eliminated(&linear::matrix::<A, _>(&equation, &unknowns, &parameters), &residual)
        });
        X::rebuild::<A, A>(start, &mut unflatten::<A, f64>(&last, &equation.unknowns).into_iter())
    }
}

/// A method that finds the solution, without a derivative.
trait Solver: Clone + Send + Sync + 'static {
    /// Takes the arrays of the start and the parameters, and gives the arrays of the solution.
    fn solve<A: Algebra>(&self, start: Vec<A::Array>, parameters: Vec<A::Array>) -> Vec<A::Array>;
}

/// Iteration of a function to its fixed point.
struct Iterate<F: ArrayFn> {
    equation: Arc<Equation<F>>,
    convergence: Convergence,
}

impl<F: ArrayFn> Clone for Iterate<F> {
    fn clone(&self) -> Self {
        Iterate { equation: self.equation.clone(), convergence: self.convergence }
    }
}

impl<F: ArrayFn + Clone + Send + Sync + 'static> Solver for Iterate<F> {
    fn solve<A: Algebra>(&self, start: Vec<A::Array>, parameters: Vec<A::Array>) -> Vec<A::Array> {
        let types = &self.equation.unknowns;
        let step = |x: Vector<A, f64>| {
            let unknowns = unflatten::<A, f64>(&x, types);
            flatten::<A, f64>(&self.equation.value::<A>(unknowns, parameters.clone()))
        };
        unflatten::<A, f64>(&iterated::<A>(flatten::<A, f64>(&start), self.convergence, types, &step), types)
    }
}

/// The user's solver.
struct GivenSolver<G: ArrayFn, S> {
    equation: Arc<Equation<G>>,
    solver: S,
}

impl<G: ArrayFn, S: Clone> Clone for GivenSolver<G, S> {
    fn clone(&self) -> Self {
        GivenSolver { equation: self.equation.clone(), solver: self.solver.clone() }
    }
}

impl<G, S> Solver for GivenSolver<G, S>
where
    G: ArrayFn + Clone + Send + Sync + 'static,
    S: ArrayFn<In = G::In, Out = G::Out> + Clone + Send + Sync + 'static,
{
    fn solve<A: Algebra>(&self, start: Vec<A::Array>, parameters: Vec<A::Array>) -> Vec<A::Array> {
        self.equation.run::<A, S>("the solver", &self.solver, start, parameters)
    }
}

/// A solution as a function of the parameters: its inputs are the arrays of the start and then those of the parameters.
struct Solution<F: ArrayFn, S, L> {
    equation: Arc<Equation<F>>,
    solver: S,
    linear: L,
    orders: usize,
}

impl<F: ArrayFn, S: Clone, L: Clone> Clone for Solution<F, S, L> {
    fn clone(&self) -> Self {
        Solution {
            equation: self.equation.clone(),
            solver: self.solver.clone(),
            linear: self.linear.clone(),
            orders: self.orders,
        }
    }
}

#[track_caller]
fn solution<A, F, X, P, S, L>(
    equation: Arc<Equation<F>>,
    solver: S,
    (start, parameters): (&At<X, A>, &At<P, A>),
    linear: L,
    orders: usize,
) -> At<X, A>
where
    A: Algebra,
    F: ArrayFn<In = (X, P), Out = X> + Clone + Send + Sync + 'static,
    X: Family<At<Concrete>: Send + Sync>,
    P: Family<At<Concrete>: Send + Sync>,
    S: Solver,
    L: LinearMethod<F>,
{
    if let Err(problem) = equation.check() {
        return equation.refused::<A>(problem, start);
    }
    let mut inputs = start.leaves();
    inputs.extend(parameters.leaves());
    let found = A::custom(&Solution { equation, solver, linear, orders }, inputs);
    X::rebuild::<A, A>(start, &mut found.into_iter())
}

impl<F, S, L> CustomFunction for Solution<F, S, L>
where
    F: ArrayFn + Clone + Send + Sync + 'static,
    S: Solver,
    L: LinearMethod<F>,
{
    fn value<A: Algebra>(&self, mut inputs: Vec<A::Array>) -> Vec<A::Array> {
        let parameters = inputs.split_off(self.equation.unknowns.len());
        self.solver.solve::<A>(inputs, parameters)
    }

    fn has(&self, _: DerivativeRule) -> bool {
        true
    }

    fn rule<A: Algebra>(
        &self,
        rule: DerivativeRule,
        mut inputs: Vec<A::Array>,
        outputs: Vec<A::Array>,
        mut directions: Vec<A::Array>,
    ) -> Vec<A::Array> {
        let equation = &self.equation;
        let parameters = inputs.split_off(equation.unknowns.len());
        let solve = |transposed: bool, right: Vector<A, f64>| {
            let (equation, linear) = (equation.clone(), self.linear.clone());
            let system = LinearSolve { equation, transposed, linear, orders: self.orders };
            system.solved::<A>(outputs.clone(), parameters.clone(), right)
        };
        match rule {
            // θ̄ = −(∂g/∂θ)ᵀ λ, where (∂g/∂x)ᵀ λ is the cotangent of x.
            DerivativeRule::Vjp => {
                let adjoint = solve(true, flatten::<A, f64>(&directions));
                let seed = unflatten::<A, f64>(&-adjoint, &equation.unknowns);
                let mut parts: Vec<A::Array> = inputs.iter().map(zeros_like::<A>).collect();
                parts.extend(equation.pull_parameters::<A>(&outputs, parameters.clone(), seed));
                parts
            }
            // ∂g/∂x · ẋ = −∂g/∂θ · θ̇.
            DerivativeRule::Jvp => {
                let along = directions.split_off(equation.unknowns.len());
                let moved = equation.push_parameters::<A>(&outputs, parameters.clone(), along);
                unflatten::<A, f64>(&solve(false, -flatten::<A, f64>(&moved)), &equation.unknowns)
            }
        }
    }
}
