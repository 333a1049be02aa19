//! `build`, `cond`, `select` and `scan`.

use super::*;

#[test]
fn build_over_one_and_several_indices() {
    let x = v(&[1.0, 2.0, 3.0]);
    let squares = build(3, |i| x.at(&i) * x.at(2 - i));
    assert_eq!(squares.to_vec(), [3.0, 4.0, 3.0]);
    let table = build((2, 3), |(i, j)| x.at(i + 1) * x.at(&j));
    assert_eq!(table.to_vec(), [2.0, 4.0, 6.0, 3.0, 6.0, 9.0]);
    let table = build([2, 3], |[i, j]| x.at(i + 1) * x.at(&j));
    assert_eq!(table.shape()[..], [2, 3]);
    let rows: Tensor3<C, f64> = build((2, 2), |(i, _)| x.at(i) * &x);
    assert_eq!(rows.shape()[..], [2, 2, 3]);
    let nested = build(2, |i| build(3, |j| x.at(&i) + x.at(j)));
    assert_eq!(nested.at(1).to_vec(), [3.0, 4.0, 5.0]);
    let odd: Vector<C, i64> = build(4, |i| 2 * i + 1);
    assert_eq!(odd.to_vec(), [1, 3, 5, 7]);
}

#[test]
fn builds_of_extent_zero_know_their_shape() {
    let m: Matrix<C, f64> = zeros((0, 3));
    let rows = build(0, |i| m.at(i) * 2.0);
    assert_eq!(rows.shape()[..], [0, 3]);
    assert_eq!(build((2, 0), |(i, j)| m.at((i, j))).shape()[..], [2, 0]);
}

#[test]
fn cond_runs_one_side() {
    let x = scalar::<C, f64>(2.0);
    let y = cond(x.gt(1.0), || &x * 3.0, || unreachable!("the side that is not chosen"));
    assert_eq!(y.item(), 6.0);
    let (a, b) = cond(x.lt(1.0), || (x.clone(), v(&[])), || (-&x, v(&[1.0])));
    assert_eq!((a.item(), b.len()), (-2.0, 1));
    // f(x, y) = (x > 2 ? x + 2 : −x, x·y·x) at (3, 2).
    let f = |x: &(Scalar<_, f64>, Scalar<_, f64>)| {
        let (x, y) = x;
        (cond(x.gt(2.0), || x + 2.0, || -x), x * y * x)
    };
    let at = (scalar::<C, f64>(3.0), scalar(2.0));
    let ((p, q), pullback) = vjp(f, &at);
    assert_eq!((p.item(), q.item()), (5.0, 18.0));
    let (dx, dy) = pullback(&(scalar(1.0), scalar(0.0)));
    assert_eq!((dx.item(), dy.item()), (1.0, 0.0));
    let (dx, dy) = pullback(&(scalar(0.0), scalar(1.0)));
    assert_eq!((dx.item(), dy.item()), (12.0, 9.0));
}

#[test]
fn scan_carries_reads_and_writes() {
    let x = v(&[1.0, 2.0, 3.0, 4.0]);
    let (last, sums) = scan(scalar(0.0), &x, 4, |sum, x| {
        let sum = sum + x;
        (sum.clone(), sum)
    });
    assert_eq!(last.item(), 10.0);
    assert_eq!(sums.to_vec(), [1.0, 3.0, 6.0, 10.0]);
    let (_, sums) = scan_reverse(scalar(0.0), &x, 4, |sum, x| {
        let sum = sum + x;
        (sum.clone(), sum)
    });
    assert_eq!(sums.to_vec(), [10.0, 9.0, 7.0, 4.0]);
    let ((fibonacci, _), ()) =
        scan((scalar::<C, i64>(0), scalar::<C, i64>(1)), &(), 10, |(a, b), ()| ((b.clone(), a + b), ()));
    assert_eq!(fibonacci.item(), 55);
    let (carry, (rows, flags)) = scan(scalar(1.0), &zeros::<C, f64, _>((0, 3)), 0, |c, row: Vector<C, f64>| {
        let doubled = &row * 2.0;
        (c * 2.0, (doubled, row.gt(0.0)))
    });
    assert_eq!(carry.item(), 1.0);
    assert_eq!((&rows.shape()[..], &flags.shape()[..]), (&[0, 3][..], &[0, 3][..]));
}

#[test]
fn derivatives_pass_through_scan() {
    // Σ_i (running product)_i · x_i (facts, 65).
    let x = v(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let dx = grad(
        |x| {
            let (_, products) = scan(scalar(1.0), x, x.len(), |p, x| {
                let p = p * x;
                (p.clone(), p)
            });
            (products * x).sum()
        },
        &x,
    );
    close(&dx.to_vec(), &[5040.0, 2521.0, 1684.0, 1278.0, 1104.0, 1440.0]);
}
