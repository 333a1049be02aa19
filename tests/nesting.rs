//! Nested bodies: at the bound every entry point takes a program on the promised stack, beyond it programs are refused, and a
//! few bodies that are nested in many ways cost no more than the limit on written output.

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

/// Derivatives are remembered for all threads: tests that count their cost run alone.
static ALONE: RwLock<()> = RwLock::new(());

/// The stack that a program at the bound may need, in bytes: a main thread's, or another thread's with optimisation.
const STACK: usize = if cfg!(debug_assertions) { 8 << 20 } else { 2 << 20 };

/// Levels at which passes are tested that take too long at the bound, with their share of the stack.
const FEWER: usize = MAX_NESTING / 4;

/// Runs on the share of the stack for so many levels.
fn within<T: Send + 'static>(levels: usize, f: impl FnOnce() -> T + Send + 'static) -> T {
    let _others = ALONE.read().unwrap_or_else(PoisonError::into_inner);
    on_stack(levels, f)
}

/// As [`within`], where the test is alone already.
fn on_stack<T: Send + 'static>(levels: usize, f: impl FnOnce() -> T + Send + 'static) -> T {
    let stack = STACK / MAX_NESTING * levels;
    std::thread::Builder::new().stack_size(stack).spawn(f).unwrap().join().unwrap()
}

fn at() -> Vec<Array> {
    vec![Array::full(&[], Value::F64(0.1))]
}

/// The entry points that take a bulk program and do not differentiate it.
fn doors(body: &Body) {
    let named = || Program::new("f", body.clone());
    assert!(body.is_well_formed() && *body == body.clone() && !format!("{body:?}").is_empty());
    // Nested loops may need more memory than there is, which is an error like any other.
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
        within(MAX_NESTING, move || {
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

/// The bulk form has an axis for each build: readers and writers of its maps take the cube of the nesting.
#[test]
fn at_the_bound_builds_are_taken() {
    within(MAX_NESTING, || {
        let body = builds(MAX_NESTING, 1);
        assert_eq!(body.nesting(), MAX_NESTING);
        assert!(body.is_well_formed() && body == body.clone() && !format!("{body:?}").is_empty());
        let named = || Program::<Build>::new("f", body.clone());
        assert!(!export::text_source(named()).is_empty() && !named().to_string().is_empty());
        #[cfg(feature = "json")]
        drop(export::from_json_source(&export::json_source(named())));
        assert!(interpret_source::<Concrete>(&body, at())[0].element(0).to_f64().is_finite());
    });
    let levels = FEWER / 2;
    within(levels, move || {
        let body = builds(levels, 1);
        let expected = interpret_source::<Concrete>(&body, at())[0].element(0).to_f64();
        let bulk = program::bulk(&body);
        assert_eq!(interpret::<Concrete>(&bulk, at())[0].element(0).to_f64(), expected);
        doors(&vectorise(&body));
    });
}

/// Derivatives are nested no deeper than the original programs.
#[test]
fn at_the_bound_derivatives_are_taken() {
    for kind in KINDS {
        // Kinds that keep nothing for other levels cost little at the bound; for loops the test of users' programs covers it.
        let levels = match kind {
            Kind::Both => continue,
            Kind::Condition | Kind::Value | Kind::Vjp | Kind::Jvp => MAX_NESTING,
            Kind::Then | Kind::Otherwise | Kind::Scan | Kind::While | Kind::Checkpointed => FEWER,
        };
        within(levels, move || {
            let body: Body = nested(kind, levels, 2);
            let (reverse, forward) = (vjp(&body, 1).unwrap(), jvp(&body, 1).unwrap());
            assert!(reverse.nesting() <= levels && forward.nesting() <= levels, "{kind:?}");
            assert!(reverse.node_count() > body.nesting(), "{kind:?}");
        });
        // The size of second derivatives grows with the cube of the nesting.
        let levels = MAX_NESTING / 16;
        within(levels, move || {
            let body: Body = nested(kind, levels, 2);
            let (reverse, forward) = (vjp(&body, 1).unwrap(), jvp(&body, 1).unwrap());
            let linear = linearize(&body, 1).map(|(_, map)| map);
            for second in [jvp(&forward, 1), vjp(&forward, 1), jvp(&reverse, 1), vjp(&reverse, 1), linear] {
                assert!(second.unwrap().nesting() <= levels, "{kind:?}");
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
        // Node by node: a program of one level, with the deepest permitted body in place of its own.
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
        let of_others = deltaray::term::visits() - visits;
        assert!(of_others < 100_000, "{of_others}");
        let reverse = vjp(&body, 1).unwrap();
        assert!(reverse.nesting() <= MAX_NESTING && reverse.node_count() < 1000, "{} nodes", reverse.node_count());
        let of_reverse = deltaray::term::visits() - visits - of_others;
        assert!(of_reverse < 100_000, "{of_reverse}");
    }
    // One more can be made, as a pass could, but anything that would write it out reports that it is too much.
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

/// A derivative passes the kept values of each level through all levels around it, so it grows with the square of the nesting.
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
        let (once, twice) = (visits(FEWER / 2), visits(FEWER));
        assert!(10 * twice < 45 * once, "{kind:?}: {once}, then {twice}");
    }
}
