//! Views of views and of constants.

use super::zeros_like;
use crate::affine::AffineMap;
use crate::evaluate::computed;
use crate::shape::{Shape, Value, size};
use crate::simplify::Simplifier;
use crate::term::{NodeId, Op};
use smallvec::{SmallVec, smallvec};

/// Constants of up to this many elements are computed while simplifying.
pub(super) const TABLE: usize = 64;

/// A view that reads its source unchanged is its source: one node less.
pub(super) fn view_identity(_: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::View(map) = op else { return None };
    map.is_identity().then(|| args[0])
}

/// A view that reads nothing inside its source is zeros: one read less.
pub(super) fn view_of_nothing(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::View(map) = op else { return None };
    let nothing = size(map.result()) == 0
        || (0..map.source().len()).any(|row| {
            let (low, high) = map.range(row);
            high < 0 || low >= map.source()[row] as i128
        });
    nothing.then(|| zeros_like(arena, args[0], map.result()))
}

/// A view of a view is one view: one node less.
pub(super) fn view_of_view(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::View(outer) = op else { return None };
    let (Op::View(inner), inner_args) = arena.parts(args[0]) else { return None };
    let (composed, source) = (compose(outer, inner)?, inner_args[0]);
    Some(arena.add(Op::View(composed), &[source]))
}

/// A view of equal elements, all inside, is equal elements: no read.
pub(super) fn view_of_uniform(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::View(map) = op else { return None };
    let value = arena.uniform(args[0])?;
    let zero = value == Value::from_i64(value.dtype(), 0);
    (zero || map.is_inside()).then(|| arena.full(map.result(), value))
}

/// A small view of a constant is a constant: no read.
pub(super) fn view_of_table(arena: &mut Simplifier, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::View(map) = op else { return None };
    let Op::Constant(array) = arena.parts(args[0]).0 else { return None };
    if size(map.result()) > TABLE {
        return None;
    }
    let table = computed(op, smallvec![array.clone()]);
    Some(arena.add(Op::Constant(table), &[]))
}

/// The map that reads through `outer` first and `inner` second, where that is exact.
///
/// Where `outer` reads outside of the result of `inner`, which gives 0, the composed map must read outside too: there must be a
/// source axis that moves with that axis alone, by ±1, and whose positions inside come from positions inside. So padding
/// composes with permutations and with padding.
fn compose(outer: &AffineMap, inner: &AffineMap) -> Option<AffineMap> {
    if outer.is_inside() {
        return outer.compose(inner);
    }
    let mut rows = super::rows_of(inner);
    let mut taken: SmallVec<[bool; 4]> = SmallVec::from_elem(false, inner.source().len());
    for (middle, &extent) in inner.result().iter().enumerate() {
        let (low, high) = outer.range(middle);
        let extent = extent as i128;
        if low >= 0 && high < extent {
            continue;
        }
        let guards = |row: usize| {
            let own = inner.coefficient(row, middle);
            let alone = (0..inner.result().len()).all(|other| other == middle || inner.coefficient(row, other) == 0);
            let (offset, length) = (inner.offset(row) as i128, inner.source()[row] as i128);
            alone
                && match own {
                    1 => offset <= 0 && length - offset <= extent,
                    -1 => offset - length + 1 >= 0 && offset < extent,
                    _ => false,
                }
        };
        if (0..inner.source().len()).any(guards) {
            continue;
        }
        // An axis of extent 1 that is read at 0 can be read at the position along another axis of extent 1.
        let unit = (0..inner.source().len()).find(|&row| {
            !taken[row]
                && inner.source()[row] == 1
                && inner.offset(row) == 0
                && inner.row(row).iter().all(|&coefficient| coefficient == 0)
        });
        match unit {
            Some(row) if extent == 1 => {
                taken[row] = true;
                rows[row][middle] = 1;
            }
            _ => return None,
        }
    }
    multiply(outer, inner, &rows)
}

/// The product of the maps' matrices, with these rows in the place of the second's.
fn multiply(outer: &AffineMap, inner: &AffineMap, rows: &[SmallVec<[i64; 4]>]) -> Option<AffineMap> {
    let columns = outer.result().len();
    let mut product: Vec<SmallVec<[i64; 4]>> = Vec::with_capacity(rows.len());
    let mut offsets: SmallVec<[i64; 4]> = SmallVec::new();
    for (row, coefficients) in rows.iter().enumerate() {
        let mut sums: SmallVec<[i128; 4]> = SmallVec::from_elem(0, columns);
        let mut offset = inner.offset(row) as i128;
        for (middle, &coefficient) in coefficients.iter().enumerate() {
            let coefficient = coefficient as i128;
            offset = offset.checked_add(coefficient.checked_mul(outer.offset(middle) as i128)?)?;
            for (column, sum) in sums.iter_mut().enumerate() {
                *sum = sum.checked_add(coefficient.checked_mul(outer.coefficient(middle, column) as i128)?)?;
            }
        }
        product.push(sums.iter().map(|&sum| i64::try_from(sum)).collect::<Result<_, _>>().ok()?);
        offsets.push(i64::try_from(offset).ok()?);
    }
    let (source, result) = (Shape::from_slice(inner.source()), Shape::from_slice(outer.result()));
    AffineMap::checked(&source, &result, &product, &offsets)
}
