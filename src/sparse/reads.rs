//! Reads of the input cut off into inputs of their own.
//!
//! A program that gathers from its input, as every residual of a bundle adjustment does from its camera and its point, has rows
//! that share columns with many others. With respect to the elements that it *gathers*, each row has columns of its own: every
//! read of the input becomes a private copy, and the columns of the copies map to columns of the input through the reads'
//! positions. Rows that share an element of the input, but no copy of it, then get one colour.

use super::array::SparsityArray;
use super::run::run;
use crate::evaluate::Failure;
use crate::shape::Type;
use crate::term::{Body, Graph, NodeId, Op};
use smallvec::SmallVec;
use std::collections::HashMap;

/// A program as a function of the elements that it reads of its input.
pub(super) struct Reads {
    /// From the copies, then all parameters, to the results; of the active float parameters only copies are used.
    pub(super) body: Body,
    /// From the parameters to the copies.
    pub(super) selection: Body,
}

/// The most nodes that count as reads. In a program with more, each row is computed from many reads, whose columns together
/// would grow with the square of the program.
const READS: usize = 256;

/// A read has at most so many copies; its last users share one.
const COPIES: usize = 8;

/// Which nodes of a program do nothing but read one of its first `active` parameters, if it is a float; gathers only where
/// `known` says that their positions are known.
fn selections(body: &Body, active: usize, known: impl Fn(&[NodeId]) -> bool) -> Vec<bool> {
    let mut selected: Vec<bool> =
        (0..body.arity()).map(|at| at < active && body.parameter_type(at).dtype.is_float()).collect();
    let mut room = READS;
    for node in &body.nodes[body.arity()..] {
        let reads = room > 0
            && match node.op {
                Op::View(_) | Op::Reshape(_) => selected[node.args[0] as usize],
                Op::Gather => selected[node.args[0] as usize] && known(&node.args[1..]),
                _ => false,
            };
        room -= usize::from(reads);
        selected.push(reads);
    }
    selected
}

/// Cuts off the reads of the first `active` parameters of a program, at positions that are constant or computed of the
/// parameters whose values are known.
///
/// # Errors
///
/// When there is no memory for the positions.
pub(super) fn cut(body: &Body, active: usize, parameters: &[SparsityArray]) -> Result<Reads, Failure> {
    let mut positions: Vec<NodeId> = Vec::new();
    let possible = selections(body, active, |_| true);
    for node in &body.nodes {
        if node.op == Op::Gather && possible[node.args[0] as usize] {
            positions.extend_from_slice(&node.args[1..]);
        }
    }
    positions.sort_unstable();
    positions.dedup();
    let values = run(&body.with_results(&positions), parameters.to_vec())?;
    let known = |indices: &[NodeId]| {
        let is_known = |index: &NodeId| positions.binary_search(index).is_ok_and(|at| values[at].elements().is_some());
        indices.iter().all(is_known)
    };
    let selected = selections(body, active, known);

    // A copy for each node that reads and each user of it, as long as there are few: two users of one element are apart.
    let mut copies: Vec<NodeId> = Vec::new();
    let mut numbers: HashMap<(NodeId, usize), usize> = HashMap::new();
    let mut made: HashMap<NodeId, (usize, usize)> = HashMap::new();
    let mut copy = |read: NodeId, user: usize| {
        numbers.entry((read, user)).or_insert_with(|| {
            let (count, last) = made.entry(read).or_insert((0, 0));
            if *count < COPIES {
                copies.push(read);
                (*count, *last) = (*count + 1, copies.len() - 1);
            }
            *last
        });
    };
    for (user, node) in body.nodes.iter().enumerate().filter(|&(user, _)| !selected[user]) {
        node.args.iter().filter(|&&arg| selected[arg as usize]).for_each(|&arg| copy(arg, user));
    }
    let of_result = |position: usize| body.nodes.len() + position;
    for (position, &result) in body.results.iter().enumerate().filter(|(_, result)| selected[**result as usize]) {
        copy(result, of_result(position));
    }

    let mut types: Vec<Type> = copies.iter().map(|&read| body.node(read).ty().clone()).collect();
    types.extend((0..body.arity()).map(|at| body.parameter_type(at).clone()));
    let mut graph: Graph = Graph::new(&types, 0);
    let mut ids: Vec<NodeId> = (0..body.arity()).map(|at| (copies.len() + at) as NodeId).collect();
    let place = |ids: &[NodeId], arg: NodeId, user: usize| match numbers.get(&(arg, user)) {
        Some(&number) => number as NodeId,
        None => ids[arg as usize],
    };
    for (user, node) in body.nodes.iter().enumerate().skip(body.arity()) {
        let args: SmallVec<[NodeId; 3]> = node.args.iter().map(|&arg| place(&ids, arg, user)).collect();
        ids.push(graph.add(node.op.clone(), &args));
    }
    let results: Vec<NodeId> =
        body.results.iter().enumerate().map(|(position, &result)| place(&ids, result, of_result(position))).collect();
    Ok(Reads { body: graph.finish(&results), selection: body.with_results(&copies) })
}
