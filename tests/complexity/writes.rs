//! The memory for a write into an array that nobody else holds, run at once: in proportion to the elements written, however
//! large the array is, forwards and backwards.

use super::*;
use counting::asked;

pub(super) type V<A> = Vector<A, f64>;

/// The array with a value written at a position; it is given away, and written where it is if nobody else holds it.
fn set<A: Algebra, E: Element, R: Rank>(
    x: Tensor<A, E, R>,
    at: &[&Tensor<A, i64, R0>],
    value: A::Array,
) -> Tensor<A, E, R> {
    let positions = at.iter().map(|position| position.array().clone()).collect();
    Tensor::from_array(A::scatter_set(x.into_array(), value, positions)).unwrap()
}

fn add<A: Algebra>(x: V<A>, at: &Scalar<A, i64>, value: A::Array) -> V<A> {
    Tensor::from_array(A::scatter_onto(x.into_array(), value, vec![at.array().clone()])).unwrap()
}

/// `x[k + 1] = sin(x[k]) · x[k + 1]`
pub(super) fn step<A: Algebra>(x: V<A>, k: &Scalar<A, i64>) -> V<A> {
    let next = k + 1;
    let value = x.at(k).sin() * x.at(&next);
    set(x, &[&next], value.into_array())
}

fn rust_loop<A: Algebra>(x: &V<A>, n: usize) -> V<A> {
    (0..n).fold(x * 1.0, |x, k| step(x, &scalar(k as i64)))
}

pub(super) fn additions<A: Algebra>(x: &V<A>, n: usize) -> V<A> {
    let addition = |x: V<A>, k: Scalar<A, i64>| {
        let value = x.at(&k).sin() * x.at(&(&k + 1));
        add(x, &(k + 1), value.into_array())
    };
    fold(x * 1.0, &iota(n), addition)
}

pub(super) fn folded<A: Algebra>(x: &V<A>, n: usize) -> V<A> {
    fold(x * 1.0, &iota(n), |x, k: Scalar<A, i64>| step(x, &k))
}

/// With an output for each step, and an array that is captured.
pub(super) fn scanned<A: Algebra>(x: &V<A>, n: usize) -> V<A> {
    let captured = x * 2.0;
    let (last, outputs) = scan_reverse(x * 1.0, &iota(n), n, |x, k: Scalar<A, i64>| {
        let x = step(x, &k);
        let output = x.at(&k) * captured.at(&k);
        (x, output)
    });
    add(last, &scalar(0), outputs.sum().into_array())
}

pub(super) fn iterated<A: Algebra>(x: &V<A>, n: usize) -> V<A> {
    iterate((x * 1.0, scalar(0i64)), n, |(x, k)| (step(x, &k), k + 1)).0
}

pub(super) fn with_condition<A: Algebra>(x: &V<A>, n: usize) -> V<A> {
    while_loop((x * 1.0, scalar(0i64)), |(_, k)| k.lt(n as i64), |(x, k)| (step(x, &k), k + 1)).0
}

pub(super) fn with_checkpoints<A: Algebra>(x: &V<A>, n: usize) -> V<A> {
    Checkpoints::All.scan(x * 1.0, &iota(n), n, |x, k: Scalar<A, i64>| (step(x, &k), ())).0
}

fn with_condition_and_checkpoints<A: Algebra>(x: &V<A>, n: usize) -> V<A> {
    let condition = move |(_, k): &(V<A>, Scalar<A, i64>)| k.lt(n as i64);
    Checkpoints::All.while_loop((x * 1.0, scalar(0i64)), condition, |(x, k)| (step(x, &k), k + 1)).0
}

/// Loops of a single step, each starting from the result of the one before.
fn loop_after_loop<A: Algebra>(x: &V<A>, n: usize) -> V<A> {
    (0..n).fold(x * 1.0, |x, k| {
        let start = scalar(k as i64);
        let x = iterate(x, 1, |x| step(x, &start));
        while_loop((x, start), |(_, at)| at.le(k as i64), |(x, at)| (step(x, &at), at + 1)).0
    })
}

/// Several writes at once, two of which may be to one position.
fn several<A: Algebra>(x: &V<A>, n: usize) -> V<A> {
    let offsets: Vector<A, i64> = constant(&Vector::from(vec![0, 1, 1, 2]));
    fold(x * 1.0, &iota(n), |x: V<A>, k: Scalar<A, i64>| {
        let positions = &offsets + &k;
        let updates = x.gather(&positions).sin();
        Tensor::from_array(A::scatter_set(x.into_array(), updates.into_array(), vec![positions.into_array()])).unwrap()
    })
}

/// Writes of rows and of elements of a matrix, which is looked at in another shape in between.
pub(super) fn in_rows<A: Algebra>(x: &V<A>, n: usize) -> V<A> {
    let rows = x.len() / 2;
    fold(x * 1.0, &iota(n), |x: V<A>, k: Scalar<A, i64>| {
        let x: Matrix<A, f64> = Tensor::from_array(A::reshape(x.into_array(), &[rows, 2])).unwrap();
        let row = x.at(&k).sin();
        let x = set(x, &[&(&k + 1)], row.into_array());
        let element = x.at((&k, 1)) * 0.5;
        let x = set(x, &[&k, &scalar(0)], element.into_array());
        Tensor::from_array(A::reshape(x.into_array(), &[2 * rows])).unwrap()
    })
}

/// Writes on one side of a conditional alone.
pub(super) fn conditionally<A: Algebra>(x: &V<A>, n: usize) -> V<A> {
    fold(x * 1.0, &iota(n), |x: V<A>, k: Scalar<A, i64>| {
        let holds = x.at(&k).gt(0.0);
        cond(&holds, || step(x.clone(), &k), || x.clone())
    })
}

pub(super) fn loop_in_loop<A: Algebra>(x: &V<A>, n: usize) -> V<A> {
    fold(x * 1.0, &iota(n), |x: V<A>, k: Scalar<A, i64>| iterate((x, &k * 1), 3, |(x, at)| (step(x, &at), at + 1)).0)
}

pub(super) fn in_columns<A: Algebra>(x: &V<A>, n: usize) -> V<A> {
    let columns = x.len() / 2;
    let matrix: Matrix<A, f64> = x.reshape((2, columns)) * 1.0;
    let last = fold(matrix, &iota(n), |a: Matrix<A, f64>, k: Scalar<A, i64>| {
        let column = a.index_axis(1, &k).sin() * a.index_axis(1, &k + 1);
        a.with((.., &k + 1), column)
    });
    last.reshape(2 * columns)
}

/// Planes of the innermost axis.
pub(super) fn in_planes<A: Algebra>(x: &V<A>, n: usize) -> V<A> {
    let planes = x.len() / 4;
    let array: Tensor3<A, f64> = x.reshape((2, 2, planes)) * 1.0;
    let last = fold(array, &iota(n), |t: Tensor3<A, f64>, k: Scalar<A, i64>| {
        let plane = t.index_axis(2, &k).sin() * t.index_axis(2, &k + 1);
        t.with((.., .., &k + 1), plane)
    });
    last.reshape(4 * planes)
}

/// Ranges that stay where they are.
pub(super) fn in_ranges<A: Algebra>(x: &V<A>, n: usize) -> V<A> {
    fold(x * 1.0, &iota(n), |x: V<A>, k: Scalar<A, i64>| {
        let (factor, added) = (x.at(&k), x.slice(0, 4..7) * x.at(&k + 1));
        x.with_updated(1..5, |old| old * factor.sin()).with_added(3..6, added.sin())
    })
}

/// An inner loop whose bound moves.
pub(super) fn up_to_a_bound<A: Algebra>(x: &V<A>, n: usize) -> V<A> {
    fold(x * 1.0, &iota(n), |x: V<A>, i: Scalar<A, i64>| {
        fold(x, &iota(3), |x: V<A>, j: Scalar<A, i64>| cond(j.lt(&i), || step(x.clone(), &(&i - &j)), || x.clone()))
    })
}

/// Loops with an unknown number of steps, which read an array from outside and the one that is written.
pub(super) fn reads_in_while_loops<A: Algebra>(x: &V<A>, n: usize) -> V<A> {
    fold(x * 1.0, &iota(n), |y: V<A>, k: Scalar<A, i64>| {
        let end = &k + 3;
        let step = |(sum, p): (Scalar<A, f64>, Scalar<A, i64>)| (sum + x.at(&p).sin() * y.at(&p), p + 1);
        let (sum, _) = while_loop((scalar(0.0), &k * 1), |(_, p)| p.lt(&end), step);
        y.with(&end, sum)
    })
}

/// A loop for each of two factors.
pub(super) fn built<A: Algebra>(x: &V<A>, n: usize) -> V<A> {
    let all: Matrix<A, f64> = build(2, |i: Scalar<A, i64>| folded(&(x * (i.cast::<f64>() + 0.5)), n));
    all.sum_axis(0)
}

pub(super) fn mapped<A: Algebra>(x: &V<A>, n: usize) -> V<A> {
    let rows: Matrix<A, f64> = x.reshape((2, x.len() / 2));
    vmap(|row: V<A>| folded(&row, n), &rows).flatten()
}

/// Bytes asked for by so many writes into an array of so many elements.
type Asked<'a> = (&'static str, &'a dyn Fn(&V<C>, usize) -> usize);

/// Checks that a write asks for no more memory if there are twice as many elements; one-off allocations do not count.
fn assert_independent_of_size(name: &str, runs: &[Asked]) -> Vec<String> {
    const WRITES: usize = 64;
    let problem = |&(mode, bytes): &Asked| {
        let each = [10_000, 20_000].map(|n| {
            let x = V::<C>::from((0..n).map(|i| 1.0 + 0.3 * (i as f64).sin()).collect::<Vec<_>>());
            // A run that is not counted fills the caches that programs share.
            bytes(&x, WRITES);
            (bytes(&x, 2 * WRITES) - bytes(&x, WRITES)) / WRITES
        });
        (each[1] > each[0] + 100).then(|| format!("{name}, {mode}: {each:?} bytes for each write"))
    };
    runs.iter().filter_map(problem).collect()
}

macro_rules! in_every_mode {
    ($($f:ident),*) => {{
        let mut problems = Vec::new();
        $(problems.extend(assert_independent_of_size(stringify!($f), &[
            ("values", &|x, n| asked(|| $f(x, n)).2),
            ("tangents", &|x, n| asked(|| jvp(|x| $f(x, n), x, x)).2),
            ("gradient", &|x, n| asked(|| value_and_grad(|x| $f(x, n).sum(), x)).2),
            ("tangents of the gradient", &|x, n| asked(|| jvp(|x| grad(|x| $f(x, n).sum(), x), x, x)).2),
            ("gradient of the tangents", &|x, n| {
                let along = |x: &V<_>| jvp(|x| $f(x, n), x, x).1.sum();
                asked(|| grad(along, x)).2
            }),
            ("gradient of the gradient", &|x, n| asked(|| grad(|x| grad(|x| $f(x, n).sum(), x).sum(), x)).2),
        ]));)*
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }};
}

#[test]
fn writes_in_loops_cost_what_they_write() {
    in_every_mode!(rust_loop, additions, folded, scanned, iterated, several, in_rows, in_columns, in_planes);
}

#[test]
fn writes_in_loops_in_loops_and_maps_cost_what_they_write() {
    in_every_mode!(loop_in_loop, built, mapped);
}

#[test]
fn writes_in_loops_with_conditions_and_checkpoints_cost_what_they_write() {
    in_every_mode!(with_condition, with_checkpoints, with_condition_and_checkpoints, loop_after_loop);
}

macro_rules! interpreted {
    ($($f:ident),*) => {{
        let mut problems = Vec::new();
        $(problems.extend(assert_independent_of_size(stringify!($f), &[
            ("values", &|x, n| {
                let staged = stage(|x| $f(x, n), x).unwrap();
                staged.interpret(x).unwrap();
                asked(|| staged.interpret(x).unwrap()).2
            }),
            ("tangents", &|x, n| {
                let staged = stage(|x| $f(x, n), x).unwrap().jvp().unwrap();
                staged.interpret((x, x)).unwrap();
                asked(|| staged.interpret((x, x)).unwrap()).2
            }),
            ("gradient", &|x, n| {
                let staged = stage(|x| $f(x, n).sum(), x).unwrap().value_and_grad().unwrap();
                staged.interpret(x).unwrap();
                asked(|| staged.interpret(x).unwrap()).2
            }),
        ]));)*
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }};
}

/// Programs that are not compiled, with loops. (Gradients of loops that are unrolled make one whole array for each write yet.)
#[test]
fn writes_in_interpreted_programs_cost_what_they_write() {
    interpreted!(additions, folded, scanned, iterated, with_condition, with_checkpoints, in_rows, in_ranges);
    interpreted!(in_columns, in_planes, built, mapped);
}

#[test]
fn writes_in_interpreted_loops_in_loops_and_choices_cost_what_they_write() {
    interpreted!(conditionally, loop_in_loop);
}

/// As many writes as there are elements.
#[test]
fn a_chain_of_writes_through_an_array_is_linear_in_it() {
    let bytes = |n: usize| {
        let x: V<C> = full(n + 1, 0.7) + 0.0;
        asked(|| value_and_grad(|x| rust_loop(x, n).at(n), &x)).2
    };
    let (once, twice) = (bytes(1000), bytes(2000));
    assert!(10 * twice <= 22 * once, "{once} bytes, then {twice}");
}
