//! Nodes of staged terms.

use crate::array::Array;
use crate::shape::Type;
use crate::term::distinct::Terms;
use crate::term::{Build, Op};
use smallvec::{SmallVec, smallvec};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Source of the IDs of nodes and scopes: an inner binder has a larger ID than an outer one, a user than its operands.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// An ID that is larger than all before.
pub(crate) fn fresh() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// An operation on other nodes, with its identity.
pub(crate) struct StagedNode {
    pub(crate) id: u64,
    /// The innermost binder that the value depends on; 0 for none.
    pub(crate) scope: u64,
    pub(crate) op: Op<Build>,
    pub(crate) args: SmallVec<[StagedArray; 3]>,
    pub(crate) types: SmallVec<[Type; 1]>,
}

/// An array of the [`Staged`](crate::staged::Staged) algebra: a shared node of a term.
#[derive(Clone)]
pub struct StagedArray(pub(crate) Arc<StagedNode>);

impl StagedArray {
    /// The type of the value.
    pub fn ty(&self) -> &Type {
        debug_assert_eq!(self.0.types.len(), 1);
        &self.0.types[0]
    }

    /// Identifies this node among all others.
    pub(crate) fn identity(&self) -> u64 {
        self.0.id
    }
}

/// The terms of staged arrays.
pub(crate) struct StagedTerms;

impl Terms for StagedTerms {
    type Id = StagedArray;
    type Form = Build;
    fn look<'t>(&'t self, array: &'t StagedArray) -> (&'t Op<Build>, &'t [StagedArray], &'t Type) {
        (&array.0.op, &array.0.args, &array.0.types[0])
    }
}

impl fmt::Debug for StagedArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "staged {}", self.ty())
    }
}

impl Drop for StagedNode {
    /// Frees the nodes that only this one holds with a worklist: terms are deeper than the stack.
    fn drop(&mut self) {
        let mut work: Vec<StagedArray> = self.args.drain(..).collect();
        while let Some(array) = work.pop() {
            if let Some(mut node) = Arc::into_inner(array.0) {
                work.extend(node.args.drain(..));
            }
        }
    }
}

/// A zero of a type, where an error made the real value impossible.
pub(crate) fn placeholder(ty: &Type) -> StagedArray {
    let zero = Array::zeros(ty);
    StagedArray(Arc::new(StagedNode {
        id: fresh(),
        scope: 0,
        op: Op::Constant(zero),
        args: SmallVec::new(),
        types: smallvec![ty.clone()],
    }))
}
