//! Products under a sum, as factors with axis labels.

use crate::affine::AffineMap;
use crate::algebra::Label;
use crate::operation::{Binary, Unary};
use crate::shape::Shape;
use crate::simplify::Simplifier;
use crate::simplify::arithmetic::{exponent, movable_exponent};
use crate::simplify::views_of::{columns, view};
use crate::term::{NodeId, Op};
use smallvec::SmallVec;

/// Labels of axes, in the order of the axes.
pub type Labels = SmallVec<[Label; 4]>;

/// A product is taken apart into at most so many factors and masks, so that planning takes bounded time.
const FACTORS: usize = 8;

/// An array with a label for each axis. No labelled axis has extent 1.
#[derive(Clone, Debug)]
pub struct Factor {
    pub node: NodeId,
    pub labels: Labels,
}

impl Factor {
    /// The labels as a set, a bit for each.
    pub fn set(&self) -> u32 {
        self.labels.iter().fold(0, |set, &label| set | 1 << label)
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
            kept.sort_by_key(|&column| rows.iter().position(|&other| other == column));
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

/// What is taken apart to find the factors of a product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    /// Products, signs and masks.
    All,
    /// Signs, and products with numbers that are the same everywhere.
    Scalars,
}

/// Whether a node is one number repeated, as far as the node itself tells.
fn is_scalar(arena: &Simplifier, node: NodeId) -> bool {
    match arena.parts(node).0 {
        Op::View(map) => map.ignored().len() == map.result().len(),
        Op::Constant(array) => array.uniform().is_some(),
        _ => arena.ty(node).rank() == 0,
    }
}

/// A product of arrays with labelled axes, to be summed over some of the labels.
#[derive(Clone, Debug)]
pub struct Product {
    /// The extent of each label.
    pub extents: Shape,
    /// Whether the product is negated.
    pub negative: bool,
    pub factors: Vec<Factor>,
    /// Boolean arrays; where one is false, the product is 0.
    pub masks: Vec<Factor>,
}

impl Product {
    /// The product that nodes with labelled axes compute together; `None` if an axis has extent 0, or a factor is infinite, NaN
    /// or far from 1 everywhere.
    pub fn of(arena: &mut Simplifier, roots: &[(NodeId, &Labels)], extents: Shape, taken: Taken) -> Option<Product> {
        if extents.contains(&0) {
            return None;
        }
        // What is infinite is multiplied before anything is added: ∞ − ∞ is no number, and ∞ times a difference is. So is what
        // may keep terms in the range of numbers.
        let movable = movable_exponent(arena.ty(roots[0].0).dtype);
        let moves = |arena: &Simplifier, product: &Product| {
            let constants = product.factors.iter().filter_map(|factor| arena.uniform(factor.node));
            constants.map(exponent).sum::<f64>() <= movable
        };
        [true, false].into_iter().find_map(|constants| {
            let product = Product::taken_apart(arena, roots, &extents, (taken, constants));
            moves(arena, &product).then_some(product)
        })
    }

    /// The product, from whose factors constants are taken or not.
    fn taken_apart(
        arena: &mut Simplifier,
        roots: &[(NodeId, &Labels)],
        extents: &Shape,
        (taken, constants): (Taken, bool),
    ) -> Product {
        let mut product = Product { extents: extents.clone(), negative: false, factors: Vec::new(), masks: Vec::new() };
        let mut open: Vec<Factor> =
            roots.iter().rev().map(|&(node, labels)| Factor { node, labels: labels.clone() }).collect();
        while let Some(next) = open.pop() {
            let room = product.factors.len() + product.masks.len() + open.len() + 2 <= FACTORS;
            let labelled = |node| Factor { node, labels: next.labels.clone() };
            match arena.parts(next.node) {
                (Op::Unary(Unary::Neg), args) => {
                    product.negative = !product.negative;
                    open.push(labelled(args[0]));
                }
                // A chosen branch is no mask: in a sum of products it is a factor like others.
                (Op::Mark, args) => open.push(labelled(args[0])),
                // A factor that may be infinite stays with what makes the product 0 there.
                (Op::Binary(op @ (Binary::Mul | Binary::KeepZero)), &[a, b])
                    if room
                        && (*op == Binary::Mul || arena.fact(b).regular)
                        && (taken == Taken::All || is_scalar(arena, a) || is_scalar(arena, b))
                        && (constants || arena.uniform(a).is_none() && arena.uniform(b).is_none()) =>
                {
                    open.push(labelled(b));
                    open.push(labelled(a));
                }
                (Op::Select, &[mask, yes, no])
                    if room && taken == Taken::All && arena.is_uniform(no, 0.0) && arena.fact(yes).regular =>
                {
                    open.push(labelled(yes));
                    product.add_masks(arena, labelled(mask), open.len());
                }
                (Op::Select, &[mask, yes, no]) if room && taken == Taken::All && arena.is_uniform(yes, 0.0) => {
                    open.push(labelled(no));
                    let opposite = arena.add(Op::Unary(Unary::Not), &[mask]);
                    product.add_masks(arena, labelled(opposite), open.len());
                }
                _ => {
                    let narrow = Factor::narrow(arena, next.node, &next.labels);
                    // Below a view there may be a product of fewer labels.
                    let todo = if narrow.node == next.node { &mut product.factors } else { &mut open };
                    todo.push(narrow);
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

    /// Whether this is one factor that has all labels but those of extent 1, masked or not.
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
}
