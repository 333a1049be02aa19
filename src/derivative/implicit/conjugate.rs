//! Conjugate gradients: systems of equations whose matrix is given by its products with vectors.

use super::convergence::Convergence;
use super::equation::{Equation, zeros_like};
use super::linear::{LinearMethod, scale};
use super::{Implicit, LinearSolver, Solver, solution};
use crate::algebra::Algebra;
use crate::concrete::Concrete;
use crate::derivative::{ArrayFn, At};
use crate::operation::Binary;
use crate::tensor::{
    Family, Scalar, Tree, Vector, concatenate, duplicate, flatten, scalar, unflatten, while_loop, zeros,
};
use std::marker::PhantomData;
use std::sync::Arc;

/// The result of [`conjugate_gradients`].
#[derive(Clone, Debug)]
pub struct ConjugateSolution<A: Algebra, X> {
    /// The last iterate, also where the steps ran out: `residual` says how good it is.
    pub x: X,
    /// The norm of the residual b − A x relative to that of b. The iteration ends by a residual that it carries along, from which this
    /// one differs by rounding: by much for a matrix that is nearly singular. Well above the tolerance, it has not converged.
    pub residual: Scalar<A, f64>,
    /// The number of steps, with a product each. One more product is for the residual.
    pub steps: Scalar<A, i64>,
}

/// The solution x of A x = b by conjugate gradients, for a symmetric positive definite A that is given by its products with
/// vectors: a function of a vector and of parameters. `x` and `b` are trees of floats of the same shapes; no matrix is made.
///
/// The iteration ends when the norm of the residual is at most the tolerance of [`Implicit::convergence`] times that of b, or the steps
/// run out. It begins at 0, computes in double precision, and takes no more steps than unknowns but for rounding. Whether it converged
/// or not, the result is the last iterate, as in SciPy and JAX; a `residual` well above the tolerance says that it did not.
///
/// It is differentiable in b and the parameters, in any mode and order: the derivative is ẋ = A⁻¹ (ḃ − Ȧ x), by conjugate gradients
/// again unless [`Implicit::linear`] says otherwise, and keeps nothing of the steps. Nothing comes of `residual` and `steps`. No residual
/// tells of the systems of derivatives, so these are NaN where they don't converge, as [`Convergence`] says.
///
/// ```
/// use deltaray::prelude::*;
///
/// /// (A + aᵀ a) x for a fixed tridiagonal A.
/// #[derive(Clone)]
/// struct Stiffness;
/// impl ArrayFn for Stiffness {
///     type In = (Vector<Concrete, f64>, Vector<Concrete, f64>);
///     type Out = Vector<Concrete, f64>;
///     fn call<A: Algebra>(&self, (x, a): &(Vector<A, f64>, Vector<A, f64>)) -> Vector<A, f64> {
///         let n = x.len();
///         let edge: Vector<A, f64> = zeros(1);
///         let padded = concatenate(0, &[edge.clone(), x.clone(), edge]);
///         2.0 * x - 0.5 * (padded.slice(0, ..n) + padded.slice(0, 2..)) + a * a.dot(x)
///     }
/// }
///
/// let (a, b) = (ones(100), Vector::from_slice(&[1.0; 100]));
/// let found = conjugate_gradients(&Stiffness, &b, &a, &Implicit::default());
/// assert!((Stiffness.call(&(found.x, a.clone())) - &b).abs().max_all().item() < 1e-12);
/// assert!(found.residual.item() < 1e-13 && found.steps.item() < 40);
///
/// let energy = |a: &_| conjugate_gradients(&Stiffness, &b.lift(), a, &Implicit::default()).x.dot(&b.lift());
/// assert!(grad(energy, &a).lt(0.0).all().item());
/// ```
///
/// # Panics
///
/// When `b` has arrays of other types than floats, or the product gives a value of another structure or shape than `b`; in a staged
/// function that is the error of [`stage`](crate::derivative::stage) instead.
#[track_caller]
pub fn conjugate_gradients<A, F, X, P>(
    product: &F,
    b: &At<X, A>,
    parameters: &At<P, A>,
    options: &Implicit,
) -> ConjugateSolution<A, At<X, A>>
where
    A: Algebra,
    F: ArrayFn<In = (X, P), Out = X> + Clone + Send + Sync + 'static,
    X: Family<At<Concrete>: Send + Sync>,
    P: Family<At<Concrete>: Send + Sync>,
{
    preconditioned_conjugate_gradients::<A, F, Unchanged<X, P>, X, P>(
        product,
        &Unchanged(PhantomData),
        b,
        parameters,
        options,
    )
}

/// As [`conjugate_gradients`], where another function of a vector and the parameters multiplies with a symmetric positive definite
/// approximation of A⁻¹, such as the inverse of the diagonal of A: the better it is, the fewer steps there are. Derivatives take
/// it too, and do not depend on it.
///
/// # Panics
///
/// As [`conjugate_gradients`]; the preconditioner gives a value like `b` too.
#[track_caller]
pub fn preconditioned_conjugate_gradients<A, F, M, X, P>(
    product: &F,
    preconditioner: &M,
    b: &At<X, A>,
    parameters: &At<P, A>,
    options: &Implicit,
) -> ConjugateSolution<A, At<X, A>>
where
    A: Algebra,
    F: ArrayFn<In = (X, P), Out = X> + Clone + Send + Sync + 'static,
    M: ArrayFn<In = (X, P), Out = X> + Clone + Send + Sync + 'static,
    X: Family<At<Concrete>: Send + Sync>,
    P: Family<At<Concrete>: Send + Sync>,
{
    let system = LinearSystem(product.clone());
    let zero = X::rebuild::<A, A>(b, &mut b.leaves().iter().map(zeros_like::<A>));
    let start = (zero, (scalar(0.0), scalar(0.0)));
    let given = (duplicate(parameters), duplicate(b));
    let equation = Equation::new("conjugate_gradients", &system, false, &start, &given);
    let &Implicit { convergence, linear, orders } = options;
    let method = Conjugate { preconditioner: Preconditioner(preconditioner.clone()), convergence, linear };
    let solver = FromZero { equation: equation.clone(), method: method.clone() };
    let (x, (residual, steps)) =
        solution::<A, LinearSystem<F>, _, _, _, _>(equation, solver, (&start, &given), method, orders);
    ConjugateSolution { x, residual: residual.stop_gradient(), steps: steps.cast() }
}

/// No preconditioner.
struct Unchanged<X, P>(PhantomData<fn() -> (X, P)>);

impl<X, P> Clone for Unchanged<X, P> {
    fn clone(&self) -> Self {
        Unchanged(PhantomData)
    }
}

impl<X, P> ArrayFn for Unchanged<X, P>
where
    X: Family<At<Concrete>: Send + Sync>,
    P: Family<At<Concrete>: Send + Sync>,
{
    type In = (X, P);
    type Out = X;
    fn call<A: Algebra>(&self, (x, _): &(At<X, A>, At<P, A>)) -> At<X, A> {
        duplicate(x)
    }
}

/// Numbers that an iteration reports beside its result: the residual, and the number of steps.
type Reported = (Scalar<Concrete, f64>, Scalar<Concrete, f64>);

/// A x − b, of x and what is reported, and of the parameters of A and b. What is reported depends on nothing: its part of the equation
/// is itself.
#[derive(Clone)]
struct LinearSystem<F>(F);

impl<F, X, P> ArrayFn for LinearSystem<F>
where
    F: ArrayFn<In = (X, P), Out = X>,
    X: Family<At<Concrete>: Send + Sync>,
    P: Family<At<Concrete>: Send + Sync>,
{
    type In = ((X, Reported), (P, X));
    type Out = (X, Reported);
    fn call<A: Algebra>(&self, ((x, reported), (parameters, b)): &At<Self::In, A>) -> At<Self::Out, A> {
        let product = self.0.call::<A>(&(duplicate(x), duplicate(parameters)));
        if product.types() != b.types() {
            // Reported where the equation is checked.
            return (product, reported.clone());
        }
        let left = product.leaves().into_iter().zip(b.leaves()).map(|(left, b)| A::binary(Binary::Sub, left, b));
        (X::rebuild::<A, A>(&product, &mut left.into_iter()), reported.clone())
    }
}

/// A preconditioner with the types of the equation.
#[derive(Clone)]
struct Preconditioner<M>(M);

impl<M, X, P> ArrayFn for Preconditioner<M>
where
    M: ArrayFn<In = (X, P), Out = X>,
    X: Family<At<Concrete>: Send + Sync>,
    P: Family<At<Concrete>: Send + Sync>,
{
    type In = ((X, Reported), (P, X));
    type Out = (X, Reported);
    fn call<A: Algebra>(&self, ((x, reported), (parameters, _)): &At<Self::In, A>) -> At<Self::Out, A> {
        (self.0.call::<A>(&(duplicate(x), duplicate(parameters))), reported.clone())
    }
}

/// The method, with how derivatives solve their systems.
#[derive(Clone)]
struct Conjugate<M> {
    preconditioner: M,
    convergence: Convergence,
    linear: Option<LinearSolver>,
}

impl<M> Conjugate<M> {
    /// The last iterate, the residual's norm relative to the right side's, and the number of steps.
    fn run<A: Algebra, F: ArrayFn>(
        &self,
        equation: &Equation<F>,
        parameters: &[A::Array],
        right: &Vector<A, f64>,
    ) -> (Vector<A, f64>, Scalar<A, f64>, Scalar<A, i64>)
    where
        M: ArrayFn<In = F::In, Out = F::Out>,
    {
        let types = &equation.unknowns;
        let convergence = self.convergence.of(types);
        // The equation with a right side of zeros is the product.
        let sides = types.len() - REPORTED;
        let (own, b) = parameters.split_at(parameters.len() - sides);
        let homogeneous: Vec<A::Array> = own.iter().cloned().chain(b.iter().map(zeros_like::<A>)).collect();
        let product = |v: &Vector<A, f64>| {
            flatten::<A, f64>(&equation.value::<A>(unflatten::<A, f64>(v, types), homogeneous.clone()))
        };
        let preconditioned = |v: &Vector<A, f64>| {
            let (v, parameters) = (unflatten::<A, f64>(v, types), homogeneous.clone());
            flatten::<A, f64>(&equation.run::<A, M>("the preconditioner", &self.preconditioner, v, parameters))
        };
        let size = scale(right);
        let b = right / &size;
        let whole = b.dot(&b);
        let bound = (convergence.tolerance * convergence.tolerance) * &whole;
        // The solution, the residual, the direction, the residual's product with the preconditioned one, the number of steps.
        type State<A> = (Vector<A, f64>, Vector<A, f64>, Vector<A, f64>, Scalar<A, f64>, Scalar<A, i64>);
        let direction = preconditioned(&b);
        let first: State<A> = (zeros(b.len()), b.clone(), direction.clone(), b.dot(&direction), scalar(0));
        let goes_on = |(_, residual, _, square, count): &State<A>| {
            residual.dot(residual).gt(&bound) & square.gt(0.0) & count.lt(convergence.steps())
        };
        let (x, residual, _, _, count) = while_loop(first, goes_on, |(x, residual, direction, square, count)| {
            let image = product(&direction);
            let step = &square / direction.dot(&image);
            let x = x + &step * &direction;
            let residual = residual - step * image;
            let gradient = preconditioned(&residual);
            let next = residual.dot(&gradient);
            let direction = gradient + &next / square * direction;
            (x, residual, direction, next, count + 1)
        });
        // Right sides that are not finite leave no residual, and the iteration where it began.
        let is_known = residual.dot(&residual).le(f64::INFINITY);
        // Rounding takes the residual of the iteration away from that of the solution.
        let residual = &b - product(&x);
        // A right side of zeros leaves a residual of zero.
        let left = (residual.dot(&residual) / whole.equal(0.0).select(1.0, whole)).sqrt();
        (x * size * is_known.select(1.0, f64::NAN), left, count)
    }
}

/// The number of arrays that are reported.
const REPORTED: usize = 2;

impl<F, M> LinearMethod<F> for Conjugate<M>
where
    F: ArrayFn + Clone + Send + Sync + 'static,
    M: ArrayFn<In = F::In, Out = F::Out> + Clone + Send + Sync + 'static,
{
    fn solved<A: Algebra>(
        &self,
        equation: &Equation<F>,
        point: [&[A::Array]; 2],
        transposed: bool,
        right: &Vector<A, f64>,
    ) -> Vector<A, f64> {
        match self.linear {
            Some(linear) => linear.solved::<A>(equation, point, transposed, right),
            None => {
                let (x, left, _) = self.run::<A, F>(equation, point[1], right);
                x * self.convergence.of(&equation.unknowns).counts(&(left + self.convergence.before()))
            }
        }
    }
}

/// The solution of the system itself, from 0.
struct FromZero<F: ArrayFn, M> {
    equation: Arc<Equation<F>>,
    method: Conjugate<M>,
}

impl<F: ArrayFn, M: Clone> Clone for FromZero<F, M> {
    fn clone(&self) -> Self {
        FromZero { equation: self.equation.clone(), method: self.method.clone() }
    }
}

impl<F, M> Solver for FromZero<F, M>
where
    F: ArrayFn + Clone + Send + Sync + 'static,
    M: ArrayFn<In = F::In, Out = F::Out> + Clone + Send + Sync + 'static,
{
    fn solve<A: Algebra>(&self, mut start: Vec<A::Array>, parameters: Vec<A::Array>) -> Vec<A::Array> {
        let types = &self.equation.unknowns;
        let sides = types.len() - REPORTED;
        start.splice(..sides, parameters[parameters.len() - sides..].iter().cloned());
        let right = flatten::<A, f64>(&start);
        let (x, residual, steps) = self.method.run::<A, F>(&self.equation, &parameters, &right);
        let reported = concatenate(0, &[residual.reshape(1), steps.cast::<f64>().reshape(1)]);
        let all = concatenate(0, &[x.slice(0, ..right.len() - REPORTED), reported]);
        unflatten::<A, f64>(&all, types)
    }
}
