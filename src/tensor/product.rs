//! Products: sums of products with labelled axes.

use crate::algebra::Algebra;
use crate::operation::{Contraction, Label, Labels, Reduction};
use crate::shape::{Axes, Shape};
use crate::tensor::apply::fail;
use crate::tensor::structure::{check_axes, diagonal_map};
use crate::tensor::{AxisList, Max, Number, R0, R1, R2, Rank, Tensor};
use crate::term::{Never, Op, infer};

/// The ranks of vectors and matrices whose product [`Tensor::dot`] gives.
#[diagnostic::on_unimplemented(
    message = "`dot` multiplies vectors and matrices, not arrays of ranks `{Self}` and `{S}`",
    note = "`matmul` multiplies stacks of matrices, `contract` arrays of any rank"
)]
pub trait Dot<S: Rank>: Rank {
    /// The rank of the product.
    type Output: Rank;
}

impl Dot<R1> for R1 {
    type Output = R0;
}

impl Dot<R1> for R2 {
    type Output = R1;
}

impl Dot<R2> for R1 {
    type Output = R1;
}

impl Dot<R2> for R2 {
    type Output = R2;
}

/// Checks that axes with one label have one extent in both operands; an extent of 1 fits all others where a label's axes broadcast.
/// Labels are as many as axes.
fn check_extents(
    (left, left_labels): (&[usize], &[Label]),
    (right, right_labels): (&[usize], &[Label]),
    broadcasts: impl Fn(Label) -> bool,
) -> Result<(), String> {
    for (axis, &label) in left_labels.iter().enumerate() {
        let meets = right_labels.iter().position(|&other| other == label);
        let Some(other) = meets else { continue };
        let (extent, other_extent) = (left[axis], right[other]);
        if extent != other_extent && !(broadcasts(label) && (extent == 1 || other_extent == 1)) {
            return Err(format!(
                "axis {axis} of the first has extent {extent}, axis {other} of the second {other_extent}"
            ));
        }
    }
    Ok(())
}

/// One operand with distinct labels: repeated labels are read along the diagonal, and labels that are not kept are summed.
#[track_caller]
fn normalise<A: Algebra>(
    mut a: A::Array,
    labels: &[Label],
    kept: impl Fn(Label) -> bool,
) -> Result<(A::Array, Labels), String> {
    let mut labels = Labels::from_slice(labels);
    let mut second = 0;
    while second < labels.len() {
        match labels[..second].iter().position(|label| *label == labels[second]) {
            Some(first) => {
                let shape = A::shape(&a);
                if shape[first] != shape[second] {
                    return Err(format!("axes {first} and {second} of shape {:?} have one label", &shape[..]));
                }
                a = A::view(a, &diagonal_map(&shape, first, second, shape[first]));
                labels.remove(second);
            }
            None => second += 1,
        }
    }
    let summed: Axes = (0..labels.len()).filter(|&axis| !kept(labels[axis])).collect();
    if !summed.is_empty() {
        a = A::reduce(Reduction::Sum, a, &summed);
        labels.retain(|label| kept(*label));
    }
    Ok((a, labels))
}

/// The sum of products with any labels, untyped: see [`Tensor::contract`].
#[track_caller]
fn sum_of_products<A: Algebra>(
    (a, left): (A::Array, &[Label]),
    (b, right): (A::Array, &[Label]),
    result: &[Label],
) -> Result<A::Array, String> {
    let repeated = result.iter().enumerate().any(|(at, label)| result[..at].contains(label));
    if repeated || result.iter().any(|label| !left.contains(label) && !right.contains(label)) {
        return Err("each label of the result is one of an operand, once".into());
    }
    let (left_shape, right_shape) = (A::shape(&a), A::shape(&b));
    for (labels, shape) in [(left, &left_shape), (right, &right_shape)] {
        if shape.len() != labels.len() {
            return Err(format!("{} labels for the shape {:?}", labels.len(), &shape[..]));
        }
    }
    check_extents((&left_shape, left), (&right_shape, right), |_| false)?;
    let (a, left) = normalise::<A>(a, left, |label| right.contains(&label) || result.contains(&label))?;
    let (b, right) = normalise::<A>(b, right, |label| left.contains(&label) || result.contains(&label))?;
    let op = Op::<Never>::Contract(Contraction::new(&left, &right, result));
    infer::output(&op, &[&A::type_of(&a), &A::type_of(&b)])?.check_size()?;
    let Op::Contract(spec) = op else { unreachable!("just made") };
    Ok(A::contract(&spec, a, b))
}

/// The sum of products with any labels, checked.
#[track_caller]
fn contract<A: Algebra, E: Number, R: Rank>(
    name: &str,
    (a, left): (&A::Array, &[Label]),
    (b, right): (&A::Array, &[Label]),
    result: &[Label],
) -> Tensor<A, E, R> {
    let product = match R::NDIM {
        Some(ndim) if ndim != result.len() => Err(format!("{} labels for a result of {ndim} axes", result.len())),
        _ => sum_of_products::<A>((a.clone(), left), (b.clone(), right), result),
    };
    match product {
        Ok(array) => Tensor::wrap(array),
        Err(problem) => refuse::<A, E, R>(name, &A::shape(a), &A::shape(b), &problem),
    }
}

/// Reports operands that don't fit; the placeholder for the result has the extents of the one with more axes.
#[track_caller]
fn refuse<A: Algebra, E: Number, R: Rank>(
    name: &str,
    left: &[usize],
    right: &[usize],
    problem: &str,
) -> Tensor<A, E, R> {
    let like = if right.len() > left.len() { right } else { left };
    fail(name, format!("operands of shapes {left:?} and {right:?}: {problem}"), like)
}

impl<A: Algebra, E: Number, R: Rank> Tensor<A, E, R> {
    /// The product of vectors and matrices: vector·vector, matrix·vector, vector·matrix, matrix·matrix. The innermost axis of
    /// this array and the outermost of the other are multiplied and summed. Other ranks are a compile error.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let (a, x) = (Matrix::from([[1.0, 2.0], [3.0, 4.0]]), Vector::from([1.0, 10.0]));
    /// assert_eq!((x.dot(&x).item(), a.dot(&x).to_vec(), x.dot(&a).to_vec()), (101.0, vec![21.0, 43.0], vec![31.0, 42.0]));
    /// ```
    ///
    /// # Panics
    ///
    /// When the extents of the multiplied axes differ; staged, that is recorded instead.
    #[track_caller]
    pub fn dot<S: Rank, O: Rank>(&self, other: &Tensor<A, E, S>) -> Tensor<A, E, O>
    where
        R: Dot<S, Output = O>,
    {
        let (left, right, result): (&[Label], &[Label], &[Label]) = match (self.rank(), other.rank()) {
            (1, 1) => (&[0], &[0], &[]),
            (2, 1) => (&[0, 1], &[1], &[0]),
            (1, 2) => (&[0], &[0, 1], &[1]),
            _ => (&[0, 1], &[1, 2], &[0, 2]),
        };
        contract("dot", (&self.array, left), (&other.array, right), result)
    }

    /// The products of stacks of matrices: the two innermost axes are multiplied, the outer ones run together and broadcast: an
    /// axis that one operand lacks, or where its extent is 1, is repeated.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let (stack, a): (Tensor3<Concrete, f64>, Matrix<_, f64>) = (ones((5, 2, 3)), ones((3, 4)));
    /// assert_eq!(stack.matmul(&a).shape()[..], [5, 2, 4]);
    /// ```
    ///
    /// # Panics
    ///
    /// When an operand has fewer than two axes, the extents of the multiplied axes differ, or outer axes do not broadcast
    /// together; staged, that is recorded instead.
    #[track_caller]
    pub fn matmul<S: Rank>(&self, other: &Tensor<A, E, S>) -> Tensor<A, E, <R as Max<S>>::Output>
    where
        R: Max<S>,
    {
        let (n, m) = (self.rank(), other.rank());
        let (left_shape, right_shape) = (self.shape(), other.shape());
        if n < 2 || m < 2 || n.max(m) > 64 {
            return refuse("matmul", &left_shape, &right_shape, "they are not stacks of matrices");
        }
        let outer = n.max(m) - 2;
        // Labels 0 to 2 are the matrices'; the outer axes are aligned from the innermost. An axis of extent 1 that meets
        // another extent goes: the other operand's axis is then the result's.
        let batch = |rank: usize| (outer + 2 - rank..outer).map(|axis| 3 + axis as Label);
        let labels = |rank: usize, inner: [Label; 2]| -> Labels { batch(rank).chain(inner).collect() };
        let (left_labels, right_labels) = (labels(n, [0, 1]), labels(m, [1, 2]));
        if let Err(problem) =
            check_extents((&left_shape, &left_labels), (&right_shape, &right_labels), |label| label > 2)
        {
            return refuse("matmul", &left_shape, &right_shape, &problem);
        }
        let aligned = |array: &A::Array, shape: &Shape, others: &Shape, labels: &Labels| -> (A::Array, Labels) {
            let repeated = |axis: usize| {
                let met = (axis + others.len()).checked_sub(shape.len());
                axis + 2 < shape.len() && shape[axis] == 1 && met.is_some_and(|met| others[met] != 1)
            };
            let kept = (0..shape.len()).filter(|&axis| !repeated(axis));
            let (extents, labels): (Shape, Labels) = kept.map(|axis| (shape[axis], labels[axis])).unzip();
            (if extents == *shape { array.clone() } else { A::reshape(array.clone(), &extents) }, labels)
        };
        let (left, left_labels) = aligned(&self.array, &left_shape, &right_shape, &left_labels);
        let (right, right_labels) = aligned(&other.array, &right_shape, &left_shape, &right_labels);
        let result = labels(n.max(m), [0, 2]);
        match sum_of_products::<A>((left, &left_labels), (right, &right_labels), &result) {
            Ok(array) => Tensor::wrap(array),
            Err(problem) => refuse("matmul", &left_shape, &right_shape, &problem),
        }
    }

    /// A sum of products with labelled axes: `a.contract(&b, "ij,jk->ik")`. Axes with the same label run together, a label that
    /// stands twice in one operand reads its diagonal, and labels that the result lacks are summed.
    ///
    /// Labels are ASCII letters; the result's rank is checked against its type when the program runs or is staged.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let (a, b) = (Matrix::from([[1.0, 2.0], [3.0, 4.0]]), Matrix::from([[1.0, 0.0], [0.0, 2.0]]));
    /// let product: Vector<_, f64> = a.contract(&b, "ij,ij->i");
    /// assert_eq!(product.to_vec(), [1.0, 8.0]);
    /// ```
    ///
    /// # Panics
    ///
    /// When the labels are not of the form `"ij,jk->ik"`, do not fit the ranks, or stand for axes of different extents, or the
    /// result has a label twice or one that no operand has; staged, that is recorded instead.
    #[track_caller]
    pub fn contract<S: Rank, T: Rank>(&self, other: &Tensor<A, E, S>, labels: &str) -> Tensor<A, E, T> {
        let parsed = labels.split_once("->").and_then(|(operands, result)| {
            let (left, right) = operands.split_once(',')?;
            let axes = |part: &str| -> Option<Labels> {
                part.trim().bytes().map(|b| b.is_ascii_alphabetic().then_some(b)).collect()
            };
            Some((axes(left)?, axes(right)?, axes(result)?))
        });
        match parsed {
            Some((left, right, result)) => contract("contract", (&self.array, &left), (&other.array, &right), &result),
            None => {
                let problem = format!("{labels:?} is not of the form \"ij,jk->ik\"");
                refuse("contract", &self.shape(), &other.shape(), &problem)
            }
        }
    }

    /// The sum of products over pairs of axes: axis `axes[p]` of this array runs together with axis `other_axes[p]` of the
    /// other. The result has the remaining axes of this array, then those of the other.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let (a, b) = (Matrix::from([[1.0, 2.0], [3.0, 4.0]]), Matrix::from([[1.0, 0.0], [0.0, 2.0]]));
    /// assert_eq!(a.contract_axes(&b, [0], [1]), [[1.0, 6.0], [2.0, 8.0]].into());
    /// ```
    ///
    /// # Panics
    ///
    /// When an axis is not there or is listed twice, or the extents of a pair differ; staged, that is recorded instead.
    #[track_caller]
    pub fn contract_axes<S: Rank, X: AxisList>(
        &self,
        other: &Tensor<A, E, S>,
        axes: X,
        other_axes: X,
    ) -> Tensor<A, E, <<X::Count as Rank>::TakenFrom<R> as Rank>::Plus<<X::Count as Rank>::TakenFrom<S>>> {
        let (axes, other_axes) = (axes.axes(), other_axes.axes());
        let (left_shape, right_shape) = (self.shape(), other.shape());
        let fits = axes.len() == other_axes.len()
            && left_shape.len() + right_shape.len() <= 255
            && check_axes(axes, &left_shape).is_ok()
            && check_axes(other_axes, &right_shape).is_ok();
        if !fits {
            let problem = format!("they don't have the axes {axes:?} and {other_axes:?}, each once");
            return refuse("contract_axes", &left_shape, &right_shape, &problem);
        }
        let left: Labels = (0..left_shape.len()).map(|axis| axis as Label).collect();
        let right: Labels = (0..right_shape.len())
            .map(|axis| match other_axes.iter().position(|&other| other == axis) {
                Some(pair) => axes[pair] as Label,
                None => (left_shape.len() + axis) as Label,
            })
            .collect();
        let result: Labels = left.iter().filter(|label| !right.contains(label)).copied().collect();
        let result: Labels =
            result.into_iter().chain(right.iter().filter(|label| !left.contains(label)).copied()).collect();
        contract("contract_axes", (&self.array, &left), (&other.array, &right), &result)
    }

    /// The product of every element of this array with every element of the other: the axes of the first, then those of the
    /// second.
    ///
    /// ```
    /// # use deltaray::prelude::*;
    /// let (x, y) = (Vector::from([1.0, 2.0]), Vector::from([3.0, 4.0]));
    /// assert_eq!(x.outer(&y), [[3.0, 4.0], [6.0, 8.0]].into());
    /// ```
    #[track_caller]
    pub fn outer<S: Rank>(&self, other: &Tensor<A, E, S>) -> Tensor<A, E, R::Plus<S>> {
        let left: Labels = (0..self.rank()).map(|axis| axis as Label).collect();
        let right: Labels = (0..other.rank()).map(|axis| (self.rank() + axis) as Label).collect();
        let result: Labels = left.iter().chain(&right).copied().collect();
        contract("outer", (&self.array, &left), (&other.array, &right), &result)
    }
}
