use super::{TableLimits, fold_constants, fold_within};
use crate::array::Array;
use crate::concrete::Concrete;
use crate::operation::{Binary, Comparison, Reduction, Unary};
use crate::shape::{Axes, DType, Type, Value};
use crate::simplify::check::{f64s, operations, program};
use crate::term::interpret::interpret;
use crate::term::{Body, Graph, NodeId, Op, Scan};
use smallvec::smallvec;
use std::borrow::Cow;
use std::sync::Arc;

fn with(g: &mut Graph, op: Binary, index: NodeId, number: i64) -> NodeId {
    let shape = g.ty(index).shape.clone();
    let number = g.add(Op::Constant(Array::full(&shape, Value::I64(number))), &[]);
    g.add(Op::Binary(op), &[index, number])
}

/// Squares modulo 7, a chain of index arithmetic.
fn squares(g: &mut Graph, n: usize) -> NodeId {
    let index = g.add(Op::Iota(n), &[]);
    let square = g.add(Op::Binary(Binary::Mul), &[index, index]);
    with(g, Binary::Rem, square, 7)
}

fn ascending(ty: &Type) -> Array {
    Array::from_vec(&ty.shape, (0..ty.size()).map(|at| at as f64).collect())
}

/// Folds, and checks that the results are the same, and that a second pass folds nothing.
fn folded(body: &Body) -> Body {
    let folded = fold_constants(body);
    assert!(folded.is_well_formed());
    assert_eq!(fold_constants(&folded), folded);
    let inputs: Vec<Array> = (0..body.arity()).map(|at| ascending(body.parameter_type(at))).collect();
    let (before, after) = (interpret::<Concrete>(body, inputs.clone()), interpret::<Concrete>(&folded, inputs));
    for (a, b) in before.iter().zip(&after) {
        assert_eq!(a.ty(), b.ty());
        assert!((0..a.size()).all(|at| a.element(at) == b.element(at)));
    }
    folded
}

#[test]
fn index_arithmetic_becomes_a_table() {
    let body = program(&[f64s(&[7])], |g| {
        let index = squares(g, 20);
        let shifted = with(g, Binary::Sub, index, 1);
        vec![g.add(Op::Gather, &[0, index]), g.add(Op::Gather, &[0, shifted])]
    });
    // The common part is computed once.
    assert_eq!(operations(&folded(&body)), ["constant", "constant", "gather", "gather"]);
    // A result that is known, sums and comparisons included.
    let body = program(&[], |g| {
        let index = squares(g, 20);
        vec![g.add(Op::Reduce(Reduction::Sum, Axes::from_slice(&[0])), &[index])]
    });
    assert_eq!(operations(&folded(&body)), ["constant"]);
}

#[test]
fn what_takes_no_memory_stays() {
    let body = program(&[f64s(&[4]), f64s(&[6])], |g| {
        let index = g.add(Op::Iota(4), &[]);
        let map = crate::affine::AffineMap::along(&[4], 0, 3, -1, 4);
        let reversed = g.add(Op::View(map), &[index]);
        let read = g.add(Op::Gather, &[1, reversed]);
        let half = g.add(Op::Constant(Array::full(&[4], Value::F64(0.5))), &[]);
        let scaled = g.add(Op::Binary(Binary::Mul), &[0, half]);
        vec![g.add(Op::Binary(Binary::Add), &[scaled, read])]
    });
    assert_eq!(folded(&body), body);
    // A large mask of a comparison is compared again; a table of a longer chain is read.
    let n = 5000;
    let mask = |long: bool| {
        program(&[f64s(&[n])], |g| {
            let index = if long { squares(g, n) } else { g.add(Op::Iota(n), &[]) };
            let limit = g.add(Op::Constant(Array::full(&[n], Value::I64(3))), &[]);
            let mask = g.add(Op::Compare(Comparison::Less), &[index, limit]);
            let zero = g.add(Op::Constant(Array::full(&[n], Value::F64(0.0))), &[]);
            vec![g.add(Op::Select, &[mask, 0, zero])]
        })
    };
    let short = mask(false);
    assert_eq!(folded(&short), short);
    let mut names = operations(&folded(&mask(true)));
    names.sort_unstable();
    assert_eq!(names, ["constant", "constant", "select"]);
}

#[test]
fn sums_and_multiples_of_positions_stay() {
    let body = program(&[f64s(&[90])], |g| {
        let index = g.add(Op::Iota(20), &[]);
        let thirds = with(g, Binary::Mul, index, 3);
        let shifted = with(g, Binary::Add, thirds, 1);
        let ones = g.add(Op::Constant(Array::full(&[20], Value::F64(1.0))), &[]);
        vec![g.add(Op::ScatterSet, &[0, ones, shifted])]
    });
    assert_eq!(folded(&body), body);
}

#[test]
fn tables_are_bounded() {
    let body = program(&[f64s(&[7])], |g| {
        let (first, second) = (squares(g, 20), squares(g, 30));
        vec![g.add(Op::Gather, &[0, first]), g.add(Op::Gather, &[0, second])]
    });
    let remainders = |limits: TableLimits| {
        let folded = fold_within(&body, limits);
        operations(&folded).iter().filter(|&&name| name == "rem").count()
    };
    assert_eq!(remainders(TableLimits { each: 100, all: 100 }), 0);
    assert_eq!(remainders(TableLimits { each: 25, all: 100 }), 1);
    assert_eq!(remainders(TableLimits { each: 100, all: 40 }), 1);
    assert_eq!(remainders(TableLimits { each: 19, all: 100 }), 2);
    assert_eq!(fold_within(&body, TableLimits { each: 19, all: 100 }), Cow::Borrowed(&body));
}

#[test]
fn bodies_of_loops_are_folded_once() {
    let step = program(&[f64s(&[7])], |g| {
        let index = squares(g, 7);
        vec![g.add(Op::Gather, &[0, index])]
    });
    let scan = |length| Scan { body: Arc::new(step.clone()), carries: 1, inputs: 0, length, reverse: false };
    let first = Arc::new(scan(3));
    let second = Arc::new(Scan { length: 2, ..Scan::clone(&first) });
    let body = program(&[f64s(&[7])], |g| {
        let once = g.add(Op::Scan(first), &[0]);
        let once = g.add(Op::Output(0), &[once]);
        let twice = g.add(Op::Scan(second), &[once]);
        vec![g.add(Op::Output(0), &[twice])]
    });
    let folded = folded(&body);
    let bodies: Vec<&Arc<Body>> = folded.nodes.iter().flat_map(|node| node.op.bodies()).collect();
    assert_eq!(operations(bodies[0]), ["constant", "gather"]);
    assert!(Arc::ptr_eq(bodies[0], bodies[1]), "both loops share one table");
}

/// Where there is no memory for a table, what stands beside it is folded nevertheless.
#[test]
fn values_that_fit_no_memory_stay() {
    let mut inner: Graph = Graph::new(&[Type::scalar(DType::F64)], 0);
    let index = inner.add(Op::Iota(7), &[]);
    let numbers = inner.add(Op::Cast(DType::F64), &[index]);
    let sines = inner.add(Op::Unary(Unary::Sin), &[numbers]);
    let sum = inner.add(Op::Reduce(Reduction::Sum, smallvec![0]), &[sines]);
    let next = inner.add(Op::Binary(Binary::Add), &[0, sum]);
    let step = Arc::new(inner.finish(&[next]));
    let mut graph: Graph = Graph::new(&[Type::scalar(DType::F64)], 0);
    let scan = Scan { body: step, carries: 1, inputs: 0, length: 3, reverse: false };
    let repeated = graph.add(Op::Scan(Arc::new(scan)), &[0]);
    let last = graph.add(Op::Output(0), &[repeated]);
    let index = graph.add(Op::Iota(1 << 50), &[]);
    let squares = graph.add(Op::Binary(Binary::Mul), &[index, index]);
    let body = graph.finish(&[last, squares]);
    let folded = fold_within(&body, TableLimits { each: usize::MAX, all: usize::MAX });
    assert_eq!(folded.nodes().len(), body.nodes().len());
    let Some(Op::Scan(scan)) = folded.nodes().iter().map(|node| &node.op).find(|op| op.is_multiple()) else {
        panic!("there is a loop");
    };
    assert!(scan.body.nodes().len() < 6, "the step's sum is a constant");
}
