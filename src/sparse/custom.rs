//! Functions with derivative rules of their own: the rules determine what their results depend on.

use super::array::{Sets, SparsityArray, union};
use super::columns::ColumnSet;
use crate::algebra::{CustomFunction, DerivativeRule};
use crate::array::{Array, OutOfMemory};
use crate::evaluate::Failure;
use crate::shape::Type;
use std::rc::Rc;

/// A function and its rules, run on dependence.
pub(super) trait SparsityRules {
    /// The function.
    fn value(&self, inputs: Vec<SparsityArray>) -> Result<Vec<SparsityArray>, Failure>;
    /// A rule, if there is one, given inputs, outputs and cotangents or tangents.
    fn rule(
        &self,
        rule: DerivativeRule,
        arguments: [Vec<SparsityArray>; 3],
    ) -> Result<Option<Vec<SparsityArray>>, Failure>;
}

/// A function of any kind; where there is no memory it panics.
pub(super) struct AnyFunction<'a, F>(pub(super) &'a F);

impl<F: CustomFunction> SparsityRules for AnyFunction<'_, F> {
    fn value(&self, inputs: Vec<SparsityArray>) -> Result<Vec<SparsityArray>, Failure> {
        Ok(self.0.value::<super::Sparsity>(inputs))
    }
    fn rule(
        &self,
        rule: DerivativeRule,
        arguments: [Vec<SparsityArray>; 3],
    ) -> Result<Option<Vec<SparsityArray>>, Failure> {
        let [inputs, outputs, directions] = arguments;
        Ok(self.0.has(rule).then(|| self.0.rule::<super::Sparsity>(rule, inputs, outputs, directions)))
    }
}

/// Zeros, which nothing depends on.
fn zeros(ty: &Type) -> SparsityArray {
    SparsityArray::known(Array::zeros(ty))
}

/// Runs a function for its values, and its rules for their dependence; two rules contribute the union.
pub(super) fn custom(rules: &impl SparsityRules, inputs: Vec<SparsityArray>) -> Result<Vec<SparsityArray>, Failure> {
    let bare: Vec<SparsityArray> = inputs.iter().map(SparsityArray::bare).collect();
    let outputs = rules.value(bare.clone())?;
    if inputs.iter().all(|input| input.sets().is_none()) {
        return Ok(outputs);
    }
    let mut sets: Vec<Sets> = vec![None; outputs.len()];
    // Tangents depend on the same columns as inputs, and a rule is linear in them.
    let tangent = |input: &SparsityArray| match input.sets() {
        None => zeros(input.ty()),
        sets => SparsityArray::dependent(input.ty().clone(), sets.clone()),
    };
    let tangents = inputs.iter().map(tangent).collect();
    if let Some(moved) = rules.rule(DerivativeRule::Jvp, [bare.clone(), outputs.clone(), tangents])? {
        sets = moved.iter().map(|tangent| tangent.sets().clone()).collect();
    }
    let (cotangents, count) = numbered(&outputs)?;
    if let Some(reached) = rules.rule(DerivativeRule::Vjp, [bare, outputs.clone(), cotangents])? {
        let found = transposed(&inputs, &reached, count);
        let mut first = 0;
        for (set, output) in sets.iter_mut().zip(&outputs).filter(|(_, output)| output.ty().dtype.is_float()) {
            let own = &found[first..first + output.ty().size()];
            first += own.len();
            *set = union(set.take(), Some(Rc::new(own.to_vec())));
        }
    }
    let output = |(output, sets): (SparsityArray, Sets)| match sets {
        None => output,
        sets => SparsityArray::dependent(output.ty().clone(), sets),
    };
    Ok(outputs.into_iter().zip(sets).map(output).collect())
}

/// Cotangents of the outputs, in which every element is a column of its own, and their number.
fn numbered(outputs: &[SparsityArray]) -> Result<(Vec<SparsityArray>, usize), Failure> {
    let mut count = 0;
    let mut cotangents = Vec::with_capacity(outputs.len());
    for output in outputs {
        let ty = output.ty();
        cotangents.push(match ty.dtype.is_float() {
            false => zeros(ty),
            true => {
                let cotangent = u32::try_from(count).ok().and_then(|first| SparsityArray::input(ty.clone(), first));
                count += ty.size();
                let problem = OutOfMemory { ty: ty.clone() };
                cotangent.ok_or(Failure { operation: "custom".into(), problem })?
            }
        });
    }
    Ok((cotangents, count))
}

/// The dependence of each output element, given the output elements that reach each input element.
fn transposed(inputs: &[SparsityArray], reached: &[SparsityArray], count: usize) -> Vec<ColumnSet> {
    let mut terms: Vec<Vec<&ColumnSet>> = vec![Vec::new(); count];
    for (input, cotangent) in inputs.iter().zip(reached) {
        let Some(sets) = input.sets() else { continue };
        for (position, set) in sets.iter().enumerate() {
            cotangent.columns(position).iter().for_each(|&output| terms[output as usize].push(set));
        }
    }
    terms.into_iter().map(ColumnSet::union_of).collect()
}
