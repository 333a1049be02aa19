//! One operation on plain arrays.

use crate::array::{
    Array, OutOfMemory, available, contract, elementwise, for_data, for_pair, gather, matrix, reduce, sort, sparse,
    structure, view,
};
use crate::operation::MatrixOperation;
use crate::shape::{Type, Value};
use crate::structural;
use crate::term::interpret::{self, NodeValue};
use crate::term::{Arrays, Body, Never, Node, Op, print};

/// Whether a rank-0 boolean is true.
pub(crate) fn is_true(condition: &Array) -> bool {
    condition.element(0) == Value::Bool(true)
}

/// One operation without a sub-program.
pub(crate) fn apply(op: &Op, args: Arrays<Array>) -> Result<Array, OutOfMemory> {
    let mut args = args.into_iter();
    let mut next = || args.next().expect("the arena is well formed");
    match op {
        Op::Constant(array) => Ok(array.clone()),
        Op::Iota(n) => structure::iota(*n),
        Op::Unary(op) => elementwise::unary(*op, next()),
        Op::Binary(op) => elementwise::binary(*op, next(), next()),
        Op::Compare(op) => elementwise::compare(*op, next(), next()),
        Op::Select => elementwise::select(next(), next(), next()),
        Op::Cast(dtype) => elementwise::cast(next(), *dtype),
        Op::View(map) => for_data!(next(), data => view::view(data, map)),
        Op::Accumulate(map) => for_data!(next(), data => view::accumulate(data, map)),
        Op::Reshape(shape) => Ok(for_data!(next(), data => structure::reshape(data, shape))),
        Op::Concatenate(axis) => structure::concatenate(*axis, args.collect()),
        Op::Gather => {
            let a = next();
            let indices: Vec<Array> = args.collect();
            for_data!(a, data => gather::gather(data, &indices))
        }
        Op::Scatter(extents) => {
            let updates = next();
            let indices: Vec<Array> = args.collect();
            for_data!(updates, updates => gather::scatter(updates, &indices, extents))
        }
        Op::ScatterSet => {
            let (target, updates) = (next(), next());
            let indices: Vec<Array> = args.collect();
            for_pair!(target, updates, (target, updates) => gather::scatter_set(target, updates, &indices))
        }
        Op::Reduce(op, axes) => for_data!(next(), data => reduce::reduce(*op, data, axes)),
        Op::ArgReduce(op, axis) => for_data!(&next(), data => reduce::arg_reduce(*op, data, *axis)),
        Op::ArgSort(order, axis) => for_data!(&next(), data => sort::arg_sort(*order, data, *axis)),
        Op::Contract(spec) => contract::contract(spec, next(), next()),
        Op::Matrix(op) if op.is_program() => program(*op, args.collect()),
        Op::Matrix(op) => matrix::apply(*op, &args.collect::<Arrays<Array>>()),
        Op::Sparse(op) => sparse::apply(op, &args.collect::<Arrays<Array>>()),
        Op::Alias | Op::Mark => Ok(next()),
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

/// An operation on matrices that is a program of other operations.
fn program(op: MatrixOperation, args: Vec<Array>) -> Result<Array, OutOfMemory> {
    let types: Vec<Type> = args.iter().map(Array::ty).collect();
    let body = structural::written_out(op, &types);
    Ok(run_program(&body, args)?.into_iter().next().expect("a program has a result"))
}

/// Such a program, which has no loops.
fn run_program(body: &Body, args: Vec<Array>) -> Result<Vec<Array>, OutOfMemory> {
    let evaluate = |node: &Node, args: Arrays<Array>| match &node.op {
        Op::Branch(branch) => {
            let mut args = args.into_iter();
            let condition = args.next().expect("a branch has a condition");
            let side = if is_true(&condition) { &branch.then } else { &branch.otherwise };
            run_program(side, args.collect()).map(interpret::several)
        }
        op => apply(op, args).map(NodeValue::One),
    };
    interpret::run::<Array, Never, OutOfMemory>(body, args, &evaluate, None)
}

/// The value of an operation on known arrays.
///
/// Panics at the caller's line where there was no memory.
#[track_caller]
pub(crate) fn computed(op: &Op, args: Arrays<Array>) -> Array {
    available(apply(op, args), || print::name(op))
}
