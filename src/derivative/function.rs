//! Functions of arrays as values, and their derivatives as such functions again.

use crate::algebra::Algebra;
use crate::concrete::Concrete;
use crate::derivative::{grad, jvp, value_and_grad, vjp};
use crate::tensor::{Family, Float, Scalar};

/// A function that is polymorphic in the algebra, as a value: closures are not, since they run in one algebra.
///
/// Families are named by their members over [`Concrete`]: `type In = Vector<Concrete, f64>`. Several arguments are a tuple.
/// Custom rules and the test corpus are made of these.
///
/// ```
/// use deltaray::prelude::*;
///
/// /// The sum of powers.
/// #[derive(Clone)]
/// struct Powers {
///     power: i32,
/// }
/// impl ArrayFn for Powers {
///     type In = Vector<Concrete, f64>;
///     type Out = Scalar<Concrete, f64>;
///     fn call<A: Algebra>(&self, x: &Vector<A, f64>) -> Scalar<A, f64> {
///         x.powi(self.power).sum()
///     }
/// }
///
/// let (cubes, x) = (Powers { power: 3 }, Vector::from(vec![1.0, 2.0]));
/// assert_eq!(cubes.call::<Concrete>(&x).item(), 9.0);
/// assert_eq!(grad(cubes.closure(), &x).to_vec(), [3.0, 12.0]);
/// assert_eq!(jit(cubes.clone().into_closure()).call(&x)?.item(), 9.0);
/// // Derivatives, and functions one after the other, are such functions again.
/// assert_eq!(Grad(&cubes).call::<Concrete>(&x).to_vec(), [3.0, 12.0]);
/// assert_eq!(ValueAndGrad(&cubes).call::<Concrete>(&x).0.item(), 9.0);
/// assert_eq!(Compose(Grad(&cubes), &cubes).call::<Concrete>(&x).item(), 27.0 + 1728.0);
/// # Ok::<(), deltaray::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an `ArrayFn`, a function that runs in every algebra",
    label = "`ArrayFn` is not implemented for this",
    note = "a closure, or a function such as `f::<Concrete>`, runs in one algebra: implement `ArrayFn` for a struct, with \
            `type In = Vector<Concrete, f64>;`, `type Out` likewise, and `fn call<A: Algebra>(&self, x: &Vector<A, f64>)`",
    note = "what a closure would capture is a field of the struct, or a part of the argument if it has a derivative"
)]
pub trait ArrayFn {
    /// The structure of the argument.
    type In: Family<At<Concrete>: Send + Sync>;
    /// The structure of the value.
    type Out: Family<At<Concrete>: Send + Sync>;
    /// The value at a point of any algebra.
    fn call<A: Algebra>(&self, x: &<Self::In as Family>::At<A>) -> <Self::Out as Family>::At<A>;

    /// The function as a closure of the algebra that it is used in, for whatever takes closures: `grad(f.closure(), &x)`,
    /// and `stage(f.closure(), (&x, &y))` where the argument is a tuple.
    fn closure<A: Algebra>(&self) -> impl Fn(&<Self::In as Family>::At<A>) -> <Self::Out as Family>::At<A> {
        |x| self.call::<A>(x)
    }

    /// The function as a closure that owns it: to be stored, as [`JitFn`](crate::derivative::JitFn) is.
    fn into_closure<A: Algebra>(self) -> impl Fn(&<Self::In as Family>::At<A>) -> <Self::Out as Family>::At<A>
    where
        Self: Sized,
    {
        move |x| self.call::<A>(x)
    }
}

impl<F: ArrayFn> ArrayFn for &F {
    type In = F::In;
    type Out = F::Out;
    #[track_caller]
    fn call<A: Algebra>(&self, x: &<Self::In as Family>::At<A>) -> <Self::Out as Family>::At<A> {
        F::call(self, x)
    }
}

/// The gradient of a scalar function, with respect to its whole argument: see [`grad`].
#[derive(Clone, Copy, Debug)]
pub struct Grad<F>(pub F);

impl<F: ArrayFn<Out = Scalar<Concrete, E>>, E: Float> ArrayFn for Grad<F> {
    type In = F::In;
    type Out = F::In;
    fn call<A: Algebra>(&self, x: &<Self::In as Family>::At<A>) -> <Self::Out as Family>::At<A> {
        grad(|y| self.0.call::<A::Nested>(y), x)
    }
}

/// The value of a scalar function and its gradient: see [`value_and_grad`].
#[derive(Clone, Copy, Debug)]
pub struct ValueAndGrad<F>(pub F);

impl<F: ArrayFn<Out = Scalar<Concrete, E>>, E: Float> ArrayFn for ValueAndGrad<F> {
    type In = F::In;
    type Out = (F::Out, F::In);
    fn call<A: Algebra>(&self, x: &<Self::In as Family>::At<A>) -> <Self::Out as Family>::At<A> {
        value_and_grad(|y| self.0.call::<A::Nested>(y), x)
    }
}

/// From a point and a cotangent of the value to the cotangent of the argument: see [`vjp`].
#[derive(Clone, Copy, Debug)]
pub struct Vjp<F>(pub F);

impl<F: ArrayFn> ArrayFn for Vjp<F> {
    type In = (F::In, F::Out);
    type Out = F::In;
    fn call<A: Algebra>(&self, x: &<Self::In as Family>::At<A>) -> <Self::Out as Family>::At<A> {
        let (_, pullback) = vjp(|y| self.0.call::<A::Nested>(y), &x.0);
        pullback(&x.1)
    }
}

/// From a point and a tangent of the argument to the value and its tangent: see [`jvp`].
#[derive(Clone, Copy, Debug)]
pub struct Jvp<F>(pub F);

impl<F: ArrayFn> ArrayFn for Jvp<F> {
    type In = (F::In, F::In);
    type Out = (F::Out, F::Out);
    fn call<A: Algebra>(&self, x: &<Self::In as Family>::At<A>) -> <Self::Out as Family>::At<A> {
        jvp(|y| self.0.call::<A::Forward>(y), &x.0, &x.1)
    }
}

/// The second function after the first.
#[derive(Clone, Copy, Debug)]
pub struct Compose<F, G>(pub F, pub G);

impl<F: ArrayFn, G: ArrayFn<In = F::Out>> ArrayFn for Compose<F, G> {
    type In = F::In;
    type Out = G::Out;
    #[track_caller]
    fn call<A: Algebra>(&self, x: &<Self::In as Family>::At<A>) -> <Self::Out as Family>::At<A> {
        self.1.call::<A>(&self.0.call::<A>(x))
    }
}
