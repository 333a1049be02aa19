//! Operators on values, references and literals.

use super::*;

#[test]
fn values_and_references_go_together_in_all_ways() {
    let (x, y) = (v(&[1.0, 2.0]), v(&[3.0, 5.0]));
    close(&(&x + &y).to_vec(), &[4.0, 7.0]);
    close(&(x.clone() - &y).to_vec(), &[-2.0, -3.0]);
    close(&(&x * y.clone()).to_vec(), &[3.0, 10.0]);
    close(&(x.clone() / y.clone()).to_vec(), &[1.0 / 3.0, 0.4]);
    close(&(-&x).to_vec(), &[-1.0, -2.0]);
    close(&(-x).to_vec(), &[-1.0, -2.0]);
}

#[test]
fn literals_stand_on_both_sides() {
    let x = v(&[1.0, 2.0]);
    close(&(2.0 * &x + 1.0 - 0.5 * x.clone() / 2.0).to_vec(), &[2.75, 4.5]);
    let single: Vector<C, f32> = Vector::from_slice(&[1.0, 4.0]);
    assert_eq!((2.0 * &single - 1.0).to_vec(), [1.0, 7.0]);
    assert_eq!((1.0 / single).to_vec(), [1.0, 0.25]);
    let i: Vector<C, i64> = Vector::from_slice(&[7, -7]);
    let n: usize = 3;
    assert_eq!((n - 1 - &i).to_vec(), [-5, 9]);
    assert_eq!((&i * 2 % n).to_vec(), [2, -2]);
    // A literal on the left stays open until the end, so only operators, indexing and calls may follow it at once.
    let twice: Vector<C, i64> = 2 * &i + 1;
    assert_eq!(twice.to_vec(), [15, -13]);
    assert_eq!((&i / 2).to_vec(), [3, -3]);
    assert_eq!((&i / 0).to_vec(), [7, -7]);
    assert_eq!(i.floor_div(2).to_vec(), [3, -4]);
    assert_eq!(i.modulo(3).to_vec(), [1, 2]);
    let j: Vector<C, i32> = Vector::from_slice(&[i32::MAX, 1]);
    assert_eq!((j + 1).to_vec(), [i32::MIN, 2]);
}

#[test]
fn booleans() {
    let p: Vector<C, bool> = Vector::from_slice(&[true, false]);
    let q: Vector<C, bool> = Vector::from_slice(&[true, true]);
    assert_eq!((&p & &q).to_vec(), [true, false]);
    assert_eq!((p.clone() | false).to_vec(), [true, false]);
    assert_eq!((!&p).to_vec(), [false, true]);
    assert!(p.any().item() && !p.all().item());
}

#[test]
fn assignment() {
    let mut x = v(&[1.0, 2.0]);
    x += 1.0;
    x *= v(&[2.0, 3.0]);
    x -= &scalar(1.0);
    x /= 3.0;
    close(&x.to_vec(), &[1.0, 8.0 / 3.0]);
    let mut i: Vector<C, i64> = Vector::from_slice(&[7]);
    i %= 4;
    assert_eq!(i.to_vec(), [3]);
}

#[test]
fn broadcasting_aligns_trailing_axes() {
    let m: Matrix<C, f64> = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]].into();
    let sum: Matrix<C, f64> = &m + v(&[10.0, 20.0, 30.0]);
    close(&sum.to_vec(), &[11.0, 22.0, 33.0, 14.0, 25.0, 36.0]);
    let columns = v(&[1.0, 2.0]).insert_axis(1);
    let product = columns * v(&[1.0, 10.0]);
    close(&product.to_vec(), &[1.0, 10.0, 2.0, 20.0]);
    let s: Scalar<C, f64> = scalar(2.0);
    close(&(&s * &m).sum().to_vec(), &[42.0]);
    let empty: Matrix<C, f64> = zeros((0, 3));
    assert_eq!((&empty + v(&[1.0, 2.0, 3.0])).shape()[..], [0, 3]);
    let dynamic = m.clone().into_dyn() + &m;
    assert_eq!(dynamic.into_rank::<R2>().to_vec(), (2.0 * m).to_vec());
}

/// Rank-generic user code asks for `R: Rank` and nothing more.
fn standardise<A: Algebra, R: Rank>(x: &Tensor<A, f64, R>) -> Tensor<A, f64, R> {
    let centred = x - x.mean();
    let variance = (&centred * &centred).mean();
    let rows = x.sum_axis(0) * 0.0;
    let result = &centred / (variance + 1e-12).sqrt() + rows;
    scalar(1.0) * (result + x * 0.0)
}

#[test]
fn rank_generic_code() {
    close(&standardise(&v(&[1.0, 3.0])).to_vec(), &[-1.0, 1.0]);
    let m: Matrix<C, f64> = [[1.0, 3.0], [3.0, 1.0]].into();
    close(&standardise(&m).to_vec(), &[-1.0, 1.0, 1.0, -1.0]);
}

fn generic_element<A: Algebra, E: Float>(x: &Vector<A, E>) -> Vector<A, E> {
    x * x + scalar(E::from_number(0.5)) - x.filled(0.25)
}

#[test]
fn element_generic_code() {
    close(&generic_element(&v(&[2.0])).to_vec(), &[4.25]);
}

#[test]
fn comparisons_and_choices() {
    let x = v(&[-1.0, 0.0, 2.0]);
    assert_eq!(x.lt(0.0).to_vec(), [true, false, false]);
    assert_eq!(x.ge(&x).to_vec(), [true, true, true]);
    assert_eq!(x.equal(2.0).to_vec(), [false, false, true]);
    close(&x.gt(0.0).select(&x, 0.0).to_vec(), &[0.0, 0.0, 2.0]);
    close(&x.gt(0.0).select(1.0, &x * 0.1).to_vec(), &[-0.1, 0.0, 1.0]);
    let (a, b) = select(x.gt(0.0), &(x.clone(), -&x), &(-&x, x.clone()));
    close(&a.to_vec(), &[1.0, 0.0, 2.0]);
    close(&b.to_vec(), &[-1.0, 0.0, -2.0]);
}

#[test]
fn elementwise_methods() {
    let x = v(&[0.5, 2.0]);
    close(&x.powi(3).to_vec(), &[0.125, 8.0]);
    close(&x.pow(&x).to_vec(), &[0.5f64.sqrt(), 4.0]);
    close(&x.pow(2.0).to_vec(), &[0.25, 4.0]);
    close(&x.atan2(1.0).to_vec(), &[0.5f64.atan(), 2.0f64.atan()]);
    close(&x.max(1.0).to_vec(), &[1.0, 2.0]);
    close(&x.min(v(&[1.0, 1.0])).to_vec(), &[0.5, 1.0]);
    assert_eq!(x.cast::<i64>().to_vec(), [0, 2]);
    assert_eq!(x.gt(1.0).cast::<f32>().to_vec(), [0.0, 1.0]);
    let zero = v(&[0.0, 1.0]);
    close(&zero.keep_zero(v(&[f64::INFINITY, 3.0])).to_vec(), &[0.0, 3.0]);
}

#[test]
fn a_literal_wins_ties() {
    let at = |f: fn(&Vector<<C as Algebra>::Nested, f64>) -> Vector<<C as Algebra>::Nested, f64>| {
        grad(|x| f(x).sum(), &v(&[0.0])).to_vec()
    };
    assert_eq!(at(|x| x.max(0.0)), [0.0]);
    assert_eq!(at(|x| x.min(0.0)), [0.0]);
    assert_eq!(at(|x| x.max(&Tensor::from_slice(&[0.0]))), [1.0]);
    assert_eq!(at(|x| x.relu()), [0.0]);
}
