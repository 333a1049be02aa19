//! Calls of compiled programs that write into existing arrays allocate nothing once they are warm. All threads are counted, so
//! this runs without the test harness, which has a thread of its own.

use deltaray::concrete::Concrete;
use deltaray::derivative::Compiled;
use deltaray::engine::cpu::Cpu;
use deltaray::linalg::{CholeskyFactor, quadratic_form, solve};
use deltaray::prelude::*;
use deltaray::tensor::Args;
use deltaray::term::Checkpoints;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the allocations of all threads.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::SeqCst);
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::SeqCst);
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::SeqCst);
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often memory was asked for.
fn allocations(f: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.load(Ordering::SeqCst);
    f();
    ALLOCATIONS.load(Ordering::SeqCst) - before
}

type V<A> = Vector<A, f64>;
type M<A> = Matrix<A, f64>;
type S<A> = Scalar<A, f64>;

/// Floats that look random, between −1 and 1.
fn some(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn vector(count: usize, seed: u64) -> V<Concrete> {
    some(count, seed).into()
}

fn matrix(rows: usize, columns: usize, seed: u64) -> M<Concrete> {
    Matrix::from_elements((rows, columns), some(rows * columns, seed))
}

/// Parameters of a perceptron.
#[derive(Tree)]
struct Layers<A: Algebra> {
    weights: Vec<M<A>>,
    biases: Vec<V<A>>,
    scale: S<A>,
    centre: Option<V<A>>,
}

fn layers(sizes: &[usize]) -> Layers<Concrete> {
    let pairs = sizes.windows(2).enumerate();
    Layers {
        weights: pairs.clone().map(|(seed, pair)| 0.3 * matrix(pair[0], pair[1], seed as u64)).collect(),
        biases: pairs.map(|(seed, pair)| vector(pair[1], 10 + seed as u64)).collect(),
        scale: scalar(0.5),
        centre: Some(vector(sizes[0], 20)),
    }
}

fn loss<A: Algebra>(layers: &Layers<A>, x: &M<A>) -> S<A> {
    let mut y = x.clone();
    if let Some(centre) = &layers.centre {
        y -= centre;
    }
    for (weights, bias) in layers.weights.iter().zip(&layers.biases) {
        y = (y.dot(weights) + bias).tanh();
    }
    (y * &layers.scale).powi(2).sum()
}

/// A step of gradient descent.
fn descend<A: Algebra>((parameters, x): &(Layers<A>, M<A>)) -> (Layers<A>, S<A>) {
    let (value, slope) = value_and_grad(|p: &Layers<_>| loss(p, &x.lift()), parameters);
    let next = |p: &M<A>, d: &M<A>| p - 0.01 * d;
    let layers = Layers {
        weights: parameters.weights.iter().zip(&slope.weights).map(|(p, d)| next(p, d)).collect(),
        biases: parameters.biases.iter().zip(&slope.biases).map(|(p, d)| p - 0.01 * d).collect(),
        scale: &parameters.scale - 0.01 * &slope.scale,
        centre: parameters.centre.iter().zip(&slope.centre).map(|(p, d)| p - 0.01 * d).next(),
    };
    (layers, value)
}

fn leaves<T: Tree<Concrete>>(tree: &T) -> Vec<Vec<f64>> {
    tree.leaves().iter().map(|leaf| leaf.to_vec::<f64>().expect("floats")).collect()
}

/// Checks that a program writes into its output the same values that it returns, and after some calls without an allocation.
fn check<X, Out: Family>(name: &str, program: &Compiled<X::Family, Out>, arguments: X)
where
    X: Args<Concrete> + Copy,
{
    let expected = leaves(&program.call(arguments).unwrap());
    let mut output = program.call(arguments).unwrap();
    // Something else is overwritten.
    output.visit_mut(&mut |array| *array = deltaray::concrete::Array::zeros(&array.ty()));
    (0..3).for_each(|_| program.call_into(arguments, &mut output).unwrap());
    let count = allocations(|| {
        for _ in 0..4 {
            program.call_into(arguments, &mut output).unwrap();
        }
    });
    assert_eq!(leaves(&output), expected, "{name}");
    assert_eq!(count, 0, "{name}");
}

fn threads(count: usize) -> Cpu {
    Cpu::default().threads(count)
}

/// Elementwise work with a sum, views and a gather.
fn elementwise<A: Algebra>(x: &V<A>) -> (V<A>, S<A>) {
    let n = x.len();
    let pairs = build(n, |i| x.at(&i) * x.at(n - 1 - i));
    ((pairs.sin() + x.slice(0, ..n)).exp(), (x * x).sum())
}

/// Reductions over either axis, and all.
fn reductions<A: Algebra>(x: &M<A>) -> (V<A>, V<A>, S<A>, V<A>) {
    (x.sum_axis(0), x.max_axis(1), x.mean(), x.logsumexp_axis(1))
}

/// The density of normal distributions, by factors of matrices, and one of the factors.
fn density<A: Algebra>(m: &M<A>) -> S<A> {
    let factor = CholeskyFactor::new(&(m.dot(&m.t()) + eye(m.len())));
    let row = m.index_axis(1, 0);
    let lower = factor.lower.sin().sum();
    quadratic_form(&factor, &row)
        + factor.log_determinant()
        + solve(&(m.dot(&m.t()) + eye(m.len())), &row).sum()
        + lower
}

/// Running totals: loops of numbers.
fn totals<A: Algebra>(x: &V<A>) -> (V<A>, V<A>) {
    (x.cumsum(0), linear_recurrence(&x.at(0), &x.tanh(), x))
}

/// A loop of matrices and many carries.
fn rolled<A: Algebra>((w, x): &(M<A>, M<A>)) -> (Vec<V<A>>, M<A>) {
    let carries: Vec<V<A>> = (0..10).map(|at| x.index_axis(0, 0) * (at as f64)).collect();
    scan(carries, x, x.len(), |carries: Vec<V<A>>, x: V<A>| {
        let mut next: Vec<V<A>> = carries.iter().map(|carry| (w.dot(carry) + &x).tanh()).collect();
        next.rotate_left(1);
        let output = next[0].clone();
        (next, output)
    })
}

/// A conditional with a loop with a condition on one side.
fn either<A: Algebra>((x, bound): &(V<A>, S<A>)) -> (V<A>, S<A>) {
    let total = x.sum();
    cond(
        total.lt(bound),
        || (while_loop(x.clone(), |y: &V<A>| y.sum().lt(bound), |y: V<A>| 1.5 * &y.abs() + x.sin()), total.clone()),
        || (x.cos(), bound * 2.0),
    )
}

/// Loops with conditions in a loop with a condition.
fn searched<A: Algebra>(x: &V<A>) -> S<A> {
    let step = |(y, total): (V<A>, S<A>)| {
        let scale = while_loop(total.clone(), |t: &S<A>| t.gt(1.0), |t: S<A>| 0.4 * t);
        let next = cond(scale.gt(0.5), || &y * &scale, || y.sin() + x);
        (next.clone(), total + next.abs().sum() + 0.1)
    };
    while_loop((x.clone(), scalar(0.0)), |(_, total)| total.lt(30.0), step).1
}

/// Loops over a few numbers: a counted one in one with a condition, with a conditional in its step.
fn numbers<A: Algebra>(x: &S<A>) -> S<A> {
    let root = |y: S<A>| iterate(y.clone(), 3, |z: S<A>| 0.5 * (&z + &y / &z));
    let step = |(y, n): (S<A>, Scalar<A, i64>)| (cond(y.gt(0.5), || root(0.7 * &y), || &y + x.sin()), n + 1);
    while_loop((x.clone(), scalar(0)), |(_, n)| n.lt(12), step).0
}

/// A loop of so many steps that keeps little.
fn checkpointed<A: Algebra>(x: &V<A>, checkpoints: Checkpoints) -> S<A> {
    let step = |(y, n): (V<A>, Scalar<A, i64>)| (y.sin() + y.reverse(0) * 0.1, n + 1);
    checkpoints.while_loop((x.clone(), scalar(0)), |(_, n)| n.lt(12), step).0.sum()
}

/// Conditionals and loops with conditions, on so many threads.
fn check_control(count: usize, size: usize) {
    let x = vector(size, 1);
    for bound in [-1e9, 1e5] {
        let bound = scalar(bound);
        let program = stage(either, (&x, &bound)).unwrap().compile(threads(count)).unwrap();
        check("a conditional", &program, (&x, &bound));
    }
    let few = vector(7, 2);
    check("a search", &stage(searched, &few).unwrap().compile(threads(count)).unwrap(), &few);
    let gradient = stage(searched, &few).unwrap().value_and_grad().unwrap();
    check("a search's gradient", &gradient.compile(threads(count)).unwrap(), &few);
    let number = scalar(0.8);
    let program = stage(|x: &S<_>| numbers(x), &number).unwrap();
    check("a few numbers", &program.compile(threads(count)).unwrap(), &number);
    check("their gradient", &program.value_and_grad().unwrap().compile(threads(count)).unwrap(), &number);
    for checkpoints in
        [Checkpoints::All, Checkpoints::Every(3), Checkpoints::Snapshots(5), Checkpoints::Bytes(8 * 4 * size)]
    {
        let gradient = stage(|x: &V<_>| checkpointed(x, checkpoints), &x).unwrap().value_and_grad().unwrap();
        check(&format!("{checkpoints:?}"), &gradient.compile(threads(count)).unwrap(), &x);
    }
}

/// Programs of all kinds, on so many threads.
fn check_all(count: usize, size: usize) {
    let x = vector(size, 1);
    let program = stage(elementwise, &x).unwrap();
    check("elementwise", &program.compile(threads(count)).unwrap(), &x);
    let gradient = stage(|x: &V<_>| elementwise(x).0.sum(), &x).unwrap().value_and_grad().unwrap();
    check("elementwise gradient", &gradient.compile(threads(count)).unwrap(), &x);

    let m = matrix(size / 50, 50, 2);
    check("reductions", &stage(reductions, &m).unwrap().compile(threads(count)).unwrap(), &m);
    for rows in [9, 70] {
        let points = matrix(rows, rows + 3, 6);
        let program = stage(density, &points).unwrap().value_and_grad().unwrap();
        check("linear algebra", &program.compile(threads(count)).unwrap(), &points);
    }
    let program = stage(totals, &x).unwrap();
    check("running totals", &program.compile(threads(count)).unwrap(), &x);
    let gradient = stage(|x: &V<_>| totals(x).0.powi(2).sum(), &x).unwrap().grad().unwrap();
    check("running totals' gradient", &gradient.compile(threads(count)).unwrap(), &x);

    let (w, rows) = (matrix(20, 20, 3), matrix(30, 20, 4));
    let program = stage(rolled, (&w, &rows)).unwrap();
    check("a loop", &program.compile(threads(count)).unwrap(), (&w, &rows));
    let objective = stage(|arguments: &(M<_>, M<_>)| rolled(arguments).1.powi(2).sum(), (&w, &rows)).unwrap();
    check("a loop's gradient", &objective.grad().unwrap().compile(threads(count)).unwrap(), (&w, &rows));

    let (parameters, batch) = (layers(&[40, 64, 32, 10]), matrix(size / 50, 40, 5));
    let program = stage(descend, (&parameters, &batch)).unwrap().compile(threads(count)).unwrap();
    check("a training step", &program, (&parameters, &batch));
    // Arrays that are stored as one value are written out for the program, which keeps the memory.
    check("a training step on zeros", &program, (&parameters, &zeros((size / 50, 40))));

    let mut updated = layers(&[40, 64, 32, 10]);
    let (mut value, mut expected) = (scalar(0.0), parameters);
    let calls = 20;
    for _ in 0..3 {
        program.update_with(&mut updated, &batch, &mut value).unwrap();
    }
    let count = allocations(|| {
        for _ in 3..calls {
            program.update_with(&mut updated, &batch, &mut value).unwrap();
        }
    });
    for _ in 0..calls {
        expected = program.call((&expected, &batch)).unwrap().0;
    }
    assert_eq!(leaves(&updated), leaves(&expected));
    assert_eq!(count, 0, "an update");
}

/// Factorisations that two threads share.
fn check_large_matrices() {
    let points = matrix(220, 3, 6);
    let program = stage(density, &points).unwrap().value_and_grad().unwrap();
    check("large matrices", &program.compile(threads(2)).unwrap(), &points);
}

/// Every derivative of functions over slices.
fn check_slices(count: usize, size: usize) {
    let (x, data) = (vector(size, 1), vector(size, 2));
    let residuals = |(x, y): &(V<_>, V<_>)| (x - y).sin() * x.slice(0, 1..).pad(0, 0, 1);
    let loss = stage(|at: &(V<_>, V<_>)| residuals(at).powi(2).sum(), (&x, &data)).unwrap();
    let loss = loss.over_slices_with::<f64, _>(&data).unwrap().on(threads(count));
    let residuals = stage(|at: &(V<_>, V<_>)| residuals(at), (&x, &data)).unwrap();
    let residuals = residuals.over_slices_with::<f64, _>(&data).unwrap().on(threads(count));
    let mut entries = vec![0.0; residuals.sparse_jacobian_pattern().unwrap().nonzeros()];
    let mut second = vec![0.0; loss.sparse_hessian_pattern().unwrap().nonzeros()];
    let (point, along, mut found) = (x.to_vec(), data.to_vec(), vec![0.0; size]);
    let mut all = || {
        loss.value(&point).unwrap();
        loss.value_and_grad(&point, &mut found).unwrap();
        loss.hvp(&point, &along, &mut found).unwrap();
        loss.sparse_hessian(&point, &mut second).unwrap();
        residuals.residuals(&point, &mut found).unwrap();
        residuals.jvp(&point, &along, &mut found).unwrap();
        residuals.vjp(&point, &along, &mut found).unwrap();
        residuals.sparse_jacobian(&point, &mut entries).unwrap();
    };
    (0..3).for_each(|_| all());
    assert_eq!(allocations(|| (0..10).for_each(|_| all())), 0, "slices");
}

fn main() {
    check_slices(1, 100);
    check_slices(2, 20_000);
    check_all(1, 1000);
    check_all(2, 1000);
    // Kernels are cut for threads.
    check_all(2, 20_000);
    check_large_matrices();
    check_control(1, 100);
    check_control(2, 20_000);
    println!("warm calls allocate nothing");
}
