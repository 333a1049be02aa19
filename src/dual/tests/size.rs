//! Linear in program size, without deep recursion.

use super::super::cotangent::Cotangent;
use super::super::delta::Delta;
use super::super::transpose::transpose;
use super::*;
use crate::affine::AffineMap;

type D = Dual<Concrete>;

fn input(array: Array) -> (DualArray<Concrete>, Option<Delta<Concrete>>) {
    let delta = Delta::input();
    (DualArray { primal: array, delta: Some(delta.clone()) }, Some(delta))
}

fn transposed(y: DualArray<Concrete>, input: Option<Delta<Concrete>>) -> (Array, usize) {
    let one = Array::full(y.primal.shape(), Value::F64(1.0));
    let output = (y.delta.expect("the result moves"), Cotangent { array: one, marked: false });
    let (mut gradient, visits) = transpose::<Concrete>(vec![output], &[input]);
    (gradient.remove(0).expect("the input is used").array, visits)
}

#[test]
fn doublings_are_visited_once_each() {
    let (x, delta) = input(Array::full(&[], Value::F64(1.0)));
    let half = D::constant(Array::full(&[], Value::F64(0.5)));
    let mut y = x;
    for _ in 0..10_000 {
        y = D::binary(Binary::Add, y.clone(), y);
        y = D::binary(Binary::Mul, y, half.clone());
    }
    let (gradient, visits) = transposed(y, delta);
    assert_eq!(gradient.element(0).to_f64(), 1.0);
    assert_eq!(visits, 20_001);
}

#[test]
fn long_chains_are_walked_and_dropped_without_recursion() {
    let (x, delta) = input(Array::from_vec(&[2], vec![0.5, 0.25]));
    let mut y = x;
    for _ in 0..1_000_000 {
        y = D::unary(Unary::Neg, y);
    }
    let (gradient, visits) = transposed(y.clone(), delta);
    assert_eq!(gradient.to_vec::<f64>(), Some(vec![1.0, 1.0]));
    assert_eq!(visits, 1_000_001);
    drop(y);
}

#[test]
fn a_chain_of_second_order_is_dropped_without_recursion() {
    type DD = Dual<D>;
    let (x, _) = input(Array::full(&[], Value::F64(0.5)));
    let mut y = DualArray { primal: x, delta: Some(Delta::<D>::input()) };
    for _ in 0..100_000 {
        y = DD::unary(Unary::Sin, y);
    }
    drop(y);
}

#[test]
fn single_reads_are_added_in_place() {
    // A hundred thousand reads of a million elements: a copy for each would take minutes.
    const N: usize = 1_000_000;
    let (x, delta) = input(Array::from_vec(&[N], vec![0.5; N]));
    let mut sum = D::constant(Array::full(&[], Value::F64(0.0)));
    for at in 0..50_000 {
        let read = D::view(x.clone(), &AffineMap::pick(&[N], 0, at));
        sum = D::binary(Binary::Add, sum, read);
        let position = D::constant(Array::full(&[], Value::I64(at)));
        let read = D::gather(x.clone(), vec![position]);
        sum = D::binary(Binary::Add, sum, read);
    }
    let (gradient, visits) = transposed(sum, delta);
    let gradient = gradient.to_vec::<f64>().expect("f64");
    assert!(gradient[..50_000].iter().all(|&g| g == 2.0));
    assert!(gradient[50_000..].iter().all(|&g| g == 0.0));
    assert!(visits <= 200_001);
}
