//! Reads pushed down (P 5, figure 10), with all uses known.
//!
//! The walk goes from the results to the parameters. When it comes to a node, it knows every request for it: for all of it, or
//! for some reads. *The reads move into the node only if nothing else is requested, and together they read at most its size;
//! index arithmetic always moves.* (Several reads move only where that saves work, or separates a concatenation.) Then each
//! read becomes the node's operation on reads of its operands, which are requested in turn, so that one walk takes a read as
//! far as it goes. Otherwise the node is computed, and read: it counts as the theorem's variable. So no work is repeated,
//! however much is shared.
//!
//! A read that may fall outside gives 0 there. It moves without further ado into an operation that takes zeros to zero;
//! else with a guard, `select(0 ≤ i < n, pushed read, 0)`, below which its positions outside may give anything.

mod contract;
mod cost;
mod part;
mod read;
mod reshape;
mod rules;
mod still;
mod values;

use crate::operation::{Binary, Comparison};
use crate::shape::{Axes, DType, Shape, Type, Value, size};
use crate::simplify::{SimplifiedBodies, bounds};
use crate::term::ends::ConcatenationEnds;
use crate::term::hash::TermMap;
use crate::term::infer::Types;
use crate::term::{Body, Node, NodeId, Op};
pub(crate) use cost::push_gathers;
use read::{Outside, ReadRequest, without_repetition};
use smallvec::{SmallVec, smallvec};
use std::collections::HashMap;
use std::sync::Arc;
pub(crate) use still::{in_order, is_still};
use values::{ReadValueId, Values, WIDE};

/// A node is copied for at most so many reads: without a bound, a chain of nodes that each read two elements of the one
/// before would become a tree.
const READS: usize = 8;

/// Moves reads towards their sources, where that costs nothing, in the bodies of loops and conditionals too.
///
/// The result computes the same values. Reads never move across the boundary of a nested body.
pub fn push_reads(body: &Body) -> Body {
    push_and_simplify(body).0
}

/// As [`push_reads`], and simplifies the nodes that it writes. Also returns whether the result is irreducible.
pub(crate) fn push_and_simplify(body: &Body) -> (Body, bool) {
    push_body(body, &mut PushMemo::default())
}

/// Nested bodies done before.
#[derive(Default)]
struct PushMemo {
    /// Whether gathers move where that costs less than storing their source, and nothing else moves.
    by_cost: bool,
    pushed: HashMap<*const Body, Arc<Body>>,
    simplified: SimplifiedBodies,
}

fn push_body(body: &Body, memo: &mut PushMemo) -> (Body, bool) {
    let mut push = Push::new(body, memo);
    let results: Vec<ReadValueId> =
        body.results.iter().map(|&result| push.demand(result, ReadRequest::Whole)).collect();
    for at in (0..body.nodes.len()).rev() {
        push.settle(at as NodeId);
    }
    let Push { values, memo, .. } = push;
    values.rebuild(body, &results, &mut memo.simplified)
}

struct Push<'a> {
    body: &'a Body,
    memo: &'a mut PushMemo,
    values: Values,
    /// The requests for each node that the walk has not come to.
    pending: Vec<Vec<(ReadRequest, ReadValueId)>>,
    table: TermMap<(NodeId, ReadRequest), ReadValueId>,
    /// Smallest and largest element of each node of element type `i64`.
    ranges: Vec<(i64, i64)>,
    /// Whether a node is arithmetic on nothing but iotas and constants.
    arithmetic: Vec<bool>,
    /// Which nodes are stored though no gather reads them, if gathers move by cost.
    stored: Option<Vec<bool>>,
    /// Where the parts of concatenations end.
    ends: ConcatenationEnds,
}

impl<'a> Push<'a> {
    fn new(body: &'a Body, memo: &'a mut PushMemo) -> Self {
        let mut arithmetic = Vec::with_capacity(body.nodes.len());
        for node in &body.nodes {
            let own = match &node.op {
                Op::Constant(array) => array.uniform().is_some(),
                Op::Iota(_) | Op::Unary(_) | Op::Binary(_) | Op::Compare(_) | Op::Select => true,
                Op::Cast(_) | Op::View(_) | Op::Reshape(_) => true,
                _ => false,
            };
            let index = node.types.iter().all(|ty| !ty.dtype.is_float());
            arithmetic.push(own && index && node.args.iter().all(|&arg| arithmetic[arg as usize]));
        }
        let stored = memo.by_cost.then(|| cost::stored(body));
        Push {
            body,
            memo,
            stored,
            values: Values::default(),
            pending: vec![Vec::new(); body.nodes.len()],
            table: TermMap::default(),
            ranges: ranges(body),
            arithmetic,
            ends: ConcatenationEnds::default(),
        }
    }

    fn node(&self, at: NodeId) -> &'a Node {
        self.body.node(at)
    }

    fn shape(&self, at: NodeId) -> &'a Shape {
        &self.body.node(at).ty().shape
    }

    /// The one value of all elements of a node that is a constant.
    fn uniform(&self, at: NodeId) -> Option<Value> {
        match &self.node(at).op {
            Op::Constant(array) => array.uniform(),
            _ => None,
        }
    }

    /// The shape of a read of a node.
    fn result_shape(&self, at: NodeId, read: &ReadRequest) -> Shape {
        match read {
            ReadRequest::Whole => self.shape(at).clone(),
            ReadRequest::View { map, .. } => Shape::from_slice(map.result()),
            ReadRequest::Gather { indices, .. } => {
                let mut shape = self.values.shape(indices[0]);
                shape.extend_from_slice(&self.shape(at)[indices.len()..]);
                shape
            }
        }
    }

    /// Whether a read may fall outside along an axis of the node.
    fn leaves(&self, at: NodeId, read: &ReadRequest, axis: usize) -> bool {
        let extent = self.shape(at)[axis] as i128;
        let (low, high) = match read {
            ReadRequest::Whole => return false,
            ReadRequest::View { map, .. } => map.range(axis),
            ReadRequest::Gather { indices, .. } => match indices.get(axis) {
                Some(&index) => {
                    let (low, high) = self.values.range(index);
                    (low as i128, high as i128)
                }
                None => return false,
            },
        };
        low < 0 || high >= extent
    }

    /// The axes of the node along which a read may fall outside, where it must give 0 there.
    fn leaving(&self, at: NodeId, read: &ReadRequest) -> Axes {
        if read.outside() != Outside::Zero {
            return Axes::new();
        }
        (0..self.shape(at).len()).filter(|&axis| self.leaves(at, read, axis)).collect()
    }

    /// The value of a read of a node that the walk has not come to.
    fn demand(&mut self, at: NodeId, mut read: ReadRequest) -> ReadValueId {
        match &read {
            ReadRequest::View { map, .. } if map.is_identity() => read = ReadRequest::Whole,
            ReadRequest::Gather { indices, .. } if indices.is_empty() => read = ReadRequest::Whole,
            _ => {}
        }
        if read == ReadRequest::Whole {
            // A loop may have very many outputs, each of which asks for it: its types are looked at once.
            return match self.table.get(&(at, ReadRequest::Whole)) {
                Some(&value) => value,
                None => self.pending(at, read, self.node(at).types.clone(), self.ranges[at as usize]),
            };
        }
        let ty = Type { dtype: self.node(at).ty().dtype, shape: self.result_shape(at, &read) };
        if ty.size() == 0 || self.node(at).ty().size() == 0 {
            return self.values.zeros(&ty);
        }
        if let ReadRequest::View { map, outside } = &read
            && let Some((map, places)) = without_repetition(map)
        {
            let core = self.demand(at, ReadRequest::View { map, outside: *outside });
            return self.values.spread(core, &ty.shape, &places);
        }
        let axes = self.shape(at).len();
        let inside = !(0..axes).any(|axis| self.leaves(at, &read, axis));
        match &mut read {
            ReadRequest::View { outside, .. } | ReadRequest::Gather { outside, .. } if inside => {
                *outside = Outside::Never
            }
            _ => {}
        }
        if let Some(value) = self.uniform(at)
            && (read.outside() != Outside::Zero || value.to_f64() == 0.0)
        {
            return self.values.full(&ty.shape, value);
        }
        let (low, high) = self.ranges[at as usize];
        let range = if inside { (low, high) } else { (low.min(0), high.max(0)) };
        self.pending(at, read, smallvec![ty], range)
    }

    fn pending(&mut self, at: NodeId, read: ReadRequest, types: Types, range: (i64, i64)) -> ReadValueId {
        let key = (at, read);
        if let Some(&value) = self.table.get(&key) {
            return value;
        }
        let value = self.values.pending(types, range);
        self.pending[at as usize].push((key.1.clone(), value));
        self.table.insert(key, value);
        value
    }

    /// Decides on a node: whether the reads that are asked of it move into it.
    fn settle(&mut self, at: NodeId) {
        let pending = std::mem::take(&mut self.pending[at as usize]);
        if pending.is_empty() || self.settle_part(at, &pending) {
            return;
        }
        let moves = self.moves(at, &pending);
        let mut kept = None;
        for (read, value) in pending {
            let same = if moves && self.may_move(&read) {
                self.moved(at, &read)
            } else {
                let kept = *kept.get_or_insert_with(|| self.kept(at));
                match read {
                    ReadRequest::Whole => kept,
                    ReadRequest::View { map, .. } => self.values.make(Op::View(map), &[kept]),
                    ReadRequest::Gather { indices, .. } => {
                        let mut args = vec![kept];
                        args.extend_from_slice(&indices);
                        self.values.make(Op::Gather, &args)
                    }
                }
            };
            self.values.define(value, same);
        }
    }

    /// Whether the reads requested of a node move into it: where nothing else is requested and they read no more than its size,
    /// or it is index arithmetic.
    ///
    /// Several reads turn one node that computes into several: they move only where that saves at least half of the
    /// computation, or where they separate a concatenation. Otherwise a level of a reduction that reads the even and the odd
    /// positions of the one below would become a tree.
    fn moves(&self, at: NodeId, pending: &[(ReadRequest, ReadValueId)]) -> bool {
        if let Some(stored) = &self.stored {
            return (!stored[at as usize] || self.uniform(at).is_some()) && self.moving_pays(at, pending);
        }
        let reads = || pending.iter().map(|(read, _)| read).filter(|read| **read != ReadRequest::Whole);
        let elements = |read: &ReadRequest| size(&self.result_shape(at, read));
        let total = reads().fold(0usize, |total, read| total.saturating_add(elements(read)));
        let extent = || self.node(at).ty().size();
        let arrangement =
            matches!(self.node(at).op, Op::View(_) | Op::Reshape(_) | Op::Concatenate(_) | Op::Constant(_));
        let worth = || pending.len() == 1 || arrangement || total <= extent() / 2 || self.parts(at, pending);
        let free = reads().count() == pending.len() && total <= extent() && worth();
        pending.len() <= READS && (free || self.arithmetic[at as usize]) && reads().all(|read| self.admits(at, read))
    }

    /// Whether a read is of the kind that moves.
    fn may_move(&self, read: &ReadRequest) -> bool {
        match read {
            ReadRequest::Whole => false,
            ReadRequest::View { .. } => self.stored.is_none(),
            ReadRequest::Gather { .. } => true,
        }
    }

    /// Whether elementwise operations lead from a node to a concatenation, with each read in a single part.
    fn parts(&self, at: NodeId, pending: &[(ReadRequest, ReadValueId)]) -> bool {
        let mut open: SmallVec<[NodeId; 8]> = smallvec![at];
        // Long chains are not traversed repeatedly.
        for _ in 0..READS {
            let Some(next) = open.pop() else { return false };
            let node = self.node(next);
            match &node.op {
                Op::Concatenate(axis) if pending.iter().all(|(read, _)| self.lies_in_one_part(next, *axis, read)) => {
                    return true;
                }
                Op::Unary(_) | Op::Binary(_) | Op::Compare(_) | Op::Select | Op::Cast(_) | Op::Mark => {
                    open.extend(node.args.iter().rev().copied());
                }
                _ => {}
            }
        }
        false
    }

    /// The value of a node itself.
    fn kept(&mut self, at: NodeId) -> ReadValueId {
        let node = self.node(at);
        let whole = |push: &mut Self, arg: NodeId| push.demand(arg, ReadRequest::Whole);
        let op = match &node.op {
            Op::Parameter(position) => return self.values.parameter(*position, node.types.clone()),
            Op::View(map) => return self.demand(node.args[0], ReadRequest::view(map.clone())),
            Op::Gather => {
                let indices: SmallVec<[ReadValueId; 4]> = node.args[1..].iter().map(|&arg| whole(self, arg)).collect();
                return self.demand(node.args[0], ReadRequest::Gather { indices, outside: Outside::Zero });
            }
            op => op.map_bodies(|body| self.nested(body)),
        };
        let args: SmallVec<[ReadValueId; 3]> = node.args.iter().map(|&arg| whole(self, arg)).collect();
        self.values.make_ranged(op, &args, self.ranges[at as usize])
    }

    fn nested(&mut self, body: &Arc<Body>) -> Arc<Body> {
        if let Some(done) = self.memo.pushed.get(&Arc::as_ptr(body)) {
            return done.clone();
        }
        let done = Arc::new(push_body(body, self.memo).0);
        self.memo.pushed.insert(Arc::as_ptr(body), done.clone());
        done
    }

    /// A read moved into a node, with a guard where it needs one.
    fn moved(&mut self, at: NodeId, read: &ReadRequest) -> ReadValueId {
        let leaving = self.leaving(at, read);
        if leaving.is_empty() || self.keeps_zero(at, read, &leaving) {
            return self.through(at, read);
        }
        // The positions that are outside along one axis of the read are not computed.
        if let (Op::Contract(_), ReadRequest::View { map, outside }) = (&self.node(at).op, read) {
            let Some((inner, padding)) = map.padded() else {
                return self.values.zeros(&Type { dtype: self.node(at).ty().dtype, shape: map.result().into() });
            };
            if !padding.is_identity() {
                let outside = if inner.is_inside() { Outside::Never } else { *outside };
                let shape = Shape::from_slice(inner.result());
                let (core, places) = without_repetition(&inner).unwrap_or_else(|| (inner, (0..shape.len()).collect()));
                let core = self.moved(at, &ReadRequest::View { map: core, outside });
                let inner = self.values.spread(core, &shape, &places);
                return self.values.make(Op::View(padding), &[inner]);
            }
        }
        let inner = self.through(at, &read.relaxed());
        let result = self.result_shape(at, read);
        let mask = self.guard(at, read, &leaving, &result);
        let zeros = self.values.zeros(&Type { dtype: self.node(at).ty().dtype, shape: result });
        self.values.make(Op::Select, &[mask, inner, zeros])
    }

    /// Where a read falls inside, along the given axes of the node.
    fn guard(&mut self, at: NodeId, read: &ReadRequest, leaving: &[usize], result: &[usize]) -> ReadValueId {
        let mut mask: Option<ReadValueId> = None;
        for &axis in leaving {
            let (position, places) = match read {
                ReadRequest::View { map, .. } => self.values.affine(result, map.row(axis), map.offset(axis)),
                ReadRequest::Gather { indices, .. } => {
                    (indices[axis], (0..self.values.shape(indices[axis]).len()).collect())
                }
                ReadRequest::Whole => unreachable!("all of a node lies inside"),
            };
            let extent = self.shape(at)[axis];
            let (low, high) = match read {
                ReadRequest::View { map, .. } => map.range(axis),
                _ => {
                    let (low, high) = self.values.range(position);
                    (low as i128, high as i128)
                }
            };
            if low < 0 {
                mask = Some(self.bound(mask, position, Comparison::GreaterEqual, 0, result, &places));
            }
            if high >= extent as i128 {
                let extent = i64::try_from(extent).unwrap_or(i64::MAX);
                mask = Some(self.bound(mask, position, Comparison::Less, extent, result, &places));
            }
        }
        mask.expect("the read may fall outside")
    }

    /// The mask, and a comparison of positions with a bound.
    fn bound(
        &mut self,
        mask: Option<ReadValueId>,
        position: ReadValueId,
        comparison: Comparison,
        bound: i64,
        result: &[usize],
        places: &[usize],
    ) -> ReadValueId {
        let limit = self.values.full(&self.values.shape(position), Value::I64(bound));
        let inside = self.values.make(Op::Compare(comparison), &[position, limit]);
        let inside = self.values.spread(inside, result, places);
        match mask {
            Some(mask) => self.values.make(Op::Binary(Binary::And), &[mask, inside]),
            None => inside,
        }
    }

    /// The positions that a read visits along every axis of a node, as index arrays of the result's shape.
    fn positions(&mut self, at: NodeId, read: &ReadRequest) -> Vec<ReadValueId> {
        let result = self.result_shape(at, read);
        let axes = self.shape(at).len();
        match read {
            ReadRequest::Whole => unreachable!("all of a node is not a read"),
            ReadRequest::View { map, .. } => {
                (0..axes).map(|axis| self.values.affine_over(&result, map.row(axis), map.offset(axis))).collect()
            }
            ReadRequest::Gather { indices, .. } => {
                let outer = self.values.shape(indices[0]).len();
                let places: Axes = (0..outer).collect();
                let mut positions: Vec<ReadValueId> =
                    indices.iter().map(|&index| self.values.spread(index, &result, &places)).collect();
                for axis in indices.len()..axes {
                    let mut row: SmallVec<[i64; 4]> = SmallVec::from_elem(0, result.len());
                    row[outer + axis - indices.len()] = 1;
                    positions.push(self.values.affine_over(&result, &row, 0));
                }
                positions
            }
        }
    }
}

/// Smallest and largest element of each node of element type `i64`.
fn ranges(body: &Body) -> Vec<(i64, i64)> {
    let integer = |node: &Node| matches!(&node.types[..], [ty] if ty.dtype == DType::I64);
    let facts = bounds::facts(body);
    facts.iter().zip(&body.nodes).map(|(fact, node)| if integer(node) { fact.interval } else { WIDE }).collect()
}
