//! Concatenations: fewer and larger parts, and reads of one part.

use super::{offsets_of, reads::TABLE, rows_of, zeros_like};
use crate::affine::AffineMap;
use crate::array::Array;
use crate::evaluate::computed;
use crate::shape::{Value, size};
use crate::simplify::Simplifier;
use crate::term::{NodeId, Op};
use smallvec::SmallVec;

/// A view that reads one part of a concatenation only is a view of that part: the others are not read.
pub(super) fn view_of_part(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::View(map) = op else { return None };
    let (&Op::Concatenate(axis), parts) = arena.parts(args[0]) else { return None };
    let (low, high) = map.range(axis);
    let (low, high) = (usize::try_from(low).ok()?, usize::try_from(high).ok()?);
    let extents = parts.iter().map(|&part| arena.ty(part).shape[axis]);
    let (at, start) = arena.ends.part(args[0], extents, low)?;
    let part = parts[at];
    let shape = &arena.ty(part).shape;
    if high >= start + shape[axis] {
        return None;
    }
    let mut offsets = offsets_of(map);
    offsets[axis] = offsets[axis].checked_sub(i64::try_from(start).ok()?)?;
    let inner = AffineMap::checked(shape, map.result(), &rows_of(map), &offsets)?;
    Some(arena.add(Op::View(inner), &[part]))
}

/// A small concatenation of constants is a constant.
pub(super) fn concatenate_constants(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Concatenate(_) = op else { return None };
    let constant = |&part: &NodeId| match arena.parts(part).0 {
        Op::Constant(array) => Some(array.clone()),
        _ => None,
    };
    // The first part that is not constant ends the search.
    let parts: Vec<Array> = args.iter().map_while(constant).collect();
    if parts.len() < args.len() || parts.iter().map(Array::size).fold(0, usize::saturating_add) > TABLE {
        return None;
    }
    let joined = computed(op, parts.into());
    Some(arena.add(Op::Constant(joined), &[]))
}

/// Concatenations of up to this many parts are taken apart to become parts of an outer one. A limit, so that a chain of
/// concatenations stays linear.
const FLATTENED: usize = 64;

/// A concatenation of concatenations along the same axis is one: no intermediate array.
pub(super) fn concatenate_nested(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    if !matches!(op, Op::Concatenate(_)) {
        return None;
    }
    let nested = |arena: &Simplifier, part: NodeId| {
        let (inner, parts) = arena.parts(part);
        inner == op && parts.len() <= FLATTENED
    };
    if !args.iter().any(|&part| nested(arena, part)) {
        return None;
    }
    let mut flat = Vec::new();
    for &part in args {
        if nested(arena, part) {
            flat.extend_from_slice(arena.parts(part).1);
        } else {
            flat.push(part);
        }
    }
    Some(arena.add(op.clone(), &flat))
}

/// A part of a concatenation while neighbours are joined.
enum JoinedPart {
    /// Any array.
    Node(NodeId),
    /// Equal elements.
    Uniform(Value, SmallVec<[usize; 4]>),
    /// A view of an array.
    View(NodeId, AffineMap),
}

impl JoinedPart {
    fn of(arena: &Simplifier, part: NodeId) -> JoinedPart {
        match arena.parts(part) {
            (Op::View(map), sources) => JoinedPart::View(sources[0], map.clone()),
            _ => match arena.uniform(part) {
                Some(value) => JoinedPart::Uniform(value, arena.ty(part).shape.clone()),
                None => JoinedPart::Node(part),
            },
        }
    }

    /// The two pieces as one, if they are neighbours in one array too.
    fn join(&self, next: &JoinedPart, axis: usize, arena: &Simplifier) -> Option<JoinedPart> {
        let as_view = |piece: &JoinedPart| match piece {
            JoinedPart::View(source, map) => Some((*source, map.clone())),
            JoinedPart::Node(node) => Some((*node, AffineMap::identity(&arena.ty(*node).shape))),
            JoinedPart::Uniform(..) => None,
        };
        if let (JoinedPart::Uniform(value, shape), JoinedPart::Uniform(other, added)) = (self, next) {
            if value != other {
                return None;
            }
            let mut shape = shape.clone();
            shape[axis] += added[axis];
            return Some(JoinedPart::Uniform(*value, shape));
        }
        let ((source, first), (other, second)) = (as_view(self)?, as_view(next)?);
        if source != other {
            return None;
        }
        join_maps(&first, &second, axis).map(|map| JoinedPart::View(source, map))
    }
}

/// The map that joins the reads of two maps of one source along a result axis.
fn join_maps(first: &AffineMap, second: &AffineMap, axis: usize) -> Option<AffineMap> {
    let (long, added) = (first.result()[axis], second.result()[axis]);
    let mut rows = rows_of(first);
    for (row, coefficients) in rows.iter_mut().enumerate() {
        let same = (0..first.result().len())
            .all(|column| column == axis || first.coefficient(row, column) == second.coefficient(row, column));
        if !same {
            return None;
        }
        let distance = second.offset(row).checked_sub(first.offset(row))?;
        let count = i64::try_from(long).ok()?;
        let step = distance / count;
        let fits = distance % count == 0
            && (long == 1 || first.coefficient(row, axis) == step)
            && (added == 1 || second.coefficient(row, axis) == step);
        if !fits {
            return None;
        }
        coefficients[axis] = step;
    }
    let mut result: SmallVec<[usize; 4]> = first.result().into();
    result[axis] = long.checked_add(added)?;
    AffineMap::checked(first.source(), &result, &rows, &offsets_of(first))
}

/// Empty parts are dropped and neighbouring slices of one array joined: fewer parts.
pub(super) fn concatenate_pieces(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let &Op::Concatenate(axis) = op else { return None };
    if let [part] = args {
        return Some(*part);
    }
    let mut pieces: Vec<(JoinedPart, NodeId)> = Vec::new();
    let mut joined: Vec<bool> = Vec::new();
    for &part in args {
        if size(&arena.ty(part).shape) == 0 && arena.ty(part).shape[axis] == 0 {
            continue;
        }
        let piece = JoinedPart::of(arena, part);
        let both = pieces.last().and_then(|(last, _)| last.join(&piece, axis, arena));
        match both {
            Some(both) => {
                pieces.last_mut().expect("joined with it").0 = both;
                *joined.last_mut().expect("one for each piece") = true;
            }
            None => {
                pieces.push((piece, part));
                joined.push(false);
            }
        }
    }
    if pieces.len() == args.len() {
        return None;
    }
    let parts: Vec<NodeId> = pieces
        .into_iter()
        .zip(joined)
        .map(|((piece, part), joined)| match piece {
            _ if !joined => part,
            JoinedPart::Uniform(value, shape) => arena.full(&shape, value),
            JoinedPart::View(source, map) => arena.add(Op::View(map), &[source]),
            JoinedPart::Node(node) => node,
        })
        .collect();
    match parts[..] {
        [] => {
            let shape = arena.ty(args[0]).shape.clone();
            Some(zeros_like(arena, args[0], &shape))
        }
        [part] => Some(part),
        _ => Some(arena.add(op.clone(), &parts)),
    }
}
