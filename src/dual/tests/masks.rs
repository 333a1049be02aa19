//! Masked cotangents: the side not taken never harms, and second derivatives are a product's.

use super::*;
use crate::operation::Comparison;

fn scalar(x: f64) -> Array {
    Array::full(&[], Value::F64(x))
}

fn derivative<A: Algebra>(body: &Body, x: A::Array) -> A::Array {
    pull::<A>(body, vec![x], &[A::constant(scalar(1.0))]).remove(0)
}

fn first(body: &Body, x: f64) -> f64 {
    derivative::<Concrete>(body, scalar(x)).element(0).to_f64()
}

fn second(body: &Body, x: f64) -> f64 {
    let f = |x: Vec<DualArray<Concrete>>| vec![derivative::<Dual<Concrete>>(body, x[0].clone())];
    let (_, pullback) = super::super::vjp::<Concrete>(&f, vec![scalar(x)]);
    pullback(vec![Some(scalar(1.0))])[0].element(0).to_f64()
}

fn third(body: &Body, x: f64) -> f64 {
    type D = Dual<Concrete>;
    let f = |x: Vec<DualArray<D>>| vec![derivative::<Dual<D>>(body, x[0].clone())];
    let g = |x: Vec<DualArray<Concrete>>| super::super::vjp::<D>(&f, x).1(vec![Some(D::constant(scalar(1.0)))]);
    let (_, pullback) = super::super::vjp::<Concrete>(&g, vec![scalar(x)]);
    pullback(vec![Some(scalar(1.0))])[0].element(0).to_f64()
}

/// `select(x > bound, f(x), g(x))` on scalars.
fn choice(
    bound: f64,
    f: impl FnOnce(&mut Builder, NodeId) -> NodeId,
    g: impl FnOnce(&mut Builder, NodeId) -> NodeId,
) -> Body {
    program(&[f64s(&[])], 0, |b, x| {
        let bound = b.number(&[], bound);
        let mask = b.op(Op::Compare(Comparison::Greater), &[x[0], bound]);
        let (yes, no) = (f(b, x[0]), g(b, x[0]));
        vec![b.op(Op::Select, &[mask, yes, no])]
    })
}

#[test]
fn the_side_not_taken_does_not_harm() {
    let root = choice(0.0, |b, x| b.unary(Unary::Sqrt, x), |_, x| x);
    assert_eq!(first(&root, 0.0), 1.0);
    assert_eq!(second(&root, 0.0), 0.0);
    assert_eq!(first(&root, 4.0), 0.25);
    let logarithm = choice(0.0, |b, x| b.unary(Unary::Ln, x), |b, _| b.number(&[], 0.0));
    assert_eq!(first(&logarithm, 0.0), 0.0);
    assert_eq!(first(&logarithm, -1.0), 0.0);
    assert_eq!(second(&logarithm, 0.0), 0.0);
    let quotient = choice(0.0, |b, x| b.binary(Binary::Div, x, x), |b, x| b.mul(x, x));
    assert_eq!(first(&quotient, 0.0), 0.0);
    assert_eq!(second(&quotient, 0.0), 2.0);
}

#[test]
fn zero_is_an_ordinary_point_of_a_linear_map() {
    let body = choice(
        -1.0,
        |b, x| {
            let square = b.mul(x, x);
            let difference = b.binary(Binary::Sub, square, x);
            b.mul(difference, difference)
        },
        |b, _| b.number(&[], 0.0),
    );
    assert_eq!(first(&body, 1.0), 0.0);
    assert_eq!(second(&body, 1.0), 2.0);
    // (x² − x)² = x⁴ − 2x³ + x², whose third derivative is 24x − 12.
    assert_eq!(third(&body, 1.0), 12.0);
}

#[test]
fn a_mark_masks_what_lies_below() {
    // The cotangent 0 meets the factor 1/0 of the logarithm: below a mark it stays 0.
    let with = |mark: bool| {
        program(&[f64s(&[])], 0, |b, x| {
            let zero = b.number(&[], 0.0);
            let mut y = b.unary(Unary::Ln, x[0]);
            if mark {
                y = b.op(Op::Mark, &[y]);
            }
            vec![b.mul(y, zero)]
        })
    };
    assert!(first(&with(false), 0.0).is_nan());
    assert_eq!(first(&with(true), 0.0), 0.0);
}

#[test]
fn relu_does_not_mark() {
    let body = program(&[f64s(&[])], 0, |b, x| {
        let reciprocal = b.unary(Unary::Recip, x[0]);
        vec![b.unary(Unary::Relu, reciprocal)]
    });
    assert_eq!(first(&body, -2.0), 0.0);
    assert_eq!(first(&body, 2.0), -0.25);
    let at_zero = program(&[f64s(&[])], 0, |b, x| vec![b.unary(Unary::Relu, x[0])]);
    assert_eq!(first(&at_zero, 0.0), 0.0);
}

#[test]
fn keep_zero_is_derived_as_a_product() {
    let body = program(&[f64s(&[])], 0, |b, x| {
        let square = b.mul(x[0], x[0]);
        vec![b.binary(Binary::KeepZero, x[0], square)]
    });
    assert_eq!(first(&body, 0.0), 0.0);
    assert_eq!(second(&body, 0.0), 0.0);
    assert_eq!(third(&body, 0.0), 6.0);
    let infinite = program(&[f64s(&[])], 0, |b, x| {
        let reciprocal = b.unary(Unary::Recip, x[0]);
        vec![b.binary(Binary::KeepZero, x[0], reciprocal)]
    });
    assert_eq!(run::<Concrete>(&infinite, vec![scalar(0.0)])[0].element(0).to_f64(), 0.0);
}

#[test]
fn unused_inputs_have_zero_gradients() {
    let types = [f64s(&[2]), f64s(&[3]), Type::new(DType::I32, &[2]), Type::new(DType::F32, &[])];
    let body = program(&types, 0, |b, x| vec![b.mul(x[0], x[0]), x[2]]);
    let mut random = Random(1);
    let at: Vec<Array> = types.iter().map(|ty| random.array(ty, (1.0, 2.0))).collect();
    let (_, pullback) = super::super::vjp::<Concrete>(&|x| run::<Dual<Concrete>>(&body, x), at);
    for cotangents in [vec![Some(Array::full(&[2], Value::F64(1.0))), None], vec![None, None]] {
        let gradient = pullback(cotangents);
        assert_eq!(gradient.iter().map(Array::ty).collect::<Vec<_>>(), types);
        assert!(gradient[1..].iter().all(|part| (0..part.size()).all(|at| part.element(at).to_f64() == 0.0)));
    }
}
