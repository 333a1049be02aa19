//! Products under a sum, as factors with axis labels.

use super::LABELS;
use crate::affine::AffineMap;
use crate::operation::{Binary, Label, Labels, Unary};
use crate::shape::{Shape, sort_by_rank};
use crate::simplify::Simplifier;
use crate::simplify::arithmetic::{exponent, movable_exponent};
use crate::simplify::views_of::{columns, view};
use crate::term::{NodeId, Op};
use smallvec::SmallVec;

/// A product is taken apart into at most so many factors and masks, so that planning takes bounded time.
const FACTORS: usize = 8;

/// Labels as a set, a bit for each.
pub fn set(labels: &[Label]) -> u32 {
    labels.iter().fold(0, |set, &label| set | 1 << label)
}

/// An array with a label for each axis. No labelled axis has extent 1.
#[derive(Clone, Debug)]
pub struct Factor {
    pub node: NodeId,
    pub labels: Labels,
}

impl Factor {
    /// The labels as a set, a bit for each.
    pub fn set(&self) -> u32 {
        set(&self.labels)
    }

    /// A node whose axes have these labels, read as narrowly as can be: without axes that it repeats along, without axes
    /// of extent 1, and as the bare array where the view only permutes its axes.
    fn narrow(arena: &mut Simplifier, node: NodeId, labels: &[Label]) -> Factor {
        if let Some(value) = arena.uniform(node) {
            return Factor { node: arena.full(&[], value), labels: Labels::new() };
        }
        let (source, map) = match arena.parts(node) {
            (Op::View(map), args) => (args[0], map.clone()),
            _ => (node, AffineMap::identity(&arena.ty(node).shape)),
        };
        let ignored = map.ignored();
        let mut kept: SmallVec<[usize; 4]> = (0..labels.len()).filter(|column| !ignored.contains(column)).collect();
        // Where every axis moves through one axis of the source alone, they come in its order.
        if let Some(rows) = single_rows(&map, &kept) {
            let rank = |&column: &usize| rows.iter().position(|&other| other == column).map_or(0, |at| at as u64 + 1);
            sort_by_rank(&mut kept, rank);
        }
        let map = columns(&map, &kept);
        match map.permutation() {
            Some(order) => Factor { node: source, labels: order.iter().map(|&at| labels[kept[at]]).collect() },
            None => Factor { node: view(arena, source, map), labels: kept.iter().map(|&at| labels[at]).collect() },
        }
    }
}

/// These columns of a map in the order of the rows that they move, if each moves one row and no other does.
fn single_rows(map: &AffineMap, kept: &[usize]) -> Option<SmallVec<[usize; 4]>> {
    let mut order = SmallVec::new();
    for row in 0..map.source().len() {
        let mut moving = kept.iter().copied().filter(|&column| map.coefficient(row, column) != 0);
        let (column, more) = (moving.next(), moving.next());
        if more.is_some() || column.is_some_and(|column| order.contains(&column)) {
            return None;
        }
        order.extend(column);
    }
    Some(order)
}

/// The operations that are taken apart to find the factors of a product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    /// Signs, constant factors, masks, and products that are better summed factor by factor.
    All,
    /// Signs and constant factors.
    Constants,
}

/// The labels that an array changes along, as far as its node tells.
fn varying(arena: &Simplifier, node: NodeId, labels: &[Label]) -> u32 {
    let set = |axes: &mut dyn Iterator<Item = usize>| axes.fold(0, |set, axis| set | 1 << labels[axis]);
    match arena.parts(node).0 {
        Op::View(map) => {
            let ignored = map.ignored();
            set(&mut (0..labels.len()).filter(|axis| !ignored.contains(axis)))
        }
        Op::Constant(array) if array.uniform().is_some() => 0,
        _ => set(&mut (0..labels.len()).filter(|&axis| arena.ty(node).shape[axis] != 1)),
    }
}

/// Whether a sum gains from two separate factors of its terms (all the factors or not) instead of their product.
///
/// A factor that is the same in all terms, whose labels the other has, only rescales them. It stays where the program has it:
/// it may keep the terms and their sum in range, as a norm does that divides a vector; and in a chain of rescaled arrays each
/// sum would be computed from the beginning of the chain. Counts need no such factor.
fn gains(arena: &Simplifier, [a, b]: [NodeId; 2], labels: &[Label], kept: u32, all: bool) -> bool {
    let (left, right) = (varying(arena, a, labels), varying(arena, b, labels));
    let rescales =
        |own: u32, other: u32, terms: NodeId| own & !(kept & other) == 0 && own != other && !is_count(arena, terms);
    is_crossed(left, right) || all && !rescales(left, right, b) && !rescales(right, left, a)
}

/// Whether an array is made of integers, as positions are.
fn is_count(arena: &Simplifier, node: NodeId) -> bool {
    match arena.parts(node) {
        (Op::View(_), &[source]) => is_count(arena, source),
        (Op::Cast(_), &[source]) => !arena.ty(source).dtype.is_float(),
        _ => false,
    }
}

/// Whether each factor of a product has labels that the other lacks.
fn is_crossed(left: u32, right: u32) -> bool {
    left & !right != 0 && right & !left != 0
}

/// Whether an array is an outer product, rescaled or not: its sums need no array of its elements.
pub fn is_outer_product(arena: &Simplifier, node: NodeId) -> bool {
    let labels: Labels = (0..arena.ty(node).rank() as Label).collect();
    labels.len() <= LABELS && is_outer(arena, node, &labels, &mut { FACTORS })
}

/// As [`is_outer_product`], of axes with labels, as far as a number of nodes tell.
fn is_outer(arena: &Simplifier, node: NodeId, labels: &[Label], nodes: &mut usize) -> bool {
    if *nodes == 0 {
        return false;
    }
    *nodes -= 1;
    match arena.parts(node) {
        (Op::Unary(Unary::Neg) | Op::Mark, &[a]) => is_outer(arena, a, labels, nodes),
        (Op::Binary(Binary::Mul | Binary::KeepZero), &[a, b]) => {
            let (left, right) = (varying(arena, a, labels), varying(arena, b, labels));
            let wider = |own: u32, other: u32| own & !other != 0;
            is_crossed(left, right)
                || (wider(right, left) || is_outer(arena, a, labels, nodes))
                    && (wider(left, right) || is_outer(arena, b, labels, nodes))
        }
        _ => false,
    }
}

/// A product of arrays with labelled axes, to be summed over some of the labels.
#[derive(Clone, Debug)]
pub struct LabelledProduct {
    /// The extent of each label.
    pub extents: Shape,
    /// Whether the product is negated.
    pub negative: bool,
    pub factors: Vec<Factor>,
    /// Boolean arrays; where one is false, the product is 0.
    pub masks: Vec<Factor>,
}

impl LabelledProduct {
    /// The product that nodes with labelled axes compute together; `None` if an axis has extent 0, or a factor is infinite, NaN
    /// or far from 1 everywhere.
    pub fn of(
        arena: &mut Simplifier,
        roots: &[(NodeId, &Labels)],
        extents: Shape,
        kept: u32,
        taken: Taken,
    ) -> Option<LabelledProduct> {
        if extents.contains(&0) {
            return None;
        }
        // Infinite values are multiplied before anything is added: ∞ − ∞ is NaN, but ∞ times a difference is a number. The same
        // holds for factors that may keep terms in range.
        let movable = movable_exponent(arena.ty(roots[0].0).dtype);
        let moves = |arena: &Simplifier, product: &LabelledProduct| {
            let constants = product.factors.iter().filter_map(|factor| arena.uniform(factor.node));
            constants.map(exponent).sum::<f64>() <= movable
        };
        [true, false].into_iter().find_map(|constants| {
            let product = LabelledProduct::taken_apart(arena, roots, &extents, kept, (taken, constants));
            moves(arena, &product).then_some(product)
        })
    }

    /// The product, from whose factors constants are taken or not.
    fn taken_apart(
        arena: &mut Simplifier,
        roots: &[(NodeId, &Labels)],
        extents: &Shape,
        kept: u32,
        (taken, constants): (Taken, bool),
    ) -> LabelledProduct {
        let mut product =
            LabelledProduct { extents: extents.clone(), negative: false, factors: Vec::new(), masks: Vec::new() };
        // The last says whether a factor is all that is multiplied.
        let mut open: Vec<(Factor, bool)> = roots
            .iter()
            .rev()
            .map(|&(node, labels)| (Factor { node, labels: labels.clone() }, roots.len() == 1))
            .collect();
        while let Some((next, whole)) = open.pop() {
            let room = product.factors.len() + product.masks.len() + open.len() + 2 <= FACTORS;
            let labelled = |node| (Factor { node, labels: next.labels.clone() }, whole);
            let parts = |arena: &Simplifier, a: NodeId, b: NodeId| {
                if arena.uniform(a).is_some() || arena.uniform(b).is_some() {
                    return constants;
                }
                taken == Taken::All
                    && (gains(arena, [a, b], &next.labels, kept, whole)
                        || is_outer(arena, next.node, &next.labels, &mut { FACTORS }))
            };
            match arena.parts(next.node) {
                (Op::Unary(Unary::Neg), args) => {
                    product.negative = !product.negative;
                    open.push(labelled(args[0]));
                }
                // A chosen branch is no mask: in a sum of products it is a factor like others.
                (Op::Mark, args) => open.push(labelled(args[0])),
                // A factor that may be infinite stays with the factor that makes the product 0 there.
                (Op::Binary(op @ (Binary::Mul | Binary::KeepZero)), &[a, b])
                    if room && (*op == Binary::Mul || arena.fact(b).regular) && parts(arena, a, b) =>
                {
                    let whole = whole && (arena.uniform(a).is_some() || arena.uniform(b).is_some());
                    open.push((labelled(b).0, whole));
                    open.push((labelled(a).0, whole));
                }
                (Op::Select, &[mask, yes, no])
                    if room && taken == Taken::All && arena.is_uniform(no, 0.0) && arena.fact(yes).regular =>
                {
                    open.push(labelled(yes));
                    product.add_masks(arena, labelled(mask).0, open.len());
                }
                (Op::Select, &[mask, yes, no]) if room && taken == Taken::All && arena.is_uniform(yes, 0.0) => {
                    open.push(labelled(no));
                    let opposite = arena.add(Op::Unary(Unary::Not), &[mask]);
                    product.add_masks(arena, labelled(opposite).0, open.len());
                }
                _ => {
                    let narrow = Factor::narrow(arena, next.node, &next.labels);
                    // Below a view there may be a product of fewer labels.
                    match narrow.node == next.node {
                        true => product.factors.push(narrow),
                        false => open.push((narrow, whole)),
                    }
                }
            }
        }
        product
    }

    /// Adds a mask; a conjunction as several.
    fn add_masks(&mut self, arena: &mut Simplifier, mask: Factor, others: usize) {
        let mut open = vec![mask];
        while let Some(next) = open.pop() {
            let room = self.factors.len() + self.masks.len() + others + open.len() + 2 <= FACTORS;
            match arena.parts(next.node) {
                (Op::Binary(Binary::And), &[a, b]) if room => {
                    open.push(Factor { node: b, labels: next.labels.clone() });
                    open.push(Factor { node: a, labels: next.labels });
                }
                _ => {
                    let narrow = Factor::narrow(arena, next.node, &next.labels);
                    let todo = if narrow.node == next.node { &mut self.masks } else { &mut open };
                    todo.push(narrow);
                }
            }
        }
    }

    /// Whether this is one factor with all labels of extent other than 1, masked or not.
    pub fn is_plain(&self) -> bool {
        let all = self.extents.iter().enumerate().filter(|&(_, &extent)| extent != 1);
        let all = all.fold(0u32, |set, (label, _)| set | 1 << label);
        !self.negative && self.factors.len() == 1 && self.factors[0].set() == all
    }

    /// Number of positions of a set of labels.
    pub fn size(&self, set: u32) -> u128 {
        let extents = self.extents.iter().enumerate().filter(|&(label, _)| set >> label & 1 == 1);
        extents.fold(1u128, |size, (_, &extent)| size.saturating_mul(extent as u128))
    }

    /// Ranks sets by their sizes; those that no memory holds are equals.
    pub fn rank(&self, set: u32) -> u64 {
        u64::try_from(self.size(set)).unwrap_or(u64::MAX)
    }
}
