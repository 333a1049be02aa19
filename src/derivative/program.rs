//! Derivatives of programs: from bulk body to bulk body, by symbolic dual arrays and transposition (P 7, P D.2). This module is
//! for extending the library, and may change between minor versions.
//!
//! With `DELTARAY_TRACE=stage,vectorise,simplify,differentiate` in the environment (any of these, or `all`) every step is
//! printed to the standard error.

use crate::algebra::Algebra;
use crate::array;
use crate::dual::{self, Delta, Dual, DualArray, Tangent, TangentArray, generic};
use crate::error::{Error, Result};
use crate::shape::{Type, Value};
use crate::simplify::{simplify, simplify_added};
use crate::staged::{Staged, StagedArray, stage};
use crate::term::interpret::interpret;
use crate::term::{Body, Build, Extension, Graph, NodeId, Op};
use crate::vectorise::{can_be_split, in_order, is_still, push_and_simplify, vectorise};
use std::collections::{HashMap, HashSet};
use std::panic::Location;
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

/// A source program in bulk form, simplified (P 5): arrays that were built element by element are computed by operations on
/// whole arrays. Parameters and results are the source's.
///
/// ```
/// use deltaray::derivative::program;
/// use deltaray::prelude::*;
///
/// let f = stage(|x: &Vector<_, f64>| build(3, |i| x.at(&i) * 2.0), &zeros(3))?;
/// assert!(f.source().to_string().contains("build"));
/// assert_eq!(program::bulk(f.source()), *f.differentiable());
/// # Ok::<(), deltaray::Error>(())
/// ```
///
/// # Panics
///
/// When a parameter or constant is [too large](crate::shape::Type::check_size), as only a [`Graph`] makes them.
#[track_caller]
pub fn bulk(source: &Body<Build>) -> Body {
    countable("bulk", source);
    trace("stage", source);
    let body = vectorise(source);
    trace("vectorise", &body);
    tidy(&body)
}

/// Passes compute with sizes, strides and positions.
#[track_caller]
fn countable<X: Extension>(operation: &str, body: &Body<X>) {
    if let Err(problem) = body.validate_given() {
        panic!("{operation}: {problem}");
    }
}

/// How often reads are moved at most; a second time is needed only where a rule makes fewer reads of a node.
const ROUNDS: usize = 3;

/// A bulk program with simplification rules applied and reads moved to where they cost least. Parameters and results stay the
/// same.
///
/// ```
/// use deltaray::derivative::program;
/// use deltaray::prelude::*;
///
/// let f = stage(|x: &Vector<_, f64>| x.reverse(0).sum(), &zeros(3))?;
/// let raw = program::value_and_gradient(f.differentiable(), 1)?;
/// let tidied = program::tidy(&raw);
/// assert!(tidied.node_count() < raw.node_count());
/// assert_eq!((tidied.parameters(), tidied.results().len()), (1, 2));
/// # Ok::<(), deltaray::Error>(())
/// ```
///
/// # Panics
///
/// As [`bulk`].
#[track_caller]
pub fn tidy(body: &Body) -> Body {
    countable("tidy", body);
    let mut current = simplify(body);
    // Simplification may find that a loop's carry does not need an output.
    if can_be_split(&current) {
        current = simplify(&vectorise(&current.widen()));
    }
    for _ in 0..ROUNDS {
        if is_still(&current) {
            current = simplify_added(in_order(current), true);
            break;
        }
        let (pushed, is_settled) = push_and_simplify(&current);
        let next = simplify_added(pushed, is_settled);
        let done = is_same(&next, &current);
        current = next;
        if done {
            break;
        }
    }
    trace("simplify", &current);
    current
}

/// Whether two programs are the same up to the order of their nodes.
fn is_same(a: &Body, b: &Body) -> bool {
    if a.nodes.len() != b.nodes.len() || a.arity() != b.arity() || a.results.len() != b.results.len() {
        return false;
    }
    let mut places: Vec<Option<NodeId>> = vec![None; a.nodes.len()];
    let mut open: Vec<(NodeId, NodeId)> = a.results.iter().copied().zip(b.results.iter().copied()).collect();
    while let Some((x, y)) = open.pop() {
        match places[x as usize] {
            Some(place) if place == y => {}
            Some(_) => return false,
            None => {
                places[x as usize] = Some(y);
                let (left, right) = (a.node(x), b.node(y));
                if left.op != right.op || left.args.len() != right.args.len() {
                    return false;
                }
                open.extend(left.args.iter().copied().zip(right.args.iter().copied()));
            }
        }
    }
    true
}

fn parameter_types(body: &Body) -> Vec<Type> {
    (0..body.arity()).map(|at| body.parameter_type(at).clone()).collect()
}

/// Rejects a program with fewer parameters than are to be differentiated, with parameters whose size overflows, or with too
/// many nodes in its bodies: derivatives would have even more.
fn check(operation: &str, body: &Body, active: usize, place: &Location<'_>) -> Result<()> {
    let checked = match active <= body.arity() {
        true => body.validate_given(),
        false => Err(format!("{active} active parameters, but the program has {}", body.arity())),
    };
    checked.map_err(|problem| Error::operands(operation, problem, place))
}

/// The program that computes a program's results and, from their cotangents, the cotangents of its first `active` parameters.
/// Its parameters are the program's, then a cotangent for each result, of its type; those of integer and boolean results are
/// ignored. Its results are the program's, then the cotangents of the active parameters, zeros for integers and booleans. It is
/// not simplified yet.
///
/// ```
/// use deltaray::derivative::program;
/// use deltaray::prelude::*;
///
/// let f = stage(|(x, y)| x * y, (&zeros(3), &scalar(0.0)))?;
/// let reverse = program::vjp(f.differentiable(), 1)?;
/// assert_eq!((reverse.parameters(), reverse.results().len()), (3, 2));
/// assert_eq!(reverse.parameter_type(2).to_string(), "f64[3]");
/// # Ok::<(), deltaray::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::Operands`] when the program has fewer than `active` parameters, parameters or constants that are [too
/// large](crate::shape::Type::check_size), or more nodes in nested bodies than
/// [`MAX_NESTED_NODES`](crate::term::MAX_NESTED_NODES).
#[track_caller]
pub fn vjp(body: &Body, active: usize) -> Result<Body> {
    check("vjp", body, active, Location::caller())?;
    let mut types = parameter_types(body);
    types.extend(body.result_types().cloned());
    transposed(body, &types, active, |variables, _| {
        let seeds = &variables[body.arity()..];
        seeds.iter().map(|seed| seed.ty().dtype.is_float().then(|| seed.clone())).collect()
    })
}

/// The program that computes a program's results, the first of which is a float of rank 0, and the gradient of that one with
/// respect to the first `active` parameters: an array like each of them. It is not simplified yet.
///
/// ```
/// use deltaray::derivative::program;
/// use deltaray::prelude::*;
///
/// let f = stage(|(x, y)| (x * y).sum(), (&ones::<_, f64, _>(3), &ones(3)))?;
/// let gradient = program::value_and_gradient(f.differentiable(), 1)?;
/// assert_eq!(gradient.result_types().map(|ty| ty.to_string()).collect::<Vec<_>>(), ["f64", "f64[3]"]);
/// # Ok::<(), deltaray::Error>(())
/// ```
///
/// # Errors
///
/// As [`vjp`], and when the first result is no float of rank 0.
#[track_caller]
pub fn value_and_gradient(body: &Body, active: usize) -> Result<Body> {
    let place = Location::caller();
    check("value_and_gradient", body, active, place)?;
    let found = match body.result_types().next() {
        Some(ty) if ty.dtype.is_float() && ty.rank() == 0 => None,
        Some(ty) => Some(ty.to_string()),
        None => Some("none".into()),
    };
    if let Some(found) = found {
        let problem = format!("the first result is to be a float of rank 0, but is {found}");
        return Err(Error::operands("value_and_gradient", problem, place));
    }
    transposed(body, &parameter_types(body), active, |_, values| {
        let loss = values[0].ty();
        let one = array::Array::full(&loss.shape, Value::from_f64(loss.dtype, 1.0));
        let mut cotangents = vec![None; values.len()];
        cotangents[0] = Some(Staged::constant(one));
        cotangents
    })
}

/// The dual form of a program (P 6, form (6) of P 7.1): the program that computes its results and whatever the Delta of the
/// first result refers to, and that Delta, printed, as a function of the tangents of the first `active` parameters, which are
/// called by these names. For looking at; [`value_and_gradient`] does not need it.
///
/// ```
/// use deltaray::derivative::program;
/// use deltaray::prelude::*;
///
/// let f = stage(|x: &Vector<_, f64>| x.powi(2).sum(), &zeros(3))?;
/// let (primal, delta) = program::dual_form(f.differentiable(), &["dx"])?;
/// assert_eq!(primal.parameters(), 1);
/// assert_eq!(delta, "d0 = Share (Scale a0 (Input dx))\nd1 = Share (Sum [0] d0)\n");
/// # Ok::<(), deltaray::Error>(())
/// ```
///
/// # Errors
///
/// As [`vjp`], with a parameter for each name, and when the program has no result.
#[track_caller]
pub fn dual_form(body: &Body, names: &[&str]) -> Result<(Body, String)> {
    let place = Location::caller();
    check("dual_form", body, names.len(), place)?;
    if body.results.is_empty() {
        return Err(Error::operands("dual_form", "the program has no result", place));
    }
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
/// parameters are the program's, then the tangents, of their types; those of integers are ignored. Its results are the
/// program's, then a tangent for each, zeros for integers. It is not simplified yet.
///
/// ```
/// use deltaray::derivative::program;
/// use deltaray::prelude::*;
///
/// let f = stage(|(x, y)| x * y, (&zeros(3), &scalar(0.0)))?;
/// let forward = program::jvp(f.differentiable(), 1)?;
/// assert_eq!((forward.parameters(), forward.results().len()), (3, 2));
/// # Ok::<(), deltaray::Error>(())
/// ```
///
/// # Errors
///
/// As [`vjp`].
#[track_caller]
pub fn jvp(body: &Body, active: usize) -> Result<Body> {
    check("jvp", body, active, Location::caller())?;
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

/// A program split in two: the first computes the results before `values`, and the residuals, which are the values that the
/// others need and that depend only on the first `known` parameters; the second computes the other results from the other
/// parameters, then the residuals. The results before `values` need no others than the known parameters.
fn split(body: &Body, known: usize, values: usize) -> (Body, Body) {
    let mut depends: Vec<bool> = Vec::with_capacity(body.nodes.len());
    for node in &body.nodes {
        depends.push(match node.op {
            Op::Parameter(position) => position >= known,
            _ => node.args.iter().any(|&arg| depends[arg as usize]),
        });
    }
    let (first, second) = body.results.split_at(values);
    // Nodes that depend on none of the other parameters but are used by nodes that do. Constants are cheaper to duplicate.
    let constant = |id: NodeId| matches!(body.node(id).op, Op::Constant(_) | Op::Iota(_));
    let mut residuals: Vec<NodeId> = Vec::new();
    let mut found: HashSet<NodeId> = HashSet::new();
    let dependent = body.nodes.iter().zip(&depends).filter(|(_, depends)| **depends);
    for &id in dependent.flat_map(|(node, _)| &node.args).chain(second) {
        if !depends[id as usize] && !constant(id) && found.insert(id) {
            residuals.push(id);
        }
    }
    let types = parameter_types(body);
    let results = [first, &residuals[..]].concat();
    let computing = part(body, &types[..known], (0..known as NodeId).collect(), &results, |id| !depends[id as usize]);
    let residual_types = residuals.iter().map(|&id| body.node(id).ty().clone());
    let types: Vec<Type> = types[known..].iter().cloned().chain(residual_types).collect();
    let inputs = (known as NodeId..body.arity() as NodeId).chain(residuals).collect();
    (computing, part(body, &types, inputs, second, |id| depends[id as usize] || constant(id)))
}

/// The nodes of a program that are wanted, as a program of its own: its parameters, of these types, are some of the nodes.
fn part(body: &Body, types: &[Type], inputs: Vec<NodeId>, results: &[NodeId], wanted: impl Fn(NodeId) -> bool) -> Body {
    let mut graph = Graph::new(types, 0);
    let mut places: HashMap<NodeId, NodeId> = inputs.into_iter().zip(0..).collect();
    for id in (body.arity() as NodeId..).take(body.nodes.len() - body.arity()) {
        if wanted(id) && !places.contains_key(&id) {
            let args: Vec<NodeId> = body.node(id).args.iter().map(|arg| places[arg]).collect();
            places.insert(id, graph.add(body.node(id).op.clone(), &args));
        }
    }
    let results: Vec<NodeId> = results.iter().map(|id| places[id]).collect();
    graph.finish(&results)
}

/// A program linearised with respect to its first `active` parameters: one program computes its results, and then the
/// residuals, the values at the point that its derivative needs; another computes the tangents of the results from the tangents
/// of the active parameters, then the residuals. Tangents of integers are ignored, and zeros in the results. Both are
/// simplified, and are not to be differentiated: marks of chosen branches are left out.
///
/// The second is the transpose of the program's pullback, which is linear in its cotangents, and transposed at numbers without
/// a pattern.
///
/// ```
/// use deltaray::derivative::program;
/// use deltaray::prelude::*;
///
/// let f = stage(|x: &Vector<_, f64>| x.sin(), &zeros(3))?;
/// let (computing, derivative) = program::linearize(f.differentiable(), 1)?;
/// // The sine, and the cosine as the one residual.
/// assert_eq!((computing.parameters(), computing.results().len()), (1, 2));
/// assert_eq!((derivative.parameters(), derivative.results().len()), (2, 1));
/// # Ok::<(), deltaray::Error>(())
/// ```
///
/// # Errors
///
/// As [`vjp`].
#[track_caller]
pub fn linearize(body: &Body, active: usize) -> Result<(Body, Body)> {
    check("linearize", body, active, Location::caller())?;
    let reverse = tidy(&vjp(body, active)?);
    let (arity, values) = (body.arity(), body.results.len());
    let mut types = parameter_types(body);
    types.extend_from_within(..active);
    let source = stage(&types, |variables| {
        let (point, tangents) = variables.split_at(arity);
        let pullback = |cotangents: Vec<DualArray<Staged>>| {
            let passive = point.iter().map(|array| DualArray { primal: array.clone(), delta: None });
            let mut results = interpret::<Dual<Staged>>(&reverse, passive.chain(cotangents).collect());
            results.rotate_left(values);
            results
        };
        let cotangents = body.result_types().map(generic::<Staged>).collect();
        let (mut results, transposed) = dual::vjp::<Staged>(&pullback, cotangents);
        let floats = tangents.iter().map(|tangent| tangent.ty().dtype.is_float().then(|| tangent.clone()));
        let pushed = transposed(floats.chain((0..values).map(|_| None)).collect());
        results.drain(..active);
        results.extend(pushed);
        results
    })?;
    let whole = tidy(&vectorise(&source).without_marks());
    // The parts are not simplified again: of a parameter it is not known that it may be infinite.
    Ok(split(&whole, arity, values))
}

fn zero_like(array: &StagedArray) -> StagedArray {
    Staged::zeros(array.ty())
}
