//! The derivative rules (P 6.3, figures 14 and 15), once for both modes.
//!
//! A rule says which linear function of its operands' derivatives gives the derivative of a result.

use super::derivative::{Derivative, Scaling, WithDerivative, sum};
use super::matrix::matrix;
use super::sparse::sparse;
use crate::affine::AffineMap;
use crate::algebra::Algebra;
use crate::array::{self, Array, Data};
use crate::operation::{Binary, Comparison, Contraction, Extreme, Partial, Reduction, Unary};
use crate::shape::{Axes, DType, Shape, Type, Value, are_few, size};
use crate::term::Op;

/// Numbers of a type at which linear maps are transposed. Their derivative is the same everywhere; but a map that solves
/// equations iteratively makes a number of steps that depends on the right side, and none for zeros. So these are numbers
/// without a pattern.
pub(crate) fn generic<A: Algebra>(ty: &Type) -> A::Array {
    if !ty.dtype.is_float() {
        return A::zeros(ty);
    }
    let positions = A::cast(A::iota(size(&ty.shape)), ty.dtype);
    let one = A::constant(Array::full(&A::shape(&positions), Value::from_f64(ty.dtype, 1.0)));
    A::reshape(A::unary(Unary::Sin, A::binary(Binary::Add, positions, one)), &ty.shape)
}

/// One operation without a sub-program, by its rule.
#[track_caller]
pub(crate) fn apply<A: Algebra, D: Derivative<A>>(
    op: &Op,
    mut operands: impl Iterator<Item = WithDerivative<A, D>>,
) -> WithDerivative<A, D> {
    let mut next = || operands.next().expect("the operands of the operation");
    match op {
        Op::Unary(op) => unary(*op, next()),
        Op::Binary(op) => binary(*op, next(), next()),
        Op::Select => select(next().0, next(), next()),
        Op::Cast(dtype) => cast(next(), *dtype),
        Op::View(map) => view(next(), map),
        Op::Accumulate(map) => accumulate(next(), map),
        Op::Reshape(shape) => reshape(next(), shape),
        Op::Concatenate(axis) => concatenate(*axis, operands.collect()),
        Op::Gather => gather(next(), operands.map(|(primal, _)| primal).collect()),
        Op::Scatter(extents) => scatter(next(), operands.map(|(primal, _)| primal).collect(), extents),
        Op::ScatterSet => scatter_set(next(), next(), operands.map(|(primal, _)| primal).collect()),
        Op::Reduce(op, axes) => reduce(*op, next(), axes),
        Op::Contract(spec) => contract(spec, next(), next()),
        Op::Matrix(op) => matrix(*op, operands),
        Op::Sparse(op) => sparse(op, operands.collect()),
        Op::Mark => mark(next()),
        // Integers and truth values have no derivative.
        op => {
            let mut moves = false;
            let primals = operands.map(|(primal, derivative)| {
                moves |= derivative.is_some();
                primal
            });
            let result = A::bind(op, primals.collect());
            assert!(!(moves && A::dtype(&result).is_float()), "there is no rule for the derivative of {op:?}");
            (result, None)
        }
    }
}

/// A derivative moved by a partial derivative.
fn along<A: Algebra, D: Derivative<A>>(partial: Partial<A>, derivative: D) -> Option<D> {
    match partial {
        Partial::Zero => None,
        Partial::One => Some(derivative),
        Partial::Factor(factor) => Some(derivative.scale(factor, Scaling::Product)),
        Partial::Factors(one, other) => Some(derivative.scale(one, Scaling::Product).scale(other, Scaling::Product)),
        Partial::Mask(mask) => Some(derivative.mask(mask)),
    }
}

/// Elementwise, one operand.
#[track_caller]
pub(crate) fn unary<A: Algebra, D: Derivative<A>>(op: Unary, (x, dx): WithDerivative<A, D>) -> WithDerivative<A, D> {
    let Some(dx) = dx else { return (A::unary(op, x), None) };
    let y = A::unary(op, x.clone());
    let dy = along(op.partial::<A>(&x, &y), dx);
    (y, dy.map(D::shared))
}

/// Elementwise, two operands: the sum of both, times the factor that both have in common.
#[track_caller]
pub(crate) fn binary<A: Algebra, D: Derivative<A>>(
    op: Binary,
    (a, da): WithDerivative<A, D>,
    (b, db): WithDerivative<A, D>,
) -> WithDerivative<A, D> {
    if da.is_none() && db.is_none() {
        return (A::binary(op, a, b), None);
    }
    if op == Binary::Add {
        // Needs no operand, so their buffers may be reused.
        return (A::binary(op, a, b), sum(da, db).map(D::shared));
    }
    let y = A::binary(op, a.clone(), b.clone());
    if op == Binary::KeepZero {
        // A product's derivative, also where the left operand is 0, which is an ordinary point of a linear map.
        let left = da.map(|da| da.scale(b, Scaling::KeepDerivative));
        let right = db.map(|db| db.scale(a, Scaling::KeepFactor));
        return (y, sum(left, right).map(|dy| dy.mark().shared()));
    }
    let left = da.map(|da| (op.left_partial::<A>(&a, &b, &y), da));
    let right = db.map(|db| (op.right_partial::<A>(&a, &b, &y), db));
    let moved = |(partial, derivative)| along::<A, D>(partial, derivative);
    let dy = match (left, right) {
        (Some((Partial::Factor(x), da)), Some((Partial::Factor(y), db))) => Some(da.add_scaled(x, db, y)),
        (left, right) => sum(left.and_then(moved), right.and_then(moved)),
    };
    let dy = dy.map(|dy| match op.common_partial::<A>(&a, &b) {
        Some(common) => dy.scale(common, Scaling::Product),
        None => dy,
    });
    (y, dy.map(D::shared))
}

/// Elementwise choice. The derivative of the side not taken is without influence.
#[track_caller]
pub(crate) fn select<A: Algebra, D: Derivative<A>>(
    mask: A::Array,
    (yes, dyes): WithDerivative<A, D>,
    (no, dno): WithDerivative<A, D>,
) -> WithDerivative<A, D> {
    if dyes.is_none() && dno.is_none() {
        return (A::select(mask, yes, no), None);
    }
    (A::select(mask.clone(), yes, no), Some(D::select(mask, dyes, dno).shared()))
}

/// Conversion of the element type: a derivative passes between floats only.
#[track_caller]
pub(crate) fn cast<A: Algebra, D: Derivative<A>>((x, dx): WithDerivative<A, D>, to: DType) -> WithDerivative<A, D> {
    let from = A::dtype(&x);
    let dy = if from == to { dx } else { dx.filter(|_| to.is_float()).map(|dx| dx.cast(from, to).shared()) };
    (A::cast(x, to), dy)
}

/// The marked derivative of a chosen branch.
pub(crate) fn mark<A: Algebra, D: Derivative<A>>((x, dx): WithDerivative<A, D>) -> WithDerivative<A, D> {
    (A::mark(x), dx.map(|dx| dx.mark().shared()))
}

/// An affine read.
#[track_caller]
pub(crate) fn view<A: Algebra, D: Derivative<A>>(
    (x, dx): WithDerivative<A, D>,
    map: &AffineMap,
) -> WithDerivative<A, D> {
    (A::view(x, map), dx.map(|dx| dx.view(map).shared()))
}

/// An affine add.
#[track_caller]
pub(crate) fn accumulate<A: Algebra, D: Derivative<A>>(
    (x, dx): WithDerivative<A, D>,
    map: &AffineMap,
) -> WithDerivative<A, D> {
    (A::accumulate(x, map), dx.map(|dx| dx.accumulate(map).shared()))
}

/// Another shape.
#[track_caller]
pub(crate) fn reshape<A: Algebra, D: Derivative<A>>(
    (x, dx): WithDerivative<A, D>,
    shape: &[usize],
) -> WithDerivative<A, D> {
    let dy = dx.map(|dx| dx.reshape(&A::shape(&x), shape).shared());
    (A::reshape(x, shape), dy)
}

/// Concatenation.
#[track_caller]
pub(crate) fn concatenate<A: Algebra, D: Derivative<A>>(
    axis: usize,
    parts: Vec<WithDerivative<A, D>>,
) -> WithDerivative<A, D> {
    let (arrays, derivatives): (Vec<A::Array>, Vec<Option<D>>) = parts.into_iter().unzip();
    if derivatives.iter().all(Option::is_none) {
        return (A::concatenate(axis, arrays), None);
    }
    let types: Vec<Type> = arrays.iter().map(A::type_of).collect();
    (A::concatenate(axis, arrays), Some(D::concatenate(axis, derivatives, &types).shared()))
}

/// Reads at computed positions.
#[track_caller]
pub(crate) fn gather<A: Algebra, D: Derivative<A>>(
    (x, dx): WithDerivative<A, D>,
    indices: Vec<A::Array>,
) -> WithDerivative<A, D> {
    let extents = Shape::from_slice(&A::shape(&x)[..indices.len()]);
    (A::gather(x, indices.clone()), dx.map(|dx| dx.gather(indices, &extents).shared()))
}

/// Adds at computed positions.
#[track_caller]
pub(crate) fn scatter<A: Algebra, D: Derivative<A>>(
    (x, dx): WithDerivative<A, D>,
    indices: Vec<A::Array>,
    extents: &[usize],
) -> WithDerivative<A, D> {
    (A::scatter(x, indices.clone(), extents), dx.map(|dx| dx.scatter(indices, extents).shared()))
}

/// Adds at computed positions of an array.
#[track_caller]
pub(crate) fn scatter_onto<A: Algebra, D: Derivative<A>>(
    (target, dtarget): WithDerivative<A, D>,
    (x, dx): WithDerivative<A, D>,
    indices: Vec<A::Array>,
) -> WithDerivative<A, D> {
    let extents = Shape::from_slice(&A::shape(&target)[..indices.len()]);
    let dy = match (dtarget, dx) {
        (Some(dtarget), Some(dx)) => Some(dx.scatter_onto(dtarget, indices.clone(), &extents)),
        (dtarget, dx) => dtarget.or_else(|| dx.map(|dx| dx.scatter(indices.clone(), &extents))),
    };
    (A::scatter_onto(target, x, indices), dy.map(D::shared))
}

/// Writes at computed positions of an array.
#[track_caller]
pub(crate) fn scatter_set<A: Algebra, D: Derivative<A>>(
    (target, dtarget): WithDerivative<A, D>,
    (x, dx): WithDerivative<A, D>,
    indices: Vec<A::Array>,
) -> WithDerivative<A, D> {
    if indices.is_empty() {
        return (x, dx);
    }
    if dtarget.is_none() && dx.is_none() {
        return (A::scatter_set(target, x, indices), None);
    }
    let types = [&target, &x].map(A::type_of);
    let extents = Shape::from_slice(&types[0].shape[..indices.len()]);
    let latest = || latest_writes::<A>(&indices, &extents, &types[1].shape);
    let dy = D::scatter_set(dtarget, dx, indices.clone(), latest, types.clone());
    (A::scatter_set(target, x, indices), Some(dy.shared()))
}

/// One position in so many is written by a few writes.
const FEW: usize = 8;

/// The updates of this shape that are there when all have been written at positions: of several at one position the last.
/// `None` are all of them, for there is at most one.
fn latest_writes<A: Algebra>(indices: &[A::Array], extents: &[usize], updates: &[usize]) -> Option<A::Array> {
    let positions = A::shape(indices.first()?);
    let count = size(&positions);
    if count <= 1 || A::are_distinct(indices) {
        return None;
    }
    // If the positions are known, a few writes into a large array are compared with one another, instead of by element.
    let known = || indices.iter().map(A::known).collect::<Option<Vec<Array>>>();
    let few = size(extents) / FEW > count;
    let mask = if let Some(known) = few.then(known).flatten() {
        let latest = array::latest(&known, extents, count)?;
        A::constant(Array::Bool(Data::from_vec(&positions, latest)))
    } else if are_few(count, size(extents)) {
        A::reshape(latest_of_few::<A>(indices, count), &positions)
    } else {
        let numbers = A::reshape(A::iota(count), &positions);
        let none = A::zeros(&Type::new(DType::I64, extents));
        let written = A::scatter_set(none, numbers.clone(), indices.to_vec());
        A::compare(Comparison::Equal, A::gather(written, indices.to_vec()), numbers)
    };
    let axes: Axes = (0..positions.len()).collect();
    Some(A::view(mask, &AffineMap::broadcast(&positions, updates, &axes)))
}

/// For each of a few positions whether no later one is the same: each is compared with each.
fn latest_of_few<A: Algebra>(indices: &[A::Array], count: usize) -> A::Array {
    // The first axis runs over the positions, the second over those that each is compared with.
    let along =
        |array: A::Array, axis: usize| A::view(array, &AffineMap::broadcast(&[count], &[count, count], &[axis]));
    let compared =
        |comparison: Comparison, array: A::Array| A::compare(comparison, along(array.clone(), 0), along(array, 1));
    let later = compared(Comparison::Less, A::iota(count));
    let hides = indices.iter().fold(later, |hides, index| {
        let is_same = compared(Comparison::Equal, A::reshape(index.clone(), &[count]));
        A::binary(Binary::And, hides, is_same)
    });
    let is_hidden = A::reduce(Reduction::Max, A::cast(hides, DType::I64), &[1]);
    let none = A::zeros(&Type::new(DType::I64, &[count]));
    A::compare(Comparison::Equal, is_hidden, none)
}

/// An affine add onto an array.
#[track_caller]
pub(crate) fn accumulate_onto<A: Algebra, D: Derivative<A>>(
    (target, dtarget): WithDerivative<A, D>,
    (x, dx): WithDerivative<A, D>,
    map: &AffineMap,
) -> WithDerivative<A, D> {
    let dy = match (dtarget, dx) {
        (Some(dtarget), Some(dx)) => Some(dx.accumulate_onto(dtarget, map)),
        (dtarget, dx) => dtarget.or_else(|| dx.map(|dx| dx.accumulate(map))),
    };
    (A::accumulate_onto(target, x, map), dy.map(D::shared))
}

/// Reductions: a sum is linear, an extreme moves with the first element that attains it.
#[track_caller]
pub(crate) fn reduce<A: Algebra, D: Derivative<A>>(
    op: Reduction,
    (x, dx): WithDerivative<A, D>,
    axes: &[usize],
) -> WithDerivative<A, D> {
    let Some(dx) = dx else { return (A::reduce(op, x, axes), None) };
    let shape = A::shape(&x);
    let dy = match op {
        Reduction::Sum => dx.sum(axes, &shape),
        _ if axes.is_empty() => dx,
        Reduction::Max => dx.gather(first_extreme::<A>(Extreme::Max, &x, axes), &shape),
        Reduction::Min => dx.gather(first_extreme::<A>(Extreme::Min, &x, axes), &shape),
    };
    (A::reduce(op, x, axes), Some(dy.shared()))
}

/// For each element of a reduction over axes, the position of the first extreme: an index array for each axis of `x`.
///
/// Where a reduced axis is empty they read outside, and so nothing.
fn first_extreme<A: Algebra>(extreme: Extreme, x: &A::Array, axes: &[usize]) -> Vec<A::Array> {
    let shape = A::shape(x);
    let kept: Axes = (0..shape.len()).filter(|axis| !axes.contains(axis)).collect();
    let result: Shape = kept.iter().map(|&axis| shape[axis]).collect();
    let reduced: Shape = axes.iter().map(|&axis| shape[axis]).collect();
    let position = if let [axis] = axes {
        A::arg_reduce(extreme, x.clone(), *axis)
    } else {
        // Row-major over the reduced axes, which are moved last and made one.
        let permutation: Axes = kept.iter().chain(axes).copied().collect();
        let moved = A::view(x.clone(), &AffineMap::transpose(&shape, &permutation));
        let mut flat = result.clone();
        flat.push(size(&reduced));
        A::arg_reduce(extreme, A::reshape(moved, &flat), kept.len())
    };
    let number = |n: usize| A::constant(Array::full(&result, Value::I64(n as i64)));
    (0..shape.len())
        .map(|axis| match kept.iter().position(|&k| k == axis) {
            Some(at) => A::view(A::iota(shape[axis]), &AffineMap::broadcast(&[shape[axis]], &result, &[at])),
            None if reduced.len() == 1 => position.clone(),
            None => {
                let at = axes.iter().position(|&r| r == axis).expect("an axis is kept or reduced");
                let mut index = position.clone();
                if at + 1 < reduced.len() {
                    index = A::binary(Binary::Quot, index, number(size(&reduced[at + 1..])));
                }
                if at > 0 {
                    index = A::binary(Binary::Rem, index, number(reduced[at]));
                }
                index
            }
        })
        .collect()
}

/// A sum of products: of both derivatives, each with the other operand fixed.
#[track_caller]
pub(crate) fn contract<A: Algebra, D: Derivative<A>>(
    spec: &Contraction,
    (a, da): WithDerivative<A, D>,
    (b, db): WithDerivative<A, D>,
) -> WithDerivative<A, D> {
    let y = A::contract(spec, a.clone(), b.clone());
    let left = da.map(|da| da.contract_left(spec, b));
    let right = db.map(|db| db.contract_right(spec, a));
    (y, sum(left, right).map(D::shared))
}
