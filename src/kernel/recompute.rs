//! Values that steps of a loop leave for a later loop, and those that the later loop recomputes.
//!
//! The derivative of a loop reads, at each step, values that the step computed. Where all of these together exceed the caches,
//! moving them costs more than a few operations on values that are read anyway: so the later loop takes the inputs of the
//! earlier one, or the carries before each step, and computes the rest. This is store or recompute, as for nests in
//! [`roots`](super::roots), between loops. Only elementwise operations and moves of elements are done twice, so that the values
//! are the same bits.

use crate::kernel::roots::{LoweringClass, class, own_cost};
use crate::shape::Type;
use crate::simplify::pruned;
use crate::term::{Body, Graph, Node, NodeId, Op, Scan};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

mod sweeps;

/// Bytes that loops leave for each other within the second-level cache.
pub(super) const LEFT: usize = 1 << 20;
/// The cost of writing eight bytes to memory, or of reading them, in simple operations on eight bytes.
const MOVED: f64 = 5.0;
/// The cost of writing eight bytes to the cache and reading them at once.
const PUT_TOGETHER: f64 = 2.0;
/// A value is computed again by at most so many operations, so that looking for them takes linear time.
const OPERATIONS: usize = 64;

/// The program with loops that recompute values where that is cheaper than moving them, if one loop leaves more than `left`
/// bytes for another.
pub(super) fn recomputed(body: &Body, left: usize) -> Cow<'_, Body> {
    let plans = plans(body, left);
    let sweeps = sweeps::recomputed(body, left);
    match plans.is_empty() && sweeps.is_empty() {
        true => Cow::Borrowed(body),
        false => Cow::Owned(pruned(rewritten(body, &plans, sweeps))),
    }
}

/// The values of one loop that later loops recompute.
struct RecomputationPlan {
    /// The loop that computes it first.
    first: NodeId,
    /// The later loops, each with its inputs that are outputs of the first loop: the input's position, and the value of the
    /// first loop's step.
    readers: BTreeMap<NodeId, Vec<(usize, NodeId)>>,
    choice: RecomputedValues,
}

fn loop_of(body: &Body, id: NodeId) -> Option<&Arc<Scan>> {
    match &body.node(id).op {
        Op::Scan(scan) => Some(scan),
        _ => None,
    }
}

fn plans(body: &Body, left: usize) -> Vec<RecomputationPlan> {
    let mut readers: BTreeMap<NodeId, BTreeMap<NodeId, Vec<(usize, NodeId)>>> = BTreeMap::new();
    for (at, node) in body.nodes.iter().enumerate() {
        let Op::Scan(reader) = &node.op else { continue };
        for position in reader.carries..reader.carries + reader.inputs {
            let stack = body.node(node.args[position]);
            if let Op::Output(output) = stack.op
                && let Some(first) = loop_of(body, stack.args[0])
                && first.length == reader.length
                && output >= first.carries
            {
                let of_first = readers.entry(stack.args[0]).or_default();
                of_first.entry(at as NodeId).or_default().push((position, first.body.results[output]));
            }
        }
    }
    if readers.is_empty() {
        return Vec::new();
    }
    let uses = body.use_counts();
    let mut plans: Vec<RecomputationPlan> = Vec::new();
    // Stacks that are not there any more.
    let mut gone: HashSet<NodeId> = HashSet::new();
    for (first, readers) in readers {
        let scan = loop_of(body, first).expect("a loop");
        // How often loops read the stack of each value of the step, counting only stacks that nothing else reads.
        let mut reads: BTreeMap<NodeId, (u32, NodeId)> = BTreeMap::new();
        for (&reader, inputs) in &readers {
            for &(position, value) in inputs {
                reads.entry(value).or_insert((0, body.node(reader).args[position])).0 += 1;
            }
        }
        reads.retain(|_, &mut (times, stack)| uses[stack as usize] == times);
        let step = &*scan.body;
        let reads_of_values = reads.iter().map(|(&value, &(times, _))| (value, times)).collect();
        if left_bytes(step, &reads_of_values, scan.length) <= left {
            continue;
        }
        let left =
            LeftValues { step, carries: scan.carries, kept: &step.results[scan.carries..], reads: reads_of_values };
        let is_there = |at: usize| !gone.contains(&body.node(first).args[at]);
        if let Some(choice) = left.choice(is_there) {
            gone.extend(choice.dropped.iter().map(|value| reads[value].1));
            plans.push(RecomputationPlan { first, readers, choice });
        }
    }
    plans
}

/// Bytes of values that so many steps leave.
fn left_bytes(step: &Body, values: &BTreeMap<NodeId, u32>, steps: usize) -> usize {
    let size = |&value: &NodeId| step.node(value).ty().bytes().unwrap_or(usize::MAX).saturating_mul(steps);
    values.keys().map(size).fold(0, usize::saturating_add)
}

/// The values that a step leaves for later ones.
struct LeftValues<'a> {
    step: &'a Body,
    /// The number of its leading parameters that are carries, which later steps do not have.
    carries: usize,
    /// The values that are kept.
    kept: &'a [NodeId],
    /// How often later steps read each value that nothing else reads.
    reads: BTreeMap<NodeId, u32>,
}

/// How much is computed again.
struct RecomputedValues {
    /// The values of the first loop's step that are not kept any more.
    dropped: BTreeSet<NodeId>,
    /// These, and the other values of the step that are computed for them.
    computed: BTreeSet<NodeId>,
    /// The carries of the first loop that are kept for that.
    carries: BTreeSet<usize>,
    /// Simple operations less in a step.
    saved: f64,
}

impl LeftValues<'_> {
    /// The values to recompute, if any, from the step's arguments that later steps have (`is_there`).
    fn choice(&self, is_there: impl Fn(usize) -> bool) -> Option<RecomputedValues> {
        let (without, with) = (self.cheaper(false, &is_there), self.cheaper(true, &is_there));
        let choice = if with.saved > without.saved { with } else { without };
        (choice.saved > 0.0).then_some(choice)
    }

    /// The values that are cheaper to recompute than to move, from kept values, from the step's arguments that later steps have
    /// (`is_there`), and, if `with_carries`, from carries. The number of reads weighs each value.
    fn cheaper(&self, with_carries: bool, is_there: &dyn Fn(usize) -> bool) -> RecomputedValues {
        let LeftValues { step, carries: first_carries, kept, reads } = self;
        let mut stacked: HashSet<NodeId> = kept.iter().copied().collect();
        let (dropped, computed, carries) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let mut choice = RecomputedValues { dropped, computed, carries, saved: 0.0 };
        let most = f64::from(reads.values().copied().max().unwrap_or(0));
        // The last ones first, which are computed from the others.
        for (&value, &times) in reads.iter().rev().filter(|&(&value, _)| value as usize >= step.arity()) {
            let times = f64::from(times);
            let gain = MOVED * (1.0 + times) * units(step.node(value).ty());
            let (mut cost, mut new, mut carries) = (0.0, BTreeSet::new(), Vec::new());
            let mut open = vec![value];
            while let Some(id) = open.pop().filter(|_| cost <= gain) {
                if new.len() > OPERATIONS {
                    cost = f64::INFINITY;
                }
                let at = id as usize;
                let is_known = choice.computed.contains(&id) || (id != value && stacked.contains(&id));
                if is_known || new.contains(&id) {
                    continue;
                }
                if at >= step.arity() {
                    new.insert(id);
                    cost += times * cost_again(step, step.node(id)).unwrap_or(f64::INFINITY);
                    open.extend(&step.node(id).args);
                } else if at < *first_carries && with_carries {
                    carries.push(at);
                } else if at < *first_carries || !is_there(at) {
                    cost = f64::INFINITY;
                }
            }
            if cost <= gain {
                stacked.remove(&value);
                choice.saved += gain - cost;
                choice.dropped.insert(value);
                choice.computed.extend(new);
                choice.carries.extend(carries);
            }
        }
        for &carry in &choice.carries {
            choice.saved -= MOVED * (1.0 + most) * units(step.parameter_type(carry));
        }
        choice
    }
}

/// Eight bytes are one.
fn units(ty: &Type) -> f64 {
    ty.exact_bytes() as f64 / 8.0
}

/// The cost of computing a node of a step again, in simple operations on eight bytes; `None` for nodes that are never
/// recomputed.
fn cost_again(step: &Body, node: &Node) -> Option<f64> {
    let cost = match (&node.op, class(step, node)) {
        (Op::Constant(_) | Op::Iota(_), _) => return Some(0.0),
        (Op::View(_), _) => 1.0,
        (_, LoweringClass::Parts | LoweringClass::Alias) => PUT_TOGETHER,
        (op, LoweringClass::Pointwise) => own_cost(op),
        _ => return None,
    };
    Some(cost * units(node.ty()))
}

/// The program with later loops that recompute values as planned. It still has the values that nothing reads now.
fn rewritten(body: &Body, plans: &[RecomputationPlan], mut sweeps: HashMap<NodeId, sweeps::ChangedSweeps>) -> Body {
    let mut graph = Graph::like(body);
    let mut ids: Vec<NodeId> = (0..body.arity() as NodeId).collect();
    let of_first: HashMap<NodeId, &RecomputationPlan> = plans.iter().map(|plan| (plan.first, plan)).collect();
    let mut of_reader: HashMap<NodeId, Vec<(&RecomputationPlan, &Vec<(usize, NodeId)>)>> = HashMap::new();
    for plan in plans {
        for (&reader, inputs) in &plan.readers {
            of_reader.entry(reader).or_default().push((plan, inputs));
        }
    }
    for (at, node) in body.nodes.iter().enumerate().skip(body.arity()) {
        let mut args: Vec<NodeId> = node.args.iter().map(|&arg| ids[arg as usize]).collect();
        let mut op = node.op.clone();
        if let Some(changed) = sweeps.remove(&(at as NodeId)) {
            args = changed.operands.iter().map(|&operand| args[operand]).collect();
            op = Op::Sweeps(Arc::new(changed.sweeps));
        }
        for &(plan, inputs) in of_reader.get(&(at as NodeId)).into_iter().flatten() {
            let Op::Scan(reader) = &op else { unreachable!("loops read stacks") };
            let first = loop_of(body, plan.first).expect("a loop");
            let outputs = first.carries..body.node(plan.first).types.len() + plan.choice.carries.len();
            let stacks = outputs.map(|position| graph.add(Op::Output(position), &[ids[plan.first as usize]]));
            let mut added: Vec<NodeId> = stacks.collect();
            let taken = body.node(plan.first).args[first.carries..].iter().map(|&arg| ids[arg as usize]);
            let end = reader.carries + reader.inputs;
            args.extend(taken.clone().skip(first.inputs));
            added.extend(taken.take(first.inputs));
            args.splice(end..end, added);
            op = Op::Scan(Arc::new(computing(first, reader, inputs, &plan.choice)));
        }
        if let (Op::Scan(first), Some(plan)) = (&op, of_first.get(&(at as NodeId))) {
            op = Op::Scan(Arc::new(stacking(first, &plan.choice)));
        }
        ids.push(graph.add(op, &args));
    }
    let results: Vec<NodeId> = body.results.iter().map(|&id| ids[id as usize]).collect();
    graph.finish(&results)
}

/// The first loop, with stacks of its carries after its outputs.
fn stacking(first: &Scan, choice: &RecomputedValues) -> Scan {
    let carries = choice.carries.iter().map(|&carry| carry as NodeId);
    let results = first.body.results.iter().copied().chain(carries).collect();
    Scan { body: Arc::new(Body { results, ..Body::clone(&first.body) }), ..Scan::clone(first) }
}

/// The reader, computing some of its inputs, outputs of the first loop: after its own inputs it takes all that the first one
/// stacks, and its inputs; after its own captures those of the first.
fn computing(first: &Scan, reader: &Scan, inputs: &[(usize, NodeId)], choice: &RecomputedValues) -> Scan {
    let before = &*first.body;
    let stacked = before.results[first.carries..].iter().copied().chain(choice.carries.iter().map(|&at| at as NodeId));
    let taken = (first.carries..before.parameters).map(|at| at as NodeId);
    let again = Again {
        before,
        choice,
        added: vec![(reader.body.parameters, stacked.chain(taken).collect())],
        captured: (before.parameters..before.arity()).map(|at| at as NodeId).collect(),
        known: Vec::new(),
    };
    let body = Arc::new(again.within(&reader.body, inputs));
    Scan { inputs: body.parameters - reader.carries, body, ..Scan::clone(reader) }
}

/// The values of a step that a later step recomputes.
struct Again<'a> {
    before: &'a Body,
    choice: &'a RecomputedValues,
    /// Values of the step that the later one takes in addition, as parameters before its own one at a position.
    added: Vec<(usize, Vec<NodeId>)>,
    /// Values of the step that are captures after the later one's own.
    captured: Vec<NodeId>,
    /// Values of the step that are parameters of the later one already.
    known: Vec<(NodeId, usize)>,
}

impl Again<'_> {
    /// The later step, with values of the step before in place of some of its parameters.
    fn within(&self, step: &Body, replaced: &[(usize, NodeId)]) -> Body {
        let (mut types, mut ids, mut taken) = (Vec::new(), Vec::new(), Vec::new());
        let mut add = |values: &[NodeId], types: &mut Vec<Type>| {
            for &id in values {
                taken.push((id, types.len() as NodeId));
                types.push(self.before.node(id).ty().clone());
            }
        };
        for at in 0..step.parameters {
            let added = self.added.iter().filter(|(position, _)| *position == at);
            added.for_each(|(_, values)| add(values, &mut types));
            ids.push(types.len() as NodeId);
            types.push(step.parameter_type(at).clone());
        }
        let added = self.added.iter().filter(|(position, _)| *position == step.parameters);
        added.for_each(|(_, values)| add(values, &mut types));
        let parameters = types.len();
        for at in step.parameters..step.arity() {
            ids.push(types.len() as NodeId);
            types.push(step.parameter_type(at).clone());
        }
        add(&self.captured, &mut types);
        taken.extend(self.known.iter().map(|&(id, parameter)| (id, ids[parameter])));
        let taken = taken.into_iter().filter(|(id, _)| !self.choice.dropped.contains(id));
        let mut values: HashMap<NodeId, NodeId> = taken.collect();
        let mut graph = Graph::new(&types, types.len() - parameters);
        for &id in &self.choice.computed {
            let node = self.before.node(id);
            let args: Vec<NodeId> = node.args.iter().map(|arg| values[arg]).collect();
            values.insert(id, graph.add(node.op.clone(), &args));
        }
        for &(at, value) in replaced {
            ids[at] = values[&value];
        }
        for node in &step.nodes[step.arity()..] {
            let args: Vec<NodeId> = node.args.iter().map(|&arg| ids[arg as usize]).collect();
            ids.push(graph.add(node.op.clone(), &args));
        }
        let results: Vec<NodeId> = step.results.iter().map(|&id| ids[id as usize]).collect();
        graph.finish(&results)
    }
}
