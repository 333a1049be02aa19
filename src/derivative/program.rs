//! Derivatives of programs: from bulk body to bulk body, by symbolic dual arrays and transposition (P 7, P D.2).
//!
//! With `DELTARAY_TRACE=stage,vectorise,simplify,differentiate` in the environment (any of these, or `all`) every step is
//! printed to the standard error.

use crate::algebra::Algebra;
use crate::concrete;
use crate::dual::{self, Delta, Dual, DualArray, Tangent, TangentArray};
use crate::error::Result;
use crate::shape::{Type, Value};
use crate::simplify::simplify;
use crate::staged::{Staged, StagedArray, stage};
use crate::term::interpret::interpret;
use crate::term::{Body, Build, Extension};
use crate::vectorise::{can_be_split, push_reads, vectorise};
use std::sync::OnceLock;

/// Prints a step where the environment asks for it.
fn trace<X: Extension>(step: &str, body: &Body<X>) {
    static STEPS: OnceLock<Vec<String>> = OnceLock::new();
    let steps = STEPS.get_or_init(|| match std::env::var("DELTARAY_TRACE") {
        Ok(steps) => steps.split(',').map(|step| step.trim().to_string()).collect(),
        Err(_) => Vec::new(),
    });
    if steps.iter().any(|wanted| wanted == step || wanted == "all") {
        eprintln!("-- {step}\n{body}");
    }
}

/// A source program in bulk form, simplified (P 5).
pub fn bulk(source: &Body<Build>) -> Body {
    trace("stage", source);
    let body = vectorise(source);
    trace("vectorise", &body);
    tidy(&body)
}

/// How often reads are moved at most; a second time is needed only where a rule makes fewer reads of a node.
const ROUNDS: usize = 3;

/// A bulk program with simplification rules applied and reads moved to where they cost least.
pub fn tidy(body: &Body) -> Body {
    let mut current = simplify(body);
    // Simplification may find that what a loop carries has no use for an output.
    if can_be_split(&current) {
        current = simplify(&vectorise(&current.widen()));
    }
    for _ in 0..ROUNDS {
        let next = simplify(&push_reads(&current));
        if next == current {
            break;
        }
        current = next;
    }
    trace("simplify", &current);
    current
}

fn parameter_types(body: &Body) -> Vec<Type> {
    (0..body.arity()).map(|at| body.parameter_type(at).clone()).collect()
}

/// The program that computes a program's results and, from their cotangents, the cotangents of its first `active`
/// parameters. Its parameters are the program's, then a cotangent for each result, of its type; those of integer and
/// boolean results are ignored. Its results are the program's, then the cotangents of the active parameters, zeros for
/// integers and booleans. It is not simplified yet.
///
/// # Errors
///
/// None for well-formed programs; the type is that of staging.
pub fn vjp(body: &Body, active: usize) -> Result<Body> {
    let mut types = parameter_types(body);
    types.extend(body.result_types().cloned());
    transposed(body, &types, active, |variables, _| {
        let seeds = &variables[body.arity()..];
        seeds.iter().map(|seed| seed.ty().dtype.is_float().then(|| seed.clone())).collect()
    })
}

/// The program that computes a program's results, the first of which is a float of rank 0, and the gradient of that one
/// with respect to the first `active` parameters. It is not simplified yet.
///
/// # Errors
///
/// As [`vjp`].
pub fn value_and_gradient(body: &Body, active: usize) -> Result<Body> {
    transposed(body, &parameter_types(body), active, |_, values| {
        let loss = values[0].ty();
        let one = concrete::Array::full(&loss.shape, Value::from_f64(loss.dtype, 1.0));
        let mut cotangents = vec![None; values.len()];
        cotangents[0] = Some(Staged::constant(one));
        cotangents
    })
}

/// The dual form of a program (P 6, form (6) of P 7.1): the program that computes its results and whatever the Delta of the
/// first result refers to, and that Delta, printed, as a function of the tangents of the first `active` parameters,
/// which are called by these names. For looking at; [`value_and_gradient`] does not need it.
///
/// # Errors
///
/// As [`vjp`].
pub fn dual_form(body: &Body, names: &[&str]) -> Result<(Body, String)> {
    let mut text = String::new();
    let source = stage(&parameter_types(body), |variables| {
        let deltas: Vec<_> = names.iter().map(|_| Delta::<Staged>::input()).collect();
        let mut inputs: Vec<DualArray<Staged>> =
            variables.iter().map(|array| DualArray { primal: array.clone(), delta: None }).collect();
        for (input, delta) in inputs.iter_mut().zip(&deltas) {
            input.delta = Some(delta.clone());
        }
        let outputs = interpret::<Dual<Staged>>(body, inputs);
        let inputs: Vec<_> = deltas.iter().cloned().zip(names.iter().copied()).collect();
        let printed = outputs[0].delta.as_ref().map(|delta| dual::print_delta(delta, &inputs));
        let mut values: Vec<StagedArray> = outputs.into_iter().map(|output| output.primal).collect();
        match printed {
            None => text = "Zero\n".into(),
            Some(printed) => {
                values.extend(printed.arrays);
                text = printed.text;
            }
        }
        values
    })?;
    Ok((vectorise(&source), text))
}

/// Stages the values of a body and the pullback of the cotangents that `seed` gives for them.
fn transposed(
    body: &Body,
    types: &[Type],
    active: usize,
    seed: impl Fn(&[StagedArray], &[StagedArray]) -> Vec<Option<StagedArray>>,
) -> Result<Body> {
    let source = stage(types, |variables| {
        let passive = &variables[active..body.arity()];
        let on_duals = |mut inputs: Vec<DualArray<Staged>>| {
            inputs.extend(passive.iter().map(|array| DualArray { primal: array.clone(), delta: None }));
            interpret::<Dual<Staged>>(body, inputs)
        };
        let (mut values, pullback) = dual::vjp::<Staged>(&on_duals, variables[..active].to_vec());
        let cotangents = seed(&variables, &values);
        values.extend(pullback(cotangents));
        values
    })?;
    let body = vectorise(&source);
    trace("differentiate", &body);
    Ok(body)
}

/// The program that computes a program's results and their tangents along tangents of its first `active` parameters. Its
/// parameters are the program's, then the tangents; those of integers are ignored. Its results are the program's, then a
/// tangent for each, zeros for integers. It is not simplified yet.
///
/// # Errors
///
/// As [`vjp`].
pub fn jvp(body: &Body, active: usize) -> Result<Body> {
    let mut types = parameter_types(body);
    let arity = types.len();
    types.extend_from_within(..active);
    let source = stage(&types, |variables| {
        let passive = &variables[active..arity];
        let on_tangents = |mut inputs: Vec<TangentArray<Staged>>| {
            inputs.extend(passive.iter().map(|array| TangentArray { primal: array.clone(), tangent: None }));
            interpret::<Tangent<Staged>>(body, inputs)
        };
        let seeds = &variables[arity..];
        let seeds = seeds.iter().map(|seed| seed.ty().dtype.is_float().then(|| seed.clone())).collect();
        let (mut values, tangents) = dual::jvp::<Staged>(&on_tangents, variables[..active].to_vec(), seeds);
        let zeros: Vec<StagedArray> = values.iter().map(zero_like).collect();
        values.extend(tangents.into_iter().zip(zeros).map(|(tangent, zero)| tangent.unwrap_or(zero)));
        values
    })?;
    let body = vectorise(&source);
    trace("differentiate", &body);
    Ok(body)
}

fn zero_like(array: &StagedArray) -> StagedArray {
    let ty = array.ty();
    Staged::constant(concrete::Array::full(&ty.shape, Value::from_i64(ty.dtype, 0)))
}
