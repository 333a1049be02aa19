//! Sums that are additions to an array, in its memory.

use super::{Analysis, surroundings};
use crate::kernel::roots::{LoweringClass, class, roles, strided_source};
use crate::operation::{Binary, Contraction, Label, Reduction};
use crate::shape::{is_sparse, size, steps};
use crate::term::{Body, Node, NodeId, Op};
use smallvec::{SmallVec, smallvec};

/// The number of elements from which an addition everywhere is done in place.
const LARGE: usize = 1024;

/// The scatter whose axes a node permutes.
pub(crate) fn turned_scatter(body: &Body, id: NodeId) -> Option<NodeId> {
    let node = body.node(id);
    let Op::View(map) = &node.op else { return None };
    let is_scatter = matches!(body.node(node.args[0]).op, Op::Scatter(_));
    (is_scatter && map.permutation().is_some()).then_some(node.args[0])
}

/// The operand that may be changed in place and the value added to or subtracted from it, for each way to see a sum or
/// difference.
pub(crate) fn additions(node: &Node) -> SmallVec<[(NodeId, NodeId); 2]> {
    match (&node.op, &node.args[..]) {
        (Op::Binary(Binary::Add), &[a, b]) => smallvec![(a, b), (b, a)],
        (Op::Binary(Binary::Sub), &[a, b]) => smallvec![(a, b)],
        _ => smallvec![],
    }
}

/// The array and the addend, for a sum or difference whose addend is zero except at some positions, and is used for this alone.
pub(crate) fn scattered_onto(body: &Body, uses: &[u32], id: NodeId) -> Option<(NodeId, NodeId)> {
    let is_scattered = |id: NodeId| {
        let scatter = turned_scatter(body, id).unwrap_or(id);
        matches!(body.node(scatter).op, Op::Scatter(_) | Op::Accumulate(_))
            && uses[id as usize] == 1
            && uses[scatter as usize] == 1
    };
    additions(body.node(id)).into_iter().find(|&(target, added)| target != added && is_scattered(added))
}

impl Analysis<'_> {
    /// Whether a sum or difference changes an array by something that is made for it alone: at few positions, or a loop's carry
    /// at some, or everywhere, where that is much.
    pub(super) fn is_addition(&self, target: NodeId, added: NodeId, op: Binary) -> bool {
        let node = self.body.node(added);
        let is_alone = |id: NodeId| self.users[id as usize].len() == 1 && !self.is_result[id as usize];
        let is_carried = matches!(self.body.node(self.memory[target as usize]).op, Op::Parameter(_));
        if !(is_carried || self.is_sparse(added)) || target == added || !is_alone(added) {
            return false;
        }
        // A sum that is an addition in place itself is in memory, and read there.
        if self.writes.in_place[added as usize] {
            return false;
        }
        let is_large = node.ty().size() >= LARGE;
        // A value that reads the target itself, at other positions than it writes, would read elements that it has written.
        let is_apart = |id: NodeId| {
            let others = &self.body.node(id).args;
            others.iter().all(|&other| self.memory[other as usize] != self.memory[target as usize])
        };
        match (&node.op, class(self.body, node)) {
            (Op::Scatter(_) | Op::Accumulate(_), _) => is_apart(added),
            (Op::View(_), _) if let Some(scatter) = turned_scatter(self.body, added) => {
                is_alone(scatter) && is_apart(scatter)
            }
            (_, LoweringClass::Pointwise) => is_large || self.is_sparse(added),
            (Op::Reduce(Reduction::Sum, _) | Op::Contract(_), LoweringClass::Reducing) => {
                is_large && op == Binary::Add && is_apart(added)
            }
            (Op::Contract(spec), LoweringClass::Product) => {
                is_large && op == Binary::Add && is_apart(added) && self.sums_rows(added, spec)
            }
            _ => false,
        }
    }

    /// Whether one product sums over more positions than its result has rows or columns, and no operand is the same in each step of
    /// a loop: the gradient of weights sums over samples so. Others go along the rows of the array that they are added to, in blocks
    /// with the steps that compute their operands.
    fn sums_rows(&self, id: NodeId, spec: &Contraction) -> bool {
        let node = self.body.node(id);
        let is_given = |arg: NodeId| match self.body.node(strided_source(self.body, arg, |_| false)).op {
            Op::Constant(_) => true,
            Op::Parameter(position) => position >= self.body.parameters,
            _ => false,
        };
        let shape = |arg: usize| &self.body.node(node.args[arg]).ty().shape;
        let count = |labels: &[Label]| steps(labels.iter().map(|&label| spec.extent(label, shape(0), shape(1))));
        let [batches, rows, summed, columns] = roles(spec);
        count(&batches) == 1
            && count(&summed) > count(&rows).max(count(&columns))
            && !node.args.iter().any(|&arg| is_given(arg))
    }

    /// Whether a node is zero but at few positions.
    fn is_sparse(&self, id: NodeId) -> bool {
        let node = self.body.node(id);
        let scatter = self.body.node(turned_scatter(self.body, id).unwrap_or(id));
        let count = match (&node.op, &scatter.op) {
            (_, Op::Scatter(_) | Op::Accumulate(_)) => self.body.node(scatter.args[0]).ty().size(),
            (Op::View(map), _) => surroundings(map).map_or(usize::MAX, |(domain, _)| size(&domain)),
            _ => usize::MAX,
        };
        is_sparse(count, node.ty().size())
    }
}
