//! Positions that are obviously distinct.

use crate::operation::{Binary, Unary};
use crate::shape::{Type, Value};
use crate::term::{Body, Extension, Graph, NodeId, Op};
use smallvec::SmallVec;

/// Terms to look at, in whatever form they are.
pub(crate) trait Terms {
    /// Identifies a node.
    type Id;
    /// The form of the language.
    type Form;
    /// A node's operation, operands and type.
    fn look<'t>(&'t self, id: &'t Self::Id) -> (&'t Op<Self::Form>, &'t [Self::Id], &'t Type);
}

impl<X: Extension> Terms for Body<X> {
    type Id = NodeId;
    type Form = X;
    fn look<'t>(&'t self, &id: &'t NodeId) -> (&'t Op<X>, &'t [NodeId], &'t Type) {
        let node = self.node(id);
        (&node.op, &node.args, &node.types[0])
    }
}

impl<X: Extension> Terms for Graph<X> {
    type Id = NodeId;
    type Form = X;
    fn look<'t>(&'t self, &id: &'t NodeId) -> (&'t Op<X>, &'t [NodeId], &'t Type) {
        let node = self.node(id);
        (&node.op, &node.args, &node.types[0])
    }
}

/// Whether no two positions are the same, as far as that is plain: along each axis some index array counts, and along no other.
pub(crate) fn are_distinct<T: Terms>(terms: &T, indices: &[T::Id]) -> bool {
    let Some(first) = indices.first() else { return true };
    let shape = &terms.look(first).2.shape;
    let is_long = |axis: usize| shape[axis] > 1;
    if shape.contains(&0) || !(0..shape.len()).any(is_long) {
        return true;
    }
    let steps: Vec<Option<AxisSteps>> = indices.iter().map(|index| steps(terms, index, DEPTH)).collect();
    let counts = |axis: usize, steps: &AxisSteps| {
        let apart = steps[axis].checked_mul(shape[axis] as i64);
        steps[axis] != 0 && apart.is_some() && (0..shape.len()).all(|at| at == axis || !is_long(at) || steps[at] == 0)
    };
    (0..shape.len()).filter(|&axis| is_long(axis)).all(|axis| steps.iter().flatten().any(|steps| counts(axis, steps)))
}

/// The step of an array of integers along each axis.
type AxisSteps = SmallVec<[i64; 4]>;

/// How far index arithmetic is looked through.
const DEPTH: usize = 12;

/// The steps of an array, where they are the same everywhere along each axis, and known.
fn steps<T: Terms>(terms: &T, id: &T::Id, depth: usize) -> Option<AxisSteps> {
    let (op, args, ty) = terms.look(id);
    let rank = ty.rank();
    if rank == 0 {
        return Some(AxisSteps::new());
    }
    let depth = depth.checked_sub(1)?;
    let of = |at: usize| steps(terms, &args[at], depth);
    let each = |f: fn(i64, i64) -> Option<i64>| -> Option<AxisSteps> {
        of(0)?.iter().zip(&of(1)?).map(|(&a, &b)| f(a, b)).collect()
    };
    match op {
        Op::Constant(array) if array.uniform().is_some() => Some(SmallVec::from_elem(0, rank)),
        Op::Iota(_) => Some(SmallVec::from_slice(&[1])),
        Op::View(map) if map.is_inside() => {
            let ignored = map.ignored();
            if (0..rank).all(|axis| ignored.contains(&axis) || map.result()[axis] == 1) {
                return Some(SmallVec::from_elem(0, rank));
            }
            let source = of(0)?;
            let along = |axis: usize| {
                source
                    .iter()
                    .enumerate()
                    .try_fold(0i64, |sum, (row, &step)| sum.checked_add(step.checked_mul(map.row(row)[axis])?))
            };
            (0..rank).map(along).collect()
        }
        Op::Unary(Unary::Neg) => of(0)?.iter().map(|step| step.checked_neg()).collect(),
        Op::Binary(Binary::Add) => each(i64::checked_add),
        Op::Binary(Binary::Sub) => each(i64::checked_sub),
        Op::Binary(Binary::Mul) => {
            let (at, factor) = (0..2).find_map(|at| Some((at, factor(terms, &args[1 - at], depth)?)))?;
            of(at)?.iter().map(|step| step.checked_mul(factor)).collect()
        }
        Op::Alias | Op::Mark => of(0),
        _ => None,
    }
}

/// The one value of an array that is a known number everywhere.
fn factor<T: Terms>(terms: &T, id: &T::Id, depth: usize) -> Option<i64> {
    let (op, args, _) = terms.look(id);
    match op {
        Op::Constant(array) => match array.uniform()? {
            Value::I64(factor) => Some(factor),
            _ => None,
        },
        Op::View(map) if map.is_inside() => factor(terms, &args[0], depth.checked_sub(1)?),
        _ => None,
    }
}
