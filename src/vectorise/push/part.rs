//! Factorisations of which one part is read.

use super::Push;
use super::read::ReadRequest;
use super::values::ReadValueId;
use crate::affine::AffineMap;
use crate::term::{NodeId, Op};

impl Push<'_> {
    /// Settles a factorisation of which nobody reads more than a part that another operation computes alone, such as eigenvalues without
    /// eigenvectors: the reads become those of that operation's result. Says whether it is one.
    pub(super) fn settle_part(&mut self, at: NodeId, pending: &[(ReadRequest, ReadValueId)]) -> bool {
        let node = self.node(at);
        let Op::Matrix(op) = node.op else { return false };
        let shape = self.shape(node.args[0]);
        let axis = shape.len() - 2;
        let Some((op, rows)) = op.alone([shape[axis], shape[axis + 1]]) else { return false };
        let of_part = |(read, _): &(ReadRequest, ReadValueId)| match read {
            ReadRequest::View { map, .. } => map.of_part(axis, &rows),
            _ => None,
        };
        let Some(maps) = pending.iter().map(of_part).collect::<Option<Vec<AffineMap>>>() else { return false };
        let operand = self.demand(node.args[0], ReadRequest::Whole);
        let part = self.values.make(Op::Matrix(op), &[operand]);
        for (map, &(_, value)) in maps.into_iter().zip(pending) {
            let same = if map.is_identity() { part } else { self.values.make(Op::View(map), &[part]) };
            self.values.define(value, same);
        }
        true
    }
}
