//! As users write it.

use super::{FEWER, MAX_NESTING, within};
use deltaray::derivative::stage;
use deltaray::engine::cpu::Cpu;
use deltaray::export;
use deltaray::prelude::*;
use deltaray::staged::Staged;

type S = Scalar<Staged, f64>;
type Nest = fn(&S, usize) -> S;

fn scans(x: &S, d: usize) -> S {
    if d == 0 { x.sin() } else { scan(x.clone(), &(), 2, |c, ()| (scans(&(c * 1.01), d - 1), ())).0 }
}

fn loops(x: &S, d: usize) -> S {
    if d == 0 { x.sin() } else { while_loop(x.clone(), |c| c.gt(0.3), move |c| loops(&c, d - 1) * 0.5) }
}

fn checkpoints(x: &S, d: usize) -> S {
    let step = move |c: S, ()| (checkpoints(&(c * 1.01), d - 1), ());
    if d == 0 { x.sin() } else { Checkpoints::Every(1).scan(x.clone(), &(), 2, step).0 }
}

/// The innermost side has a loop: a conditional of sides that cost less becomes a choice between values.
fn conditionals(x: &S, d: usize) -> S {
    match d {
        0 | 1 => scans(x, 1),
        _ => cond(x.gt(0.2 + 0.001 * d as f64), || conditionals(&(x * 1.5), d - 1), || x.cos()),
    }
}

fn builds(x: &S, d: usize) -> S {
    if d == 0 { x.sin() } else { build(1, |i| builds(&(x * i.cast::<f64>()), d - 1)).sum() }
}

const NESTS: [(&str, Nest); 5] =
    [("scan", scans), ("while_loop", loops), ("scan", checkpoints), ("cond", conditionals), ("build", builds)];

#[test]
fn at_the_bound_every_door_takes_a_function() {
    for (operation, nest) in NESTS {
        // The bulk form of builds has an axis for each.
        let most = if operation == "build" { FEWER } else { MAX_NESTING };
        within(most, move || {
            let function = stage(|x: &S| nest(x, most), &scalar::<Concrete, f64>(0.35)).unwrap();
            assert_eq!(function.source().nesting(), most);
            assert!(!function.to_string().is_empty());
        });
        let fewer = FEWER / 2;
        within(fewer, move || {
            let function = stage(|x: &S| nest(x, fewer), &scalar::<Concrete, f64>(0.35)).unwrap();
            let gradient = function.value_and_grad().unwrap();
            assert!(gradient.program().nesting() <= fewer);
            drop(function.jvp().unwrap());
            // Nested loops may need more memory than there is.
            drop(gradient.compile(Cpu::default()));
            assert!(!gradient.to_string().is_empty() && !export::html(&function).unwrap().is_empty());
            drop((
                export::c(&gradient),
                export::rust(&gradient),
                export::opencl(&gradient),
                export::stablehlo(&gradient),
            ));
        });
    }
}

/// The gradient of many loops in one another costs the square of their number, as in [`super`], and is nested as deep.
#[test]
fn gradients_of_two_hundred_nested_loops_cost_the_square_of_the_nesting() {
    let _alone = super::ALONE.write().unwrap_or_else(super::PoisonError::into_inner);
    let visits = |levels: usize| {
        super::on_stack(levels, move || {
            let function = stage(|x: &S| scans(x, levels), &scalar::<Concrete, f64>(0.35)).unwrap();
            #[cfg(debug_assertions)]
            let before = deltaray::term::visits();
            let gradient = function.value_and_grad().unwrap();
            assert_eq!((function.source().nesting(), gradient.program().nesting()), (levels, levels));
            #[cfg(debug_assertions)]
            return deltaray::term::visits() - before;
            #[cfg(not(debug_assertions))]
            0
        })
    };
    let (once, twice) = (visits(100), visits(200));
    assert!(10 * twice <= 44 * once, "{once}, then {twice}");
    assert!(once > 0 || !cfg!(debug_assertions));
}

#[test]
fn beyond_the_bound_the_users_line_is_named() {
    for (operation, nest) in NESTS {
        let staged = within(MAX_NESTING, move || {
            stage(|x: &S| nest(x, MAX_NESTING + 1), &scalar::<Concrete, f64>(0.35)).map(drop)
        });
        let error = staged.unwrap_err().to_string();
        assert!(error.starts_with(&format!("{operation}: bodies are nested more than {MAX_NESTING} deep")), "{error}");
        assert!(error.contains(file!()), "{error}");
    }
}
