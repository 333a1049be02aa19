//! Operations that are not lowered to nests.

use super::buffer::BufferId;
use crate::operation::{MatrixOperation, Order, SparseOperation};
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

    /// The types of the arguments, then of the results.
    pub(crate) fn types(&self) -> impl Iterator<Item = &Type> {
        (0..self.body.arity()).map(|at| self.body.parameter_type(at)).chain(self.body.result_types())
    }

    /// The operation on sparse matrices, if it is one.
    pub(crate) fn sparse(&self) -> Option<&SparseOperation> {
        match &self.body.node(self.body.results[0]).op {
            Op::Sparse(op) => Some(op),
            _ => None,
        }
    }

    /// Operations on floats of an operation on matrices, dense or sparse.
    pub(crate) fn matrix_operations(&self) -> f64 {
        let id = self.body.results[0];
        let node = self.body.node(id);
        let operands: SmallVec<[&Type; 3]> = node.args.iter().map(|&arg| self.body.node(arg).ty()).collect();
        let cost = node.op.ask(|operation| operation.cost(&operands, node.ty()));
        cost.map_or(0.0, |cost| cost.float_operations as f64)
    }

    /// The operation as a program that can be lowered to nests, if positions allow it.
    pub(crate) fn written_out(&self) -> Body {
        let types: Vec<Type> = (0..self.body.arity()).map(|at| self.body.parameter_type(at).clone()).collect();
        match (self.matrix(), self.sparse()) {
            (Some(op), _) => structural::written_out(op, &types),
            (None, Some(op)) => structural::sparse_written_out(op, &types),
            (None, None) => self.body.without_marks(),
        }
    }

    /// As [`Call::written_out`], for engines with kernels for systems of equations.
    #[cfg(feature = "opencl")]
    pub(crate) fn written_as_systems(&self) -> Body {
        let types = || (0..self.body.arity()).map(|at| self.body.parameter_type(at).clone()).collect::<Vec<Type>>();
        self.matrix().map_or_else(|| self.written_out(), |op| structural::written_as_systems(op, &types()))
    }

    /// The name of the operation.
    pub(crate) fn name(&self) -> String {
        self.body.nodes[self.body.arity()..].first().map_or_else(String::new, |node| print::name(&node.op))
    }
}
