//! The interpretation of a term in any algebra (P C.3): the unique homomorphism out of terms.

use crate::affine::AffineMap;
use crate::operation::Binary;
use crate::shape::{Axes, is_sparse, size};
use crate::term::interpreter::{Arrays, Interpreter};
use crate::term::op::{Body, Node, NodeId};
use crate::term::op::{Build, Extension, Never, Op};
use smallvec::smallvec;
use std::convert::Infallible;

/// The value of a node: one array, or the outputs of an operation that has several.
pub(crate) enum NodeValue<T> {
    Empty,
    One(T),
    Several(Vec<Option<T>>),
    /// An addition at some positions of zeros, deferred until it is known whether it is added to an array.
    Later(Addition, Vec<T>),
    /// An array whose axes a view permutes, and that is only read in parts.
    Permuted(T),
}

/// An addition at some positions of zeros.
pub(crate) struct Addition {
    /// The node, whose operands are known.
    node: NodeId,
    pub(crate) positions: UpdatePositions,
}

pub(crate) enum UpdatePositions {
    /// The positions of a map, as in [`Op::Accumulate`].
    Affine(AffineMap),
    /// The positions of [`Op::Scatter`].
    Computed,
    /// The positions of [`Op::Scatter`]; each of their axes is this one of the result.
    Permuted(Axes),
}

impl UpdatePositions {
    /// Where an operation adds, if it does. A view that puts a few elements among zeros does too.
    pub(crate) fn of<X>(op: &Op<X>) -> Option<UpdatePositions> {
        match op {
            Op::Scatter(_) => Some(UpdatePositions::Computed),
            Op::Accumulate(map) => Some(UpdatePositions::Affine(map.clone())),
            Op::View(map) if !map.is_inside() && is_sparse(size(map.source()), size(map.result())) => {
                map.adjoint().map(UpdatePositions::Affine)
            }
            _ => None,
        }
    }
}

/// For each node whether it permutes the axes of an array that is only read in a few elements; empty where no node does.
pub(crate) fn permuted_for_parts<X>(body: &Body<X>) -> Vec<bool> {
    let is_permuting = |node: &Node<X>| matches!(&node.op, Op::View(map) if map.permutation().is_some());
    if !body.nodes.iter().any(|node| matches!(node.op, Op::Gather)) || !body.nodes.iter().any(is_permuting) {
        return Vec::new();
    }
    let mut is_permuted: Vec<bool> = body.nodes.iter().map(is_permuting).collect();
    for node in &body.nodes {
        for (place, &arg) in node.args.iter().enumerate() {
            let reads_a_part = || {
                let source = body.nodes[arg as usize].ty();
                matches!(node.op, Op::Gather) && place == 0 && is_sparse(node.ty().size(), source.size())
            };
            is_permuted[arg as usize] = is_permuted[arg as usize] && reads_a_part();
        }
    }
    body.results.iter().for_each(|&result| is_permuted[result as usize] = false);
    is_permuted
}

/// Runs a bulk program on the arrays of an algebra: the values of its results.
///
/// An array is given away at its last use, so that an instance can reuse its buffer. The arguments are the parameters and
/// captures, of the types that the body declares.
pub fn interpret<A: Interpreter>(body: &Body, arguments: Vec<A::Array>) -> Vec<A::Array> {
    debug_assert!(fit::<A, Never>(&arguments, body));
    match run::<A::Array, Never, Infallible>(body, arguments, &|node, args| Ok(evaluate::<A>(node, args)), None) {
        Ok(values) => values,
        Err(never) => match never {},
    }
}

/// Whether arrays are of the types of a body's parameters and captures.
pub(crate) fn fit<A: Interpreter, X: Extension>(arguments: &[A::Array], body: &Body<X>) -> bool {
    arguments.iter().enumerate().all(|(position, argument)| A::type_of(argument) == *body.parameter_type(position))
}

/// A node of a bulk program on the arrays of an algebra. It is no output of another.
pub(crate) fn evaluate<A: Interpreter>(node: &Node, args: Arrays<A::Array>) -> NodeValue<A::Array> {
    match &node.op {
        Op::Scan(scan) => {
            let mut args = args.into_iter();
            let carries = args.by_ref().take(scan.carries).collect();
            let inputs = args.by_ref().take(scan.inputs).collect();
            several(A::scan(scan, carries, inputs, args.collect()))
        }
        Op::Branch(branch) => {
            let mut args = args.into_iter();
            let condition = args.next().expect("a branch has a condition");
            several(A::branch(condition, &branch.then, &branch.otherwise, args.collect()))
        }
        Op::Custom(custom) => several(A::custom(custom, args.into_vec())),
        Op::Sweeps(sweeps) => several(A::sweeps(sweeps, args.into_vec())),
        Op::Extra(never) => match *never {},
        op => NodeValue::One(apply::<A>(op, args)),
    }
}

/// The outputs of an operation that has several.
pub(crate) fn several<T>(outputs: Vec<T>) -> NodeValue<T> {
    NodeValue::Several(outputs.into_iter().map(Some).collect())
}

/// How an algebra reads and writes at some positions of an array, without another one as large.
pub(crate) trait PartialAccess<T, X, E> {
    /// Adds the result of a node, an addition with these operands, to an array.
    fn add(&self, node: &Node<X>, positions: &UpdatePositions, target: T, operands: Arrays<T>) -> Result<T, E>;

    /// The result of a gather, of an array of which each axis is this one of the array that is read.
    fn gather(&self, node: &Node<X>, axes: &[usize], source: T, indices: Arrays<T>) -> Result<T, E>;
}

/// Walks the arena of a body once, asks `evaluate` for each node that is used, and hands every array over at its last use.
///
/// Where there are `parts`, they are asked for sums of an array with one that is added at some positions of zeros, and for a few
/// elements of an array with its axes in another order, which are then not made.
///
/// # Errors
///
/// The first error of either.
pub(crate) fn run<T: Clone, X: Extension, E>(
    body: &Body<X>,
    arguments: Vec<T>,
    evaluate: &dyn Fn(&Node<X>, Arrays<T>) -> Result<NodeValue<T>, E>,
    parts: Option<&dyn PartialAccess<T, X, E>>,
) -> Result<Vec<T>, E> {
    debug_assert_eq!(arguments.len(), body.arity());
    let is_permuted = parts.map_or(Vec::new(), |_| permuted_for_parts(body));
    let slots = Vec::with_capacity(body.nodes.len());
    let mut walk = BodyWalk::<T, X, E> { body, evaluate, slots, remaining: body.use_counts() };
    for (position, argument) in arguments.into_iter().enumerate() {
        walk.slots.push(if walk.remaining[position] == 0 { NodeValue::Empty } else { NodeValue::One(argument) });
    }
    for (at, node) in body.nodes.iter().enumerate().skip(body.arity()) {
        if walk.remaining[at] == 0 {
            walk.slots.push(NodeValue::Empty);
            node.args.iter().for_each(|&arg| drop(walk.release(arg as usize)));
            continue;
        }
        if let Op::Output(position) = node.op {
            let source = node.args[0] as usize;
            let value = match &mut walk.slots[source] {
                NodeValue::Several(outputs) => {
                    outputs[position].take().expect("each output is taken once: nodes are unique")
                }
                _ => unreachable!("an output of an operation with one output"),
            };
            walk.release(source);
            walk.slots.push(NodeValue::One(value));
            continue;
        }
        let slot = match parts {
            Some(_) if is_permuted.get(at) == Some(&true) => NodeValue::Permuted(walk.take(node.args[0] as usize)?),
            Some(_)
                if walk.remaining[at] == 1
                    && let Some(later) = walk.later(at as NodeId, node)? =>
            {
                later
            }
            Some(parts) if matches!(node.op, Op::Binary(Binary::Add)) => walk.sum(node, parts)?,
            Some(parts) if matches!(node.op, Op::Gather) => walk.gather(node, parts)?,
            _ => walk.evaluated(node)?,
        };
        walk.slots.push(slot);
    }
    body.results.iter().map(|&result| walk.take(result as usize)).collect()
}

/// The values of a body's nodes, as far as they are known and still used.
struct BodyWalk<'a, T, X: Extension, E> {
    body: &'a Body<X>,
    evaluate: &'a dyn Fn(&Node<X>, Arrays<T>) -> Result<NodeValue<T>, E>,
    slots: Vec<NodeValue<T>>,
    remaining: Vec<u32>,
}

impl<T: Clone, X: Extension, E> BodyWalk<'_, T, X, E> {
    fn evaluated(&mut self, node: &Node<X>) -> Result<NodeValue<T>, E> {
        let operands = self.operands(node)?;
        (self.evaluate)(node, operands)
    }

    fn operands(&mut self, node: &Node<X>) -> Result<Arrays<T>, E> {
        node.args.iter().map(|&arg| self.take(arg as usize)).collect()
    }

    /// A node that adds at some positions of zeros, as one that waits for an array.
    fn later(&mut self, id: NodeId, node: &Node<X>) -> Result<Option<NodeValue<T>>, E> {
        if let Some(positions) = UpdatePositions::of(&node.op) {
            let operands = self.operands(node)?.into_vec();
            return Ok(Some(NodeValue::Later(Addition { node: id, positions }, operands)));
        }
        let Op::View(map) = &node.op else { return Ok(None) };
        let source = node.args[0] as usize;
        let waits =
            matches!(&self.slots[source], NodeValue::Later(Addition { positions: UpdatePositions::Computed, .. }, _));
        let Some(axes) = map.permutation().filter(|_| waits) else { return Ok(None) };
        let NodeValue::Later(Addition { node, .. }, operands) = self.release(source) else {
            unreachable!("what waits is used once")
        };
        Ok(Some(NodeValue::Later(Addition { node, positions: UpdatePositions::Permuted(axes) }, operands)))
    }

    /// The sum of two arrays, one of which may be waiting to be added to the other.
    fn sum(&mut self, node: &Node<X>, parts: &dyn PartialAccess<T, X, E>) -> Result<NodeValue<T>, E> {
        let waits = |&arg: &NodeId| matches!(self.slots[arg as usize], NodeValue::Later(..));
        let Some(place) = node.args.iter().position(waits) else { return self.evaluated(node) };
        let added = node.args[place] as usize;
        let NodeValue::Later(addition, operands) = self.release(added) else { unreachable!("what waits is used once") };
        let target = self.take(node.args[1 - place] as usize)?;
        parts.add(&self.body.nodes[added], &addition.positions, target, operands.into()).map(NodeValue::One)
    }

    /// A gather, which may read an array with its axes in another order.
    fn gather(&mut self, node: &Node<X>, parts: &dyn PartialAccess<T, X, E>) -> Result<NodeValue<T>, E> {
        let source = node.args[0] as usize;
        let (Op::View(map), NodeValue::Permuted(array)) = (&self.body.nodes[source].op, &self.slots[source]) else {
            return self.evaluated(node);
        };
        let (axes, array) = (map.permutation().expect("a permutation"), array.clone());
        self.release(source);
        let indices = node.args[1..].iter().map(|&index| self.take(index as usize)).collect::<Result<_, E>>()?;
        parts.gather(node, &axes, array, indices).map(NodeValue::One)
    }

    /// The result of a node that has one.
    fn one(&mut self, id: NodeId, operands: Arrays<T>) -> Result<T, E> {
        match (self.evaluate)(&self.body.nodes[id as usize], operands)? {
            NodeValue::One(array) => Ok(array),
            _ => unreachable!("it results in one array"),
        }
    }

    /// Counts one use, and gives the value away if that was the last.
    fn release(&mut self, at: usize) -> NodeValue<T> {
        self.remaining[at] -= 1;
        match self.remaining[at] {
            0 => std::mem::replace(&mut self.slots[at], NodeValue::Empty),
            _ => NodeValue::Empty,
        }
    }

    fn take(&mut self, at: usize) -> Result<T, E> {
        let last = self.release(at);
        match (last, &self.slots[at]) {
            (NodeValue::One(array), _) => Ok(array),
            (NodeValue::Empty, NodeValue::One(array)) => Ok(array.clone()),
            (NodeValue::Later(addition, operands), _) => {
                let added = self.one(addition.node, operands.into())?;
                // It is computed unpermuted, and then permuted.
                match addition.node as usize == at {
                    true => Ok(added),
                    false => self.one(at as NodeId, smallvec![added]),
                }
            }
            _ => unreachable!("the operand was computed before and is one array"),
        }
    }
}

/// One operation without a sub-program, in an algebra.
#[track_caller]
pub(crate) fn apply<A: Interpreter>(op: &Op, mut operands: Arrays<A::Array>) -> A::Array {
    match op {
        Op::Constant(array) => A::constant(array.clone()),
        Op::Alias => operands.remove(0),
        op => A::bind(op, operands),
    }
}

/// As [`apply`], of the source language.
#[track_caller]
pub(crate) fn apply_source<A: Interpreter>(op: &Op<Build>, operands: Arrays<A::Array>) -> A::Array {
    match op {
        Op::Constant(array) => A::constant(array.clone()),
        op => apply::<A>(&op.in_form().expect("sub-programs are run by the caller"), operands),
    }
}
