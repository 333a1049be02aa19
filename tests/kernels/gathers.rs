//! Reads and writes at computed positions in compiled programs: the arrays that are stored for them, and their values.

use super::numbers;
use deltaray::engine::cpu::Cpu;
use deltaray::prelude::*;

fn k_means<A: Algebra>((centres, points): &(Matrix<A, f64>, Matrix<A, f64>)) -> Scalar<A, f64> {
    (points.insert_axis(1) - centres).powi(2).sum_axis(2).min_axis(1).sum()
}

fn k_means_derivatives<A: Algebra>(
    (centres, points): &(Matrix<A, f64>, Matrix<A, f64>),
) -> (Matrix<A, f64>, Matrix<A, f64>) {
    let along = ones(&centres.shape()[..]).into_rank();
    jvp(|(centres, points)| grad(k_means, (centres, points)), (centres, points), &along)
}

/// The differences of all points and centres are larger than all else, and needed for the nearest centres alone.
#[test]
fn k_means_stores_no_differences() {
    let (n, k, d) = (300, 6, 11);
    let points = Matrix::<Concrete, f64>::from_elements((n, d), numbers(n * d));
    let centres =
        Matrix::<Concrete, f64>::from_elements((k, d), numbers(n * d).into_iter().rev().take(k * d).collect());
    let arguments = (&centres, &points);
    let program = stage(k_means_derivatives, arguments).unwrap().compile(Cpu::default()).unwrap();
    assert!(!program.to_string().contains("f64[300, 6, 11]"), "{program}");
    assert!(program.program().memory() < 8 * n * k * d / 2, "{}", program.program().report());
    let (gradient, diagonal) = program.call(arguments).unwrap();
    let expected = grad(k_means, arguments);
    let (mut nearest, distance) = (vec![0.0; k], (points.insert_axis(1) - &centres).powi(2).sum_axis(2));
    distance.argmin_axis(1).to_vec().iter().for_each(|&centre| nearest[centre as usize] += 2.0);
    for (centre, &count) in nearest.iter().enumerate() {
        for axis in 0..d {
            let at = [centre, axis];
            let (found, expected) = (gradient.element(&at).unwrap(), expected.element(&at).unwrap());
            assert!((found - expected).abs() < 1e-11, "{found} instead of {expected}");
            assert_eq!(diagonal.element(&at), Some(count));
        }
    }
}

fn same(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len());
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        let close = (found - expected).abs() <= 1e-12 * (1.0 + expected.abs());
        let same = found == expected || found.is_nan() && expected.is_nan() || close;
        assert!(same, "{what}: {found} at {at} instead of {expected}");
    }
}

/// Compares a compiled function with the one on plain arrays, and states whether it has a buffer of this type.
macro_rules! stores {
    ($function:expr, $arguments:expr, $ty:expr, $what:expr) => {{
        let program = stage($function, $arguments).unwrap().compile(Cpu::default()).unwrap();
        let (found, expected) = (program.call($arguments).unwrap(), $function($arguments));
        same(&found.0.to_vec(), &expected.0.to_vec(), $what);
        same(&found.1.to_vec(), &expected.1.to_vec(), $what);
        program.to_string().contains(concat!($ty, " \"local\""))
    }};
}

type Given<A> = (Vector<A, f64>, Vector<A, f64>, Vector<A, i64>, Vector<A, i64>);

/// A table of all pairs, its sums, and some of its elements.
macro_rules! table {
    ($name:ident, |$a:ident, $b:ident| $body:expr) => {
        fn $name<A: Algebra>((x, y, i, j): &Given<A>) -> (Vector<A, f64>, Vector<A, f64>) {
            let ($a, $b) = (x.insert_axis(1), y.insert_axis(0));
            let all: Matrix<A, f64> = $body;
            (all.sum_axis(1), all.gather((i, j)))
        }
    };
}

table!(differences, |a, b| a - b);
table!(quotients, |a, b| a / b);
table!(exponentials, |a, b| (a * b).exp());
table!(choices, |a, b| {
    let difference = a - b;
    select(difference.lt(0.0), &(&difference + 1.0), &(&difference * f64::INFINITY))
});
table!(conversions, |a, b| (a - b).cast::<i32>().cast::<f64>() + 3.0);

/// Reads outside are 0 whatever the value were there, and NaN and infinities are read as they are.
#[test]
fn gathers_move_into_values_that_are_cheap() {
    let mut x = numbers(40);
    let mut y = numbers(50);
    (x[3], x[4], x[5], x[6]) = (f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0);
    (y[7], y[8], y[9], y[10]) = (f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0);
    let i: Vec<i64> = vec![0, 3, 4, 5, 6, 39, 4, 5, 6, 7, 40, -1, 3, 3, 1 << 40, i64::MIN, 12];
    let j: Vec<i64> = vec![0, 1, 2, 3, 4, 49, 8, 8, 10, 7, 3, 10, 50, -1, 1, 2, i64::MAX];
    let given: Given<Concrete> = (x.into(), y.into(), i.into(), j.into());
    assert!(!stores!(differences, &given, "f64[40, 50]", "differences"));
    assert!(!stores!(quotients, &given, "f64[40, 50]", "quotients"));
    assert!(!stores!(exponentials, &given, "f64[40, 50]", "exponentials"));
    assert!(!stores!(choices, &given, "f64[40, 50]", "choices"));
    assert!(!stores!(conversions, &given, "f64[40, 50]", "conversions"));
}

/// Work is never more than proportional: a value that is read more often than it has elements is stored.
#[test]
fn gathers_do_not_move_where_they_read_much() {
    let (x, y) = (numbers(4), numbers(5));
    let (i, j): (Vec<i64>, Vec<i64>) = ((0..5000).map(|at| at % 7 - 1).collect(), (0..5000).map(|at| at % 6).collect());
    let given: Given<Concrete> = (x.into(), y.into(), i.into(), j.into());
    assert!(stores!(exponentials, &given, "f64[4, 5]", "exponentials"));
}

/// Rows of a table of all pairs at three positions, one of them the row's own, and a chain of gathers.
#[test]
fn rows_at_several_positions() {
    fn rows<A: Algebra>((x, y, i, j): &Given<A>) -> (Vector<A, f64>, Vector<A, f64>) {
        let (a, b) = (x.insert_axis(1).insert_axis(2), y.insert_axis(0).insert_axis(2));
        let all: Tensor3<A, f64> = (a * b).sin() - iota(30).cast::<f64>();
        let rows = all.gather((i, j));
        (all.sum_axis(2).sum_axis(1), (rows.gather(j) + 1.0).sum_axis(1))
    }
    let i: Vec<i64> = vec![0, 3, 19, 5, -6, 7, 2, 20];
    let j: Vec<i64> = vec![0, 1, 2, 24, 4, 25, -1, 7];
    let given: Given<Concrete> = (numbers(20).into(), numbers(25).into(), i.into(), j.into());
    assert!(!stores!(rows, &given, "f64[20, 25, 30]", "rows"));
}

/// Sums of rows and of single numbers at computed positions, some of them outside.
fn totals<A: Algebra>(
    (rows, numbers, at): &(Matrix<A, f64>, Vector<A, f64>, Vector<A, i64>),
) -> (Matrix<A, f64>, Vector<A, f64>) {
    ((rows * 2.0).scatter(at, 9), numbers.sin().scatter(at, 64))
}

#[test]
fn sums_at_computed_positions_are_the_same_bits_on_any_number_of_threads() {
    let n = 60_001;
    let rows = Matrix::<Concrete, f64>::from_elements((n, 7), numbers(7 * n));
    let at: Vector<Concrete, i64> = (0..n as i64).map(|at| at * at % 70 - 3).collect::<Vec<_>>().into();
    let numbers: Vector<Concrete, f64> = numbers(n).into();
    let arguments = (&rows, &numbers, &at);
    let function = stage(totals, arguments).unwrap();
    let on = |threads| {
        let (rows, numbers) = function.compile(Cpu::default().threads(threads)).unwrap().call(arguments).unwrap();
        (rows.to_vec(), numbers.to_vec())
    };
    let one = on(1);
    let bits = |(rows, numbers): &(Vec<f64>, Vec<f64>)| (super::bits(rows), super::bits(numbers));
    assert!((2..=5).all(|threads| bits(&on(threads)) == bits(&one)));
    let expected = totals(&(rows.clone(), numbers.clone(), at.clone()));
    for (found, expected) in [(one.0, expected.0.to_vec()), (one.1, expected.1.to_vec())] {
        assert_eq!(found.len(), expected.len());
        assert!(found.iter().zip(&expected).all(|(found, expected)| (found - expected).abs() < 1e-9));
    }
}

/// Rows that are read and added at once, some of them outside, beside an axis that neither depends on.
#[test]
fn rows_are_read_where_they_are() {
    type Tables<A> = (Tensor3<A, f64>, Vector<A, i64>);
    fn moved<A: Algebra>((tables, at): &Tables<A>) -> (Vector<A, f64>, Vector<A, f64>) {
        let (n, read) = (at.len(), tables.gather(at));
        let factors = (iota(n).cast::<f64>() + 1.0).insert_axis(1).insert_axis(2);
        let sums = (&read * factors).scatter(n - 1 - at, 6);
        (read.reshape(read.size()), sums.reshape(sums.size()))
    }
    for (height, width) in [(1, 5), (3, 40), (2, 1500)] {
        let tables = Tensor3::<Concrete, f64>::from_elements((6, height, width), numbers(6 * height * width));
        let given: Tables<Concrete> = (tables, vec![2i64, 6, 0, -1, 2, 5, 1 << 40].into());
        stores!(moved, &given, "", "rows");
    }
}

/// Rows that are longer than a tile, and rows that are read backwards or far apart.
#[test]
fn rows_of_any_length_and_order_are_added() {
    type Rows<A> = (Matrix<A, f64>, Vector<A, i64>);
    fn turned<A: Algebra>((rows, at): &Rows<A>) -> (Vector<A, f64>, Vector<A, f64>) {
        let (once, reversed) = (rows.scatter(at, 3), rows.reverse(1).scatter(at, 3));
        (once.sum_axis(0) + reversed.sum_axis(0), rows.transpose().scatter(iota(rows.shape()[1]) % 2, 2).sum_axis(0))
    }
    for width in [1, 2, 33, 64, 1025, 3000] {
        let rows = Matrix::<Concrete, f64>::from_elements((5, width), numbers(5 * width));
        let given: Rows<Concrete> = (rows, vec![2i64, 3, 0, -1, 2].into());
        stores!(turned, &given, "", "rows");
    }
}
