//! Loops with a condition on a side of a choice between elements of a build: both sides run for all elements, so such a loop
//! must have no step for those that chose the other side, for which it may never end.

use crate::array::Array;
use crate::operation::Binary;
use crate::shape::{DType, Type, Value};
use crate::term::{Body, Build, Graph, NodeId, Op, Scan, Steps, Sweeps};
use smallvec::SmallVec;
use std::sync::Arc;

/// Whether a body has a loop with a condition, nested ones too.
pub(super) fn has_condition(body: &Body<Build>) -> bool {
    body.nodes.iter().any(|node| is_conditional(&node.op))
}

fn is_conditional(op: &Op<Build>) -> bool {
    match op {
        Op::Sweeps(sweeps) => {
            matches!(sweeps.steps, Steps::While(_)) || sweeps.bodies().any(|body| has_condition(body))
        }
        Op::Scan(scan) => has_condition(&scan.body),
        Op::Branch(branch) => has_condition(&branch.then) || has_condition(&branch.otherwise),
        Op::Extra(build) => has_condition(&build.body),
        _ => false,
    }
}

/// The body with one more capture, a truth value: loops with a condition have steps only where it is true (or, if not
/// `chosen`, where it is false).
pub(super) fn guarded(body: &Body<Build>, chosen: bool) -> Body<Build> {
    let mut types: Vec<Type> = (0..body.arity()).map(|at| body.parameter_type(at).clone()).collect();
    types.push(Type::scalar(DType::Bool));
    let mut graph = Graph::new(&types, body.captures + 1);
    let mut mask = body.arity() as NodeId;
    if !chosen {
        let no = graph.add(Op::Constant(Array::full(&[], Value::Bool(false))), &[]);
        mask = graph.add(Op::Compare(crate::operation::Comparison::Equal), &[mask, no]);
    }
    let mut ids: Vec<NodeId> = (0..body.arity() as NodeId).collect();
    let nested = |body: &Arc<Body<Build>>| Arc::new(guarded(body, true));
    for node in &body.nodes[body.arity()..] {
        let mut args: SmallVec<[NodeId; 3]> = node.args.iter().map(|&arg| ids[arg as usize]).collect();
        let op = match &node.op {
            op if !is_conditional(op) => op.clone(),
            op => {
                args.push(mask);
                match op {
                    Op::Sweeps(sweeps) => Op::Sweeps(Arc::new(guarded_sweeps(sweeps))),
                    Op::Scan(scan) => Op::Scan(Arc::new(Scan { body: nested(&scan.body), ..Scan::clone(scan) })),
                    Op::Branch(branch) => {
                        let (then, otherwise) = (nested(&branch.then), nested(&branch.otherwise));
                        Op::Branch(Arc::new(crate::term::Branch { then, otherwise }))
                    }
                    Op::Extra(build) => Op::Extra(Build { extents: build.extents.clone(), body: nested(&build.body) }),
                    _ => unreachable!("nothing else has loops inside"),
                }
            }
        };
        ids.push(graph.add(op, &args));
    }
    let results: Vec<NodeId> = body.results.iter().map(|&id| ids[id as usize]).collect();
    graph.finish(&results)
}

/// The loop with one more capture, without which its condition does not hold.
fn guarded_sweeps(sweeps: &Sweeps<Build>) -> Sweeps<Build> {
    let mut all = sweeps.map_bodies(|body| Arc::new(guarded(body, true)));
    if let Steps::While(condition) = &mut all.steps {
        let mask = condition.arity() as NodeId - 1;
        let mut graph = Graph::like(&**condition);
        let ids = graph.append(condition, 0..=mask);
        let holds = graph.add(Op::Binary(Binary::And), &[mask, ids[condition.results[0] as usize]]);
        *condition = Arc::new(graph.finish(&[holds]));
    }
    all
}
