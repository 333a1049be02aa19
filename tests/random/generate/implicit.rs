//! Fixed points of contractions, and roots of equations that have one.
//!
//! The solvers take a number of steps that is always the same and reaches the solution to rounding: how many it takes to come
//! close would be a decision that rounding could turn.

use deltaray::derivative::LinearSolver;
use deltaray::prelude::*;
use deltaray::staged::Staged;
use std::marker::PhantomData;

type Any<E> = TensorD<Staged, E>;
type Plain<E> = Vector<Concrete, E>;
type Numbers<A, E> = Vector<A, E>;

/// Contractions by less than a half, and equations, in vectors.
#[derive(Clone, Copy)]
struct Mapping<E> {
    which: usize,
    element: PhantomData<fn() -> E>,
}

impl<E: Float> ArrayFn for Mapping<E> {
    type In = (Plain<E>, (Plain<E>, Plain<E>));
    type Out = Plain<E>;
    fn call<A: Algebra>(&self, (x, (a, b)): &(Numbers<A, E>, (Numbers<A, E>, Numbers<A, E>))) -> Numbers<A, E> {
        let part = |number: f64| x.filled(number);
        match self.which {
            0 => part(0.4) * x.sin() * a.tanh() + b,
            1 => part(0.25) * x.reverse(0).cos() * a.sin() + part(0.2) * x.mean().tanh() + b,
            // With one root: x³ + x = 1.5 tanh a.
            _ => x.powi(3) + x - part(1.5) * a.tanh(),
        }
    }
}

/// A contraction of a vector and a number at once.
#[derive(Clone, Copy)]
struct Pair<E>(PhantomData<fn() -> E>);

impl<E: Float> ArrayFn for Pair<E> {
    type In = ((Plain<E>, Scalar<Concrete, E>), (Plain<E>, Plain<E>));
    type Out = (Plain<E>, Scalar<Concrete, E>);
    fn call<A: Algebra>(
        &self,
        ((x, s), (a, b)): &((Numbers<A, E>, Scalar<A, E>), (Numbers<A, E>, Numbers<A, E>)),
    ) -> (Numbers<A, E>, Scalar<A, E>) {
        let fifth = s.filled(0.2);
        (&fifth * (x + s).sin() * a.tanh() + b, &fifth * x.mean().tanh() * s.cos() + a.sum().tanh())
    }
}

/// A fixed point or root, with some elements of two arrays for its parameters.
pub fn solution<E: Float>(which: usize, x: &Any<E>, y: &Any<E>) -> Any<E> {
    let root_of = which % 4 == 2;
    let count = x.size().min(if root_of { 3 } else { 6 });
    let some = |array: &Any<E>| array.flatten().slice(0, ..count);
    let (a, b) = (some(x), some(y));
    let always = |steps: usize| Convergence { tolerance: -1.0, steps };
    let linear = match which / 4 % 3 {
        0 => None,
        1 => Some(LinearSolver::Dense),
        _ => Some(LinearSolver::NormalEquations(Convergence::default())),
    };
    let options = Implicit { convergence: always(40), linear, orders: 1 + which / 12 % 2 };
    let mapping = Mapping { which: which % 4, element: PhantomData };
    match which % 4 {
        2 => {
            let newton = Newton(mapping, always(10));
            root(&mapping, &newton, &a.filled(0.5), &(a, b), &options).into_dyn()
        }
        3 => {
            let start = (b.clone(), scalar(E::from_number(0.5)));
            let (solution, number) = fixed_point(&Pair(PhantomData), &start, &(a, b), &options);
            (solution * number).into_dyn()
        }
        _ => fixed_point(&mapping, &b, &(a, b.clone()), &options).into_dyn(),
    }
}
