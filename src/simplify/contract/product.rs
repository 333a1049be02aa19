//! Products under a sum, as factors with axis labels.

use crate::affine::AffineMap;
use crate::algebra::Label;
use crate::operation::{Binary, Unary};
use crate::shape::Shape;
use crate::simplify::Simplifier;
use crate::simplify::views_of::{columns, permutation, view};
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
        let kept: SmallVec<[usize; 4]> = (0..labels.len()).filter(|column| !ignored.contains(column)).collect();
        let map = columns(&map, &kept);
        match permutation(&map) {
            Some(order) => Factor { node: source, labels: order.iter().map(|&at| labels[kept[at]]).collect() },
            None => Factor { node: view(arena, source, map), labels: kept.iter().map(|&at| labels[at]).collect() },
        }
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
    /// The product that a node with labelled axes computes. It has no axis of extent 0.
    pub fn of(arena: &mut Simplifier, root: NodeId, labels: &[Label], extents: Shape) -> Product {
        let mut product = Product { extents, negative: false, factors: Vec::new(), masks: Vec::new() };
        let mut open = vec![Factor { node: root, labels: labels.into() }];
        while let Some(next) = open.pop() {
            let factor = Factor::narrow(arena, next.node, &next.labels);
            let room = product.factors.len() + product.masks.len() + open.len() + 2 <= FACTORS;
            let labelled = |node| Factor { node, labels: factor.labels.clone() };
            match arena.parts(factor.node) {
                (Op::Unary(Unary::Neg), args) => {
                    product.negative = !product.negative;
                    open.push(labelled(args[0]));
                }
                (Op::Binary(Binary::Mul | Binary::KeepZero), &[a, b]) if room => {
                    open.push(labelled(b));
                    open.push(labelled(a));
                }
                (Op::Select, &[mask, yes, no]) if room && arena.is_uniform(no, 0.0) => {
                    open.push(labelled(yes));
                    product.add_masks(arena, mask, &factor.labels, open.len());
                }
                _ => product.factors.push(factor),
            }
        }
        product
    }

    /// Adds a mask; a conjunction as several.
    fn add_masks(&mut self, arena: &mut Simplifier, mask: NodeId, labels: &[Label], others: usize) {
        let mut open = vec![Factor { node: mask, labels: labels.into() }];
        while let Some(next) = open.pop() {
            let factor = Factor::narrow(arena, next.node, &next.labels);
            let room = self.factors.len() + self.masks.len() + others + open.len() + 2 <= FACTORS;
            match arena.parts(factor.node) {
                (Op::Binary(Binary::And), &[a, b]) if room => {
                    open.push(Factor { node: b, labels: factor.labels.clone() });
                    open.push(Factor { node: a, labels: factor.labels });
                }
                _ => self.masks.push(factor),
            }
        }
    }

    /// The product under a contraction, of its two operands with signs and scalar factors taken off; `None` if it is empty.
    pub fn of_contraction(arena: &mut Simplifier, operands: [(NodeId, &Labels); 2], extents: Shape) -> Option<Product> {
        if extents.contains(&0) {
            return None;
        }
        let mut product = Product { extents, negative: false, factors: Vec::new(), masks: Vec::new() };
        for (node, labels) in operands {
            let mut factor = Factor::narrow(arena, node, labels);
            while product.factors.len() < FACTORS {
                let inner = match arena.parts(factor.node) {
                    (Op::Unary(Unary::Neg), args) => {
                        product.negative = !product.negative;
                        args[0]
                    }
                    (Op::Binary(Binary::Mul | Binary::KeepZero), &[a, b]) if !factor.labels.is_empty() => {
                        let (left, right) =
                            (Factor::narrow(arena, a, &factor.labels), Factor::narrow(arena, b, &factor.labels));
                        if right.labels.is_empty() {
                            product.factors.push(right);
                            a
                        } else if left.labels.is_empty() {
                            product.factors.push(left);
                            b
                        } else {
                            break;
                        }
                    }
                    _ => break,
                };
                factor = Factor::narrow(arena, inner, &factor.labels);
            }
            product.factors.push(factor);
        }
        Some(product)
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
