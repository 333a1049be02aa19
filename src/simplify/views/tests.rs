use crate::affine::AffineMap;
use crate::operation::{Binary, Unary};
use crate::shape::{DType, Value};
use crate::simplify::check::{checked, f64s, operations, program, table};
use crate::term::{Body, Graph, NodeId, Op};

fn along(graph: &mut Graph, x: NodeId, axis: usize, start: i64, step: i64, count: usize) -> NodeId {
    let map = AffineMap::along(&graph.ty(x).shape.clone(), axis, start, step, count);
    graph.add(Op::View(map), &[x])
}

fn replicate(graph: &mut Graph, x: NodeId, result: &[usize], axes: &[usize]) -> NodeId {
    let map = AffineMap::broadcast(&graph.ty(x).shape.clone(), result, axes);
    graph.add(Op::View(map), &[x])
}

#[test]
fn views_compose() {
    let body = program(&[f64s(&[6])], |g| {
        let slice = along(g, 0, 0, 1, 2, 3);
        let reversed = along(g, slice, 0, 2, -1, 3);
        vec![replicate(g, reversed, &[2, 3], &[1])]
    });
    assert_eq!(operations(&checked(&body)), ["view"]);
}

#[test]
fn pads_compose_where_that_is_exact() {
    // A pad of a pad, of a reversal, and of an axis of extent 1.
    let body = program(&[f64s(&[4])], |g| {
        let pad = along(g, 0, 0, -1, 1, 7);
        let more = along(g, pad, 0, -2, 1, 12);
        let reversed = along(g, 0, 0, 3, -1, 4);
        let padded = along(g, reversed, 0, -1, 1, 6);
        vec![more, padded]
    });
    assert_eq!(operations(&checked(&body)), ["view", "view"]);
    // A pad of a slice reads none of the elements cut away.
    let body = program(&[f64s(&[6])], |g| {
        let slice = along(g, 0, 0, 2, 1, 2);
        vec![along(g, slice, 0, -2, 1, 6)]
    });
    assert_eq!(operations(&checked(&body)), ["view", "view"]);
    // An axis of extent 1 that the array has anyway.
    let body = program(&[f64s(&[1, 3])], |g| {
        let turned = g.add(Op::View(AffineMap::transpose(&[1, 3], &[1, 0])), &[0]);
        vec![along(g, turned, 1, -2, 1, 5)]
    });
    assert_eq!(operations(&checked(&body)), ["view"]);
}

#[test]
fn constants_are_read() {
    let body = program(&[], |g| {
        let full = g.add(Op::Constant(crate::array::Array::full(&[3], Value::F64(2.0))), &[]);
        let wide = replicate(g, full, &[1000, 3], &[1]);
        let numbers = g.add(table(&[4], &[5, 7, 1, 0]), &[]);
        let some = along(g, numbers, 0, 3, -2, 3);
        let reshaped = g.add(Op::Reshape([3, 1000][..].into()), &[wide]);
        let outside = along(g, numbers, 0, 9, 1, 3);
        vec![wide, some, reshaped, outside]
    });
    assert_eq!(operations(&checked(&body)), ["constant"; 4]);
}

#[test]
fn reshapes_become_views_where_they_are_affine() {
    let reshape = |g: &mut Graph, x, shape: &[usize]| g.add(Op::Reshape(shape.into()), &[x]);
    let body = program(&[f64s(&[2, 3])], |g| {
        let unit = reshape(g, 0, &[2, 1, 3, 1]);
        let back = reshape(g, unit, &[2, 3]);
        let flat = reshape(g, 0, &[6]);
        let other = reshape(g, flat, &[3, 2]);
        vec![unit, back, other]
    });
    assert_eq!(operations(&checked(&body)), ["view", "reshape"]);
    // A replicate keeps being one, split and merged.
    let body = program(&[f64s(&[6])], |g| {
        let wide = replicate(g, 0, &[4, 5, 6], &[2]);
        let merged = reshape(g, wide, &[20, 2, 3]);
        let mixed = reshape(g, wide, &[4, 30]);
        vec![merged, mixed]
    });
    assert_eq!(operations(&checked(&body)), ["view", "view", "reshape"]);
    // A row of a reshaped vector is a slice, an element of a flattened matrix an element.
    let body = program(&[f64s(&[12]), f64s(&[3, 4])], |g| {
        let rows = reshape(g, 0, &[3, 4]);
        let row = g.add(Op::View(AffineMap::pick(&[3, 4], 0, 1)), &[rows]);
        let flat = reshape(g, 1, &[12]);
        let element = g.add(Op::View(AffineMap::pick(&[12], 0, 7)), &[flat]);
        vec![row, element]
    });
    assert_eq!(operations(&checked(&body)), ["view", "view"]);
    let body = program(&[f64s(&[0, 3])], |g| vec![reshape(g, 0, &[3, 0])]);
    checked(&body);
}

#[test]
fn concatenations_join_and_are_read_by_part() {
    let body = program(&[f64s(&[6]), f64s(&[2])], |g| {
        let first = along(g, 0, 0, 0, 1, 2);
        let second = along(g, 0, 0, 2, 1, 4);
        let empty = along(g, 0, 0, 0, 1, 0);
        let whole = g.add(Op::Concatenate(0), &[first, empty, second]);
        let nested = g.add(Op::Concatenate(0), &[whole, 1]);
        let outer = g.add(Op::Concatenate(0), &[1, nested]);
        let part = along(g, outer, 0, 3, 1, 4);
        let last = along(g, outer, 0, 9, -1, 2);
        let straddling = along(g, outer, 0, 1, 1, 4);
        let outside = along(g, outer, 0, -1, 1, 2);
        vec![whole, outer, part, last, straddling, outside]
    });
    let simple = checked(&body);
    assert_eq!(simple.results[0], 0);
    let count = operations(&simple).iter().filter(|&&name| name == "concatenate").count();
    assert_eq!(count, 1);
}

#[test]
fn picks_that_step_evenly_are_a_slice() {
    let body = program(&[f64s(&[9])], |g| {
        let parts: Vec<NodeId> = [7, 5, 3].iter().map(|&at| along(g, 0, 0, at, 1, 1)).collect();
        let other: Vec<NodeId> = [7, 5, 4].iter().map(|&at| along(g, 0, 0, at, 1, 1)).collect();
        vec![g.add(Op::Concatenate(0), &parts), g.add(Op::Concatenate(0), &other)]
    });
    assert_eq!(operations(&checked(&body)), ["view", "view", "view", "concatenate"]);
}

fn elements_of(body: &Body, name: &str) -> Vec<usize> {
    let names = operations(body);
    let nodes = body.nodes[body.arity()..].iter().zip(names);
    nodes.filter(|(_, other)| *other == name).map(|(node, _)| node.ty().size()).collect()
}

#[test]
fn repetition_moves_outwards() {
    let body = program(&[f64s(&[3]), f64s(&[4])], |g| {
        let a = replicate(g, 0, &[3, 4, 5], &[0]);
        let b = replicate(g, 1, &[3, 4, 5], &[1]);
        let two = g.add(Op::Constant(crate::array::Array::full(&[3, 4, 5], Value::F64(2.0))), &[]);
        let exp = g.add(Op::Unary(Unary::Exp), &[a]);
        let sum = g.add(Op::Binary(Binary::Sub), &[exp, b]);
        let power = g.add(Op::Binary(Binary::Pow), &[sum, two]);
        let integer = g.add(Op::Cast(DType::I64), &[power]);
        vec![power, integer]
    });
    let simple = checked(&body);
    assert_eq!(elements_of(&simple, "exp"), [3]);
    assert_eq!(elements_of(&simple, "sub"), [12]);
    assert_eq!(elements_of(&simple, "cast"), [12]);
}

#[test]
fn equal_permutations_move_outwards() {
    let body = program(&[f64s(&[3, 4]), f64s(&[3, 4])], |g| {
        let turn = Op::View(AffineMap::transpose(&[3, 4], &[1, 0]));
        let (a, b) = (g.add(turn.clone(), &[0]), g.add(turn, &[1]));
        let product = g.add(Op::Binary(Binary::Div), &[a, b]);
        let back = g.add(Op::View(AffineMap::transpose(&[4, 3], &[1, 0])), &[product]);
        vec![back]
    });
    assert_eq!(operations(&checked(&body)), ["div"]);
}
