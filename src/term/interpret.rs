//! The interpretation of a term in any algebra (P C.3): the unique homomorphism out of terms.

use crate::algebra::Algebra;
use crate::term::body::{Body, Node};
use crate::term::op::{Extension, Never, Op};
use smallvec::SmallVec;
use std::convert::Infallible;

/// What a node evaluates to: one array, or the outputs of an operation that has several.
pub(crate) enum Slot<T> {
    Empty,
    One(T),
    Several(Vec<Option<T>>),
}

/// The operands of one node.
pub(crate) type Operands<A> = SmallVec<[<A as Algebra>::Array; 3]>;

/// Runs a bulk program on the arrays of an algebra: the values of its results.
///
/// An array is given away at its last use, so that an instance can reuse its buffer. The arguments are the parameters and
/// captures, of the types that the body declares.
pub fn interpret<A: Algebra>(body: &Body, arguments: Vec<A::Array>) -> Vec<A::Array> {
    match run::<A, Never, Infallible>(body, arguments, |node, args| Ok(evaluate::<A>(node, args))) {
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

/// Walks the arena of a body once, asks `evaluate` for each node that is used, and hands every array over at its last use.
///
/// # Errors
///
/// The first error of `evaluate`.
pub(crate) fn run<A: Algebra, X: Extension, E>(
    body: &Body<X>,
    arguments: Vec<A::Array>,
    evaluate: impl Fn(&Node<X>, Operands<A>) -> Result<Slot<A::Array>, E>,
) -> Result<Vec<A::Array>, E> {
    debug_assert_eq!(arguments.len(), body.arity());
    let mut remaining = body.use_counts();
    let mut slots: Vec<Slot<A::Array>> = Vec::with_capacity(body.nodes.len());
    for (position, argument) in arguments.into_iter().enumerate() {
        debug_assert_eq!(A::type_of(&argument), *body.parameter_type(position));
        slots.push(if remaining[position] == 0 { Slot::Empty } else { Slot::One(argument) });
    }
    for (at, node) in body.nodes.iter().enumerate().skip(body.arity()) {
        if remaining[at] == 0 {
            slots.push(Slot::Empty);
            for &arg in &node.args {
                release(&mut slots, &mut remaining, arg as usize);
            }
            continue;
        }
        if let Op::Output(position) = node.op {
            let source = node.args[0] as usize;
            let value = match &mut slots[source] {
                Slot::Several(outputs) => {
                    outputs[position].take().expect("each output is taken once: nodes are unique")
                }
                _ => unreachable!("an output of an operation with one output"),
            };
            release(&mut slots, &mut remaining, source);
            slots.push(Slot::One(value));
            continue;
        }
        let mut args: Operands<A> = SmallVec::new();
        for &arg in &node.args {
            args.push(take::<A>(&mut slots, &mut remaining, arg as usize));
        }
        slots.push(evaluate(node, args)?);
    }
    Ok(body.results.iter().map(|&result| take::<A>(&mut slots, &mut remaining, result as usize)).collect())
}

fn release<T>(slots: &mut [Slot<T>], remaining: &mut [u32], at: usize) {
    remaining[at] -= 1;
    if remaining[at] == 0 {
        slots[at] = Slot::Empty;
    }
}

fn take<A: Algebra>(slots: &mut [Slot<A::Array>], remaining: &mut [u32], at: usize) -> A::Array {
    remaining[at] -= 1;
    if remaining[at] == 0 {
        match std::mem::replace(&mut slots[at], Slot::Empty) {
            Slot::One(array) => array,
            _ => unreachable!("the operand was computed before and is one array"),
        }
    } else {
        match &slots[at] {
            Slot::One(array) => array.clone(),
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
