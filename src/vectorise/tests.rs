use super::random::{Random, parameters, program};
use super::{push_gathers, push_reads, vectorise};
use crate::affine::AffineMap;
use crate::array::Array;
use crate::concrete::Concrete;
use crate::operation::{Binary, Comparison, Contraction, Reduction, Unary};
use crate::shape::{Axes, DType, Shape, Type, Value};
use crate::simplify::simplify;
use crate::term::interpret::interpret;
use crate::term::{Body, Branch, Build, Extension, Graph, NodeId, Op, Scan, interpret_source};
use std::sync::Arc;

fn assert_close(found: &[Array], expected: &[Array], what: &str) {
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(expected) {
        assert_eq!(a.ty(), b.ty(), "{what}");
        for at in 0..a.size() {
            let (x, y) = (a.element(at).to_f64(), b.element(at).to_f64());
            let close = (x - y).abs() <= 1e-9 * (1.0 + y.abs()) || x == y || (x.is_nan() && y.is_nan());
            assert!(close, "{what}: element {at} is {x}, not {y}");
        }
    }
}

/// Runs the program directly, vectorised, and with reads pushed, before and after simplifying; returns the last form.
fn check(body: &Body<Build>, arguments: &[Array]) -> Body {
    let expected = interpret_source::<Concrete>(body, arguments.to_vec());
    let bulk = vectorise(body);
    assert_close(&interpret::<Concrete>(&bulk, arguments.to_vec()), &expected, "vectorised");
    let pushed = push_reads(&bulk);
    assert_close(&interpret::<Concrete>(&pushed, arguments.to_vec()), &expected, "reads pushed");
    let pushed = push_gathers(&bulk);
    assert_close(&interpret::<Concrete>(&pushed, arguments.to_vec()), &expected, "gathers pushed");
    let pushed = push_reads(&simplify(&bulk));
    assert_close(&interpret::<Concrete>(&pushed, arguments.to_vec()), &expected, "simplified, reads pushed");
    pushed
}

fn vector(elements: &[f64]) -> Array {
    Array::from_vec(&[elements.len()], elements.to_vec())
}

fn f64s(shape: &[usize]) -> Type {
    Type::new(DType::F64, shape)
}

fn i64s(shape: &[usize]) -> Type {
    Type::new(DType::I64, shape)
}

fn graph<X: Extension>(types: &[Type]) -> Graph<X> {
    Graph::new(types, 0)
}

fn full<X: Extension>(g: &mut Graph<X>, shape: &[usize], value: Value) -> NodeId {
    g.add(Op::Constant(Array::full(shape, value)), &[])
}

fn build(
    g: &mut Graph<Build>,
    extents: &[usize],
    captures: &[NodeId],
    f: impl FnOnce(&mut Graph<Build>, &[NodeId], &[NodeId]) -> NodeId,
) -> NodeId {
    let mut types = vec![i64s(&[]); extents.len()];
    types.extend(captures.iter().map(|&id| g.ty(id).clone()));
    let mut inner = Graph::new(&types, captures.len());
    let ids: Vec<NodeId> = (0..types.len() as NodeId).collect();
    let result = f(&mut inner, &ids[..extents.len()], &ids[extents.len()..]);
    let body = Arc::new(inner.finish(&[result]));
    g.add(Op::Extra(Build { extents: Shape::from_slice(extents), body }), captures)
}

fn binary<X: Extension>(g: &mut Graph<X>, op: Binary, a: NodeId, b: NodeId) -> NodeId {
    g.add(Op::Binary(op), &[a, b])
}

fn shifted(g: &mut Graph<Build>, index: NodeId, by: i64) -> NodeId {
    let by = full(g, &[], Value::I64(by));
    binary(g, Binary::Add, index, by)
}

fn count(body: &Body, wanted: impl Fn(&Op) -> bool) -> usize {
    body.nodes.iter().filter(|node| wanted(&node.op)).count()
}

/// The largest array that the program computes, views, iotas and constants left out: those need no memory of their own.
fn largest(body: &Body) -> usize {
    let free = |op: &Op| matches!(op, Op::View(_) | Op::Iota(_) | Op::Constant(_) | Op::Parameter(_));
    body.nodes.iter().filter(|node| !free(&node.op)).flat_map(|node| &node.types).map(Type::size).max().unwrap_or(0)
}

#[test]
fn a_dot_product_is_a_sum_of_a_product() {
    let mut g = graph(&[f64s(&[3]), f64s(&[3])]);
    let products = build(&mut g, &[3], &[0, 1], |g, i, x| {
        let (a, b) = (g.add(Op::Gather, &[x[0], i[0]]), g.add(Op::Gather, &[x[1], i[0]]));
        binary(g, Binary::Mul, a, b)
    });
    let sum = g.add(Op::Reduce(Reduction::Sum, Shape::from_slice(&[0])), &[products]);
    let bulk = vectorise(&g.finish(&[sum]));
    let ops: Vec<&Op> = bulk.nodes[2..].iter().map(|node| &node.op).collect();
    assert!(
        matches!(ops[..], [Op::Iota(3), Op::Gather, Op::Gather, Op::Binary(Binary::Mul), Op::Reduce(..)]),
        "{ops:?}"
    );
    let result = interpret::<Concrete>(&bulk, vec![vector(&[1.0, 2.0, 3.0]), vector(&[4.0, 5.0, 6.0])]);
    assert_eq!(result[0].element(0), Value::F64(32.0));
}

#[test]
fn a_concatenation_written_as_a_build_reads_outside_and_does_not_crash() {
    let mut g = graph(&[f64s(&[10])]);
    let twice = build(&mut g, &[20], &[0], |g, i, x| {
        let ten = full(g, &[], Value::I64(10));
        let mask = g.add(Op::Compare(Comparison::Less), &[i[0], ten]);
        let back = shifted(g, i[0], -10);
        let (a, b) = (g.add(Op::Gather, &[x[0], i[0]]), g.add(Op::Gather, &[x[0], back]));
        g.add(Op::Select, &[mask, a, b])
    });
    let x: Vec<f64> = (0..10).map(f64::from).collect();
    check(&g.finish(&[twice]), &[vector(&x)]);
}

#[test]
fn a_naive_matrix_product_keeps_its_operands_unbatched() {
    let (m, q, n) = (2, 3, 4);
    let mut g = graph(&[f64s(&[m, q]), f64s(&[q, n])]);
    let product = build(&mut g, &[m], &[0, 1], |g, i, x| {
        build(g, &[n], &[i[0], x[0], x[1]], |g, j, x| {
            let terms = build(g, &[q], &[x[0], j[0], x[1], x[2]], |g, p, x| {
                let a = g.add(Op::Gather, &[x[2], x[0], p[0]]);
                let b = g.add(Op::Gather, &[x[3], p[0], x[1]]);
                binary(g, Binary::Mul, a, b)
            });
            g.add(Op::Reduce(Reduction::Sum, Shape::from_slice(&[0])), &[terms])
        })
    });
    let body = g.finish(&[product]);
    let bulk = vectorise(&body);
    // Each operand is read where it stands, once per pair of indices that it depends on.
    for node in bulk.nodes.iter().filter(|node| node.op == Op::Gather) {
        assert!(node.args[0] < 2);
        assert_eq!(node.ty().rank(), 2);
    }
    let mut random = Random::new(1);
    check(&body, &[random.array(&f64s(&[m, q])), random.array(&f64s(&[q, n]))]);
}

/// `build([n, n], |i, j| select(i < j, exp(x[i]), x[j]))`, never materialised, for a consumer.
fn triangle(g: &mut Graph<Build>, n: usize) -> NodeId {
    build(g, &[n, n], &[0], |g, i, x| {
        let mask = g.add(Op::Compare(Comparison::Less), &[i[0], i[1]]);
        let (a, b) = (g.add(Op::Gather, &[x[0], i[0]]), g.add(Op::Gather, &[x[0], i[1]]));
        let a = g.add(Op::Unary(Unary::Exp), &[a]);
        g.add(Op::Select, &[mask, a, b])
    })
}

#[test]
fn one_element_of_a_huge_build_is_computed_alone() {
    let n = 1_000_000;
    let mut g = graph(&[f64s(&[n])]);
    let all = triangle(&mut g, n);
    let (i, j) = (full(&mut g, &[], Value::I64(3)), full(&mut g, &[], Value::I64(7)));
    let one = g.add(Op::Gather, &[all, i, j]);
    let pushed = push_reads(&vectorise(&g.finish(&[one])));
    assert_eq!(largest(&pushed), 1, "{pushed:?}");
    let x = Array::full(&[n], Value::F64(2.0));
    assert_eq!(interpret::<Concrete>(&pushed, vec![x])[0].element(0), Value::F64(2f64.exp()));
}

#[test]
fn one_row_of_a_huge_build_is_summed_alone() {
    let n = 100_000;
    for gathered in [false, true] {
        let mut g = graph(&[f64s(&[n])]);
        let all = triangle(&mut g, n);
        let sum = if gathered {
            let i = full(&mut g, &[], Value::I64(5));
            let row = g.add(Op::Gather, &[all, i]);
            g.add(Op::Reduce(Reduction::Sum, Shape::from_slice(&[0])), &[row])
        } else {
            let rows = g.add(Op::Reduce(Reduction::Sum, Shape::from_slice(&[1])), &[all]);
            g.add(Op::View(AffineMap::pick(&[n], 0, 5)), &[rows])
        };
        let pushed = push_reads(&vectorise(&g.finish(&[sum])));
        assert!(largest(&pushed) <= n, "{}", largest(&pushed));
        let x = Array::full(&[n], Value::F64(0.0));
        assert_eq!(interpret::<Concrete>(&pushed, vec![x])[0].element(0), Value::F64((n - 6) as f64));
    }
}

#[test]
fn a_row_out_of_a_reshaped_huge_array_is_read_alone() {
    let n = 1_000_000;
    let mut g = graph(&[f64s(&[n])]);
    let all = triangle(&mut g, n);
    let folded = g.add(Op::Reshape(Shape::from_slice(&[1000, 1000, 500, 2000])), &[all]);
    let i = full(&mut g, &[], Value::I64(2));
    let row = g.add(Op::Gather, &[folded, i, i, i]);
    let pushed = push_reads(&vectorise(&g.finish(&[row])));
    assert!(largest(&pushed) <= 2000, "{}", largest(&pushed));
    let x: Vec<f64> = (0..n).map(|at| at as f64 * 1e-6).collect();
    let found = interpret::<Concrete>(&pushed, vec![vector(&x)]);
    for k in 0..2000 {
        let (i, j) = (2002, 2 * 2000 + k);
        let expected = if i < j { x[i].exp() } else { x[j] };
        assert_eq!(found[0].element(k), Value::F64(expected));
    }
}

#[test]
fn shared_reads_keep_a_node() {
    let n = 5;
    let mut g = graph(&[f64s(&[n]), i64s(&[n]), i64s(&[n])]);
    let mut u = 0;
    for _ in 0..20 {
        u = build(&mut g, &[n], &[u, 1, 2], |g, i, x| {
            let (p, q) = (g.add(Op::Gather, &[x[1], i[0]]), g.add(Op::Gather, &[x[2], i[0]]));
            let (a, b) = (g.add(Op::Gather, &[x[0], p]), g.add(Op::Gather, &[x[0], q]));
            let sum = binary(g, Binary::Add, a, b);
            let scaled = g.add(Op::Unary(Unary::Neg), &[sum]);
            g.add(Op::Unary(Unary::Exp), &[scaled])
        });
    }
    let x = vector(&[0.1, 0.2, 0.3, 0.4, 0.5]);
    let p = Array::from_vec(&[n], vec![4i64, 0, 2, 2, 1]);
    let q = Array::from_vec(&[n], vec![1i64, 1, 0, 7, 3]);
    let pushed = check(&g.finish(&[u]), &[x, p, q]);
    assert_eq!(count(&pushed, |op| *op == Op::Unary(Unary::Exp)), 20);
    assert_eq!(largest(&pushed), n);
}

#[test]
fn one_element_of_a_long_chain_of_doubled_reads_stays_linear() {
    let n = 1_000_000;
    let mut g = graph(&[f64s(&[n]), i64s(&[n]), i64s(&[n])]);
    let mut u = 0;
    for _ in 0..200 {
        let (a, b) = (g.add(Op::Gather, &[u, 1]), g.add(Op::Gather, &[u, 2]));
        let sum = binary(&mut g, Binary::Add, a, b);
        u = g.add(Op::Unary(Unary::Sin), &[sum]);
    }
    let one = g.add(Op::View(AffineMap::pick(&[n], 0, 3)), &[u]);
    let bulk: Body = g.finish(&[one]);
    assert!(push_reads(&bulk).nodes.len() < 3 * bulk.nodes.len());
}

#[test]
fn a_stencil_reads_by_guarded_views() {
    let n = 6;
    let mut g = graph(&[f64s(&[n])]);
    let u = g.add(Op::Unary(Unary::Exp), &[0]);
    let stencil = build(&mut g, &[n], &[u], |g, i, x| {
        let (left, right) = (shifted(g, i[0], -1), shifted(g, i[0], 1));
        let (a, b) = (g.add(Op::Gather, &[x[0], left]), g.add(Op::Gather, &[x[0], right]));
        binary(g, Binary::Sub, a, b)
    });
    let pushed = check(&g.finish(&[stencil]), &[vector(&[0.5, 1.0, -1.0, 2.0, 0.0, 0.25])]);
    assert_eq!(count(&pushed, |op| *op == Op::Unary(Unary::Exp)), 1);
    // With a single shift, the exponential is computed for the shifted elements only, under a mask.
    let mut g = graph(&[f64s(&[n])]);
    let u = g.add(Op::Unary(Unary::Exp), &[0]);
    let shift = g.add(Op::View(AffineMap::along(&[n], 0, -1, 1, n - 1)), &[u]);
    let pushed = check(&g.finish(&[shift]), &[vector(&[0.5, 1.0, -1.0, 2.0, 0.0, 0.25])]);
    assert_eq!(largest(&pushed), n - 1);
    assert_eq!(count(&pushed, |op| *op == Op::Select), 1);
}

#[test]
fn a_read_that_may_fall_outside_moves_through_products_without_a_guard() {
    let mut g: Graph<Build> = graph(&[f64s(&[4]), f64s(&[4])]);
    let two = full(&mut g, &[4], Value::F64(2.0));
    let product = binary(&mut g, Binary::Mul, 0, 1);
    let scaled = binary(&mut g, Binary::Mul, product, two);
    let shifted = g.add(Op::View(AffineMap::along(&[4], 0, 2, 1, 3)), &[scaled]);
    let pushed = check(&g.finish(&[shifted]), &[vector(&[1.0, 2.0, 3.0, 4.0]), vector(&[5.0, 6.0, 7.0, 8.0])]);
    assert_eq!(count(&pushed, |op| *op == Op::Select), 0);
    assert_eq!(largest(&pushed), 3);
}

#[test]
fn a_guard_is_made_once_for_a_chain() {
    let mut g: Graph<Build> = graph(&[f64s(&[8]), i64s(&[3])]);
    let mut u = 0;
    for _ in 0..5 {
        u = g.add(Op::Unary(Unary::Cos), &[u]);
    }
    let read = g.add(Op::Gather, &[u, 1]);
    let x = vector(&[0.5, 1.0, -1.0, 2.0, 0.0, 0.25, 3.0, -2.0]);
    let pushed = check(&g.finish(&[read]), &[x, Array::from_vec(&[3], vec![7i64, -1, 8])]);
    assert_eq!(count(&pushed, |op| *op == Op::Select), 1);
    assert_eq!(largest(&pushed), 3);
}

#[test]
fn a_row_of_a_product_is_a_product_with_a_row() {
    let mut g: Graph<Build> = graph(&[f64s(&[5, 3]), f64s(&[3, 4])]);
    let product = g.add(Op::Contract(Contraction::new(&[0, 1], &[1, 2], &[0, 2])), &[0, 1]);
    let diagonal =
        AffineMap::new(&[5, 4], &[4], &[Shape::new(), Shape::new()].map(|_| smallvec::smallvec![1i64]), &[1, 0]);
    let (row, corner) = (AffineMap::pick(&[5, 4], 0, 2), diagonal);
    let mut random = Random::new(3);
    let arguments = [random.array(&f64s(&[5, 3])), random.array(&f64s(&[3, 4]))];
    for map in [row, corner] {
        let mut h: Graph<Build> = graph(&[f64s(&[5, 3]), f64s(&[3, 4])]);
        let product = h.add(g.node(product).op.clone(), &[0, 1]);
        let read = h.add(Op::View(map), &[product]);
        let pushed = check(&h.finish(&[read]), &arguments);
        assert_eq!(largest(&pushed), 4);
    }
}

#[test]
fn a_read_outside_of_a_product_is_0_whatever_its_factors_hold() {
    const INF: f64 = f64::INFINITY;
    let types = [f64s(&[4, 2]), f64s(&[2, 3]), i64s(&[2])];
    let arguments = [
        Array::from_vec(&[4, 2], vec![1.0, INF, 2.0, -3.0, INF, 1.0, 0.5, INF]),
        Array::from_vec(&[2, 3], vec![1.0, INF, INF, 4.0, 5.0, -1.0]),
        Array::from_vec(&[2], vec![1i64, 4]),
    ];
    let map = |result: &[usize], rows: [&[i64]; 2], offset: [i64; 2]| {
        AffineMap::new(&[4, 3], result, &rows.map(smallvec::SmallVec::from_slice), &offset)
    };
    let views = [
        (map(&[3], [&[1], &[1]], [0, 1]), 0),
        (map(&[3], [&[2], &[-1]], [-1, 2]), 0),
        (map(&[2, 3], [&[1, 0], &[0, 1]], [3, 0]), 0),
        (map(&[3], [&[1], &[0]], [0, 3]), 0),
        // Two axes go outside together.
        (map(&[2, 2], [&[1, 1], &[0, 0]], [2, 0]), 1),
    ];
    for (view, guards) in views {
        let mut g: Graph<Build> = graph(&types);
        let product = g.add(Op::Contract(Contraction::new(&[0, 1], &[1, 2], &[0, 2])), &[0, 1]);
        let read = g.add(Op::View(view.clone()), &[product]);
        let pushed = check(&g.finish(&[read]), &arguments);
        assert_eq!(count(&pushed, |op| *op == Op::Select), guards, "{view}");
        assert!(largest(&pushed) <= 8, "{view}");
    }
    let mut g: Graph<Build> = graph(&types);
    let product = g.add(Op::Contract(Contraction::new(&[0, 1], &[1, 2], &[0, 2])), &[0, 1]);
    let read = g.add(Op::Gather, &[product, 2]);
    let pushed = check(&g.finish(&[read]), &arguments);
    assert_eq!(count(&pushed, |op| *op == Op::Select), 1);
    // A label of both factors takes both outside.
    let mut g: Graph<Build> = graph(&[f64s(&[4, 2]), f64s(&[4, 2]), i64s(&[2])]);
    let product = g.add(Op::Contract(Contraction::new(&[0, 1], &[0, 1], &[0])), &[0, 1]);
    let read = g.add(Op::Gather, &[product, 2]);
    let [rows, _, positions] = arguments;
    let pushed = check(&g.finish(&[read]), &[rows.clone(), rows, positions]);
    assert_eq!(count(&pushed, |op| *op == Op::Select), 0);
}

#[test]
fn a_loop_inside_a_build_is_a_loop_over_a_batch() {
    // build(3, |i| scan over x of (sum, count): sum' = sum + x[t] * y[i]; outputs sum), and its count, which is
    // squared in each step so that the loop has to keep it, has no axis.
    let mut step: Graph<Build> = Graph::new(&[f64s(&[]), f64s(&[]), f64s(&[]), f64s(&[3]), i64s(&[])], 2);
    let scale = step.add(Op::Gather, &[3, 4]);
    let product = binary(&mut step, Binary::Mul, 2, scale);
    let sum = binary(&mut step, Binary::Add, 0, product);
    let one = full(&mut step, &[], Value::F64(1.0));
    let square = binary(&mut step, Binary::Mul, 1, 1);
    let next = binary(&mut step, Binary::Add, square, one);
    let body = Arc::new(step.finish(&[sum, next, sum]));
    let mut g = graph(&[f64s(&[4]), f64s(&[3])]);
    let result = build(&mut g, &[3], &[0, 1], |g, i, x| {
        let zero = full(g, &[], Value::F64(0.0));
        let scan = Scan { body, carries: 2, inputs: 1, length: 4, reverse: true };
        let node = g.add(Op::Scan(Arc::new(scan)), &[zero, zero, x[0], x[1], i[0]]);
        let outputs: Vec<NodeId> = (0..3).map(|k| g.add(Op::Output(k), &[node])).collect();
        let total = binary(g, Binary::Add, outputs[0], outputs[1]);
        let at = g.add(Op::Gather, &[outputs[2], i[0]]);
        binary(g, Binary::Mul, total, at)
    });
    let body = g.finish(&[result]);
    let bulk = vectorise(&body);
    let Some(Op::Scan(scan)) = bulk.nodes.iter().map(|node| &node.op).find(|op| matches!(op, Op::Scan(_))) else {
        panic!("the loop is gone")
    };
    let carries: Vec<usize> = scan.body.result_types().map(Type::rank).collect();
    assert_eq!(carries, [1, 0, 1]);
    // The build's variable is an iota inside, not a capture.
    assert_eq!(scan.body.captures, 1);
    check(&body, &[vector(&[1.0, 2.0, 3.0, 4.0]), vector(&[0.5, -1.0, 2.0])]);
}

#[test]
fn a_loop_of_large_steps_is_bulk_where_all_of_them_are_little_beside_what_it_reads() {
    // A step sums the sines of 50 products with its captures.
    let looped = |length: usize| {
        let mut step: Graph<Build> = Graph::new(&[f64s(&[]), f64s(&[50])], 1);
        let row = step.add(Op::View(AffineMap::broadcast(&[], &[50], &[])), &[0]);
        let products = binary(&mut step, Binary::Mul, row, 1);
        let sines = step.add(Op::Unary(Unary::Sin), &[products]);
        let sum = step.add(Op::Reduce(Reduction::Sum, Axes::from_slice(&[0])), &[sines]);
        let body = Arc::new(step.finish(&[sum]));
        let mut g = graph(&[f64s(&[length]), f64s(&[50])]);
        let node = g.add(Op::Scan(Arc::new(Scan { body, carries: 0, inputs: 1, length, reverse: false })), &[0, 1]);
        let output = g.add(Op::Output(0), &[node]);
        g.finish(&[output])
    };
    let loops = |body: &Body| body.nodes.iter().filter(|node| matches!(node.op, Op::Scan(_))).count();
    assert_eq!(loops(&vectorise(&looped(2))), 0);
    assert_eq!(loops(&vectorise(&looped(1000))), 1);
    let factors: Vec<f64> = (0..50).map(|at| 0.1 * at as f64).collect();
    check(&looped(2), &[vector(&[0.5, -1.0]), vector(&factors)]);
}

#[test]
fn a_conditional_stays_lazy_outside_builds_and_is_a_select_inside() {
    let side = |op: Unary| {
        let mut g: Graph<Build> = Graph::new(&[f64s(&[3])], 1);
        let result = build(&mut g, &[3], &[0], |g, i, x| {
            let a = g.add(Op::Gather, &[x[0], i[0]]);
            g.add(Op::Unary(op), &[a])
        });
        Arc::new(g.finish(&[result]))
    };
    let branch = Op::Branch(Arc::new(Branch { then: side(Unary::Sin), otherwise: side(Unary::Cos) }));
    let mut g = graph(&[Type::scalar(DType::Bool), f64s(&[3])]);
    let lazy = g.add(branch.clone(), &[0, 1]);
    let lazy = g.add(Op::Output(0), &[lazy]);
    let strict = build(&mut g, &[2], &[1], |g, i, x| {
        let zero = full(g, &[], Value::I64(0));
        let mask = g.add(Op::Compare(Comparison::Equal), &[i[0], zero]);
        let node = g.add(branch, &[mask, x[0]]);
        g.add(Op::Output(0), &[node])
    });
    let body = g.finish(&[lazy, strict]);
    let bulk = vectorise(&body);
    assert_eq!(count(&bulk, |op| matches!(op, Op::Branch(_))), 1);
    assert_eq!(count(&bulk, |op| matches!(op, Op::Select)), 1);
    for truth in [true, false] {
        check(&body, &[Array::full(&[], Value::Bool(truth)), vector(&[1.0, 2.0, 3.0])]);
    }
}

#[test]
fn a_hundred_thousand_nodes_of_depth_take_linear_time() {
    let mut g = graph(&[f64s(&[8])]);
    let deep = build(&mut g, &[8], &[0], |g, i, x| {
        let mut u = g.add(Op::Gather, &[x[0], i[0]]);
        for _ in 0..100_000 {
            u = g.add(Op::Unary(Unary::Sin), &[u]);
        }
        u
    });
    let half = g.add(Op::View(AffineMap::along(&[8], 0, 2, 1, 4)), &[deep]);
    let bulk = vectorise(&g.finish(&[half]));
    let pushed = push_reads(&bulk);
    assert_eq!(largest(&pushed), 4);
    assert!(pushed.nodes.len() < 100_020);
}

#[test]
fn random_programs_keep_their_meaning() {
    let runs = std::env::var("VECTORISE_RUNS").ok().and_then(|n| n.parse().ok()).unwrap_or(1500);
    let first = std::env::var("VECTORISE_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    for seed in first..first + runs {
        let mut random = Random::new(seed);
        let steps = 4 + random.below(20);
        let body = program(&mut random, steps, 2);
        let arguments: Vec<Array> = parameters().iter().map(|ty| random.array(ty)).collect();
        let result = std::panic::catch_unwind(|| check(&body, &arguments));
        assert!(result.is_ok(), "seed {seed}: {body:#?}");
    }
}
