//! Writes by `with` and its relatives, and by assignments: positions outside, positions cast from NaN, and arrays that are read in
//! the statement that writes them.

use deltaray::prelude::*;

const MIN: i64 = i64::MIN;
const MAX: i64 = i64::MAX;
const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

#[test]
fn elements_and_lines_out_of_bounds_are_not_written() {
    rows! {
        |x, i| fold(x.clone(), i, |y: Vector<A, E>, at: Scalar<A, i64>| y.with(&at, x.at(0)));
            [2.0, 3.0, 5.0], [3, -1, MIN, MAX, 1] => [2.0, 2.0, 5.0], [2.0, 0.0, 1.0];
        |x, i| fold(x.clone(), i, |y: Vector<A, E>, at: Scalar<A, i64>| y.with_added(&at, x.at(0) * 2.0));
            [2.0, 3.0, 5.0], [3, -1, MIN, MAX, 1] => [2.0, 7.0, 5.0], [3.0, 1.0, 1.0];
        |x, i| fold(x.clone(), i, |y: Vector<A, E>, at: Scalar<A, i64>| y.with_updated(&at, |old| old * x.at(0) + 1.0));
            [2.0, 3.0, 5.0], [3, -1, MIN, MAX, 1] => [2.0, 7.0, 5.0], [4.0, 2.0, 1.0];
        // Not in a loop, at positions that are known when a program is staged too.
        |x, i| x.clone().with(-1, x.at(0)).with_added(2, x.at(1)).with_updated(i.at(0), |old| old + x.at(0));
            [2.0, 3.0], [-1] => [2.0, 3.0], [1.0, 1.0];
        // Rows and columns, and a pair with one position outside.
        |x, i| {
            let m = x.reshape((2, 2));
            fold(m.clone(), i, |y: Matrix<A, E>, at: Scalar<A, i64>| y.with((&at, ..), m.at(0))).flatten()
        }; [2.0, 3.0, 5.0, 7.0], [2, -1, 1] => [2.0, 3.0, 2.0, 3.0], [2.0, 2.0, 0.0, 0.0];
        |x, i| {
            let m = x.reshape((2, 2));
            fold(m.clone(), i, |y: Matrix<A, E>, at: Scalar<A, i64>| y.with_added((.., &at), m.index_axis(1, 1))).flatten()
        }; [2.0, 3.0, 5.0, 7.0], [2, MIN, 0] => [5.0, 3.0, 12.0, 7.0], [1.0, 2.0, 1.0, 2.0];
        |x, i| {
            let m = x.reshape((2, 2));
            fold(m.clone(), i, |y: Matrix<A, E>, at: Scalar<A, i64>| {
                y.with_updated((1.., &at), |old| old * x.at(0)).with((0, &at), x.at(3)).with((&at, 2), x.at(0))
            }).flatten()
        }; [2.0, 3.0, 5.0, 7.0], [2, -1, 1] => [2.0, 7.0, 5.0, 14.0], [8.0, 0.0, 1.0, 3.0];
    }
}

/// Assignments of every kind at computed positions.
#[differentiable]
fn assigned<E: Float>(mut x: Vector<E>, at: Vector<i64>) -> Vector<E> {
    for k in rolled(0..at.len()) {
        x[at[k]] = x[0] * 2.0;
        x[at[k]] += x[2];
        x[at[k]] *= x[0];
    }
    x[at[0]] -= x[1];
    x
}

#[test]
fn assignments_out_of_bounds_are_ignored() {
    rows! {
        |x, i| assigned(x, i); [2.0, 3.0, 5.0], [7, -1, 1] => [2.0, 18.0, 5.0], [14.0, 0.0, 3.0];
        |x, i| assigned(x, i); [2.0, 3.0, 5.0], [MIN, MAX] => [2.0, 3.0, 5.0], [1.0, 1.0, 1.0];
        |x, i| assigned(x, i); [2.0, 3.0], [2, -2] => [2.0, 3.0], [1.0, 1.0];
    }
}

#[test]
fn positions_cast_from_nan_are_0() {
    // NaN is position 0 and 1.5 is 1; the infinities are outside.
    let x = [2.0, 3.0, 5.0, NAN, INF, -INF, 1.5];
    rows! {
        |x, i| x.gather(&x.slice(0, 3..).cast::<i64>());
            x, [] => [2.0, 0.0, 0.0, 3.0], [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        |x, i| build(4, |k| x.at(x.at(k + 3).cast::<i64>()) * 2.0);
            x, [] => [4.0, 0.0, 0.0, 6.0], [2.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        |x, i| x.slice(0, ..3).with(x.at(3).cast::<i64>(), x.at(1)).with(x.at(4).cast::<i64>(), x.at(2));
            x, [] => [3.0, 3.0, 5.0], [0.0, 2.0, 1.0, 0.0, 0.0, 0.0, 0.0];
        |x, i| fold(x.slice(0, ..3), &x.slice(0, 3..), |y: Vector<A, E>, at: Scalar<A, E>| {
                let value = y.at(&at.cast::<i64>()) * x.at(1);
                y.with_added(at.cast::<i64>(), value)
            });
            x, [] => [8.0, 12.0, 5.0], [4.0, 9.0, 1.0, 0.0, 0.0, 0.0, 0.0];
        |x, i| fold(x.slice(0, ..3), &x.slice(0, 3..), |y: Vector<A, E>, at: Scalar<A, E>| {
                y.with_updated(at.cast::<i64>(), |old| &old * &old)
            });
            x, [] => [4.0, 9.0, 5.0], [4.0, 6.0, 1.0, 0.0, 0.0, 0.0, 0.0];
        |x, i| ones::<A, E, _>(3).scatter_set(&x.slice(0, 3..).cast::<i64>(), &x.gather(iota(4) % 3));
            x, [] => [2.0, 2.0, 1.0], [2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        |x, i| ones::<A, E, _>(3).scatter_multiply(&x.slice(0, 3..).cast::<i64>(), &x.gather(iota(4) % 3));
            x, [] => [2.0, 2.0, 1.0], [2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        |x, i| zeros::<A, E, _>(3).scatter_max(&x.slice(0, 3..).cast::<i64>(), &x.gather(iota(4) % 3));
            x, [] => [2.0, 2.0, 0.0], [2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        |x, i| x.gather(iota(4) % 3).scatter(&x.slice(0, 3..).cast::<i64>(), 3);
            x, [] => [2.0, 2.0, 0.0], [2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    }
}

/// An array that is shifted by a view of itself, in a loop and after it.
#[differentiable]
fn shifted<E: Float>(mut x: Vector<E>) -> Vector<E> {
    let n = x.len();
    for k in rolled(0..2) {
        x[1..] = x[..n - 1] * 2.0;
        x[k] += 1.0;
    }
    x[..n - 1] += x[1..];
    x
}

#[test]
fn reads_in_the_statement_that_writes_see_the_array_before() {
    rows! {
        |x, i| x.clone().with(1.., x.slice(0, ..2)); [2.0, 3.0, 5.0], [] => [2.0, 2.0, 3.0], [2.0, 1.0, 0.0];
        |x, i| {
            let y = x * 2.0;
            y.clone().with(..2, y.slice(0, 1..))
        }; [2.0, 3.0, 5.0], [] => [6.0, 10.0, 10.0], [0.0, 2.0, 4.0];
        |x, i| x.clone().with(.., x.reverse(0)); [2.0, 3.0, 5.0], [] => [5.0, 3.0, 2.0], [1.0, 1.0, 1.0];
        |x, i| x.clone().with_added(1.., x.slice(0, ..2)); [2.0, 3.0, 5.0], [] => [2.0, 5.0, 8.0], [2.0, 2.0, 1.0];
        |x, i| x.clone().with_updated(.., |old| &old * old.reverse(0));
            [2.0, 3.0, 5.0], [] => [10.0, 9.0, 10.0], [10.0, 6.0, 4.0];
        |x, i| x.scatter_set(iota(3), &x.reverse(0)); [2.0, 3.0, 5.0], [] => [5.0, 3.0, 2.0], [1.0, 1.0, 1.0];
        // A row and a column that cross, and a matrix that is transposed in place, in loops.
        |x, i| fold(x.reshape((2, 2)), i, |y: Matrix<A, E>, at: Scalar<A, i64>| {
                let row = y.at(0);
                y.with((.., &at), row)
            }).flatten();
            [2.0, 3.0, 5.0, 7.0], [1] => [2.0, 2.0, 5.0, 3.0], [2.0, 1.0, 1.0, 0.0];
        |x, i| iterate(x.reshape((2, 2)), 3, |y: Matrix<A, E>| {
                let turned = y.transpose();
                y.with((.., ..), turned)
            }).flatten();
            [2.0, 3.0, 5.0, 7.0], [] => [2.0, 5.0, 3.0, 7.0], [1.0, 1.0, 1.0, 1.0];
        |x, i| iterate(x.clone(), 2, |y: Vector<A, E>| {
                let (first, rest) = (y.slice(0, ..2), y.slice(0, 1..));
                y.with(1.., first).with_added(..2, rest)
            });
            [2.0, 3.0, 5.0], [] => [12.0, 8.0, 7.0], [4.0, 3.0, 2.0];
        |x, i| shifted(x); [2.0, 3.0, 5.0], [] => [10.0, 15.0, 8.0], [13.0, 0.0, 0.0];
    }
}
