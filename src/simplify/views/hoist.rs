//! Repetition and reordering move outwards through elementwise operations.

use super::{drop_columns, with_axes};
use crate::affine::AffineMap;
use crate::shape::{Axes, Shape, size};
use crate::simplify::Simplifier;
use crate::term::{NodeId, Op};
use smallvec::SmallVec;

fn is_elementwise(op: &Op) -> bool {
    matches!(op, Op::Unary(_) | Op::Binary(_) | Op::Compare(_) | Op::Select | Op::Cast(_))
}

/// The maps of the operands that are views; `None` if one is neither a view nor uniform, or none is a view.
fn view_maps(arena: &Simplifier, args: &[NodeId]) -> Option<SmallVec<[AffineMap; 3]>> {
    let mut maps = SmallVec::new();
    for &arg in args {
        match arena.parts(arg).0 {
            Op::View(map) => maps.push(map.clone()),
            _ => {
                arena.uniform(arg)?;
            }
        }
    }
    (!maps.is_empty()).then_some(maps)
}

/// An elementwise operation whose operands all repeat along an axis runs on fewer elements, and its result is repeated.
pub(super) fn hoist_replicate(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    if !is_elementwise(op) {
        return None;
    }
    let maps = view_maps(arena, args)?;
    let shape = arena.ty(args[0]).shape.clone();
    let mut axes: Axes = maps[0].ignored();
    axes.retain(|axis| shape[*axis] > 1 && maps[1..].iter().all(|map| map.ignored().contains(axis)));
    if axes.is_empty() || size(&shape) == 0 {
        return None;
    }
    let kept: Shape = (0..shape.len()).filter(|axis| !axes.contains(axis)).map(|axis| shape[axis]).collect();
    let smaller: SmallVec<[NodeId; 3]> = args
        .iter()
        .map(|&arg| match arena.uniform(arg) {
            Some(value) => arena.full(&kept, value),
            None => {
                let (Op::View(map), sources) = arena.parts(arg) else { unreachable!("a view or uniform") };
                let (map, source) = (drop_columns(map, &axes), sources[0]);
                arena.add(Op::View(map), &[source])
            }
        })
        .collect();
    let inner = arena.add(op.clone(), &smaller);
    Some(with_axes(arena, inner, &shape, &axes))
}

/// Whether a map reads every element of its source exactly once: axes permuted, reversed, or of extent 1 and new.
fn is_bijection(map: &AffineMap) -> bool {
    let mut used: SmallVec<[bool; 4]> = map.result().iter().map(|&extent| extent == 1).collect();
    let each = (0..map.source().len()).all(|row| {
        let mut moving = map.row(row).iter().enumerate().filter(|&(_, &coefficient)| coefficient != 0);
        match (moving.next(), moving.next()) {
            (None, _) => map.source()[row] == 1,
            (Some((column, 1 | -1)), None) => {
                map.result()[column] == map.source()[row] && !std::mem::replace(&mut used[column], true)
            }
            _ => false,
        }
    });
    each && map.is_inside() && used.iter().all(|&used| used)
}

/// An elementwise operation on operands that are all reordered in the same way reorders its result: fewer views.
pub(super) fn hoist_bijection(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    if !is_elementwise(op) {
        return None;
    }
    let maps = view_maps(arena, args)?;
    if maps[1..].iter().any(|map| *map != maps[0]) || !is_bijection(&maps[0]) {
        return None;
    }
    let inner_args: SmallVec<[NodeId; 3]> = args
        .iter()
        .map(|&arg| match arena.uniform(arg) {
            Some(value) => arena.full(maps[0].source(), value),
            None => arena.parts(arg).1[0],
        })
        .collect();
    let inner = arena.add(op.clone(), &inner_args);
    Some(arena.add(Op::View(maps[0].clone()), &[inner]))
}
