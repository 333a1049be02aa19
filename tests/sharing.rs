//! A Rust `let` is sharing: a value that a program names once is computed once, in every instance and pass, inside and across
//! builds and loops.

use approx::assert_relative_eq;
use deltaray::algebra::Algebra;
use deltaray::derivative::stage;
use deltaray::operation::Unary;
use deltaray::prelude::*;
use deltaray::staged::Staged;
use deltaray::term::{Body, Extension, Op};
use std::cell::Cell;

type C = Concrete;

fn v(elements: &[f64]) -> Vector<C, f64> {
    Vector::from_slice(elements)
}

fn close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{found:?} and {expected:?}");
    for (a, b) in found.iter().zip(expected) {
        assert_relative_eq!(a, b, max_relative = 1e-9);
    }
}

/// How many exponentials a program holds, in nested bodies too.
fn exps<X: Extension>(body: &Body<X>) -> usize {
    let in_node = |op: &Op<X>| match op {
        Op::Unary(Unary::Exp) => 1,
        Op::Scan(scan) => exps(&scan.body),
        Op::Branch(branch) => exps(&branch.then) + exps(&branch.otherwise),
        Op::Custom(custom) => custom.bodies().map(|body| exps(body)).sum(),
        Op::Extra(extra) => exps(&extra.as_build().body),
        _ => 0,
    };
    body.nodes().iter().map(|node| in_node(&node.op)).sum()
}

thread_local! {
    /// How often a user's function ran.
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

fn expensive<A: Algebra, R: Rank>(x: &Tensor<A, f64, R>) -> Tensor<A, f64, R> {
    CALLS.set(CALLS.get() + 1);
    x.exp()
}

fn calls(f: impl FnOnce()) -> usize {
    CALLS.set(0);
    f();
    CALLS.get()
}

/// The exponentials that a function's programs hold: staged, in bulk form, with its gradient, in forward mode, with a
/// gradient taken inside, and with that one's derivative.
fn counts(f: &dyn Fn(&Vector<Staged, f64>) -> Scalar<Staged, f64>) -> [usize; 6] {
    let x = v(&[0.5, 0.25, -0.5]);
    let staged = stage(|x| f(x), &x).unwrap();
    let inside = stage(|x| value_and_grad(|y| f(y), x), &x).unwrap();
    let second = stage(|x| grad(|y| f(y), x).sum(), &x).unwrap().value_and_grad().unwrap();
    [
        exps(staged.source()),
        exps(staged.program()),
        exps(staged.value_and_grad().unwrap().program()),
        exps(staged.jvp().unwrap().program()),
        exps(inside.program()),
        exps(second.program()),
    ]
}

#[test]
fn a_square_of_something_expensive() {
    assert_eq!(
        counts(&|x| {
            let w = expensive(x);
            (&w * &w).sum()
        }),
        [1; 6]
    );
    assert_eq!(
        counts(&|x| {
            let w = expensive(x);
            let u = (&w * &w + &w).sin();
            (&u * &w + &u / (&u + 2.0)).sum()
        }),
        [1; 6]
    );
}

#[test]
fn eager_functions_run_once() {
    let x = v(&[0.5, 0.25, -0.5]);
    fn square<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
        let w = expensive(x);
        (&w * &w).sum()
    }
    fn elements<A: Algebra>(x: &Vector<A, f64>) -> Scalar<A, f64> {
        let whole = expensive(&x.sum());
        build(3, |i| {
            let w = expensive(&x.at(i));
            &w * &w + &whole * w
        })
        .sum()
    }
    assert_eq!(calls(|| drop(square(&x))), 1);
    assert_eq!(calls(|| drop(grad(square, &x))), 1);
    assert_eq!(calls(|| drop(jvp(square, &x, &x))), 1);
    assert_eq!(calls(|| drop(grad(|x| grad(square, x).sum(), &x))), 1);
    assert_eq!(calls(|| drop(stage(square, &x).unwrap())), 1);
    // Eager builds run their closure for every element; staged ones once.
    assert_eq!(calls(|| drop(elements(&x))), 4);
    assert_eq!(calls(|| drop(grad(elements, &x))), 4);
    assert_eq!(calls(|| drop(stage(elements, &x).unwrap())), 2);
    // A staged function runs once, however often it is differentiated and called.
    let many = || {
        let staged = stage(elements, &x).unwrap();
        let gradient = staged.grad().unwrap();
        let again = gradient.vjp().unwrap();
        for _ in 0..3 {
            let _ = (staged.call(&x).unwrap(), gradient.call(&x).unwrap());
            let _ = again.call(&(x.clone(), x.clone())).unwrap();
        }
    };
    assert_eq!(calls(many), 2);
}

#[test]
fn inside_of_a_build() {
    assert_eq!(
        counts(&|x| build(3, |i| {
            let w = expensive(&x.at(i));
            &w * &w
        })
        .sum()),
        [1; 6]
    );
    assert_eq!(
        counts(&|x| build((3, 3), |(i, j)| {
            let w = expensive(&(x.at(i) * x.at(j)));
            (&w * &w).sin() + &w
        })
        .sum()),
        [1; 6]
    );
    // Captured by an inner build.
    assert_eq!(
        counts(&|x| build(3, |i| {
            let w = expensive(&x.at(i));
            build(3, |j| &w * x.at(j) + &w).sum()
        })
        .sum()),
        [1; 6]
    );
}

#[test]
fn across_builds() {
    // Computed outside, used inside of several builds.
    assert_eq!(
        counts(&|x| {
            let w = expensive(x);
            let a = build(3, |i| w.at(&i) * w.at(2 - i));
            let b = build(3, |i| build(3, |j| w.at(&i) * w.at(&j) + w.at(&i + j)).sum());
            (a * b * &w).sum()
        }),
        [1; 6]
    );
    // A build, read by later builds at several places.
    assert_eq!(
        counts(&|x| {
            let w = build(3, |i| expensive(&x.at(i)));
            let u = build(3, |i| w.at(&i - 1) + w.at(i + 1));
            build(3, |i| u.at(&i) * w.at(&i) * u.at(2 - i)).sum()
        }),
        [1; 6]
    );
    // Values that do not depend on the index are computed once, though they stand inside.
    assert_eq!(counts(&|x| build(3, |i| expensive(&x.sum()) * x.at(&i) + expensive(&x.sum())).sum())[1..], [1; 5]);
}

#[test]
fn a_value_that_is_named_twice_is_still_one() {
    // Equal nodes are one node in a program: no common subexpressions are left.
    let found = counts(&|x| (expensive(x) * expensive(x)).sum());
    assert_eq!(found[1..], [1; 5]);
}

#[test]
fn in_loops_and_conditionals() {
    let found = counts(&|x| {
        scan(scalar(0.5), x, 3, |c, e| {
            let w = expensive(&(c * e));
            (&w * &w, ())
        })
        .0
    });
    assert_eq!(found[..2], [1, 1]);
    // The values of the steps are stored; the reverse loop need not compute them again.
    assert!(found.iter().all(|&count| count <= 2), "{found:?}");
    // Computed outside of the loop.
    assert_eq!(
        counts(&|x| {
            let w = expensive(x);
            scan(scalar(0.5), x, 3, |c, e| (c * e + w.at(0) * w.at(1), ())).0 + w.sum()
        }),
        [1; 6]
    );
    assert_eq!(
        counts(&|x| {
            let w = expensive(x);
            cond(x.at(0).gt(0.0), || (&w * &w).sum(), || w.sum()) + w.at(0)
        }),
        [1; 6]
    );
}

#[test]
fn twenty_gathers_of_two_values() {
    // u = build(n, |i| exp(u[p[i]] + u[q[i]])) twenty times: twenty exponentials of size n.
    let f = |x: &Vector<Staged, f64>| {
        let p: Vector<Staged, i64> = constant(&Vector::<C, i64>::from_slice(&[1, 2, 0]));
        let q: Vector<Staged, i64> = constant(&Vector::<C, i64>::from_slice(&[0, 0, 2]));
        let mut u = x.clone();
        for _ in 0..20 {
            u = build(3, |i| expensive(&(u.at(p.at(&i)) + u.at(q.at(&i)) - 3.0)));
        }
        u.sum()
    };
    assert_eq!(counts(&f), [20; 6]);
    let staged = stage(f, &v(&[0.5, 0.25, -0.5])).unwrap();
    for body in [staged.program(), staged.value_and_grad().unwrap().program()] {
        for node in body.nodes() {
            assert!(node.op != Op::Unary(Unary::Exp) || node.ty().size() == 3, "{body}");
        }
    }
}

/// y₀ = a/b; n times y ← 0.499999985·(y + y − i); y − i.
fn halvings<A: Algebra>(a: &Scalar<A, f64>, b: &Scalar<A, f64>, n: usize, i: &Scalar<A, f64>) -> Scalar<A, f64> {
    let mut y = a / b;
    for _ in 0..n {
        y = 0.499999985 * (&y + &y - i);
    }
    y - i
}

type Two<A> = (Scalar<A, f64>, Scalar<A, f64>);

/// In a build over i.
fn halvings_built<A: Algebra>((a, b): &Two<A>, n: usize, extent: usize) -> Scalar<A, f64> {
    build(extent, |i| halvings(a, b, n, &i.cast::<f64>())).sum()
}

#[test]
fn halvings_alone() {
    let at: Two<C> = (scalar(2.0), scalar(3.0));
    for (n, i, expected) in [
        (7, 0.0, [0.3333332633, -0.2222221756]),
        (2000, 1.0, [0.3333133339329949, -0.22220888928866325]),
        (7000, 0.0, [0.3332633406816766, -0.22217556045445108]),
    ] {
        let check = |(da, db): Two<C>| {
            let tolerance = if n == 7 { 1e-9 } else { 1e-12 };
            assert_relative_eq!(da.item(), expected[0], max_relative = tolerance);
            assert_relative_eq!(db.item(), expected[1], max_relative = tolerance);
            // The closed form.
            let power = 0.99999997f64.powi(n as i32);
            assert_relative_eq!(da.item(), power / 3.0, max_relative = 1e-9);
            assert_relative_eq!(db.item(), -2.0 * power / 9.0, max_relative = 1e-9);
        };
        check(grad(|(a, b)| halvings(a, b, n, &scalar(i)), &at));
        let along = |da: f64, db: f64| jvp(|(a, b)| halvings(a, b, n, &scalar(i)), &at, &(scalar(da), scalar(db))).1;
        check((along(1.0, 0.0), along(0.0, 1.0)));
        let staged = stage(|(a, b)| halvings(a, b, n, &scalar(i)), &at).unwrap();
        let gradient = staged.grad().unwrap();
        assert!(gradient.program().node_count() <= 10 * n + 50);
        check(gradient.call(&at).unwrap());
        let forward = staged.jvp().unwrap();
        let along = |da: f64, db: f64| forward.call(&(at.clone(), (scalar(da), scalar(db)))).unwrap().1;
        check((along(1.0, 0.0), along(0.0, 1.0)));
    }
}

#[test]
fn halvings_in_a_build() {
    let at: Two<C> = (scalar(2.0), scalar(3.0));
    let (da, db) = (0.3332633406816766, -0.22217556045445108);
    let staged = stage(|at| halvings_built(at, 7000, 1000), &at).unwrap();
    let gradient = staged.grad().unwrap();
    let (ga, gb) = gradient.call(&at).unwrap();
    close(&[ga.item(), gb.item()], &[1000.0 * da, 1000.0 * db]);
    let (ga, gb) = grad(|at| halvings_built(at, 7000, 3), &at);
    close(&[ga.item(), gb.item()], &[3.0 * da, 3.0 * db]);
}

#[test]
fn doubling_and_squaring() {
    let one: Scalar<C, f64> = scalar(1.0);
    // A thousand doublings in every mode: 2¹⁰⁰⁰ with linear work.
    let doubled = |n: usize| 2.0f64.powi(n as i32);
    fn double<A: Algebra>(x: &Scalar<A, f64>) -> Scalar<A, f64> {
        (0..1000).fold(x.clone(), |x, _| &x + &x)
    }
    fn square<A: Algebra>(x: &Scalar<A, f64>) -> Scalar<A, f64> {
        (0..1000).fold(x.clone(), |x, _| &x * &x)
    }
    fn dead<A: Algebra>(x: &Scalar<A, f64>) -> Scalar<A, f64> {
        let _ = x * x;
        x + 1.0
    }
    assert_eq!(grad(double, &one).item(), doubled(1000));
    assert_eq!(jvp(double, &one, &one).1.item(), doubled(1000));
    let staged = stage(double, &one).unwrap();
    assert_eq!(staged.grad().unwrap().call(&one).unwrap().item(), doubled(1000));
    assert_eq!(staged.jvp().unwrap().call(&(one.clone(), one.clone())).unwrap().1.item(), doubled(1000));
    assert_eq!(grad(square, &one).item(), doubled(1000));
    assert_eq!(jvp(square, &one, &one).1.item(), doubled(1000));
    let staged = stage(square, &one).unwrap();
    let gradient = staged.grad().unwrap();
    assert!(gradient.program().node_count() <= 5000);
    assert_eq!(gradient.call(&one).unwrap().item(), doubled(1000));
    assert_eq!(staged.jvp().unwrap().call(&(one.clone(), one.clone())).unwrap().1.item(), doubled(1000));
    // A use that is dead must not hold up the live one.
    assert_eq!(grad(dead, &one).item(), 1.0);
    assert_eq!(stage(dead, &one).unwrap().grad().unwrap().call(&one).unwrap().item(), 1.0);
    assert_eq!(grad(|x| grad(dead, x), &one).item(), 0.0);
}
