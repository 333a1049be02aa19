//! Nests in parts: most work is done without guards, and the values are the same.

use crate::array::Array;
use crate::concrete::Concrete;
use crate::engine::cpu::code::ELEMENTS;
use crate::engine::cpu::edges::parts;
use crate::engine::cpu::{Cpu, Program};
use crate::kernel::{Nest, NestValue, Procedure, Step, lower_in_place};
use crate::prelude::*;
use crate::shape::size;
use crate::term::Body;
use crate::term::interpret::interpret;

fn nests(procedure: &Procedure) -> Vec<&Nest> {
    let of = procedure.steps.iter().flat_map(|step| match step {
        Step::Nest(nest) => vec![nest],
        Step::Loop(repeated) => nests(&repeated.step),
        _ => Vec::new(),
    });
    of.collect()
}

fn is_guarded(nest: &Nest) -> bool {
    nest.values.iter().any(|(value, _)| match value {
        NestValue::Load { guards, .. } | NestValue::Guarded(_, guards) => !guards.is_empty(),
        _ => false,
    })
}

/// Checks that the parts of nests make up the nests, and that results equal those of plain arrays, bit by bit. Gives the number
/// of elements of nests with guards, before and after.
fn guarded_elements(body: &Body) -> (usize, usize) {
    let procedure = lower_in_place(body);
    let (mut before, mut after) = (0, 0);
    let elements = |nest: &Nest| if is_guarded(nest) { size(&nest.extents) } else { 0 };
    for nest in nests(&procedure) {
        let parts = parts(nest, true).unwrap_or_else(|| vec![nest.clone()]);
        assert_eq!(parts.iter().map(|part| size(&part.extents)).sum::<usize>(), size(&nest.extents), "{nest:?}");
        before += elements(nest);
        after += parts.iter().map(elements).sum::<usize>();
    }
    let argument = |at: usize| {
        let ty = body.parameter_type(at);
        Array::from_vec(
            &ty.shape,
            (0..ty.size()).map(|i| ((i * 37 + at) % 101) as f64 / 8.0 - 5.5).collect::<Vec<f64>>(),
        )
    };
    let arguments: Vec<Array> = (0..body.arity()).map(argument).collect();
    let expected = interpret::<Concrete>(body, arguments.clone());
    let bits = |array: &Array| (0..array.size()).map(|at| array.element(at).to_f64().to_bits()).collect::<Vec<_>>();
    for threads in [1, 3] {
        let program = Program::new(body, &Cpu::default().threads(threads)).expect("a program");
        let found = program.run(&arguments).expect("a run");
        assert!(found.iter().zip(&expected).all(|(found, expected)| bits(found) == bits(expected)), "{body}");
    }
    (before, after)
}

/// The gradient of a stencil's last state by its first one.
macro_rules! gradient {
    ($f:expr, $at:expr) => {
        stage($f, &$at).unwrap().grad().unwrap().program().clone()
    };
}

/// Neighbours along a line, some steps.
fn line<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
    let n = x.len();
    let last = iterate(x.clone(), 3, |x| {
        let near = x.slice(0, ..n - 2) * 0.3 + x.slice(0, 1..n - 1) * 0.5 - x.slice(0, 2..);
        x.with(1..n - 1, near)
    });
    (&last * &last).sum()
}

/// Neighbours in a plane.
fn plane<A: Algebra>(x: &Matrix<A, f64>) -> Scalar<A, f64> {
    let [n, m] = [x.shape()[0], x.shape()[1]];
    let part = |rows: std::ops::Range<usize>, columns: std::ops::Range<usize>| x.slice(0, rows).slice(1, columns);
    let cross = part(0..n - 2, 1..m - 1) + part(2..n, 1..m - 1) * 0.5 + part(1..n - 1, 0..m - 2) + part(1..n - 1, 2..m);
    (&cross * &cross).sum()
}

#[test]
fn gradients_of_stencils_have_guards_near_edges_alone() {
    let (before, after) = guarded_elements(&gradient!(line, Vector::from(vec![0.5; 5000])));
    assert!(before >= 5000 && after <= 100, "{before} {after}");
    let at = Matrix::<Concrete, f64>::from_elements((90, 110), vec![0.5; 90 * 110]);
    let (before, after) = guarded_elements(&gradient!(plane, at));
    assert!(before >= 90 * 110 && after <= 10 * (90 + 110), "{before} {after}");
}

#[test]
fn small_nests_stay_whole() {
    let (before, after) = guarded_elements(&gradient!(line, Vector::from(vec![0.5; 30])));
    assert!(before > 0 && before == after, "{before} {after}");
}

/// A sum of pieces at any offsets, some of them outside, from both ends.
#[test]
fn parts_of_any_pieces_are_the_whole() {
    let mut state = 11u64;
    let mut below = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    let mut cut = 0;
    for _ in 0..60 {
        let (n, m) = (1 + below(60), 1 + below(400));
        let shape = [n, m];
        let pieces: Vec<(usize, usize, usize, bool)> =
            (0..1 + below(4)).map(|_| (below(2), below(60), below(60), below(2) == 1)).collect();
        let sum = |x: &Matrix<_, f64>| {
            let added = pieces.iter().map(|&(axis, low, high, turned)| {
                let (low, high) = (low.min(shape[axis]), high.min(shape[axis] - low.min(shape[axis])));
                let piece = if turned { x.reverse(axis) } else { x.clone() };
                let inner = piece.slice(axis, low..shape[axis] - high);
                (inner * 1.5).pad(axis, low, high)
            });
            added.reduce(|sum, piece| sum + piece).expect("there is a piece")
        };
        let at = Matrix::<Concrete, f64>::from_elements((n, m), vec![0.5; n * m]);
        let (before, after) = guarded_elements(stage(sum, &at).unwrap().program());
        cut += usize::from(after < before);
    }
    assert!(cut >= 10, "{cut}");
}

#[test]
fn elements_are_gone_over_once_for_each_operation() {
    let at = Vector::from((0..5000).map(|i| (i as f64).sin()).collect::<Vec<f64>>());
    let program = stage(line, &at).unwrap().grad().unwrap().compile(Cpu::default().threads(1)).unwrap();
    let before = ELEMENTS.get();
    program.call(&at).unwrap();
    let count = ELEMENTS.get() - before;
    assert!(count <= 5000 * 60, "{count}");
}
