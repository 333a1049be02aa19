//! As users write it.

use super::{MAX_NESTING, within};
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
    for (_, nest) in NESTS {
        within(2, move || {
            let x = scalar::<Concrete, f64>(0.35);
            let function = stage(|x: &S| nest(x, MAX_NESTING), &x).unwrap();
            assert_eq!(function.source().nesting(), MAX_NESTING);
            let gradient = function.value_and_grad().unwrap();
            assert!(gradient.program().nesting() <= MAX_NESTING);
            drop(function.jvp().unwrap());
            // Loops in loops may need more memory than there is.
            drop(gradient.compile(Cpu::default()));
            assert!(!gradient.to_string().is_empty());
            drop((
                export::c(&gradient),
                export::rust(&gradient),
                export::opencl(&gradient),
                export::stablehlo(&gradient),
            ));
        });
    }
}

#[test]
fn beyond_the_bound_the_users_line_is_named() {
    for (operation, nest) in NESTS {
        let staged =
            within(2, move || stage(|x: &S| nest(x, MAX_NESTING + 1), &scalar::<Concrete, f64>(0.35)).map(drop));
        let error = staged.unwrap_err().to_string();
        assert!(error.starts_with(&format!("{operation}: bodies are nested more than {MAX_NESTING} deep")), "{error}");
        assert!(error.contains(file!()), "{error}");
    }
}
