//! Functions with derivative rules of their own, over dual arrays and arrays with tangents.
//!
//! A rule gives one of the two directions as it is: vector-Jacobian products reverse mode, Jacobian-vector products forward
//! mode. Where only the other rule is known it is transposed, since it is linear in what it is given beside the inputs: it
//! is run on dual arrays with that as the variable.

use super::rolled::Rolled;
use super::rules::generic;
use super::transpose::{Cotangent, transpose};
use super::{Delta, Dual, DualArray, Tangent, TangentArray};
use crate::algebra::{Algebra, CustomFunction, Rule};
use crate::shape::Type;

/// The linear map of a function: its rules, and where they are taken.
pub(crate) struct CustomMap<A: Algebra> {
    rules: Box<dyn Pull<A> + Send + Sync>,
    inputs: Vec<A::Array>,
    outputs: Vec<A::Array>,
}

impl<A: Algebra> CustomMap<A> {
    /// From the cotangents of the outputs, those at the end perhaps left out, to those of the inputs.
    pub(crate) fn transpose(&self, mut cotangents: Vec<Option<Cotangent<A>>>) -> Vec<Option<Cotangent<A>>> {
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
        if !self.has(Rule::Vjp) {
            return transposed::<A, F>(self, Rule::Jvp, (inputs, outputs), &types::<A>(inputs), cotangents);
        }
        let marked = cotangents.iter().flatten().any(|cotangent| cotangent.marked);
        let given = cotangents.into_iter().zip(outputs);
        let given = given.map(|(cotangent, output)| {
            cotangent.map_or_else(|| A::zeros(&A::type_of(output)), |cotangent| cotangent.array)
        });
        let parts = applied::<A, F>(self, Rule::Vjp, (inputs, outputs), given.collect(), marked);
        parts.into_iter().map(|part| part.map(|array| Cotangent { array, marked })).collect()
    }
}

/// A rule at directions, for the floats among its results. Where the directions are marked the rule is run forwards, which
/// is the same since it is linear in them, but that zeros in them stay zeros.
fn applied<A: Algebra, F: CustomFunction>(
    function: &F,
    rule: Rule,
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
        let directions = directions.into_iter().map(moving).collect();
        let results = function.rule::<Tangent<A, true>>(rule, inputs, outputs, directions);
        results.into_iter().map(|result| result.tangent).collect()
    } else {
        function.rule::<A>(rule, inputs.to_vec(), outputs.to_vec(), directions).into_iter().map(Some).collect()
    };
    results.into_iter().map(|result| result.filter(|array| A::dtype(array).is_float())).collect()
}

fn types<A: Algebra>(arrays: &[A::Array]) -> Vec<Type> {
    arrays.iter().map(A::type_of).collect()
}

/// The transpose of a rule in its directions, which are of these types, at cotangents of its results.
fn transposed<A: Algebra, F: CustomFunction>(
    function: &F,
    rule: Rule,
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
    let results = function.rule::<Dual<A>>(rule, inputs, outputs, moving.collect());
    let outputs = results.into_iter().zip(cotangents);
    let outputs = outputs.filter_map(|(result, cotangent)| Some((result.delta?, cotangent?)));
    transpose(outputs.collect(), &variables).0
}

/// A function with rules of its own over dual arrays.
pub(super) fn custom_dual<A: Algebra, F: CustomFunction>(function: &F, inputs: Vec<DualArray<A>>) -> Vec<DualArray<A>> {
    let (primals, deltas): (Vec<A::Array>, Vec<Option<Delta<A>>>) =
        inputs.into_iter().map(|array| (array.primal, array.delta)).unzip();
    let constant = |primal: A::Array| DualArray { primal, delta: None };
    if deltas.iter().all(Option::is_none) {
        return A::custom(function, primals).into_iter().map(constant).collect();
    }
    // In the algebra beneath it is a function with rules again, for derivatives of other levels.
    let outputs = A::custom(function, primals.clone());
    let map = CustomMap { rules: Box::new(function.clone()), inputs: primals, outputs: outputs.clone() };
    let delta = Delta::rolled(Rolled::Custom(map), deltas);
    let pick = |(position, primal): (usize, A::Array)| {
        let moves = A::dtype(&primal).is_float();
        DualArray { primal, delta: moves.then(|| delta.output(position)) }
    };
    outputs.into_iter().enumerate().map(pick).collect()
}

/// A function with rules of its own over arrays with tangents.
pub(super) fn custom_tangent<A: Algebra, F: CustomFunction, const MARKED: bool>(
    function: &F,
    inputs: Vec<TangentArray<A>>,
) -> Vec<TangentArray<A>> {
    let (primals, tangents): (Vec<A::Array>, Vec<Option<A::Array>>) =
        inputs.into_iter().map(|array| (array.primal, array.tangent)).unzip();
    let outputs = A::custom(function, primals.clone());
    let moved: Vec<Option<A::Array>> = if tangents.iter().all(Option::is_none) {
        vec![None; outputs.len()]
    } else if function.has(Rule::Jvp) {
        let given = tangents.into_iter().zip(&primals);
        let given = given.map(|(tangent, primal)| tangent.unwrap_or_else(|| A::zeros(&A::type_of(primal)))).collect();
        applied::<A, F>(function, Rule::Jvp, (&primals, &outputs), given, MARKED)
    } else {
        let cotangent = |tangent: Option<A::Array>| Some(Cotangent { array: tangent?, marked: MARKED });
        let cotangents = tangents.into_iter().map(cotangent).collect();
        let parts = transposed::<A, F>(function, Rule::Vjp, (&primals, &outputs), &types::<A>(&outputs), cotangents);
        parts.into_iter().map(|part| part.map(|part| part.array)).collect()
    };
    outputs.into_iter().zip(moved).map(|(primal, tangent)| TangentArray { primal, tangent }).collect()
}
