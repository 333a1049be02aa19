//! Results whose elements are all one: a program computes that one, and nothing writes it out before somebody wants memory.

use crate::affine::AffineMap;
use crate::array::Array;
use crate::shape::{Type, size};
use crate::term::{Body, Graph, NodeId, Op};
use smallvec::{SmallVec, smallvec};
use std::borrow::Cow;

/// The operation that results in the one element of an array that repeats it, of the same operands.
fn element(op: &Op, ty: &Type) -> Option<Op> {
    if ty.shape.is_empty() || size(&ty.shape) == 0 {
        return None;
    }
    match op {
        Op::Constant(array) => array.uniform().map(|value| Op::Constant(Array::full(&[], value))),
        Op::View(map) if map.is_inside() => {
            let rows = 0..map.source().len();
            let stays = |row: usize| map.row(row).iter().zip(map.result()).all(|(&c, &extent)| c == 0 || extent == 1);
            if !rows.clone().all(stays) {
                return None;
            }
            let offsets: SmallVec<[i64; 4]> = rows.clone().map(|row| map.offset(row)).collect();
            Some(Op::View(AffineMap::new(map.source(), &[], &vec![smallvec![]; rows.len()], &offsets)))
        }
        _ => None,
    }
}

/// A program that results in one element where a result repeats it, and for each result whether that is so.
pub(super) fn elements(body: &Body) -> (Cow<'_, Body>, Vec<bool>) {
    let of = |&id: &NodeId| element(&body.node(id).op, body.node(id).ty());
    let found: Vec<Option<Op>> = body.results().iter().map(of).collect();
    let uniform: Vec<bool> = found.iter().map(Option::is_some).collect();
    if !uniform.contains(&true) {
        return (Cow::Borrowed(body), uniform);
    }
    let mut graph = Graph::like(body);
    let ids = graph.append(body, 0..body.arity() as NodeId);
    let results = body.results().iter().zip(found).map(|(&id, op)| match op {
        None => ids[id as usize],
        Some(op) => {
            let args: SmallVec<[NodeId; 3]> = body.node(id).args.iter().map(|&arg| ids[arg as usize]).collect();
            graph.add(op, &args)
        }
    });
    let results: Vec<NodeId> = results.collect();
    (Cow::Owned(graph.finish(&results)), uniform)
}
