//! Products: sums of products with labelled axes.

use crate::algebra::{Algebra, Contraction, Label, Reduction};
use crate::shape::Axes;
use crate::tensor::apply::{apply, fail};
use crate::tensor::structure::{check_axes, diagonal_map};
use crate::tensor::{AxisList, Max, Number, R0, R1, R2, Rank, Tensor};
use crate::term::Op;
use smallvec::SmallVec;

type Labels = SmallVec<[Label; 4]>;

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

/// One operand with distinct labels: repeated labels are read along the diagonal, and those in `summed` are summed.
fn normalise<A: Algebra>(
    mut a: A::Array,
    labels: &[Label],
    kept: impl Fn(Label) -> bool,
) -> Result<(A::Array, Labels), String> {
    let mut labels = Labels::from_slice(labels);
    let shape = A::shape(&a);
    if shape.len() != labels.len() {
        return Err(format!("{} labels for shape {:?}", labels.len(), &shape[..]));
    }
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

/// The sum of products with any labels: see [`Tensor::contract`].
#[track_caller]
fn contract<A: Algebra, E: Number, R: Rank>(
    name: &str,
    (a, left): (A::Array, &[Label]),
    (b, right): (A::Array, &[Label]),
    result: &[Label],
) -> Tensor<A, E, R> {
    let (left_shape, right_shape) = (A::shape(&a), A::shape(&b));
    let shapes = || format!("shapes {:?} and {:?}", &left_shape[..], &right_shape[..]);
    if let Some(ndim) = R::NDIM.filter(|&ndim| ndim != result.len()) {
        return fail(name, format!("{}: {} labels for a result of {ndim} axes", shapes(), result.len()), &left_shape);
    }
    let repeated = result.iter().enumerate().any(|(at, label)| result[..at].contains(label));
    let unknown = result.iter().any(|label| !left.contains(label) && !right.contains(label));
    if repeated || unknown {
        return fail(name, format!("{}: each label of the result is one of an operand, once", shapes()), &left_shape);
    }
    let normal = normalise::<A>(a, left, |label| right.contains(&label) || result.contains(&label));
    let normal = normal.and_then(|a| {
        let b = normalise::<A>(b, right, |label| left.contains(&label) || result.contains(&label))?;
        Ok((a, b))
    });
    match normal {
        Err(problem) => fail(name, format!("{problem}, of {}", shapes()), &left_shape),
        Ok(((a, left), (b, right))) => {
            let spec = Contraction::new(&left, &right, result);
            apply(name, Op::Contract(spec), [a, b])
        }
    }
}

impl<A: Algebra, E: Number, R: Rank> Tensor<A, E, R> {
    /// The product of vectors and matrices: vector·vector, matrix·vector, vector·matrix, matrix·matrix.
    #[track_caller]
    pub fn dot<S: Rank>(&self, other: &Tensor<A, E, S>) -> Tensor<A, E, <R as Dot<S>>::Output>
    where
        R: Dot<S>,
    {
        let (left, right, result): (&[Label], &[Label], &[Label]) = match (self.rank(), other.rank()) {
            (1, 1) => (&[0], &[0], &[]),
            (2, 1) => (&[0, 1], &[1], &[0]),
            (1, 2) => (&[0], &[0, 1], &[1]),
            _ => (&[0, 1], &[1, 2], &[0, 2]),
        };
        contract("dot", (self.array.clone(), left), (other.array.clone(), right), result)
    }

    /// The products of stacks of matrices: the two innermost axes are multiplied, the outer ones run together. The
    /// operand with fewer axes is used for all matrices of the other.
    #[track_caller]
    pub fn matmul<S: Rank>(&self, other: &Tensor<A, E, S>) -> Tensor<A, E, <R as Max<S>>::Output>
    where
        R: Max<S>,
    {
        let (n, m) = (self.rank(), other.rank());
        if n < 2 || m < 2 || n.max(m) > 64 {
            let (left, right) = (self.shape(), other.shape());
            let problem = format!("shapes {:?} and {:?} are not stacks of matrices", &left[..], &right[..]);
            return fail("matmul", problem, if m > n { &right } else { &left });
        }
        let outer = n.max(m) - 2;
        // Labels 0 to 2 are the matrices'; the outer axes are aligned from the innermost.
        let batch = |rank: usize| (outer + 2 - rank..outer).map(|axis| 3 + axis as Label);
        let left: Labels = batch(n).chain([0, 1]).collect();
        let right: Labels = batch(m).chain([1, 2]).collect();
        let result: Labels = batch(n.max(m)).chain([0, 2]).collect();
        contract("matmul", (self.array.clone(), &left), (other.array.clone(), &right), &result)
    }

    /// A sum of products with labelled axes: `a.contract(&b, "ij,jk->ik")`. Axes with the same label run together, a label
    /// that stands twice in one operand reads its diagonal, and labels that the result lacks are summed.
    ///
    /// Labels are ASCII letters; the result's rank is checked against its type when the program runs or is staged.
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
            Some((left, right, result)) => {
                contract("contract", (self.array.clone(), &left), (other.array.clone(), &right), &result)
            }
            None => fail("contract", format!("{labels:?} is not of the form \"ij,jk->ik\""), &self.shape()),
        }
    }

    /// The sum of products over pairs of axes: axis `axes[p]` of this array runs together with axis `other_axes[p]` of the
    /// other. The result has the remaining axes of this array, then those of the other.
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
            let (left, right) = (&left_shape[..], &right_shape[..]);
            let problem = format!("axes {axes:?} of shape {left:?} and axes {other_axes:?} of shape {right:?}");
            return fail("contract_axes", problem, &left_shape);
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
        contract("contract_axes", (self.array.clone(), &left), (other.array.clone(), &right), &result)
    }

    /// The product of every element of this array with every element of the other: the axes of both, one after the other.
    pub fn outer<S: Rank>(&self, other: &Tensor<A, E, S>) -> Tensor<A, E, R::Plus<S>> {
        let left: Labels = (0..self.rank()).map(|axis| axis as Label).collect();
        let right: Labels = (0..other.rank()).map(|axis| (self.rank() + axis) as Label).collect();
        let result: Labels = left.iter().chain(&right).copied().collect();
        contract("outer", (self.array.clone(), &left), (other.array.clone(), &right), &result)
    }
}
