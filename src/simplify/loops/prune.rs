//! A pass over whole programs: values without a user are dropped from loops and conditionals, values that stay the same in
//! every step are taken out, known sides are put in the place of their conditional, and arrays that a side scatters into are
//! made after it.

mod continued;
mod scattered;
mod slices;
mod sweeps;

use crate::affine::AffineMap;
use crate::array::Array;
use crate::shape::{Axes, Shape, Type, Value, size};
use crate::simplify::views::drop_columns;
use crate::term::recurrence::Recurrence;
use crate::term::{Body, Branch, Graph, NodeId, Op, Scan};
use continued::{Continued, ContinuedCarry, ordered};
use slices::{SliceSource, read_elementwise};
use smallvec::SmallVec;
use std::cell::LazyCell;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// The program with smaller loops and conditionals; `None` if they are as small as can be told.
///
/// It is a pass and not a rule because it needs to know which outputs are used.
pub(in crate::simplify) fn prune(body: &Body) -> Option<Body> {
    if !body.nodes.iter().any(|node| node.op.is_multiple()) {
        return None;
    }
    let body = &*ordered(body);
    let (live, used) = needed(body);
    let mut pass = PrunePass { graph: Graph::like(body), changed: false };
    let mut ids: Vec<NodeId> = (0..body.arity() as NodeId).collect();
    let mut outputs: HashMap<NodeId, Outputs> = HashMap::new();
    let continued = Continued::of(body, &live);
    for (at, node) in body.nodes.iter().enumerate().skip(body.arity()) {
        if !live[at] {
            ids.push(NodeId::MAX);
            continue;
        }
        if let Some(sum) = continued.sum(at as NodeId) {
            ids.push(pass.output(sum, &ids, &outputs));
            continue;
        }
        if let Op::Output(position) = node.op {
            ids.push(pass.output((node.args[0], position), &ids, &outputs));
            continue;
        }
        let mut args: SmallVec<[NodeId; 3]> = node.args.iter().map(|&arg| ids[arg as usize]).collect();
        for &ContinuedCarry { operand, start } in continued.carries(at as NodeId) {
            args[operand] = match continued.sum(start) {
                // It comes after this loop, but is known before.
                Some(sum) if start > at as NodeId => pass.output(sum, &ids, &outputs),
                _ => ids[start as usize],
            };
            pass.changed = true;
        }
        let replaced = match &node.op {
            Op::Scan(scan) => pass.scan(scan, &args, &used[at]),
            Op::Branch(branch) => pass.branch(branch, &args, &used[at]),
            Op::Sweeps(sweeps) => pass.sweeps(sweeps, &args, &used[at]),
            _ => None,
        };
        match replaced {
            Some(replaced) => {
                outputs.insert(at as NodeId, replaced);
                // Never looked up: only outputs use the node.
                ids.push(NodeId::MAX);
                pass.changed = true;
            }
            None => ids.push(pass.graph.add(node.op.clone(), &args)),
        }
    }
    if !pass.changed {
        return None;
    }
    let results: Vec<NodeId> = body.results.iter().map(|&id| ids[id as usize]).collect();
    Some(pass.graph.finish(&results))
}

/// Which nodes the results need, and which outputs of each loop and conditional. Inside of those, only the needs of needed
/// outputs count: a carry that nobody uses needs nothing from before the loop.
fn needed(body: &Body) -> (Vec<bool>, Vec<Vec<bool>>) {
    let mut live = vec![false; body.nodes.len()];
    let mut used: Vec<Vec<bool>> = body.nodes.iter().map(|node| vec![false; node.types.len()]).collect();
    body.results.iter().for_each(|&id| live[id as usize] = true);
    for (at, node) in body.nodes.iter().enumerate().rev() {
        if !live[at] {
            continue;
        }
        if let Op::Output(position) = node.op {
            used[node.args[0] as usize][position] = true;
        }
        let operands = match &node.op {
            Op::Scan(scan) => operands_of_scan(scan, &used[at]),
            Op::Branch(branch) => operands_of_branch(branch, &used[at]),
            Op::Sweeps(sweeps) => sweeps::operands(sweeps, &used[at]),
            _ => vec![true; node.args.len()],
        };
        for (&arg, _) in node.args.iter().zip(operands).filter(|&(_, is_needed)| is_needed) {
            live[arg as usize] = true;
        }
    }
    (live, used)
}

/// Which nodes of a loop's body some results need, in all steps: of a carry that is read that is its result, too.
fn live_in_steps(body: &Body, carries: usize, results: impl Iterator<Item = NodeId>) -> Vec<bool> {
    let mut live = vec![false; body.nodes.len()];
    let mut stack: Vec<NodeId> = results.collect();
    while let Some(id) = stack.pop() {
        let at = id as usize;
        if !std::mem::replace(&mut live[at], true) {
            stack.extend(&body.nodes[at].args);
            stack.extend((at < carries).then(|| body.results[at]));
        }
    }
    live
}

/// Which operands the used outputs of a loop need. Carries that are results start as something.
fn operands_of_scan(scan: &Scan, used: &[bool]) -> Vec<bool> {
    let results = scan.body.results.iter().zip(used).filter(|&(_, &used)| used);
    let mut live = live_in_steps(&scan.body, scan.carries, results.map(|(&result, _)| result));
    live.truncate(scan.body.arity());
    live.iter_mut().zip(&used[..scan.carries]).for_each(|(live, &used)| *live |= used);
    live
}

/// Which operands the used outputs of a conditional need.
fn operands_of_branch(branch: &Branch, used: &[bool]) -> Vec<bool> {
    let mut operands = vec![false; branch.then.arity()];
    for side in [&branch.then, &branch.otherwise] {
        let results = side.results.iter().zip(used).filter(|&(_, &used)| used);
        let live = live_in_steps(side, 0, results.map(|(&result, _)| result));
        operands.iter_mut().zip(live).for_each(|(operand, live)| *operand |= live);
    }
    operands.insert(0, true);
    operands
}

/// The replacement of a parameter of a nested body.
#[derive(Clone)]
enum Binding {
    /// Nothing needs it.
    Dropped,
    /// A parameter of the new body, within its kind: carry, input or capture.
    Carry(usize),
    Input(usize),
    Capture(usize),
    /// The result of this body, whose parameters are these.
    Inside(Arc<Body>, Vec<Binding>),
}

/// Positions that take at most so many operations are computed in every step, where reads and writes can be told by them.
const POSITIONS: usize = 16;

/// Operands without repetition.
#[derive(Default)]
struct DistinctOperands {
    nodes: Vec<NodeId>,
    places: HashMap<NodeId, usize>,
}

impl DistinctOperands {
    fn place(&mut self, node: NodeId) -> usize {
        *self.places.entry(node).or_insert_with(|| {
            self.nodes.push(node);
            self.nodes.len() - 1
        })
    }
}

struct PrunePass {
    graph: Graph,
    changed: bool,
}

/// The outputs in the new program, for those that are used.
type Outputs = Vec<Option<NodeId>>;

impl PrunePass {
    /// An output in the new program, of a node that may have been replaced.
    fn output(
        &mut self,
        (of, position): (NodeId, usize),
        ids: &[NodeId],
        outputs: &HashMap<NodeId, Outputs>,
    ) -> NodeId {
        match outputs.get(&of) {
            Some(replaced) => replaced[position].expect("an output that is used"),
            None => self.graph.add(Op::Output(position), &[ids[of as usize]]),
        }
    }

    fn constant(&self, node: NodeId) -> Option<Value> {
        match &self.graph.node(node).op {
            Op::Constant(array) => array.uniform(),
            _ => None,
        }
    }

    /// A node with a new outermost axis, along which it repeats.
    fn repeated(&mut self, node: NodeId, length: usize) -> NodeId {
        let shape = self.graph.ty(node).shape.clone();
        let mut result = shape.clone();
        result.insert(0, length);
        let axes: Axes = (1..result.len()).collect();
        self.graph.add(Op::View(AffineMap::broadcast(&shape, &result, &axes)), &[node])
    }

    fn types(&self, operands: &DistinctOperands) -> Vec<Type> {
        operands.nodes.iter().map(|&node| self.graph.ty(node).clone()).collect()
    }

    fn capture(&self, captures: &mut DistinctOperands, node: NodeId) -> Binding {
        match self.closed(node) {
            Some(body) => Binding::Inside(Arc::new(body), Vec::new()),
            None => Binding::Capture(captures.place(node)),
        }
    }

    /// A constant, or a few operations on positions along axes and constants; `None` for other nodes.
    fn closed(&self, node: NodeId) -> Option<Body> {
        let (mut needed, mut open) = (BTreeSet::new(), vec![node]);
        while let Some(id) = open.pop() {
            let node = self.graph.node(id);
            let is_closed = match &node.op {
                Op::Constant(array) => array.uniform().is_some(),
                Op::Unary(_) | Op::Binary(_) | Op::Compare(_) | Op::Select | Op::Cast(_) | Op::View(_) => {
                    !node.ty().dtype.is_float()
                }
                Op::Iota(_) => true,
                _ => false,
            };
            if !is_closed || needed.len() > POSITIONS {
                return None;
            }
            if needed.insert(id) {
                open.extend(&node.args);
            }
        }
        let mut graph = Graph::new(&[], 0);
        let mut ids: HashMap<NodeId, NodeId> = HashMap::new();
        for id in needed {
            let node = self.graph.node(id);
            let args: SmallVec<[NodeId; 3]> = node.args.iter().map(|arg| ids[arg]).collect();
            ids.insert(id, graph.add(node.op.clone(), &args));
        }
        Some(graph.finish(&[ids[&node]]))
    }

    /// A smaller loop for the used outputs; `None` if there is none.
    fn scan(&mut self, scan: &Scan, args: &[NodeId], used: &[bool]) -> Option<Outputs> {
        let body = &*scan.body;
        let mut outputs: Outputs = vec![None; used.len()];
        if scan.length == 0 {
            for (at, output) in outputs.iter_mut().enumerate().filter(|&(at, _)| used[at]) {
                *output = Some(match args[..scan.carries].get(at) {
                    Some(&carry) => carry,
                    None => {
                        let ty = body.node(body.results[at]).ty();
                        let mut shape: Shape = SmallVec::from_elem(0, 1);
                        shape.extend_from_slice(&ty.shape);
                        let zeros = Array::full(&shape, Value::from_i64(ty.dtype, 0));
                        self.graph.add(Op::Constant(zeros), &[])
                    }
                });
            }
            return Some(outputs);
        }
        let first_capture = scan.carries + scan.inputs;
        let invariant = |carry: usize| body.results[carry] as usize == carry;
        // Outputs that can be told without the loop.
        for at in (0..used.len()).filter(|&at| used[at]) {
            let result = body.results[at] as usize;
            outputs[at] = if at < scan.carries {
                invariant(at).then(|| args[at])
            } else if (scan.carries..first_capture).contains(&result) {
                Some(args[result])
            } else if result < body.arity() && (result >= first_capture || invariant(result)) {
                Some(self.repeated(args[result], scan.length))
            } else if let Op::Constant(array) = &body.nodes[result].op {
                let slice = self.graph.add(Op::Constant(array.clone()), &[]);
                Some(self.repeated(slice, scan.length))
            } else {
                None
            };
        }
        // The needs of the others, carries from step to step included.
        let asked: Vec<bool> = (0..used.len()).map(|at| used[at] && outputs[at].is_none()).collect();
        let results = (0..used.len()).filter(|&at| asked[at]).map(|at| body.results[at]);
        let live = live_in_steps(body, scan.carries, results);
        let carried: Vec<bool> = (0..scan.carries).map(|at| asked[at] || live[at] && !invariant(at)).collect();
        let mut carries: Vec<NodeId> = Vec::new();
        let (mut inputs, mut captures) = (DistinctOperands::default(), DistinctOperands::default());
        let mut bindings: Vec<Binding> = Vec::with_capacity(body.arity());
        let mut computes = false;
        // Recurrences keep captures as they are: they have a value of each for every place.
        let elementwise = LazyCell::new(|| match Recurrence::of(scan) {
            Some(_) => vec![false; args.len()],
            None => read_elementwise(body),
        });
        let reads = self.read_arrays((0..args.len()).filter(|&at| live[at]).map(|at| args[at]));
        for (at, &arg) in args.iter().enumerate() {
            bindings.push(if at < scan.carries && carried[at] {
                carries.push(arg);
                Binding::Carry(carries.len() - 1)
            } else if !live[at] {
                Binding::Dropped
            } else if (scan.carries..first_capture).contains(&at) {
                match self.computed_slice(arg) {
                    None => self.input(arg, &mut inputs, &mut captures),
                    Some((body, sources)) => {
                        computes = true;
                        let sources = sources.into_iter().map(|source| match source {
                            SliceSource::Slice(id) => self.input(id, &mut inputs, &mut captures),
                            SliceSource::Whole(id) => self.capture(&mut captures, id),
                        });
                        Binding::Inside(Arc::new(body), sources.collect())
                    }
                }
            } else if at >= first_capture
                && let Some((body, source)) = self.computed_capture(arg, &reads)
                && elementwise[at]
            {
                computes = true;
                Binding::Inside(Arc::new(body), vec![self.capture(&mut captures, source)])
            } else {
                self.capture(&mut captures, arg)
            });
        }
        // Stacked outputs that are equal are one.
        let mut results: Vec<NodeId> =
            (0..scan.carries).filter(|&carry| carried[carry]).map(|carry| body.results[carry]).collect();
        let mut stacked: HashMap<NodeId, usize> = HashMap::new();
        let mut positions: Vec<Option<usize>> = vec![None; used.len()];
        let mut next_carry = 0..;
        for at in 0..used.len() {
            if at < scan.carries {
                positions[at] = if carried[at] { next_carry.next() } else { None };
            } else if asked[at] {
                positions[at] = Some(*stacked.entry(body.results[at]).or_insert_with(|| {
                    results.push(body.results[at]);
                    results.len() - 1
                }));
            }
        }
        let kept = carries.len() + inputs.nodes.len() + captures.nodes.len();
        let is_same = kept == args.len() && results.len() == used.len() && inputs.nodes.len() == scan.inputs;
        if is_same && !computes {
            return None;
        }
        if results.is_empty() {
            return Some(outputs);
        }
        let starts = (carries.len(), carries.len() + inputs.nodes.len());
        let smaller = rebuild(body, &bindings, starts, &self.types(&captures), &results);
        let smaller = Scan {
            body: Arc::new(smaller),
            carries: carries.len(),
            inputs: inputs.nodes.len(),
            length: scan.length,
            reverse: scan.reverse,
        };
        let mut operands = carries;
        operands.extend(inputs.nodes);
        operands.extend(captures.nodes);
        let node = self.graph.add(Op::Scan(Arc::new(smaller)), &operands);
        for at in (0..used.len()).filter(|&at| used[at]) {
            if let Some(position) = positions[at] {
                outputs[at] = Some(self.graph.add(Op::Output(position), &[node]));
            }
        }
        Some(outputs)
    }

    /// An input, or the value that all its slices have.
    fn input(&mut self, input: NodeId, inputs: &mut DistinctOperands, captures: &mut DistinctOperands) -> Binding {
        match self.slice(input) {
            Some(slice) => self.capture(captures, slice),
            None => Binding::Input(inputs.place(input)),
        }
    }

    /// One slice of an input whose slices are all the same.
    fn slice(&mut self, input: NodeId) -> Option<NodeId> {
        if let Some(value) = self.constant(input) {
            let slice = Array::full(&self.graph.ty(input).shape[1..], value);
            return Some(self.graph.add(Op::Constant(slice), &[]));
        }
        let node = self.graph.node(input);
        let Op::View(map) = &node.op else { return None };
        if !map.ignored().contains(&0) || size(map.result()) == 0 {
            return None;
        }
        let (map, source) = (drop_columns(map, &[0]), node.args[0]);
        Some(if map.is_identity() { source } else { self.graph.add(Op::View(map), &[source]) })
    }

    /// The chosen side of a conditional, or a smaller conditional; `None` if there is neither.
    fn branch(&mut self, branch: &Branch, args: &[NodeId], used: &[bool]) -> Option<Outputs> {
        let chosen = match self.constant(args[0]) {
            Some(Value::Bool(true)) => Some(&branch.then),
            Some(Value::Bool(false)) => Some(&branch.otherwise),
            _ => (branch.then == branch.otherwise).then_some(&branch.then),
        };
        if let Some(chosen) = chosen {
            return Some(self.inline(chosen, &args[1..], used));
        }
        if let Some(outputs) = self.updates_of_branch(branch, args, used) {
            return Some(outputs);
        }
        let sides = [&*branch.then, &*branch.otherwise];
        let wanted: Vec<usize> = (0..used.len()).filter(|&at| used[at]).collect();
        let mut captures = DistinctOperands::default();
        let bindings: Vec<Binding> = args
            .iter()
            .zip(operands_of_branch(branch, used))
            .skip(1)
            .map(|(&arg, live)| if live { self.capture(&mut captures, arg) } else { Binding::Dropped })
            .collect();
        if captures.nodes.len() == args.len() - 1 && wanted.len() == used.len() {
            return None;
        }
        let [then, otherwise] = sides.map(|side| {
            let results: Vec<NodeId> = wanted.iter().map(|&at| side.results[at]).collect();
            let own = if side.captures == 0 { Vec::new() } else { self.types(&captures) };
            Arc::new(rebuild(side, &bindings, (0, 0), &own, &results))
        });
        let mut operands = vec![args[0]];
        operands.extend(captures.nodes);
        let node = self.graph.add(Op::Branch(Arc::new(Branch { then, otherwise })), &operands);
        let mut outputs: Outputs = vec![None; used.len()];
        for (position, &at) in wanted.iter().enumerate() {
            outputs[at] = Some(self.graph.add(Op::Output(position), &[node]));
        }
        Some(outputs)
    }

    /// The used results of a body, inlined. Only needed operands are available; floats keep the mark of a chosen side.
    fn inline(&mut self, body: &Body, operands: &[NodeId], used: &[bool]) -> Outputs {
        let wanted: Vec<usize> = (0..used.len()).filter(|&at| used[at]).collect();
        let results: Vec<NodeId> = wanted.iter().map(|&at| body.results[at]).collect();
        let body = body.with_results(&results);
        let ids = self.graph.append(&body, operands.iter().copied());
        let mut outputs: Outputs = vec![None; used.len()];
        for (&at, &result) in wanted.iter().zip(&body.results) {
            let value = ids[result as usize];
            let float = self.graph.ty(value).dtype.is_float();
            outputs[at] = Some(if float { self.graph.add(Op::Mark, &[value]) } else { value });
        }
        outputs
    }
}

/// The body with other parameters and some of its results. `starts` are the positions of the first input and of the first
/// capture among the new parameters; `captures` are the types of all captures, perhaps more than the body has a use for.
fn rebuild(body: &Body, bindings: &[Binding], starts: (usize, usize), captures: &[Type], results: &[NodeId]) -> Body {
    let position = |binding: &Binding| match binding {
        Binding::Carry(at) => Some(*at),
        Binding::Input(at) => Some(starts.0 + at),
        Binding::Capture(at) => Some(starts.1 + at),
        Binding::Dropped | Binding::Inside(..) => None,
    };
    let mut types: Vec<Option<Type>> = Vec::new();
    let mut bind = |binding: &Binding, ty: &Type| {
        if let Some(position) = position(binding) {
            types.resize(types.len().max(position + 1), None);
            types[position] = Some(ty.clone());
        }
    };
    for (at, binding) in bindings.iter().enumerate() {
        bind(binding, body.parameter_type(at));
        if let Binding::Inside(inner, sources) = binding {
            sources.iter().enumerate().for_each(|(at, source)| bind(source, inner.parameter_type(at)));
        }
    }
    types.resize(types.len().max(starts.1), None);
    types.truncate(starts.1);
    let own = types.into_iter().map(|ty| ty.expect("every parameter is bound"));
    let types: Vec<Type> = own.chain(captures.iter().cloned()).collect();
    let mut graph = Graph::new(&types, captures.len());
    let mut live = vec![false; body.nodes.len()];
    results.iter().for_each(|&id| live[id as usize] = true);
    for at in (0..body.nodes.len()).rev().filter(|&at| at >= body.arity()) {
        if live[at] {
            body.nodes[at].args.iter().for_each(|&arg| live[arg as usize] = true);
        }
    }
    let mut ids: Vec<NodeId> = Vec::with_capacity(body.nodes.len());
    for (at, node) in body.nodes.iter().enumerate() {
        ids.push(match bindings.get(at) {
            Some(Binding::Inside(inner, sources)) => {
                let given = sources.iter().map(|source| match source {
                    Binding::Inside(inner, _) => graph.append(inner, [])[inner.results[0] as usize],
                    source => position(source).expect("it is bound") as NodeId,
                });
                let given: Vec<NodeId> = given.collect();
                graph.append(inner, given)[inner.results[0] as usize]
            }
            Some(binding) => position(binding).map_or(NodeId::MAX, |position| position as NodeId),
            None if !live[at] => NodeId::MAX,
            None => {
                let args: SmallVec<[NodeId; 3]> = node.args.iter().map(|&arg| ids[arg as usize]).collect();
                graph.add(node.op.clone(), &args)
            }
        });
    }
    let results: Vec<NodeId> = results.iter().map(|&id| ids[id as usize]).collect();
    graph.finish(&results)
}
