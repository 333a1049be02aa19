//! Checks which loops continue from others, and that values stay the same.

use crate::kernel::{Procedure, Step, lower_resuming};
use crate::prelude::*;
use crate::staged::Staged;
use crate::term::Checkpoints;

/// How many first sweeps run ahead of their loops.
fn ahead(procedure: &Procedure) -> usize {
    procedure.steps.iter().filter(|step| matches!(step, Step::First(_))).count()
}

/// The number of first sweeps that run ahead where a function is computed with its gradient. The gradient must equal that of
/// plain arrays.
fn ahead_in<F>(function: F, x: &Vector<Concrete, f64>) -> usize
where
    F: Fn(&Vector<Staged, f64>) -> Scalar<Staged, f64>,
{
    let program = stage(function, x).unwrap().value_and_grad().unwrap();
    let (value, gradient) = program.interpret(x).unwrap();
    let compiled = program.compile(Cpu::default()).unwrap();
    // The second run must not see the first one's state.
    for _ in 0..2 {
        let (again, with) = compiled.call(x).unwrap();
        approx::assert_relative_eq!(again.item(), value.item(), max_relative = 1e-12);
        approx::assert_relative_eq!(&with.to_vec()[..], &gradient.to_vec()[..], max_relative = 1e-10);
    }
    ahead(&lower_resuming(program.program()))
}

const CHECKPOINTS: [Checkpoints; 6] = [
    Checkpoints::All,
    Checkpoints::Every(3),
    Checkpoints::Snapshots(2),
    Checkpoints::Bytes(1 << 20),
    // Fewer than the bytes kept of the steps.
    Checkpoints::Bytes(256),
    Checkpoints::Bytes(1),
];

/// Sines until their sum is small, scaled by a capture of the loop.
fn shrinking<A: Algebra>(x: &Vector<A, f64>, checkpoints: Checkpoints) -> Vector<A, f64> {
    let (scale, bound) = (x * 0.5, x.sum() * 0.05);
    let holds = move |y: &Vector<A, f64>| y.sum().gt(&bound);
    checkpoints.while_loop(x.sin(), holds, move |y: Vector<A, f64>| (&y * &scale).sin() + y * 0.5)
}

#[test]
fn derivatives_go_on_where_loops_ended() {
    let x = Vector::from(vec![0.5, 0.75, 0.9, 0.3]);
    for checkpoints in CHECKPOINTS {
        // The cotangent of the last value needs it.
        assert_eq!(ahead_in(|x| shrinking(x, checkpoints).powi(2).sum(), &x), 1, "{checkpoints:?}");
        // No step at all.
        assert_eq!(ahead_in(|x| shrinking(&(x - 5.0), checkpoints).powi(2).sum(), &x), 1, "{checkpoints:?}");
        // Each continues from its own, whatever they have in common.
        let two = |x: &Vector<Staged, f64>| {
            let halved = &shrinking(x, checkpoints) * 0.5;
            shrinking(x, checkpoints).powi(2).sum() + shrinking(&halved, checkpoints).powi(2).sum()
        };
        assert_eq!(ahead_in(two, &x), 2, "{checkpoints:?}");
    }
}

#[test]
fn loops_that_stack_outputs_are_gone_on_from() {
    let x = Vector::from(vec![0.5, 0.75, 0.9, 0.3]);
    for checkpoints in CHECKPOINTS {
        let sums = |x: &Vector<Staged, f64>| {
            let scale = x * 0.5;
            let inputs = stack(&[x.clone(), x * 2.0, x * 3.0, x * 4.0, x * 5.0, x * 6.0, x * 7.0]);
            let step = move |y: Vector<Staged, f64>, input: Vector<Staged, f64>| {
                let next = (y * &scale + input).sin();
                (next.clone(), next.sum())
            };
            // The outputs do not move the gradient by themselves.
            let (last, sums) = checkpoints.scan(x.clone(), &inputs, 7, step);
            last.powi(2).sum() * sums.powi(2).sum()
        };
        assert_eq!(ahead_in(sums, &x), 1, "{checkpoints:?}");
    }
}

#[test]
fn carries_that_are_written_to_are_gone_on_from() {
    let x = Vector::from(vec![0.5, 0.75, 0.9, 0.3]);
    for checkpoints in CHECKPOINTS {
        let written = |x: &Vector<Staged, f64>| {
            let step = |(y, k): (Vector<Staged, f64>, Scalar<Staged, i64>)| {
                let next = (y.at(&k) * y.sum()).sin();
                (y.with(&(&k + 1), &next), k + 1)
            };
            let holds = |(_, k): &(Vector<Staged, f64>, Scalar<Staged, i64>)| k.lt(3);
            checkpoints.while_loop((x * 2.0, scalar(0)), holds, step).0.powi(2).sum()
        };
        assert_eq!(ahead_in(written, &x), 1, "{checkpoints:?}");
    }
}
