//! Writes into arrays by position.

use crate::harness::{M, S, V, generic, same, v};
use deltaray::prelude::*;

fn m() -> Matrix<Concrete, f64> {
    Matrix::from([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0]])
}

/// Elements, rows, columns, blocks, and operators.
#[differentiable]
fn forms(mut a: Matrix<f64>, #[plain] k: usize) -> Matrix<f64> {
    let i = scalar(1i64);
    a[(0, k)] = a[(1, k)] * a[(0, 0)];
    a[(&i, 0)] -= a[(2, 2)];
    a[(0, ..)] = a[1] * 2.0;
    a[(.., 1)] = a[(.., 2)].sin();
    a[(1.., ..2)] += a[(..2, 2..)] * a[(0, 0)];
    a[(i, 1..)] *= 3;
    a[2] /= a[1] + 20.0;
    a[(1..3, 3)] = 0.5;
    a
}

#[test]
fn parts_of_arrays_are_assigned() {
    let expected = generic!(M => M, |a| {
        let i = scalar(1i64);
        let a = a.clone();
        let x = a.at((1, 1)) * a.at((0, 0));
        let a = a.with((0, 1), x);
        let x = a.at((2, 2));
        let a = a.with_updated((&i, 0), |old| old - x);
        let x = a.at(1) * 2.0;
        let a = a.with(0, x);
        let x = a.transpose().at(2).sin();
        let a = a.with((.., 1), x);
        let x = a.slice(0, ..2).slice(1, 2..) * a.at((0, 0));
        let a = a.with_added((1.., ..2), x);
        let a = a.with_updated((i, 1..), |old| old * 3.0);
        let x = a.at(1) + 20.0;
        a.with_updated(2, |old| old / x).with((1..3, 3), 0.5)
    });
    same(&forms { k: 1 }, &expected, &m());
    let x = m();
    let (first, second) = (forms(&x, 1), forms(&x, 1));
    assert_eq!(first, second);
    assert_eq!(x, m(), "the caller's array stays as it is");
    assert_eq!(first.at((0, 0)).item(), (5.0 - 11.0) * 2.0);
}

/// A loop that carries the array that it writes.
#[differentiable]
fn chain(mut x: Vector<f64>) -> Vector<f64> {
    let n = x.len();
    for k in rolled(0..n - 1) {
        x[k + 1] = x[k].sin() * x[k + 1];
    }
    x
}

#[test]
fn a_loop_writes_elements() {
    let expected = generic!(V => V, |x| {
        let mut list: Vec<_> = (0..x.len()).map(|k| x.at(k)).collect();
        for k in 0..list.len() - 1 {
            list[k + 1] = list[k].sin() * &list[k + 1];
        }
        stack(&list)
    });
    same(&chain {}, &expected, &v([0.3, -0.7, 1.1, 2.0]));
    let staged = stage(chain, &v([0.3, -0.7, 1.1, 2.0])).expect("it is staged");
    assert!(staged.to_string().contains("scatter_set"), "{staged}");
}

/// Nested loops, and writes by columns.
#[differentiable]
fn factor(mut a: Matrix<f64>) -> Matrix<f64> {
    let n = a.len();
    for j in rolled(0..n) {
        for i in rolled(0..n) {
            if i > j {
                a[(&i, &j)] /= a[(&j, &j)];
                let row = a[(&i, &j)] * a[&j];
                for k in rolled(0..n) {
                    if k > j {
                        a[(&i, &k)] -= row[k];
                    }
                }
            }
        }
    }
    a
}

#[test]
fn loops_in_loops_and_choices_write() {
    let a = Matrix::from([[4.0, 1.0, 2.0], [1.0, 5.0, 3.0], [2.0, 3.0, 6.0]]);
    let expected = generic!(M => M, |a| {
        let n = 3;
        let mut list: Vec<Vec<_>> = (0..n).map(|i| (0..n).map(|j| a.at((i, j))).collect()).collect();
        for j in 0..n {
            for i in j + 1..n {
                list[i][j] = &list[i][j] / &list[j][j];
                for k in j + 1..n {
                    list[i][k] = &list[i][k] - &list[i][j] * &list[j][k];
                }
            }
        }
        stack(&list.iter().map(|row| stack(row)).collect::<Vec<_>>())
    });
    same(&factor {}, &expected, &a);
}

/// Assignments in the blocks of an `if`.
#[differentiable]
fn chosen(x: Vector<f64>, #[plain] flag: bool) -> (Vector<f64>, Scalar<f64>) {
    let mut y = zeros(x.len());
    let mut s = scalar(1.0);
    let mut count = 0;
    for i in rolled(0..x.len()) {
        if x[&i] > 0.5 {
            y[&i] = x[&i].sqrt();
            s *= x[&i];
        } else if x[&i] < -0.5 {
            y[&i] = -x[&i];
        } else {
            s += x[i];
        }
    }
    if flag {
        count += 2;
        y[0] += 1.0;
    }
    if s > 0.0 {
        s = s.ln();
    }
    (y * count, s)
}

#[test]
fn blocks_of_a_choice_assign() {
    let expected = generic!(V => (V, S), |x| {
        let (mut y, mut s) = (Vec::new(), scalar(1.0));
        for i in 0..x.len() {
            let at = x.at(i);
            let (high, low) = (at.gt(0.5), at.lt(-0.5));
            y.push(cond(&high, || at.sqrt(), || cond(&low, || -&at, || scalar(0.0))));
            s = cond(&high, || &s * &at, || cond(&low, || s.clone(), || &s + &at));
        }
        y[0] = &y[0] + 1.0;
        let s = cond(s.gt(0.0), || s.ln(), || s.clone());
        (stack(&y) * 2.0, s)
    });
    same(&chosen { flag: true }, &expected, &v([0.7, -0.7, 0.1, 2.0]));
    assert_eq!(chosen(&v([0.7, -0.7]), false).0.to_vec(), [0.0, 0.0]);
}

/// Values that are not arrays are assigned as in Rust, whatever stands beside them.
#[differentiable]
fn plain_parts(x: Vector<f64>, #[plain] table: &mut Vec<usize>, #[plain] grid: &mut [[f64; 2]]) -> Vector<f64> {
    let mut list = vec![x.clone(), x * 2.0];
    let mut bytes = [1u8, 2, 3];
    bytes[1] += 4;
    bytes[0] <<= 3;
    table[0] = 7;
    table[1] += table[0];
    grid[1][0] = 0.5;
    grid[0][1] -= grid[1][0];
    list[0] = list[1] * list[0];
    list[1][0] = list[0][1];
    list[1] += list[0];
    (bytes[2], table[2]) = (9, 4);
    let mut pair = (vec![1, 2], 3.0);
    pair.0[1] = 5;
    pair.1 *= 2.0;
    let last = list.pop().unwrap_or(x);
    last * f64::from(bytes[0]) + f64::from(bytes[1] + bytes[2]) + pair.0[1] as f64 * pair.1
}

#[test]
fn plain_values_are_assigned_as_in_rust() {
    let (mut table, mut grid) = (vec![1, 2, 3], [[1.0, 2.0], [3.0, 4.0]]);
    let found = plain_parts(&v([1.0, 2.0]), &mut table, &mut grid);
    assert_eq!((&table[..], grid), (&[7, 9, 4][..], [[1.0, 1.5], [0.5, 4.0]]));
    // list: [2x², [8, 4] + 2x²]
    assert_eq!(found.to_vec(), [10.0 * 8.0 + 45.0, 12.0 * 8.0 + 45.0]);
}

/// Element types that are a parameter, integers, and truth values.
#[differentiable]
fn of_any_float<E: Float>(mut x: Vector<E>) -> Vector<E> {
    x[0] = 0.25;
    x[1] *= 0.5;
    x[2..] += 1.5;
    x
}

#[differentiable]
fn counted(x: Vector<f64>) -> (Vector<i64>, Vector<bool>) {
    let mut bins: Vector<i64> = zeros(3);
    let mut seen: Vector<bool> = full(3, false);
    for k in rolled(0..x.len()) {
        let bin = x[k] as i64;
        bins[&bin] += 1;
        seen[bin] |= true;
    }
    bins[0] %= 2;
    (bins, seen)
}

/// Several at once: a swap.
#[differentiable]
fn swapped(mut x: Vector<f64>) -> Vector<f64> {
    let mut last = scalar(0.0);
    (x[0], (x[1], last)) = (x[1], (x[0], x[2] + last));
    x[2] += last;
    x
}

#[test]
fn elements_of_all_types_are_assigned() {
    assert_eq!(of_any_float(&Vector::from(vec![1.0f32, 2.0, 3.0])).to_vec(), [0.25, 1.0, 4.5]);
    let (bins, seen) = counted(&v([0.5, 2.5, 0.1, 0.2]));
    assert_eq!((bins.to_vec(), seen.to_vec()), (vec![1, 0, 1], vec![true, false, true]));
    assert_eq!(swapped(&v([1.0, 2.0, 3.0])).to_vec(), [2.0, 1.0, 6.0]);
}

/// A variable is an operand of its own assignment, and a condition again and again.
#[differentiable]
fn again(x: Vector<f64>, #[plain] flag: bool) -> Scalar<f64> {
    let mut y = x[0];
    y *= y;
    let mut n = 3;
    n += n;
    let p = y > 0.5;
    let s = if p { x[1] } else { x[2] };
    let t = if p { s * 2 } else { s };
    if p {
        y += t;
    }
    let u = if flag { y } else { t };
    if flag { u * n } else { u }
}

#[test]
fn variables_stay_where_they_are() {
    assert_eq!(again(&v([2.0, 3.0, 5.0]), true).item(), 60.0);
    assert_eq!(again(&v([0.5, 3.0, 5.0]), false).item(), 5.0);
}

#[test]
#[should_panic(expected = "a value of shape [3] into shape [4], where shape [2] is written")]
fn a_value_that_does_not_fit_is_reported() {
    let _ = v([1.0, 2.0, 3.0, 4.0]).with(1..3, v([1.0, 2.0, 3.0]));
}

#[test]
#[should_panic(expected = "range 1..5 goes beyond axis 0 in shape [4]")]
fn a_range_that_goes_beyond_is_reported() {
    let _ = v([1.0, 2.0, 3.0, 4.0]).with(1..5, 1.0);
}

/// Writes at positions outside are ignored, and empty ranges write nothing.
#[test]
fn what_is_outside_stays() {
    let x = v([1.0, 2.0, 3.0]);
    assert_eq!(x.clone().with(3, 9.0).with(scalar(-1i64), 9.0).to_vec(), [1.0, 2.0, 3.0]);
    assert_eq!(x.clone().with(1..1, 9.0).with_added(7, 1.0).to_vec(), [1.0, 2.0, 3.0]);
    assert_eq!(x.clone().with(.., v([3.0, 2.0, 1.0])).to_vec(), [3.0, 2.0, 1.0]);
    assert_eq!(x.with(.., 4.0).to_vec(), [4.0, 4.0, 4.0]);
}

/// Triangles: bounds that are positions of outer loops, from both sides, up and down, and inclusive.
#[differentiable]
fn triangles(mut a: Matrix<f64>) -> Matrix<f64> {
    let n = a.len();
    for i in rolled(0..n) {
        for j in rolled(0..i) {
            a[(i, j)] -= a[(j, i)].sin() * a[(i, j)];
        }
        for j in rolled((i + 1..n).rev()) {
            a[(i, j)] = a[(i, j)] * a[(i, j - 1)];
        }
        for j in rolled(i..=i) {
            a[(j, i)] *= 2.0;
        }
        for j in rolled(i - 1..i + 2) {
            a[(j, 0)] += 0.5 * a[(0, j)];
        }
    }
    a
}

#[test]
fn loops_have_bounds_that_move() {
    let x = Matrix::from([[0.3, -0.2, 0.9], [0.1, 0.7, -0.4], [1.2, 0.4, 0.8]]);
    let expected = generic!(M => M, |a| {
        let n = 3usize;
        let mut a = a.clone();
        for i in 0..n {
            for j in 0..i {
                let value = a.at((j, i)).sin() * a.at((i, j));
                a = a.with_added((i, j), -value);
            }
            for j in (i + 1..n).rev() {
                let value = a.at((i, j)) * a.at((i, j - 1));
                a = a.with((i, j), value);
            }
            a = a.with_updated((i, i), |old| old * 2.0);
            for j in i.max(1) - 1..(i + 2).min(n) {
                let value = 0.5 * a.at((0, j));
                a = a.with_added((j, 0), value);
            }
        }
        a
    });
    same(&triangles {}, &expected, &x);
}

/// Carried bounds, about which nothing is known when the function is staged, and the values that limit them.
#[differentiable]
fn carried_bounds(x: Vector<f64>) -> Vector<f64> {
    let (mut y, mut bound) = (x.clone(), scalar(0i64));
    for k in rolled(0..3) {
        for j in rolled(0..bound) {
            y[j] *= x[k];
        }
        for j in rolled(bound..bound.min(2) + 1) {
            y[j] += x[j].sin() * y[k];
        }
        for j in rolled((bound - 5..=bound - 1).rev()) {
            y[k] -= y[j] * y[j];
        }
        bound += 2 - k;
    }
    y
}

#[test]
fn loops_have_bounds_that_are_carried() {
    let expected = generic!(V => V, |x| {
        let (mut y, mut bound) = (x.clone(), 0usize);
        for k in 0..3 {
            for j in 0..bound {
                let value = x.at(k);
                y = y.with_updated(j, |old| old * value);
            }
            for j in bound..bound.min(2) + 1 {
                let value = x.at(j).sin() * y.at(k);
                y = y.with_added(j, value);
            }
            for j in (bound.max(5) - 5..bound).rev() {
                let value = y.at(j) * y.at(j);
                y = y.with_added(k, -value);
            }
            bound += 2 - k;
        }
        y
    });
    same(&carried_bounds {}, &expected, &v([0.3, -0.2, 0.9, 0.4]));
}

/// Bounded by a literal when the function is staged.
#[differentiable]
fn bounded(x: Vector<f64>, k: Scalar<i64>) -> Scalar<f64> {
    let mut sum = scalar(0.0);
    for i in rolled(0..k.min(4)) {
        sum += x[i] * x[i];
    }
    sum
}

#[test]
fn loops_are_bounded_by_literals() {
    let (x, k) = (v([0.5, -2.0, 1.5, 0.25, 2.0]), scalar(3i64));
    let staged = stage(|(x, k)| bounded(x, k), (&x, &k)).unwrap();
    assert!(staged.to_string().contains("scan[4]"), "{staged}");
    assert_eq!(staged.call((&x, &k)).unwrap(), bounded(&x, &k));
    assert_eq!(bounded(&x, &k).item(), 6.5);
}

/// A remainder is less than its divisor.
#[differentiable]
fn by_remainders(x: Vector<f64>) -> Scalar<f64> {
    let mut sum = 0.0 * x[0];
    for i in rolled(0..x.len()) {
        for j in rolled(0..i % 3 + 1) {
            sum += x[i] * x[j];
        }
    }
    sum
}

#[test]
fn loops_are_bounded_by_remainders() {
    let x = v([0.5, -2.0, 1.5, 0.25, 2.0]);
    let staged = stage(by_remainders, &x).unwrap();
    let text = staged.to_string();
    assert!(text.contains("scan[3]") && !text.contains("while"), "{staged}");
    // 0.5 · 0.5 − 2 (0.5 − 2) + 1.5 (0.5 − 2 + 1.5) + 0.25 · 0.5 + 2 (0.5 − 2)
    assert_eq!(staged.call(&x).unwrap().item(), 0.375);
    assert_eq!(by_remainders(&x).item(), 0.375);
}

/// The array that is added is written after it was read, and before the next read.
#[differentiable]
fn added_and_written(mut m: Matrix<f64>) -> Matrix<f64> {
    let mut v = zeros(m.len());
    for i in rolled(0..m.len()) {
        v[i] += 1.0;
        m[(i, ..)] += v;
        v[i] = 7.0;
    }
    m + v[0]
}

#[test]
fn what_is_added_is_read_before_it_is_written() {
    let expected = generic!(M => M, |m| {
        let (mut m, mut v) = (m.clone(), zeros(3));
        for i in 0..3 {
            v = v.with_added(i, 1.0);
            m = m.with_added((i, ..), &v);
            v = v.with(i, 7.0);
        }
        m + v.at(0)
    });
    same(&added_and_written {}, &expected, &Matrix::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]));
}

fn next(count: &mut usize) -> f64 {
    *count += 1;
    *count as f64 * 10.0
}

/// Plain values: the assigned value is computed before the place, and closures change their captures.
#[differentiable]
fn plain_places(x: Vector<f64>) -> Vector<f64> {
    let mut i = 0usize;
    let mut t = vec![1.0; 3];
    t[i] = next(&mut i);
    t[i] *= next(&mut i);
    t[i] += {
        i -= 1;
        2.0
    };
    let mut counts = vec![0usize; 2];
    (0..5usize).for_each(|k| {
        if k > 1 {
            counts[0] += k;
        }
    });
    let mut bits = iota(3);
    bits[1] <<= 4;
    bits[2] >>= 1;
    x * t[0] + t[1] * 100.0 + t[2] * 1e4 + counts[0] as f64 + bits.cast::<f64>()
}

#[test]
fn plain_places_are_found_after_the_value() {
    // In Rust `t` becomes [1, 12, 20].
    let (rest, bits) = (12.0 * 100.0 + 20.0 * 1e4 + 9.0, [0.0, 16.0, 1.0]);
    let expected: Vec<f64> = bits.iter().zip([1.0, 2.0, 3.0]).map(|(bit, x)| x + rest + bit).collect();
    assert_eq!(plain_places(&v([1.0, 2.0, 3.0])).to_vec(), expected);
}
