//! The parameters of structural operations: which reduction, which order, which axes a contraction sums.

use super::Binary;
use crate::shape::{DType, Shape};
use smallvec::SmallVec;

/// The operation of a reduction over axes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reduction {
    /// The sum; of booleans, whether any is true. Empty: 0.
    Sum,
    /// The largest element; NaN wins. Empty: −infinity, the smallest integer, or `false`.
    Max,
    /// The smallest element; NaN wins. Empty: +infinity, the largest integer, or `true`.
    Min,
}

impl Reduction {
    /// The operation that combines two elements of this type.
    pub(crate) fn combining(self, dtype: DType) -> Binary {
        match (self, dtype) {
            (Reduction::Sum | Reduction::Max, DType::Bool) => Binary::Or,
            (Reduction::Min, DType::Bool) => Binary::And,
            (Reduction::Sum, _) => Binary::Add,
            (Reduction::Max, _) => Binary::Max,
            (Reduction::Min, _) => Binary::Min,
        }
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Reduction::Sum => "sum",
            Reduction::Max => "max",
            Reduction::Min => "min",
        }
    }
}

/// Which extreme an argument reduction looks for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Extreme {
    /// The position of the first largest element, or of the first NaN.
    Max,
    /// The position of the first smallest element, or of the first NaN.
    Min,
}

/// How a sort orders elements; NaN comes last in either order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Order {
    /// Smallest first.
    Ascending,
    /// Largest first.
    Descending,
}

/// A label of an axis in a [`Contraction`].
pub type Label = u8;

/// Labels of axes, in the order of the axes.
pub type Labels = SmallVec<[Label; 4]>;

/// A sum of products: axes with the same label run together, labels that the result lacks are summed.
///
/// Within each list labels are distinct, and every label stands in at least two of the three lists.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Contraction {
    /// The labels of the left operand's axes.
    pub left: Labels,
    /// The labels of the right operand's axes.
    pub right: Labels,
    /// The labels of the result's axes.
    pub result: Labels,
}

impl Contraction {
    /// A contraction from its label lists.
    ///
    /// # Panics
    ///
    /// Where a label stands twice in a list, or in one list alone: see [`Self::is_valid`].
    #[track_caller]
    pub fn new(left: &[Label], right: &[Label], result: &[Label]) -> Contraction {
        let contraction = Contraction { left: left.into(), right: right.into(), result: result.into() };
        assert!(
            contraction.is_valid(),
            "each label of a contraction is in two lists at least, and once in each: {left:?}, {right:?} -> {result:?}"
        );
        contraction
    }

    /// Whether labels are distinct within each list and each stands in at least two lists.
    pub fn is_valid(&self) -> bool {
        let lists = [&self.left, &self.right, &self.result];
        lists.iter().all(|list| {
            list.iter().enumerate().all(|(at, label)| {
                !list[..at].contains(label) && lists.iter().filter(|other| other.contains(label)).count() >= 2
            })
        })
    }

    /// The extent of a label, given the operands' shapes.
    pub fn extent(&self, label: Label, left: &[usize], right: &[usize]) -> usize {
        match self.left.iter().position(|&l| l == label) {
            Some(axis) => left[axis],
            None => right[self.right.iter().position(|&l| l == label).expect("a label of an operand")],
        }
    }

    /// The shape of the result, given the operands' shapes.
    pub fn shape(&self, left: &[usize], right: &[usize]) -> Shape {
        self.result.iter().map(|&label| self.extent(label, left, right)).collect()
    }

    /// The contraction of the result's cotangent (left) with the right operand (right) that gives the left's cotangent.
    pub(crate) fn left_adjoint(&self) -> Contraction {
        Contraction { left: self.result.clone(), right: self.right.clone(), result: self.left.clone() }
    }

    /// The contraction of the left operand (left) with the result's cotangent (right) that gives the right's cotangent.
    pub(crate) fn right_adjoint(&self) -> Contraction {
        Contraction { left: self.left.clone(), right: self.result.clone(), result: self.right.clone() }
    }
}
