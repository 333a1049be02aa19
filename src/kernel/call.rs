//! Operations that are not lowered to nests.

use super::buffer::BufferId;
use crate::operation::{MatrixOperation, Order};
use crate::shape::{Type, size};
use crate::structural;
use crate::term::{Body, Op, print};
use smallvec::SmallVec;
use std::sync::Arc;

/// An operation that is left to the instance of plain arrays.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// The operation alone, as a program.
    pub(crate) body: Arc<Body>,
    pub(crate) arguments: Vec<BufferId>,
    pub(crate) results: Vec<BufferId>,
}

/// The computation of a call.
pub(crate) enum CallKind {
    /// The positions of elements in their order.
    Sort(Sort),
    /// Positions of extremes along an axis that has no element: they are 0.
    Nothing,
    /// A procedure of its own.
    Procedure,
}

/// Rows of an array whose positions are wanted in the order of their elements: equal elements keep their order, NaN comes last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sort {
    pub(crate) order: Order,
    /// The array.
    pub(crate) array: BufferId,
    /// The positions, at the places of the elements.
    pub(crate) result: BufferId,
    /// Number of consecutive rows.
    pub(crate) outer: usize,
    /// Elements of a row.
    pub(crate) extent: usize,
    /// Number of rows side by side, so that the elements of one are so far from each other.
    pub(crate) inner: usize,
}

#[cfg(feature = "opencl")]
impl Sort {
    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.outer * self.inner
    }
}

impl Call {
    /// The computation of this call.
    pub(crate) fn called(&self) -> CallKind {
        let node = self.body.node(self.body.results[0]);
        let (order, axis) = match node.op {
            Op::ArgSort(order, axis) => (order, axis),
            Op::ArgReduce(..) => return CallKind::Nothing,
            _ => return CallKind::Procedure,
        };
        let shape = &self.body.node(node.args[0]).ty().shape;
        let (outer, extent, inner) = (size(&shape[..axis]), shape[axis], size(&shape[axis + 1..]));
        CallKind::Sort(Sort { order, array: self.arguments[0], result: self.results[0], outer, extent, inner })
    }

    /// The operation on matrices, if it is one.
    pub(crate) fn matrix(&self) -> Option<MatrixOperation> {
        match self.body.node(self.body.results[0]).op {
            Op::Matrix(op) => Some(op),
            _ => None,
        }
    }

    /// Operations on floats of an operation on matrices.
    pub(crate) fn matrix_operations(&self, op: MatrixOperation) -> f64 {
        let shape = |at: usize| &self.body.parameter_type(at).shape[..];
        let matrices: SmallVec<[[usize; 2]; 2]> =
            (0..self.body.arity()).map(|at| [shape(at)[shape(at).len() - 2], shape(at)[shape(at).len() - 1]]).collect();
        size(&shape(0)[..shape(0).len() - 2]) as f64 * op.work(&matrices) as f64
    }

    /// The operation as a program that can be lowered to nests, if positions allow it.
    pub(crate) fn written_out(&self) -> Body {
        let Some(op) = self.matrix() else { return self.body.without_marks() };
        let types: Vec<Type> = (0..self.body.arity()).map(|at| self.body.parameter_type(at).clone()).collect();
        structural::written_out(op, &types)
    }

    /// The name of the operation.
    pub(crate) fn name(&self) -> String {
        self.body.nodes[self.body.arity()..].first().map_or_else(String::new, |node| print::name(&node.op))
    }
}
