//! Functions with derivative rules of their own.

use super::{ArrayFn, At};
use crate::algebra::{Algebra, CustomFunction, DerivativeRule};
use crate::array;
use crate::concrete::Concrete;
use crate::tensor::{Family, Tree, check_same_trees, refuse};
use std::panic::Location;
use std::sync::{Arc, OnceLock};

/// A function, and a rule for its derivative in reverse mode: from the point, the value there and a cotangent of the value to
/// the cotangent of the argument. The rule is linear in the cotangent.
///
/// Where a derivative is taken, in whatever mode and order, the rule stands in for the function, which need not be
/// differentiable; higher derivatives are those of the rule. Forward mode transposes the rule. Everything that the function
/// depends on must be in its argument: the contents of the two objects are constant. Entries of the cotangents for integers and
/// booleans are ignored.
///
/// The rule must be linear in the cotangent, and should be the function's derivative, which
/// [`check_grad`](super::check_grad) tests. A rule that uses the custom function itself runs in eager algebras; staged it is
/// an error, since the expansion has no end: there it uses the plain function.
///
/// A rule may have loops whose number of steps depends on the cotangent, as solvers have. When the rule is transposed, such a
/// loop runs as many steps as it needs for a generic cotangent, so it should end by a tolerance relative to the cotangent. When
/// the rule is differentiated, for a derivative of higher order, the derivative is that of the steps made at the actual
/// cotangent. Where this is 0, as at the minimum of a squared error, no step is made and the derivative is wrong. There the
/// loop has to be a function with rules of its own, in which another such loop gives its solution.
///
/// A cotangent that the rule gives must be a tree like the argument; a mismatch is reported, with both shapes, at the line of
/// the call: when the rule is run, and when the function is staged.
///
/// ```
/// use deltaray::prelude::*;
///
/// /// The logarithm of the sum of exponentials.
/// #[derive(Clone)]
/// struct LogSumExp;
/// impl ArrayFn for LogSumExp {
///     type In = Vector<Concrete, f64>;
///     type Out = Scalar<Concrete, f64>;
///     fn call<A: Algebra>(&self, x: &Vector<A, f64>) -> Scalar<A, f64> {
///         let largest = x.max_all();
///         (x - &largest).exp().sum().ln() + largest
///     }
/// }
///
/// /// Its gradient, which needs no largest element.
/// #[derive(Clone)]
/// struct Softmax;
/// impl ArrayFn for Softmax {
///     type In = (Vector<Concrete, f64>, Scalar<Concrete, f64>, Scalar<Concrete, f64>);
///     type Out = Vector<Concrete, f64>;
///     fn call<A: Algebra>(
///         &self,
///         (x, value, cotangent): &(Vector<A, f64>, Scalar<A, f64>, Scalar<A, f64>),
///     ) -> Vector<A, f64> {
///         (x - value).exp() * cotangent
///     }
/// }
///
/// let slope = grad(|x| custom_vjp(&LogSumExp, &Softmax, x), &Vector::from(vec![0.0, 0.0]));
/// assert_eq!(slope.to_vec(), [0.5, 0.5]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CustomVjp<F, V>(pub F, pub V);

/// A function, and a rule for its derivative in forward mode: from the point, the value there and a tangent of the point to the
/// tangent of the value. The rule is linear in the tangent. Reverse mode transposes it. Otherwise as [`CustomVjp`].
#[derive(Clone, Copy, Debug)]
pub struct CustomJvp<F, J>(pub F, pub J);

/// A function with a rule for either mode, as in [`CustomVjp`] and [`CustomJvp`], so that no rule is transposed: the function,
/// the rule of reverse mode, the rule of forward mode. The rules should be each other's transposes.
#[derive(Clone, Copy, Debug)]
pub struct CustomRules<F, V, J>(pub F, pub V, pub J);

/// The value of a function at a point, with a rule for its derivative in reverse mode: see [`CustomVjp`], which says what the
/// rule takes and gives. The point and the value are trees of the function's structure.
///
/// ```
/// use deltaray::prelude::*;
///
/// /// The identity.
/// #[derive(Clone)]
/// struct Same;
/// impl ArrayFn for Same {
///     type In = Vector<Concrete, f64>;
///     type Out = Vector<Concrete, f64>;
///     fn call<A: Algebra>(&self, x: &Vector<A, f64>) -> Vector<A, f64> {
///         x.clone()
///     }
/// }
///
/// /// A cotangent with its elements cut off at −1 and 1.
/// #[derive(Clone)]
/// struct Clipped;
/// impl ArrayFn for Clipped {
///     type In = (Vector<Concrete, f64>, Vector<Concrete, f64>, Vector<Concrete, f64>);
///     type Out = Vector<Concrete, f64>;
///     fn call<A: Algebra>(&self, (_, _, cotangent): &<Self::In as Family>::At<A>) -> Vector<A, f64> {
///         cotangent.max(-1.0).min(1.0)
///     }
/// }
///
/// let x = Vector::from(vec![0.25, 8.0]);
/// assert_eq!(grad(|x| custom_vjp(&Same, &Clipped, x).powi(2).sum(), &x).to_vec(), [0.5, 1.0]);
/// ```
///
/// # Panics
///
/// When the derivative is taken and the rule gives a tree unlike the point; in a staged function that is the error of
/// [`stage`](super::stage) instead.
#[track_caller]
pub fn custom_vjp<A, F, V>(f: &F, vjp: &V, x: &At<F::In, A>) -> At<F::Out, A>
where
    A: Algebra,
    F: ArrayFn + Clone + Send + Sync + 'static,
    V: ArrayFn<In = (F::In, F::Out, F::Out), Out = F::In> + Clone + Send + Sync + 'static,
{
    run::<A, F, OfReverse<V>>("custom_vjp", f, OfReverse(vjp.clone()), x)
}

/// The value of a function at a point, with a rule for its derivative in forward mode: see [`CustomJvp`]. The point and the
/// value are trees of the function's structure.
///
/// ```
/// use deltaray::prelude::*;
///
/// /// The sine.
/// #[derive(Clone)]
/// struct Sine;
/// impl ArrayFn for Sine {
///     type In = Scalar<Concrete, f64>;
///     type Out = Scalar<Concrete, f64>;
///     fn call<A: Algebra>(&self, x: &Scalar<A, f64>) -> Scalar<A, f64> {
///         x.sin()
///     }
/// }
///
/// /// From the point, the value there and a tangent of the point to the tangent of the value.
/// #[derive(Clone)]
/// struct Cosine;
/// impl ArrayFn for Cosine {
///     type In = (Scalar<Concrete, f64>, Scalar<Concrete, f64>, Scalar<Concrete, f64>);
///     type Out = Scalar<Concrete, f64>;
///     fn call<A: Algebra>(&self, (x, _, tangent): &<Self::In as Family>::At<A>) -> Scalar<A, f64> {
///         x.cos() * tangent
///     }
/// }
///
/// assert_eq!(jvp(|x| custom_jvp(&Sine, &Cosine, x), &scalar(0.0), &scalar(3.0)).1.item(), 3.0);
/// assert_eq!(grad(|x| custom_jvp(&Sine, &Cosine, x), &scalar(0.0)).item(), 1.0);
/// ```
///
/// # Panics
///
/// When the derivative is taken and the rule gives a tree unlike the value; in a staged function that is the error of
/// [`stage`](super::stage) instead.
#[track_caller]
pub fn custom_jvp<A, F, J>(f: &F, jvp: &J, x: &At<F::In, A>) -> At<F::Out, A>
where
    A: Algebra,
    F: ArrayFn + Clone + Send + Sync + 'static,
    J: ArrayFn<In = (F::In, F::Out, F::In), Out = F::Out> + Clone + Send + Sync + 'static,
{
    run::<A, F, OfForward<J>>("custom_jvp", f, OfForward(jvp.clone()), x)
}

/// The value of a function at a point, with a rule for either mode of its derivative: see [`CustomRules`]. The point and the
/// value are trees of the function's structure.
///
/// ```
/// use deltaray::prelude::*;
///
/// /// Three times a number.
/// #[derive(Clone)]
/// struct Triple;
/// impl ArrayFn for Triple {
///     type In = Scalar<Concrete, f64>;
///     type Out = Scalar<Concrete, f64>;
///     fn call<A: Algebra>(&self, x: &Scalar<A, f64>) -> Scalar<A, f64> {
///         x * 3.0
///     }
/// }
///
/// /// The rule of either mode, since the derivative is a symmetric matrix.
/// #[derive(Clone)]
/// struct Rule;
/// impl ArrayFn for Rule {
///     type In = (Scalar<Concrete, f64>, Scalar<Concrete, f64>, Scalar<Concrete, f64>);
///     type Out = Scalar<Concrete, f64>;
///     fn call<A: Algebra>(&self, (_, _, direction): &<Self::In as Family>::At<A>) -> Scalar<A, f64> {
///         direction * 3.0
///     }
/// }
///
/// let x = scalar(2.0);
/// assert_eq!(grad(|x| custom_rules(&Triple, &Rule, &Rule, x), &x).item(), 3.0);
/// assert_eq!(jvp(|x| custom_rules(&Triple, &Rule, &Rule, x), &x, &scalar(1.0)).1.item(), 3.0);
/// ```
///
/// # Panics
///
/// As [`custom_vjp`] and [`custom_jvp`].
#[track_caller]
pub fn custom_rules<A, F, V, J>(f: &F, vjp: &V, jvp: &J, x: &At<F::In, A>) -> At<F::Out, A>
where
    A: Algebra,
    F: ArrayFn + Clone + Send + Sync + 'static,
    V: ArrayFn<In = (F::In, F::Out, F::Out), Out = F::In> + Clone + Send + Sync + 'static,
    J: ArrayFn<In = (F::In, F::Out, F::In), Out = F::Out> + Clone + Send + Sync + 'static,
{
    run::<A, F, OfBoth<V, J>>("custom_rules", f, OfBoth(vjp.clone(), jvp.clone()), x)
}

impl<F, V> ArrayFn for CustomVjp<F, V>
where
    F: ArrayFn + Clone + Send + Sync + 'static,
    V: ArrayFn<In = (F::In, F::Out, F::Out), Out = F::In> + Clone + Send + Sync + 'static,
{
    type In = F::In;
    type Out = F::Out;
    #[track_caller]
    fn call<A: Algebra>(&self, x: &At<F::In, A>) -> At<F::Out, A> {
        custom_vjp::<A, F, V>(&self.0, &self.1, x)
    }
}

impl<F, J> ArrayFn for CustomJvp<F, J>
where
    F: ArrayFn + Clone + Send + Sync + 'static,
    J: ArrayFn<In = (F::In, F::Out, F::In), Out = F::Out> + Clone + Send + Sync + 'static,
{
    type In = F::In;
    type Out = F::Out;
    #[track_caller]
    fn call<A: Algebra>(&self, x: &At<F::In, A>) -> At<F::Out, A> {
        custom_jvp::<A, F, J>(&self.0, &self.1, x)
    }
}

impl<F, V, J> ArrayFn for CustomRules<F, V, J>
where
    F: ArrayFn + Clone + Send + Sync + 'static,
    V: ArrayFn<In = (F::In, F::Out, F::Out), Out = F::In> + Clone + Send + Sync + 'static,
    J: ArrayFn<In = (F::In, F::Out, F::In), Out = F::Out> + Clone + Send + Sync + 'static,
{
    type In = F::In;
    type Out = F::Out;
    #[track_caller]
    fn call<A: Algebra>(&self, x: &At<F::In, A>) -> At<F::Out, A> {
        custom_rules::<A, F, V, J>(&self.0, &self.1, &self.2, x)
    }
}

/// The rules that there are of a function's two.
trait RuleSet<F: ArrayFn>: Clone + Send + Sync + 'static {
    fn has(&self, rule: DerivativeRule) -> bool;
    fn vjp<A: Algebra>(&self, given: &At<(F::In, F::Out, F::Out), A>) -> At<F::In, A>;
    fn jvp<A: Algebra>(&self, given: &At<(F::In, F::Out, F::In), A>) -> At<F::Out, A>;
}

#[derive(Clone)]
struct OfReverse<V>(V);

#[derive(Clone)]
struct OfForward<J>(J);

#[derive(Clone)]
struct OfBoth<V, J>(V, J);

const ABSENT: &str = "callers ask which rules there are";

impl<F, V> RuleSet<F> for OfReverse<V>
where
    F: ArrayFn,
    V: ArrayFn<In = (F::In, F::Out, F::Out), Out = F::In> + Clone + Send + Sync + 'static,
{
    fn has(&self, rule: DerivativeRule) -> bool {
        rule == DerivativeRule::Vjp
    }
    fn vjp<A: Algebra>(&self, given: &At<(F::In, F::Out, F::Out), A>) -> At<F::In, A> {
        self.0.call::<A>(given)
    }
    fn jvp<A: Algebra>(&self, _: &At<(F::In, F::Out, F::In), A>) -> At<F::Out, A> {
        unreachable!("{ABSENT}")
    }
}

impl<F, J> RuleSet<F> for OfForward<J>
where
    F: ArrayFn,
    J: ArrayFn<In = (F::In, F::Out, F::In), Out = F::Out> + Clone + Send + Sync + 'static,
{
    fn has(&self, rule: DerivativeRule) -> bool {
        rule == DerivativeRule::Jvp
    }
    fn vjp<A: Algebra>(&self, _: &At<(F::In, F::Out, F::Out), A>) -> At<F::In, A> {
        unreachable!("{ABSENT}")
    }
    fn jvp<A: Algebra>(&self, given: &At<(F::In, F::Out, F::In), A>) -> At<F::Out, A> {
        self.0.call::<A>(given)
    }
}

impl<F, V, J> RuleSet<F> for OfBoth<V, J>
where
    F: ArrayFn,
    V: ArrayFn<In = (F::In, F::Out, F::Out), Out = F::In> + Clone + Send + Sync + 'static,
    J: ArrayFn<In = (F::In, F::Out, F::In), Out = F::Out> + Clone + Send + Sync + 'static,
{
    fn has(&self, _: DerivativeRule) -> bool {
        true
    }
    fn vjp<A: Algebra>(&self, given: &At<(F::In, F::Out, F::Out), A>) -> At<F::In, A> {
        self.0.call::<A>(given)
    }
    fn jvp<A: Algebra>(&self, given: &At<(F::In, F::Out, F::In), A>) -> At<F::Out, A> {
        self.1.call::<A>(given)
    }
}

/// A function and its rules, at one call, in the form for the algebras.
struct TypedFunction<F: ArrayFn, R> {
    function: F,
    rules: R,
    name: &'static str,
    place: &'static Location<'static>,
    /// A tree of the argument's structure, zeros for its arrays.
    argument: Arc<At<F::In, Concrete>>,
    /// One of the value's structure, once the function was run.
    output: Arc<OnceLock<At<F::Out, Concrete>>>,
}

impl<F: ArrayFn + Clone, R: Clone> Clone for TypedFunction<F, R> {
    fn clone(&self) -> Self {
        TypedFunction {
            function: self.function.clone(),
            rules: self.rules.clone(),
            name: self.name,
            place: self.place,
            argument: self.argument.clone(),
            output: self.output.clone(),
        }
    }
}

/// The structure of a tree, with zeros.
fn structure<A: Algebra, T: Tree<A>>(tree: &T) -> At<T::Family, Concrete> {
    T::Family::rebuild::<A, Concrete>(tree, &mut tree.types().iter().map(array::Array::zeros))
}

#[track_caller]
fn run<A, F, R>(name: &'static str, f: &F, rules: R, x: &At<F::In, A>) -> At<F::Out, A>
where
    A: Algebra,
    F: ArrayFn + Clone + Send + Sync + 'static,
    R: RuleSet<F>,
{
    let typed = TypedFunction {
        function: f.clone(),
        rules,
        name,
        place: Location::caller(),
        argument: Arc::new(structure::<A, _>(x)),
        output: Arc::default(),
    };
    let outputs = A::custom(&typed, x.leaves());
    let like = typed.output.get().expect("every algebra runs the function");
    F::Out::rebuild::<Concrete, A>(like, &mut outputs.into_iter())
}

impl<F, R> TypedFunction<F, R>
where
    F: ArrayFn + Clone + Send + Sync + 'static,
    R: RuleSet<F>,
{
    fn output(&self) -> &At<F::Out, Concrete> {
        self.output.get().expect("the function is run before its rules")
    }

    /// The arrays of a rule's result, or placeholders if it is not like `expected`.
    fn checked<A: Algebra, T: Tree<Concrete>, U: Tree<A>>(&self, what: &str, expected: &T, found: &U) -> Vec<A::Array> {
        let Err(problem) = check_same_trees(expected, found) else { return found.leaves() };
        let problem = format!("{what} and what the rule gives for it differ: {problem}");
        refuse::<A>(self.name, problem, &expected.types(), self.place)
    }
}

impl<F, R> CustomFunction for TypedFunction<F, R>
where
    F: ArrayFn + Clone + Send + Sync + 'static,
    R: RuleSet<F>,
{
    fn value<A: Algebra>(&self, inputs: Vec<A::Array>) -> Vec<A::Array> {
        let argument = F::In::rebuild::<Concrete, A>(&self.argument, &mut inputs.into_iter());
        let value = self.function.call::<A>(&argument);
        self.output.get_or_init(|| structure::<A, _>(&value));
        value.leaves()
    }

    fn has(&self, rule: DerivativeRule) -> bool {
        self.rules.has(rule)
    }

    fn rule<A: Algebra>(
        &self,
        rule: DerivativeRule,
        inputs: Vec<A::Array>,
        outputs: Vec<A::Array>,
        directions: Vec<A::Array>,
    ) -> Vec<A::Array> {
        let mut directions = directions.into_iter();
        let argument = F::In::rebuild::<Concrete, A>(&self.argument, &mut inputs.into_iter());
        let value = F::Out::rebuild::<Concrete, A>(self.output(), &mut outputs.into_iter());
        match rule {
            DerivativeRule::Vjp => {
                let given = (argument, value, F::Out::rebuild::<Concrete, A>(self.output(), &mut directions));
                let found = self.rules.vjp::<A>(&given);
                self.checked::<A, _, _>("the argument", &*self.argument, &found)
            }
            DerivativeRule::Jvp => {
                let given = (argument, value, F::In::rebuild::<Concrete, A>(&self.argument, &mut directions));
                let found = self.rules.jvp::<A>(&given);
                self.checked::<A, _, _>("the value", self.output(), &found)
            }
        }
    }
}
