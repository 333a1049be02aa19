//! Things that safe code must not achieve: programs that lie about themselves, arguments of the wrong kind, and arrays of other
//! sizes than they claim. Each is an `Err`, or a panic that describes the problem, and never a read or write outside of an
//! array.

#![forbid(unsafe_code)]

use deltaray::affine::AffineMap;
use deltaray::algebra::{Contraction, Extreme, Reduction};
use deltaray::concrete::{Array, Buffer, Data};
use deltaray::derivative::program as derivative;
use deltaray::engine::cpu::{Cpu, Program};
use deltaray::error::Error;
use deltaray::export;
use deltaray::operation::Unary;
use deltaray::prelude::*;
use deltaray::shape::{DType, Shape, Type, Value};
use deltaray::term::{self, Body, Branch, Graph, Node, NodeId, Op, Scan, Steps, Sweeps};
use smallvec::smallvec;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Programs whose operations are of most kinds, with loops, conditionals and their derivatives.
fn programs() -> Vec<Body> {
    let x: Vector<Concrete, f64> = vec![0.3, -1.2, 0.8, 0.1].into();
    let loops = stage(
        |x| {
            let outer = build((4, 4), |(i, j)| x.at(&i) * x.at(3 - j));
            let states = fold(x.clone(), &outer, |s, row| (s + row).tanh());
            let grown = while_loop(states.sum(), |y| y.lt(4.0), |y| &y * &y + 1.0);
            cond(grown.gt(5.0), || outer.dot(&states).sum() * &grown, || states.sin().max_axis(0) + &grown)
        },
        &x,
    );
    let reads = stage(
        |x| {
            let order = x.argsort(0);
            let read = x.gather(&order);
            let parts = concatenate(0, &[read, x.slice(0, 1..3)]);
            (stack(&[parts.clone(), parts.sin()]).sum_axis(0) * &parts).sum() + x.cumsum(0).product()
        },
        &x,
    );
    let (loops, reads) = (loops.expect("stages"), reads.expect("stages"));
    vec![
        loops.program().clone(),
        loops.value_and_grad().expect("differentiates").program().clone(),
        reads.program().clone(),
        reads.value_and_grad().expect("differentiates").program().clone(),
    ]
}

/// A claim about a program: its name, the nodes, the numbers of parameters and captures, and the results.
type Lie = (String, Vec<Node>, (usize, usize), Vec<NodeId>);

/// The program with one node changed.
fn changed(body: &Body, at: usize, what: &str, change: impl FnOnce(&mut Node)) -> Lie {
    let mut nodes = body.nodes().to_vec();
    change(&mut nodes[at]);
    (format!("{what} of node {at}"), nodes, (body.parameters(), body.captures()), body.results().to_vec())
}

/// False versions of an operation itself, whatever its operands.
fn untrue(op: &Op) -> Vec<Op> {
    let most = usize::MAX;
    match op {
        Op::Iota(n) => vec![Op::Iota(n + 1), Op::Iota(most)],
        Op::Cast(_) => vec![Op::Cast(DType::Bool)],
        Op::View(map) | Op::Accumulate(map) => {
            let larger: Vec<usize> = map.source().iter().map(|extent| extent + 1).chain([1]).collect();
            let result: Vec<usize> = map.result().iter().map(|extent| extent + 1).chain([most, 2]).collect();
            let of = |source: &[usize], result: &[usize]| AffineMap::broadcast(source, result, &[]);
            let views = [of(&[], &larger), of(&[], &result)];
            views.iter().flat_map(|map| [Op::View(map.clone()), Op::Accumulate(map.clone())]).collect()
        }
        Op::Reshape(shape) => {
            let longer: Shape = shape.iter().copied().chain([2]).collect();
            vec![Op::Reshape(longer), Op::Reshape([most, most].into_iter().collect())]
        }
        Op::Concatenate(_) => vec![Op::Concatenate(1), Op::Concatenate(most)],
        Op::Scatter(extents) => {
            let larger: Shape = extents.iter().map(|extent| extent + 1).collect();
            vec![Op::Scatter(larger), Op::Scatter([most, most].into_iter().collect()), Op::Scatter(Shape::new())]
        }
        Op::Reduce(reduction, axes) => {
            let with = |axis| Op::Reduce(*reduction, axes.iter().copied().chain([axis]).collect());
            vec![with(axes.first().copied().unwrap_or(9)), with(most), with(8)]
        }
        Op::ArgReduce(extreme, _) => vec![Op::ArgReduce(*extreme, 7), Op::ArgReduce(*extreme, most)],
        Op::ArgSort(order, _) => vec![Op::ArgSort(*order, 7), Op::ArgSort(*order, most)],
        Op::Contract(labels) => {
            let add = |labels: &[u8], label| labels.iter().copied().chain([label]).collect();
            vec![
                Op::Contract(Contraction { left: add(&labels.left, 200), ..labels.clone() }),
                Op::Contract(Contraction { right: add(&labels.right, 0), ..labels.clone() }),
                Op::Contract(Contraction { result: add(&labels.result, 255), ..labels.clone() }),
            ]
        }
        Op::Scan(scan) => {
            let with = |change: fn(&mut Scan)| {
                let mut changed = Scan::clone(scan);
                change(&mut changed);
                Op::Scan(Arc::new(changed))
            };
            vec![
                with(|scan| scan.carries += 1),
                with(|scan| scan.carries = usize::MAX),
                with(|scan| (scan.carries, scan.inputs) = (usize::MAX, scan.carries + scan.inputs + 1)),
                with(|scan| scan.inputs += 1),
                with(|scan| scan.inputs = usize::MAX),
            ]
        }
        Op::Sweeps(sweeps) => {
            let with = |change: fn(&mut Sweeps)| {
                let mut changed = Sweeps::clone(sweeps);
                change(&mut changed);
                Op::Sweeps(Arc::new(changed))
            };
            vec![
                with(|sweeps| sweeps.sweeps.clear()),
                with(|sweeps| sweeps.sweeps[0].carries += 1),
                with(|sweeps| sweeps.sweeps[0].carries = usize::MAX),
                with(|sweeps| sweeps.sweeps[0].inputs = usize::MAX),
                with(|sweeps| sweeps.sweeps[0].keeps += 1),
                with(|sweeps| sweeps.sweeps[0].keeps = usize::MAX),
                with(|sweeps| sweeps.sweeps[0].reads.push((0, usize::MAX))),
                with(|sweeps| sweeps.sweeps[0].reads.push((usize::MAX, 0))),
                with(|sweeps| sweeps.steps = Steps::While(sweeps.sweeps[0].body.clone())),
            ]
        }
        Op::Branch(branch) => {
            let empty = Graph::new(&[Type::scalar(DType::F64)], 0);
            let then = Arc::new(empty.finish(&[0]));
            vec![Op::Branch(Arc::new(Branch { then, otherwise: branch.otherwise.clone() }))]
        }
        Op::Output(at) => vec![Op::Output(at + 1000), Op::Output(most)],
        _ => Vec::new(),
    }
}

/// Lies about every node of a program and about the program.
fn lies(body: &Body) -> Vec<Lie> {
    let mut lies: Vec<Lie> = Vec::new();
    let (arity, count) = (body.arity(), body.nodes().len());
    for (at, node) in body.nodes().iter().enumerate() {
        let types: [(&str, fn(&mut Node)); 6] = [
            ("a larger type", |node| node.types.iter_mut().for_each(|ty| ty.shape.push(1 << 20))),
            ("an endless type", |node| node.types.iter_mut().for_each(|ty| ty.shape.extend([usize::MAX, 2]))),
            ("another element type", |node| {
                let other = |dtype| if dtype == DType::Bool { DType::F64 } else { DType::Bool };
                node.types.iter_mut().for_each(|ty| ty.dtype = other(ty.dtype));
            }),
            ("no type", |node| node.types.clear()),
            ("one type more", |node| node.types.push(Type::scalar(DType::F64))),
            ("itself as an operand", |node| node.args.push(NodeId::MAX)),
        ];
        for (what, lie) in types {
            // A parameter is of the type that it says, and its users tell.
            if at >= arity || !what.contains("ype") || body.use_counts()[at] > 0 {
                lies.push(changed(body, at, what, lie));
            }
        }
        for operand in 0..node.args.len() {
            for wrong in [at as NodeId, at as NodeId + 1, count as NodeId, NodeId::MAX] {
                lies.push(changed(body, at, &format!("operand {wrong}"), |node| node.args[operand] = wrong));
            }
        }
        if at >= arity {
            lies.push(changed(body, at, "a late parameter", |node| node.op = Op::Parameter(at)));
            lies.push(changed(body, at, "an output of itself", |node| {
                (node.op, node.args) = (Op::Output(0), smallvec![at as NodeId]);
            }));
            lies.push(changed(body, at, "an output of a number", |node| {
                (node.op, node.args) = (Op::Output(0), smallvec![0]);
            }));
            lies.push(changed(body, at, "no operation", |node| (node.op, node.args) = (Op::Alias, smallvec![])));
        } else {
            lies.push(changed(body, at, "another parameter", |node| node.op = Op::Parameter(at + 1)));
        }
        for (number, op) in untrue(&node.op).into_iter().enumerate() {
            lies.push(changed(body, at, &format!("lie {number} of {op:?}"), |node| node.op = op));
        }
        if node.op.is_multiple() {
            let mut results = body.results().to_vec();
            results[0] = at as NodeId;
            let name = format!("node {at}, which is several arrays, as a result");
            lies.push((name, body.nodes().to_vec(), (body.parameters(), body.captures()), results));
        }
    }
    let said = (body.parameters(), body.captures());
    for result in [count as NodeId, NodeId::MAX] {
        lies.push(("a result that is not there".into(), body.nodes().to_vec(), said, vec![result]));
    }
    for counts in [(usize::MAX, 1), (usize::MAX, said.0.wrapping_add(1)), (said.0, usize::MAX), (count + 1, 0)] {
        lies.push((format!("{counts:?} parameters"), body.nodes().to_vec(), counts, body.results().to_vec()));
    }
    lies.push(("no nodes".into(), Vec::new(), said, body.results().to_vec()));
    lies
}

#[test]
fn no_body_is_made_of_lies() {
    let mut kinds = std::collections::HashSet::new();
    for body in programs() {
        let said = (body.parameters(), body.captures());
        let same = Body::new(said.0, said.1, body.nodes().to_vec(), body.results().to_vec());
        assert_eq!(same.expect("a program that is true"), body);
        for (what, nodes, (parameters, captures), results) in lies(&body) {
            let kind = what.split(" of node").next().expect("a part").split(" {").next().expect("a part");
            kinds.insert(kind.to_string());
            let place = line!() + 1;
            match Body::new(parameters, captures, nodes, results) {
                Err(Error::IllFormed { place: said, .. }) => assert!(said.contains(&format!("lies.rs:{place}"))),
                Err(error) => panic!("{what}: {error}"),
                Ok(body) => panic!("{what} is believed:\n{body:?}"),
            }
        }
    }
    assert!(kinds.len() >= 50, "{} kinds of lies", kinds.len());
}

/// Whether this panics, with a text.
fn panics(work: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(work)).is_err()
}

#[test]
fn graphs_do_not_take_lies() {
    let ty = |shape: &[usize]| Type::new(DType::F64, shape);
    let graph = |count: usize| -> Graph { Graph::new(&vec![ty(&[4]); count], 0) };
    assert!(panics(|| drop(Graph::<term::Never>::new(&[ty(&[4])], 2))));
    assert!(panics(|| _ = graph(1).add(Op::Unary(Unary::Exp), &[1])));
    assert!(panics(|| _ = graph(1).add(Op::Output(0), &[0])));
    assert!(panics(|| _ = graph(1).add(Op::Parameter(1), &[])));
    assert!(panics(|| drop(graph(1).finish(&[1]))));
    let step = Arc::new(graph(1).finish(&[0]));
    let scan = |carries, inputs, length| {
        let scan = Scan { body: step.clone(), carries, inputs, length, reverse: false };
        let mut graph = graph(1);
        let scan = graph.add(Op::Scan(Arc::new(scan)), &[0]);
        graph.finish(&[scan])
    };
    // A loop of one output is no array either.
    assert!(panics(|| drop(scan(1, 0, 3))));
    assert!(panics(|| drop(scan(usize::MAX, 2, 3))));
    assert!(panics(|| {
        let mut longer = graph(2);
        longer.append(&step, [0, 1]);
    }));
}

#[test]
fn arrays_have_as_many_elements_as_they_say() {
    assert!(panics(|| drop(Array::from_vec(&[4], vec![1.0f64; 3]))));
    assert!(panics(|| drop(Array::from_vec::<f64>(&[usize::MAX, 2], vec![]))));
    assert!(panics(|| drop(Buffer::new(&[1 << 63, 2], Vec::<f64>::new()))));
    assert!(panics(|| drop(Buffer::new(&[], vec![1.0f64]))));
    assert!(panics(|| _ = Array::from_vec(&[2], vec![1.0f64; 2]).element(2)));
}

#[test]
fn programs_take_arguments_and_results_of_their_types_only() {
    let mut graph: Graph = Graph::new(&[Type::new(DType::F64, &[4])], 0);
    let exp = graph.add(Op::Unary(Unary::Exp), &[0]);
    let program = Program::new(&graph.finish(&[exp]), &Cpu::default()).expect("compiles");
    let right = Array::from_vec(&[4], vec![0.0f64; 4]);
    assert!(program.run(std::slice::from_ref(&right)).is_ok());
    let wrong = [
        Array::from_vec(&[3], vec![0.0f64; 3]),
        Array::from_vec(&[4, 1], vec![0.0f64; 4]),
        Array::from_vec(&[4], vec![0.0f32; 4]),
        Array::from_vec(&[4], vec![0i64; 4]),
        Array::full(&[], Value::F64(0.0)),
        Array::full(&[usize::MAX], Value::F64(0.0)),
        Array::F64(Data::Uniform([1usize << 40, 1 << 40].into_iter().collect(), 0.0)),
        Array::F64(Data::Dense(Buffer::new(&[2], vec![0.0; 2]))),
    ];
    for argument in &wrong {
        assert!(program.run(std::slice::from_ref(argument)).is_err(), "{:?}", argument.ty());
        let mut result = argument.clone();
        let mut run = program.begin();
        run.argument(&right);
        run.result(&mut result);
        assert!(run.finish().is_err(), "{:?}", argument.ty());
        let mut updated = argument.clone();
        let mut run = program.begin();
        run.update(&mut updated);
        assert!(run.finish().is_err(), "{:?}", argument.ty());
    }
    assert!(program.run(&[]).is_err());
    assert!(program.run(&[right.clone(), right.clone()]).is_err());
    let mut result = right.clone();
    let mut run = program.begin();
    run.result(&mut result);
    assert!(run.finish().is_err());
    let (mut first, mut second) = (right.clone(), right.clone());
    let mut run = program.begin();
    run.argument(&right);
    run.result(&mut first);
    run.result(&mut second);
    assert!(run.finish().is_err());
}

/// Programs that refer to arrays too large to be counted, though some of them have no elements.
fn uncounted() -> Vec<(&'static str, Body)> {
    let of = |ty: Type, write: &dyn Fn(&mut Graph) -> Vec<NodeId>| {
        let mut graph: Graph = Graph::new(&[ty], 0);
        let results = write(&mut graph);
        graph.finish(&results)
    };
    let single = |shape: &[usize]| Type::new(DType::F32, shape);
    let large = || single(&[3, 1 << 58, 0, 5, 17]);
    let reduced = |reduction| of(large(), &move |graph| vec![graph.add(Op::Reduce(reduction, smallvec![2]), &[0])]);
    let views = |graph: &mut Graph| {
        let far = graph.add(Op::View(AffineMap::new(&[0], &[0, 17], &[smallvec![1, 1 << 57]], &[2])), &[0]);
        let wide = AffineMap::broadcast(&[0, 17], &large().shape, &[2, 4]);
        let wide = graph.add(Op::View(wide), &[far]);
        let least = graph.add(Op::ArgReduce(Extreme::Min, 2), &[wide]);
        vec![graph.add(Op::Reduce(Reduction::Sum, smallvec![2, 3]), &[least]), least]
    };
    // The slices of an input that has none.
    let rows = |graph: &mut Graph| {
        let slice = [1 << 60, 1];
        let mut step: Graph = Graph::new(&[Type::new(DType::I64, &slice)], 0);
        let first = step.add(Op::View(AffineMap::new(&slice, &[], &[smallvec![], smallvec![]], &[0, 0])), &[0]);
        let scan = Scan { body: Arc::new(step.finish(&[first])), carries: 0, inputs: 1, length: 0, reverse: false };
        let scan = graph.add(Op::Scan(Arc::new(scan)), &[0]);
        vec![graph.add(Op::Output(0), &[scan])]
    };
    let sum = |graph: &mut Graph| vec![graph.add(Op::Reduce(Reduction::Sum, smallvec![0]), &[0])];
    vec![
        ("a sum without end", of(Type::new(DType::F64, &[usize::MAX]), &sum)),
        (
            "positions of extremes of nothing",
            of(large(), &|graph| vec![graph.add(Op::ArgReduce(Extreme::Min, 2), &[0])]),
        ),
        ("maxima of nothing", reduced(Reduction::Max)),
        ("sums of nothing", reduced(Reduction::Sum)),
        ("reads of nothing", of(single(&[0]), &views)),
        ("a loop over nothing", of(Type::new(DType::I64, &[0, 1 << 60, 1]), &rows)),
    ]
}

#[test]
fn arrays_that_can_not_be_counted_are_refused_at_every_door() {
    for (name, body) in uncounted() {
        let counts = (body.parameters(), body.captures());
        let again = Body::new(counts.0, counts.1, body.nodes().to_vec(), body.results().to_vec());
        let program = export::Program::new("uncounted", body.clone());
        let doors = [
            ("Body::new", again.map(drop)),
            ("the engine", Program::new(&body, &Cpu::default()).map(drop)),
            ("C", export::c(&program).map(drop)),
            ("Rust", export::rust(&program).map(drop)),
            ("OpenCL C", export::opencl(&program).map(drop)),
            ("a text", export::parse(&export::text(&program)).map(drop)),
            #[cfg(feature = "json")]
            ("a document", export::from_json(&export::json(&program)).map(drop)),
        ];
        for (door, opened) in doors {
            let problem = opened.expect_err(door).to_string();
            assert!(problem.contains("too large for any memory"), "{name}, {door}: {problem}");
        }
    }
}

#[test]
fn parameters_that_can_not_be_counted_are_refused_at_the_doors_of_passes() {
    let is_given = |body: &Body| body.parameter_type(0).check_size().is_err();
    for (name, body) in uncounted().into_iter().filter(|(_, body)| is_given(body)) {
        let program = export::Program::new("uncounted", body.clone());
        let doors = [
            ("StableHLO", export::stablehlo(&program).map(drop)),
            ("a page", export::html(&program).map(drop)),
            ("vjp", derivative::vjp(&body, 1).map(drop)),
            ("jvp", derivative::jvp(&body, 1).map(drop)),
            ("linearize", derivative::linearize(&body, 1).map(drop)),
            ("the dual form", derivative::dual_form(&body, &["x"]).map(drop)),
            ("value and gradient", derivative::value_and_gradient(&body, 1).map(drop)),
        ];
        for (door, opened) in doors {
            let problem = opened.expect_err(door).to_string();
            assert!(problem.contains("too large for any memory"), "{name}, {door}: {problem}");
        }
        assert!(panics(|| drop(derivative::bulk(&body.widen()))), "{name}");
        assert!(panics(|| drop(derivative::tidy(&body))), "{name}");
    }
}

#[test]
fn buffers_are_looked_at_in_every_shape_that_they_have() {
    for shape in [&[0usize, 1 << 40, 1 << 20][..], &[2, 0, 3], &[1 << 62, 0]] {
        let buffer = Buffer::new(shape, Vec::<f64>::new());
        assert_eq!(buffer.view().shape(), shape);
        assert_eq!(buffer.clone().into_shared().shape(), shape);
        assert_eq!(Data::Dense(buffer).as_view().expect("it can be counted").shape(), shape);
    }
    for shape in [&[0, 1 << 63][..], &[1 << 40, 0, 1 << 40], &[usize::MAX, 0]] {
        assert!(panics(|| drop(Buffer::new(shape, Vec::<f64>::new()))), "{shape:?}");
        assert!(Data::from_vec(shape, Vec::<f64>::new()).as_view().is_none(), "{shape:?}");
    }
}
