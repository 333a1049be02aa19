//! Derivatives of functions of symmetric matrices, of determinants and of cofactors: along matrices, by the same functions of one
//! order more.

use super::derivative::{Derivative, WithDerivative};
use crate::affine::AffineMap;
use crate::algebra::{Algebra, Operands};
use crate::operation::{Binary, Contraction, Label, Labels, MatrixOperation, Unary};
use crate::shape::Shape;
use crate::term::Op;
use smallvec::smallvec;

/// Dᵏ f(A)[E₁, .., Eₖ] moves along a derivative of A by Dᵏ⁺¹ f(A)[E₁, .., Eₖ, Ȧ], and along one of Eᵢ by itself with Ėᵢ in the place of
/// Eᵢ. Nothing comes of the second operand, the factors of A.
#[track_caller]
pub(super) fn multilinear<A: Algebra, D: Derivative<A>>(
    op: MatrixOperation,
    operands: impl Iterator<Item = WithDerivative<A, D>>,
) -> WithDerivative<A, D> {
    let (arrays, derivatives): (Vec<A::Array>, Vec<Option<D>>) = operands.unzip();
    let arrays: Operands<A> = arrays.into_iter().collect();
    let result = A::matrix(op, arrays.clone());
    let terms = derivatives.into_iter().enumerate().filter_map(|(at, derivative)| match at {
        0 => derivative.map(|derivative| derivative.linear(Op::Matrix(op.derivative()), arrays.clone())),
        1 => None,
        _ => derivative.map(|derivative| {
            let mut others = arrays.clone();
            others.remove(at);
            derivative.linear(Op::Matrix(op), others)
        }),
    });
    (result, terms.reduce(D::add).map(D::shared))
}

/// The cofactors of square matrices: products of elements of small ones, which are polynomials as they stand.
#[track_caller]
fn cofactors<A: Algebra>(a: A::Array, factors: A::Array) -> A::Array {
    let axes = A::shape(&a).len() - 2;
    let part = |a: &A::Array, [row, column]: [usize; 2], n: usize| {
        let rows = A::view(a.clone(), &AffineMap::along(&A::shape(a), axes, row as i64, 1, n));
        A::view(rows.clone(), &AffineMap::along(&A::shape(&rows), axes + 1, column as i64, 1, n))
    };
    let product =
        |left: [usize; 2], right: [usize; 2], a: &A::Array| A::binary(Binary::Mul, part(a, left, 3), part(a, right, 3));
    match A::shape(&a)[axes] {
        2 => {
            let negative = A::unary(Unary::Neg, a.clone());
            let row = |parts: [A::Array; 2]| A::concatenate(axes + 1, parts.into());
            let above = row([part(&a, [1, 1], 1), part(&negative, [1, 0], 1)]);
            let below = row([part(&negative, [0, 1], 1), part(&a, [0, 0], 1)]);
            A::concatenate(axes, vec![above, below])
        }
        // Rows and columns that begin anew after the last, so that no product needs a sign.
        3 => {
            let twice = |a: A::Array, axis: usize| A::concatenate(axis, vec![a.clone(), a]);
            let a = twice(twice(a, axes), axes + 1);
            A::binary(Binary::Sub, product([1, 1], [2, 2], &a), product([1, 2], [2, 1], &a))
        }
        _ => A::matrix(MatrixOperation::Cofactors { order: 0 }, smallvec![a, factors]),
    }
}

/// The determinant moves by the sum of the cofactors times Ȧ, elementwise. Nothing comes of the factors.
#[track_caller]
pub(super) fn determinant<A: Algebra, D: Derivative<A>>(
    (a, da): WithDerivative<A, D>,
    factors: A::Array,
) -> WithDerivative<A, D> {
    let result = A::matrix(MatrixOperation::Determinant, smallvec![a.clone(), factors.clone()]);
    let moved = da.map(|da| {
        let shape: Shape = A::shape(&result);
        let axes = shape.len() - 2;
        let cofactors = cofactors::<A>(a, factors);
        let labels: Labels = (0..shape.len()).map(|label| label as Label).collect();
        let trace = Contraction { left: labels.clone(), right: labels.clone(), result: labels[..axes].into() };
        da.contract_left(&trace, cofactors).reshape(&shape[..axes], &shape).shared()
    });
    (result, moved)
}
