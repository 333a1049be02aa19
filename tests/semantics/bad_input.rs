//! Mismatches: eagerly, a panic with operation, shapes and line; staged, the same as an `Err`; and indices that leave their
//! build.

use crate::harness::C;
use deltaray::Error;
use deltaray::algebra::Algebra;
use deltaray::derivative::stage;
use deltaray::dual::{Dual, Tangent};
use deltaray::functions::{
    Window, binary_cross_entropy, convolution_1d, huber, layer_norm, log_softmax, mean_pool_1d, mean_squared_error,
    softmax, standardise,
};
use deltaray::prelude::*;
use deltaray::staged::Staged;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn v(elements: &[f64]) -> Vector<C, f64> {
    Vector::from_slice(elements)
}

/// The message of the panic that a computation ends in.
fn panic_of<T>(f: impl FnOnce() -> T) -> String {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(_) => panic!("no panic"),
        Err(payload) => *payload.downcast::<String>().expect("a panic with text"),
    }
}

function!(Shortened: (Vector<C, f64>, Vector<C, f64>) => Vector<C, f64>, |(x, a)| (x - a).slice(0, 1..));
function!(Total: (Vector<C, f64>, Vector<C, f64>) => Scalar<C, f64>, |(x, a)| ((x - a) * (x - a)).sum());

pub type At<A> = (Vector<A, f64>, Matrix<A, f64>);

/// A mistake in every algebra, and the content of its report.
pub struct Mistake {
    pub operation: &'static str,
    pub mentions: &'static [&'static str],
    pub file: &'static str,
    pub line: u32,
    pub concrete: fn(&At<C>) -> TensorD<C, f64>,
    pub dual: fn(&At<Dual<C>>) -> TensorD<Dual<C>, f64>,
    pub tangent: fn(&At<Tangent<C>>) -> TensorD<Tangent<C>, f64>,
    pub staged: fn(&At<Staged>) -> TensorD<Staged, f64>,
}

/// A mistake and its line. A panic in a macro's argument has the place of the outermost macro call, so each has its own.
macro_rules! mistake {
    ($operation:literal [$($mention:literal),*] |$x:ident, $m:ident| $body:expr) => {{
        fn mistake<A: Algebra>(($x, $m): &$crate::bad_input::At<A>) -> TensorD<A, f64> {
            let _ = ($x, $m);
            ($body).into_dyn()
        }
        let mentions: &[&str] = &[$($mention),*];
        let line = line!();
        $crate::bad_input::Mistake {
            operation: $operation,
            mentions,
            file: file!(),
            line,
            concrete: mistake,
            dual: mistake,
            tangent: mistake,
            staged: mistake,
        }
    }};
}

/// Statements of a function with the attribute, whose parameters are a vector and a matrix.
macro_rules! assignment {
    ([$($mention:literal),*] |$x:ident, $m:ident| $($statements:tt)*) => {
        mistake!("assignment" [$($mention),*] |x, m| {
            #[allow(unused_mut)]
            #[differentiable]
            fn assigned(mut $x: Vector<f64>, mut $m: Matrix<f64>) -> Vector<f64> {
                $($statements)*;
                $x + $m.sum()
            }
            assigned(x, m)
        })
    };
}

#[test]
fn operands_that_do_not_fit() {
    check_reports(vec![
        mistake!("add" ["[2]", "[2, 3]"] |x, m| x + m),
        mistake!("sub" ["[2, 3]", "[2]"] |x, m| (m - x) * 2.0),
        mistake!("mul" ["[2]", "[3]"] |x, m| x * m.at(0) + x),
        mistake!("div" ["[2]", "[3]"] |x, m| x / m.at(0)),
        mistake!("pow" ["[2]", "[3]"] |x, m| x.pow(m.at(0))),
        mistake!("atan2" ["[2]", "[3]"] |x, m| x.atan2(m.at(0))),
        mistake!("max" ["[2]", "[3]"] |x, m| x.max(m.at(0)).exp()),
        mistake!("min" ["[3]", "[2]"] |x, m| m.at(0).min(x)),
        mistake!("gt" ["[2]", "[3]"] |x, m| x.gt(m.at(0)).select(1.0, x)),
        mistake!("select" ["[2]", "[3]"] |x, m| x.gt(0.0).select(x, m.at(0))),
        mistake!("select" ["[2]", "[3]"] |x, m| select(m.at(0).gt(0.0), x, x)),
        mistake!("dot"["[2, 3]"] | x, m | m.dot(m)),
        mistake!("dot" ["[2, 3]", "[2]"] |x, m| m.dot(x)),
        mistake!("matmul" ["[2, 3]", "[1, 2]"] |x, m| m.matmul(&x.insert_axis(0))),
        mistake!("contract" ["[2, 3]", "[2]"] |x, m| m.contract::<_, R1>(x, "ij,j->i")),
        mistake!("contract_axes" ["[2, 3]", "[2]"] |x, m| m.contract_axes(x, [1], [0])),
        mistake!("reshape" ["[2, 3]", "[4, 2]"] |x, m| m.reshape((4, 2))),
        mistake!("broadcast_to" ["[2, 3]", "[3, 2]"] |x, m| m.broadcast_to((3, 2))),
        mistake!("sum_axis" ["axis 2", "[2, 3]"] |x, m| m.sum_axis(2) * x),
        mistake!("max_axis" ["axis 1", "[2]"] |x, m| x.max_axis(1)),
        mistake!("mean_axes" ["axis 7", "[2, 3]"] |x, m| m.mean_axes([0, 7])),
        mistake!("slice" ["2..5", "[2, 3]"] |x, m| m.slice(1, 2..5)),
        mistake!("slice_step" ["by 0", "[2]"] |x, m| x.slice_step(0, .., 0)),
        mistake!("pad" ["axis 3", "[2]"] |x, m| x.pad(3, 1, 1)),
        mistake!("pad" ["go too far", "[2]"] |x, m| x.pad(0, 1 << 57, 0)),
        mistake!("tr" ["[1, 1]", "[2, 3]"] |x, m| m.tr(&[1, 1])),
        mistake!("append" ["[2, 3]", "[3, 2]"] |x, m| m.append(0, &m.transpose())),
        mistake!("concatenate" ["[2, 3]", "[3, 2]"] |x, m| concatenate(0, &[m.clone(), m.transpose()])),
        mistake!("stack" ["[2]", "[3]"] |x, m| stack(&[x.clone(), m.at(0)])),
        mistake!("diagonal"["[2]"] | x, m | x.clone().into_dyn().diagonal()),
        mistake!("insert_axis" ["place 4", "[2]"] |x, m| x.insert_axis(4)),
        mistake!("remove_axis" ["axis 0", "[2, 3]"] |x, m| m.remove_axis(0)),
        mistake!("index_axis" ["axis 5", "[2, 3]"] |x, m| m.index_axis(5, 0)),
        mistake!("at" ["2 positions", "[2]"] |x, m| x.clone().into_dyn().at((0, 0))),
        mistake!("gather" ["[2]", "[3]"] |x, m| m.gather((&iota(2), &iota(3)))),
        mistake!("scatter" ["[2]", "[3]"] |x, m| x.scatter(&iota(3), 4)),
        mistake!("scatter_set" ["[2]", "[3]"] |x, m| m.at(0).scatter_set(&iota(3), x)),
        mistake!("scatter_add" ["[2]", "[3]"] |x, m| m.scatter_add((&iota(2), &iota(3)), x)),
        mistake!("scatter_multiply" ["[3]", "[2, 3]", "[2]"] |x, m| m.scatter_multiply((&iota(2), &iota(2)), &m.at(0))),
        mistake!("scatter_max" ["[2, 3]", "[3, 2]", "[2, 2]"] |x, m| m.reshape((3, 2)).scatter_max(&iota(2), m)),
        mistake!("scatter_min" ["[2]", "[1]"] |x, m| x.scatter_min(&iota(1), x)),
        mistake!("gather_or" ["[2]", "[2, 3]"] |x, m| m.gather_or(&iota(2), x)),
        mistake!("masked" ["[2]", "[3]"] |x, m| x.gather(masked(&x.gt(0.0), &iota(3)))),
        mistake!("segment_sum" ["3 keys", "[2]"] |x, m| x.segment_sum(&Segments::by_key(&iota(3), 3))),
        mistake!("segment_product" ["3 keys", "[2]"] |x, m| x.segment_product(&Segments::by_key(&iota(3), 3))),
        mistake!("segment_max" ["4 keys", "[2, 3]"] |x, m| m.segment_max(&Segments::by_offset(&iota(3), 4))),
        mistake!("segment_mean" ["3 keys", "[2]"] |x, m| x.segment_mean(&Segments::by_key(&iota(3), 3))),
        mistake!("segment_softmax" ["3 keys", "[2]"] |x, m| x.segment_softmax(&Segments::by_key(&iota(3), 3))),
        mistake!("segment_logsumexp" ["3 keys", "[2]"] |x, m| x.segment_logsumexp(&Segments::by_key(&iota(3), 3))),
        mistake!("segment_min" ["f64[1152921504606846976]", "too large"] |x, m| x.segment_min(&Segments::by_key(&iota(2), 1 << 60))),
        mistake!("reduce_segments" ["3 keys", "[2]"] |x, m| reduce_segments(scalar(0.0), &Segments::by_key(&iota(3), 3), x, |a, b| a + b)),
        mistake!("reduce_by_index" ["3 keys", "[2]"] |x, m| reduce_by_index(scalar(0.0), &iota(3), x, 3, |a, b| a + b)),
        mistake!("reduce_by_index" ["2 keys", "[]"] |x, m| reduce_by_index(m.sum().into_dyn(), &iota(2), &x.sum().into_dyn(), 3, |a, b| a + b)),
        mistake!("into_rank" ["[2]", "3 axes"] |x, m| x.clone().into_dyn().into_rank::<R3>()),
        mistake!("scan" ["f64[2]", "f64[3]"] |x, m| scan(x.clone(), &(), 1, |c, ()| (c.pad(0, 0, 1), ())).0),
        mistake!("scan" ["[2, 3]", "3 steps"] |x, m| scan(x.clone(), m, 3, |c, _| (c, ())).0),
        mistake!("reduce" ["f64[3]", "f64[4]"] |x, m| reduce(zeros(3), m, |a: Vector<A, f64>, b| (a * b * x.sum()).pad(0, 0, 1))),
        mistake!("reduce" ["f64[3]", "f64[2]"] |x, m| reduce(x.clone(), m, |a, b| a * b)),
        mistake!("reduce_axis" ["f64[2]", "f64[3]"] |x, m| reduce_axis(1, m.at(0), m, |a, b| a + b)),
        mistake!("reduce_axis" ["axis 2", "[2, 3]"] |x, m| reduce_axis(2, x.clone(), m, |a, b| a + b)),
        mistake!("reduce_axis" ["f64[2]", "f64[3]"] |x, m| reduce_axis(1, x.clone(), m, |_, _| m.at(0))),
        mistake!("associative_scan" ["f64[3]", "f64[2]"] |x, m| associative_scan(&(m * x.sum()), |a, b| (a * b).slice(0, ..2))),
        mistake!("reduce_by_index" ["f64[3]", "f64[4]"] |x, m| reduce_by_index(zeros(3), &iota(2), m, 4, |a: Vector<A, f64>, b| (a * b).pad(0, 0, 1))),
        mistake!("reduce_by_index" ["f64[3]", "f64[2]"] |x, m| reduce_by_index(x.clone(), &iota(2), m, 4, |a, b| a * b)),
        mistake!("reduce_by_index_axis" ["axis 2", "[2, 3]"] |x, m| reduce_by_index_axis(2, x.clone(), &iota(2), m, 4, |a, b| a * b)),
        mistake!("reduce_by_index_axis" ["2 keys", "axis 1", "[2, 3]"] |x, m| reduce_by_index_axis(1, x.clone(), &iota(2), m, 4, |a, b| a * b)),
        mistake!("reduce_segments_axis" ["f64[2]", "f64[3]"] |x, m| reduce_segments_axis(1, m.at(0), &Segments::by_key(&iota(3), 3), m, |a, b| a * b)),
        mistake!("associative_scan_reverse_axis" ["axis 2", "[2, 3]"] |x, m| associative_scan_reverse_axis(2, m, |a, b| a * b)),
        mistake!("fold"["extents 2 and 1"] | x, m | fold(m.at(0), &(x.clone(), x.slice(0, 1..)), |c, _| c)),
        mistake!("fold" ["f64[2]", "f64[3]"] |x, m| fold(x.clone(), m, |c, _| c.pad(0, 0, 1))),
        mistake!("fold_reverse" ["f64[2]", "f64[3]"] |x, m| fold_reverse(x.clone(), m, |c, _| c.pad(0, 0, 1))),
        mistake!("iterate" ["f64[2]", "f64[3]"] |x, m| iterate(x.clone(), 2, |_| m.at(0))),
        mistake!("while_loop" ["f64[2]", "f64[3]"] |x, m| while_loop(x.clone(), |c| c.sum().lt(1e9), |_| m.at(0))),
        mistake!("scan" ["f64[2]", "f64[3]"] |x, m| Checkpoints::Every(2).scan(x.clone(), &(), 3, |c, ()| (c.pad(0, 0, 1), ())).0),
        mistake!("scan_reverse" ["[2, 3]", "3 steps"] |x, m| Checkpoints::All.scan_reverse(x.clone(), m, 3, |c, _| (c, ())).0),
        mistake!("while_loop" ["f64[2]", "f64[3]"] |x, m| Checkpoints::All.while_loop(x.clone(), |c| c.sum().lt(1e9), |c| c.pad(0, 0, 1))),
        mistake!("softmax" ["axis 2", "[2, 3]"] |x, m| softmax(m, 2)),
        mistake!("log_softmax" ["axis 3", "[2]"] |x, m| log_softmax(x, 3)),
        mistake!("standardise" ["axis 2", "[2, 3]"] |x, m| standardise(m, 2, 1e-5)),
        mistake!("layer_norm" ["axis 2", "[2, 3]"] |x, m| layer_norm(m, 2, &m.at(0), &m.at(0), 1e-5)),
        mistake!("layer_norm" ["[2, 3]", "[2]"] |x, m| layer_norm(m, 1, x, x, 1e-5)),
        mistake!("layer_norm" ["[2]", "[3]"] |x, m| layer_norm(x, 0, x, &m.at(0), 1e-5)),
        mistake!("mean_squared_error" ["[2]", "[3]"] |x, m| mean_squared_error(x, &m.at(0))),
        mistake!("huber" ["[2, 3]", "[3, 2]"] |x, m| huber(m, &m.transpose(), 1.0)),
        mistake!("binary_cross_entropy" ["[2]", "[3]"] |x, m| binary_cross_entropy(x, &m.at(0).gt(0.0))),
        mistake!("convolution_1d" ["[2, 3, 1]", "2 groups"] |x, m| convolution_1d(&m.insert_axis(2), &m.insert_axis(2), &Window::default(), 2)),
        mistake!("mean_pool_1d" ["[4]", "[3]"] |x, m| mean_pool_1d(&m.insert_axis(0), [4], &Window::default())),
        mistake!("by_offset" ["i64[18446744073709551615]", "too large"] |x, m| x.segment_sum(&Segments::by_offset(&iota(3), usize::MAX))),
        mistake!("tree" ["3 elements", "2"] |x, m| ravel::<A, f64, _>(x).1.tree(&m.at(0))),
        mistake!("root" ["f64[2]", "f64[1]"] |x, m| root(&Shortened, &Shortened, x, x, &Implicit::default())),
        mistake!("minimum" ["f64[2]", "f64[1]"] |x, m| minimum(&Total, &Shortened, x, x, &Implicit::default())),
        mistake!("Newton" ["f64[2]", "f64[1]"] |x, m| Newton(Shortened, Convergence::default()).call::<A>(&(x.clone(), x.clone()))),
        mistake!("Newton" ["f64[2]", "f64[1]"] |x, m| root(&Shortened, &Newton(Shortened, Convergence::default()), x, x, &Implicit::default())),
        mistake!("Newton" ["f64[2]", "f64[1]"] |x, m| minimum(&Total, &Newton(Shortened, Convergence::default()), x, x, &Implicit::default())),
        mistake!("zeros"["f64[1152921504606846976]"] | x, m | zeros::<A, f64, _>(1usize << 60)),
        mistake!("iota"["i64[1152921504606846976]"] | x, m | iota::<A>(1 << 60).cast::<f64>()),
        mistake!("replicate"["f64[1152921504606846976, 2]"] | x, m | x.replicate(1 << 60)),
        mistake!("scatter"["f64[1152921504606846976]"] | x, m | x.scatter(iota(2), 1usize << 60)),
        mistake!("vjp" ["f64[2]", "f64[3]"] |x, m| vjp(|y| y * 2.0, x).1(&m.at(0))),
        mistake!("jvp" ["f64[2]", "f64[3]"] |x, m| jvp(|y| y * 2.0, x, &m.at(0)).1),
        mistake!("linearize" ["f64[2]", "f64[3]"] |x, m| linearize(|y| y * 2.0, x).1(&m.at(0))),
        mistake!("jvp_batch" ["f64[2]", "f64[3]"] |x, m| jvp_batch(|y| y * 2.0, x, m).1),
        mistake!("vjp_batch" ["f64[2]", "f64[3]"] |x, m| vjp_batch(|y| y * 2.0, x).1(m)),
        mistake!("vjp_aux" ["f64[2]", "f64[3]"] |x, m| vjp_aux(|y| (y * 2.0, ()), x).2(&m.at(0))),
        mistake!("vjp_batch" ["3 and 2", "slices"] |x, m| vjp_batch(|y| (y * 2.0, y.sum()), x).1(&(m.transpose(), x + 0.0))),
        mistake!("vmap"["2 and 3 slices"] | x, m | vmap(|(a, b)| a * b, &(x.clone(), m.at(0)))),
        mistake!("vmap_axes" ["axis 2", "[2, 3]"] |x, m| vmap_axes(|row| row * 2.0, m, [2], [0])),
        mistake!("vmap_axes" ["axis 2", "[2, 3]"] |x, m| vmap_axes(|row| row * 2.0, m, [0], [2])),
        mistake!("vmap_axes"["2 axes for 1 arrays"] | x, m | vmap_axes(|row| row * 2.0, m, [0, 1], [0])),
        mistake!("add" ["[3]", "[2]"] |x, m| build(2, |i| m.at(i) + x)),
        mistake!("mul" ["[3]", "[2]"] |x, m| scan(m.at(0), &(), 2, |c, ()| (c * x, ())).0),
        mistake!("sub" ["[2]", "[3]"] |x, m| grad(|y| (y - m.at(0).lift()).sum(), x)),
    ]);
}

#[test]
fn what_is_written_does_not_fit() {
    check_reports(vec![
        mistake!("with" ["[3]", "[2, 3]", "shape [2]"] |x, m| m.clone().with((.., 1), m.at(0))),
        mistake!("with" ["[2, 3]", "[2]"] |x, m| x.clone().with(.., m)),
        mistake!("with" ["1..5", "[2]"] |x, m| x.clone().with(1..5, 0.5)),
        mistake!("with" ["2 positions", "[2]"] |x, m| x.clone().into_dyn().with((0, 0), 0.5)),
        mistake!("with_added" ["[3]", "[2, 3]", "shape [2, 2]"] |x, m| m.clone().with_added((.., 1..), m.at(0))),
        mistake!("with_added" ["[2]", "[2, 3]", "shape [3]"] |x, m| m.clone().with_added(iota(2).at(1), x)),
        mistake!("with_added" ["axis 0", "2..4", "[2]"] |x, m| x.clone().with_added(2..4, x)),
        mistake!("with_updated" ["[3]", "[2]"] |x, m| x.clone().with_updated(.., |_| m.at(0))),
        mistake!("with_updated" ["[2, 3]", "shape [3]"] |x, m| m.clone().with_updated(1, |old| m * old)),
        mistake!("with_updated" ["axis 1", "1..4", "[2, 3]"] |x, m| m.clone().with_updated((0, 1..=3), |old| old)),
        mistake!("mul" ["[3]", "[2]"] |x, m| x.clone().with_updated(.., |old| old * m.at(0))),
        assignment!(["[3]", "[2, 3]", "shape [2]"] | x, m | m[(.., 1)] = m[0]),
        assignment!(["[3]", "shape [2]"] | x, m | x[..] += m[0]),
        assignment!(["[3]", "shape [2]"] | x, m | x[..] -= m[1] * 2.0),
        assignment!(["[3]", "[2, 3]", "shape [2]"] | x, m | m[(1, 1..)] *= m[0]),
        assignment!(["[2]", "[2, 3]", "shape [2, 3]"] | x, m | m[..] *= x),
        assignment!(["[3]", "shape [2]"] | x, m | x[..] /= m[(1, ..)]),
        assignment!(["[2, 3]", "shape [2]"] | x, m | x[..] /= m),
        assignment!(["[3]", "[5]", "shape [2]"] |x, m| let mut bits = iota(5) + x[0] as i64; bits[1..3] %= iota(3)),
        assignment!(["[3]", "[5]", "shape [2]"] |x, m| let mut bits = iota(5) + x[0] as i64; bits[1..3] &= iota(3)),
        assignment!(["[3]", "[5]", "shape [2]"] |x, m| let mut bits = iota(5) + x[0] as i64; bits[1..3] |= iota(3)),
        assignment!(["[3]", "[5]", "shape [2]"] |x, m| let mut bits = iota(5) + x[0] as i64; bits[1..3] ^= iota(3)),
        assignment!(["[3]", "[5]", "shape [2]"] |x, m| let mut bits = iota(5) + x[0] as i64; bits[1..3] <<= iota(3)),
        assignment!(["[3]", "[5]", "shape [2]"] |x, m| let mut bits = iota(5) + x[0] as i64; bits[1..3] >>= iota(3)),
        assignment!(["range 1..4", "[2]"] | x, m | x[1..4] = 0.5),
        assignment!(["range 1..4", "[2]"] | x, m | x[1..4] += 0.5),
        assignment!(["range 1..4", "[2]"] | x, m | x[1..4] *= 2.0),
    ]);
}

/// Checks the reports of mistakes in every algebra.
pub fn check_reports(mistakes: Vec<Mistake>) {
    let at: At<C> = (v(&[1.0, 2.0]), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]].into());
    for mistake in mistakes {
        let Mistake { operation, mentions, file, line, .. } = mistake;
        let check = |way: &str, message: String| {
            let place = format!("{file}:{line}:");
            assert!(message.starts_with(&format!("{operation}: ")), "{way}, line {line}: {message}");
            assert!(message.contains(&place), "{way}, line {line}: {message}");
            for mention in mentions {
                assert!(message.contains(mention), "{way}, line {line}, {mention}: {message}");
            }
        };
        check("eager", panic_of(|| (mistake.concrete)(&at)));
        check("eager gradient", panic_of(|| grad(|at| (mistake.dual)(at).sum(), &at)));
        check("forward mode", panic_of(|| jvp(|at| (mistake.tangent)(at), &at, &at)));
        match stage(|at| (mistake.staged)(at), &at) {
            Err(error @ Error::Operands { .. }) => check("staged", error.to_string()),
            Err(error) => panic!("line {line}: {error}"),
            Ok(staged) => panic!("line {line}: no error, but\n{staged}"),
        }
        match stage(|at| grad(|at| (mistake.staged)(at).sum(), at), &at) {
            Err(error @ Error::Operands { .. }) => check("a gradient inside", error.to_string()),
            Err(error) => panic!("line {line}: {error}"),
            Ok(staged) => panic!("line {line}: no error, but\n{staged}"),
        }
    }
}

#[test]
fn the_first_mistake_is_reported() {
    let at: At<C> = (v(&[1.0, 2.0]), zeros((2, 3)));
    let line = line!() + 1;
    let result = stage(|(x, m)| (x + m).sum_axis(0).dot(x) + m.reshape(7).sum(), &at);
    let Err(Error::Operands { operation, place, .. }) = result else { panic!("no error") };
    assert_eq!(operation, "add");
    assert!(place.contains(&format!("bad_input.rs:{line}:")), "{place}");
    // Nothing of it is left behind. Staging sees both sides of a condition, eager execution only the one taken.
    let line = line!() + 1;
    let Err(error) = stage(|(x, m)| cond(x.at(0).gt(0.0), || x.clone(), || m.at(0)), &at) else { panic!("no error") };
    for mention in ["cond: ", "f64[2]", "f64[3]", &format!("bad_input.rs:{line}:")] {
        assert!(error.to_string().contains(mention), "{error}");
    }
    assert!(stage(|(x, m)| m.sum_axis(1) + x, &at).is_ok());
}

#[test]
fn calls_with_other_arguments() {
    let at: At<C> = (v(&[1.0, 2.0]), zeros((2, 3)));
    let staged = stage(|(x, m)| (x.dot(m).sum() + x.sum()).sin(), &at).unwrap();
    let message = |result: deltaray::Result<Scalar<C, f64>>| match result {
        Err(error @ Error::Argument { .. }) => error.to_string(),
        Err(error) => panic!("{error}"),
        Ok(value) => panic!("no error, but {value:?}"),
    };
    let shape = message(staged.call(&(v(&[1.0, 2.0, 3.0]), zeros((2, 3)))));
    assert!(shape.contains("argument 0") && shape.contains("f64[2]") && shape.contains("f64[3]"), "{shape}");
    let shape = message(staged.call(&(v(&[1.0, 2.0]), zeros((3, 2)))));
    assert!(shape.contains("argument 1") && shape.contains("f64[2, 3]") && shape.contains("f64[3, 2]"), "{shape}");
    assert!(staged.call(&at).is_ok());
    assert!(staged.grad().unwrap().call(&(v(&[]), zeros((2, 3)))).is_err());
    // The right static types, but not the right cotangent or tangent.
    assert!(stage(|x| x * 2.0, &at.0).unwrap().vjp().unwrap().call(&(at.0.clone(), v(&[1.0]))).is_err());
    assert!(stage(|x| x * 2.0, &at.0).unwrap().jvp().unwrap().call(&(at.0.clone(), v(&[1.0; 3]))).is_err());
    // The number of arrays is not of the static type where there are vectors.
    let three = vec![v(&[1.0]), v(&[2.0]), v(&[3.0])];
    let staged = stage(|parts| parts[0].clone() + &parts[1] * &parts[2], &three).unwrap();
    assert!(staged.call(&three).is_ok());
    for wrong in [&three[..2], &[&three[..], &three[..]].concat()] {
        let Err(error) = staged.call(&wrong.to_vec()) else { panic!("no error") };
        assert!(error.to_string().contains('3') && error.to_string().contains(&wrong.len().to_string()), "{error}");
    }
    // A dynamic rank is of one static type, too.
    let staged = stage(|x| x * 2.0, &zeros::<C, f64, _>(vec![2, 3])).unwrap();
    assert!(staged.call(&zeros::<C, f64, _>(vec![3, 2])).is_err());
    assert!(staged.call(&zeros::<C, f64, _>(vec![6])).is_err());
    // A gradient of a result that is not one number.
    let Err(error) = stage(|x| x * 2.0, &at.0).unwrap().grad() else { panic!("no error") };
    assert!(error.to_string().contains("f64[2]"), "{error}");
}

#[test]
fn arguments_are_named() {
    #[derive(Tree)]
    struct Layer<A: Algebra> {
        weights: Matrix<A, f64>,
        biases: Vector<A, f64>,
    }
    let layer = |rows: usize, biases: usize| Layer::<C> { weights: zeros((rows, 2)), biases: zeros(biases) };
    // All name a line of this file.
    let message = |result: deltaray::Result<Scalar<C, f64>>| {
        let text = result.expect_err("shapes differ").to_string();
        let (said, place) = text.rsplit_once(" (at ").expect("a line");
        assert!(place.starts_with(file!()), "{text}");
        said.to_string()
    };
    let (layers, x) = (vec![layer(2, 2), layer(2, 2)], v(&[1.0, 2.0]));
    let program = |(layers, x): &(Vec<Layer<Staged>>, Vector<Staged, f64>)| {
        layers.iter().fold(x.clone(), |x, layer| layer.weights.dot(&x) + &layer.biases).sum()
    };
    let staged = stage(program, (&layers, &x)).unwrap();
    let found = message(staged.call((&vec![layer(2, 2), layer(2, 3)], &x)));
    assert_eq!(found, "argument 0, `1.biases`: the program was staged for f64[2], but f64[3] was given");
    let found = message(staged.call((&layers, &v(&[1.0]))));
    assert_eq!(found, "argument 1: the program was staged for f64[2], but f64[1] was given");
    // One argument, and tuples in arguments.
    let staged = stage(|layer: &Layer<Staged>| layer.weights.dot(&layer.biases).sum(), &layer(1, 2)).unwrap();
    let found = message(staged.call(&layer(3, 2)));
    assert_eq!(found, "argument 0, `weights`: the program was staged for f64[1, 2], but f64[3, 2] was given");
    let (pair, wrong) = ((x.clone(), x.clone()), (x.clone(), v(&[])));
    let staged = stage(|(pair, x)| (&pair.0 * &pair.1 * x).sum(), (&pair, &x)).unwrap();
    let found = message(staged.call((&wrong, &x)));
    assert_eq!(found, "argument 0, `1`: the program was staged for f64[2], but f64[0] was given");
    let found = message(stage(|x| x.sum(), &x).unwrap().call(&v(&[])));
    assert_eq!(found, "argument 0: the program was staged for f64[2], but f64[0] was given");
}

/// Calls that the library makes itself, in loops and derivatives, are reported at the user's line.
#[test]
fn the_librarys_own_lines_are_not_reported() {
    let (x, m) = (v(&[1.0, 2.0]), zeros::<C, f64, _>((3, 2)));
    let here = |message: String, line: u32| {
        assert!(message.contains(&format!("bad_input.rs:{line}:")), "{message}");
    };
    // There is no memory for the stacks of loops.
    let rows: Vector<C, f64> = v(&[1.0, 2.0]);
    let line = line!() + 1;
    here(panic_of(|| scan((), &rows, 2, |(), row: Scalar<C, f64>| ((), row.replicate(1 << 58)))), line);
    let line = line!() + 1;
    here(panic_of(|| vmap(|row: Scalar<C, f64>| row.replicate(1 << 58), &rows)), line);
    let line = line!() + 1;
    here(panic_of(|| jvp_batch(|x| x * ones(1 << 58), &scalar(1.0), &rows)), line);
    // Too large for any memory only with all directions together.
    let line = line!() + 1;
    let large = stage(|x| jvp_batch(|x| x.replicate(1 << 59), &x.at(0), x).1, &rows).expect_err("it is too large");
    assert!(large.to_string().starts_with("jvp_batch: an array of type f64[2, 576460752303423488]"), "{large}");
    here(large.to_string(), line);
    // Library functions that are written in the language itself.
    let escaped = RefCell::new(None);
    stage(|x| escaped.borrow_mut().insert(x.clone()).sum(), &x).unwrap();
    let vector: Vector<Staged, f64> = escaped.take().unwrap();
    assert_scope(stage(|_| softmax(&vector, 0), &x), line!());
    assert_scope(stage(|_| standardise(&vector, 0, 1e-5), &x), line!());
    let escaped = RefCell::new(None);
    stage(|m| escaped.borrow_mut().insert((m.clone(), m.at(0))).0.sum(), &m).unwrap();
    let (m, row): (Matrix<Staged, f64>, Vector<Staged, f64>) = escaped.take().unwrap();
    assert_scope(stage(|x| jvp_batch(|y| y * 2.0, x, &m).1, &x), line!());
    assert_scope(stage(|x| vjp_batch(|y| y * 2.0, x).1(&m), &x), line!());
    assert_scope(stage(|x| vmap_axes(|y| y.sum() * x, &m, [1], [0]), &x), line!());
    assert_scope(stage(|x| vjp(|y| y * 2.0, x).1(&row), &x), line!());
    assert_scope(stage(|x| jvp(|y| y * 2.0, x, &row).1, &x), line!());
}

fn assert_scope<T>(result: deltaray::Result<T>, line: u32) {
    match result {
        Err(Error::Scope { place, .. }) => {
            assert!(line == 0 || place.contains(&format!("bad_input.rs:{line}:")), "{line}: {place}")
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("no error"),
    }
}

#[test]
fn indices_outside_of_their_build() {
    let x = v(&[1.0, 2.0, 3.0]);
    // Read after the build.
    let cell = RefCell::new(None);
    let line = line!() + 4;
    let result = stage(
        |x| {
            let y = build(3, |i| x.at(&*cell.borrow_mut().insert(i)));
            y * x.at(cell.borrow().as_ref().unwrap())
        },
        &x,
    );
    assert_scope(result, line);
    // The same index in a later staged function, and one that is the result.
    let escaped: Scalar<Staged, i64> = cell.take().unwrap();
    assert_scope(stage(|x| x.at(&escaped), &x), line!());
    assert_scope(stage(|_| escaped.clone(), &x), 0);
    assert_scope(stage(|x| build(3, |i| x.at(i + &escaped)), &x), line!());
    assert_scope(stage(|x| grad(|x| x.at(&escaped), x), &x), line!());
    // A parameter of an earlier function, and a value computed from it.
    let parameter = RefCell::new(None);
    stage(|x| parameter.borrow_mut().insert(x.clone()).sum(), &x).unwrap();
    let parameter = parameter.take().unwrap();
    assert_scope(stage(|x| x + &parameter, &x), line!());
    assert_scope(stage(|x| scan(x.clone(), &(), 2, |c, ()| (c * &parameter, ())).0, &x), line!());
    assert_scope(stage(|_| parameter.clone(), &x), 0);
    // In the next build, in an outer one, and a loop's value after the loop.
    let cell = RefCell::new(None);
    let siblings = |x: &Vector<Staged, f64>| {
        let first = build(3, |i| x.at(&*cell.borrow_mut().insert(i)));
        first + build(3, |j| x.at(j + cell.borrow().as_ref().unwrap()))
    };
    assert_scope(stage(siblings, &x), 0);
    let outer = |x: &Vector<Staged, f64>| {
        build(3, |i| {
            build(2, |j| x.at(&*cell.borrow_mut().insert(j))).sum() + x.at(i + cell.borrow().as_ref().unwrap())
        })
    };
    assert_scope(stage(outer, &x), 0);
    let carried = RefCell::new(None);
    let after = |x: &Vector<Staged, f64>| {
        let (last, ()) = scan(x.sum(), x, 3, |c, e| (carried.borrow_mut().insert(c * e).clone(), ()));
        last + carried.borrow().as_ref().unwrap()
    };
    assert_scope(stage(after, &x), 0);
    // All is well afterwards, and values without a scope may be used again.
    let constant = RefCell::new(None);
    stage(|x| x + constant.borrow_mut().insert(full::<Staged, f64, _>(3, 2.0)).clone(), &x).unwrap();
    let constant = constant.take().unwrap();
    assert_eq!(stage(|x| x * &constant, &x).unwrap().call(&x).unwrap().to_vec(), [2.0, 4.0, 6.0]);
}

#[test]
fn functions_staged_inside_of_others() {
    let x = v(&[1.0, 2.0, 3.0]);
    // A closed one is fine; one that uses the outer function's values is not.
    let whole = stage(
        |x| {
            let inner = stage(|y| y.sum(), &v(&[1.0])).unwrap();
            x * inner.call(&v(&[5.0])).unwrap().item()
        },
        &x,
    );
    assert_eq!(whole.unwrap().call(&x).unwrap().to_vec(), [5.0, 10.0, 15.0]);
    let mut inner = None;
    let whole = stage(
        |x| {
            inner = Some(stage(|y| y * x, &v(&[1.0, 2.0, 3.0])));
            x * 2.0
        },
        &x,
    );
    assert_scope(inner.unwrap(), 0);
    assert!(whole.is_ok());
}

#[test]
fn panics_of_the_users_closure_leave_the_thread_usable() {
    let x = v(&[1.0, 2.0, 3.0]);
    let panicking: [fn(&Vector<Staged, f64>) -> Vector<Staged, f64>; 6] = [
        |_| panic!("user code"),
        |x| build(3, |i| if x.len() == 3 { panic!("user code") } else { x.at(i) }),
        |x| build(3, |i| build(3, |j| if x.len() == 3 { panic!("user code") } else { x.at(&i * j) }).sum()),
        |x| scan(x.clone(), &(), 3, |c, ()| if c.len() == 3 { panic!("user code") } else { (c, ()) }).0,
        |x| cond(x.at(0).gt(0.0), || x.clone(), || panic!("user code")),
        // After a mistake, which must not be reported for the next function.
        |x| if (x + x.slice(0, 1..)).len() == 3 { panic!("user code") } else { x.clone() },
    ];
    for f in panicking {
        let caught = catch_unwind(|| stage(f, &v(&[1.0, 2.0, 3.0])).map(|_| ()));
        assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"user code"));
        let staged = stage(|x| build(3, |i| x.at(&i) * x.at(2 - i)), &x).unwrap();
        assert_eq!(staged.call(&x).unwrap().to_vec(), [3.0, 4.0, 3.0]);
        // Caught inside of another function that is staged.
        let staged = stage(
            |x| {
                let caught = catch_unwind(|| stage(f, &v(&[1.0, 2.0, 3.0])).map(|_| ()));
                assert!(caught.is_err());
                build(3, |i| x.at(&i) * x.at(2 - i))
            },
            &x,
        );
        assert_eq!(staged.unwrap().call(&x).unwrap().to_vec(), [3.0, 4.0, 3.0]);
        let inside = stage(|x| catch_unwind(AssertUnwindSafe(|| f(x))).unwrap_or_else(|_| x * 2.0), &x);
        // A mistake before the panic stays one of the function in which it was made.
        if let Ok(staged) = inside {
            assert_eq!(staged.call(&x).unwrap().to_vec(), [2.0, 4.0, 6.0]);
        }
    }
    // Eager derivatives too.
    let caught =
        catch_unwind(|| grad(|x| if x.len() == 3 { panic!("user code") } else { x.sum() }, &v(&[1.0, 2.0, 3.0])));
    assert!(caught.is_err());
    assert_eq!(grad(|x| x.sum(), &x).to_vec(), [1.0; 3]);
}
