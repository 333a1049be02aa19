//! Loops, conditionals and functions with rules of their own in Delta, and conditionals over dual arrays.
//!
//! A conditional is derived as a loop is (see `loops`), with two bodies: the forward conditional returns the
//! residuals of the side that is taken, and the backward one, on the same condition, runs the transpose of that side. Where
//! both sides have bodies in them, a residual of one side shares its place with one of the other that has the same type: so
//! conditionals in both sides of conditionals do not leave twice as much at each level. Other residuals have places of their own,
//! where the other side leaves zeros, as do integers, which may be indices.

use super::custom::CustomMap;
use super::extract::{Level, extract, levels, needs};
use super::loops::{Active, Recording, Residual, RolledLoop};
use super::memo::Memo;
use super::recompute::Recomputed;
use super::sweeps::RolledSweeps;
use super::transpose::Cotangent;
use super::{Delta, DualArray};
use crate::algebra::Algebra;
use crate::concrete::Array;
use crate::shape::{Type, Value};
use crate::term::{Body, Graph, NodeId, Op};
use std::collections::HashMap;
use std::sync::Arc;

/// A linear map of several outputs: a loop, a conditional, a function with rules of its own, or one that is run again.
pub(crate) enum Rolled<A: Algebra> {
    Loop(RolledLoop<A>),
    Branch(RolledBranch<A>),
    Custom(CustomMap<A>),
    Sweeps(RolledSweeps<A>),
    Recomputed(Recomputed<A>),
}

impl<A: Algebra> Rolled<A> {
    /// From the cotangents of the outputs, those at the end perhaps left out, to those of the operands.
    pub(crate) fn transpose(&self, cotangents: Vec<Option<Cotangent<A>>>) -> Vec<Option<Cotangent<A>>> {
        match self {
            Rolled::Loop(rolled) => rolled.transpose(cotangents),
            Rolled::Branch(rolled) => rolled.transpose(cotangents),
            Rolled::Custom(map) => map.transpose(cotangents),
            Rolled::Sweeps(rolled) => rolled.transpose(cotangents),
            Rolled::Recomputed(_) => unreachable!("what is run again has no operands of its own"),
        }
    }
}

/// The two sides, and which captures move with the inputs.
type Sides = (Active, Active);

/// The residuals in one place.
struct Stored {
    /// The residual of each side, by its node in the recordings of that side.
    nodes: [Option<NodeId>; 2],
    ty: Type,
    place: Residual,
}

/// The forward pass of a conditional.
struct ForwardBranch {
    bodies: [Arc<Body>; 2],
    moving: Vec<bool>,
    residuals: Vec<Stored>,
}

fn levels_of(active: &Active, graph: &Graph) -> Vec<Level> {
    let body = &active.body;
    let level = |at| if at < body.arity() { Level::Step } else { Level::Backward };
    let parameters: Vec<Level> = (0..body.arity() + body.results.len()).map(level).collect();
    levels(graph, &parameters)
}

fn zero(graph: &mut Graph, ty: &Type) -> NodeId {
    graph.add(Op::Constant(Array::full(&ty.shape, Value::from_f64(ty.dtype, 0.0))), &[])
}

/// Both sides, marked. Bodies are recorded inside of this, as deep as conditionals are nested: it puts little on the stack.
fn recordings((then, otherwise): (&Active, &Active), present: &[bool]) -> [Box<Recording>; 2] {
    let then = Recording::boxed(then, present, true);
    [then, Recording::boxed(otherwise, present, true)]
}

/// The residuals of both sides.
fn residuals(sides: (&Active, &Active), recordings: &[Box<Recording>; 2]) -> Vec<Stored> {
    let mut position = sides.0.body.results.len();
    let have_bodies = sides.0.body.nesting() > 0 && sides.1.body.nesting() > 0;
    let mut all: Vec<Stored> = Vec::new();
    // The places that only the first side has yet, the first of them last.
    let mut free: HashMap<(Type, Option<NodeId>), Vec<usize>> = HashMap::new();
    for (at, side) in [sides.0, sides.1].into_iter().enumerate() {
        let Recording { graph, proper, .. } = &*recordings[at];
        let (invariant, step) = needs(graph, &levels_of(side, graph), &recordings[at].reached(), *proper);
        let mut needed = [invariant, step].concat();
        needed.sort_unstable();
        let first = all.len();
        for node in needed {
            let ty = graph.ty(node).clone();
            let operand = ((node as usize) < side.body.arity()).then_some(node);
            if let Some(shared) = free.get_mut(&(ty.clone(), operand)).and_then(Vec::pop) {
                all[shared].nodes[at] = Some(node);
                continue;
            }
            let place = match operand {
                Some(operand) => Residual::Operand(operand as usize),
                None => {
                    position += 1;
                    Residual::Output(position - 1)
                }
            };
            let mut nodes = [None; 2];
            nodes[at] = Some(node);
            all.push(Stored { nodes, ty, place });
        }
        for (place, stored) in all.iter().enumerate().skip(first).rev() {
            let operand = match stored.place {
                Residual::Operand(operand) => Some(operand as NodeId),
                Residual::Output(_) => None,
            };
            if operand.is_some() || have_bodies && !stored.ty.dtype.is_integer() {
                free.entry((stored.ty.clone(), operand)).or_default().push(place);
            }
        }
    }
    all
}

impl ForwardBranch {
    fn new((then, otherwise): &Sides) -> ForwardBranch {
        let present = vec![true; then.body.results.len()];
        let mut recordings = recordings((then, otherwise), &present);
        let residuals = residuals((then, otherwise), &recordings);
        let parameters: Vec<NodeId> = (0..then.body.arity() as NodeId).collect();
        let mut body = |side: usize| {
            let Recording { graph, results, .. } = &mut *recordings[side];
            let mut results = results.clone();
            for residual in residuals.iter().filter(|residual| matches!(residual.place, Residual::Output(_))) {
                results.push(residual.nodes[side].unwrap_or_else(|| zero(graph, &residual.ty)));
            }
            extract(graph, &parameters, then.body.captures, &results)
        };
        let bodies = [body(0), body(1)];
        let moving = recordings[0].moving.iter().zip(&recordings[1].moving).map(|(a, b)| a | b).collect();
        ForwardBranch { bodies, moving, residuals }
    }
}

/// The backward pass: its captures are the cotangents of `read`, then the residuals, its results the cotangents
/// of `written`.
struct BackwardBranch {
    bodies: [Arc<Body>; 2],
    read: Vec<usize>,
    written: Vec<usize>,
}

impl BackwardBranch {
    fn new((then, otherwise): &Sides, present: &[bool], forward: &ForwardBranch) -> BackwardBranch {
        let arity = then.body.arity();
        let read: Vec<usize> = (0..present.len()).filter(|&at| present[at]).collect();
        // The derivative is one of a chosen branch, so cotangents are marked.
        let mut recordings = recordings((then, otherwise), present);
        let reached = |&at: &usize| recordings.iter().any(|recording| recording.adjoints[at].is_some());
        let written: Vec<usize> = (0..arity).filter(reached).collect();
        let mut body = |side: usize| {
            let Recording { graph, adjoints, .. } = &mut *recordings[side];
            let mut parameters: Vec<NodeId> = read.iter().map(|&at| (arity + at) as NodeId).collect();
            for residual in &forward.residuals {
                // A residual of the other side alone is a parameter that nothing reads: any new node of its type.
                let unread = |graph: &mut Graph| {
                    let zero = zero(graph, &residual.ty);
                    graph.add(Op::Alias, &[zero])
                };
                parameters.push(residual.nodes[side].unwrap_or_else(|| unread(graph)));
            }
            let results: Vec<NodeId> = written
                .iter()
                .map(|&at| adjoints[at].unwrap_or_else(|| zero(graph, then.body.parameter_type(at))))
                .collect();
            extract(graph, &parameters, parameters.len(), &results)
        };
        let bodies = [body(0), body(1)];
        BackwardBranch { bodies, read, written }
    }
}

static FORWARD: Memo<Sides, Arc<ForwardBranch>> = Memo::new();
static BACKWARD: Memo<(Sides, Vec<bool>), Arc<BackwardBranch>> = Memo::new();

/// A conditional as a linear map: how it was run, and what it left.
pub(crate) struct RolledBranch<A: Algebra> {
    sides: Sides,
    forward: Arc<ForwardBranch>,
    condition: A::Array,
    residuals: Vec<A::Array>,
}

/// A conditional over dual arrays.
pub(crate) fn branch_dual<A: Algebra>(
    condition: A::Array,
    then: &Arc<Body>,
    otherwise: &Arc<Body>,
    captures: Vec<DualArray<A>>,
) -> Vec<DualArray<A>> {
    let (primals, deltas): (Vec<A::Array>, Vec<Option<Delta<A>>>) =
        captures.into_iter().map(|array| (array.primal, array.delta)).unzip();
    if deltas.iter().all(Option::is_none) {
        let outputs = A::branch(condition, then, otherwise, primals);
        return outputs.into_iter().map(|primal| DualArray { primal, delta: None }).collect();
    }
    let parameters: Vec<bool> = deltas.iter().map(Option::is_some).collect();
    let active = |body: &Arc<Body>| Active { body: body.clone(), parameters: parameters.clone() };
    let sides = (active(then), active(otherwise));
    let forward = FORWARD.get(sides.clone(), |sides| Arc::new(ForwardBranch::new(sides)));

    let stored = || forward.residuals.iter().map(|residual| residual.place);
    let read: Vec<Option<A::Array>> = stored().map(|place| place.operand::<A>(&primals)).collect();
    let [then, otherwise] = &forward.bodies;
    let mut outputs = A::branch(condition.clone(), then, otherwise, primals);
    let residuals = stored().zip(read).map(|(place, read)| place.or_output::<A>(read, &outputs)).collect();
    outputs.truncate(forward.moving.len());

    let moving = forward.moving.clone();
    let delta = Delta::rolled(Rolled::Branch(RolledBranch { sides, forward, condition, residuals }), deltas);
    let pick = |((position, primal), moves): ((usize, A::Array), bool)| DualArray {
        primal,
        delta: moves.then(|| delta.output(position)),
    };
    outputs.into_iter().enumerate().zip(moving).map(pick).collect()
}

impl<A: Algebra> RolledBranch<A> {
    fn transpose(&self, mut cotangents: Vec<Option<Cotangent<A>>>) -> Vec<Option<Cotangent<A>>> {
        cotangents.resize_with(self.forward.moving.len(), || None);
        let present: Vec<bool> = cotangents.iter().map(Option::is_some).collect();
        let backward = BACKWARD.get((self.sides.clone(), present), |(sides, present)| {
            Arc::new(BackwardBranch::new(sides, present, &self.forward))
        });
        let taken = backward.read.iter().filter_map(|&at| cotangents[at].take().map(|cotangent| cotangent.array));
        let captures = taken.chain(self.residuals.iter().cloned()).collect();
        let [then, otherwise] = &backward.bodies;
        let outputs = A::branch(self.condition.clone(), then, otherwise, captures);
        let mut parts: Vec<Option<Cotangent<A>>> = Vec::new();
        parts.resize_with(self.sides.0.body.arity(), || None);
        for (&at, array) in backward.written.iter().zip(outputs) {
            parts[at] = Some(Cotangent { array, marked: true });
        }
        parts
    }
}
