//! Bodies in bodies: at the bound every door takes a program in a thread of 2 MiB, beyond it programs are refused, and a few
//! bodies that stand in one another in many ways cost no more than the bound of what is written out.

#[path = "nesting/kinds.rs"]
mod kinds;
#[path = "nesting/staged.rs"]
mod staged;

use deltaray::concrete::{Array, Concrete};
use deltaray::derivative::program::{self, jvp, linearize, tidy, vjp};
use deltaray::engine::cpu::{Cpu, Program as Compiled};
use deltaray::export::{self, Program};
use deltaray::shape::Value;
use deltaray::simplify::fold_constants;
use deltaray::term::interpret::interpret;
use deltaray::term::{Body, Build, Graph, MAX_NESTED_NODES, MAX_NESTING, Never, Op, Scan, interpret_source};
use deltaray::vectorise::{push_reads, vectorise};
use kinds::{KINDS, Kind, around, builds, nested, operation};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError, RwLock};

/// Derivatives are remembered for all threads: whoever counts what they cost runs alone.
static ALONE: RwLock<()> = RwLock::new(());

/// Runs in a thread of so many MiB.
fn within<T: Send + 'static>(stack: usize, f: impl FnOnce() -> T + Send + 'static) -> T {
    let _others = ALONE.read().unwrap_or_else(PoisonError::into_inner);
    std::thread::Builder::new().stack_size(stack << 20).spawn(f).unwrap().join().unwrap()
}

fn at() -> Vec<Array> {
    vec![Array::full(&[], Value::F64(0.1))]
}

/// What takes a bulk program and does not differentiate it.
fn doors(body: &Body) {
    let named = || Program::new("f", body.clone());
    assert!(body.is_well_formed() && *body == body.clone() && !format!("{body:?}").is_empty());
    // Loops in loops may need more memory than there is, which is an error as any other.
    if let Ok(compiled) = Compiled::new(body, &Cpu::default()) {
        assert!(!compiled.to_string().is_empty() && !compiled.report().to_string().is_empty());
    }
    drop((export::c(named()), export::rust(named()), export::opencl(named()), export::stablehlo(named())));
    assert!(!export::text(named()).is_empty() && !export::dot(named()).is_empty() && !named().to_string().is_empty());
    // Readers allow fewer levels, and say so.
    drop(export::parse(&export::text(named())));
    #[cfg(feature = "json")]
    drop(export::from_json(&export::json(named())));
    drop((tidy(body), fold_constants(body), push_reads(body), body.without_marks(), body.widen()));
    assert!(body.cost().elements > 0 && body.distinct_node_count() > 0);
}

#[test]
fn at_the_bound_every_door_takes_a_program() {
    for kind in KINDS {
        if kind == Kind::Both {
            continue;
        }
        within(2, move || {
            let body: Body = nested(kind, MAX_NESTING, 2);
            assert_eq!(body.nesting(), MAX_NESTING, "{kind:?}");
            doors(&body);
            // Loops of a step end.
            let body: Body = nested(kind, MAX_NESTING, 1);
            let expected = interpret::<Concrete>(&body, at())[0].element(0).to_f64();
            let found = Compiled::new(&body, &Cpu::default()).unwrap().run(&at()).unwrap()[0].element(0).to_f64();
            assert!((found - expected).abs() < 1e-9, "{kind:?}: {found} is not {expected}");
        });
    }
}

#[test]
fn at_the_bound_builds_are_taken() {
    within(2, || {
        let body = builds(MAX_NESTING, 1);
        assert_eq!(body.nesting(), MAX_NESTING);
        let expected = interpret_source::<Concrete>(&body, at())[0].element(0).to_f64();
        let bulk = program::bulk(&body);
        assert_eq!(interpret::<Concrete>(&bulk, at())[0].element(0).to_f64(), expected);
        let named = || Program::<Build>::new("f", body.clone());
        drop((export::text_source(named()), named().to_string(), format!("{body:?}")));
        #[cfg(feature = "json")]
        drop(export::from_json_source(&export::json_source(named())));
        doors(&vectorise(&body));
    });
}

/// Derivatives are nested no deeper than what they are taken of.
#[test]
fn at_the_bound_derivatives_are_taken() {
    for kind in KINDS {
        if kind == Kind::Both {
            continue;
        }
        within(2, move || {
            let body: Body = nested(kind, MAX_NESTING, 2);
            let (reverse, forward) = (vjp(&body, 1).unwrap(), jvp(&body, 1).unwrap());
            assert!(reverse.nesting() <= MAX_NESTING && forward.nesting() <= MAX_NESTING, "{kind:?}");
            drop(jvp(&forward, 1).unwrap());
            // What else there is of second derivatives grows with the cube of the nesting.
            let body: Body = nested(kind, MAX_NESTING / 4, 2);
            let (reverse, forward) = (vjp(&body, 1).unwrap(), jvp(&body, 1).unwrap());
            for second in
                [vjp(&forward, 1), jvp(&reverse, 1), vjp(&reverse, 1), linearize(&body, 1).map(|(_, map)| map)]
            {
                assert!(second.unwrap().nesting() <= MAX_NESTING / 4, "{kind:?}");
            }
        });
    }
}

#[test]
fn beyond_the_bound_bodies_are_refused() {
    for kind in KINDS {
        if kind == Kind::Both {
            continue;
        }
        let most: Body = nested(kind, MAX_NESTING, 2);
        let panic = catch_unwind(AssertUnwindSafe(|| around(kind, &most, 2))).expect_err("one level too deep");
        let message = panic.downcast_ref::<String>().expect("a message");
        assert!(message.contains(&format!("nested more than {MAX_NESTING} deep")), "{kind:?}: {message}");
        // Node by node: a program of one level, with the deepest that there may be in the place of what is in it.
        let flat: Body = nested(kind, 1, 2);
        let (mut nodes, results) = (flat.nodes().to_vec(), flat.results().to_vec());
        let outermost = nodes.iter_mut().find(|node| node.op.is_multiple()).expect("a level");
        outermost.op = operation(kind, &most, 2);
        let error = Body::<Never>::new(1, 0, nodes, results).unwrap_err().to_string();
        assert!(error.contains(&format!("nested more than {MAX_NESTING} deep")), "{kind:?}: {error}");
        assert!(error.contains(file!()), "{error}");
    }
}

/// Both sides of each conditional are one body.
#[test]
fn bodies_that_stand_in_many_places_are_looked_at_once_or_refused() {
    let _alone = ALONE.write().unwrap_or_else(PoisonError::into_inner);
    let mut body: Body = nested(Kind::Both, 0, 2);
    let mut levels = 0;
    while 2 * body.node_count() <= MAX_NESTED_NODES {
        body = around(Kind::Both, &body, 2);
        levels += 1;
    }
    assert_eq!(body.nesting(), levels);
    assert!(levels > 15 && body.node_count() > MAX_NESTED_NODES / 4, "{levels} levels, {} nodes", body.node_count());
    #[cfg(debug_assertions)]
    {
        let visits = deltaray::term::visits();
        assert!(body.is_well_formed());
        assert_eq!(body.distinct_node_count() / (levels + 1), body.nodes().len() - 1);
        let (simple, tangent) = (tidy(&body), jvp(&body, 1).unwrap());
        assert!(simple.node_count() < MAX_NESTED_NODES && tangent.nesting() <= MAX_NESTING);
        let visits = deltaray::term::visits() - visits;
        assert!(visits < 100_000, "{visits}");
    }
    // One more can be made, as a pass could, but what would write all of it out says that it is too much.
    let mut graph: Graph = Graph::new(&[body.parameter_type(0).clone()], 0);
    let scan = Scan { body: Arc::new(around(Kind::Both, &body, 2)), carries: 1, inputs: 0, length: 2, reverse: false };
    let outputs = graph.add(Op::Scan(Arc::new(scan)), &[0]);
    let result = graph.add(Op::Output(0), &[outputs]);
    let more = graph.finish(&[result]);
    let named = || Program::new("f", more.clone());
    let errors = [
        Compiled::new(&more, &Cpu::default()).map(drop),
        export::c(named()).map(drop),
        export::rust(named()).map(drop),
        export::opencl(named()).map(drop),
        export::stablehlo(named()).map(drop),
        vjp(&more, 1).map(drop),
        jvp(&more, 1).map(drop),
        linearize(&more, 1).map(drop),
        Body::<Never>::new(1, 0, more.nodes().to_vec(), more.results().to_vec()).map(drop),
    ];
    for error in errors {
        let error = error.unwrap_err().to_string();
        assert!(error.contains(&format!("more than {MAX_NESTED_NODES} nodes")), "{error}");
    }
    // Passes may make more, but not without end: each level has the one inside in eight loops.
    let panic =
        catch_unwind(AssertUnwindSafe(|| (0..4).fold(more, |inner, _| eight_loops(&inner)))).expect_err("too much");
    assert!(panic.downcast_ref::<String>().expect("a message").contains("nodes in its bodies"));
}

/// A program whose eight loops have one body.
fn eight_loops(body: &Body) -> Body {
    let mut graph: Graph = Graph::like(body);
    let body = Arc::new(body.clone());
    let mut x = 0;
    for length in 2..10 {
        let scan = Scan { body: body.clone(), carries: 1, inputs: 0, length, reverse: false };
        let outputs = graph.add(Op::Scan(Arc::new(scan)), &[x]);
        x = graph.add(Op::Output(0), &[outputs]);
    }
    graph.finish(&[x])
}

/// A derivative hands what it keeps of each level through all levels around: so it grows with the square of the nesting.
#[cfg(debug_assertions)]
#[test]
fn derivatives_of_nested_bodies_cost_the_square_of_the_nesting() {
    let _alone = ALONE.write().unwrap_or_else(PoisonError::into_inner);
    for kind in [Kind::Then, Kind::Otherwise, Kind::Scan, Kind::While, Kind::Checkpointed] {
        let visits = |levels: usize| {
            let body: Body = nested(kind, levels, 2);
            let before = deltaray::term::visits();
            drop(vjp(&body, 1).unwrap());
            deltaray::term::visits() - before
        };
        let (once, twice) = (visits(MAX_NESTING / 2), visits(MAX_NESTING));
        assert!(10 * twice < 45 * once, "{kind:?}: {once}, then {twice}");
    }
}
