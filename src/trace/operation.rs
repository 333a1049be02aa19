//! Nodes for operations whose operands are checked.

use super::node::{StagedArray, StagedNode, fresh, placeholder};
use super::session;
use crate::array::{Array, ReadArrays, ReportedAt};
use crate::error::Error;
use crate::shape::{DType, Type};
use crate::term::content::check_nested;
use crate::term::{Arrays, Build, Op, Steps, infer, print};
use smallvec::{SmallVec, smallvec};
use std::panic::Location;
use std::sync::Arc;

/// A node for an operation; its scope is the innermost of its operands'.
#[track_caller]
pub(crate) fn node(op: Op<Build>, args: SmallVec<[StagedArray; 3]>) -> StagedArray {
    let place = Location::caller();
    let types = {
        let outputs: SmallVec<[&[Type]; 4]> = args.iter().map(|arg| &arg.0.types[..]).collect();
        match infer::outputs(&op, &outputs) {
            Ok(types) => types,
            // Callers check shapes; this is met only where an instance is used without the tensor layer, and by derivatives of
            // more orders than there are.
            Err(problem) => {
                let name = if let Op::Matrix(op) = &op { op.name() } else { "array operation".into() };
                session::record(Error::operands(&name, problem, ReportedAt::or(place)));
                return match args.first() {
                    Some(first) => placeholder(&first.0.types[0]),
                    None => placeholder(&Type::scalar(DType::F64)),
                };
            }
        }
    };
    if let (Op::Extra(_), false) = (&op, is_within_limits(&op)) {
        return placeholder(&types[0]);
    }
    if !args.iter().all(|arg| session::check_scope(arg, place)) && types.len() == 1 {
        return placeholder(&types[0]);
    }
    let mut scope = args.iter().map(|arg| arg.0.scope).max().unwrap_or(0);
    if matches!(&op, Op::Sweeps(sweeps) if matches!(sweeps.steps, Steps::While(_))) {
        // It may never end, so it stays in the loop around it, which may have no step.
        scope = scope.max(session::innermost());
    }
    StagedArray(Arc::new(StagedNode { id: fresh(), scope, op, args, types }))
}

/// Whether bodies are not nested too deep, and hold not too much; if they are, that is recorded as an error.
#[track_caller]
fn is_within_limits(op: &Op<Build>) -> bool {
    let place = ReportedAt::or(Location::caller());
    let name = match op {
        Op::Branch(_) => "cond".into(),
        Op::Sweeps(sweeps) if matches!(sweeps.steps, Steps::While(_)) => "while_loop".into(),
        Op::Sweeps(_) => "scan".into(),
        op => print::name(op),
    };
    check_nested(op).map_err(|problem| session::record(Error::operands(&name, problem, place))).is_ok()
}

/// The outputs of an operation that has several.
#[track_caller]
pub(crate) fn outputs(op: Op<Build>, args: SmallVec<[StagedArray; 3]>) -> Vec<StagedArray> {
    if !is_within_limits(&op) {
        let operands: SmallVec<[&[Type]; 4]> = args.iter().map(|arg| &arg.0.types[..]).collect();
        return infer::outputs(&op, &operands).unwrap_or_default().iter().map(placeholder).collect();
    }
    let source = node(op, args);
    (0..source.0.types.len()).map(|position| node(Op::Output(position), smallvec![source.clone()])).collect()
}

/// The node of a known array.
pub(crate) fn constant(value: Array) -> StagedArray {
    // A program holds elements.
    node(Op::Constant(value.read()), smallvec![])
}

/// A node for an operation that has one result and no sub-program.
#[track_caller]
pub(crate) fn bind(op: &Op, operands: Arrays<StagedArray>) -> StagedArray {
    match op {
        Op::Cast(dtype) if operands[0].ty().dtype == *dtype => operands[0].clone(),
        op => node(op.in_form().expect("an operation without bodies"), operands),
    }
}
