//! Conditionals over dual arrays.
//!
//! A conditional is derived as a loop is (see `loops`), with two bodies: the forward conditional returns the
//! residuals of the side that is taken, and the backward one, on the same condition, runs the transpose of that side. Where
//! both sides have bodies in them, a residual of one side shares its place with one of the other that has the same type: so
//! conditionals in both sides of conditionals do not leave twice as much at each level. Other residuals have places of their own,
//! where the other side leaves zeros, as do integers, which may be indices.

use super::active::Active;
use super::cotangent::Cotangent;
use super::delta::Rolled;
use super::extract::{BindingTime, Held, Needs, extract_renamed, is_acyclic, levels, needs_beside, zeros};
use super::loops::{Recording, Residual};
use super::memo::Memo;
use super::record::restored;
use super::undo::{Undoing, Undone};
use super::{Delta, DualArray};
use crate::algebra::Algebra;
use crate::shape::Type;
use crate::term::{Body, Graph, NodeId, Op};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The two sides, and which captures move with the inputs.
type ActiveSides = (Active, Active);

/// A residual of a side, in all its recordings.
#[derive(Clone, Copy)]
enum KeptResidual {
    /// A node of the body proper.
    Node(NodeId),
    /// One of the arrays of overwritten elements.
    Overwritten(usize),
}

impl KeptResidual {
    fn node(self, overwritten: &[NodeId]) -> NodeId {
        match self {
            KeptResidual::Node(node) => node,
            KeptResidual::Overwritten(at) => overwritten[at],
        }
    }
}

/// The residuals in one place.
struct Stored {
    /// The residual of each side.
    sides: [Option<KeptResidual>; 2],
    ty: Type,
    place: Residual,
}

/// The forward pass of a conditional.
struct ForwardBranch {
    bodies: [Arc<Body>; 2],
    moving: Vec<bool>,
    residuals: Vec<Stored>,
    /// The arrays of each side whose writes its backward pass takes back.
    undoing: [Undoing; 2],
    /// Captures that become results by such writes in one side, and by such or none in the other.
    changed: Vec<(usize, usize)>,
}

fn levels_of(active: &Active, graph: &Graph) -> Vec<BindingTime> {
    let body = &active.body;
    let level = |at| if at < body.arity() { BindingTime::Step } else { BindingTime::Backward };
    let parameters: Vec<BindingTime> = (0..body.arity() + body.results.len()).map(level).collect();
    levels(graph, &parameters)
}

/// Both sides, marked. Bodies are recorded inside of this, as deep as conditionals are nested: it puts little on the stack.
fn recordings((then, otherwise): (&Active, &Active), present: &[bool]) -> [Box<Recording>; 2] {
    let then = Recording::boxed(then, present, true);
    [then, Recording::boxed(otherwise, present, true)]
}

/// One side's recording, the values that its backward pass has, and those that it needs.
struct BranchSide<'a> {
    active: &'a Active,
    recording: &'a mut Recording,
    held: Held,
    /// The nodes that it begins with, and the nodes of the arrays that it restores.
    wanted: Vec<NodeId>,
    /// The overwritten elements of each array, and the position of each node in this list.
    overwritten: Vec<NodeId>,
    places: HashMap<NodeId, usize>,
}

impl<'a> BranchSide<'a> {
    fn new(active: &'a Active, recording: &'a mut Recording) -> (BranchSide<'a>, Undoing) {
        let is_small = |at: &usize| {
            let ty = active.body.parameter_type(*at);
            !ty.dtype.is_float() && ty.size() == 1
        };
        let held = Held { inputs: (0..active.body.arity()).filter(is_small).collect(), ..Held::default() };
        let wanted = recording.reached();
        let (overwritten, places) = (Vec::new(), HashMap::new());
        let mut side = BranchSide { active, recording, held, wanted, overwritten, places };
        let stored = side.needed();
        let Recording { graph, results, .. } = &mut *side.recording;
        let undoing = Undoing::choose(graph, results, &stored, |_, _| true);
        side.overwritten = undoing.prepare(graph, &mut side.held, &mut side.wanted);
        side.places = side.overwritten.iter().enumerate().map(|(at, &id)| (id, at)).collect();
        (side, undoing)
    }

    fn kept(&self, node: NodeId) -> KeptResidual {
        self.places.get(&node).map_or(KeptResidual::Node(node), |&at| KeptResidual::Overwritten(at))
    }

    /// Nodes of the body proper that are not given.
    fn needed(&self) -> Vec<NodeId> {
        let Recording { graph, proper, .. } = &*self.recording;
        let Needs { invariant, step, .. } =
            needs_beside(graph, &levels_of(self.active, graph), &self.wanted, *proper, &self.held);
        let mut needed = [invariant, step].concat();
        needed.sort_unstable();
        needed
    }
}

/// The residuals of both sides.
fn residuals(sides: [&BranchSide; 2], undoing: &[Undoing; 2], changed: &[(usize, usize)]) -> Vec<Stored> {
    let mut position = sides[0].active.body.results.len();
    let have_bodies = sides.iter().all(|side| side.active.body.nesting() > 0);
    let results = sides.map(|side| &side.recording.results);
    let mut all: Vec<Stored> = Vec::new();
    // Arrays as they are in the end.
    for &(_, result) in changed {
        let ty = sides[0].active.body.result_types().nth(result).expect("it is a result").clone();
        let kept = [0, 1].map(|at| Some(sides[at].kept(results[at][result])));
        all.push(Stored { sides: kept, ty, place: Residual::Output(result) });
    }
    // The places that only the first side has yet, the first of them last.
    let mut free: HashMap<(Type, Option<NodeId>), Vec<usize>> = HashMap::new();
    for (at, side) in sides.into_iter().enumerate() {
        let known: HashSet<NodeId> = changed.iter().map(|&(_, result)| results[at][result]).collect();
        let own: HashMap<NodeId, usize> = results[at].iter().enumerate().map(|(at, &id)| (id, at)).collect();
        let mut needed = side.needed();
        needed.extend(undoing[at].arrays.iter().map(Undone::last));
        needed.extend(&side.overwritten);
        needed.sort_unstable();
        needed.dedup();
        needed.retain(|id| !known.contains(id));
        let first = all.len();
        for node in needed {
            let ty = side.recording.graph.ty(node).clone();
            let operand = ((node as usize) < side.active.body.arity()).then_some(node);
            let is_result = operand.is_none() && own.contains_key(&node);
            if !is_result && let Some(shared) = free.get_mut(&(ty.clone(), operand)).and_then(Vec::pop) {
                all[shared].sides[at] = Some(side.kept(node));
                continue;
            }
            let place = match operand {
                Some(operand) => Residual::Operand(operand as usize),
                None if is_result => Residual::Output(own[&node]),
                None => {
                    position += 1;
                    Residual::Output(position - 1)
                }
            };
            let mut kept = [None; 2];
            kept[at] = Some(side.kept(node));
            all.push(Stored { sides: kept, ty, place });
        }
        let count = results[at].len();
        for (place, stored) in all.iter().enumerate().skip(first).rev() {
            let operand = match stored.place {
                Residual::Operand(operand) => Some(operand as NodeId),
                Residual::Output(output) if output < count => continue,
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
    fn new((then, otherwise): &ActiveSides) -> ForwardBranch {
        let present = vec![true; then.body.results.len()];
        let [mut first, mut second] = recordings((then, otherwise), &present);
        let moving = first.moving.iter().zip(&second.moving).map(|(a, b)| a | b).collect();
        let (mut yes, yes_undoing) = BranchSide::new(then, &mut first);
        let (mut no, no_undoing) = BranchSide::new(otherwise, &mut second);
        let undoing = [yes_undoing, no_undoing];
        let changed = changed([&mut yes, &mut no], &undoing);
        let residuals = residuals([&yes, &no], &undoing, &changed);
        let parameters: Vec<NodeId> = (0..then.body.arity() as NodeId).collect();
        let overwritten = [yes.overwritten, no.overwritten];
        let body = |side: usize, recording: &mut Recording| {
            let Recording { graph, results, .. } = recording;
            let count = results.len();
            let is_new = |residual: &&Stored| matches!(residual.place, Residual::Output(at) if at >= count);
            let mut outputs = results.clone();
            for residual in residuals.iter().filter(is_new) {
                let node = residual.sides[side].map(|kept| kept.node(&overwritten[side]));
                outputs.push(node.unwrap_or_else(|| zeros(graph, &residual.ty)));
            }
            extract_renamed(graph, &parameters, then.body.captures, &outputs, &undoing[side].renamed)
        };
        let bodies = [body(0, &mut first), body(1, &mut second)];
        ForwardBranch { bodies, moving, residuals, undoing, changed }
    }
}

/// The captures that one side changes by writes that are taken back, and the other as well or not at all: which result they
/// become. The other side is given them as they are in the end.
fn changed(sides: [&mut BranchSide; 2], undoing: &[Undoing; 2]) -> Vec<(usize, usize)> {
    let mut changed: Vec<(usize, usize)> = Vec::new();
    for at in 0..2 {
        for array in &undoing[at].arrays {
            let pair = (array.parameter, array.result);
            let other = &undoing[1 - at].arrays;
            let stays = sides[1 - at].recording.results[array.result] == array.parameter as NodeId;
            let is_changed = other.iter().any(|other| (other.parameter, other.result) == pair);
            if (stays || is_changed) && !changed.contains(&pair) {
                changed.push(pair);
                if stays {
                    sides[1 - at].held.given.insert(array.parameter as NodeId);
                }
            }
        }
    }
    changed
}

/// The backward pass: its captures are the cotangents of `read`, then the residuals, its results the cotangents
/// of `written`, and then, where they are asked for, the captures that were changed.
struct BackwardBranch {
    bodies: [Arc<Body>; 2],
    read: Vec<usize>,
    written: Vec<usize>,
}

impl BackwardBranch {
    fn new(
        (then, otherwise): &ActiveSides,
        (present, restores): &(Vec<bool>, bool),
        forward: &ForwardBranch,
    ) -> BackwardBranch {
        let arity = then.body.arity();
        let read: Vec<usize> = (0..present.len()).filter(|&at| present[at]).collect();
        // The derivative is one of a chosen branch, so cotangents are marked.
        let mut recordings = recordings((then, otherwise), present);
        let reached = |&at: &usize| recordings.iter().any(|recording| recording.adjoints[at].is_some());
        let written: Vec<usize> = (0..arity).filter(reached).collect();
        let mut body = |side: usize| {
            let Recording { graph, adjoints, results, again, .. } = &mut *recordings[side];
            let undoing = &forward.undoing[side];
            let mut parameters: Vec<NodeId> = read.iter().map(|&at| (arity + at) as NodeId).collect();
            let mut outcome: Vec<NodeId> = written
                .iter()
                .map(|&at| adjoints[at].unwrap_or_else(|| zeros(graph, then.body.parameter_type(at))))
                .collect();
            let all: Vec<Vec<NodeId>> = (0..undoing.arrays.len()).map(|at| undoing.overwritten(at, graph)).collect();
            let overwritten = all.concat();
            for residual in &forward.residuals {
                // A residual of the other side alone is a parameter that nothing reads: any new node of its type.
                let unread = |graph: &mut Graph| {
                    let zeros = zeros(graph, &residual.ty);
                    graph.add(Op::Alias, &[zeros])
                };
                let node = residual.sides[side].map(|kept| kept.node(&overwritten));
                parameters.push(node.unwrap_or_else(|| unread(graph)));
            }
            let mut restore = |again: &HashMap<NodeId, NodeId>| {
                let mut renamed = HashMap::new();
                let restored = |(array, overwritten): (&Undone, &Vec<NodeId>)| {
                    (array.parameter, array.restored(graph, overwritten, again, &mut renamed))
                };
                let first: HashMap<usize, NodeId> = undoing.arrays.iter().zip(&all).map(restored).collect();
                let changed = forward.changed.iter().filter(|_| *restores);
                // The other side's writes are none here.
                let first = |&(parameter, result): &(usize, usize)| *first.get(&parameter).unwrap_or(&results[result]);
                let outcome: Vec<NodeId> = outcome.iter().copied().chain(changed.map(first)).collect();
                let is_acyclic = again.is_empty() || is_acyclic(graph, &parameters, &outcome, &renamed);
                is_acyclic.then_some((outcome, renamed))
            };
            // A transpose that restores an array may need that array itself.
            let renamed = restore(again).or_else(|| restore(&HashMap::new()));
            let (all, renamed) = renamed.expect("what is not taken from elsewhere has no cycle");
            outcome = all;
            extract_renamed(graph, &parameters, parameters.len(), &outcome, &renamed)
        };
        let bodies = [body(0), body(1)];
        BackwardBranch { bodies, read, written }
    }
}

static FORWARD: Memo<ActiveSides, Arc<ForwardBranch>> = Memo::new();
static BACKWARD: Memo<(ActiveSides, (Vec<bool>, bool)), Arc<BackwardBranch>> = Memo::new();

/// A conditional as a linear map: how it was run, and the values that it left.
pub(crate) struct RolledBranch<A: Algebra> {
    sides: ActiveSides,
    forward: Arc<ForwardBranch>,
    condition: A::Array,
    residuals: Vec<A::Array>,
    /// The captures that are changed, as nodes of a recording.
    begun: Vec<Option<NodeId>>,
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
    let begun = forward.changed.iter().map(|&(parameter, _)| A::recorded(&primals[parameter])).collect();
    let [then, otherwise] = &forward.bodies;
    let mut outputs = A::branch(condition.clone(), then, otherwise, primals);
    let residuals = stored().zip(read).map(|(place, read)| place.or_output::<A>(read, &outputs)).collect();
    outputs.truncate(forward.moving.len());

    let moving = forward.moving.clone();
    let delta = Delta::rolled(RolledBranch { sides, forward, condition, residuals, begun }, deltas);
    let pick = |((position, primal), moves): ((usize, A::Array), bool)| DualArray {
        primal,
        delta: moves.then(|| delta.output(position)),
    };
    outputs.into_iter().enumerate().zip(moving).map(pick).collect()
}

impl<A: Algebra> Rolled<A> for RolledBranch<A> {
    fn name(&self) -> &'static str {
        "Branch"
    }

    fn transpose(&self, mut cotangents: Vec<Option<Cotangent<A>>>) -> Vec<Option<Cotangent<A>>> {
        cotangents.resize_with(self.forward.moving.len(), || None);
        let present: Vec<bool> = cotangents.iter().map(Option::is_some).collect();
        // Where this is written down, others may need the arrays that it restores.
        let asked = (present, self.begun.iter().any(Option::is_some));
        let backward = BACKWARD.get((self.sides.clone(), asked), |(sides, asked)| {
            Arc::new(BackwardBranch::new(sides, asked, &self.forward))
        });
        let taken = backward.read.iter().filter_map(|&at| cotangents[at].take().map(|cotangent| cotangent.array));
        let captures = taken.chain(self.residuals.iter().cloned()).collect();
        let [then, otherwise] = &backward.bodies;
        let outputs = A::branch(self.condition.clone(), then, otherwise, captures);
        let mut parts: Vec<Option<Cotangent<A>>> = Vec::new();
        parts.resize_with(self.sides.0.body.arity(), || None);
        let mut outputs = outputs.into_iter();
        for (&at, array) in backward.written.iter().zip(outputs.by_ref()) {
            parts[at] = Some(Cotangent { array, marked: true });
        }
        self.begun.iter().zip(outputs).for_each(|(&begun, array)| restored(begun, A::recorded(&array)));
        parts
    }
}
