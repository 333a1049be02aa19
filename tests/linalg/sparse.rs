//! Sparse positive definite matrices: values and derivatives beside those of dense ones, on all engines and in exports, and how much a
//! factor fills.

use crate::C;
use crate::engines::{Row, on_device};
use crate::exported;
use crate::random::arrays::numbers;
use crate::random::chance::Random;
use deltaray::algebra::Algebra;
use deltaray::export;
use deltaray::linalg::{inverse, log_determinant, solve_spd};
use deltaray::prelude::*;
use deltaray::sparse::{Pattern, SparseCholesky};
use deltaray::term::Op;

type V<A> = Vector<A, f64>;

/// The symmetric pattern with these entries and their transposes, and a whole diagonal.
fn pattern(n: usize, entries: impl IntoIterator<Item = (usize, usize)>) -> Pattern {
    let mut rows: Vec<Vec<usize>> = (0..n).map(|row| vec![row]).collect();
    for (row, column) in entries {
        rows[row].push(column);
        rows[column].push(row);
    }
    Pattern::from_rows(n, rows).unwrap()
}

fn grid(width: usize, height: usize) -> Pattern {
    let at = move |x: usize, y: usize| x * height + y;
    let right = (1..width).flat_map(move |x| (0..height).map(move |y| (at(x, y), at(x - 1, y))));
    let below = (0..width).flat_map(move |x| (1..height).map(move |y| (at(x, y), at(x, y - 1))));
    pattern(width * height, right.chain(below))
}

fn tridiagonal(n: usize) -> Pattern {
    pattern(n, (1..n).map(|row| (row, row - 1)))
}

fn by_chance(random: &mut Random, n: usize, entries: usize) -> Pattern {
    let entries: Vec<_> = (0..entries).map(|_| (random.below(n), random.below(n))).collect();
    pattern(n, entries)
}

/// Patterns of all kinds.
fn patterns() -> Vec<(&'static str, Pattern)> {
    let mut random = Random::new(31);
    vec![
        ("nothing", pattern(0, [])),
        ("one number", pattern(1, [])),
        ("a diagonal", pattern(4, [])),
        ("an arrow", pattern(5, (1..5).map(|row| (row, 0)))),
        ("a tridiagonal", tridiagonal(6)),
        ("a grid", grid(3, 4)),
        ("parts that are not connected", pattern(7, [(0, 5), (5, 3), (1, 6), (6, 4), (4, 1)])),
        ("a full matrix", pattern(4, (0..4).flat_map(|row| (0..row).map(move |column| (row, column))))),
        ("few entries by chance", by_chance(&mut random, 8, 6)),
        ("many entries by chance", by_chance(&mut random, 9, 20)),
    ]
}

/// The row of each entry.
fn rows(pattern: &Pattern) -> Vec<usize> {
    (0..pattern.rows()).flat_map(|row| pattern.row(row).iter().map(move |_| row)).collect()
}

/// Values of a matrix whose symmetric part is positive definite; it is not symmetric itself.
fn values(pattern: &Pattern, random: &mut Random) -> V<C> {
    let elements = rows(pattern).into_iter().zip(pattern.column_indices()).map(|(row, &column)| {
        let around = if row == column { 1.0 + pattern.row(row).len() as f64 } else { 0.0 };
        around + random.between(-1.0, 1.0)
    });
    Vector::from(elements.collect::<Vec<f64>>())
}

/// Solutions, the logarithm of the determinant, and the inverse at the entries, of values and two right sides.
#[derive(Clone)]
struct Sparse(SparseCholesky);

/// The same by dense matrices.
#[derive(Clone)]
struct Dense(Pattern);

type In = (V<C>, (V<C>, Matrix<C, f64>));
type Out = (V<C>, (Matrix<C, f64>, (Scalar<C, f64>, V<C>)));

impl ArrayFn for Sparse {
    type In = In;
    type Out = Out;
    fn call<A: Algebra>(&self, (values, (b, more)): &<In as Family>::At<A>) -> <Out as Family>::At<A> {
        let factor = self.0.factor(values);
        (factor.solve(b), (factor.solve(more), (factor.log_determinant(), factor.inverse_entries())))
    }
}

impl ArrayFn for Dense {
    type In = In;
    type Out = Out;
    fn call<A: Algebra>(&self, (values, (b, more)): &<In as Family>::At<A>) -> <Out as Family>::At<A> {
        let n = self.0.rows();
        let index = |positions: Vec<usize>| -> Vector<A, i64> {
            constant(&Vector::from(positions.into_iter().map(|position| position as i64).collect::<Vec<i64>>()))
        };
        let (row, column) = (index(rows(&self.0)), index(self.0.column_indices().to_vec()));
        let a: Matrix<A, f64> = values.scatter((&row, &column), (n, n));
        let symmetric = (&a + a.t()) * 0.5;
        let entries = inverse(&symmetric).gather((&row, &column));
        (solve_spd(&a, b), (solve_spd(&a, more), (log_determinant(&a), entries)))
    }
}

/// A number that every result has a part in, and no derivative of which is 0.
fn summary<A: Algebra>(f: &impl ArrayFn<In = In, Out = Out>, at: &<In as Family>::At<A>) -> Scalar<A, f64> {
    let (x, (y, (logarithm, entries))) = f.call::<A>(at);
    let weights = (iota(entries.len()).cast::<f64>() * 0.7).cos();
    (&x * &x).sum() + y.sin().sum() + logarithm + (weights * entries.sin()).sum()
}

fn point(pattern: &Pattern, random: &mut Random) -> In {
    let n = pattern.rows();
    let mut numbers = |count: usize| (0..count).map(|_| random.between(-1.0, 1.0)).collect::<Vec<f64>>();
    let (b, more) = (Vector::from(numbers(n)), Matrix::from_elements((n, 2), numbers(2 * n)));
    (values(pattern, random), (b, more))
}

fn close(name: &str, found: &impl Tree<C>, expected: &impl Tree<C>) {
    for (at, (found, expected)) in found.leaves().iter().zip(expected.leaves()).enumerate() {
        let (found, expected) = (found.to_vec::<f64>().unwrap(), expected.to_vec::<f64>().unwrap());
        assert_eq!(found.len(), expected.len(), "{name}");
        let around = expected.iter().fold(1.0_f64, |most, x| most.max(x.abs()));
        for (element, (x, y)) in found.iter().zip(&expected).enumerate() {
            assert!((x - y).abs() <= 1e-11 * around, "{name}: array {at}, element {element} is {x} instead of {y}");
        }
    }
}

#[test]
fn values_and_derivatives_are_those_of_dense_matrices() {
    let mut random = Random::new(1);
    for (name, pattern) in patterns() {
        let (sparse, dense) = (Sparse(SparseCholesky::new(&pattern).unwrap()), Dense(pattern.clone()));
        let (at, along) = (point(&pattern, &mut random), point(&pattern, &mut random));
        close(name, &sparse.call::<C>(&at), &dense.call::<C>(&at));
        close(name, &grad(|at| summary(&sparse, at), &at), &grad(|at| summary(&dense, at), &at));
        // Both modes, and each over the other.
        let forward = |found: (Scalar<C, f64>, Scalar<C, f64>)| found;
        let expected = forward(jvp(|at| summary(&dense, at), &at, &along));
        close(name, &forward(jvp(|at| summary(&sparse, at), &at, &along)), &expected);
        close(name, &hvp(|at| summary(&sparse, at), &at, &along), &hvp(|at| summary(&dense, at), &at, &along));
    }
}

/// Derivatives of a function of one number.
fn first<A: Algebra>(f: &Line, t: &Scalar<A, f64>) -> Scalar<A, f64> {
    grad(|t| f.logarithm(t), t)
}

fn second<A: Algebra>(f: &Line, t: &Scalar<A, f64>) -> Scalar<A, f64> {
    jvp(|t| first(f, t), t, &scalar(1.0)).1
}

fn third<A: Algebra>(f: &Line, t: &Scalar<A, f64>) -> Scalar<A, f64> {
    jvp(|t| second(f, t), t, &scalar(1.0)).1
}

/// The matrices A + t B.
struct Line {
    cholesky: SparseCholesky,
    a: V<C>,
    b: V<C>,
}

impl Line {
    fn logarithm<A: Algebra>(&self, t: &Scalar<A, f64>) -> Scalar<A, f64> {
        let (a, b): (V<A>, V<A>) = (constant(&self.a), constant(&self.b));
        self.cholesky.log_determinant(&(a + t * b))
    }
}

#[test]
fn higher_derivatives_of_the_logarithm_are_traces_of_powers() {
    let mut random = Random::new(2);
    let pattern = grid(2, 3);
    let (a, b) = (values(&pattern, &mut random), values(&pattern, &mut random));
    let symmetric = |values: &V<C>| {
        let dense = Csr::new(pattern.clone().into(), values.clone()).unwrap().to_dense();
        (&dense + dense.t()) * 0.5
    };
    let ratio = inverse(&symmetric(&a)).dot(&symmetric(&b));
    let line = Line { cholesky: SparseCholesky::new(&pattern).unwrap(), a, b };
    let at = scalar(0.0);
    let found = [first(&line, &at), second(&line, &at), third(&line, &at), grad(|t| third(&line, t), &at)];
    let (mut power, mut factor) = (ratio.clone(), 1.0);
    for (order, found) in (1..).zip(found) {
        let expected = factor * deltaray::linalg::trace(&power).item();
        let found = found.item();
        assert!((found - expected).abs() <= 1e-11 * (1.0 + expected.abs()), "order {order}: {found}, not {expected}");
        (power, factor) = (power.dot(&ratio), -factor * order as f64);
    }
}

/// Rows of all operations, with their gradients, on small matrices, of which some are not positive definite.
fn engine_rows() -> Vec<Row> {
    let mut random = Random::new(3);
    let of = |pattern: &Pattern| Sparse(SparseCholesky::new(pattern).unwrap());
    let mut rows = Vec::new();
    for (name, gradient, pattern) in [
        ("sparse: a grid", "sparse, gradient: a grid", grid(2, 3)),
        ("sparse: an arrow", "sparse, gradient: an arrow", pattern(4, (1..4).map(|row| (row, 0)))),
        ("sparse: nothing", "sparse, gradient: nothing", pattern(0, [])),
    ] {
        let (sparse, at) = (of(&pattern), point(&pattern, &mut random));
        rows.push(Row::new(name, |at| sparse.call(at), at.clone()));
        rows.push(Row::new(gradient, |at| grad(|at| summary(&sparse, at), at), at));
    }
    let (pattern, side) = (tridiagonal(3), Vector::from(vec![1.0, -2.0, 3.0]));
    let (sparse, good) = (of(&pattern), values(&pattern, &mut random));
    let single = (good.cast::<f32>(), side.cast::<f32>());
    rows.push(Row::new("sparse: single precision", |(values, b)| sparse.0.solve(values, b), single));
    let several: Matrix<C, f64> = stack(&[good.clone(), -&good, good.clone() * f64::NAN, good]);
    let solutions = |(values, b): &(Matrix<_, f64>, V<_>)| {
        build(values.len(), |at| {
            let factor = sparse.0.factor(&values.at(&at));
            concatenate(0, &[factor.solve(b), factor.log_determinant().insert_axis(0), factor.inverse_entries()])
        })
    };
    rows.push(Row::new("sparse: several, of which some are bad", solutions, (several, side)));
    rows
}

#[test]
fn engines_and_exports_agree() {
    let rows = engine_rows();
    let cases: Vec<_> = rows.iter().map(Row::case).collect();
    for (row, case) in rows.iter().zip(&cases) {
        for (engine, found) in row.results() {
            let problem = exported::found_difference(case, &found);
            assert!(problem.is_none(), "{}, {engine}: {problem:?}", row.name);
        }
    }
    let several = numbers(&cases.last().unwrap().expected[0]);
    let are_nan: Vec<bool> = several.chunks(several.len() / 4).map(|one| one.iter().all(|x| x.is_nan())).collect();
    assert_eq!(are_nan, [false, true, true, false]);
    assert_eq!(several[..several.len() / 4], several[several.len() / 4 * 3..]);
    if let Some(results) = on_device(&rows.iter().collect::<Vec<&Row>>()) {
        for (case, found) in cases.iter().zip(&results) {
            let problem = exported::found_difference(case, found);
            assert!(problem.is_none(), "{}, on the device: {problem:?}", case.name);
        }
    }
    let numbered: Vec<_> = cases.iter().enumerate().collect();
    exported::c::compute_what_the_interpreter_does("sparse", &numbered);
    exported::rust::compute_what_the_interpreter_does("sparse", &numbered);
    #[cfg(feature = "json")]
    exported::json::come_back(cases.iter());
    for case in &cases {
        let text = export::text(&case.program);
        let read = export::parse(&text).unwrap_or_else(|error| panic!("{}: {error}\n{text}", case.name));
        assert_eq!(export::text(&read), text, "{}", case.name);
        let problem = exported::found_difference(case, &read.interpret(&case.inputs).unwrap());
        assert!(problem.is_none(), "{}, read from text: {problem:?}", case.name);
    }
}

#[test]
fn factors_fill_little() {
    let filled = |pattern: &Pattern| SparseCholesky::new(pattern).unwrap().factor_nonzeros();
    assert_eq!(filled(&tridiagonal(1000)), 1999);
    assert_eq!(SparseCholesky::new(&tridiagonal(1000)).unwrap().work(), 4 * 999 + 1);
    assert_eq!(filled(&pattern(1000, (1..1000).map(|row| (row, 0)))), 1999);
    // A band of the grid's width would have 400 · 20 entries.
    assert_eq!(filled(&grid(20, 20)), 3683);
    let cholesky = SparseCholesky::new(&tridiagonal(5)).unwrap();
    let mut order: Vec<usize> = cholesky.order().collect();
    order.sort_unstable();
    assert_eq!(order, [0, 1, 2, 3, 4]);
}

#[test]
fn what_is_not_positive_definite_is_nan_or_an_error_that_names_a_row() {
    let pattern = tridiagonal(4);
    let cholesky = SparseCholesky::new(&pattern).unwrap();
    let (good, b) = (values(&pattern, &mut Random::new(4)), Vector::from(vec![1.0; 4]));
    // The element on the diagonal of row 2.
    let (indefinite, unbounded) = ("is not positive definite, as row ", "has elements that are not finite");
    for (bad, reason) in [(-1.0, indefinite), (0.0, indefinite), (f64::NAN, unbounded), (f64::INFINITY, unbounded)] {
        let bad = good.clone().with(6, bad);
        let factor = cholesky.factor(&bad);
        let all = [factor.solve(&b), factor.inverse_entries(), factor.log_determinant().insert_axis(0)];
        assert!(all.iter().all(|result| result.to_vec().iter().all(|x| x.is_nan())), "{all:?}");
        let matrix = Csr::new(pattern.clone().into(), bad).unwrap();
        let problem = matrix.solve_spd(&b).unwrap_err().to_string();
        assert!(problem.starts_with(&format!("cholesky: the matrix {reason}")), "{problem}");
        assert!(problem.contains("tests/linalg/sparse.rs"), "{problem}");
    }
    let diagonal = Csr::from_triplets((3, 3), [(0, 0, 1.0), (1, 1, -1.0), (2, 2, 1.0)]).unwrap();
    let problem = diagonal.cholesky().err().unwrap().to_string();
    assert!(problem.contains("as row 1 shows"), "{problem}");
    let matrix = Csr::new(pattern.into(), good.clone()).unwrap();
    close("eager", &matrix.solve_spd(&b).unwrap(), &cholesky.solve(&good, &b));
    let problem = matrix.solve_spd(&Vector::from(vec![1.0; 3])).unwrap_err().to_string();
    assert!(problem.starts_with("solve_spd: a matrix of 4 by 4 does not fit a right side of 3 rows"), "{problem}");
    assert!(problem.contains("tests/linalg/sparse.rs"), "{problem}");
}

#[test]
fn patterns_that_no_positive_definite_matrix_has_are_errors() {
    for (columns, rows, expected) in [
        (3, vec![vec![0], vec![1]], "takes a square matrix, not one of 2 by 3"),
        (2, vec![vec![0, 1], vec![1]], "an entry at row 0, column 1, but none at row 1, column 0"),
        (2, vec![vec![0], vec![0, 1]], "an entry at row 1, column 0, but none at row 0, column 1"),
        (2, vec![vec![0], vec![]], "no entry on the diagonal in row 1"),
    ] {
        let problem = SparseCholesky::new(&Pattern::from_rows(columns, rows).unwrap()).unwrap_err().to_string();
        assert!(problem.ends_with(expected), "{problem}");
    }
    let cholesky = SparseCholesky::new(&tridiagonal(2)).unwrap();
    let few = stage(|values: &V<_>| cholesky.log_determinant(values), &Vector::from(vec![1.0; 3])).unwrap_err();
    assert!(few.to_string().starts_with("factor: 3 values for a pattern of 4 entries"), "{few}");
    let (values, b) = (Vector::from(vec![2.0, 1.0, 1.0, 2.0]), Vector::from(vec![1.0; 3]));
    let long = stage(|(values, b): &(V<_>, V<_>)| cholesky.solve(values, b), (&values, &b)).unwrap_err().to_string();
    assert!(long.starts_with("solve: a matrix of 2 by 2 does not fit a right side of 3 rows"), "{long}");
}

#[test]
fn sparse_jacobians_go_through_solutions() {
    let pattern = tridiagonal(4);
    let cholesky = SparseCholesky::new(&pattern).unwrap();
    let values = values(&pattern, &mut Random::new(5));
    let f = stage(|values: &V<_>| cholesky.solve(values, &constant(&Vector::from(vec![1.0; 4]))), &values).unwrap();
    let dense = jacrev(|values| cholesky.solve(values, &constant(&Vector::from(vec![1.0; 4]))), &values);
    close("a Jacobian", &f.sparse_jacobian().unwrap().call(&values).unwrap().to_dense(), &dense);
}

#[test]
fn right_sides_of_one_matrix_are_solved_as_columns() {
    let mut random = Random::new(6);
    let pattern = tridiagonal(3);
    let cholesky = SparseCholesky::new(&pattern).unwrap();
    let values = values(&pattern, &mut random);
    let sides = crate::matrix::<f64>(&mut random, 4, 3);
    let each = |(values, sides): &(V<_>, Matrix<_, f64>)| build(4, |at| cholesky.solve(values, &sides.at(&at)));
    let each = stage(each, (&values, &sides)).unwrap();
    close("a batch", &each.call((&values, &sides)).unwrap(), &cholesky.solve(&values, &sides.t()).t());
    let program: export::Program = (&each).into();
    let body = &program.body;
    let solves = body.nodes().iter().filter(|node| matches!(&node.op, Op::Sparse(op) if op.name() == "sparse_solve"));
    let shapes: Vec<Vec<usize>> =
        solves.flat_map(|node| &node.args).map(|&arg| body.node(arg).ty().shape.to_vec()).collect();
    assert_eq!(shapes, [vec![7], vec![5], vec![3, 4]]);
}

#[test]
fn texts_with_wrong_patterns_are_errors() {
    let cholesky = SparseCholesky::new(&tridiagonal(2)).unwrap();
    let values = Vector::from(vec![2.0, 1.0, 1.0, 2.0]);
    let entries = stage(|values: &V<_>| cholesky.factor(values).inverse_entries(), &values).unwrap();
    let text = export::text(&entries);
    let pattern = "[[0, 0], [0, 1], [1, 0], [1, 1]]";
    assert!(text.contains(&format!("sparse_inverse_entries {pattern} p0 ")), "{text}");
    for (wrong, expected) in [
        ("[[0, 0], [0, 1], [1, 1], [1, 0]]", "entry 3 of the pattern does not follow the one before it"),
        ("[[0, 0], [0, 1], [2, 0], [2, 1]]", "entry 2 of the pattern"),
        ("[[0, 0], [0, 1], [1, 0], [1, -1]]", "entry 3 of the pattern"),
        ("(full 0 [1000000000, 2])", "entry 1 of the pattern"),
        ("[[0, 0], [0, 1], [1, 0], [1, 7]]", "column"),
        ("[[0, 0], [0, 1], [1, 1]]", "an entry at row 0, column 1, but none at row 1, column 0"),
        ("[[0, 0], [1, 1]]", "a matrix of 4 elements does not fit a pattern that takes 2"),
        ("[0, 0]", "a pattern is the row and the column of each entry, i64[.., 2], not i64[2]"),
        ("(full 0.5 [0, 2])", "i64[.., 2], not f64[0, 2]"),
        ("p0", "expected"),
    ] {
        let problem = export::parse(&text.replace(pattern, wrong)).unwrap_err().to_string();
        assert!(problem.contains(expected), "{wrong}: {problem}");
    }
}

#[cfg(feature = "json")]
#[test]
fn documents_with_wrong_patterns_are_errors() {
    let cholesky = SparseCholesky::new(&tridiagonal(2)).unwrap();
    let values = Vector::from(vec![2.0, 1.0, 1.0, 2.0]);
    let entries = stage(|values: &V<_>| cholesky.factor(values).inverse_entries(), &values).unwrap();
    let json = export::json(&entries);
    assert!(export::from_json(&json).is_ok());
    for (part, wrong) in [
        ("\"row_offsets\":[0,2,4]", "\"row_offsets\":[0,3,4]"),
        ("\"row_offsets\":[0,2,4]", "\"row_offsets\":[]"),
        ("\"column_indices\":[0,1,0,1]", "\"column_indices\":[0,9,0,1]"),
        ("\"column_indices\":[0,1,0,1]", "\"column_indices\":[1,0,0,1]"),
        ("\"directions\":0", "\"directions\":18446744073709551615"),
        ("\"directions\":0,", ""),
        ("sparse_inverse_entries", "sparse_inverse"),
    ] {
        assert!(json.contains(part), "{json}");
        assert!(export::from_json(&json.replace(part, wrong)).is_err(), "{wrong}");
    }
}

/// A factorisation that fails on the side not taken reaches neither value nor gradient.
#[test]
fn the_side_not_taken_is_not_factorised() {
    let cholesky = SparseCholesky::new(&tridiagonal(3)).unwrap();
    let values: V<C> = Vector::from([-2.0, 1.0, 1.0, 2.0, 1.0, 1.0, 2.0]);
    let guarded = stage(|x: &V<_>| cond(x.at(0).gt(0.0), || cholesky.factor(x).log_determinant(), || x.sum()), &values);
    let gradient = guarded.unwrap().grad().unwrap();
    for found in [gradient.interpret(&values).unwrap(), gradient.call(&values).unwrap()] {
        assert_eq!(found.to_vec(), [1.0; 7]);
    }
}
