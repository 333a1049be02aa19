//! Functions given by an equation: the memory of a derivative does not depend on the number of steps of their solvers.

use super::*;
use deltaray::term::{Body, Op};

/// `x ↦ r x + (1 − r) tanh(a + x / 4)` with a rate that says how slowly it contracts.
#[derive(Clone, Copy)]
struct Relaxed(f64);

impl ArrayFn for Relaxed {
    type In = (Vector<C, f64>, Vector<C, f64>);
    type Out = Vector<C, f64>;
    fn call<A: Algebra>(&self, (x, a): &(Vector<A, f64>, Vector<A, f64>)) -> Vector<A, f64> {
        self.0 * x + (1.0 - self.0) * (a + 0.25 * x).tanh()
    }
}

fn loss<A: Algebra>(rate: f64, a: &Vector<A, f64>) -> Scalar<A, f64> {
    let options = Implicit { convergence: Convergence { tolerance: 1e-8, steps: 2000 }, ..Implicit::default() };
    fixed_point(&Relaxed(rate), &zeros(a.len()), a, &options).powi(2).sum()
}

/// Peak bytes of first and second derivatives, eager and staged.
fn peaks(rate: f64) -> Vec<usize> {
    let a: Vector<C, f64> = iota(5_000).cast::<f64>() / 5_000.0;
    let along: Vector<C, f64> = ones(5_000);
    let first = stage(|a| loss(rate, a), &a).unwrap().grad().unwrap();
    let second = first.jvp().unwrap();
    // Made when it is first called.
    let _ = (first.program(), second.program());
    vec![
        measured(|| grad(|a| loss(rate, a), &a)).1,
        measured(|| hvp(|a| loss(rate, a), &a, &along)).1,
        measured(|| first.interpret(&a).unwrap()).1,
        measured(|| second.interpret((&a, &along)).unwrap()).1,
    ]
}

#[test]
fn fixed_points_keep_nothing_of_their_iteration() {
    guarded(|| {
        // Some 40 steps, and some 450.
        let (fast, slow) = (peaks(0.5), peaks(0.95));
        for (fast, slow) in fast.into_iter().zip(slow) {
            assert!(slow <= fast + fast / 10, "{fast} and {slow} bytes");
            assert!(slow < 100 * 5_000 * 8, "{slow} bytes");
        }
    });
}

/// Bisection of `[0, 1 + a]` for the square root of a, in a number of steps.
#[derive(Clone, Copy)]
struct Bisection(usize);

#[derive(Clone, Copy)]
struct Square;

impl ArrayFn for Square {
    type In = (Vector<C, f64>, Vector<C, f64>);
    type Out = Vector<C, f64>;
    fn call<A: Algebra>(&self, (x, a): &(Vector<A, f64>, Vector<A, f64>)) -> Vector<A, f64> {
        x * x - a
    }
}

impl ArrayFn for Bisection {
    type In = (Vector<C, f64>, Vector<C, f64>);
    type Out = Vector<C, f64>;
    fn call<A: Algebra>(&self, (start, a): &(Vector<A, f64>, Vector<A, f64>)) -> Vector<A, f64> {
        let (low, high) = iterate((start.clone(), 1.0 + a), self.0, |(low, high)| {
            let middle = 0.5 * (&low + &high);
            let above = (&middle * &middle).gt(a);
            (above.select(&low, &middle), above.select(&middle, &high))
        });
        0.5 * (low + high)
    }
}

/// The number of stacks that loops write.
fn stacks(body: &Body) -> usize {
    let of = |op: &Op| match op {
        Op::Scan(scan) => scan.body.results().len() - scan.carries + stacks(&scan.body),
        Op::Sweeps(sweeps) => sweeps.bodies().map(|body| stacks(body)).sum(),
        Op::Branch(branch) => stacks(&branch.then) + stacks(&branch.otherwise),
        _ => 0,
    };
    body.nodes().iter().map(|node| of(&node.op)).sum()
}

#[test]
fn roots_keep_nothing_of_their_solver() {
    let of = |steps: usize| {
        let options = Implicit { linear: Some(LinearSolver::Iteration(Convergence::default())), ..Implicit::default() };
        let f = move |a: &Vector<Staged, f64>| root(&Square, &Bisection(steps), &zeros(a.len()), a, &options).sum();
        let first = stage(f, &v(&[0.25, 0.3, 0.35])).unwrap().grad().unwrap();
        let second = first.jvp().unwrap();
        (first, second)
    };
    let ((first, second), (longer, longer_second)) = (of(60), of(6000));
    assert_eq!(first.program().node_count(), longer.program().node_count());
    assert_eq!(second.program().node_count(), longer_second.program().node_count());
    for program in [longer.program(), longer_second.program()] {
        assert_eq!(stacks(program), 0, "{program}");
        assert!(program.cost().largest < 30, "{program}");
    }
    let a = v(&[0.25, 0.3, 0.35]);
    let slopes = first.call(&a).unwrap().to_vec();
    assert!(slopes.iter().zip([0.25_f64, 0.3, 0.35]).all(|(slope, a)| (slope - 0.5 / a.sqrt()).abs() < 1e-9));
}
