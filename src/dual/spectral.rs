//! Derivatives of functions of symmetric matrices, of determinants and of cofactors: along matrices, by the same functions of one
//! order more. And where vectors of values have derivatives.

use super::derivative::{Derivative, Scaling, WithDerivative};
use crate::affine::AffineMap;
use crate::algebra::{Algebra, Operands};
use crate::array::Array;
use crate::operation::{Binary, Comparison, Contraction, Label, Labels, MatrixOperation, Reduction, Unary};
use crate::shape::{Shape, Type, Value};
use crate::term::Op;
use smallvec::smallvec;

/// Dᵏ f(A)[E₁, .., Eₖ] moves along a derivative of A by Dᵏ⁺¹ f(A)[E₁, .., Eₖ, Ȧ], and along one of Eᵢ by itself with Ėᵢ in the place of
/// Eᵢ. Nothing comes of the second operand, the factors of A; and nothing of A where the determinant, a polynomial of as many
/// degrees as rows, has no further derivative.
#[track_caller]
pub(super) fn multilinear<A: Algebra, D: Derivative<A>>(
    op: MatrixOperation,
    operands: impl Iterator<Item = WithDerivative<A, D>>,
) -> WithDerivative<A, D> {
    let (arrays, derivatives): (Vec<A::Array>, Vec<Option<D>>) = operands.unzip();
    let arrays: Operands<A> = arrays.into_iter().collect();
    let result = A::matrix(op, arrays.clone());
    let shape = A::shape(&arrays[0]);
    let is_constant =
        matches!(op, MatrixOperation::Cofactors { order } if usize::from(order) + 1 >= shape[shape.len() - 1]);
    let terms = derivatives.into_iter().enumerate().filter_map(|(at, derivative)| match at {
        0 if is_constant => None,
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

/// Vectors, columns that belong to a row of values. The derivative is NaN where two values, or of vectors that are no square matrix a
/// value and 0, are no further apart than g = ε^⅓ times the largest: it has an error of ε / g², and the vectors of equal values are
/// those of one choice.
#[track_caller]
pub(super) fn unique<A: Algebra, D: Derivative<A>>(
    (vectors, dvectors): WithDerivative<A, D>,
    values: A::Array,
) -> WithDerivative<A, D> {
    let result = A::matrix(MatrixOperation::Unique, smallvec![vectors.clone(), values.clone()]);
    let derivative = dvectors.map(|derivative| {
        let ty = Type { dtype: A::dtype(&vectors), shape: A::shape(&vectors) };
        let axes = ty.shape.len() - 2;
        let (batch, columns) = (ty.shape[..axes].to_vec(), ty.shape[axes + 1]);
        let square = [&batch[..], &[columns, columns]].concat();
        let spread = |array: &A::Array, places: &[usize], shape: &[usize]| {
            A::view(array.clone(), &AffineMap::broadcast(&A::shape(array), shape, places))
        };
        let each: Vec<usize> = (0..axes).collect();
        let full = |shape: &[usize], x: f64| A::constant(Array::full(shape, Value::from_f64(ty.dtype, x)));
        let row = A::reshape(values, &[&batch[..], &[columns]].concat());
        let sizes = A::unary(Unary::Abs, row.clone());
        let largest = A::reduce(Reduction::Max, sizes.clone(), &[axes]);
        let are_apart = |gaps: A::Array| {
            let shape = A::shape(&gaps);
            let bound =
                A::binary(Binary::Mul, spread(&largest, &each, &shape), full(&shape, ty.dtype.epsilon().cbrt()));
            A::compare(Comparison::Greater, A::unary(Unary::Abs, gaps), bound)
        };
        let [own, other] = [axes, axes + 1].map(|axis| spread(&row, &[&each[..], &[axis]].concat(), &square));
        let [place, places] = [axes, axes + 1].map(|axis| spread(&A::iota(columns), &[axis], &square));
        let is_own = A::compare(Comparison::Equal, place, places);
        let pairs = A::binary(Binary::Or, are_apart(A::binary(Binary::Sub, own, other)), is_own);
        let mut all = A::reduce(Reduction::Min, A::cast(pairs, ty.dtype), &[axes, axes + 1]);
        if ty.shape[axes] != columns {
            let own = A::reduce(Reduction::Min, A::cast(are_apart(sizes), ty.dtype), &[axes]);
            all = A::binary(Binary::Min, all, own);
        }
        let all = A::compare(Comparison::Greater, spread(&all, &each, &ty.shape), A::zeros(&ty));
        let factor = A::select(all, full(&ty.shape, 1.0), full(&ty.shape, f64::NAN));
        derivative.scale(factor, Scaling::Product).shared()
    });
    (result, derivative)
}
