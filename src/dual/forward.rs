//! Loops and conditionals in forward mode: the bodies compute tangents beside their values.

use super::active::Active;
use super::extract::extract;
use super::loops::scan_flat;
use super::memo::Memo;
use super::reach::spread;
use super::record::{Recorded, record};
use super::tangent::{Tangent, TangentArray};
use crate::algebra::Algebra;
use crate::shape::Type;
use crate::term::interpret::interpret;
use crate::term::{Body, Graph, NodeId, Scan};
use std::ops::Range;
use std::sync::Arc;

/// A body with tangents, recorded. The graph's parameters are the body's, and then a tangent for each of them.
struct ForwardRecording {
    graph: Graph,
    results: Vec<NodeId>,
    tangents: Vec<Option<NodeId>>,
}

impl ForwardRecording {
    /// Where `wanted` says so, missing tangents become zeros.
    fn new(active: &Active, wanted: &[bool], marked: bool) -> ForwardRecording {
        let body = &active.body;
        let types: Vec<Type> = (0..body.arity()).map(|at| body.parameter_type(at).clone()).collect();
        let (graph, (results, tangents)) = record(&[&types[..], &types].concat(), |nodes| {
            let (primals, tangents) = nodes.split_at(types.len());
            let arguments = primals.iter().zip(tangents).zip(&active.parameters);
            let arguments =
                arguments.map(|((&primal, &tangent), &a)| TangentArray { primal, tangent: a.then_some(tangent) });
            let results = match marked {
                true => interpret::<Tangent<Recorded, true>>(body, arguments.collect()),
                false => interpret::<Tangent<Recorded>>(body, arguments.collect()),
            };
            let or_zeros = |(result, &wanted): (&TangentArray<Recorded>, &bool)| {
                result.tangent.or_else(|| wanted.then(|| Recorded::zeros(&Recorded::type_of(&result.primal))))
            };
            let tangents = results.iter().zip(wanted).map(or_zeros).collect();
            (results.iter().map(|result| result.primal).collect(), tangents)
        });
        ForwardRecording { graph, results, tangents }
    }

    fn moving(&self) -> Vec<bool> {
        self.tangents.iter().map(Option::is_some).collect()
    }

    /// Results in a range, then those of their tangents that there are.
    fn results(&self, range: std::ops::Range<usize>) -> impl Iterator<Item = NodeId> {
        let tangents = self.tangents[range.clone()].iter().copied().flatten();
        self.results[range].iter().copied().chain(tangents)
    }
}

/// Operands in a range with their tangents, where the activity says that there are some.
fn with_tangents<T: Clone>(
    primals: &[T],
    tangents: impl Fn(usize) -> Option<T>,
    range: std::ops::Range<usize>,
) -> Vec<T> {
    primals[range.clone()].iter().cloned().chain(range.filter_map(tangents)).collect()
}

/// A loop's body with tangents: of those carries, inputs and captures that have some, after the values of each group.
struct TangentLoop {
    body: Arc<Body>,
    active: Active,
    /// Which results have a tangent.
    moving: Vec<bool>,
}

/// A body that computes tangents beside values. Its parameters are, for each of `parameters` and then for the captures, the
/// values and then the tangents of those that move. Its results are the same for each of `results`; `moving` says which have a
/// tangent.
pub(super) fn body_with_tangents(
    active: &Active,
    (moving, marked): (&[bool], bool),
    parameters: &[Range<usize>],
    captures: Range<usize>,
    results: &[Range<usize>],
) -> Arc<Body> {
    let mut recording = ForwardRecording::new(active, moving, marked);
    // Where reverse mode found that nothing moves, a tangent is zero, though one may be there.
    for (tangent, &moves) in recording.tangents.iter_mut().zip(moving) {
        debug_assert!(tangent.is_some() || !moves);
        *tangent = tangent.filter(|_| moves);
    }
    let arity = active.body.arity();
    let nodes: Vec<NodeId> = (0..arity as NodeId).collect();
    let tangent = |at: usize| active.parameters[at].then_some((arity + at) as NodeId);
    let of = |range: &Range<usize>| with_tangents(&nodes, tangent, range.clone());
    let own: Vec<NodeId> = parameters.iter().flat_map(of).collect();
    let captures = of(&captures);
    let results: Vec<NodeId> = results.iter().flat_map(|range| recording.results(range.clone())).collect();
    extract(&recording.graph, &[&own[..], &captures].concat(), captures.len(), &results)
}

/// A body with its numbers of carries and inputs, and whether tangents are marked.
type LoopKey = (Active, (usize, usize), bool);

static LOOPS: Memo<LoopKey, Arc<TangentLoop>> = Memo::new();

fn derive_loop((active, (carries, inputs), marked): &LoopKey) -> TangentLoop {
    let mut active = active.clone();
    let body = active.body.clone();
    match marked {
        true => spread::<Tangent<Recorded, true>>(&mut active, *carries),
        false => spread::<Tangent<Recorded>>(&mut active, *carries),
    };
    // A carry that has a tangent before a step has one after it.
    let mut wanted = active.parameters[..*carries].to_vec();
    wanted.resize(body.results.len(), false);
    let recording = ForwardRecording::new(&active, &wanted, *marked);
    let slices = carries + inputs;
    let arity = body.arity();
    let nodes: Vec<NodeId> = (0..arity as NodeId).collect();
    let tangent = |at: usize| active.parameters[at].then_some((arity + at) as NodeId);
    let mut parameters = with_tangents(&nodes, tangent, 0..*carries);
    parameters.extend(with_tangents(&nodes, tangent, *carries..slices));
    let captures = with_tangents(&nodes, tangent, slices..arity);
    parameters.extend(&captures);
    let results: Vec<NodeId> =
        recording.results(0..*carries).chain(recording.results(*carries..body.results.len())).collect();
    let derived = extract(&recording.graph, &parameters, captures.len(), &results);
    TangentLoop { body: derived, moving: recording.moving(), active }
}

/// A loop over arrays with tangents.
pub(crate) fn scan_tangent<A: Algebra>(
    scan: &Arc<Scan>,
    carries: Vec<TangentArray<A>>,
    inputs: Vec<TangentArray<A>>,
    captures: Vec<TangentArray<A>>,
    marked: bool,
) -> Vec<TangentArray<A>> {
    if scan.length == 0 {
        // The carries stay the same, which no derivative of a step shows.
        let outputs = scan.body.result_types().skip(scan.carries).map(|ty| {
            let mut stacked = ty.clone();
            stacked.shape.insert(0, 0);
            TangentArray { primal: A::zeros(&stacked), tangent: None }
        });
        return carries.into_iter().chain(outputs).collect();
    }
    let operands = carries.into_iter().chain(inputs).chain(captures);
    let (primals, tangents): (Vec<A::Array>, Vec<Option<A::Array>>) =
        operands.map(|operand| (operand.primal, operand.tangent)).unzip();
    let parameters: Vec<bool> = tangents.iter().map(Option::is_some).collect();
    if !parameters.contains(&true) {
        let outputs = scan_flat::<A>(scan, primals);
        return outputs.into_iter().map(|primal| TangentArray { primal, tangent: None }).collect();
    }
    let active = Active { body: scan.body.clone(), parameters };
    let derived = LOOPS.get((active, (scan.carries, scan.inputs), marked), |key| Arc::new(derive_loop(key)));

    let tangent = |at: usize| {
        let or_zeros = || A::zeros(&A::type_of(&primals[at]));
        derived.active.parameters[at].then(|| tangents[at].clone().unwrap_or_else(or_zeros))
    };
    let slices = scan.carries + scan.inputs;
    let carries = with_tangents(&primals, tangent, 0..scan.carries);
    let inputs = with_tangents(&primals, tangent, scan.carries..slices);
    let captures = with_tangents(&primals, tangent, slices..primals.len());
    let extended =
        Scan { body: derived.body.clone(), carries: carries.len(), inputs: inputs.len(), ..(**scan).clone() };
    drop((primals, tangents));
    let mut outputs = A::scan(&Arc::new(extended), carries, inputs, captures).into_iter();
    let (of_carries, of_outputs) = derived.moving.split_at(scan.carries);
    let mut results = pair(&mut outputs, of_carries);
    results.extend(pair(&mut outputs, of_outputs));
    results
}

/// Takes as many values as there are results, and a tangent for each that moves.
pub(super) fn pair<A: Algebra>(values: &mut impl Iterator<Item = A::Array>, moving: &[bool]) -> Vec<TangentArray<A>> {
    let primals: Vec<A::Array> = values.by_ref().take(moving.len()).collect();
    let with_tangent = |(primal, &moves): (A::Array, &bool)| TangentArray {
        primal,
        tangent: if moves { values.next() } else { None },
    };
    primals.into_iter().zip(moving).map(with_tangent).collect()
}

/// Both sides with tangents of the captures that have some; which results have some.
type ForwardSides = ([Arc<Body>; 2], Vec<bool>);

/// The sides, and whether tangents are marked.
type BranchKey = ((Active, Active), bool);

static BRANCHES: Memo<BranchKey, Arc<ForwardSides>> = Memo::new();

fn derive_branch(((then, otherwise), marked): &BranchKey) -> ForwardSides {
    let sides = [then, otherwise];
    let none = vec![false; then.body.results.len()];
    let [a, b] = sides.map(|side| ForwardRecording::new(side, &none, *marked).moving());
    let moving: Vec<bool> = a.iter().zip(&b).map(|(a, b)| a | b).collect();
    let arity = then.body.arity();
    let nodes: Vec<NodeId> = (0..arity as NodeId).collect();
    let tangent = |at: usize| then.parameters[at].then_some((arity + at) as NodeId);
    let parameters = with_tangents(&nodes, tangent, 0..arity);
    let bodies = sides.map(|side| {
        let recording = ForwardRecording::new(side, &moving, *marked);
        let results: Vec<NodeId> = recording.results(0..moving.len()).collect();
        extract(&recording.graph, &parameters, parameters.len(), &results)
    });
    (bodies, moving)
}

/// A conditional over arrays with tangents.
pub(crate) fn branch_tangent<A: Algebra>(
    condition: A::Array,
    then: &Arc<Body>,
    otherwise: &Arc<Body>,
    captures: Vec<TangentArray<A>>,
    marked: bool,
) -> Vec<TangentArray<A>> {
    let (mut primals, tangents): (Vec<A::Array>, Vec<Option<A::Array>>) =
        captures.into_iter().map(|capture| (capture.primal, capture.tangent)).unzip();
    let parameters: Vec<bool> = tangents.iter().map(Option::is_some).collect();
    if !parameters.contains(&true) {
        let outputs = A::branch(condition, then, otherwise, primals);
        return outputs.into_iter().map(|primal| TangentArray { primal, tangent: None }).collect();
    }
    let active = |body: &Arc<Body>| Active { body: body.clone(), parameters: parameters.clone() };
    let derived = BRANCHES.get(((active(then), active(otherwise)), marked), |key| Arc::new(derive_branch(key)));
    let ([then, otherwise], moving) = &*derived;
    primals.extend(tangents.into_iter().flatten());
    pair(&mut A::branch(condition, then, otherwise, primals).into_iter(), moving)
}
