//! Slices of a loop's inputs, and captures, that its steps compute.
//!
//! An input that repeats smaller arrays, such as rows of one of them under masks, is as large as all steps together. A step
//! computes its slice from their slices instead: so nothing larger than those arrays is kept. A capture that repeats a smaller array,
//! such as a bias for all samples, would be read from memory in each step, and its derivative would be summed up as large as it is.

use super::PrunePass;
use crate::affine::AffineMap;
use crate::array::Array;
use crate::operation::{Binary, Unary};
use crate::shape::{Axes, Shape, Type, size};
use crate::simplify::views::drop_columns;
use crate::term::recurrence::Elementwise;
use crate::term::{Body, Graph, NodeId, Op};
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Inputs and captures of fewer elements are kept.
const LARGE: usize = 4096;
/// Others must have at least this many times the elements of the arrays that they are computed from.
const GROWTH: usize = 4;
/// Slices that take at most so many operations are computed.
const OPERATIONS: usize = 16;

/// An array that a slice is computed from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SliceSource {
    /// A slice of another input.
    Slice(NodeId),
    /// The same array in each step.
    Whole(NodeId),
}

/// A slice of a view along the outermost axis.
enum SlicedView {
    /// A view of the same array for all.
    Same(AffineMap),
    /// A view of the slice of the array there.
    OfSlice(AffineMap),
}

fn sliced(map: &AffineMap) -> Option<SlicedView> {
    if map.ignored().contains(&0) {
        return Some(SlicedView::Same(drop_columns(map, &[0])));
    }
    let is_alone = |row: usize| {
        let row = map.row(row);
        row[0] == 1 && row[1..].iter().all(|&coefficient| coefficient == 0)
    };
    let rows = map.source().len();
    if !is_alone(0) || map.offset(0) != 0 || map.source()[0] != map.result()[0] {
        return None;
    }
    if (1..rows).any(|row| map.coefficient(row, 0) != 0) {
        return None;
    }
    let inner: Vec<SmallVec<[i64; 4]>> = (1..rows).map(|row| SmallVec::from_slice(&map.row(row)[1..])).collect();
    let offsets: Vec<i64> = (1..rows).map(|row| map.offset(row)).collect();
    Some(SlicedView::OfSlice(AffineMap::new(&map.source()[1..], &map.result()[1..], &inner, &offsets)))
}

fn is_cheap(op: &Op) -> bool {
    match op {
        Op::Unary(op) => matches!(op, Unary::Neg | Unary::Not),
        Op::Binary(op) => {
            matches!(op, Binary::Add | Binary::Sub | Binary::Mul | Binary::And | Binary::Or | Binary::KeepZero)
        }
        Op::Compare(_) | Op::Select | Op::Cast(_) => true,
        _ => false,
    }
}

/// For each parameter whether nothing but elementwise operations read it, which need no copy of what repeats.
pub(super) fn read_elementwise(body: &Body) -> Vec<bool> {
    let mut all = vec![true; body.arity()];
    let others = body.nodes.iter().filter(|node| Elementwise::of(&node.op).is_none());
    for &id in others.flat_map(|node| &node.args).chain(&body.results) {
        if let Some(elementwise) = all.get_mut(id as usize) {
            *elementwise = false;
        }
    }
    all
}

impl PrunePass {
    /// How many of some operands are each array, or views of it.
    pub(super) fn read_arrays(&self, operands: impl Iterator<Item = NodeId>) -> HashMap<NodeId, usize> {
        let mut counts = HashMap::new();
        for id in operands {
            let node = self.graph.node(id);
            let read = if let Op::View(_) = node.op { node.args[0] } else { id };
            *counts.entry(read).or_default() += 1;
        }
        counts
    }

    /// A capture as a view that repeats a smaller array, in rows as long as that has or of one number; `None` for captures to be
    /// kept, also where several operands are read from one array: loops that run for some rows at a time know one way to read it.
    pub(super) fn computed_capture(&self, capture: NodeId, reads: &HashMap<NodeId, usize>) -> Option<(Body, NodeId)> {
        let node = self.graph.node(capture);
        let Op::View(map) = &node.op else { return None };
        let (source, result) = (node.args[0], map.result());
        let (ty, elements) = (self.graph.ty(source), size(result));
        if elements < LARGE || ty.size().saturating_mul(GROWTH) > elements || reads[&source] > 1 {
            return None;
        }
        let ignored = map.ignored();
        let axes: Axes = (0..result.len()).filter(|axis| !ignored.contains(axis)).collect();
        let extents: Shape = axes.iter().map(|&axis| result[axis]).collect();
        let is_row = axes.last().is_none_or(|&last| last + 1 == result.len());
        if extents != ty.shape || !is_row || *map != AffineMap::broadcast(&extents, result, &axes) {
            return None;
        }
        let mut graph = Graph::new(std::slice::from_ref(ty), 0);
        let view = graph.add(node.op.clone(), &[0]);
        Some((graph.finish(&[view]), source))
    }

    /// A slice of an input as a function of smaller arrays and slices; `None` for inputs to be kept.
    pub(super) fn computed_slice(&self, input: NodeId) -> Option<(Body, Vec<SliceSource>)> {
        let of_type = |id: NodeId| self.graph.ty(id);
        if of_type(input).size() < LARGE {
            return None;
        }
        let (mut computed, mut sources, mut open) = (BTreeMap::new(), BTreeSet::new(), vec![input]);
        while let Some(id) = open.pop() {
            let node = self.graph.node(id);
            let view = if let Op::View(map) = &node.op { sliced(map) } else { None };
            match (&node.op, &view) {
                (Op::Constant(array), _) if array.uniform().is_some() => {}
                (_, Some(SlicedView::Same(_))) => drop(sources.insert(SliceSource::Whole(node.args[0]))),
                (_, Some(SlicedView::OfSlice(_))) => open.push(node.args[0]),
                (op, _) if is_cheap(op) => open.extend(&node.args),
                _ if id == input => return None,
                _ => {
                    sources.insert(SliceSource::Slice(id));
                    continue;
                }
            }
            computed.insert(id, view);
            if computed.len() > OPERATIONS {
                return None;
            }
        }
        let elements =
            sources.iter().map(|&(SliceSource::Slice(id) | SliceSource::Whole(id))| size(&of_type(id).shape));
        if elements.fold(0, usize::saturating_add).saturating_mul(GROWTH) > of_type(input).size() {
            return None;
        }
        let sources: Vec<SliceSource> = sources.into_iter().collect();
        let types = sources.iter().map(|&source| match source {
            SliceSource::Slice(id) => Type::new(of_type(id).dtype, &of_type(id).shape[1..]),
            SliceSource::Whole(id) => of_type(id).clone(),
        });
        let mut graph = Graph::new(&types.collect::<Vec<Type>>(), 0);
        let place = |source: SliceSource| sources.binary_search(&source).ok().map(|at| at as NodeId);
        let mut ids: Vec<(NodeId, NodeId)> = Vec::new();
        for (id, view) in computed {
            let node = self.graph.node(id);
            let slice = |arg: NodeId| {
                let known = ids.iter().find(|&&(other, _)| other == arg).map(|&(_, slice)| slice);
                known.or_else(|| place(SliceSource::Slice(arg))).expect("operands come first")
            };
            let made = match (&node.op, view) {
                (Op::Constant(array), _) => {
                    let value = array.uniform().expect("one value");
                    graph.add(Op::Constant(Array::full(&of_type(id).shape[1..], value)), &[])
                }
                (_, Some(SlicedView::Same(map))) => {
                    let whole = place(SliceSource::Whole(node.args[0])).expect("a source");
                    if map.is_identity() { whole } else { graph.add(Op::View(map), &[whole]) }
                }
                (_, Some(SlicedView::OfSlice(map))) => graph.add(Op::View(map), &[slice(node.args[0])]),
                (op, _) => {
                    let args: SmallVec<[NodeId; 3]> = node.args.iter().map(|&arg| slice(arg)).collect();
                    graph.add(op.clone(), &args)
                }
            };
            ids.push((id, made));
        }
        let (_, result) = ids.pop().expect("the input is computed last");
        Some((graph.finish(&[result]), sources))
    }
}
