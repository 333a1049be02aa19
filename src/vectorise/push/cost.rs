//! Gathers pushed by cost, for programs that run as kernels.
//!
//! A kernel reads at computed positions from memory: a value that is gathered from is stored for that, even a difference of two
//! arrays repeated against each other, which is larger than both. `gather(f(a, b), i)` is `f` of gathers of `a` and `b`, and a
//! gather along an axis that an operand merely repeats is that operand. So gathers move where recomputation costs less than
//! storing, whatever else uses the value.

use super::read::{ReadRequest, keeps_trailing};
use super::values::ReadValueId;
use super::{Push, PushMemo, READS, push_body};
use crate::kernel::roots::{self, LoweringClass, NEST};
use crate::kernel::scattered_onto;
use crate::operation::Label;
use crate::shape::size;
use crate::term::{Body, NodeId, Op};

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

/// The cost of a read at a computed position, in simple operations: for an element of a row, and for a single one.
const OF_ROW: f64 = 1.0;
const SINGLE: f64 = 4.0;
/// The elements from which a row is read as a row.
const ROW: usize = 8;
/// The cost of joining the positions along several axes, for each axis.
const POSITION: f64 = 4.0;
/// The most operations of a value into which gathers move.
const OPERATIONS: usize = 64;

/// Moves gathers into their sources, in nested bodies too, where the source then needs no buffer and the move costs less. The
/// result computes the same values.
pub(crate) fn push_gathers(body: &Body) -> Cow<'_, Body> {
    if !has_gathers_from_values(body, &mut HashSet::new()) {
        return Cow::Borrowed(body);
    }
    Cow::Owned(push_body(body, &mut PushMemo { by_cost: true, ..PushMemo::default() }).0)
}

/// Whether something is stored for being read at computed positions alone.
fn has_gathers_from_values(body: &Body, seen: &mut HashSet<*const Body>) -> bool {
    let sources = || body.nodes.iter().filter(|node| node.op == Op::Gather).map(|node| node.args[0] as usize);
    let is_leaf = |at: usize| matches!(body.nodes[at].op, Op::Parameter(_) | Op::Constant(_));
    if sources().any(|source| !is_leaf(source)) {
        let stored = stored(body);
        if sources().any(|source| !stored[source]) {
            return true;
        }
    }
    let nested = body.nodes.iter().flat_map(|node| node.op.bodies());
    nested.into_iter().any(|body| seen.insert(Arc::as_ptr(body)) && has_gathers_from_values(body, seen))
}

/// Which nodes are stored though no gather reads them. A sum that adds to an array at some positions counts as stored: it may
/// be made in the array's place, which gathers that moved into its operands would prevent.
pub(super) fn stored(body: &Body) -> Vec<bool> {
    let (mut stored, uses) = (roots::stored_without_gathers(body), body.use_counts());
    for (id, stored) in (0..).zip(&mut stored) {
        *stored |= scattered_onto(body, &uses, id).is_some();
    }
    stored
}

impl Push<'_> {
    /// Whether the gathers among the reads of a node that is not stored for others cost less in it than storing it.
    pub(super) fn moving_pays(&self, at: NodeId, pending: &[(ReadRequest, ReadValueId)]) -> bool {
        let node = self.node(at);
        if roots::class(self.body, node) != LoweringClass::Pointwise || pending.len() > READS {
            return false;
        }
        let own = node.ty().size() as f64;
        let (mut before, mut after) = (2.0 * own, 0.0);
        if pending.iter().all(|(read, _)| self.may_move(read)) {
            // Nothing else computes it.
            let Some(work) = self.work(at, 0) else { return false };
            before += work * own + NEST;
        }
        for (read, _) in pending {
            let ReadRequest::Gather { indices, .. } = read else { continue };
            let elements = size(&self.result_shape(at, read)) as f64;
            let Some(work) = self.work(at, indices.len()) else { return false };
            before += elements * self.load(at, indices.len());
            after += elements * work;
            if !self.admits(at, read) {
                return false;
            }
        }
        pending.iter().any(|(read, _)| self.may_move(read)) && after < before
    }

    /// The cost of reading an element of a stored value by gathers of `indexed` indices.
    fn load(&self, at: NodeId, indexed: usize) -> f64 {
        let positions = POSITION * indexed.saturating_sub(1) as f64;
        match indexed {
            0 => OF_ROW,
            _ if size(&self.shape(at)[indexed..]) >= ROW => OF_ROW + positions / ROW as f64,
            _ => SINGLE + positions,
        }
    }

    /// The cost of computing an element of a node of a stored value, if that is read by gathers of `indexed` indices; `None`
    /// where it takes many operations.
    fn work(&self, at: NodeId, indexed: usize) -> Option<f64> {
        let (mut open, mut sum) = (vec![(at, indexed)], 0.0);
        for _ in 0..OPERATIONS {
            let Some((at, indexed)) = open.pop() else { return Some(sum) };
            let node = self.node(at);
            let is_leaf = matches!(node.op, Op::Parameter(_) | Op::Constant(_));
            let is_stored = || self.stored.as_ref().is_some_and(|stored| stored[at as usize]);
            if self.uniform(at).is_some() {
                continue;
            }
            if is_leaf || is_stored() {
                sum += self.load(at, indexed);
                continue;
            }
            sum += roots::own_cost(&node.op);
            match self.as_view(at) {
                Some(map) if indexed > 0 => {
                    let kept = map.result().len() - indexed;
                    match map.source().len().checked_sub(kept).filter(|_| keeps_trailing(&map, kept)) {
                        Some(inner) => open.push((node.args[0], inner)),
                        None => {
                            sum += 2.0 * POSITION * map.source().len() as f64;
                            open.push((node.args[0], map.source().len()));
                        }
                    }
                }
                // The operation's own cost is a read of its array; its index arrays are read along its outer axes.
                _ if node.op == Op::Gather => {
                    open.extend(node.args[1..].iter().map(|&arg| (arg, indexed.min(self.shape(arg).len()))));
                }
                _ if let Op::Contract(spec) = &node.op => {
                    let own = |labels: &[Label]| labels.iter().filter(|l| spec.result[..indexed].contains(l)).count();
                    open.extend([(node.args[0], own(&spec.left)), (node.args[1], own(&spec.right))]);
                }
                _ => open.extend(node.args.iter().map(|&arg| (arg, indexed))),
            }
        }
        open.is_empty().then_some(sum)
    }
}
