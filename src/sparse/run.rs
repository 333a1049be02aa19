//! Programs run on dependence, as far as there is memory.

use super::array::{Sparsity, SparsityArray, room};
use super::custom::SparsityRules;
use super::{custom, loops};
use crate::algebra::{DerivativeRule, Operands};
use crate::array::OutOfMemory;
use crate::concrete::Concrete;
use crate::evaluate;
use crate::evaluate::Failure;
use crate::term::interpret::{self, NodeValue};
use crate::term::{Body, Custom, Never, Node, Op, print};

/// Runs a bulk program, for its results' dependence.
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
            Ok(interpret::several(loops::scan(run, loop_, carries, &inputs, args.collect())?))
        }
        Op::Custom(function) => Ok(interpret::several(custom::custom(&**function, args.into_vec())?)),
        Op::Sweeps(sweeps) => Ok(interpret::several(loops::sweeps(run, sweeps, &args)?)),
        Op::Branch(sides) => {
            let mut args = args.into_iter();
            let condition = args.next().expect("a branch has a condition");
            Ok(interpret::several(loops::branch(run, &condition, &sides.then, &sides.otherwise, args.collect())?))
        }
        op => {
            let result = apply(node, args).map_err(|problem| Failure { operation: print::name(op), problem })?;
            debug_assert_eq!(result.ty(), node.ty());
            Ok(NodeValue::One(result))
        }
    };
    interpret::run::<SparsityArray, Never, Failure>(body, arguments, &evaluate, None)
}

impl SparsityRules for Custom {
    fn value(&self, inputs: Vec<SparsityArray>) -> Result<Vec<SparsityArray>, Failure> {
        run(&self.value, inputs)
    }
    fn rule(
        &self,
        rule: DerivativeRule,
        arguments: [Vec<SparsityArray>; 3],
    ) -> Result<Option<Vec<SparsityArray>>, Failure> {
        let body = match rule {
            DerivativeRule::Vjp => &self.vjp,
            DerivativeRule::Jvp => &self.jvp,
        };
        body.as_ref().map(|body| run(body, arguments.concat())).transpose()
    }
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
