//! Names for the types of programs that are stored.

use super::jit::{Jit, Value};
use super::{Compiled, Function};
use crate::staged::Staged;
use crate::tensor::Family;

/// The type of a function of trees, as one writes it: `fn(Parameters) -> Scalar<Concrete, f64>`, with types over
/// [`Concrete`](crate::concrete::Concrete). With several arguments derivatives are taken by the first.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the type of a function of trees",
    note = "it is written as `fn(Vector<Concrete, f64>, Params<Concrete>) -> Scalar<Concrete, f64>`, of one to eight trees"
)]
pub trait Signature {
    /// The argument, or the tuple of several.
    type In: Family;
    /// The result.
    type Out: Family;
    /// The first argument.
    type First: Family;
}

impl<X: Family, Out: Family> Signature for fn(X) -> Out {
    type In = X;
    type Out = Out;
    type First = X;
}

macro_rules! of_several {
    ($(($($name:ident)*);)*) => {
        $(impl<X: Family, $($name: Family,)* Out: Family> Signature for fn(X, $($name),*) -> Out {
            type In = (X, $($name,)*);
            type Out = Out;
            type First = X;
        })*
    };
}

of_several! {
    (B);
    (B C);
    (B C D);
    (B C D E);
    (B C D E F);
    (B C D E F G);
    (B C D E F G H);
}

/// A staged function, by the type of the function that was staged: a name for it in a struct.
///
/// All functions of one signature have this type, whichever was staged: they stand in a `Vec` or a map, to be chosen from at run
/// time, without a box.
///
/// ```
/// use deltaray::derivative::StagedFn;
/// use deltaray::prelude::*;
/// use std::collections::HashMap;
///
/// type Loss = StagedFn<fn(Vector<Concrete, f64>) -> Scalar<Concrete, f64>>;
///
/// fn losses() -> deltaray::Result<HashMap<&'static str, Loss>> {
///     let like = zeros(3);
///     let squares: Loss = stage(|x: &Vector<_, f64>| x.powi(2).sum(), &like)?;
///     let absolute: Loss = stage(|x: &Vector<_, f64>| x.abs().sum(), &like)?;
///     Ok([("squares", squares), ("absolute", absolute)].into())
/// }
///
/// # fn main() -> deltaray::Result<()> {
/// let chosen = &losses()?["squares"];
/// assert_eq!(chosen.call(&Vector::from(vec![1.0, 2.0, 3.0]))?.item(), 14.0);
/// # Ok(())
/// # }
/// ```
pub type StagedFn<S> = Function<<S as Signature>::In, <S as Signature>::Out, <S as Signature>::First>;

/// A program compiled for the processor, by the type of its function, as [`StagedFn`].
///
/// ```
/// use deltaray::derivative::CompiledFn;
/// use deltaray::prelude::*;
///
/// type V = Vector<Concrete, f64>;
///
/// struct Descent {
///     gradient: CompiledFn<fn(V, V) -> (Scalar<Concrete, f64>, V)>,
///     target: V,
/// }
///
/// # fn main() -> deltaray::Result<()> {
/// let target = Vector::from(vec![1.0, 2.0]);
/// let loss = stage(|(x, y): &(Vector<_, f64>, Vector<_, f64>)| (x - y).powi(2).sum(), (&zeros(2), &target))?;
/// let descent = Descent { gradient: loss.value_and_grad()?.compile(Cpu::default())?, target };
/// let (value, slope) = descent.gradient.call((&zeros(2), &descent.target))?;
/// assert_eq!((value.item(), slope.to_vec()), (5.0, vec![-2.0, -4.0]));
/// # Ok(())
/// # }
/// ```
pub type CompiledFn<S> = Compiled<<S as Signature>::In, <S as Signature>::Out>;

/// A function that is staged and compiled once for each combination of argument types, named, like [`StagedFn`], by its
/// signature and the wanted quantity: the result of [`Jit::boxed`].
///
/// ```
/// use deltaray::derivative::{JitFn, ValueAndGradient};
/// use deltaray::prelude::*;
///
/// type V = Vector<Concrete, f64>;
///
/// #[differentiable]
/// fn loss(x: Vector<f64>, #[plain] power: i32) -> Scalar<f64> {
///     x.powi(power).sum()
/// }
///
/// struct Model {
///     loss: JitFn<fn(V) -> Scalar<Concrete, f64>, ValueAndGradient>,
/// }
///
/// # fn main() -> deltaray::Result<()> {
/// let model = Model { loss: jit(loss { power: 2 }.into_closure()).value_and_grad().boxed() };
/// let (value, slope) = model.loss.call(&Vector::from(vec![1.0, 2.0]))?;
/// assert_eq!((value.item(), slope.to_vec()), (5.0, vec![2.0, 4.0]));
/// assert_eq!(model.loss.call(&Vector::from(vec![3.0]))?.0.item(), 9.0);
/// # Ok(())
/// # }
/// ```
pub type JitFn<S, Wanted = Value> = Jit<
    Box<dyn Fn(&AtStaged<<S as Signature>::In>) -> AtStaged<<S as Signature>::Out> + Send + Sync>,
    AtStaged<<S as Signature>::In>,
    AtStaged<<S as Signature>::Out>,
    Wanted,
>;

type AtStaged<F> = <F as Family>::At<Staged>;
