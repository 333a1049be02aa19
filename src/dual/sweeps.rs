//! Loops whose tape is the engine's, in reverse and in forward mode.
//!
//! The reverse derivative of a loop of k sweeps is a loop of those and k further ones. Each further sweep goes over the steps
//! the other way, with the cotangents of the carries of the sweep at its mirror image. It reads the values that this sweep kept
//! for it of each step (those that the transpose of a step needs), and keeps, for the earlier sweeps, the cotangents of the
//! values read from theirs. So the derivative is such a loop again, and the rule closes under itself, however many steps there
//! turn out to be. The cotangents of captures are summed over the steps. A sweep may also carry arrays that its mirror image
//! changes by writes, from the last to the first, and take the writes back (see [`undo`](super::undo)).
//!
//! In forward mode every sweep computes tangents beside its values.

use super::active::Active;
use super::cotangent::Cotangent;
use super::delta::Rolled;
use super::extract::{BindingTime, Held, extract_renamed, levels, needs_beside, zeros};
use super::forward;
use super::loops::Recording;
use super::memo::{Memo, MemoKey};
use super::reach::spread;
use super::record::Recorded;
use super::undo::{Restored, Undoing, is_written};
use super::{Delta, Dual, DualArray, TangentArray};
use crate::algebra::Algebra;
use crate::operation::Binary;
use crate::shape::Type;
use crate::term::{Body, Graph, NodeId, Op, Steps, Sweep, Sweeps};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

impl MemoKey for Arc<Sweeps> {
    fn bodies(&self) -> impl Iterator<Item = &Body> {
        Sweeps::bodies(self).map(|body| &**body)
    }
}

/// Which parameters of a sweep's body move with the inputs, and which of its results.
pub(super) struct Activity {
    pub(super) active: Active,
    pub(super) moving: Vec<bool>,
}

static ACTIVITY: Memo<(Arc<Sweeps>, Vec<bool>), Arc<Vec<Activity>>> = Memo::new();

/// A fixed point over the steps, sweep by sweep, given which operands move. A carry that moves before or after a step moves in
/// both places: there may be no step at all.
///
/// The result is remembered: it records every body, which asks for the activity of the loops in it, and so do the derivatives.
pub(super) fn activity(sweeps: &Arc<Sweeps>, operands: &[bool]) -> Arc<Vec<Activity>> {
    ACTIVITY.get((sweeps.clone(), operands.to_vec()), |(sweeps, operands)| Arc::new(find_activity(sweeps, operands)))
}

fn find_activity(sweeps: &Sweeps, operands: &[bool]) -> Vec<Activity> {
    let mut found: Vec<Activity> = Vec::with_capacity(sweeps.sweeps.len());
    for (at, sweep) in sweeps.sweeps.iter().enumerate() {
        let (carries, inputs) = sweeps.operands(at);
        let mut parameters = operands[carries.start..inputs.end].to_vec();
        let kept = |&(from, kept): &(usize, usize)| found[from].moving[sweeps.sweeps[from].carries + kept];
        parameters.extend(sweep.reads.iter().map(kept));
        parameters.extend_from_slice(&operands[sweeps.captures()..]);
        let mut active = Active { body: sweep.body.clone(), parameters };
        let mut moving = spread::<Dual<Recorded>>(&mut active, sweep.carries);
        moving[..sweep.carries].copy_from_slice(&active.parameters[..sweep.carries]);
        found.push(Activity { active, moving });
    }
    found
}

/// A loop, which of its operands move, and which outputs have a cotangent.
#[derive(Clone, PartialEq, Eq, Hash)]
struct SweepsRequest {
    sweeps: Arc<Sweeps>,
    operands: Vec<bool>,
    present: Vec<bool>,
    marked: bool,
}

impl MemoKey for SweepsRequest {
    fn bodies(&self) -> impl Iterator<Item = &Body> {
        Sweeps::bodies(&self.sweeps).map(|body| &**body)
    }
}

/// A sweep with cotangents, and its operands and outputs, as positions among those of the sweep that it transposes.
struct Adjoint {
    sweep: Sweep,
    /// Carries whose cotangents are carried.
    carried: Vec<usize>,
    /// Captures whose cotangents are summed; they are carried too.
    captures: Vec<usize>,
    /// Carries that are restored; they are carried too, after those sums.
    restored: Vec<usize>,
    /// Outputs whose cotangents are read step by step.
    read: Vec<usize>,
    /// Inputs that are read again, step by step.
    inputs: Vec<usize>,
    /// Inputs whose cotangents are written.
    written: Vec<usize>,
}

/// The loop with the sweeps of its transpose.
struct Transposed {
    sweeps: Arc<Sweeps>,
    /// From the last of the original sweeps that matter to the first.
    adjoints: Vec<Adjoint>,
}

/// Where the parameters of a sweep's body are: carries, inputs, reads, captures.
fn roles(sweep: &Sweep) -> [Range<usize>; 4] {
    let inputs = sweep.carries + sweep.inputs;
    let (parameters, arity) = (sweep.body.parameters, sweep.body.arity());
    [0..sweep.carries, sweep.carries..inputs, inputs..parameters, parameters..arity]
}

impl Transposed {
    fn new(request: &SweepsRequest) -> Transposed {
        let SweepsRequest { sweeps, operands, present, marked } = request;
        let found = activity(sweeps, operands);
        // For each sweep, which last carries and which outputs have a cotangent.
        let given: Vec<Vec<bool>> = (0..found.len())
            .map(|at| {
                let (carries, outputs) = sweeps.results(at);
                let (moving, keeps) = (&found[at].moving, sweeps.sweeps[at].keeps);
                let own = present[carries.clone()].iter().copied();
                let own = own.chain(std::iter::repeat_n(false, keeps)).chain(present[outputs].iter().copied());
                own.zip(moving).map(|(present, &moving)| present && moving).collect()
            })
            .collect();
        let count = given.iter().rposition(|given| given.contains(&true)).map_or(0, |last| last + 1);
        // The values that sweeps keep once more for another reader, and the places of the cotangents of kept values.
        let mut copies: Vec<Vec<usize>> = vec![Vec::new(); count];
        let mut cotangents: Vec<Vec<Option<(usize, usize)>>> =
            sweeps.sweeps.iter().map(|sweep| vec![None; sweep.keeps]).collect();
        let mut forward: Vec<Sweep> = Vec::new();
        let mut adjoints: Vec<Adjoint> = Vec::new();
        for at in (0..count).rev() {
            let (sweep, Activity { active, .. }) = (&sweeps.sweeps[at], &found[at]);
            let [carries, inputs, reads, captures] = roles(sweep);
            let arity = sweep.body.arity();
            let mut present = given[at].clone();
            for (kept, cotangent) in cotangents[at].iter().enumerate() {
                present[sweep.carries + kept] = cotangent.is_some();
            }
            let recording = Recording::of_step(active, &mut present, *marked, sweep.carries);
            let Recording { mut graph, results, adjoints: parts, proper, again: restorations, .. } = recording;
            let reached = |range: &Range<usize>| -> Vec<usize> {
                range.clone().filter(|&at| parts[at].is_some()).map(|at| at - range.start).collect()
            };
            let carried: Vec<usize> = carries.clone().filter(|&at| present[at]).collect();
            let (written, summed, passed) = (reached(&inputs), reached(&captures), reached(&reads));
            let part = |range: &Range<usize>, at: usize| parts[range.start + at].expect("it was reached");

            let mut outcome: Vec<NodeId> = Vec::new();
            for &at in &carried {
                outcome.push(parts[at].unwrap_or_else(|| zeros(&mut graph, sweep.body.parameter_type(at))));
            }
            // Sums so far are parameters: new nodes of their types.
            let mut sums: Vec<NodeId> = Vec::new();
            for &at in &summed {
                let addend = part(&captures, at);
                sums.push(graph.add(Op::Alias, &[addend]));
                outcome.push(graph.add(Op::Binary(Binary::Add), &[sums[sums.len() - 1], addend]));
            }
            let own_number = 2 * count - 1 - at;
            for (position, &read) in passed.iter().enumerate() {
                let (from, kept) = sweep.reads[read];
                cotangents[from][kept] = Some((own_number, position));
                outcome.push(part(&reads, read));
            }
            outcome.extend(written.iter().map(|&at| part(&inputs, at)));

            let level = |at: usize| match at {
                _ if at < sweep.body.parameters => BindingTime::Step,
                // Captures of the sweep are captures of its transpose.
                _ if at < arity => BindingTime::Known,
                _ => BindingTime::Backward,
            };
            let levels_given: Vec<BindingTime> = (0..arity + results.len()).map(level).collect();
            let needs = |graph: &Graph, roots: &[NodeId], held: &Held| {
                needs_beside(graph, &levels(graph, &levels_given), roots, proper, held)
            };
            let held = Held { inputs: inputs.clone().collect(), ..Held::default() };
            let kept_whole = needs(&graph, &outcome, &held).step;
            let last = &results[..sweep.carries];
            let undoing = Undoing::choose(&mut graph, last, &kept_whole, |parameter, result| parameter == result);
            let Restored { needed, arrays, nodes, overwritten, renamed, .. } =
                Restored::new(&undoing, &mut graph, (&held, &needs), &outcome, &restorations);
            let sums_end = carried.len() + summed.len();
            outcome.splice(sums_end..sums_end, nodes);
            let restored: Vec<usize> = arrays.iter().map(|&at| undoing.arrays[at].result).collect();
            let (mut again, mut copied, mut stored) = (Vec::new(), Vec::new(), Vec::new());
            for id in needed {
                let place = id as usize;
                if inputs.contains(&place) {
                    again.push(place - inputs.start);
                } else if reads.contains(&place) {
                    let (from, kept) = sweep.reads[place - reads.start];
                    copies[from].push(kept);
                    copied.push((id, (from, sweeps.sweeps[from].keeps + copies[from].len() - 1)));
                } else {
                    stored.push(id);
                }
            }
            stored.extend(overwritten);

            let kept: Vec<NodeId> = results[sweep.carries..sweep.carries + sweep.keeps].to_vec();
            let mut forward_results = results[..sweep.carries + sweep.keeps].to_vec();
            forward_results.extend(copies[at].iter().map(|&copy| kept[copy]));
            let first_stored = forward_results.len() - sweep.carries;
            forward_results.extend(&stored);
            let parameters: Vec<NodeId> = (0..arity as NodeId).collect();
            forward.push(Sweep {
                body: extract_renamed(&graph, &parameters, sweep.body.captures, &forward_results, &undoing.renamed),
                keeps: forward_results.len() - sweep.carries,
                ..sweep.clone()
            });

            let cotangent = |result: usize| (arity + result) as NodeId;
            let first_output = sweep.carries + sweep.keeps;
            let read: Vec<usize> =
                (first_output..results.len()).filter(|&at| present[at]).map(|at| at - first_output).collect();
            let mut parameters: Vec<NodeId> = carried.iter().map(|&at| cotangent(at)).collect();
            parameters.extend(&sums);
            parameters.extend(arrays.iter().map(|&at| undoing.arrays[at].last()));
            parameters.extend(read.iter().map(|&at| cotangent(first_output + at)));
            parameters.extend(again.iter().map(|&at| (inputs.start + at) as NodeId));
            let mut backward_reads = Vec::new();
            for (kept, place) in cotangents[at].iter().enumerate() {
                if let Some(place) = place {
                    backward_reads.push(*place);
                    parameters.push(cotangent(sweep.carries + kept));
                }
            }
            for (position, &id) in stored.iter().enumerate() {
                backward_reads.push((at, first_stored + position));
                parameters.push(id);
            }
            for (id, place) in copied {
                backward_reads.push(place);
                parameters.push(id);
            }
            parameters.extend(captures.clone().map(|at| at as NodeId));
            let backward = Sweep {
                body: extract_renamed(&graph, &parameters, sweep.body.captures, &outcome, &renamed),
                carries: sums_end + restored.len(),
                inputs: read.len() + again.len(),
                reads: backward_reads,
                keeps: passed.len(),
            };
            adjoints.push(Adjoint {
                sweep: backward,
                carried,
                captures: summed,
                restored,
                read,
                inputs: again,
                written,
            });
        }
        forward.reverse();
        let all = forward.into_iter().chain(adjoints.iter().map(|adjoint| adjoint.sweep.clone())).collect();
        let (steps, reverse, checkpoints) = (sweeps.steps.clone(), sweeps.reverse, sweeps.checkpoints);
        Transposed { sweeps: Arc::new(Sweeps { steps, sweeps: all, reverse, checkpoints }), adjoints }
    }
}

static TRANSPOSED: Memo<SweepsRequest, Arc<Transposed>> = Memo::new();

/// A loop as a linear map: how it was run.
pub(crate) struct RolledSweeps<A: Algebra> {
    sweeps: Arc<Sweeps>,
    operands: Vec<A::Array>,
    active: Vec<bool>,
    /// Which outputs move.
    moving: Vec<bool>,
    /// The last carries that steps change by writes, by their positions among the outputs.
    changed: HashMap<usize, A::Array>,
}

/// A loop over dual arrays.
pub(crate) fn sweeps_dual<A: Algebra>(sweeps: &Arc<Sweeps>, operands: Vec<DualArray<A>>) -> Vec<DualArray<A>> {
    let (primals, deltas): (Vec<A::Array>, Vec<Option<Delta<A>>>) =
        operands.into_iter().map(|array| (array.primal, array.delta)).unzip();
    let active: Vec<bool> = deltas.iter().map(Option::is_some).collect();
    if !active.contains(&true) {
        let outputs = A::sweeps(sweeps, primals);
        return outputs.into_iter().map(|primal| DualArray { primal, delta: None }).collect();
    }
    let moving: Vec<bool> = activity(sweeps, &active)
        .iter()
        .zip(&sweeps.sweeps)
        .flat_map(|(Activity { moving, .. }, sweep)| {
            moving[..sweep.carries].iter().chain(&moving[sweep.carries + sweep.keeps..]).copied()
        })
        .collect();
    let outputs = A::sweeps(sweeps, primals.clone());
    let changed = changed(sweeps).map(|output| (output, outputs[output].clone())).collect();
    let rolled = RolledSweeps { sweeps: sweeps.clone(), operands: primals, active, moving: moving.clone(), changed };
    let delta = Delta::rolled(rolled, deltas);
    let pick = |((position, primal), moves): ((usize, A::Array), bool)| DualArray {
        primal,
        delta: moves.then(|| delta.output(position)),
    };
    outputs.into_iter().enumerate().zip(moving).map(pick).collect()
}

/// The positions among the outputs of carries that steps change by writes.
fn changed(sweeps: &Sweeps) -> impl Iterator<Item = usize> {
    sweeps.sweeps.iter().enumerate().flat_map(move |(at, sweep)| {
        let carries = (0..sweep.carries).filter(|&carry| is_written(&sweep.body, carry));
        carries.map(move |carry| sweeps.results(at).0.start + carry)
    })
}

impl<A: Algebra> Rolled<A> for RolledSweeps<A> {
    fn name(&self) -> &'static str {
        "Sweeps"
    }

    fn transpose(&self, mut cotangents: Vec<Option<Cotangent<A>>>) -> Vec<Option<Cotangent<A>>> {
        let sweeps = &self.sweeps;
        cotangents.resize_with(sweeps.sweeps.iter().map(|sweep| sweep.carries + sweep.outputs()).sum(), || None);
        let present: Vec<bool> = cotangents.iter().map(Option::is_some).collect();
        // A last carry without a cotangent starts from zeros, which must not harm: those are marked.
        let mut carries = (0..sweeps.sweeps.len()).flat_map(|at| sweeps.results(at).0);
        let missing = carries.any(|carry| self.moving[carry] && !present[carry]);
        let marked = missing || cotangents.iter().flatten().any(|cotangent| cotangent.marked);
        let request = SweepsRequest { sweeps: sweeps.clone(), operands: self.active.clone(), present, marked };
        let transposed = TRANSPOSED.get(request, |request| Arc::new(Transposed::new(request)));

        let count = transposed.adjoints.len();
        let mut operands: Vec<A::Array> = Vec::new();
        for at in 0..count {
            let (carries, inputs) = sweeps.operands(at);
            operands.extend_from_slice(&self.operands[carries.start..inputs.end]);
        }
        let captures = &self.operands[sweeps.captures()..];
        for (adjoint, at) in transposed.adjoints.iter().zip((0..count).rev()) {
            let ((own_carries, own_inputs), (last, outputs)) = (sweeps.operands(at), sweeps.results(at));
            for &carry in &adjoint.carried {
                let given = cotangents[last.start + carry].take().map(|cotangent| cotangent.array);
                let like = &self.operands[own_carries.start + carry];
                operands.push(given.unwrap_or_else(|| A::zeros(&A::type_of(like))));
            }
            operands.extend(adjoint.captures.iter().map(|&at| A::zeros(&A::type_of(&captures[at]))));
            operands.extend(adjoint.restored.iter().map(|&carry| self.changed[&(last.start + carry)].clone()));
            for &output in &adjoint.read {
                operands.extend(cotangents[outputs.start + output].take().map(|cotangent| cotangent.array));
            }
            operands.extend(adjoint.inputs.iter().map(|&at| self.operands[own_inputs.start + at].clone()));
        }
        operands.extend_from_slice(captures);
        let results = A::sweeps(&transposed.sweeps, operands);

        let mut parts: Vec<Option<Cotangent<A>>> = Vec::new();
        parts.resize_with(self.operands.len(), || None);
        let mut sums: Vec<Option<A::Array>> = vec![None; captures.len()];
        for (position, (adjoint, at)) in transposed.adjoints.iter().zip((0..count).rev()).enumerate() {
            let (own_carries, own_inputs) = sweeps.operands(at);
            let (carries, outputs) = transposed.sweeps.results(count + position);
            let (carried, summed) = results[carries].split_at(adjoint.carried.len());
            let mut put = |at: usize, array: &A::Array| {
                parts[at] = Some(Cotangent { array: array.clone(), marked });
            };
            adjoint.carried.iter().zip(carried).for_each(|(&at, array)| put(own_carries.start + at, array));
            let written = adjoint.written.iter().zip(&results[outputs]);
            written.for_each(|(&at, array)| put(own_inputs.start + at, array));
            for (&at, array) in adjoint.captures.iter().zip(summed) {
                sums[at] = Some(match sums[at].take() {
                    Some(sum) => A::binary(Binary::Add, sum, array.clone()),
                    None => array.clone(),
                });
            }
        }
        for (at, sum) in sums.into_iter().enumerate() {
            parts[sweeps.captures() + at] = sum.map(|array| Cotangent { array, marked });
        }
        parts
    }
}

/// The loop with tangents, and which outputs have one.
type WithTangents = (Arc<Sweeps>, Arc<Vec<Activity>>);

static FORWARD: Memo<((Arc<Sweeps>, Vec<bool>), bool), Arc<WithTangents>> = Memo::new();

/// The loop that carries, reads and keeps tangents, perhaps marked ones, beside the values of everything that moves.
fn with_tangents(sweeps: &Arc<Sweeps>, operands: &[bool], marked: bool) -> WithTangents {
    let found = activity(sweeps, operands);
    let captures = &operands[sweeps.captures()..];
    // The position of the tangent of each kept value among the kept values, if it has one.
    let kept = sweeps.sweeps.iter().zip(&*found).map(|(sweep, Activity { moving, .. })| {
        let mut places = sweep.keeps..;
        let moving = moving[sweep.carries..sweep.carries + sweep.keeps].iter();
        moving.map(|&moves| if moves { places.next() } else { None }).collect()
    });
    let kept: Vec<Vec<Option<usize>>> = kept.collect();
    let extended = sweeps.sweeps.iter().zip(&*found).map(|(sweep, Activity { active, moving })| {
        let [carries, inputs, reads, captures] = roles(sweep);
        let (carried, keeps) = (sweep.carries, sweep.carries..sweep.carries + sweep.keeps);
        let results = [0..carried, keeps.clone(), keeps.end..sweep.body.results.len()];
        let body = forward::body_with_tangents(active, (moving, marked), &[carries, inputs, reads], captures, &results);
        let moves = |range: Range<usize>, flags: &[bool]| flags[range].iter().filter(|&&moves| moves).count();
        let tangents = sweep.reads.iter().filter_map(|&(from, at)| Some((from, kept[from][at]?)));
        Sweep {
            body,
            carries: carried + moves(0..carried, &active.parameters),
            inputs: sweep.inputs + moves(carried..carried + sweep.inputs, &active.parameters),
            reads: sweep.reads.iter().copied().chain(tangents).collect(),
            keeps: sweep.keeps + moves(keeps, moving),
        }
    });
    let steps = match &sweeps.steps {
        Steps::Count(count) => Steps::Count(*count),
        Steps::While(condition) => {
            // The condition takes the tangents too, and does without them.
            let carries = &found[0].active.parameters[..sweeps.sweeps[0].carries];
            let types: Vec<Type> = (0..condition.arity()).map(|at| condition.parameter_type(at).clone()).collect();
            let (own, captured) = types.split_at(condition.parameters);
            let of = |types: &[Type], flags: &[bool]| -> Vec<Type> {
                let tangents = types.iter().zip(flags).filter(|(_, moves)| **moves).map(|(ty, _)| ty.clone());
                types.iter().cloned().chain(tangents).collect()
            };
            let (own, captured) = (of(own, carries), of(captured, captures));
            let mut graph = Graph::new(&[&own[..], &captured].concat(), captured.len());
            let captures = (0..condition.captures).map(|at| (own.len() + at) as NodeId);
            let ids = graph.append(condition, (0..condition.parameters as NodeId).chain(captures));
            Steps::While(Arc::new(graph.finish(&[ids[condition.results[0] as usize]])))
        }
    };
    let sweeps = Sweeps { steps, sweeps: extended.collect(), reverse: sweeps.reverse, checkpoints: sweeps.checkpoints };
    (Arc::new(sweeps), found)
}

/// A loop over arrays with tangents.
pub(crate) fn sweeps_tangent<A: Algebra>(
    sweeps: &Arc<Sweeps>,
    operands: Vec<TangentArray<A>>,
    marked: bool,
) -> Vec<TangentArray<A>> {
    let (primals, tangents): (Vec<A::Array>, Vec<Option<A::Array>>) =
        operands.into_iter().map(|operand| (operand.primal, operand.tangent)).unzip();
    let active: Vec<bool> = tangents.iter().map(Option::is_some).collect();
    if !active.contains(&true) {
        let outputs = A::sweeps(sweeps, primals);
        return outputs.into_iter().map(|primal| TangentArray { primal, tangent: None }).collect();
    }
    let derived = FORWARD.get(((sweeps.clone(), active), marked), |((sweeps, active), marked)| {
        Arc::new(with_tangents(sweeps, active, *marked))
    });
    let (extended, found) = &*derived;
    let mut all: Vec<A::Array> = Vec::new();
    // The values of a range of operands, and then the tangents of those that move.
    let mut push = |range: Range<usize>, moving: &[bool]| {
        all.extend_from_slice(&primals[range.clone()]);
        for (at, _) in range.zip(moving).filter(|(_, moves)| **moves) {
            all.push(tangents[at].clone().unwrap_or_else(|| A::zeros(&A::type_of(&primals[at]))));
        }
    };
    for (at, Activity { active, .. }) in found.iter().enumerate() {
        let (carries, inputs) = sweeps.operands(at);
        let own = carries.len();
        push(carries, &active.parameters[..own]);
        push(inputs.clone(), &active.parameters[own..own + inputs.len()]);
    }
    let captures: Vec<bool> = tangents[sweeps.captures()..].iter().map(Option::is_some).collect();
    push(sweeps.captures()..primals.len(), &captures);
    let mut outputs = A::sweeps(extended, all).into_iter();
    let mut results = Vec::new();
    for (sweep, Activity { moving, .. }) in sweeps.sweeps.iter().zip(&**found) {
        results.extend(forward::pair(&mut outputs, &moving[..sweep.carries]));
        results.extend(forward::pair(&mut outputs, &moving[sweep.carries + sweep.keeps..]));
    }
    results
}
