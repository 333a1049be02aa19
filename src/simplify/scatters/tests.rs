use crate::affine::AffineMap;
use crate::array::Array;
use crate::derivative::program::tidy;
use crate::operation::{Binary, Contraction, Extreme, Label, Reduction, Unary};
use crate::shape::{Axes, Type, Value};
use crate::simplify::check::{checked, checked_finite, f64s, i64s, operations, program};
use crate::term::{Body, Graph, NodeId, Op};

const N: usize = 6;
const K: usize = 4;
const D: usize = 3;

/// The scatter of updates, one for each row, at the smallest element of each row of the distances.
fn nearest(g: &mut Graph, distances: NodeId, updates: NodeId) -> NodeId {
    let rows = g.add(Op::Iota(N), &[]);
    let columns = g.add(Op::ArgReduce(Extreme::Min, 1), &[distances]);
    g.add(Op::Scatter([N, K].as_slice().into()), &[updates, rows, columns])
}

fn ones(g: &mut Graph, shape: &[usize]) -> NodeId {
    g.add(Op::Constant(Array::full(shape, Value::F64(1.0))), &[])
}

fn contract(g: &mut Graph, labels: [&[Label]; 3], left: NodeId, right: NodeId) -> NodeId {
    g.add(Op::Contract(Contraction::new(labels[0], labels[1], labels[2])), &[left, right])
}

fn spread(g: &mut Graph, node: NodeId, shape: &[usize], axes: &[usize]) -> NodeId {
    let map = AffineMap::broadcast(&g.ty(node).shape.clone(), shape, axes);
    g.add(Op::View(map), &[node])
}

fn total(g: &mut Graph, node: NodeId, axes: &[usize]) -> NodeId {
    g.add(Op::Reduce(Reduction::Sum, Axes::from_slice(axes)), &[node])
}

/// How often an operation occurs.
fn count(body: &Body, name: &str) -> usize {
    operations(body).iter().filter(|&&other| other == name).count()
}

/// The contraction of nearest updates with another array.
fn contracted(labels: [&[Label]; 3], other: &[usize]) -> Body {
    let body = program(&[f64s(&[N, K]), f64s(&[N]), f64s(other)], |g| {
        let scatter = nearest(g, 0, 1);
        vec![contract(g, labels, scatter, 2)]
    });
    checked_finite(&body)
}

#[test]
fn a_contraction_with_a_scatter_reads_what_the_updates_meet() {
    // Rows are added up by their nearest column.
    let ones = program(&[f64s(&[N, K]), f64s(&[N, D])], |g| {
        let updates = ones(g, &[N]);
        let scatter = nearest(g, 0, updates);
        vec![contract(g, [&[0, 1], &[0, 2], &[1, 2]], scatter, 1)]
    });
    assert_eq!(operations(&checked_finite(&ones)), ["arg_reduce", "scatter"]);
    assert_eq!(operations(&contracted([&[0, 1], &[0, 2], &[1, 2]], &[N, D])), ["arg_reduce", "view", "mul", "scatter"]);
    // The array that is read has the columns too: only the nearest of each row is used.
    let read = contracted([&[0, 1], &[0, 1, 2], &[1, 2]], &[N, K, D]);
    assert_eq!((count(&read, "gather"), count(&read, "scatter"), count(&read, "contract")), (1, 1, 0));
    assert_eq!(read.cost().largest, (N * D) as u128);
    // The column is summed: a row of the table for each row.
    let looked_up = contracted([&[0, 1], &[1, 2], &[0, 2]], &[K, D]);
    assert_eq!((count(&looked_up, "gather"), count(&looked_up, "scatter")), (1, 0));
    // Both are: the updates' product with the elements that they meet.
    let all = contracted([&[0, 1], &[0, 1], &[]], &[N, K]);
    assert_eq!(operations(&all), ["iota", "arg_reduce", "gather", "contract"]);
    // Both stay, in either order, with an axis of the other array between.
    let outer = contracted([&[0, 1], &[1, 2], &[1, 2, 0]], &[K, D]);
    assert_eq!((count(&outer, "contract"), count(&outer, "scatter")), (0, 1));
}

#[test]
fn rows_of_updates_are_contracted_with_what_they_meet() {
    let body = program(&[f64s(&[N, K]), f64s(&[N, D]), f64s(&[N, D])], |g| {
        let scatter = nearest(g, 0, 1);
        vec![contract(g, [&[0, 1, 2], &[0, 2], &[1]], scatter, 2)]
    });
    assert_eq!(operations(&checked_finite(&body)), ["arg_reduce", "contract", "scatter"]);
    // A product of rows for each update would be larger than the original arrays.
    let body = program(&[f64s(&[N, K]), f64s(&[N, 30]), f64s(&[N, 20])], |g| {
        let scatter = nearest(g, 0, 1);
        vec![contract(g, [&[0, 1, 2], &[0, 3], &[1, 2, 3]], scatter, 2)]
    });
    assert_eq!(count(&checked_finite(&body), "contract"), 1);
}

#[test]
fn a_batch_of_scatters_is_one() {
    let (b, shape) = (2, [2, N, K]);
    let body = program(&[f64s(&shape), f64s(&[b, N]), f64s(&[b, N, D])], |g| {
        let (outer, rows) = (g.add(Op::Iota(b), &[]), g.add(Op::Iota(N), &[]));
        let (outer, rows) = (spread(g, outer, &[b, N], &[0]), spread(g, rows, &[b, N], &[1]));
        let columns = g.add(Op::ArgReduce(Extreme::Max, 2), &[0]);
        let scatter = g.add(Op::Scatter(shape.as_slice().into()), &[1, outer, rows, columns]);
        vec![contract(g, [&[0, 1, 2], &[0, 1, 3], &[0, 2, 3]], scatter, 2)]
    });
    let simple = checked_finite(&body);
    assert_eq!((count(&simple, "contract"), count(&simple, "scatter"), count(&simple, "gather")), (0, 1, 0));
}

#[test]
fn the_gather_moves_into_what_is_read() {
    let shape = [N, K, D];
    let body = program(&[f64s(&[N, K]), f64s(&[N, D]), f64s(&[K, D])], |g| {
        let updates = ones(g, &[N]);
        let scatter = nearest(g, 0, updates);
        let (points, centres) = (spread(g, 1, &shape, &[0, 2]), spread(g, 2, &shape, &[1, 2]));
        let difference = g.add(Op::Binary(Binary::Sub), &[points, centres]);
        vec![contract(g, [&[0, 1], &[0, 1, 2], &[1, 2]], scatter, difference)]
    });
    let simple = tidy(&checked_finite(&body));
    assert_eq!(operations(&simple), ["arg_reduce", "gather", "sub", "scatter"]);
}

#[test]
fn two_scatters_meet_where_they_have_the_same_position() {
    let body = program(&[f64s(&[N, K]), f64s(&[N, K]), f64s(&[N]), f64s(&[N])], |g| {
        let (left, right) = (nearest(g, 0, 2), nearest(g, 1, 3));
        vec![contract(g, [&[0, 1], &[0, 1], &[0]], left, right)]
    });
    let simple = checked_finite(&body);
    assert_eq!(simple.cost().largest, N as u128);
    assert_eq!((count(&simple, "scatter"), count(&simple, "gather"), count(&simple, "eq")), (0, 0, 1));
    let squared = program(&[f64s(&[N, K]), f64s(&[N])], |g| {
        let scatter = nearest(g, 0, 1);
        vec![g.add(Op::Binary(Binary::Mul), &[scatter, scatter])]
    });
    assert_eq!(operations(&checked_finite(&squared)), ["iota", "arg_reduce", "mul", "scatter"]);
}

#[test]
fn elementwise_operations_happen_to_updates() {
    let operation = |op: Binary, turned: bool| {
        let body = program(&[f64s(&[N, K]), f64s(&[N]), f64s(&[N, K])], |g| {
            let scatter = nearest(g, 0, 1);
            let operands = if turned { [2, scatter] } else { [scatter, 2] };
            vec![g.add(Op::Binary(op), &operands)]
        });
        operations(&checked_finite(&body))
    };
    for (op, name) in [(Binary::Mul, "mul"), (Binary::KeepZero, "keep_zero")] {
        for turned in [false, true] {
            assert_eq!(operation(op, turned), ["iota", "arg_reduce", "gather", name, "scatter"]);
        }
    }
    // The scatter is repeated, and transposed.
    let shape = [K, D, N];
    let body = program(&[f64s(&[N, K]), f64s(&[N]), f64s(&shape)], |g| {
        let scatter = nearest(g, 0, 1);
        let scatter = spread(g, scatter, &shape, &[2, 0]);
        vec![g.add(Op::Binary(Binary::Mul), &[scatter, 2])]
    });
    let simple = checked_finite(&body);
    assert_eq!((count(&simple, "mul"), count(&simple, "scatter")), (1, 1));
    let products = simple.nodes.iter().find(|node| node.op == Op::Binary(Binary::Mul)).expect("a product");
    assert_eq!(products.ty().size(), N * D);
    // Signs, sums at the same positions, masks.
    let body = program(&[f64s(&[N, K]), f64s(&[N]), f64s(&[N]), Type::new(crate::shape::DType::Bool, &[N, K])], |g| {
        let (left, right) = (nearest(g, 0, 1), nearest(g, 0, 2));
        let negative = g.add(Op::Unary(Unary::Neg), &[left]);
        let zero = g.add(Op::Constant(Array::full(&[N, K], Value::F64(0.0))), &[]);
        let masked = g.add(Op::Select, &[3, zero, right]);
        vec![g.add(Op::Binary(Binary::Sub), &[negative, masked])]
    });
    let simple = checked_finite(&body);
    assert_eq!((count(&simple, "scatter"), count(&simple, "gather")), (1, 1));
    let large = simple.nodes[simple.arity()..].iter().filter(|node| node.ty().size() > N);
    assert_eq!(large.count(), 1, "only the scatter is larger than the updates: {simple}");
}

#[test]
fn sums_of_scatters_have_the_axes_that_are_left() {
    let summed = |axes: &[usize]| {
        let body = program(&[f64s(&[N, K]), f64s(&[N, D])], |g| {
            let scatter = nearest(g, 0, 1);
            vec![total(g, scatter, axes)]
        });
        operations(&checked(&body))
    };
    assert_eq!(summed(&[0]), ["arg_reduce", "scatter"]);
    assert!(summed(&[1]).is_empty());
    assert_eq!(summed(&[0, 1]), ["reduce"]);
    assert_eq!(summed(&[0, 2]), ["arg_reduce", "reduce", "scatter"]);
    assert_eq!(summed(&[1, 2]), ["reduce"]);
}

#[test]
fn updates_that_may_be_outside_are_masked_or_left() {
    let given = |op: &dyn Fn(&mut Graph, NodeId) -> NodeId| {
        let body = program(&[i64s(&[N]), f64s(&[N]), f64s(&[N, K])], |g| {
            let rows = g.add(Op::Iota(N), &[]);
            let scatter = g.add(Op::Scatter([N, K].as_slice().into()), &[1, rows, 0]);
            vec![op(g, scatter)]
        });
        checked_finite(&body)
    };
    let masked = given(&|g, scatter| total(g, scatter, &[1]));
    assert_eq!((count(&masked, "scatter"), count(&masked, "select")), (0, 1));
    // The other axis is the one whose positions are known.
    let kept = given(&|g, scatter| total(g, scatter, &[0]));
    assert_eq!(operations(&kept), ["scatter"]);
    // A product that is not summed may have positions outside; a summed one must have all positions inside.
    let product = given(&|g, scatter| g.add(Op::Binary(Binary::Mul), &[scatter, 2]));
    assert_eq!(operations(&product), ["iota", "gather", "mul", "scatter"]);
    let summed = given(&|g, scatter| contract(g, [&[0, 1], &[0, 1], &[0]], scatter, 2));
    assert_eq!(operations(&summed), ["iota", "scatter", "contract"]);
    let by_column = given(&|g, scatter| contract(g, [&[0, 1], &[0, 1], &[1]], scatter, 2));
    assert_eq!(operations(&by_column), ["iota", "gather", "mul", "scatter"]);
}

#[test]
fn scatters_of_many_updates_stay() {
    // As many updates as elements: a gather of the other factor would be no less work.
    let body = program(&[i64s(&[N]), f64s(&[N]), f64s(&[N])], |g| {
        let scatter = g.add(Op::Scatter([N].as_slice().into()), &[1, 0]);
        let negative = g.add(Op::Unary(Unary::Neg), &[scatter]);
        vec![g.add(Op::Binary(Binary::Mul), &[scatter, 2]), total(g, scatter, &[0]), negative]
    });
    assert_eq!(operations(&checked(&body)), ["scatter", "neg", "mul", "reduce"]);
    // Positions that may be written twice.
    let body = program(&[i64s(&[2]), f64s(&[2])], |g| {
        let scatter = g.add(Op::Scatter([N].as_slice().into()), &[1, 0]);
        vec![g.add(Op::Gather, &[scatter, 0])]
    });
    assert_eq!(operations(&checked(&body)), ["scatter", "gather"]);
}

/// A scatter that is repeated along an axis that the other operand lacks.
#[test]
fn scatters_are_repeated_along_axes_of_their_own() {
    let repeated = |labels: [&[Label]; 3], other: &[usize]| {
        let body = program(&[f64s(&[N, K]), f64s(&[N]), f64s(other)], |g| {
            let scatter = nearest(g, 0, 1);
            let scatter = spread(g, scatter, &[N, K, 2], &[0, 1]);
            vec![contract(g, labels, scatter, 2)]
        });
        checked_finite(&body)
    };
    assert_eq!(count(&repeated([&[0, 1, 2], &[3], &[3, 0, 1, 2]], &[D]), "scatter"), 1);
    // Each row has one update: it is a row of the other operand, times a number.
    assert_eq!(count(&repeated([&[0, 1, 2], &[1, 3], &[0, 2, 3]], &[K, D]), "gather"), 1);
}

#[test]
fn a_write_over_a_write_is_all_that_remains() {
    let body = program(&[f64s(&[5]), f64s(&[3]), f64s(&[3]), i64s(&[3]), i64s(&[3])], |g| {
        let first = g.add(Op::ScatterSet, &[0, 1, 3]);
        let second = g.add(Op::ScatterSet, &[first, 2, 3]);
        let elsewhere = g.add(Op::ScatterSet, &[first, 2, 4]);
        vec![second, elsewhere]
    });
    let simplified = checked(&body);
    assert_eq!(count(&simplified, "scatter_set"), 3);
    let target = |result: usize| simplified.nodes[simplified.results[result] as usize].args[0];
    assert_eq!(target(0), 0, "what was written first is gone");
    assert_ne!(target(1), 0, "other elements may have been written first");
}
