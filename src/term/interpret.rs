//! The interpretation of a term in any algebra (P C.3): the unique homomorphism out of terms.

use crate::affine::AffineMap;
use crate::algebra::Algebra;
use crate::operation::Binary;
use crate::shape::{is_sparse, size};
use crate::term::body::{Body, Node, NodeId};
use crate::term::op::{Extension, Never, Op};
use smallvec::SmallVec;
use std::convert::Infallible;

/// What a node evaluates to: one array, or the outputs of an operation that has several.
pub(crate) enum Slot<T> {
    Empty,
    One(T),
    Several(Vec<Option<T>>),
    /// An addition at some positions of zeros and its operands, until it is seen whether it is added to an array.
    Later(Addition, Vec<T>),
}

/// The positions of zeros at which a node adds.
pub(crate) enum Addition {
    /// Those of a map, as [`Op::Accumulate`] has them.
    Affine(AffineMap),
    /// Those of [`Op::Scatter`].
    Computed,
}

impl Addition {
    /// How an operation adds, if it does: a view does that puts a few elements among zeros.
    fn of<X>(op: &Op<X>) -> Option<Addition> {
        match op {
            Op::Scatter(_) => Some(Addition::Computed),
            Op::Accumulate(map) => Some(Addition::Affine(map.clone())),
            Op::View(map) if !map.is_inside() && is_sparse(size(map.source()), size(map.result())) => {
                map.adjoint().map(Addition::Affine)
            }
            _ => None,
        }
    }
}

/// The operands of one node.
pub(crate) type Operands<A> = SmallVec<[<A as Algebra>::Array; 3]>;

/// Runs a bulk program on the arrays of an algebra: the values of its results.
///
/// An array is given away at its last use, so that an instance can reuse its buffer. The arguments are the parameters and
/// captures, of the types that the body declares.
pub fn interpret<A: Algebra>(body: &Body, arguments: Vec<A::Array>) -> Vec<A::Array> {
    match run::<A, Never, Infallible>(body, arguments, |node, args| Ok(evaluate::<A>(node, args)), None) {
        Ok(values) => values,
        Err(never) => match never {},
    }
}

/// A node of a bulk program on the arrays of an algebra. It is no output of another.
pub(crate) fn evaluate<A: Algebra>(node: &Node, args: Operands<A>) -> Slot<A::Array> {
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
        op => Slot::One(apply::<A, Never>(op, args)),
    }
}

/// The outputs of an operation that has several.
pub(crate) fn several<T>(outputs: Vec<T>) -> Slot<T> {
    Slot::Several(outputs.into_iter().map(Some).collect())
}

/// Adds the result of a node, which is given as an addition and its operands, to an array.
pub(crate) type Onto<'a, A, X, E> =
    &'a dyn Fn(&Node<X>, &Addition, <A as Algebra>::Array, Operands<A>) -> Result<<A as Algebra>::Array, E>;

/// Walks the arena of a body once, asks `evaluate` for each node that is used, and hands every array over at its last use.
///
/// Where there is an `onto`, it is asked for sums of an array with one that is added at some positions of zeros, which are then
/// not made.
///
/// # Errors
///
/// The first error of either.
pub(crate) fn run<A: Algebra, X: Extension, E>(
    body: &Body<X>,
    arguments: Vec<A::Array>,
    evaluate: impl Fn(&Node<X>, Operands<A>) -> Result<Slot<A::Array>, E>,
    onto: Option<Onto<'_, A, X, E>>,
) -> Result<Vec<A::Array>, E> {
    debug_assert_eq!(arguments.len(), body.arity());
    let slots = Vec::with_capacity(body.nodes.len());
    let mut walk = Walk::<A, X, _> { body, evaluate, slots, remaining: body.use_counts() };
    for (position, argument) in arguments.into_iter().enumerate() {
        debug_assert_eq!(A::type_of(&argument), *body.parameter_type(position));
        walk.slots.push(if walk.remaining[position] == 0 { Slot::Empty } else { Slot::One(argument) });
    }
    for (at, node) in body.nodes.iter().enumerate().skip(body.arity()) {
        if walk.remaining[at] == 0 {
            walk.slots.push(Slot::Empty);
            node.args.iter().for_each(|&arg| drop(walk.release(arg as usize)));
            continue;
        }
        if let Op::Output(position) = node.op {
            let source = node.args[0] as usize;
            let value = match &mut walk.slots[source] {
                Slot::Several(outputs) => {
                    outputs[position].take().expect("each output is taken once: nodes are unique")
                }
                _ => unreachable!("an output of an operation with one output"),
            };
            walk.release(source);
            walk.slots.push(Slot::One(value));
            continue;
        }
        let addition = onto.filter(|_| walk.remaining[at] == 1).and_then(|_| Addition::of(&node.op));
        let slot = match onto {
            _ if let Some(addition) = addition => Slot::Later(addition, walk.operands(node)?.into_vec()),
            Some(onto) if matches!(node.op, Op::Binary(Binary::Add)) => walk.sum(node, onto)?,
            _ => walk.evaluated(node)?,
        };
        walk.slots.push(slot);
    }
    body.results.iter().map(|&result| walk.take(result as usize)).collect()
}

/// The values of a body's nodes, as far as they are known and still used.
struct Walk<'a, A: Algebra, X: Extension, F> {
    body: &'a Body<X>,
    evaluate: F,
    slots: Vec<Slot<A::Array>>,
    remaining: Vec<u32>,
}

impl<A, X, E, F> Walk<'_, A, X, F>
where
    A: Algebra,
    X: Extension,
    F: Fn(&Node<X>, Operands<A>) -> Result<Slot<A::Array>, E>,
{
    fn evaluated(&mut self, node: &Node<X>) -> Result<Slot<A::Array>, E> {
        let operands = self.operands(node)?;
        (self.evaluate)(node, operands)
    }

    fn operands(&mut self, node: &Node<X>) -> Result<Operands<A>, E> {
        node.args.iter().map(|&arg| self.take(arg as usize)).collect()
    }

    /// The sum of two arrays, of which one may be waiting to be added to the other.
    fn sum(&mut self, node: &Node<X>, onto: Onto<'_, A, X, E>) -> Result<Slot<A::Array>, E> {
        let waits = |&arg: &NodeId| matches!(self.slots[arg as usize], Slot::Later(..));
        let Some(place) = node.args.iter().position(waits) else { return self.evaluated(node) };
        let added = node.args[place] as usize;
        let Slot::Later(addition, operands) = self.release(added) else { unreachable!("what waits is used once") };
        let target = self.take(node.args[1 - place] as usize)?;
        onto(&self.body.nodes[added], &addition, target, operands.into()).map(Slot::One)
    }

    /// Counts one use, and gives what was there away if it was the last.
    fn release(&mut self, at: usize) -> Slot<A::Array> {
        self.remaining[at] -= 1;
        match self.remaining[at] {
            0 => std::mem::replace(&mut self.slots[at], Slot::Empty),
            _ => Slot::Empty,
        }
    }

    fn take(&mut self, at: usize) -> Result<A::Array, E> {
        let last = self.release(at);
        match (last, &self.slots[at]) {
            (Slot::One(array), _) => Ok(array),
            (Slot::Empty, Slot::One(array)) => Ok(array.clone()),
            (Slot::Later(_, operands), _) => match (self.evaluate)(&self.body.nodes[at], operands.into())? {
                Slot::One(array) => Ok(array),
                _ => unreachable!("it results in one array"),
            },
            _ => unreachable!("the operand was computed before and is one array"),
        }
    }
}

/// One operation without a sub-program, in an algebra.
#[track_caller]
pub(crate) fn apply<A: Algebra, X: Extension>(op: &Op<X>, args: Operands<A>) -> A::Array {
    let mut args = args.into_iter();
    let mut next = || args.next().expect("the arena is well formed");
    match op {
        Op::Constant(array) => A::constant(array.clone()),
        Op::Iota(n) => A::iota(*n),
        Op::Unary(op) => A::unary(*op, next()),
        Op::Binary(op) => A::binary(*op, next(), next()),
        Op::Compare(op) => A::compare(*op, next(), next()),
        Op::Select => A::select(next(), next(), next()),
        Op::Cast(dtype) => A::cast(next(), *dtype),
        Op::View(map) => A::view(next(), map),
        Op::Accumulate(map) => A::accumulate(next(), map),
        Op::Reshape(shape) => A::reshape(next(), shape),
        Op::Concatenate(axis) => A::concatenate(*axis, args.collect()),
        Op::Gather => A::gather(next(), args.collect()),
        Op::Scatter(extents) => A::scatter(next(), args.collect(), extents),
        Op::ScatterSet => A::scatter_set(next(), next(), args.collect()),
        Op::Reduce(op, axes) => A::reduce(*op, next(), axes),
        Op::ArgReduce(op, axis) => A::arg_reduce(*op, next(), *axis),
        Op::ArgSort(order, axis) => A::arg_sort(*order, next(), *axis),
        Op::Contract(spec) => A::contract(spec, next(), next()),
        Op::Alias => next(),
        Op::Mark => A::mark(next()),
        Op::Parameter(_)
        | Op::Output(_)
        | Op::Scan(_)
        | Op::Branch(_)
        | Op::Sweeps(_)
        | Op::Custom(_)
        | Op::Extra(_) => {
            unreachable!("handled by the caller")
        }
    }
}
