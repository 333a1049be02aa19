//! The language of linear maps that dual arrays record (P 6.1, figure 12).

use super::cotangent::Cotangent;
use super::derivative::{Derivative, Scaling};
use crate::affine::AffineMap;
use crate::algebra::{Algebra, Operands};
use crate::operation::Contraction;
use crate::shape::{Axes, DType, Shape, Type};
use crate::term::Op;
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Identity of a shared Delta, also across threads; a Delta has a larger one than all that it refers to (P 2.5).
pub(crate) type ShareId = u64;

static NEXT: AtomicU64 = AtomicU64::new(1);

fn fresh() -> ShareId {
    // Relaxed: an operand's identity reached this thread by some synchronisation already, or was drawn by it.
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The derivative of an array as a linear function of inputs' tangents: a node of a graph, cheap to clone.
///
/// Zero is not a Delta: where a derivative is zero there is `None`.
pub struct Delta<A: Algebra>(Arc<DeltaNode<A>>);

/// A linear map applied to operands, `None` being zero.
pub(crate) struct DeltaNode<A: Algebra> {
    /// Where there is one, cotangents are summed under it before the node is visited (`Share` of P 2.5).
    pub(crate) share: Option<ShareId>,
    pub(crate) map: DeltaMap<A>,
    pub(crate) operands: SmallVec<[Option<Delta<A>>; 2]>,
}

/// The linear maps. Each holds the values that its transpose needs.
pub(crate) enum DeltaMap<A: Algebra> {
    /// The tangent of an input, which the identity of the node names.
    Input,
    /// The sum of all operands.
    Add,
    /// Elementwise scaling.
    Scale(A::Array, Scaling),
    /// The sum of both operands, scaled by a factor each: the form of every product, as one node instead of three.
    Products(Box<[A::Array; 2]>),
    /// The operand where the mask is true.
    Mask(A::Array),
    /// The first operand where the mask is true, else the second; both are marked.
    Select(A::Array),
    /// The operand, marked.
    Mark,
    /// Conversion of floats, from this type.
    Cast(DType),
    /// An affine read.
    View(AffineMap),
    /// An affine add.
    Accumulate(AffineMap),
    /// Another shape, from this one.
    Reshape(Shape),
    /// The sum whose transpose is this replication.
    Sum(AffineMap),
    /// Concatenated operands, each with the slice that reads it back.
    Concatenate(Vec<AffineMap>),
    /// Reads at computed positions of an array with these extents of the indexed axes.
    Gather(Vec<A::Array>, Shape),
    /// Adds at computed positions.
    Scatter(Vec<A::Array>),
    /// Writes at computed positions, where the mask says which updates are there afterwards, if not all: a target, and
    /// updates.
    ScatterSet(Box<(Vec<A::Array>, Option<A::Array>)>),
    /// A contraction with a fixed right operand, as the contraction of its transpose. Elsewhere: a node of an eager program
    /// on numbers should be no larger than scaling by one needs.
    ContractLeft(Box<(Contraction, A::Array)>),
    /// A contraction with a fixed left operand, as the contraction of its transpose.
    ContractRight(Box<(Contraction, A::Array)>),
    /// An operation of linear algebra that is linear in its last operand, as its transpose, with the operands that are fixed.
    Linear(Box<(Op, Operands<A>)>),
    /// A loop or conditional, of several outputs.
    Rolled(Box<dyn Rolled<A>>),
    /// One output of the operand, which is a loop or conditional.
    Output(usize),
}

/// A linear map of several outputs: a loop, a conditional, a function with rules of its own, or one that is run again.
pub(crate) trait Rolled<A: Algebra> {
    /// Its name where Deltas are printed.
    fn name(&self) -> &'static str;

    /// From the cotangents of the outputs, those at the end perhaps left out, to those of the operands.
    fn transpose(&self, cotangents: Vec<Option<Cotangent<A>>>) -> Vec<Option<Cotangent<A>>>;

    /// Of what is run again, and has no operands of its own, what its outputs are then.
    fn again(&self) -> Option<Vec<Option<Delta<A>>>> {
        None
    }
}

impl<A: Algebra> Clone for Delta<A> {
    fn clone(&self) -> Self {
        Delta(self.0.clone())
    }
}

impl<A: Algebra> DeltaNode<A> {
    /// Gives up the operands, and moves out those that nobody else holds.
    fn orphan(&mut self, orphans: &mut Vec<DeltaNode<A>>) {
        for operand in &mut self.operands {
            if let Some(orphan) = operand.take().and_then(|delta| Arc::into_inner(delta.0)) {
                orphans.push(orphan);
            }
        }
    }
}

impl<A: Algebra> Drop for DeltaNode<A> {
    /// Takes apart the nodes that only this node held, with an explicit list instead of recursion: chains are long.
    fn drop(&mut self) {
        let mut orphans: Vec<DeltaNode<A>> = Vec::new();
        self.orphan(&mut orphans);
        while let Some(mut orphan) = orphans.pop() {
            orphan.orphan(&mut orphans);
        }
    }
}

impl<A: Algebra> Delta<A> {
    /// Where the node is, which tells it from all others.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    fn new(map: DeltaMap<A>, operands: SmallVec<[Option<Delta<A>>; 2]>) -> Delta<A> {
        Delta(Arc::new(DeltaNode { share: None, map, operands }))
    }

    fn of(map: DeltaMap<A>, operand: Delta<A>) -> Delta<A> {
        Delta::new(map, smallvec![Some(operand)])
    }

    /// The tangent of a new input.
    pub fn input() -> Delta<A> {
        Delta(Arc::new(DeltaNode { share: Some(fresh()), map: DeltaMap::Input, operands: SmallVec::new() }))
    }

    /// A loop or conditional on operands; [`Delta::output`] picks from it.
    pub(crate) fn rolled(rolled: impl Rolled<A> + 'static, operands: Vec<Option<Delta<A>>>) -> Delta<A> {
        Delta::new(DeltaMap::Rolled(Box::new(rolled)), operands.into()).shared()
    }

    /// One output of a loop or conditional.
    pub(crate) fn output(&self, position: usize) -> Delta<A> {
        debug_assert!(matches!(self.0.map, DeltaMap::Rolled(_)));
        Delta::of(DeltaMap::Output(position), self.clone())
    }

    /// The identity under which cotangents are summed, if the Delta is shared.
    pub(crate) fn share_id(&self) -> Option<ShareId> {
        self.0.share
    }

    pub(crate) fn node(&self) -> &DeltaNode<A> {
        &self.0
    }
}

impl<A: Algebra> Derivative<A> for Delta<A> {
    fn add(self, other: Self) -> Self {
        Delta::new(DeltaMap::Add, smallvec![Some(self), Some(other)])
    }

    fn scale(self, factor: A::Array, scaling: Scaling) -> Self {
        Delta::of(DeltaMap::Scale(factor, scaling), self)
    }

    fn add_scaled(self, factor: A::Array, other: Self, other_factor: A::Array) -> Self {
        Delta::new(DeltaMap::Products(Box::new([factor, other_factor])), smallvec![Some(self), Some(other)])
    }

    fn mask(self, mask: A::Array) -> Self {
        Delta::of(DeltaMap::Mask(mask), self)
    }

    fn select(mask: A::Array, yes: Option<Self>, no: Option<Self>) -> Self {
        Delta::new(DeltaMap::Select(mask), smallvec![yes, no])
    }

    fn mark(self) -> Self {
        Delta::of(DeltaMap::Mark, self)
    }

    fn cast(self, from: DType, _to: DType) -> Self {
        Delta::of(DeltaMap::Cast(from), self)
    }

    fn view(self, map: &AffineMap) -> Self {
        Delta::of(DeltaMap::View(map.clone()), self)
    }

    fn accumulate(self, map: &AffineMap) -> Self {
        Delta::of(DeltaMap::Accumulate(map.clone()), self)
    }

    fn reshape(self, from: &[usize], _to: &[usize]) -> Self {
        Delta::of(DeltaMap::Reshape(Shape::from_slice(from)), self)
    }

    fn concatenate(axis: usize, parts: Vec<Option<Self>>, types: &[Type]) -> Self {
        let mut whole = types[0].shape.clone();
        whole[axis] = types.iter().map(|ty| ty.shape[axis]).sum();
        let mut start = 0;
        let slices = types.iter().map(|ty| {
            let slice = AffineMap::along(&whole, axis, start, 1, ty.shape[axis]);
            start += ty.shape[axis] as i64;
            slice
        });
        Delta::new(DeltaMap::Concatenate(slices.collect()), parts.into())
    }

    fn gather(self, indices: Vec<A::Array>, extents: &[usize]) -> Self {
        Delta::of(DeltaMap::Gather(indices, Shape::from_slice(extents)), self)
    }

    fn scatter(self, indices: Vec<A::Array>, _extents: &[usize]) -> Self {
        Delta::of(DeltaMap::Scatter(indices), self)
    }

    fn scatter_set(
        target: Option<Self>,
        updates: Option<Self>,
        indices: Vec<A::Array>,
        latest: impl FnOnce() -> Option<A::Array>,
        _types: [Type; 2],
    ) -> Self {
        let latest = updates.as_ref().and_then(|_| latest());
        Delta::new(DeltaMap::ScatterSet(Box::new((indices, latest))), smallvec![target, updates])
    }

    fn sum(self, axes: &[usize], shape: &[usize]) -> Self {
        let kept: Axes = (0..shape.len()).filter(|axis| !axes.contains(axis)).collect();
        let result: Shape = kept.iter().map(|&axis| shape[axis]).collect();
        Delta::of(DeltaMap::Sum(AffineMap::broadcast(&result, shape, &kept)), self)
    }

    fn contract_left(self, spec: &Contraction, right: A::Array) -> Self {
        Delta::of(DeltaMap::ContractLeft(Box::new((spec.left_adjoint(), right))), self)
    }

    fn contract_right(self, spec: &Contraction, left: A::Array) -> Self {
        Delta::of(DeltaMap::ContractRight(Box::new((spec.right_adjoint(), left))), self)
    }

    fn linear(self, op: Op, fixed: Operands<A>) -> Self {
        Delta::of(DeltaMap::Linear(Box::new((op.transposed(), fixed))), self)
    }

    fn shared(mut self) -> Self {
        // Inputs and shared Deltas have an identity already; outputs are told apart by the loop's identity.
        if self.0.share.is_none() && !matches!(self.0.map, DeltaMap::Output(_)) {
            let id = fresh();
            debug_assert!(
                self.0.operands.iter().flatten().all(|delta| delta.share_id().is_none_or(|other| other < id))
            );
            Arc::get_mut(&mut self.0).expect("a Delta without an identity has one owner").share = Some(id);
        }
        self
    }
}
