//! Linear systems with the derivative of an equation by its unknowns for their matrix.

use super::convergence::{iterated, largest};
use super::equation::Equation;
use super::{Convergence, LinearSolver};
use crate::algebra::{Algebra, CustomFunction, DerivativeRule, ForwardArray, NestedArray, floats};
use crate::derivative::ArrayFn;
use crate::shape::Type;
use crate::tensor::{Matrix, Scalar, Tensor, Vector, build, concatenate, iota, iterate, scalar, while_loop, zeros};
use std::sync::Arc;

/// A method that solves systems whose matrix is the derivative of an equation by its unknowns.
pub(super) trait LinearMethod<F: ArrayFn>: Clone + Send + Sync + 'static {
    /// The solution of a system at a point, or of the transposed one.
    fn solved<A: Algebra>(
        &self,
        equation: &Equation<F>,
        point: [&[A::Array]; 2],
        transposed: bool,
        right: &Vector<A, f64>,
    ) -> Vector<A, f64>;
}

/// The solution `y` of `M y = b`, where `M` is `∂g/∂x` at a point, or its transpose. Inputs are the arrays of the unknowns
/// and the parameters, and `b` as one vector; the output is `y`.
pub(super) struct LinearSolve<F: ArrayFn, L> {
    pub(super) equation: Arc<Equation<F>>,
    pub(super) transposed: bool,
    pub(super) linear: L,
    /// Up to this order, derivatives of the solution are solutions by the same solver; those of higher order use elimination,
    /// whose steps are differentiated.
    pub(super) orders: usize,
}

impl<F: ArrayFn, L: Clone> Clone for LinearSolve<F, L> {
    fn clone(&self) -> Self {
        LinearSolve {
            equation: self.equation.clone(),
            transposed: self.transposed,
            linear: self.linear.clone(),
            orders: self.orders,
        }
    }
}

impl<F: ArrayFn + Clone + Send + Sync + 'static, L: LinearMethod<F>> LinearSolve<F, L> {
    /// The solution. Beyond the last of the orders it is found by elimination, which is linear in the right side step by
    /// step: how many steps other solvers take depends on it, so that their derivatives at 0 would be wrong.
    pub(super) fn solved<A: Algebra>(
        &self,
        unknowns: Vec<A::Array>,
        parameters: Vec<A::Array>,
        right: Vector<A, f64>,
    ) -> Vector<A, f64> {
        let Some(orders) = self.orders.checked_sub(1) else {
            return LinearSolver::Dense.solved::<A>(&self.equation, [&unknowns, &parameters], self.transposed, &right);
        };
        let inputs: Vec<A::Array> = unknowns.into_iter().chain(parameters).chain([right.into_array()]).collect();
        let mut solution = A::custom(&LinearSolve { orders, ..self.clone() }, inputs);
        Tensor::wrap(solution.remove(0))
    }

    /// The unknowns, the parameters and the right side among inputs.
    #[allow(clippy::type_complexity)]
    fn parts<A: Algebra>(&self, mut inputs: Vec<A::Array>) -> (Vec<A::Array>, Vec<A::Array>, Vector<A, f64>) {
        let right = inputs.pop().expect("a system has a right side");
        let parameters = inputs.split_off(self.equation.unknowns.len());
        (inputs, parameters, Tensor::wrap(right))
    }

    /// The product of the matrix with a vector.
    fn product<A: Algebra>(
        &self,
        unknowns: &[A::Array],
        parameters: &[A::Array],
        vector: &Vector<A, f64>,
    ) -> Vector<A, f64> {
        match self.transposed {
            true => self.equation.pullback::<A>(unknowns, parameters)(vector),
            false => self.equation.push::<A>(unknowns, parameters, vector),
        }
    }
}

impl<F: ArrayFn + Clone + Send + Sync + 'static, L: LinearMethod<F>> CustomFunction for LinearSolve<F, L> {
    fn value<A: Algebra>(&self, inputs: Vec<A::Array>) -> Vec<A::Array> {
        let (unknowns, parameters, right) = self.parts::<A>(inputs);
        let point = [&unknowns[..], &parameters[..]];
        vec![self.linear.solved::<A>(&self.equation, point, self.transposed, &right).into_array()]
    }

    fn has(&self, _: DerivativeRule) -> bool {
        true
    }

    fn rule<A: Algebra>(
        &self,
        rule: DerivativeRule,
        inputs: Vec<A::Array>,
        outputs: Vec<A::Array>,
        mut directions: Vec<A::Array>,
    ) -> Vec<A::Array> {
        let (unknowns, parameters, _) = self.parts::<A>(inputs);
        let count = unknowns.len();
        let last = Tensor::wrap(directions.pop().expect("a system has a right side"));
        let solution: Vector<A, f64> = Tensor::wrap(outputs[0].clone());
        let point: Vec<A::Array> = unknowns.iter().chain(&parameters).cloned().collect();
        match rule {
            // b̄ = M⁻ᵀ ȳ, and M y pulls −b̄ back to the point.
            DerivativeRule::Vjp => {
                let flipped = LinearSolve { transposed: !self.transposed, ..self.clone() };
                let adjoint = flipped.solved::<A>(unknowns, parameters, last);
                let fixed: Vector<A::Nested, f64> = solution.lift();
                let run = |mut point: Vec<NestedArray<A>>| {
                    let parameters = point.split_off(count);
                    vec![self.product::<A::Nested>(&point, &parameters, &fixed).into_array()]
                };
                let (_, pullback) = A::vjp(&run, point);
                let mut parts = pullback(vec![Some((-&adjoint).into_array())]);
                parts.push(adjoint.into_array());
                parts
            }
            // M ẏ = ḃ − Ṁ y.
            DerivativeRule::Jvp => {
                let fixed: Vector<A::Forward, f64> = solution.lift_forward();
                let run = |mut point: Vec<ForwardArray<A>>| {
                    let parameters = point.split_off(count);
                    vec![self.product::<A::Forward>(&point, &parameters, &fixed).into_array()]
                };
                let (_, mut moved) = A::jvp(&run, point, floats::<A>(directions));
                let right = match moved.remove(0) {
                    Some(moved) => last - Vector::wrap(moved),
                    None => last,
                };
                vec![self.solved::<A>(unknowns, parameters, right).into_array()]
            }
        }
    }
}

impl<F: ArrayFn + Clone + Send + Sync + 'static> LinearMethod<F> for LinearSolver {
    fn solved<A: Algebra>(
        &self,
        equation: &Equation<F>,
        [unknowns, parameters]: [&[A::Array]; 2],
        transposed: bool,
        right: &Vector<A, f64>,
    ) -> Vector<A, f64> {
        let pullback = equation.pullback::<A>(unknowns, parameters);
        let push = |vector: &Vector<A, f64>| equation.push::<A>(unknowns, parameters, vector);
        let (forwards, backwards): (&dyn Fn(&_) -> _, &dyn Fn(&_) -> _) =
            if transposed { (&pullback, &push) } else { (&push, &pullback) };
        // Solved for a right side of magnitude 1, so that when the steps end does not depend on how large it is.
        let size = scale(right);
        match *self {
            LinearSolver::Iteration(convergence) => {
                let unit = right / &size;
                let step = |y: Vector<A, f64>| &y + (&unit - forwards(&y));
                iterated::<A>(unit.clone(), convergence, &equation.unknowns, &step) * size
            }
            LinearSolver::NormalEquations(convergence) => {
                let convergence = convergence.of(&equation.unknowns);
                normal_equations(&(right / &size), forwards, backwards, convergence) * size
            }
            LinearSolver::Dense => {
                let matrix = matrix::<A, F>(equation, unknowns, parameters);
                eliminated(&if transposed { matrix.transpose() } else { matrix }, right)
            }
        }
    }
}

/// The magnitude of a right side; 1 for zeros.
pub(super) fn scale<A: Algebra>(right: &Vector<A, f64>) -> Scalar<A, f64> {
    let size = largest(right).stop_gradient();
    size.equal(0.0).select(1.0, size)
}

/// The derivative of an equation by its unknowns, row by row.
pub(super) fn matrix<A: Algebra, F: ArrayFn>(
    equation: &Equation<F>,
    unknowns: &[A::Array],
    parameters: &[A::Array],
) -> Matrix<A, f64> {
    let n = equation.unknowns.iter().map(Type::size).sum();
    rows(n, &equation.pullback::<A>(unknowns, parameters))
}

/// The matrix of a map of row vectors. It is compiled once for an algebra, and not for each equation.
fn rows<A: Algebra>(n: usize, map: &dyn Fn(&Vector<A, f64>) -> Vector<A, f64>) -> Matrix<A, f64> {
    build(n, |row| map(&iota(n).equal(&row).cast::<f64>()))
}

/// The solution of `a y = b` by elimination: in each step the largest of the remaining elements of a column, by magnitude,
/// is brought to the diagonal, and the column cleared elsewhere.
pub(super) fn eliminated<A: Algebra>(a: &Matrix<A, f64>, b: &Vector<A, f64>) -> Vector<A, f64> {
    let n = b.len();
    if n == 1 {
        return b / a.reshape(1);
    }
    let whole = concatenate(1, &[a.clone(), b.reshape((n, 1))]);
    let first: Scalar<A, i64> = scalar(0);
    let (reduced, _) = iterate((whole, first), n, |(rows, column)| {
        let numbers: Vector<A, i64> = iota(n);
        let magnitudes = numbers.ge(&column).select(rows.index_axis(1, &column).abs(), -1.0);
        let pivot = magnitudes.argmax();
        let swapped = numbers.equal(&pivot).select(&column, &numbers);
        let order = numbers.equal(&column).select(&pivot, swapped);
        let rows = rows.gather(&order);
        let of_column = rows.index_axis(1, &column);
        let row = rows.at(&column);
        let factors = numbers.equal(&column).select(0.0, of_column / row.at(&column));
        (rows - factors.outer(&row), column + 1)
    });
    reduced.index_axis(1, n as i64) / reduced.slice(1, ..n).diagonal()
}

/// The solution of `mᵀ m y = mᵀ b` by conjugate gradients from 0, given the products with `m` and with its transpose; NaN
/// where much of `b` is left.
fn normal_equations<A: Algebra>(
    b: &Vector<A, f64>,
    product: &dyn Fn(&Vector<A, f64>) -> Vector<A, f64>,
    transposed: &dyn Fn(&Vector<A, f64>) -> Vector<A, f64>,
    convergence: Convergence,
) -> Vector<A, f64> {
    let whole = b.stop_gradient().dot(&b.stop_gradient());
    let bound = (convergence.tolerance * convergence.tolerance) * &whole;
    // The solution, the residual, the direction, the square of the gradient, the number of steps.
    type State<A> = (Vector<A, f64>, Vector<A, f64>, Vector<A, f64>, Scalar<A, f64>, Scalar<A, i64>);
    let gradient = transposed(b);
    let first: State<A> = (zeros(b.len()), b.clone(), gradient.clone(), gradient.dot(&gradient), scalar(0));
    let goes_on = |(_, residual, _, square, count): &State<A>| {
        residual.dot(residual).gt(&bound) & square.gt(0.0) & count.lt(convergence.steps())
    };
    let (solution, residual, ..) = while_loop(first, goes_on, |(y, residual, direction, square, count): State<A>| {
        let image = product(&direction);
        let step = &square / image.dot(&image);
        let residual = residual - &step * image;
        let gradient = transposed(&residual);
        let next = gradient.dot(&gradient);
        let y = y + step * &direction;
        (y, residual, gradient + &next / square * direction, next, count + 1)
    });
    // A right side of zeros leaves a residual of zero.
    let left = (residual.dot(&residual) / whole.equal(0.0).select(1.0, whole)).sqrt();
    solution * convergence.counts(&(left + convergence.before()))
}
