//! Loops and conditionals keep their form: the derivative of a closed body is a closed body.
//!
//! The body is run once in `Dual<Recorded>`, with variables for its parameters, and transposed at variables for its results'
//! cotangents, all in one graph. That graph is then cut in two. The *forward* body is the original one, which also returns the
//! *residuals*: the values of its own that the backward part needs. The *backward* body takes the cotangents and the residuals.
//! Nodes that depend on captures only are computed once, before the loop.
//!
//! A backward loop runs in the opposite direction. It carries the cotangents of the carries and sums the cotangents of the
//! captures, reads the outputs' cotangents step by step, and returns the inputs' cotangents step by step. Which carries move
//! with the inputs, and which have a cotangent, are fixed points over the steps. Bodies are derived once and remembered.

use super::active::Active;
use super::cotangent::Cotangent;
use super::delta::Rolled;
use super::extract::{BindingTime, Held, Needs, extract, extract_renamed, levels, needs_beside, zeros};
use super::harvest::{Harvest, harvest};
use super::memo::{Memo, MemoKey};
use super::reach::{reached, spread};
use super::record::{Recorded, record, recorded, restorations, restored};
use super::transpose::transpose;
use super::undo::{Restored, Undoing};
use super::{Delta, Dual, DualArray};
use crate::algebra::Algebra;
use crate::operation::Binary;
use crate::shape::Type;
use crate::simplify::bounds::regular;
use crate::term::interpret::interpret;
use crate::term::{Body, Graph, NodeId, Op, Scan};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// A body, run and transposed at variables.
pub(crate) struct Recording {
    pub(crate) graph: Graph,
    /// The nodes of the body's results.
    pub(crate) results: Vec<NodeId>,
    /// Which results move with the inputs.
    pub(crate) moving: Vec<bool>,
    /// The cotangents of the body's parameters.
    pub(crate) adjoints: Vec<Option<NodeId>>,
    /// Number of the leading nodes that belong to the body proper; the others come from transposing it.
    pub(crate) proper: usize,
    /// Arrays of the body proper that the transposes of loops and conditionals restore, and where.
    pub(crate) again: HashMap<NodeId, NodeId>,
}

impl Recording {
    /// Records a body, and its transpose at cotangents of those results that have one.
    ///
    /// The graph's parameters are the body's and then a cotangent for each result. Nodes of the body proper have the same
    /// identity in all recordings of one [`Active`] body: they come first, and in the same order.
    pub(crate) fn new(active: &Active, present: &[bool], marked: bool) -> Recording {
        Recording::transposed(active, &mut present.to_vec(), marked, 0)
    }

    /// As [`Recording::new`], of a loop's body, at the fixed point over the steps: a carry whose value before a step gets a
    /// cotangent has one after it.
    pub(crate) fn of_step(active: &Active, present: &mut [bool], marked: bool, carries: usize) -> Recording {
        loop {
            let recording = Recording::transposed(active, present, marked, carries);
            let adjoints = &recording.adjoints[..carries];
            let grows = adjoints.iter().zip(&*present).any(|(adjoint, present)| adjoint.is_some() && !present);
            if !grows {
                return recording;
            }
            present.iter_mut().zip(adjoints).for_each(|(present, adjoint)| *present |= adjoint.is_some());
        }
    }

    fn transposed(active: &Active, present: &mut [bool], marked: bool, carries: usize) -> Recording {
        let body = &active.body;
        let parameters = (0..body.arity()).map(|at| body.parameter_type(at));
        let types: Vec<Type> = parameters.chain(body.result_types()).cloned().collect();
        let (graph, (results, moving, adjoints, proper, again)) = record(&types, |nodes| {
            let inputs: Vec<Option<Delta<Recorded>>> =
                active.parameters.iter().map(|&a| a.then(Delta::input)).collect();
            let arguments =
                nodes.iter().zip(&inputs).map(|(&primal, input)| DualArray { primal, delta: input.clone() });
            let results = interpret::<Dual<Recorded>>(body, arguments.collect());
            let proper = recorded();
            reached(&results, &inputs, present, carries);
            let cotangents = results.iter().zip(&nodes[body.arity()..]).zip(&*present);
            let outputs = cotangents.filter_map(|((result, &array), &present)| {
                Some((result.delta.clone().filter(|_| present)?, Cotangent { array, marked }))
            });
            let (adjoints, _) = transpose(outputs.collect(), &inputs);
            let moving = results.iter().map(|result| result.delta.is_some()).collect();
            let results = results.into_iter().map(|result| result.primal).collect();
            let adjoints = adjoints.into_iter().map(|adjoint| adjoint.map(|adjoint| adjoint.array)).collect();
            (results, moving, adjoints, proper, restorations())
        });
        Recording { graph, results, moving, adjoints, proper, again }
    }

    /// As [`Recording::new`].
    pub(crate) fn boxed(active: &Active, present: &[bool], marked: bool) -> Box<Recording> {
        Box::new(Recording::new(active, present, marked))
    }

    /// The cotangents of parameters, of those that have one.
    pub(crate) fn reached(&self) -> Vec<NodeId> {
        self.adjoints.iter().copied().flatten().collect()
    }
}

/// Where a residual is found after the forward pass.
#[derive(Clone, Copy)]
pub(crate) enum Residual {
    /// It is an operand, or the stack of it.
    Operand(usize),
    /// It is an output of the forward loop or conditional.
    Output(usize),
}

impl Residual {
    /// The residual, if it is an operand.
    pub(crate) fn operand<A: Algebra>(self, operands: &[A::Array]) -> Option<A::Array> {
        match self {
            Residual::Operand(position) => Some(operands[position].clone()),
            Residual::Output(_) => None,
        }
    }

    /// The residual, if it is an output, and otherwise the operand that [`Residual::operand`] found.
    pub(crate) fn or_output<A: Algebra>(self, operand: Option<A::Array>, outputs: &[A::Array]) -> A::Array {
        match self {
            Residual::Operand(_) => operand.expect("the operand was kept"),
            Residual::Output(position) => outputs[position].clone(),
        }
    }
}

/// A loop without its length and direction.
#[derive(Clone, PartialEq, Eq, Hash)]
struct LoopStep {
    active: Active,
    carries: usize,
    inputs: usize,
}

impl MemoKey for LoopStep {
    fn bodies(&self) -> impl Iterator<Item = &Body> {
        self.active.bodies()
    }
}

impl LoopStep {
    /// The levels of a recording's nodes.
    fn levels(&self, graph: &Graph) -> Vec<BindingTime> {
        let body = &self.active.body;
        let level = |at: usize| match at {
            _ if at < self.carries + self.inputs => BindingTime::Step,
            _ if at < body.arity() => BindingTime::Invariant,
            _ => BindingTime::Backward,
        };
        let parameters: Vec<BindingTime> = (0..body.arity() + body.results.len()).map(level).collect();
        levels(graph, &parameters)
    }

    /// The values that a backward loop has without keeping them: the inputs.
    fn held(&self) -> Held {
        Held { inputs: self.roles().1.collect(), ..Held::default() }
    }

    /// The positions of the carries, the inputs and the captures among the operands.
    fn roles(&self) -> (Range<usize>, Range<usize>, Range<usize>) {
        let slices = self.carries + self.inputs;
        (0..self.carries, self.carries..slices, slices..self.active.body.arity())
    }
}

/// The forward pass of a loop.
struct ForwardLoop {
    /// The loop, with its activity at the fixed point.
    step: LoopStep,
    /// The original body, which returns residuals in addition.
    body: Arc<Body>,
    /// Which results move with the inputs.
    moving: Vec<bool>,
    /// The residuals' nodes in all recordings, and where their stacks are found.
    residuals: Vec<(NodeId, Residual)>,
    /// The carries whose writes the backward pass takes back.
    undoing: Undoing,
    /// The outputs that are written over in each step, for the writes of those in their order.
    overwritten: Vec<usize>,
    /// Nodes of the captures alone that the backward pass needs.
    invariants: Vec<NodeId>,
    /// From the captures to those.
    prelude: Arc<Body>,
    /// Whether zeros stay zeros in the backward pass without a mark.
    keeps_zeros: bool,
}

impl ForwardLoop {
    fn new(step: &LoopStep) -> ForwardLoop {
        let mut step = step.clone();
        let body = step.active.body.clone();
        spread::<Dual<Recorded>>(&mut step.active, step.carries);
        let recording = Recording::new(&step.active, &vec![true; body.results.len()], false);
        let mut reached = recording.reached();
        let Recording { mut graph, results, moving, proper, .. } = recording;
        let mut held = step.held();
        let needed = needs_beside(&graph, &step.levels(&graph), &reached, proper, &held);
        let carries = &results[..step.carries];
        let undoing = Undoing::choose(&mut graph, carries, &needed.step, |parameter, result| parameter == result);
        let overwritten = undoing.prepare(&mut graph, &mut held, &mut reached);
        let graph = &graph;
        let levels = step.levels(graph);
        let Needs { invariant: invariants, step: needed, .. } = needs_beside(graph, &levels, &reached, proper, &held);
        let mut outputs = results.clone();
        // The last of equal outputs, which are all the same.
        let mut written: HashMap<NodeId, usize> = (step.carries..outputs.len()).map(|at| (outputs[at], at)).collect();
        let (_, inputs, captures) = step.roles();
        let mut output = |id: NodeId| {
            *written.entry(id).or_insert_with(|| {
                outputs.push(id);
                outputs.len() - 1
            })
        };
        let residuals = needed.into_iter().map(|id| {
            let place = match inputs.contains(&(id as usize)) {
                true => Residual::Operand(id as usize),
                false => Residual::Output(output(id)),
            };
            (id, place)
        });
        let residuals = residuals.collect();
        let overwritten = overwritten.into_iter().map(&mut output).collect();
        let parameters: Vec<NodeId> = (0..body.arity() as NodeId).collect();
        ForwardLoop {
            body: extract_renamed(graph, &parameters, body.captures, &outputs, &undoing.renamed),
            moving,
            residuals,
            undoing,
            overwritten,
            prelude: extract(graph, &parameters[captures], body.captures, &invariants),
            keeps_zeros: keeps_zeros(graph, &levels, &results[..step.carries]),
            invariants,
            step,
        }
    }
}

/// Whether the backward pass of a step multiplies cotangents only by finite values while the carries, inputs and captures are
/// finite, and the step leaves the carries finite. Then a cotangent that is 0 because nobody uses a value stays 0, in this step
/// and in all others.
fn keeps_zeros(graph: &Graph, levels: &[BindingTime], carries: &[NodeId]) -> bool {
    let regular = regular(graph);
    let harmless = |(id, &level): (usize, &BindingTime)| {
        let node = graph.node(id as NodeId);
        let finite = |&arg: &NodeId| levels[arg as usize] == BindingTime::Backward || regular[arg as usize];
        // A divisor may be 0 too.
        let divides = matches!(node.op, Op::Binary(Binary::Div));
        level != BindingTime::Backward || !divides && !node.op.is_multiple() && node.args.iter().all(finite)
    };
    carries.iter().all(|&id| regular[id as usize]) && levels.iter().enumerate().all(harmless)
}

/// Which cotangents a backward loop is given.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Incoming {
    step: LoopStep,
    present: Vec<bool>,
    marked: bool,
    length: usize,
}

impl MemoKey for Incoming {
    fn bodies(&self) -> impl Iterator<Item = &Body> {
        self.step.bodies()
    }
}

/// The backward pass of a loop.
struct BackwardLoop {
    /// Its carries are the cotangents of `carried`, the harvest's sums and the arrays that are `restored`; its inputs the
    /// cotangents of `read`, the residuals, and the elements of those arrays that were written over; its captures the
    /// invariants. Its outputs are the cotangents of `written`, then the harvest's stacks.
    body: Arc<Body>,
    /// The carries whose cotangents are carried.
    carried: Vec<usize>,
    /// The results, no carries, whose cotangents are read.
    read: Vec<usize>,
    /// The inputs whose cotangents are written.
    written: Vec<usize>,
    /// The captures that get a cotangent.
    captures: Vec<usize>,
    /// How those cotangents come about.
    harvest: Harvest,
    /// Positions of the residuals that are read.
    residuals: Vec<usize>,
    /// The carries that are restored, by position among all carries whose writes are taken back.
    restored: Vec<usize>,
    /// Positions of the overwritten elements that are read.
    overwritten: Vec<usize>,
}

impl BackwardLoop {
    fn new(incoming: &Incoming, forward: &ForwardLoop) -> BackwardLoop {
        let Incoming { step, present, marked, length } = incoming;
        let (carries, inputs, captures) = step.roles();
        let mut present = present.clone();
        let recording = Recording::of_step(&step.active, &mut present, *marked, step.carries);
        let Recording { mut graph, adjoints, proper, again, .. } = recording;
        let reached = |range: Range<usize>| range.filter(|&at| adjoints[at].is_some()).collect();
        let (written, captures): (Vec<usize>, Vec<usize>) = (reached(inputs), reached(captures));
        let carried: Vec<usize> = carries.filter(|&at| present[at]).collect();
        let read: Vec<usize> = (step.carries..present.len()).filter(|&at| present[at]).collect();

        let stored: Vec<NodeId> = forward.residuals.iter().map(|&(id, _)| id).collect();
        let totals: Vec<NodeId> = captures.iter().filter_map(|&at| adjoints[at]).collect();
        let levels = step.levels(&graph);
        let versions = forward.undoing.versions();
        let harvest = harvest(&mut graph, &levels, &totals, (&stored, &versions), &forward.invariants, *length);

        let mut results: Vec<NodeId> = Vec::new();
        for &at in &carried {
            results.push(adjoints[at].unwrap_or_else(|| zeros(&mut graph, step.active.body.parameter_type(at))));
        }
        results.extend(&harvest.sums);
        let arrays = results.len();
        results.extend(written.iter().filter_map(|&at| adjoints[at]));
        results.extend(&harvest.stacks);
        let needs = |graph: &Graph, roots: &[NodeId], held: &Held| {
            needs_beside(graph, &step.levels(graph), roots, proper, held)
        };
        let Restored { needed, arrays: restored, nodes, positions: overwritten, overwritten: over, mut renamed } =
            Restored::new(&forward.undoing, &mut graph, (&step.held(), &needs), &results, &again);
        results.splice(arrays..arrays, nodes);
        let known: HashSet<NodeId> = stored.iter().copied().collect();
        let (mut residuals, mut missing): (HashSet<NodeId>, Vec<NodeId>) = (HashSet::new(), Vec::new());
        for id in needed {
            if known.contains(&id) {
                residuals.insert(id);
            } else {
                missing.push(id);
            }
        }
        assert!(*marked || missing.is_empty(), "the forward pass stores what every backward pass needs");
        // Marks keep rules from seeing that something has no influence, as where it is added to elements outside of an array.
        for id in missing {
            let ty = graph.ty(id).clone();
            renamed.insert(id, zeros(&mut graph, &ty));
        }
        let residuals: Vec<usize> = (0..stored.len()).filter(|&at| residuals.contains(&stored[at])).collect();

        let cotangent = |&at: &usize| (step.active.body.arity() + at) as NodeId;
        let mut parameters: Vec<NodeId> = carried.iter().map(cotangent).collect();
        parameters.extend(&harvest.partial);
        parameters.extend(restored.iter().map(|&at| forward.undoing.arrays[at].last()));
        parameters.extend(read.iter().map(cotangent));
        parameters.extend(residuals.iter().map(|&at| stored[at]));
        parameters.extend(&over);
        parameters.extend(&forward.invariants);
        let body = extract_renamed(&graph, &parameters, forward.invariants.len(), &results, &renamed);
        BackwardLoop { body, carried, read, written, captures, harvest, residuals, restored, overwritten }
    }
}

static FORWARD: Memo<LoopStep, Arc<ForwardLoop>> = Memo::new();
static BACKWARD: Memo<Incoming, Arc<BackwardLoop>> = Memo::new();

/// A loop as a linear map: how it was run, and the values that it left.
pub(crate) struct RolledLoop<A: Algebra> {
    forward: Arc<ForwardLoop>,
    length: usize,
    reverse: bool,
    residuals: Vec<A::Array>,
    /// The carries whose writes are taken back, as nodes of a recording at the beginning, and as arrays at the end; and the
    /// elements that were written over.
    begun: Vec<Option<NodeId>>,
    changed: Vec<A::Array>,
    overwritten: Vec<A::Array>,
    invariants: Vec<A::Array>,
}

/// A loop over dual arrays.
pub(crate) fn scan_dual<A: Algebra>(
    scan: &Arc<Scan>,
    carries: Vec<DualArray<A>>,
    inputs: Vec<DualArray<A>>,
    captures: Vec<DualArray<A>>,
) -> Vec<DualArray<A>> {
    if scan.length == 0 {
        // The carries stay the same, which no derivative of a step shows.
        let outputs = scan.body.result_types().skip(scan.carries).map(|ty| {
            let mut stacked = ty.clone();
            stacked.shape.insert(0, 0);
            DualArray { primal: A::zeros(&stacked), delta: None }
        });
        return carries.into_iter().chain(outputs).collect();
    }
    let operands = carries.into_iter().chain(inputs).chain(captures);
    let (mut primals, deltas): (Vec<A::Array>, Vec<Option<Delta<A>>>) =
        operands.map(|array| (array.primal, array.delta)).unzip();
    if deltas.iter().all(Option::is_none) {
        let outputs = scan_flat::<A>(scan, primals);
        return outputs.into_iter().map(|primal| DualArray { primal, delta: None }).collect();
    }
    let parameters = deltas.iter().map(Option::is_some).collect();
    let active = Active { body: scan.body.clone(), parameters };
    let step = LoopStep { active, carries: scan.carries, inputs: scan.inputs };
    let forward = FORWARD.get(step, |step| Arc::new(ForwardLoop::new(step)));

    let captures = primals[scan.carries + scan.inputs..].to_vec();
    let invariants = interpret::<A>(&forward.prelude, captures);
    let extended = Arc::new(Scan { body: forward.body.clone(), ..(**scan).clone() });
    let read: Vec<Option<A::Array>> = forward.residuals.iter().map(|(_, place)| place.operand::<A>(&primals)).collect();
    let undone = &forward.undoing.arrays;
    let begun = undone.iter().map(|undone| A::recorded(&primals[undone.parameter])).collect();
    let mut outputs = scan_flat::<A>(&extended, std::mem::take(&mut primals));
    let places = forward.residuals.iter().zip(read);
    let residuals = places.map(|((_, place), read)| place.or_output::<A>(read, &outputs)).collect();
    let changed = undone.iter().map(|undone| outputs[undone.result].clone()).collect();
    let overwritten = forward.overwritten.iter().map(|&output| outputs[output].clone()).collect();
    outputs.truncate(scan.body.results.len());

    let (length, reverse) = (scan.length, scan.reverse);
    let moving = forward.moving.clone();
    let rolled = RolledLoop { forward, length, reverse, residuals, begun, changed, overwritten, invariants };
    let delta = Delta::rolled(rolled, deltas);
    let pick = |((position, primal), moves): ((usize, A::Array), bool)| DualArray {
        primal,
        delta: moves.then(|| delta.output(position)),
    };
    outputs.into_iter().enumerate().zip(moving).map(pick).collect()
}

/// A loop on its operands in one list.
pub(crate) fn scan_flat<A: Algebra>(scan: &Arc<Scan>, operands: Vec<A::Array>) -> Vec<A::Array> {
    let mut operands = operands.into_iter();
    let carries = operands.by_ref().take(scan.carries).collect();
    let inputs = operands.by_ref().take(scan.inputs).collect();
    A::scan(scan, carries, inputs, operands.collect())
}

impl<A: Algebra> Rolled<A> for RolledLoop<A> {
    fn name(&self) -> &'static str {
        "Loop"
    }

    fn transpose(&self, mut cotangents: Vec<Option<Cotangent<A>>>) -> Vec<Option<Cotangent<A>>> {
        let step = &self.forward.step;
        cotangents.resize_with(step.active.body.results.len(), || None);
        let present: Vec<bool> = cotangents.iter().map(Option::is_some).collect();
        // A last carry without a cotangent starts from zeros, which must not harm: those are marked where they could.
        let missing = (0..step.carries).any(|at| self.forward.moving[at] && !present[at]);
        let marked =
            missing && !self.forward.keeps_zeros || cotangents.iter().flatten().any(|cotangent| cotangent.marked);
        let incoming = Incoming { step: step.clone(), present, marked, length: self.length };
        let backward = BACKWARD.get(incoming, |incoming| Arc::new(BackwardLoop::new(incoming, &self.forward)));

        let or_zeros = |at: usize, cotangent: Option<Cotangent<A>>| {
            cotangent.map_or_else(|| A::zeros(step.active.body.parameter_type(at)), |cotangent| cotangent.array)
        };
        let mut carries: Vec<A::Array> =
            backward.carried.iter().map(|&at| or_zeros(at, cotangents[at].take())).collect();
        let sums = carries.len()..carries.len() + backward.harvest.sums.len();
        carries.extend(sums.clone().map(|at| A::zeros(backward.body.parameter_type(at))));
        carries.extend(backward.restored.iter().map(|&at| self.changed[at].clone()));
        let taken = backward.read.iter().filter_map(|&at| cotangents[at].take().map(|cotangent| cotangent.array));
        let mut inputs: Vec<A::Array> = taken.collect();
        inputs.extend(backward.residuals.iter().map(|&at| self.residuals[at].clone()));
        inputs.extend(backward.overwritten.iter().map(|&at| self.overwritten[at].clone()));
        let scan = Scan {
            body: backward.body.clone(),
            carries: carries.len(),
            inputs: inputs.len(),
            length: self.length,
            reverse: !self.reverse,
        };
        let mut outputs = A::scan(&Arc::new(scan), carries, inputs, self.invariants.clone()).into_iter();

        let mut parts: Vec<Option<Cotangent<A>>> = Vec::new();
        parts.resize_with(step.active.body.arity(), || None);
        for &at in &backward.carried {
            parts[at] = outputs.next().map(|array| Cotangent { array, marked });
        }
        let mut harvest: Vec<A::Array> = outputs.by_ref().take(sums.len()).collect();
        for (&at, array) in backward.restored.iter().zip(outputs.by_ref()) {
            restored(self.begun[at], A::recorded(&array));
        }
        for &at in &backward.written {
            parts[at] = outputs.next().map(|array| Cotangent { array, marked });
        }
        harvest.extend(outputs);
        harvest.extend(self.residuals.iter().chain(&self.invariants).cloned());
        let totals = interpret::<A>(&backward.harvest.epilogue, harvest);
        for (&at, array) in backward.captures.iter().zip(totals) {
            parts[at] = Some(Cotangent { array, marked });
        }
        parts
    }
}
