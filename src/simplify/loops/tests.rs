use crate::affine::AffineMap;
use crate::array::Array;
use crate::operation::{Binary, Comparison, Unary};
use crate::shape::{DType, Type, Value};
use crate::simplify::check::{checked, f64s, operations, program};
use crate::term::{Body, Branch, Checkpoints, Graph, NodeId, Op, Scan, Steps, Sweep, Sweeps};
use smallvec::smallvec;
use std::sync::Arc;

fn body(parameters: &[Type], captures: usize, build: impl FnOnce(&mut Graph) -> Vec<NodeId>) -> Arc<Body> {
    let mut graph = Graph::new(parameters, captures);
    let results = build(&mut graph);
    Arc::new(graph.finish(&results))
}

fn outputs(g: &mut Graph, node: NodeId, positions: &[usize]) -> Vec<NodeId> {
    positions.iter().map(|&at| g.add(Op::Output(at), &[node])).collect()
}

fn scan_of(body: &Body) -> Option<&Scan> {
    body.nodes.iter().find_map(|node| match &node.op {
        Op::Scan(scan) => Some(&**scan),
        _ => None,
    })
}

fn mul(g: &mut Graph, a: NodeId, b: NodeId) -> NodeId {
    g.add(Op::Binary(Binary::Mul), &[a, b])
}

fn add(g: &mut Graph, a: NodeId, b: NodeId) -> NodeId {
    g.add(Op::Binary(Binary::Add), &[a, b])
}

/// Carries: a sum, a counter that nobody needs, and one that stays; inputs x and y; captures u, v and w.
fn step() -> Arc<Body> {
    let s = f64s(&[]);
    body(&vec![s; 8], 3, |g| {
        let (sum, counter, constant, x, y, u, v) = (0, 1, 2, 3, 4, 5, 6);
        let scaled = mul(g, x, u);
        let scaled = mul(g, scaled, constant);
        let more = add(g, sum, scaled);
        let same = mul(g, x, v);
        let unused = g.add(Op::Unary(Unary::Sin), &[y]);
        let count = add(g, counter, unused);
        vec![more, count, constant, same, unused, x, constant]
    })
}

#[test]
fn what_nobody_needs_is_dropped_from_loops() {
    let s = f64s(&[]);
    let program = program(&[f64s(&[5]), f64s(&[5]), s.clone(), s], |g| {
        let scan = Scan { body: step(), carries: 3, inputs: 2, length: 5, reverse: true };
        let one = g.add(Op::Constant(Array::full(&[], Value::F64(1.5))), &[]);
        let node = g.add(Op::Scan(Arc::new(scan)), &[2, 2, 3, 0, 1, one, 2, 3]);
        outputs(g, node, &[0, 2, 3, 5, 6])
    });
    let simple = checked(&program);
    let scan = scan_of(&simple).expect("the sum needs a loop");
    assert_eq!((scan.carries, scan.inputs, scan.body.arity()), (1, 1, 4));
    assert_eq!(scan.body.results.len(), 2);
    assert_eq!(simple.results[1], 3);
    assert_eq!(simple.results[3], 0);
}

#[test]
fn equal_operands_and_repeated_inputs_are_one_capture() {
    let s = f64s(&[]);
    let program = program(&[s.clone(), s.clone()], |g| {
        let inner = body(&vec![s; 5], 2, |g| {
            let a = mul(g, 0, 1);
            let b = mul(g, 2, 3);
            let c = mul(g, a, 4);
            vec![add(g, b, c)]
        });
        let wide = g.add(Op::View(AffineMap::broadcast(&[], &[4], &[])), &[1]);
        let ones = g.add(Op::Constant(Array::full(&[4], Value::F64(1.0))), &[]);
        let scan = Scan { body: inner, carries: 1, inputs: 2, length: 4, reverse: false };
        let node = g.add(Op::Scan(Arc::new(scan)), &[0, wide, ones, 1, 1]);
        outputs(g, node, &[0])
    });
    let simple = checked(&program);
    let scan = scan_of(&simple).expect("a loop");
    assert_eq!((scan.carries, scan.inputs, scan.body.arity()), (1, 0, 2));
}

#[test]
fn positions_are_known_in_every_step() {
    let positions = Type::new(DType::I64, &[4]);
    let program = program(&[f64s(&[8]), positions.clone()], |g| {
        let step = body(&[f64s(&[8]), positions.clone(), positions], 2, |g| {
            let read = g.add(Op::Gather, &[0, 2]);
            vec![g.add(Op::ScatterSet, &[0, read, 1])]
        });
        let iota = g.add(Op::Iota(4), &[]);
        let two = g.add(Op::Constant(Array::full(&[4], Value::I64(2))), &[]);
        let inside = add(g, iota, two);
        let computed = add(g, 1, two);
        let scan = Scan { body: step, carries: 1, inputs: 0, length: 3, reverse: false };
        let node = g.add(Op::Scan(Arc::new(scan)), &[0, inside, computed]);
        outputs(g, node, &[0])
    });
    let simple = checked(&program);
    let scan = scan_of(&simple).expect("a loop");
    assert_eq!(scan.body.captures, 1, "{simple}");
    assert!(scan.body.nodes.iter().any(|node| node.op == Op::Iota(4)), "{simple}");
}

#[test]
fn loops_without_steps_or_results_are_gone() {
    let s = f64s(&[]);
    let program = program(&[s.clone(), f64s(&[0]), f64s(&[3])], |g| {
        let inner = body(&[s.clone(), s], 0, |g| vec![add(g, 0, 1), 1]);
        let never = Scan { body: inner.clone(), carries: 1, inputs: 1, length: 0, reverse: false };
        let never = g.add(Op::Scan(Arc::new(never)), &[0, 1]);
        let some = Scan { body: inner, carries: 1, inputs: 1, length: 3, reverse: false };
        let some = g.add(Op::Scan(Arc::new(some)), &[0, 2]);
        let mut results = outputs(g, never, &[0, 1]);
        results.extend(outputs(g, some, &[1]));
        results
    });
    assert_eq!(operations(&checked(&program)), ["constant"]);
}

#[test]
fn known_sides_take_the_place_of_conditionals() {
    let s = f64s(&[2]);
    let sides = || {
        let then = body(&[f64s(&[2]), f64s(&[2])], 2, |g| vec![add(g, 0, 0), 1, 0]);
        let otherwise = body(&[f64s(&[2]), f64s(&[2])], 2, |g| vec![0, 1, mul(g, 1, 1)]);
        (then, otherwise)
    };
    let known = program(&[s.clone(), s.clone()], |g| {
        let (then, otherwise) = sides();
        let condition = g.add(Op::Constant(Array::full(&[], Value::Bool(true))), &[]);
        let node = g.add(Op::Branch(Arc::new(Branch { then, otherwise })), &[condition, 0, 1]);
        outputs(g, node, &[0, 1])
    });
    assert_eq!(operations(&checked(&known)), ["add", "mark", "mark"]);
    // The operand that the side needed only for an unused result is gone.
    let in_part = program(&[s.clone(), s.clone()], |g| {
        let side = |op: Unary| {
            body(&[f64s(&[2]), f64s(&[2])], 2, |g| {
                let of_first = g.add(Op::Unary(op), &[0]);
                vec![of_first, 1]
            })
        };
        let condition = g.add(Op::Constant(Array::full(&[], Value::Bool(true))), &[]);
        let first = g.add(Op::Unary(Unary::Exp), &[0]);
        let branch = Branch { then: side(Unary::Sin), otherwise: side(Unary::Cos) };
        let node = g.add(Op::Branch(Arc::new(branch)), &[condition, first, 1]);
        outputs(g, node, &[1])
    });
    assert_eq!(operations(&checked(&in_part)), ["mark"]);
    let unknown = program(&[Type::scalar(DType::F64), s.clone(), s.clone(), s], |g| {
        let (then, otherwise) = sides();
        let zero = g.add(Op::Constant(Array::full(&[], Value::F64(0.0))), &[]);
        let condition = g.add(Op::Compare(Comparison::Less), &[0, zero]);
        let equal = Branch { then: then.clone(), otherwise: then.clone() };
        let equal = g.add(Op::Branch(Arc::new(equal)), &[condition, 2, 3]);
        let node = g.add(Op::Branch(Arc::new(Branch { then, otherwise })), &[condition, 1, 2]);
        let mut results = outputs(g, node, &[0]);
        results.extend(outputs(g, equal, &[0]));
        results
    });
    let simple = checked(&unknown);
    let branches: Vec<usize> =
        simple.nodes.iter().filter(|node| matches!(node.op, Op::Branch(_))).map(|node| node.args.len()).collect();
    assert_eq!(branches, [2]);
}

#[test]
fn bodies_are_simplified() {
    let s = f64s(&[3]);
    let program = program(std::slice::from_ref(&s), |g| {
        let inner = body(std::slice::from_ref(&s), 0, |g| {
            let turned = g.add(Op::View(AffineMap::along(&[3], 0, 2, -1, 3)), &[0]);
            let back = g.add(Op::View(AffineMap::along(&[3], 0, 2, -1, 3)), &[turned]);
            vec![add(g, back, back)]
        });
        let scan = Scan { body: inner, carries: 1, inputs: 0, length: 4, reverse: false };
        let node = g.add(Op::Scan(Arc::new(scan)), &[0]);
        outputs(g, node, &[0])
    });
    let simple = checked(&program);
    assert!(!operations(&scan_of(&simple).expect("a loop").body).contains(&"view"));
}

#[test]
fn what_nobody_needs_is_dropped_from_sweeps() {
    // First: a counter, which the condition needs, a carry that stays the same, and an unused one; it keeps the counter and a
    // sine. Second: a product with the unchanged carry, and a copy of a kept value. Third: nothing that is used.
    let s = || f64s(&[]);
    let first = body(&vec![s(); 5], 2, |g| {
        let (count, stays, idle) = (0, 1, 2);
        let one = g.add(Op::Constant(Array::full(&[], Value::F64(1.0))), &[]);
        let next = add(g, count, one);
        let sine = g.add(Op::Unary(Unary::Sin), &[count]);
        let idle = mul(g, idle, sine);
        vec![next, stays, idle, count, sine, stays]
    });
    let second = body(&vec![s(); 6], 2, |g| {
        let (product, other, kept, stays) = (0, 1, 2, 3);
        let product = mul(g, product, stays);
        vec![product, mul(g, other, kept)]
    });
    let third = body(&vec![s(); 3], 2, |g| vec![g.add(Op::Unary(Unary::Cos), &[0])]);
    let condition = body(&vec![s(); 5], 2, |g| vec![g.add(Op::Compare(Comparison::Less), &[0, 3])]);
    let sweep = |body: Arc<Body>, carries, reads: &[(usize, usize)], keeps| Sweep {
        body,
        carries,
        inputs: 0,
        reads: reads.to_vec(),
        keeps,
    };
    let sweeps = Sweeps {
        steps: Steps::While(condition),
        sweeps: vec![sweep(first, 3, &[], 3), sweep(second, 2, &[(0, 1), (0, 2)], 0), sweep(third, 1, &[], 0)],
        reverse: false,
        checkpoints: Checkpoints::All,
    };
    let program = program(&vec![s(); 8], |g| {
        let node = g.add(Op::Sweeps(Arc::new(sweeps)), &[0, 1, 2, 3, 4, 5, 6, 7]);
        outputs(g, node, &[1, 3])
    });
    let simple = checked(&program);
    let found = simple.nodes.iter().find_map(|node| match &node.op {
        Op::Sweeps(sweeps) => Some((sweeps, node.args.len())),
        _ => None,
    });
    let (sweeps, operands) = found.expect("a loop");
    // The counter, the product, the unchanged carry, and the bound: the other capture and the other carries are gone.
    assert_eq!(operands, 4);
    assert_eq!(sweeps.sweeps.len(), 2);
    let sizes: Vec<_> = sweeps.sweeps.iter().map(|sweep| (sweep.carries, sweep.keeps, sweep.reads.clone())).collect();
    assert_eq!(sizes, [(1, 1, vec![]), (1, 0, vec![(0, 0)])]);
    // An unchanged carry comes from outside.
    assert_eq!(simple.results[0], 1);
}

#[test]
fn slices_that_repeat_smaller_arrays_are_computed_in_each_step() {
    let (steps, width) = (100, 50);
    let program = program(&[f64s(&[width]), f64s(&[])], |g| {
        let shape = [steps, width];
        let along = |g: &mut Graph, node: NodeId, axis: usize| {
            g.add(Op::View(AffineMap::broadcast(&[shape[axis]], &shape, &[axis])), &[node])
        };
        let (numbers, columns) = (g.add(Op::Iota(steps), &[]), g.add(Op::Iota(width), &[]));
        let (numbers, columns, rows) = (along(g, numbers, 0), along(g, columns, 1), along(g, 0, 1));
        let mask = g.add(Op::Compare(Comparison::Less), &[columns, numbers]);
        let zeros = g.add(Op::Constant(Array::full(&shape, Value::F64(0.0))), &[]);
        let masked = g.add(Op::Select, &[mask, rows, zeros]);
        let step = body(&[f64s(&[]), f64s(&[width])], 0, |g| {
            let sum = g.add(Op::Reduce(crate::operation::Reduction::Sum, [0].as_slice().into()), &[1]);
            let next = add(g, 0, sum);
            vec![g.add(Op::Unary(Unary::Sin), &[next])]
        });
        let scan = Scan { body: step, carries: 1, inputs: 1, length: steps, reverse: false };
        let node = g.add(Op::Scan(Arc::new(scan)), &[1, masked]);
        outputs(g, node, &[0])
    });
    let simple = checked(&program);
    let largest = simple.nodes.iter().flat_map(|node| &node.types).map(Type::size).max();
    assert_eq!(largest, Some(steps), "{simple}");
}

#[test]
fn captures_that_repeat_smaller_arrays_are_repeated_in_each_step() {
    let shape = [100, 50];
    let [rows, columns] = [1, 0].map(|axis| AffineMap::broadcast(&[shape[axis]], &shape, &[axis]));
    let backwards = AffineMap::new(&[50], &shape, &[smallvec![0, -1]], &[49]);
    let loop_over = |captures: &[(&AffineMap, NodeId)], step: &dyn Fn(&mut Graph, NodeId) -> NodeId| {
        let program = program(&[f64s(&shape), f64s(&[50]), f64s(&[100])], |g| {
            let captures: Vec<NodeId> = captures.iter().map(|&(map, id)| g.add(Op::View(map.clone()), &[id])).collect();
            let step = body(&vec![f64s(&shape); captures.len() + 1], captures.len(), |g| {
                let sum = (1..=captures.len()).fold(0, |sum, id| add(g, sum, id as NodeId));
                vec![step(g, sum)]
            });
            let scan = Scan { body: step, carries: 1, inputs: 0, length: 10, reverse: false };
            let node = g.add(Op::Scan(Arc::new(scan)), &[&[0], captures.as_slice()].concat());
            outputs(g, node, &[0])
        });
        let simple = checked(&program);
        let scan = simple.nodes.iter().find(|node| matches!(node.op, Op::Scan(_))).expect("a loop");
        scan.args[1..].iter().map(|&id| simple.node(id).ty().shape.to_vec()).collect::<Vec<_>>()
    };
    let reversed = AffineMap::new(&shape, &shape, &[smallvec![-1, 0], smallvec![0, 1]], &[99, 0]);
    let turned = |g: &mut Graph, id: NodeId| g.add(Op::View(reversed.clone()), &[id]);
    assert_eq!(loop_over(&[(&rows, 1)], &turned), [[50]]);
    // Others stay: those of recurrences, those that do not repeat rows as they are, and two of one array.
    assert_eq!(loop_over(&[(&rows, 1)], &|g, id| g.add(Op::Unary(Unary::Sin), &[id])), [shape]);
    assert_eq!(loop_over(&[(&columns, 2)], &turned), [shape]);
    assert_eq!(loop_over(&[(&backwards, 1)], &turned), [shape]);
    assert_eq!(loop_over(&[(&rows, 1), (&backwards, 1)], &turned), [shape, shape]);
    // A sum over all of a capture goes through all of it in each step.
    let summed = |g: &mut Graph, id: NodeId| {
        let sum = g.add(Op::Reduce(crate::operation::Reduction::Sum, [0, 1].as_slice().into()), &[1]);
        let all = g.add(Op::View(AffineMap::broadcast(&[], &shape, &[])), &[sum]);
        mul(g, id, all)
    };
    assert_eq!(loop_over(&[(&rows, 1)], &summed), [shape]);
}
