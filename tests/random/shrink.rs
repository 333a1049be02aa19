//! Shrinking: smaller programs that may still show a failure.

use super::arrays;
use super::generate::Case;
use deltaray::affine::AffineMap;
use deltaray::concrete::Array;
use deltaray::shape::{DType, Type, Value};
use deltaray::term::{Body, Branch, Build, Graph, NodeId, Op, Scan, Steps};
use quickcheck::{Arbitrary, Gen};
use std::collections::HashMap;
use std::sync::Arc;

/// One way to make a program smaller.
#[derive(Clone, Debug)]
enum Edit {
    /// These results only.
    Results(Vec<NodeId>),
    /// An earlier node of the same type in place of a node.
    Replace(NodeId, NodeId),
    /// Zeros in place of a node.
    Zero(NodeId),
    /// The body of a build at index 0, or one side of a conditional, in place of the node.
    Inline(NodeId, usize),
    /// An edit of a nested body: of a build or loop, or of a side of a conditional.
    Inner(NodeId, usize, Box<Edit>),
    /// A nested body without the capture at this place, which it does not use.
    Uncapture(NodeId, usize),
    /// The program without an unused parameter.
    DropParameter(usize),
    /// An input whose elements are all alike.
    Flatten(usize, u8),
}

impl Arbitrary for Case {
    fn arbitrary(g: &mut Gen) -> Case {
        Case::from_seed(u64::arbitrary(g))
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Case>> {
        let case = self.clone();
        let weight = weight(&case);
        let edits = edits(&case);
        Box::new(
            edits
                .into_iter()
                .map(move |edit| apply(&case, &edit))
                .filter(move |smaller| self::weight(smaller) < weight),
        )
    }
}

/// The smallest program that can be reached by edits under which it keeps failing.
///
/// After an edit that keeps the failure, the search goes on at the same place of the new list of edits, so that a pass
/// over a program is linear in its size.
pub fn minimal(case: &Case, most_attempts: usize, fails: &dyn Fn(&Case) -> bool) -> Case {
    let mut case = case.clone();
    let mut attempts = 0;
    loop {
        let mut progress = false;
        let mut at = 0;
        let mut list = edits(&case);
        while at < list.len() && attempts < most_attempts {
            let smaller = apply(&case, &list[at]);
            attempts += 1;
            if weight(&smaller) < weight(&case) && fails(&smaller) {
                case = smaller;
                list = edits(&case);
                progress = true;
            } else {
                at += 1;
            }
        }
        if !progress || attempts >= most_attempts {
            return case;
        }
    }
}

/// The size that shrinking reduces.
fn weight(case: &Case) -> usize {
    let inputs: usize = case
        .inputs
        .iter()
        .map(|input| match input.uniform() {
            Some(value) if value.to_f64() == 1.0 => 0,
            Some(_) => 1,
            None => 2,
        })
        .sum();
    body_weight(&case.body) * 4 + inputs
}

fn body_weight(body: &Body<Build>) -> usize {
    let node = |op: &Op<Build>| match op {
        Op::Parameter(_) => 1,
        Op::Constant(array) if array.uniform().is_some_and(|value| value.to_f64() == 0.0) => 1,
        Op::Scan(scan) => 4 + body_weight(&scan.body),
        Op::Branch(branch) => 4 + body_weight(&branch.then) + body_weight(&branch.otherwise),
        Op::Custom(custom) => 4 + custom.bodies().map(|body| body_weight(body)).sum::<usize>(),
        Op::Sweeps(sweeps) => 4 + sweeps.bodies().map(|body| body_weight(body)).sum::<usize>(),
        Op::Extra(build) => 4 + body_weight(&build.body),
        _ => 2,
    };
    body.nodes().iter().map(|n| node(&n.op)).sum::<usize>() + body.results().len()
}

fn edits(case: &Case) -> Vec<Edit> {
    let body = &case.body;
    let mut edits = Vec::new();
    for at in body.arity()..body.nodes().len() {
        let node = &body.nodes()[at];
        if !node.op.is_multiple() && node.ty().dtype.is_float() {
            edits.push(Edit::Results(vec![at as NodeId]));
        }
    }
    for dropped in 0..body.results().len() {
        let mut results = body.results().to_vec();
        results.remove(dropped);
        if results.iter().any(|&id| body.node(id).ty().dtype.is_float()) {
            edits.push(Edit::Results(results));
        }
    }
    body_edits(body, &mut |edit| edits.push(edit));
    let uses = body.use_counts();
    for position in (0..body.arity()).rev() {
        if uses[position] == 0 && body.arity() > 1 {
            edits.push(Edit::DropParameter(position));
        }
        edits.extend([Edit::Flatten(position, 0), Edit::Flatten(position, 1)]);
    }
    edits
}

/// The edits that keep the types of parameters and results.
fn body_edits(body: &Body<Build>, emit: &mut dyn FnMut(Edit)) {
    for at in (body.arity()..body.nodes().len()).rev() {
        let node = &body.nodes()[at];
        let id = at as NodeId;
        match &node.op {
            Op::Extra(build) => {
                emit(Edit::Inline(id, 0));
                let used = build.body.use_counts();
                let leading = build.extents.len();
                (0..node.args.len()).filter(|p| used[leading + p] == 0).for_each(|p| emit(Edit::Uncapture(id, p)));
            }
            Op::Custom(_) => emit(Edit::Inline(id, 0)),
            Op::Branch(branch) => {
                emit(Edit::Inline(id, 0));
                emit(Edit::Inline(id, 1));
                let (then, otherwise) = (branch.then.use_counts(), branch.otherwise.use_counts());
                (0..node.args.len() - 1)
                    .filter(|&p| then[p] == 0 && otherwise[p] == 0)
                    .for_each(|p| emit(Edit::Uncapture(id, p)));
            }
            Op::Scan(scan) => {
                let used = scan.body.use_counts();
                let leading = scan.carries + scan.inputs;
                (0..node.args.len() - leading)
                    .filter(|p| used[leading + p] == 0)
                    .for_each(|p| emit(Edit::Uncapture(id, p)));
            }
            _ => {}
        }
        if !node.op.is_multiple() {
            let alike = |other: &NodeId| {
                let candidate = body.node(*other);
                !candidate.op.is_multiple() && candidate.ty() == node.ty()
            };
            let mut others: Vec<NodeId> = node.args.iter().copied().filter(alike).collect();
            others.extend((0..id).filter(alike).take(2));
            others.dedup();
            let zero = matches!(&node.op, Op::Constant(_));
            others.into_iter().filter(|_| !zero).for_each(|other| emit(Edit::Replace(id, other)));
            emit(Edit::Zero(id));
        }
        match &node.op {
            Op::Extra(build) => body_edits(&build.body, &mut |edit| emit(Edit::Inner(id, 0, Box::new(edit)))),
            Op::Scan(scan) => body_edits(&scan.body, &mut |edit| emit(Edit::Inner(id, 0, Box::new(edit)))),
            // With a condition, an edit might make the loop endless.
            Op::Sweeps(sweeps) if matches!(sweeps.steps, Steps::Count(_)) => {
                for (side, body) in sweeps.bodies().enumerate() {
                    body_edits(body, &mut |edit| emit(Edit::Inner(id, side, Box::new(edit))));
                }
            }
            Op::Branch(branch) => {
                body_edits(&branch.then, &mut |edit| emit(Edit::Inner(id, 0, Box::new(edit))));
                body_edits(&branch.otherwise, &mut |edit| emit(Edit::Inner(id, 1, Box::new(edit))));
            }
            _ => {}
        }
    }
}

fn apply(case: &Case, edit: &Edit) -> Case {
    let mut case = case.clone();
    match edit {
        Edit::DropParameter(position) => {
            case.body = without_parameter(&case.body, *position);
            case.inputs.remove(*position);
        }
        Edit::Flatten(position, which) => {
            let ty = case.inputs[*position].ty();
            let value = match (which, ty.dtype) {
                (0, _) => 1.0,
                (_, DType::F32 | DType::F64) => 0.75,
                _ => 0.0,
            };
            case.inputs[*position] = arrays::full(&ty, value);
        }
        edit => case.body = apply_to_body(&case.body, edit),
    }
    case
}

fn zeros(ty: &Type) -> Op<Build> {
    Op::Constant(Array::full(&ty.shape, Value::from_f64(ty.dtype, 0.0)))
}

fn apply_to_body(body: &Body<Build>, edit: &Edit) -> Body<Build> {
    let mut graph = Graph::like(body);
    let mut ids: Vec<NodeId> = (0..body.arity() as NodeId).collect();
    // The outputs of conditionals that were replaced by one of their sides.
    let mut inlined: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
    for at in body.arity()..body.nodes().len() {
        let node = &body.nodes()[at];
        let id = at as NodeId;
        let args: Vec<NodeId> = node.args.iter().map(|&arg| ids[arg as usize]).collect();
        let new = match edit {
            Edit::Replace(target, other) if *target == id => ids[*other as usize],
            Edit::Zero(target) if *target == id => graph.add(zeros(node.ty()), &[]),
            Edit::Inline(target, side) if *target == id => match &node.op {
                Op::Extra(build) => {
                    let zero = graph.add(zeros(&Type::scalar(DType::I64)), &[]);
                    let arguments: Vec<NodeId> = build.extents.iter().map(|_| zero).chain(args).collect();
                    let element = inline(&mut graph, &build.body, &arguments)[0];
                    let from = graph.ty(element).shape.clone();
                    let leading = build.extents.len();
                    let axes: Vec<usize> = (leading..leading + from.len()).collect();
                    graph.add(Op::View(AffineMap::broadcast(&from, &node.ty().shape, &axes)), &[element])
                }
                Op::Custom(custom) => {
                    let outputs = inline(&mut graph, &custom.value, &args);
                    let first = outputs[0];
                    inlined.insert(id, outputs);
                    first
                }
                Op::Branch(branch) => {
                    let body = if *side == 0 { &branch.then } else { &branch.otherwise };
                    let outputs = inline(&mut graph, body, &args[1..]);
                    let first = outputs[0];
                    inlined.insert(id, outputs);
                    first
                }
                other => unreachable!("no nested body: {other:?}"),
            },
            Edit::Inner(target, side, edit) if *target == id => {
                let op =
                    with_bodies(
                        &node.op,
                        |position, body| {
                            if position == *side { apply_to_body(body, edit) } else { body.clone() }
                        },
                    );
                graph.add(op, &args)
            }
            Edit::Uncapture(target, capture) if *target == id => {
                let leading = node.args.len() - captures_of(&node.op, node.args.len());
                let op = with_bodies(&node.op, |_, body| {
                    without_parameter(body, body.arity() - captures_of(&node.op, node.args.len()) + capture)
                });
                let mut args = args;
                args.remove(leading + capture);
                graph.add(op, &args)
            }
            _ => match (&node.op, inlined.get(node.args.first().unwrap_or(&NodeId::MAX))) {
                (Op::Output(position), Some(outputs)) => outputs[*position],
                _ => graph.add(node.op.clone(), &args),
            },
        };
        ids.push(new);
    }
    let results = match edit {
        Edit::Results(results) => results,
        _ => body.results(),
    };
    let results: Vec<NodeId> = results.iter().map(|&id| ids[id as usize]).collect();
    graph.finish(&results)
}

/// How many of an operation's operands are captures of its nested bodies.
fn captures_of(op: &Op<Build>, operands: usize) -> usize {
    match op {
        Op::Scan(scan) => operands - scan.carries - scan.inputs,
        Op::Branch(_) => operands - 1,
        Op::Sweeps(sweeps) => operands - sweeps.captures(),
        Op::Extra(_) => operands,
        other => unreachable!("no nested body: {other:?}"),
    }
}

/// The operation with its nested bodies changed.
fn with_bodies(op: &Op<Build>, change: impl Fn(usize, &Body<Build>) -> Body<Build>) -> Op<Build> {
    match op {
        Op::Extra(build) => Op::Extra(Build { extents: build.extents.clone(), body: Arc::new(change(0, &build.body)) }),
        Op::Scan(scan) => Op::Scan(Arc::new(Scan { body: Arc::new(change(0, &scan.body)), ..(**scan).clone() })),
        Op::Sweeps(sweeps) => {
            let mut side = 0..;
            let change = |body: &Arc<Body<Build>>| Arc::new(change(side.next().expect("endless"), body));
            Op::Sweeps(Arc::new(sweeps.map_bodies(change)))
        }
        Op::Branch(branch) => Op::Branch(Arc::new(Branch {
            then: Arc::new(change(0, &branch.then)),
            otherwise: Arc::new(change(1, &branch.otherwise)),
        })),
        other => unreachable!("no nested body: {other:?}"),
    }
}

/// Copies a body's nodes into a graph, with these nodes for its parameters.
fn inline(graph: &mut Graph<Build>, body: &Body<Build>, arguments: &[NodeId]) -> Vec<NodeId> {
    let mut ids: Vec<NodeId> = arguments.to_vec();
    for node in &body.nodes()[body.arity()..] {
        let args: Vec<NodeId> = node.args.iter().map(|&arg| ids[arg as usize]).collect();
        ids.push(graph.add(node.op.clone(), &args));
    }
    body.results().iter().map(|&id| ids[id as usize]).collect()
}

/// The body without a parameter or capture that nothing uses.
fn without_parameter(body: &Body<Build>, position: usize) -> Body<Build> {
    let types: Vec<Type> =
        (0..body.arity()).filter(|&other| other != position).map(|other| body.parameter_type(other).clone()).collect();
    let captures = if position >= body.parameters() { body.captures() - 1 } else { body.captures() };
    let mut graph = Graph::new(&types, captures);
    let arguments: Vec<NodeId> = (0..body.arity())
        .map(|other| if other < position { other } else { other.saturating_sub(1) } as NodeId)
        .collect();
    let results = inline(&mut graph, body, &arguments);
    graph.finish(&results)
}
