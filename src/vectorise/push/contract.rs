//! How a read moves into a contraction: into the operands that have the axes it touches.

use super::Push;
use super::read::{Outside, ReadRequest};
use super::values::ReadValueId;
use crate::affine::AffineMap;
use crate::operation::{Contraction, Label, Labels};
use crate::shape::size;
use crate::term::{NodeId, Op};
use smallvec::SmallVec;

/// The labels of one operand of a contraction of reads, and the read itself.
struct ContractionOperand {
    labels: Labels,
    read: SideRead,
}

#[allow(clippy::large_enum_variant, reason = "short-lived")]
enum SideRead {
    View(AffineMap),
    /// Axes with the number of the index array that reads them.
    Gather(Vec<(usize, usize)>),
}

/// A number for every label that is summed, after those that the result takes.
fn summed(spec: &Contraction, label: Label, taken: usize) -> Option<Label> {
    let all = spec.left.iter().chain(spec.right.iter().filter(|label| !spec.left.contains(label)));
    let position = all.filter(|label| !spec.result.contains(label)).position(|&other| other == label)?;
    Label::try_from(taken + position).ok()
}

/// A view of the contraction's result, as a view of one operand: its axes are the columns that it depends on and the
/// summed axes.
fn side_of_view(spec: &Contraction, own: &[Label], shape: &[usize], map: &AffineMap) -> Option<ContractionOperand> {
    let rows: Vec<Option<usize>> =
        own.iter().map(|label| spec.result.iter().position(|other| other == label)).collect();
    let columns = map.result().len();
    let used: Vec<usize> =
        (0..columns).filter(|&column| rows.iter().flatten().any(|&row| map.coefficient(row, column) != 0)).collect();
    let mut labels = Labels::new();
    for &column in &used {
        labels.push(Label::try_from(column).ok()?);
    }
    for (axis, _) in rows.iter().enumerate().filter(|(_, row)| row.is_none()) {
        labels.push(summed(spec, own[axis], columns)?);
    }
    Some(ContractionOperand { labels, read: SideRead::View(map.restricted(shape, &rows, &used)) })
}

/// A gather of the contraction's result, as a gather of one operand: `outer` axes of the index arrays come first if it has
/// an indexed axis.
fn side_of_gather(spec: &Contraction, own: &[Label], indexed: usize, outer: usize) -> Option<ContractionOperand> {
    let taken = outer + spec.result.len() - indexed;
    let mut reads = Vec::new();
    for (axis, label) in own.iter().enumerate() {
        if let Some(position) = spec.result[..indexed].iter().position(|other| other == label) {
            reads.push((axis, position));
        }
    }
    let mut labels = Labels::new();
    if !reads.is_empty() {
        for place in 0..outer {
            labels.push(Label::try_from(place).ok()?);
        }
    }
    for (axis, label) in own.iter().enumerate() {
        if reads.iter().any(|&(other, _)| other == axis) {
            continue;
        }
        labels.push(match spec.result.iter().position(|other| other == label) {
            Some(position) => Label::try_from(outer + position - indexed).ok()?,
            None => summed(spec, *label, taken)?,
        });
    }
    Some(ContractionOperand { labels, read: SideRead::Gather(reads) })
}

impl Push<'_> {
    fn sides(
        &self,
        at: NodeId,
        spec: &Contraction,
        read: &ReadRequest,
    ) -> Option<(Contraction, [ContractionOperand; 2])> {
        let node = self.node(at);
        let side = |own: &Labels, operand: NodeId| match read {
            ReadRequest::View { map, .. } => side_of_view(spec, own, self.shape(operand), map),
            ReadRequest::Gather { indices, .. } => {
                side_of_gather(spec, own, indices.len(), self.values.shape(indices[0]).len())
            }
            ReadRequest::Whole => None,
        };
        let (left, right) = (side(&spec.left, node.args[0])?, side(&spec.right, node.args[1])?);
        let result: Option<Labels> =
            (0..self.result_shape(at, read).len()).map(|column| Label::try_from(column).ok()).collect();
        let moved = Contraction { left: left.labels.clone(), right: right.labels.clone(), result: result? };
        moved.is_valid().then_some((moved, [left, right]))
    }

    /// Whether the reads of the operands are no larger than those: a read of scattered elements of a product would
    /// otherwise repeat rows.
    pub(super) fn admits_contraction(&self, at: NodeId, spec: &Contraction, read: &ReadRequest) -> bool {
        let Some((_, sides)) = self.sides(at, spec, read) else { return false };
        let node = self.node(at);
        sides.iter().zip(&node.args).all(|(side, &operand)| {
            let shape = self.shape(operand);
            let read = match &side.read {
                SideRead::View(map) => size(map.result()),
                SideRead::Gather(indexed) if indexed.is_empty() => 0,
                SideRead::Gather(indexed) => {
                    let ReadRequest::Gather { indices, .. } = read else { unreachable!("a gather's side") };
                    let rest = (0..shape.len()).filter(|&axis| !indexed.iter().any(|&(other, _)| other == axis));
                    rest.fold(size(&self.values.shape(indices[0])), |product, axis| product.saturating_mul(shape[axis]))
                }
            };
            read <= size(shape)
        })
    }

    /// Whether the product is 0 where a read falls outside along these axes: where both operands are read outside, or where
    /// no factor is infinite, with which a 0 of the other operand would be a NaN.
    pub(super) fn contraction_keeps_zero(&self, at: NodeId, spec: &Contraction, leaving: &[usize]) -> bool {
        let in_both = |&axis: &usize| {
            let label = &spec.result[axis];
            spec.left.contains(label) && spec.right.contains(label)
        };
        !self.node(at).ty().dtype.is_float() || leaving.iter().all(in_both)
    }

    pub(super) fn through_contraction(&mut self, at: NodeId, spec: &Contraction, read: &ReadRequest) -> ReadValueId {
        let (mut moved, sides) = self.sides(at, spec, read).expect("admitted");
        let operands = self.node(at).args.clone();
        let mut args: SmallVec<[ReadValueId; 2]> = SmallVec::new();
        for (place, side) in sides.into_iter().enumerate() {
            let outside = read.outside();
            args.push(match (side.read, read) {
                (SideRead::View(map), _) => self.demand(operands[place], ReadRequest::View { map, outside }),
                (SideRead::Gather(indexed), _) if indexed.is_empty() => {
                    self.demand(operands[place], ReadRequest::Whole)
                }
                (SideRead::Gather(indexed), ReadRequest::Gather { indices, .. }) => {
                    let own = if place == 0 { &mut moved.left } else { &mut moved.right };
                    self.gather_operand(operands[place], &indexed, indices, outside, own)
                }
                _ => unreachable!("a gather's side"),
            });
        }
        self.values.make(Op::Contract(moved), &args)
    }

    /// An operand's gather. Its axes that are not indexed keep their order, so the labels fit as they are.
    fn gather_operand(
        &mut self,
        operand: NodeId,
        indexed: &[(usize, usize)],
        indices: &[ReadValueId],
        outside: Outside,
        labels: &mut Labels,
    ) -> ReadValueId {
        let indexed: Vec<(usize, ReadValueId)> =
            indexed.iter().map(|&(axis, position)| (axis, indices[position])).collect();
        let (value, order) = self.gather_axes(operand, &indexed, outside);
        debug_assert!(order.is_sorted());
        debug_assert_eq!(labels.len(), self.values.shape(value).len());
        value
    }
}
