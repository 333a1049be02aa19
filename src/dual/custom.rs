//! Functions with derivative rules of their own, over dual arrays and arrays with tangents.
//!
//! A rule gives one of the two directions directly: vector-Jacobian products reverse mode, Jacobian-vector products forward
//! mode. Where only the other rule is known it is transposed: it is linear in the argument after the inputs and outputs, and is
//! run on dual arrays with that argument as the variable.

use super::cotangent::Cotangent;
use super::delta::Rolled;
use super::rules::generic;
use super::transpose::transpose;
use super::{Delta, Dual, DualArray, Tangent, TangentArray};
use crate::algebra::{Algebra, CustomFunction, DerivativeRule, or_zeros};
use crate::shape::Type;

/// The linear map of a function: its rules, and where they are taken.
pub(crate) struct CustomMap<A: Algebra> {
    rules: Box<dyn Pull<A> + Send + Sync>,
    inputs: Vec<A::Array>,
    outputs: Vec<A::Array>,
}

impl<A: Algebra> Rolled<A> for CustomMap<A> {
    fn name(&self) -> &'static str {
        "Custom"
    }

    fn transpose(&self, mut cotangents: Vec<Option<Cotangent<A>>>) -> Vec<Option<Cotangent<A>>> {
        cotangents.resize_with(self.outputs.len(), || None);
        self.rules.pull(&self.inputs, &self.outputs, cotangents)
    }
}

/// A function's transposed derivative, whatever its type.
trait Pull<A: Algebra> {
    fn pull(
        &self,
        inputs: &[A::Array],
        outputs: &[A::Array],
        cotangents: Vec<Option<Cotangent<A>>>,
    ) -> Vec<Option<Cotangent<A>>>;
}

impl<A: Algebra, F: CustomFunction> Pull<A> for F {
    fn pull(
        &self,
        inputs: &[A::Array],
        outputs: &[A::Array],
        cotangents: Vec<Option<Cotangent<A>>>,
    ) -> Vec<Option<Cotangent<A>>> {
        if !self.has(DerivativeRule::Vjp) {
            let rule = &over::<Dual<A>, F>(self, DerivativeRule::Jvp);
            return transposed::<A>(rule, (inputs, outputs), &types::<A>(inputs), cotangents);
        }
        let rule = DerivativeRule::Vjp;
        let rules = RulePair { plain: &over::<A, F>(self, rule), marked: &over::<Tangent<A, true>, F>(self, rule) };
        pulled::<A>(&rules, (inputs, outputs), cotangents)
    }
}

/// A rule over an algebra, applied to inputs, outputs and directions. It hides the function's type, so that code that works
/// with rules is compiled once per algebra, and not once per function.
type RuleOver<'a, A> = &'a dyn Fn(AlgebraArrays<A>, AlgebraArrays<A>, AlgebraArrays<A>) -> AlgebraArrays<A>;

type AlgebraArrays<A> = Vec<<A as Algebra>::Array>;

fn over<A: Algebra, F: CustomFunction>(
    function: &F,
    rule: DerivativeRule,
) -> impl Fn(AlgebraArrays<A>, AlgebraArrays<A>, AlgebraArrays<A>) -> AlgebraArrays<A> {
    move |inputs, outputs, directions| function.rule::<A>(rule, inputs, outputs, directions)
}

/// A rule, and the same one over arrays with tangents that keep zeros.
struct RulePair<'a, A: Algebra> {
    plain: RuleOver<'a, A>,
    marked: RuleOver<'a, Tangent<A, true>>,
}

/// The rule for cotangents, at these.
fn pulled<A: Algebra>(
    rules: &RulePair<'_, A>,
    (inputs, outputs): (&[A::Array], &[A::Array]),
    cotangents: Vec<Option<Cotangent<A>>>,
) -> Vec<Option<Cotangent<A>>> {
    let marked = cotangents.iter().flatten().any(|cotangent| cotangent.marked);
    let given = cotangents.into_iter().zip(outputs);
    let given = given.map(|(cotangent, output)| {
        cotangent.map_or_else(|| A::zeros(&A::type_of(output)), |cotangent| cotangent.array)
    });
    let parts = applied::<A>(rules, (inputs, outputs), given.collect(), marked);
    parts.into_iter().map(|part| part.map(|array| Cotangent { array, marked })).collect()
}

/// A rule at directions, for the floats among its results. Where the directions are marked the rule is run forwards, which
/// is the same since it is linear in them, but that zeros in them stay zeros.
fn applied<A: Algebra>(
    rules: &RulePair<'_, A>,
    (inputs, outputs): (&[A::Array], &[A::Array]),
    directions: Vec<A::Array>,
    marked: bool,
) -> Vec<Option<A::Array>> {
    let results: Vec<Option<A::Array>> = if marked {
        let fixed = |array: &A::Array| TangentArray { primal: array.clone(), tangent: None };
        let moving = |primal: A::Array| {
            let tangent = A::dtype(&primal).is_float().then(|| primal.clone());
            TangentArray { primal, tangent }
        };
        let (inputs, outputs) = (inputs.iter().map(fixed).collect(), outputs.iter().map(fixed).collect());
        let results = (rules.marked)(inputs, outputs, directions.into_iter().map(moving).collect());
        results.into_iter().map(|result| result.tangent).collect()
    } else {
        (rules.plain)(inputs.to_vec(), outputs.to_vec(), directions).into_iter().map(Some).collect()
    };
    results.into_iter().map(|result| result.filter(|array| A::dtype(array).is_float())).collect()
}

fn types<A: Algebra>(arrays: &[A::Array]) -> Vec<Type> {
    arrays.iter().map(A::type_of).collect()
}

/// The transpose of a rule in its directions, which are of these types, at cotangents of its results.
fn transposed<A: Algebra>(
    rule: RuleOver<'_, Dual<A>>,
    (inputs, outputs): (&[A::Array], &[A::Array]),
    directions: &[Type],
    cotangents: Vec<Option<Cotangent<A>>>,
) -> Vec<Option<Cotangent<A>>> {
    let variables: Vec<Option<Delta<A>>> = directions.iter().map(|ty| ty.dtype.is_float().then(Delta::input)).collect();
    let fixed = |array: &A::Array| DualArray { primal: array.clone(), delta: None };
    let (inputs, outputs) = (inputs.iter().map(fixed).collect(), outputs.iter().map(fixed).collect());
    // The rule is linear, so that where it is derived makes no difference but to its loops.
    let moving = directions.iter().zip(&variables);
    let moving = moving.map(|(ty, variable)| DualArray { primal: generic::<A>(ty), delta: variable.clone() });
    let results = rule(inputs, outputs, moving.collect());
    let outputs = results.into_iter().zip(cotangents);
    let outputs = outputs.filter_map(|(result, cotangent)| Some((result.delta?, cotangent?)));
    transpose(outputs.collect(), &variables).0
}

/// A function with rules of its own over dual arrays.
pub(super) fn custom_dual<A: Algebra, F: CustomFunction>(function: &F, inputs: Vec<DualArray<A>>) -> Vec<DualArray<A>> {
    let (primals, deltas) = parts::<A>(inputs);
    if deltas.iter().all(Option::is_none) {
        return constants::<A>(A::custom(function, primals));
    }
    // In the algebra beneath it is a function with rules again, for derivatives of other levels.
    let outputs = A::custom(function, primals.clone());
    moved::<A>(CustomMap { rules: Box::new(function.clone()), inputs: primals, outputs }, deltas)
}

fn parts<A: Algebra>(inputs: Vec<DualArray<A>>) -> (Vec<A::Array>, Vec<Option<Delta<A>>>) {
    inputs.into_iter().map(|array| (array.primal, array.delta)).unzip()
}

fn constants<A: Algebra>(arrays: Vec<A::Array>) -> Vec<DualArray<A>> {
    arrays.into_iter().map(|primal| DualArray { primal, delta: None }).collect()
}

/// The outputs of a function whose inputs have these deltas.
fn moved<A: Algebra>(map: CustomMap<A>, deltas: Vec<Option<Delta<A>>>) -> Vec<DualArray<A>> {
    let outputs = map.outputs.clone();
    let delta = Delta::rolled(map, deltas);
    let pick = |(position, primal): (usize, A::Array)| {
        let moves = A::dtype(&primal).is_float();
        DualArray { primal, delta: moves.then(|| delta.output(position)) }
    };
    outputs.into_iter().enumerate().map(pick).collect()
}

/// A function with rules of its own over arrays with tangents.
pub(super) fn custom_tangent<A: Algebra, F: CustomFunction>(
    function: &F,
    inputs: Vec<TangentArray<A>>,
    marked: bool,
) -> Vec<TangentArray<A>> {
    let (primals, tangents) = tangents_apart::<A>(inputs);
    let outputs = A::custom(function, primals.clone());
    let of = (&primals[..], &outputs[..]);
    let tangents = if tangents.iter().all(Option::is_none) {
        vec![None; outputs.len()]
    } else if function.has(DerivativeRule::Jvp) {
        let rule = DerivativeRule::Jvp;
        let rules =
            RulePair { plain: &over::<A, F>(function, rule), marked: &over::<Tangent<A, true>, F>(function, rule) };
        applied::<A>(&rules, of, or_zeros::<A>(tangents, &primals), marked)
    } else {
        pushed::<A>(&over::<Dual<A>, F>(function, DerivativeRule::Vjp), of, tangents, marked)
    };
    tangents_along::<A>(outputs, tangents)
}

fn tangents_apart<A: Algebra>(inputs: Vec<TangentArray<A>>) -> (Vec<A::Array>, Vec<Option<A::Array>>) {
    inputs.into_iter().map(|array| (array.primal, array.tangent)).unzip()
}

fn tangents_along<A: Algebra>(primals: Vec<A::Array>, tangents: Vec<Option<A::Array>>) -> Vec<TangentArray<A>> {
    primals.into_iter().zip(tangents).map(|(primal, tangent)| TangentArray { primal, tangent }).collect()
}

/// The rule for cotangents, transposed, at tangents.
fn pushed<A: Algebra>(
    rule: RuleOver<'_, Dual<A>>,
    of: (&[A::Array], &[A::Array]),
    tangents: Vec<Option<A::Array>>,
    marked: bool,
) -> Vec<Option<A::Array>> {
    let cotangent = |tangent: Option<A::Array>| Some(Cotangent { array: tangent?, marked });
    let cotangents = tangents.into_iter().map(cotangent).collect();
    let parts = transposed::<A>(rule, of, &types::<A>(of.1), cotangents);
    parts.into_iter().map(|part| part.map(|part| part.array)).collect()
}
