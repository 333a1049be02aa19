//! Running totals and linear recurrences: loops whose step is an operation or two on one slice.
//!
//! They are rolled in every algebra. The engine that runs such a loop sees that its step is elementwise, and needs a single
//! pass over memory. The levels of an associative scan would need two passes each, and be printed one by one. Derivatives are
//! loops of the same kind, over the slices in reverse order.

use super::combination::Combination;
use crate::affine::AffineMap;
use crate::algebra::Algebra;
use crate::array::{Array, ReportedAt};
use crate::operation::Binary;
use crate::shape::{Shape, Type, Value};
use crate::tensor::apply::fail;
use crate::tensor::{Float, Rank, Tensor, move_axis};
use crate::term::{Graph, NodeId, Op, Scan};
use std::sync::Arc;

/// The initial total, chosen so that the total after the first slice is that slice, with its derivative.
enum Start {
    /// A number that leaves every other as it is.
    Neutral(i64),
    /// The first slice, for operations where combining a value with itself gives that value. A neutral element such as
    /// −infinity would take the derivative from a first slice that is equal to it.
    First,
    /// There is no such value: the first slice is a total by itself.
    None,
}

impl Combination {
    fn start(self) -> Start {
        match self.operation() {
            Binary::Add | Binary::Or | Binary::Xor | Binary::BitOr | Binary::BitXor => Start::Neutral(0),
            Binary::Mul | Binary::And => Start::Neutral(1),
            Binary::Max | Binary::MaxRight | Binary::Min | Binary::MinRight | Binary::BitAnd => Start::First,
            _ => Start::None,
        }
    }
}

/// The operands of one step: the carried array, and the slices.
type StepNodes<'a> = &'a [NodeId];

/// A loop over the outermost axis of some inputs that carries one array: all values of it after a step, stacked.
#[track_caller]
fn scanned<A: Algebra>(
    first: A::Array,
    inputs: Vec<A::Array>,
    reverse: bool,
    step: impl FnOnce(&mut Graph, StepNodes<'_>) -> NodeId,
) -> A::Array {
    let (ty, length) = (A::type_of(&first), A::shape(&inputs[0])[0]);
    let mut graph = Graph::new(&vec![ty; 1 + inputs.len()], 0);
    let operands: Vec<NodeId> = (0..=inputs.len() as NodeId).collect();
    let next = step(&mut graph, &operands);
    let body = Arc::new(graph.finish(&[next, next]));
    let scan = Scan { body, carries: 1, inputs: inputs.len(), length, reverse };
    A::scan(&Arc::new(scan), vec![first], inputs, Vec::new()).remove(1)
}

/// For each position of an array along an axis the combination of all up to it, or from the last one down to it.
#[track_caller]
pub(super) fn running_over<A: Algebra>(
    combination: Combination,
    array: A::Array,
    axis: usize,
    reverse: bool,
) -> A::Array {
    let _place = ReportedAt::caller();
    let array = move_axis::<A>(array, axis, 0);
    let Type { dtype, shape } = A::type_of(&array);
    let (n, slice) = (shape[0], Shape::from_slice(&shape[1..]));
    let part =
        |start: usize, count: usize| A::view(array.clone(), &AffineMap::along(&shape, 0, start as i64, 1, count));
    let earliest = if reverse { n.saturating_sub(1) } else { 0 };
    let step = |graph: &mut Graph, operands: StepNodes<'_>| {
        let [earlier, later] = combination.operands([operands[0], operands[1]]);
        graph.add(Op::Binary(combination.operation()), &[earlier, later])
    };
    let totals = match combination.start() {
        _ if n < 2 => array.clone(),
        Start::Neutral(number) => {
            let neutral = A::constant(Array::full(&slice, Value::from_i64(dtype, number)));
            scanned::<A>(neutral, vec![array.clone()], reverse, step)
        }
        Start::First => {
            let first = A::reshape(part(earliest, 1), &slice);
            scanned::<A>(first, vec![array.clone()], reverse, step)
        }
        Start::None => {
            let first = part(earliest, 1);
            let rest = part(if reverse { 0 } else { 1 }, n - 1);
            let rest = scanned::<A>(A::reshape(first.clone(), &slice), vec![rest], reverse, step);
            A::concatenate(0, if reverse { vec![rest, first] } else { vec![first, rest] })
        }
    };
    move_axis::<A>(totals, 0, axis)
}

/// The linear recurrence `y_i = a_i · y_{i−1} + b_i` along the outermost axis, from `y_{−1} = first`, elementwise in the other
/// axes: all values of y, in the shape of `terms`. It is a loop over the slices, as is its derivative.
///
/// ```
/// # use deltaray::prelude::*;
/// let (factors, terms) = (Vector::from([2.0, 2.0, 2.0]), Vector::from([1.0, 0.0, 1.0]));
/// assert_eq!(linear_recurrence(&scalar(1.0), &factors, &terms).to_vec(), [3.0, 6.0, 13.0]);
/// ```
///
/// # Panics
///
/// When `factors` and `terms` differ in shape, or `first` has another shape than their slices; staged, that is recorded
/// instead.
#[track_caller]
pub fn linear_recurrence<A: Algebra, E: Float, R: Rank>(
    first: &Tensor<A, E, R::Smaller>,
    factors: &Tensor<A, E, R>,
    terms: &Tensor<A, E, R>,
) -> Tensor<A, E, R> {
    let (shape, others) = (factors.shape(), terms.shape());
    let rest = Shape::from_slice(shape.get(1..).unwrap_or(&[]));
    if shape != others || first.shape() != rest {
        let problem = format!("shapes {:?}, {:?} and {:?}", &first.shape()[..], &shape[..], &others[..]);
        return fail("linear_recurrence", problem, &shape);
    }
    if shape[0] == 0 {
        return terms.clone();
    }
    let inputs = vec![factors.array().clone(), terms.array().clone()];
    let step = |graph: &mut Graph, operands: StepNodes<'_>| {
        let product = graph.add(Op::Binary(Binary::Mul), &[operands[1], operands[0]]);
        graph.add(Op::Binary(Binary::Add), &[product, operands[2]])
    };
    Tensor::wrap(scanned::<A>(first.array().clone(), inputs, false, step))
}
