//! Programs run on dependence, as far as there is memory.

use super::columns::Columns;
use super::instance::{Sparsity, SparsityArray};
use super::{custom, loops};
use crate::algebra::Operands;
use crate::array::OutOfMemory;
use crate::concrete::Concrete;
use crate::evaluate;
use crate::evaluate::Failure;
use crate::shape::Type;
use crate::term::interpret::{self, Slot};
use crate::term::{Body, Never, Node, Op, print};

/// Runs a bulk program: what its results depend on.
///
/// # Errors
///
/// The first operation for which there is no memory.
pub(super) fn run(body: &Body, arguments: Vec<SparsityArray>) -> Result<Vec<SparsityArray>, Failure> {
    debug_assert!(interpret::fit::<Sparsity, _>(&arguments, body));
    let evaluate = |node: &Node, args: Operands<Sparsity>| match &node.op {
        Op::Scan(loop_) => {
            let mut args = args.into_iter();
            let carries = args.by_ref().take(loop_.carries).collect();
            let inputs: Vec<SparsityArray> = args.by_ref().take(loop_.inputs).collect();
            Ok(interpret::several(loops::scan(loop_, carries, &inputs, args.collect())?))
        }
        Op::Custom(function) => Ok(interpret::several(custom::custom(&**function, args.into_vec())?)),
        Op::Sweeps(sweeps) => Ok(interpret::several(loops::sweeps(sweeps, &args)?)),
        Op::Branch(sides) => {
            let mut args = args.into_iter();
            let condition = args.next().expect("a branch has a condition");
            Ok(interpret::several(loops::branch(&condition, &sides.then, &sides.otherwise, args.collect())?))
        }
        op => {
            let result = apply(node, args).map_err(|problem| Failure { operation: print::name(op), problem })?;
            debug_assert_eq!(result.ty(), node.ty());
            Ok(Slot::One(result))
        }
    };
    interpret::run::<SparsityArray, Never, Failure>(body, arguments, evaluate, None)
}

/// One operation without a sub-program.
fn apply(node: &Node, args: Operands<Sparsity>) -> Result<SparsityArray, OutOfMemory> {
    let known: Option<Operands<Concrete>> = args.iter().map(|operand| operand.elements().cloned()).collect();
    if let Some(known) = known {
        return evaluate::apply(&node.op, known).map(SparsityArray::known);
    }
    if args.iter().any(|operand| operand.sets().is_some()) {
        drop(room(node.ty())?);
    }
    Ok(interpret::apply::<Sparsity>(&node.op, args))
}

/// An empty buffer with room for a set for each element of an array.
///
/// # Errors
///
/// When there is no memory for it.
pub(super) fn room(ty: &Type) -> Result<Vec<Columns>, OutOfMemory> {
    let mut sets = Vec::new();
    match sets.try_reserve_exact(ty.size()) {
        Ok(()) => Ok(sets),
        Err(_) => Err(OutOfMemory { ty: ty.clone() }),
    }
}
