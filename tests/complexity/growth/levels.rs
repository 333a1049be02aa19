//! Programs of every construct that nests, of so many levels.

use super::constructs::{Construct, S, V};
use super::*;

fn nest_scan(x: &S, y: &S, d: usize) -> S {
    match d {
        0 => (x * y).sin(),
        _ => scan(x.clone(), &(), 2, |c, ()| (nest_scan(&c, y, d - 1), ())).0,
    }
}
fn nest_cond(x: &S, y: &S, d: usize) -> S {
    match d {
        0 => (x * y).sin(),
        _ => cond(x.gt(y), || nest_cond(&(x * 1.5), y, d - 1), || x * y),
    }
}
fn nest_cond2(x: &S, y: &S, d: usize) -> S {
    match d {
        0 => (x * y).sin(),
        _ => cond(x.gt(y), || x * y, || nest_cond2(&(x.sin()), y, d - 1).cos()),
    }
}
fn nest_while(x: &S, y: &S, d: usize) -> S {
    match d {
        0 => (x * y).sin(),
        _ => {
            let step = |(c, n): (S, Scalar<Staged, i64>)| (nest_while(&c, y, d - 1), n + 1);
            while_loop((x.clone(), scalar(0_i64)), |(_, n)| n.lt(3), step).0
        }
    }
}
fn nest_build(x: &V, y: &S, d: usize) -> S {
    match d {
        0 => x.at(0) * y,
        _ => build(2, |i| nest_build(x, &(y * x.at(&i)), d - 1)).sum(),
    }
}
fn nest_halving(x: &S, d: usize) -> S {
    match d {
        0 => x.sin(),
        _ => while_loop(x.clone(), |c| c.gt(0.3), |c| nest_halving(&c, d - 1) * 0.5),
    }
}
fn nest_checkpoint(x: &S, d: usize) -> S {
    match d {
        0 => x.sin(),
        _ => checkpoint(x, move |x| nest_checkpoint(&x.cos(), d - 1) * x),
    }
}
fn nest_loop_with_checkpoints(x: &S, d: usize) -> S {
    match d {
        0 => x.sin(),
        _ => {
            let step = move |c: S, ()| (nest_loop_with_checkpoints(&c, d - 1) * 0.5, ());
            Checkpoints::Every(2).scan(x.clone(), &(), 4, step).0
        }
    }
}

pub fn levels() -> Vec<Construct> {
    macro_rules! levels {
        (tape $name:expr, $size:expr, $program:expr) => {
            Construct { growth: 5.5, ..levels!($name, $size, $program) }
        };
        ($name:expr, $size:expr, $program:expr) => {
            Construct {
                name: $name,
                size: $size,
                parameters: |_| 1,
                width: 9,
                program: $program,
                growth: 4.5,
                runs: false,
            }
        };
    }
    vec![
        levels!("nested scans", 8, |n, p| nest_scan(&p[0].at(0), &p[0].at(1), n)),
        levels!("nested conds", 8, |n, p| nest_cond(&p[0].at(0), &p[0].at(1), n)),
        levels!("nested conds in else", 8, |n, p| nest_cond2(&p[0].at(0), &p[0].at(1), n)),
        // In the gradient each level has those inside of it twice, of values and of derivatives: it is d² nodes in all. Each is
        // compiled with the levels around it.
        levels!(tape "nested whiles", 8, |n, p| nest_while(&p[0].at(0), &p[0].at(1), n)),
        // An affine map between arrays of d axes has d² numbers, and each of d levels has some.
        Construct { growth: 8.5, ..levels!("nested builds", 10, |n, p| nest_build(&p[0], &p[0].at(1), n)) },
        levels!(tape "nested whiles by their carry", 8, |n, p| nest_halving(&p[0].at(0), n)),
        levels!(tape "nested checkpoints", 8, |n, p| nest_checkpoint(&p[0].at(0), n)),
        levels!(tape "nested loops with checkpoints", 8, |n, p| nest_loop_with_checkpoints(&p[0].at(0), n)),
    ]
}
